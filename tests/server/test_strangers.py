"""A stranger can neither read nor change anything, on any route that the server describes."""

import json
from contextlib import contextmanager

import httpx
import pytest
import sqlalchemy as sa

from mdrr.server.blind import blind, new_signing_key, to_text
from mdrr.server.held import answer_bytes
from mdrr.server.schema import metadata
from tests.server.cases import DESIGN, SAMPLED, body, frozen, report, running

OWNED = "/api/surveys/{survey}/owner/"
ANYBODY = {
    ("GET", "/healthz"),
    ("GET", "/metrics"),
    ("GET", "/s/{survey}"),
    ("GET", "/d/{survey}"),
    ("GET", "/api/surveys/{survey}"),
    ("POST", "/api/surveys/{survey}/answers"),
    ("POST", "/api/surveys/{survey}/invitation"),
    ("POST", "/api/surveys/{survey}/sign"),
    ("GET", "/api/surveys/{survey}/results"),
    ("GET", "/api/surveys/{survey}/results/reports.parquet"),
    ("GET", "/api/surveys/{survey}/results/survey.json"),
    ("GET", "/r/{survey}"),
}
"""What needs no token. A new route is the owner's, or it is listed here with a test below."""
BODIES = {
    "invitations": {"count": 1},
    "publish": {"method": "product"},
    "phase": {"design": SAMPLED.to_dict()},
}


class Surveys:
    """A collector with one survey for each kind of invitation, each answered once, and a draft."""

    def __init__(self, client, store):
        self.client, self.store = client, store
        self.ids, self.owners, self.spare, self.used = {}, {}, {}, {}
        for kind in ("none", "required", "blind", "draft"):
            survey = frozen()
            how = "required" if kind == "draft" else kind
            key = new_signing_key() if kind == "blind" else None
            self.owners[kind] = store.create(survey, invitations=how, signing_key=key)
            self.ids[kind] = survey.id
            if kind != "draft":
                store.open(survey.id)
            if kind != "none":
                self.used[kind], self.spare[kind] = store.invite(survey.id, 2)
        assert self.send("none").status_code == 201
        assert self.send("required", self.used["required"]).status_code == 201
        assert self.sign("blind", self.used["blind"]).status_code == 200

    def send(self, kind, invitation=None):
        length = answer_bytes(DESIGN, "required" if kind == "draft" else kind)
        content = body(report(), length, invitation)
        return self.client.post(f"/api/surveys/{self.ids[kind]}/answers", content=content)

    def sign(self, kind, invitation):
        key = self.store.need(self.ids["blind"]).blind_key
        fields = {"invitation": invitation, "blinded": to_text(blind(b"x" * 32, key).message)}
        return self.client.post(f"/api/surveys/{self.ids[kind]}/sign", json=fields)

    def stored(self):
        """Every row of every table."""
        with self.store.engine.connect() as connection:
            return {
                table.name: sorted(map(repr, connection.execute(sa.select(table))))
                for table in metadata.sorted_tables
            }

    def described(self):
        paths = self.client.get("/api/openapi.json").json()["paths"]
        return {(method.upper(), path) for path, each in paths.items() for method in each}


@contextmanager
def served(url):
    with running(url) as (address, store), httpx.Client(base_url=address, timeout=120) as client:
        yield Surveys(client, store)


@pytest.fixture
def place(url):
    with served(url) as made:
        yield made


@pytest.fixture
def lite(tmp_path):
    with served(f"sqlite:///{tmp_path}/answers.db") as made:
        yield made


def test_every_route_is_the_owners_or_known_to_be_anybodys(lite):
    described = lite.described()
    owned = {(method, path) for method, path in described if path.startswith(OWNED)}
    assert described - owned == ANYBODY
    assert {"status", "events", "close", "reports.parquet"} <= {
        path.removeprefix(OWNED) for _, path in owned
    }


