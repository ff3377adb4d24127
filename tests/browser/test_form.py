"""The respondent's page in Chromium: from the link to the acknowledgement, asking and saying."""

import json
import re

from mdrr.design import Design
from mdrr.matrix import constant_matrix
from mdrr.privacy import in_words, times_in
from mdrr.response import Report
from scripts.vector_designs import cluster, constant, design
from tests.browser.collector import (
    INVITATION,
    OPEN,
    PAIR,
    PICKED,
    PLAIN,
    QUESTIONS,
    SMOKES,
    attributes,
    info,
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
    shown,
    storage,
    true_words,
)

LABELS = {q["name"]: [label["en"] for label in q["labels"]] for q in QUESTIONS}


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
