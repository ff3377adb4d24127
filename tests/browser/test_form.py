"""The respondent's page in Chromium: from the link to the acknowledgement, and every refusal."""

import copy
import json
import re

import pytest

from mdrr.design import Design
from mdrr.matrix import constant_matrix
from mdrr.privacy import in_words, times_in
from mdrr.respondent import fingerprint
from mdrr.response import Report
from mdrr.server.blind import new_signing_key, ticket_hash, to_text, verifying_key
from scripts.make_vectors import changed
from scripts.vector_designs import cluster, constant, design
from tests.browser.collector import (
    ANOTHER,
    ID,
    INVITATION,
    OPEN,
    PAIR,
    PICKED,
    PLAIN,
    QUESTIONS,
    SMOKES,
    Collector,
    attributes,
    info,
    serving,
)
from tests.browser.walk import (
    CHOICES,
    Traffic,
    answer_all,
    asked,
    choose,
    forward,
    heading,
    kept,
    press,
    send,
    storage,
    true_words,
)

LABELS = {q["name"]: [label["en"] for label in q["labels"]] for q in QUESTIONS}


def shown(page) -> dict[str, tuple[str, str]]:
    """What the last page says of each question: answered, sent."""
    found = {}
    for box in page.locator(".exchange").all():
        name = next(
            q["name"] for q in QUESTIONS if q["text"]["en"] == box.locator("h3").inner_text()
        )
        values = box.locator("dd").all_inner_texts()
        found[name] = (values[0], values[-1])
    return found


