"""Requests drawn from the OpenAPI description, and broken ones: no fault, nothing bad stored."""

import json

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from mdrr.server.blind import MOST_BITS, new_signing_key, to_text
from mdrr.server.store import Store
from tests.server.cases import DESIGN, SAMPLED, body, frozen, report, running
from tests.server.stored import check_stored

QUIETLY = {"suppress_health_check": list(HealthCheck), "deadline": None}


class Place:
    """A running collector and surveys in every state; fresh ones for requests that move them."""

    def __init__(self, address: str, store: Store, key: bytes) -> None:
        self.address, self.store, self.key = address, store, key
        self.survey, self.token = self.new("open")
        self.kept = {state: self.new(state) for state in ("draft", "open", "blind", "closed")}

    def new(self, state: str) -> tuple[str, str]:
        """A survey in a state, with one answer unless it is a draft: its id and owner's token."""
        survey, blind = frozen(), state == "blind"
        how = {"invitations": "blind", "signing_key": self.key} if blind else {}
        token = self.store.create(survey, **how)
        if state != "draft":
            self.store.open(survey.id)
        if state in ("open", "closed"):
            content = body(report(), self.length(survey.id))
            place = f"{self.address}/api/surveys/{survey.id}/answers"
            assert httpx.post(place, content=content).status_code == 201
        if state == "closed":
            self.store.close(survey.id)
        return survey.id, token

    def length(self, survey: str) -> int:
        shown = httpx.get(f"{self.address}/api/surveys/{survey}").json()
        return int(shown["answer_bytes"])


@pytest.fixture(scope="module")
def key():
    return new_signing_key()


@pytest.fixture
def place(tmp_path, key):
    """Each test has its own: all that it holds is checked again and again."""
    with running(f"sqlite:///{tmp_path}/answers.db") as (address, store):
        yield Place(address, store, key)


def call(case, address):
    """The status and, of what does not go on for ever, the content."""
    words = case.as_transport_kwargs(base_url=address)
    with requests.request(**words, stream=True, timeout=120) as reply:
        endless = reply.headers.get("content-type", "").startswith("text/event-stream")
        content = next(reply.iter_content(None)) if endless else reply.content
    return reply.status_code, content


def test_no_request_makes_the_server_fail(place):
    """On every route that is described; with a real survey and its token in most cases."""
    described = schemathesis.openapi.from_url(f"{place.address}/api/openapi.json")
    tried = set()
    for operation in (result.ok() for result in described.get_all_operations()):
        bad = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)

        @given(
            case=operation.as_strategy() | bad,
            state=st.sampled_from(["none", *place.kept]),
            owner=st.sampled_from([True, True, True, False]),
        )
        @settings(max_examples=10, **QUIETLY)
        def attempt(case, state, owner):
            moves = case.method.upper() == "POST" and "/owner/" in case.path
            if state != "none" and "survey" in (case.path_parameters or {}):
                survey, token = place.new(state) if moves else place.kept[state]
                case.path_parameters["survey"] = survey
                if owner:
                    case.headers = {**(case.headers or {}), "authorization": f"Bearer {token}"}
            status, content = call(case, place.address)
            assert status < 500, (case.path, status)
            if status >= 400:
                assert set(json.loads(content)) == {"error"}
            tried.add((case.method, case.path, status))

        attempt()
    check_stored(place.store)
    found = {(result.ok().method, result.ok().path) for result in described.get_all_operations()}
    assert {(method.upper(), path) for method, path, _ in tried} == {
        (method.upper(), path) for method, path in found
    }
    assert {200, 401, 404, 409, 422} <= {status for _, _, status in tried}
    reached = {path.rsplit("/", 1)[1] for _, path, status in tried if status == 200}
    assert {"close", "open", "events", "status", "results"} - reached <= {"results"}


MOVES = st.sampled_from(["open", "close", "publish", "phase", "invitations", "answers"])
FIELDS = {
    "publish": {"method": "product"},
    "phase": {"design": SAMPLED.to_dict()},
    "invitations": {"count": 2},
}