def test_without_the_owners_token_nothing_of_hers_is_read_or_changed(lite):
    """No token, wrong ones, another survey's, an invitation, the stored hash, other schemes."""
    id, token = lite.ids["required"], lite.owners["required"]
    wrong = ["x", lite.owners["none"], lite.owners["draft"], lite.used["required"]]
    wrong += [lite.spare["required"], lite.store.need(id).owner.hex(), id]
    wrong += [token[:-1], f"{token}A", token.swapcase(), f"{token} {token}"]
    headers = [{}, {"authorization": f"Basic {token}"}, {"authorization": token}]
    headers += [{"cookie": f"token={token}"}, {"authorization": f"Token {token}"}]
    headers += [{"authorization": f"Bearer {each}"} for each in wrong]
    before = lite.stored()
    for method, path in sorted(lite.described() - ANYBODY):
        what = path.removeprefix(OWNED)
        assert "{" not in what, path
        for kind in ("required", "draft"):
            for each in headers if kind == "required" else headers[:6]:
                reply = lite.client.request(
                    method,
                    path.replace("{survey}", lite.ids[kind]),
                    headers=each,
                    params={"token": token},
                    json=BODIES.get(what, {}) if method == "POST" else None,
                )
                assert reply.status_code == 401, (method, path, each)
                assert set(reply.json()) == {"error"}
        reply = lite.client.request(
            method,
            path.replace("{survey}", "nothere2"),
            headers={"authorization": f"Bearer {token}"},
            json=BODIES.get(what, {}) if method == "POST" else None,
        )
        assert reply.status_code == 404, (method, path)
    assert lite.stored() == before


def test_what_is_not_published_is_not_read(lite):
    for kind, id in lite.ids.items():
        path = f"/api/surveys/{id}"
        assert lite.client.get(f"{path}/results").status_code == 404
        assert lite.client.get(f"{path}/results/reports.parquet").status_code == 404
        assert lite.client.get(f"{path}/results/survey.json").status_code == 404
        assert lite.client.get(f"/r/{id}").status_code == 404
        assert lite.client.get(path).status_code == (404 if kind == "draft" else 200)
    text = lite.client.get("/metrics").text
    assert not any(id in text for id in lite.ids.values())


def test_no_invitation_works_twice_or_elsewhere(place):
    before = place.stored()
    foreign = [place.spare[kind] for kind in ("blind", "draft")]
    for invitation in ("x", place.used["required"], place.owners["required"], *foreign):
        assert place.send("required", invitation).status_code == 403, invitation
    for invitation in (place.spare["blind"], place.used["blind"], "x"):
        assert place.send("blind", invitation).status_code == 403  # only a signed token will do
    for invitation in (None, ""):
        assert place.send("required", invitation).status_code in (403, 422)
        assert place.send("blind", invitation).status_code in (403, 422)
    for invitation in ("x", place.used["blind"], place.spare["required"], place.owners["blind"]):
        assert place.sign("blind", invitation).status_code == 403
    assert place.sign("required", place.spare["required"]).status_code == 404
    assert place.sign("draft", place.spare["draft"]).status_code == 404
    assert place.send("draft", place.spare["draft"]).status_code == 404
    assert place.send("none", "x").status_code == 422
    assert place.stored() == before


def test_asking_whether_an_invitation_is_good_tells_a_stranger_nothing(place):
    """One that is used, unknown, or of another survey looks the same, and nothing is marked."""
    path = f"/api/surveys/{place.ids['required']}/invitation"
    before = place.stored()
    bad = ["x", place.used["required"], place.spare["draft"], place.owners["required"]]
    replies = [place.client.post(path, json={"invitation": each}) for each in bad]
    assert {(reply.status_code, reply.text) for reply in replies} == {(403, replies[0].text)}
    good = place.client.post(path, json={"invitation": place.spare["required"]})
    assert good.status_code == 200
    assert place.stored() == before


def test_a_closed_survey_takes_nothing(place):
    for kind in ("none", "required", "blind"):
        place.store.close(place.ids[kind])
    before = place.stored()
    assert place.send("none").status_code == 410
    assert place.send("required", place.spare["required"]).status_code == 410
    assert place.sign("blind", place.spare["blind"]).status_code == 410
    assert place.stored() == before


def test_no_refusal_says_what_was_sent(lite):
    """Neither the invitation nor the report comes back in an error."""
    made = report()
    content = body(made, answer_bytes(DESIGN, "required"), "secret-invitation")
    path = f"/api/surveys/{lite.ids['required']}"
    refused = lite.client.post(f"{path}/answers", content=content)
    assert refused.status_code == 403
    for secret in ("secret-invitation", made.id, json.dumps(list(made.codes))):
        assert secret not in refused.text