def test_from_the_link_to_the_acknowledgement(page, collector):
    """What leaves is a report of the design, what is shown is what left, and no true answer is."""
    traffic = Traffic(page)
    link = collector.link()
    page.goto(link)
    assert answer_all(page) == list(CHOICES)
    assert traffic.answers == []
    send(page)
    assert heading(page) == "Thank you. Your answers were received."
    assert page.url == link

    (body,) = collector.bodies
    assert traffic.answers == [body]
    assert len(body) == 400
    answer = json.loads(body)
    assert answer["invitation"] == INVITATION
    report = Report.from_dict(answer["report"])
    report.check(Design.from_dict(PLAIN))
    assert re.fullmatch("[0-9a-f]{32}", report.id)

    region, smokes, both, income, party = report.codes
    said = shown(page)
    for name, place in CHOICES.items():
        assert said[name][0] == LABELS[name][place]
    assert region == CHOICES["region"]
    assert said["region"][1] == LABELS["region"][region]
    assert said["smokes"][1] == LABELS["smokes"][smokes]
    assert said["cheat"][1] == LABELS["cheat"][both // 2]
    assert said["vote"][1] == LABELS["vote"][both % 2]
    near = [LABELS["income"][x] for x in range(4) if x <= income <= x + 2]
    assert said["income"][1] == (near[0] if len(near) == 1 else f"Between: {near[0]} – {near[-1]}")
    held = [LABELS["party"][x] for x in range(6) if (x - party) % 7 in (1, 2, 4)]
    assert said["party"][1] == "One of: " + " · ".join(held)

    for word in true_words():
        assert word not in storage(page)
        assert not any(word in request for request in traffic.requests)
    assert "secret-invitation" not in storage(page), "it is spent"
    assert collector.shown == [INVITATION], "it is asked about once, before the questions"
    assert sum(INVITATION in request for request in traffic.requests) == 2
    assert page.context.cookies() == []
    assert all(collector.url in request for request in traffic.requests)


def test_reports_are_drawn_anew_for_each_person(browser, collector):
    """Four people with the same answers do not all send the same (but for a chance of 1e-6)."""
    for _ in range(4):
        context = browser.new_context(locale="en-GB")
        page = context.new_page()
        page.goto(collector.link())
        answer_all(page)
        send(page)
        context.close()
    reports = [json.loads(body)["report"] for body in collector.bodies]
    assert len({report["id"] for report in reports}) == 4
    assert len({tuple(report["codes"]) for report in reports}) > 1
    assert {len(body) for body in collector.bodies} == {400}


DONE = "An answer was already made on this device"


@pytest.mark.parametrize("invitations", ["required", "none"])
def test_loading_again_draws_nothing_and_shows_nothing(invitations, page, context, collector):
    """Whoever opens the page later may be somebody else: the report is shown once, in that tab."""
    collector.info["invitations"] = invitations
    page.goto(collector.link())
    answer_all(page)
    send(page)
    assert len(shown(page)) == 6
    page.reload()
    for opened in (page, context.new_page()):
        opened.goto(collector.link())
        opened.wait_for_selector(".panel p")
        assert heading(opened) == DONE
        assert "Sent" not in opened.inner_text("main")
        assert opened.locator("form, button, .exchange").count() == 0
    codes = json.dumps(collector.sent["report"]["codes"], separators=(",", ":"))
    assert codes not in storage(page)
    page.go_back()
    page.wait_for_selector(".panel")
    assert page.locator("form").count() == 0
    assert len(collector.bodies) == 1


def test_somebody_else_with_an_invitation_of_her_own_can_answer(page, context, collector):
    page.goto(collector.link())
    answer_all(page)
    send(page)
    page = context.new_page()
    page.goto(collector.link(invitation=ANOTHER))
    page.wait_for_selector(".panel p")
    assert heading(page) == DONE
    assert page.locator("form, .exchange").count() == 0
    assert len(collector.bodies) == 1
    press(page, "I am somebody else")
    assert answer_all(page) == list(CHOICES)
    send(page)
    first, second = (json.loads(body) for body in collector.bodies)
    assert (first["invitation"], second["invitation"]) == (INVITATION, ANOTHER)
    assert first["report"]["id"] != second["report"]["id"]


def test_without_invitations_nobody_is_asked_after_an_answer_with_one(page, collector):
    """Otherwise a collector could ask again by calling the survey open."""
    page.goto(collector.link())
    answer_all(page)
    send(page)
    collector.info["invitations"] = "none"
    page.goto("about:blank")
    page.goto(collector.link(invitation=""))
    page.wait_for_selector(".panel p")
    assert heading(page) == DONE
    assert page.locator("form, button").count() == 0


@pytest.mark.parametrize("way", ["button", "reload", "another tab"])
def test_what_was_not_received_is_sent_again_as_it_was(way, page, context, collector):
    collector.status = 503
    page.goto(collector.link())
    answer_all(page)
    send(page)
    assert heading(page) == "Not sent yet"
    assert kept(page)["text"].encode() == collector.bodies[0]
    collector.status = 201
    if way == "button":
        press(page, "Try again")
    elif way == "reload":
        page.reload()
    else:
        page.close()
        page = context.new_page()
        page.goto(collector.link())
    page.wait_for_selector(".received")
    assert len(collector.bodies) == 2
    assert collector.bodies[0] == collector.bodies[1]
    assert "text" not in kept(page)


def test_offline_it_waits_and_is_sent_once_online(page, context, collector):
    page.goto(collector.link())
    answer_all(page)
    context.set_offline(True)
    send(page)
    assert heading(page) == "Not sent yet"
    text = kept(page)["text"]
    for word in true_words():
        assert word not in storage(page)
    context.set_offline(False)
    page.wait_for_selector(".received")
    assert collector.bodies == [text.encode()]


@pytest.mark.parametrize("status", [403, 503])
def test_a_report_is_never_sent_with_another_invitation(status, page, collector):
    """Not even if the first was refused: the second person's invitation stays her own."""
    traffic = Traffic(page)
    collector.status = status
    page.goto(collector.link())
    answer_all(page)
    send(page)
    collector.status = 201
    page.goto("about:blank")
    page.goto(collector.link(invitation=ANOTHER))
    page.wait_for_selector(".panel p")
    assert heading(page) == DONE
    assert page.locator(".exchange").count() == 0
    press(page, "I am somebody else")
    answer_all(page)
    send(page)
    page.goto("about:blank")
    page.goto(collector.link())
    page.wait_for_selector(".failed, .received" if status == 403 else ".received")
    sent = [json.loads(body) for body in traffic.answers]
    reports = {(each["invitation"], each["report"]["id"]) for each in sent}
    assert len(reports) == 2
    assert {invitation for invitation, _ in reports} == {INVITATION, ANOTHER}
    retried = [each for each in sent if each["invitation"] == INVITATION]
    assert len(retried) == (1 if status == 403 else 2), "what was refused is not sent again"


def test_it_is_sent_by_itself_once_the_collector_is_back(page):
    """No event tells a page that a server runs again: it tries, ever less often."""
    collector = Collector(info(PLAIN))
    with serving(collector):
        page.goto(collector.link())
        answer_all(page)
    send(page)
    assert heading(page) == "Not sent yet"
    text = kept(page)["text"]
    assert collector.bodies == []
    with serving(collector, int(collector.url.rsplit(":", 1)[1])):
        page.wait_for_selector(".received", timeout=20_000)
    assert collector.bodies == [text.encode()]


def test_the_pauses_between_tries_grow_and_end(page, collector):
    page.goto(collector.link())
    seconds = page.evaluate(
        """import("/static/sending.js").then(({ pause }) =>
            Array.from({ length: 301 }, (_, i) => pause(i + 1)))"""
    )
    assert all(2 ** (i + 1) <= each < 1.25 * 2 ** (i + 1) for i, each in enumerate(seconds[:7]))
    assert all(240 <= each <= 300 for each in seconds[8:300])
    assert seconds[300] is None


def test_another_tab_cannot_draw_a_second_time(context, collector):
    pages = [context.new_page() for _ in range(2)]
    for page in pages:
        page.bring_to_front()
        page.goto(collector.link())
        answer_all(page)
    for page in pages:
        page.bring_to_front()
        send(page)
    assert len(collector.bodies) == 1
    assert heading(pages[1]) == DONE


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (403, "The invitation is unknown or was used before"),
        (409, "another answer with the same number"),
        (410, "The survey has closed"),
        (413, "did not accept"),
        (422, "did not accept"),
    ],
)
def test_a_refusal_is_said_in_plain_words(status, said, page, collector):
    collector.status = status
    page.goto(collector.link())
    answer_all(page)
    send(page)
    assert heading(page) == "Your randomized answers were sent, but not counted"
    assert said in page.inner_text(".panel")
    assert page.locator("button.main").count() == 0
    assert "What left this device" in page.inner_text("main")
    assert "To be sent" not in page.inner_text("main")
    collector.info["state"] = "closed" if status == 410 else "open"
    page.reload()
    page.wait_for_selector(".failed")
    assert said in page.inner_text(".panel")
    assert len(collector.bodies) == 1