@given(state=st.sampled_from(["draft", "open", "blind"]), moves=st.lists(MOVES, max_size=8))
@settings(max_examples=25, **QUIETLY)
def test_steps_in_any_order_leave_a_valid_survey(place, state, moves):
    """Whatever an owner does to a survey, in whichever order: it is done or refused."""
    survey, token = place.new(state)
    path, owner = f"/api/surveys/{survey}", {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=place.address, timeout=120) as client:
        for move in moves:
            if move == "answers":
                length = client.get(path).json().get("answer_bytes", 64)
                reply = client.post(f"{path}/answers", content=body(report(), length))
            else:
                reply = client.post(f"{path}/owner/{move}", headers=owner, json=FIELDS.get(move))
            assert reply.status_code < 500, (moves, move, reply.text)
            assert "error" in reply.json() or reply.status_code < 300
    check_stored(place.store)


def test_what_is_described_is_what_is_answered(place):
    """Good requests get replies of the described form."""
    described = schemathesis.openapi.from_url(f"{place.address}/api/openapi.json")
    path = f"/api/surveys/{place.survey}"
    owner = {"authorization": f"Bearer {place.token}"}
    for route, method, headers in (
        ("/healthz", "GET", {}),
        ("/api/surveys/{survey}", "GET", {}),
        ("/api/surveys/{survey}/owner/status", "GET", owner),
    ):
        address = place.address + route.replace("{survey}", place.survey)
        reply = httpx.request(method, address, headers=headers)
        assert reply.status_code == 200
        described[route][method].validate_response(schemathesis.Response.from_any(reply))
    content = body(report(), place.length(place.survey))
    assert httpx.post(f"{place.address}{path}/answers", content=content).status_code == 201


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**20) | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["report", "codes", "id", "design", "x"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@given(
    changes=st.dictionaries(
        st.sampled_from(["design", "questionnaire", "codes", "id", "more"]), VALUES, max_size=3
    ),
    invitation=VALUES,
    cut=st.integers(0, 60),
)
@settings(max_examples=150, **QUIETLY)
def test_broken_answers_are_refused_or_valid(place, changes, invitation, cut):
    store, survey = place.store, place.survey
    fields = {"report": report().to_dict() | changes, "invitation": invitation}
    sent = json.dumps(fields).encode("utf-8", "surrogatepass")
    sent = sent[: len(sent) - cut if cut > 30 else len(sent)].ljust(place.length(survey))
    before = store.answers(store.need(survey).phase())
    status = httpx.post(f"{place.address}/api/surveys/{survey}/answers", content=sent).status_code
    assert status in (201, 409, 413, 422)
    after = store.tally(store.need(survey).phase())  # raises if a row is not of the design
    assert after.n == before + (status == 201)
    assert after.fingerprint == DESIGN.fingerprint


def numbers(n):
    """Messages around what can be signed: below the modulus n, of its length, and not 0."""
    length = (n.bit_length() + 7) // 8
    odd = st.sampled_from([0, 1, n - 1, n, n + 1, 256**length - 1])
    whole = (odd | st.integers(0, 256**length - 1)).map(lambda number: number.to_bytes(length))
    return whole | st.binary(max_size=length + 2) | st.just(b"\xff" * (MOST_BITS // 8 + 1))


@given(data=st.data())
@settings(max_examples=60, **QUIETLY)
def test_broken_requests_to_sign_are_refused_or_use_one_invitation(place, data):
    """What is signed uses an invitation, once; what is refused leaves everything as it was."""
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    survey, _token = place.kept["blind"]
    n = load_der_public_key(place.store.need(survey).blind_key).public_numbers().n
    (fresh,) = place.store.invite(survey, 1)
    blinded = data.draw(numbers(n).map(to_text) | VALUES, label="blinded")
    invitation = data.draw(st.just(fresh) | VALUES, label="invitation")
    more = data.draw(st.sampled_from([{}, {}, {}, {"more": 1}]), label="more")
    sent = json.dumps({"invitation": invitation, "blinded": blinded, **more})
    content = sent.encode("utf-8", "surrogatepass")
    path = f"{place.address}/api/surveys/{survey}/sign"
    before = check_stored(place.store, survey)
    used = place.store.status(survey)["invitations"]["used"]
    replies = [
        httpx.post(path, content=content, headers={"content-type": "application/json"})
        for _ in range(2)
    ]
    assert replies[0].status_code == replies[1].status_code
    assert replies[0].content == replies[1].content  # asked again, the same reply
    signed = replies[0].status_code == 200
    assert signed or replies[0].status_code in (403, 413, 422)
    assert set(replies[0].json()) == {"signature" if signed else "error"}
    assert place.store.status(survey)["invitations"]["used"] == used + signed
    after = check_stored(place.store, survey)
    assert after == {**before, "signed": before["signed"] + signed}
