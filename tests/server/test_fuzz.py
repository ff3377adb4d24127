"""Requests drawn from the OpenAPI description, and broken ones: no fault, nothing bad stored."""

import json

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from tests.server.cases import DESIGN, body, frozen, report, running


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('fuzz')}/answers.db"
    with running(url) as (address, store):
        survey = frozen()
        token = store.create(survey)
        store.open(survey.id)
        yield address, store, survey.id, token


def test_no_request_makes_the_server_fail(place):
    """With the owner's token and a real survey in most cases, so that handlers run."""
    address, store, survey, token = place
    described = schemathesis.openapi.from_url(f"{address}/api/openapi.json")
    tried = set()
    for operation in (result.ok() for result in described.get_all_operations()):
        if operation.path.endswith("/events"):
            continue  # it never ends; test_http.py listens to it

        bad = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)

        @given(case=operation.as_strategy() | bad, known=st.integers(0, 3))
        @settings(max_examples=12, suppress_health_check=list(HealthCheck))
        def attempt(case, known):
            if known and "survey" in (case.path_parameters or {}):
                moves = case.path.endswith(("/publish", "/close", "/phase"))
                case.path_parameters["survey"] = "nothere2" if moves else survey
                if known > 1:
                    case.headers = {**(case.headers or {}), "authorization": f"Bearer {token}"}
            reply = case.call()
            assert reply.status_code < 500, (case.path, reply.status_code)
            if reply.status_code >= 400:
                assert set(reply.json()) == {"error"}
            tried.add((case.path, reply.status_code))

        attempt()
    for held in map(store.need, store.states()):
        for phase in held.phases:
            store.tally(phase)  # every row is checked against the design
    assert len({path for path, _ in tried}) > 15
    assert {200, 401, 404, 409, 413, 422} <= {status for _, status in tried}


def test_what_is_described_is_what_is_answered(place):
    """Good requests get replies of the described form."""
    address, _, survey, token = place
    described = schemathesis.openapi.from_url(f"{address}/api/openapi.json")
    path = f"/api/surveys/{survey}"
    owner = {"authorization": f"Bearer {token}"}
    for route, method, headers in (
        ("/healthz", "GET", {}),
        ("/api/surveys/{survey}", "GET", {}),
        ("/api/surveys/{survey}/owner/status", "GET", owner),
    ):
        reply = httpx.request(method, address + route.replace("{survey}", survey), headers=headers)
        assert reply.status_code == 200
        described[route][method].validate_response(schemathesis.Response.from_any(reply))
    length = httpx.get(address + path).json()["answer_bytes"]
    reply = httpx.post(f"{address}{path}/answers", content=body(report(), length))
    assert reply.status_code == 201


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
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
def test_broken_answers_are_refused_or_valid(place, changes, invitation, cut):
    address, store, survey, _ = place
    length = httpx.get(f"{address}/api/surveys/{survey}").json()["answer_bytes"]
    fields = {"report": report().to_dict() | changes, "invitation": invitation}
    sent = json.dumps(fields).encode("utf-8", "surrogatepass")
    sent = sent[: len(sent) - cut if cut > 30 else len(sent)].ljust(length)
    before = store.answers(store.need(survey).phase())
    status = httpx.post(f"{address}/api/surveys/{survey}/answers", content=sent).status_code
    assert status in (201, 409, 413, 422)
    after = store.tally(store.need(survey).phase())  # raises if a row is not of the design
    assert after.n == before + (status == 201)
    assert after.fingerprint == DESIGN.fingerprint