@pytest.mark.parametrize(
    ("status", "said"), [(403, "unknown or was used before"), (410, "This survey is closed")]
)
def test_an_invitation_that_is_not_good_is_refused_before_any_question(
    status, said, page, collector
):
    collector.invited = status
    page.goto(collector.link())
    page.wait_for_selector("form")
    forward(page)
    page.wait_for_selector(".panel p")
    assert said in page.inner_text("main")
    assert page.locator("form, fieldset").count() == 0
    assert collector.bodies == []


@pytest.mark.parametrize("status", [404, 429, 503])
def test_a_collector_that_cannot_say_stops_nobody(status, page, collector):
    collector.invited = status
    page.goto(collector.link())
    answer_all(page)
    send(page)
    assert collector.sent["invitation"] == INVITATION


def test_a_survey_that_closed_meanwhile_gets_nothing(page, collector):
    page.goto(collector.link())
    answer_all(page)
    collector.info["state"] = "closed"
    send(page)
    assert "Nothing was sent" in page.inner_text("main")
    assert "report" not in kept(page)
    assert collector.bodies == []


@pytest.mark.parametrize("end", [".", ")", ">.", "»", "%20"])
def test_what_mail_programs_put_behind_a_link_does_not_matter(end, page, collector):
    page.goto(collector.link() + end)
    answer_all(page)
    send(page)
    assert collector.sent["invitation"] == INVITATION


@pytest.mark.parametrize("cut", [1, 20, 42])
def test_a_link_that_was_cut_is_said_to_be_incomplete(cut, page, collector):
    text = refused(page, collector, collector.link()[:-cut])
    assert "Your link is incomplete: copy the whole of it" in text
    assert collector.shown == []


# ---- What is refused before anything is asked

MATRIX = ("questionnaires", 0, "clusters", 1, "matrix")
LESS_NOISE = changed(PLAIN, constant(3, 100, 2**16), *MATRIX)
UNFAIR = changed(PLAIN, {**PLAIN["questionnaires"][0]["clusters"][1]["matrix"], "off": 1}, *MATRIX)


def refused(page, collector, link: str) -> str:
    """The page asks nothing and sends nothing; what it says."""
    page.goto(link)
    page.wait_for_selector(".panel p")
    assert page.locator("form, fieldset, button").count() == 0
    assert collector.bodies == []
    return page.inner_text("main")


def test_a_design_that_the_link_does_not_promise_is_refused(page, collector):
    link = collector.link()
    collector.info = info(LESS_NOISE)
    text = refused(page, collector, link)
    assert "This page stopped to protect you" in text
    assert "not the one your link promises" in text


def test_a_link_of_a_phase_that_is_over_is_said_to_be_that(page, collector):
    """No alarm: everybody who has not answered in the first phase has such a link."""
    link = collector.link()
    collector.info = info(LESS_NOISE, phase=2, earlier=[collector.info["fingerprint"]])
    text = refused(page, collector, link)
    assert "This link was for the first part of the survey" in text
    assert "ask the people who sent you the link for the new one" in text
    assert "protect" not in text


def test_another_design_is_an_alarm_in_the_second_phase_too(page, collector):
    link = collector.link()
    collector.info = info(LESS_NOISE, phase=2, earlier=["0" * 64])
    assert "not the one your link promises" in refused(page, collector, link)


def test_a_design_that_lies_about_its_fingerprint_is_refused(page, collector):
    collector.info["design"] = {"fingerprint": collector.info["fingerprint"], **LESS_NOISE}
    assert "way of randomizing is not valid" in refused(page, collector, collector.link())


def test_an_unfair_design_is_refused_even_if_the_link_promises_it(page, collector):
    collector.info["design"] = UNFAIR
    link = collector.link(design=fingerprint(UNFAIR))
    assert "way of randomizing is not valid" in refused(page, collector, link)


def test_words_that_do_not_belong_to_the_design_are_refused(page, collector):
    survey = collector.info["survey"]
    collector.info["survey"] = {**survey, "questions": survey["questions"][1:]}
    assert "not the one your link promises" in refused(page, collector, collector.link(words=""))


def test_labels_that_the_link_does_not_promise_are_refused(page, collector):
    """The collector shows "no" for the category yes, under the same design."""
    link = collector.link()
    collector.info = copy.deepcopy(collector.info)
    collector.info["survey"]["questions"][1]["labels"].reverse()
    assert "not the one your link promises" in refused(page, collector, link)


def test_a_link_may_leave_the_words_open(page, collector):
    page.goto(collector.link(words=""))
    page.wait_for_selector("form")
    assert "not the one your link promises" not in page.inner_text("body")
    assert page.locator("form button.main").count() == 1


@pytest.mark.parametrize("mark", ["", "abc", "Z" * 64])
def test_a_link_without_a_fingerprint_is_refused(mark, page, collector):
    assert "Your link is incomplete" in refused(page, collector, collector.link(design=mark))


def test_a_survey_by_invitation_needs_one(page, collector):
    assert "by invitation" in refused(page, collector, collector.link(invitation=""))


def test_a_closed_survey_asks_nothing(page, collector):
    collector.info["state"] = "closed"
    assert "This survey is closed" in refused(page, collector, collector.link())


def test_an_unknown_survey_is_said_to_be_unknown(page, collector):
    link = collector.link().replace(ID, "unknown")
    page.route("**/s/unknown", lambda route: route.continue_(url=f"{collector.url}/s/{ID}"))
    assert "no survey at this address" in refused(page, collector, link)


def test_nobody_is_asked_in_both_phases(page, collector):
    page.goto(collector.link())
    answer_all(page)
    send(page)
    collector.bodies.clear()
    collector.info = info(LESS_NOISE, phase=2)
    page.goto("about:blank")
    assert DONE in refused(page, collector, collector.link())


def test_without_storage_nothing_is_asked(page, collector):
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('off'); } })"
    )
    assert "does not let the page keep" in refused(page, collector, collector.link())


def test_a_damaged_report_is_not_drawn_again(page, collector):
    page.goto(collector.link())
    answer_all(page)
    send(page)
    collector.bodies.clear()
    for damage in ("{", json.dumps({"design": kept(page)["design"], "report": {"codes": [9]}})):
        page.evaluate(
            """(text) => localStorage.setItem(
                Object.keys(localStorage).find((key) => key.includes("answer")), text)""",
            damage,
        )
        page.goto("about:blank")
        assert "damaged" in refused(page, collector, collector.link())


# ---- The person's own limit


def set_limit(page, text: str) -> None:
    if page.locator("details").first.get_attribute("open") is None:
        page.click("summary")
    page.fill("#limit", text)
    forward(page)


def test_a_survey_above_the_persons_limit_is_refused(page, collector):
    """ε of the design is about 4.26."""
    page.goto(collector.link())
    page.wait_for_selector("form")
    set_limit(page, "4.2")
    page.wait_for_selector(".problem")
    assert "ε is 4.26. Your limit is 4.2" in page.inner_text(".problem")
    assert page.evaluate("document.activeElement.className") == "problem"
    assert page.locator("fieldset").count() == 0
    page.reload()
    page.wait_for_selector("form")
    assert page.input_value("#limit") == "4.2", "the limit stays"
    forward(page)
    page.wait_for_selector(".problem")
    set_limit(page, "4,3")
    assert asked(page) == "region"


@pytest.mark.parametrize("text", ["two", "-1", "1 2"])
def test_a_limit_that_is_no_number_is_refused(text, page, collector):
    page.goto(collector.link())
    page.wait_for_selector("form")
    set_limit(page, text)
    page.wait_for_selector(".problem")
    assert "Enter a number" in page.inner_text(".problem")


# ---- Asking


def test_the_page_says_may_and_does_not_contradict_itself(page, collector):
    """Without a consent text of the survey the page has one of its own, which names no purpose."""
    texts = {**collector.info["survey"], "consent": dict.fromkeys(["en", "de", "ar"], "")}
    collector.info["survey"] = texts | {"purpose": texts["consent"]}
    page.goto(collector.link())
    page.wait_for_selector("form")
    assert "Whom you can ask\n" in page.inner_text("main")
    assert "Number of questions: 6." in page.inner_text("main")
    assert "may be changed by chance" in page.inner_text("main")
    answer_all(page, lambda _: None)
    page.go_back()
    page.wait_for_selector("fieldset")
    assert "Your answer may be changed by chance" in page.inner_text("main")
    page.go_forward()
    page.wait_for_selector(".summary")
    forward(page)
    page.wait_for_selector("#agree")
    assert page.inner_text("main").count("agree") == 1
    assert page.inner_text("label[for=agree]") == "I agree to send my randomized answers."
    assert "purpose" not in page.inner_text("main")


def test_the_number_of_questions_is_said_when_it_differs(page, collector):
    both = cluster(["cheat", "vote"], constant(4, 9_000, 2**16))
    pairs = [cluster([name], constant(k, 8_000, 2**16)) for name, k in PAIR]
    collector.info = info(
        design(attributes(), (2**15, [OPEN, SMOKES]), (2**15, [OPEN, both, *pairs]))
    )
    page.goto(collector.link())
    page.wait_for_selector("form")
    said = "Number of questions for you: 2 to 5, picked by chance from 6."
    assert said in page.inner_text("main")


def test_leaving_before_sending_is_warned_of(page, collector):
    warned = []
    page.on("dialog", lambda dialog: (warned.append(dialog.type), dialog.accept()))
    page.goto(collector.link())
    page.wait_for_selector("form")
    forward(page)
    page.wait_for_selector("fieldset")
    page.reload()
    assert warned == [], "nothing is lost yet"
    answer_all(page)
    page.reload()
    assert warned == ["beforeunload"]
    answer_all(page)
    send(page)
    page.reload()
    page.wait_for_selector(".panel p")
    assert warned == ["beforeunload"]


def test_bins_are_in_words_unless_the_survey_has_some(browser, collector):
    """Whole numbers by their ends, others with "under"; the survey's own labels win."""
    bins = ["[0, 18)", "[18, 65)", "[65, 120]"]
    sizes = ["[1, 1.5)", "[1.5, 2]"]
    numeric = {"kind": "numeric", "missing": None, "public": False}
    labels = [{"en": "Under 18", "ar": "دون 18"}, *({"en": each, "ar": each} for each in bins[1:])]
    questions = [
        {
            "name": "age",
            "text": {"en": "How old are you?", "ar": "كم عمرك؟"},
            "labels": labels,
            **numeric,
        },
        {
            "name": "height",
            "text": {"en": "How tall are you?", "ar": "ما طولك؟"},
            "labels": [{"en": each, "ar": each} for each in sizes],
            **numeric,
        },
    ]
    declared = [
        {"name": "age", "kind": "numeric", "categories": bins, "edges": ["0", "18", "65", "120"]},
        {"name": "height", "kind": "numeric", "categories": sizes, "edges": ["1", "1.5", "2"]},
    ]
    shares = {"age": constant(3, 9_000, 2**16), "height": constant(2, 9_000, 2**16)}
    clusters = [cluster([name], matrix) for name, matrix in shares.items()]
    said = info(design(declared, (1, clusters)))
    survey = {**said["survey"], "languages": ["en", "ar"], "questions": questions}
    collector.info = {**said, "survey": survey}
    expected = {
        "en-GB": [
            ["Under 18", "18 to 64", "65 to 120"],
            ["from 1 to under 1.5", "from 1.5 to 2"],
        ],
        "ar": [
            ["دون 18", "من 18 إلى 64", "من 65 إلى 120"],
            ["من 1 إلى أقل من 1.5", "من 1.5 حتى 2"],
        ],
    }
    for locale, texts in expected.items():
        context = browser.new_context(locale=locale)
        page = context.new_page()
        page.goto(collector.link())
        page.wait_for_selector("form")
        forward(page)
        for each in texts:
            page.wait_for_selector("fieldset")
            found = page.locator(".choice label").all_inner_texts()
            assert [text.strip("\u2068\u2069") for text in found] == each
            assert sum(text.startswith("\u2068") for text in found) == 2
            choose(page, 1)
            forward(page)
        page.wait_for_selector(".summary")
        context.close()


def test_only_the_drawn_questionnaire_is_asked(browser, collector):
    collector.info = info(PICKED)
    sets = [
        ["region", "smokes", "cheat"],
        ["region", "income", "party"],
        ["region", "smokes", "vote"],
    ]
    seen: set[int] = set()
    for _ in range(40):
        context = browser.new_context(locale="en-GB")
        page = context.new_page()
        page.goto(collector.link())
        page.wait_for_selector("form")
        assert "Number of questions for you: 3, picked by chance from 6." in page.inner_text("main")
        forward(page)
        page.wait_for_selector("fieldset")
        chosen = kept(page)["questionnaire"]
        if chosen not in seen:
            seen.add(chosen)
            page.reload()  # does not draw another questionnaire
            assert answer_all(page) == sets[chosen]
            send(page)
            assert json.loads(collector.bodies[-1])["report"]["questionnaire"] == chosen
            assert list(shown(page)) == sets[chosen]
        context.close()
        if len(seen) > 1:
            return
    raise AssertionError("forty people were asked the same; the chance of that is 2^-39")


def test_nothing_chosen_is_said_where_it_is(page, collector):
    page.goto(collector.link())
    forward(page)
    page.wait_for_selector("fieldset")
    assert page.inner_text(".caption") == "Question 1 of 6"
    forward(page)
    page.wait_for_selector(".problem")
    assert page.title().startswith("There is a problem: ")
    assert page.evaluate("document.activeElement.className") == "problem"
    link = page.url
    page.click(".problem a")
    assert page.evaluate("document.activeElement.id") == "answer-0"
    assert page.url == link


def test_answers_can_be_changed_before_sending(page, collector):
    page.goto(collector.link())
    answer_all(page)
    page.get_by_role("button", name="Change your answer to: Do you smoke?").click()
    assert asked(page) == "smokes"
    assert page.locator("#answer-2").is_checked()
    choose(page, 0)
    forward(page)
    page.wait_for_selector(".summary")
    assert page.locator(".summary dd").nth(2).inner_text() == "Never smoked"
    press(page, "Back")
    assert asked(page) == "smokes"
    page.go_forward()
    page.wait_for_selector(".summary")
    send(page)
    assert shown(page)["smokes"][0] == "Never smoked"


def test_without_consent_nothing_is_sent(page, collector):
    page.goto(collector.link())
    answer_all(page)
    forward(page)
    page.wait_for_selector("#agree")
    assert "Taking part is voluntary." in page.inner_text("main")
    assert page.inner_text("label[for=agree]") == "I agree."
    forward(page)
    page.wait_for_selector(".problem")
    assert collector.bodies == []
    assert "report" not in kept(page)


def test_the_risk_of_each_answer_is_the_designs(page, collector):
    page.goto(collector.link())
    answer_all(page)
    forward(page)
    page.wait_for_selector("#agree")
    cards = page.locator(".card").all_inner_texts()
    assert "It is sent as it is" in cards[0]
    # 39,536 of 65,536 is 60.3 %; 39,536 / 13,000 is 3.04.
    assert "In about 60 of 100 cases your true answer is sent" in cards[1]
    # 3.04 / 4.04 is 75.3 %.
    assert "right with at most 76 in 100. The odds grow at most 3.1 times" in cards[1]
    # 38,536 of 65,536 is 58.8 %; 38,536 / 9,000 is 4.28.
    assert "sent together" in cards[2]
    assert "In about 59 of 100" in cards[2]
    assert "at most 4.3 times" in cards[2]
    # 1 − 3·6,553 / 65,536 is 70.0 %.
    assert "In 70 of 100 cases yours is in it" in cards[3]
    # 1 − 4·6,000 / 65,536 is 63.4 %.
    assert "A group of answers is sent. In about 63 of 100" in cards[4]
    total = Design.from_dict(PLAIN).epsilon
    assert f"ε = {-(-total * 100 // 1) / 100:.2f}" in cards[5]


def test_page_and_terminal_say_the_same_of_a_design(page, collector):
    """One rule of rounding: Python's words for clusters and ε have the page's numbers."""
    sizes = {"smokes": 3, "cheat": 2, "income": 4, "party": 6, "vote": 2}
    clusters = [cluster([name], constant(k, 4_000, 2**16)) for name, k in sizes.items()]
    fields = design(attributes(), (1, [OPEN, *clusters]))
    said = in_words(Design.from_dict(fields))
    collector.info = info(fields)
    page.goto(collector.link())
    answer_all(page)
    forward(page)
    page.wait_for_selector("#agree")
    cards = page.locator(".card").all_inner_texts()
    for card, sentence in zip(cards[1:6], said[1:6], strict=True):
        (chance,) = re.findall(r"is sent in ((?:about )?\d+ of 100 cases)\.", sentence)
        assert f"In {chance} your true answer is sent" in card
    (bound,) = re.findall(r"is then right with at most .*", said[6])
    assert bound in cards[6]
    shown = page.evaluate(
        """(all) => import("/static/elements.js").then(({ Words }) => {
            const words = new Words("en", ["en"]);
            return all.map((p) => words.cases(p)).map((x) => `in ${x.chance} of ${x.base} cases`);
        })""",
        PROBABILITIES,
    )
    assert shown == [times_in(p) for p in PROBABILITIES]


PROBABILITIES = [matrix.keep for k in (2, 3, 10) for matrix in [constant_matrix(k, epsilon=3.0)]]
PROBABILITIES += [0.711, 0.85, 0.5, 0.004, 0.9731, 1e-6, 1 - 1e-7]


def test_a_report_that_can_prove_is_said_to(page, collector):
    dense = {"kind": "dense", "weights": [[65_536, 0, 0], [1, 65_534, 1], [0, 0, 65_536]]}
    collector.info = info(
        design(
            attributes(),
            (
                1,
                [
                    cluster(["region"], {"kind": "public", "cells": 2}),
                    cluster(["smokes"], dense),
                    *PLAIN["questionnaires"][0]["clusters"][2:],
                ],
            ),
        )
    )
    page.goto(collector.link())
    answer_all(page)
    forward(page)
    page.wait_for_selector("#agree")
    assert page.inner_text("main").count("there is no limit") == 2


# ---- Blind invitations


@pytest.fixture
def blind(collector):
    """The collector signs tokens it cannot see."""
    collector.signing_key = new_signing_key()
    key = to_text(verifying_key(collector.signing_key))
    collector.info = info(PLAIN, invitations="blind", blind_key=key, answer_bytes=960)
    return collector


def test_a_blind_invitation_becomes_a_token_that_tells_nothing(page, blind):
    traffic = Traffic(page)
    page.goto(blind.link())
    answer_all(page)
    (asked_for,) = blind.signed
    forward(page)
    page.wait_for_selector("#agree")
    assert "send an hour later or more" in page.inner_text("main")
    page.go_back()
    page.wait_for_selector(".summary")
    assert asked_for["invitation"] == INVITATION
    send(page)
    assert heading(page) == "Thank you. Your answers were received."
    assert len(blind.bodies[0]) == 960
    token = blind.sent["invitation"]
    assert ticket_hash(token, verifying_key(blind.signing_key)) is not None
    assert b"secret-invitation" not in blind.bodies[0]
    assert not set(token.split(".")) & set(asked_for.values())
    assert sum(b"secret-invitation" in body for body in traffic.posts) == 1
    assert sum("secret-invitation" in request for request in traffic.requests) == 1
    assert "secret-invitation" not in storage(page)
    assert token not in storage(page)


def test_a_blind_invitation_is_signed_for_once(page, blind):
    """After a reload the page asks with the same hidden token, and sends the same answer."""
    page.goto(blind.link())
    page.wait_for_selector("form")
    forward(page)
    page.wait_for_selector("fieldset")
    page.reload()
    answer_all(page)
    blind.status = 503
    send(page)
    page.reload()
    page.wait_for_selector(".waiting")
    assert len({each["blinded"] for each in blind.signed}) == 1
    assert len(blind.bodies) == 2
    assert blind.bodies[0] == blind.bodies[1]


def test_an_invitation_that_is_not_signed_is_said_to_be_used(page, blind):
    blind.signed.append({"blinded": "somebody else's"})
    page.goto(blind.link())
    page.wait_for_selector("form")
    forward(page)
    page.wait_for_selector(".panel p")
    assert "unknown or was used before" in page.inner_text("main")
    assert blind.bodies == []


def test_a_key_that_the_link_does_not_promise_is_refused(page, blind):
    """A server that shows each person another key would recognize her by it."""
    link = blind.link()
    blind.info["blind_key"] = to_text(verifying_key(new_signing_key()))
    assert "not the one your link promises" in refused(page, blind, link)
    page.goto("about:blank")
    assert "Your link is incomplete" in refused(page, blind, blind.link(key=""))
    assert blind.signed == []
