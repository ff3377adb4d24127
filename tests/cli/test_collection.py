"""A survey in a database: opened, answered over HTTP by real processes, closed, published."""

import hashlib
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs

import httpx
import numpy as np
import polars as pl
import pytest

from mdrr.cli.collection import opened as database
from mdrr.collector import Link
from mdrr.estimation import Estimate
from mdrr.frozen import FrozenSurvey, predictions
from mdrr.server.answers import FRESH_SECONDS
from mdrr.server.store import Store
from tests.cli.run import answer, done, refusal, run
from tests.server.cases import free_port, running

DATABASE = "sqlite:///mdrr.db"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def frozen(folder) -> FrozenSurvey:
    """The survey of the folder, frozen with its design (p = 0.7 each)."""
    done("survey freeze survey.toml --design design.json -o survey.json")
    return FrozenSurvey.from_json(Path("survey.json").read_bytes())


def opened(*words: object) -> dict:
    return answer("survey", "open", "survey.json", *words)


def test_open_prints_the_token_once_and_hides_the_invitations(frozen):
    printed = done("survey open survey.json --invitations 3 --url https://example.org/")
    [token] = re.findall(r"shown this once: (\S+)", printed)
    assert f"https://example.org/d/{frozen.id}#token={token}" in printed
    links = [Link.parse(line) for line in Path("invitations.txt").read_text().split()]
    assert len({link.invitation for link in links}) == 3
    assert {(link.base, link.survey) for link in links} == {("https://example.org", frozen.id)}
    assert {link.fingerprint for link in links} == {frozen.design.fingerprint}
    assert {link.words for link in links} == {frozen.words}
    assert stat.S_IMODE(os.stat("invitations.txt").st_mode) == 0o600
    for link in links:
        assert link.invitation not in printed
    everything = b"".join(path.read_bytes() for path in Path().glob("mdrr.db*"))
    assert token.encode() not in everything
    assert not any(link.invitation.encode() in everything for link in links)


def test_open_asks_how_people_are_invited(frozen):
    assert "--invitations N for one answer each" in refusal("survey open survey.json")
    assert "how people are invited" in refusal(
        "survey open survey.json --invitations 3 --no-invitations"
    )
    assert "go with --invitations" in refusal("survey open survey.json --no-invitations --blind")
    Path("invitations.txt").write_text("others")
    assert "may hold invitations" in refusal("survey open survey.json --invitations 3")
    assert Path("invitations.txt").read_text() == "others"
    assert "has no surveys" not in run("survey status survey.json").stdout
    opened("--no-invitations")
    assert "already" in refusal("survey open survey.json --no-invitations")
    assert "is a design, and a frozen survey is needed" in refusal(
        "survey open design.json --no-invitations"
    )


@pytest.mark.parametrize("count", [0, -1, 1_000_001])
def test_a_survey_that_cannot_be_opened_is_not_half_made(frozen, count):
    said = refusal(f"survey open survey.json --invitations {count}")
    assert "between 1 and 1,000,000 invitations" in said
    assert not Path("invitations.txt").exists()
    assert Store(DATABASE).states() == {}
    assert opened("--invitations", 2)["token"]


def test_a_survey_is_opened_whole_or_not_at_all(frozen, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mdrr.server.store._add_invitations", fail)
    assert "No space left" in refusal("survey open survey.json --invitations 2")
    assert not Path("invitations.txt").exists()
    assert Store(DATABASE).states() == {}


def test_fewer_people_than_planned_are_said_at_every_step(folder):
    text = Path("survey.toml").read_text(encoding="utf-8")
    plan = '[design]\nprotocol = "planned"\nepsilon = 2.0\npeople = 5000\n'
    Path("survey.toml").write_text(text.replace("[[attributes]]", f"{plan}[[attributes]]", 1))
    done("survey freeze survey.toml -o survey.json")
    frozen = FrozenSurvey.from_json(Path("survey.json").read_bytes())
    promised = f"{frozen.predicted['error']:.1%}"
    fewer = f"{predictions(frozen.design, 200)['error']:.1%}"
    said = f"200 of 5,000 people expected. A typical count errs by about {fewer}, not {promised}."
    assert said in run("survey open survey.json --invitations 200").stderr
    assert "0 of 5,000 people expected." in done("survey status survey.json")
    with running(DATABASE) as (url, _):
        text = Path("invitations.txt").read_text().replace("http://127.0.0.1:8000", url)
        Path("links.txt").write_text(text)
        done("crowd", text.split()[0], "--data", "people.csv", "--invitations", "links.txt")
    assert said in done("survey status survey.json")
    assert said in done("survey results survey.json --method product")


def test_an_owner_who_lost_her_link_gets_a_new_one(frozen):
    lost = opened("--no-invitations")["token"]
    made = answer("survey owner survey.json --url https://example.org")
    assert made["dashboard"] == f"https://example.org/d/{frozen.id}#token={made['token']}"
    with running(DATABASE) as (url, _):
        for token, status in ((lost, 401), (made["token"], 200)):
            bearer = {"authorization": f"Bearer {token}"}
            asked = httpx.get(f"{url}/api/surveys/{frozen.id}/owner/status", headers=bearer)
            assert asked.status_code == status
    assert "no survey 'abcdefgh'" in refusal("survey owner abcdefgh")
    assert "The old token has ended." in done("survey owner survey.json")


def test_more_invitations_come_in_a_file_of_their_own(frozen):
    opened("--invitations", 2)
    done("survey invite survey.json 4 -o more.txt")
    assert len(Path("more.txt").read_text().split()) == 4
    assert stat.S_IMODE(os.stat("more.txt").st_mode) == 0o600
    assert answer("survey status survey.json")["invitations"]["made"] == 6
    assert "more.txt exists" in refusal("survey invite survey.json 4 -o more.txt")
    assert "no survey 'abcdefgh'" in refusal("survey invite abcdefgh 4 -o less.txt")
    assert not Path("less.txt").exists()


def test_a_survey_goes_through_its_states_in_order(frozen):
    opened("--no-invitations")
    assert "only a closed one can be published" in refusal("survey publish survey.json")
    assert "no answers yet" in refusal("survey results survey.json")
    done("survey close survey.json")
    done("survey close survey.json")  # again: the tables are rewritten once more
    done("survey", "reopen", frozen.id)
    assert answer("survey", "status", frozen.id)["state"] == "open"


def test_crowd_results_and_publication(frozen):
    opened("--no-invitations")
    with running(DATABASE) as (url, _):
        link = Link(url, frozen.id, frozen.design.fingerprint)
        sent = answer("crowd", link, "--data", "people.csv", "--seed", 5)
        assert (sent["answered"], sent["refused"], sent["simulated"]) == (600, 0, True)
        shown = done("survey results survey.json")
        assert "Do you smoke?" in shown
        assert "600 answers" in shown
        found = answer("survey results survey.json -o results.json")
        assert json.loads(Path("results.json").read_text(encoding="utf-8")) == found
        smokes = found["attributes"][0]
        for share, low, high in zip(*(smokes[k] for k in ("shares", "low", "high")), strict=True):
            assert 0 <= low <= share <= high <= 1
        # 600 people at p = 0.7: a share's standard error is below sqrt(1/4/600)/0.7 < 0.03.
        assert abs(smokes["shares"][1] - 1 / 3) < 4.5 * 0.03
        done("survey results survey.json -o estimate.npz")
        assert Estimate.load("estimate.npz").n == 600
        done("survey close survey.json")
        time.sleep(FRESH_SECONDS)  # for so long the server shows what it has read
        assert "does not take answers" in refusal("crowd", link, "--data", "people.csv")
        assert httpx.get(f"{link.api}/results").status_code == 404
        said = done("survey", "publish", "survey.json", "--open-data", "--url", url)
        assert re.findall(r"https?://\S+", said) == [
            f"{url}/r/{frozen.id}",
            f"{link.api}/results",
            f"{link.api}/results/reports.parquet",
        ]
        time.sleep(1.1)  # the server shows a survey as it was at most a second ago
        again = refusal("survey", "publish", "survey.json", "--url", url)
        assert again == f"survey {frozen.id} is published already, at {url}/r/{frozen.id}"
        assert "Do you smoke?" in httpx.get(f"{url}/r/{frozen.id}").text
        public = httpx.get(f"{link.api}/results").json()
        assert public["attributes"] == found["attributes"]
        assert public["dependences"]["names"] == list(frozen.design.domain.names)
        reports = pl.read_parquet(httpx.get(f"{link.api}/results/reports.parquet").content)
        assert reports.height == 600


def test_the_same_seed_gives_the_same_tally_over_http_as_in_memory(frozen):
    done("randomize people.csv -d design.json -o again.jsonl --seed 7")
    done("tally again.jsonl -d design.json -o again.json")
    opened("--no-invitations")
    with running(DATABASE) as (url, store):
        link = Link(url, frozen.id, frozen.design.fingerprint)
        done("crowd", link, "--data", "people.csv", "--seed", 7)
        counted = store.tally(store.need(frozen.id).phase())
    assert counted.to_json() == Path("again.json").read_text(encoding="utf-8")


def test_a_crowd_with_blind_invitations(frozen):
    """Links name the key, each invitation is good for one answer, and a closed survey stays so."""
    port = free_port()
    opened("--invitations", 20, "--blind", "--url", f"http://127.0.0.1:{port}")
    done("survey invite survey.json 5 -o more.txt")
    text = Path("invitations.txt").read_text()
    known = {Link.parse(line).key for line in (text + Path("more.txt").read_text()).split()}
    with running(DATABASE) as (url, store):
        shown = httpx.get(f"{url}/api/surveys/{frozen.id}").json()
        assert known == {hashlib.sha256(shown["blind_key"].encode()).hexdigest()}
        Path("links.txt").write_text(text.replace(f"http://127.0.0.1:{port}", url))
        first = Path("links.txt").read_text().split()[0]
        words = ("crowd", first, "--data", "people.csv", "--invitations", "links.txt")
        assert answer(*words)["answered"] == 20
        again = answer(*words)
        assert (again["answered"], again["refused"]) == (0, 20)
        assert store.status(frozen.id)["answers"] == 20
    said = refusal("survey close survey.json")
    assert "can never take answers again. Nothing was done. If you are sure, add --yes" in said
    assert answer("survey status survey.json")["state"] == "open"
    assert "for good" in done("survey close survey.json --yes")
    done("survey close survey.json")  # again: nothing is left to destroy
    assert "key of its blind invitations was destroyed" in refusal("survey", "reopen", frozen.id)


@pytest.mark.parametrize(("said", "state"), [("n", "open"), ("y", "closed")])
def test_at_a_terminal_closing_for_good_is_asked_for(frozen, monkeypatch, said, state):
    opened("--invitations", 1, "--blind")
    monkeypatch.setattr(
        "mdrr.cli.results.sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True))
    )
    asked = run("survey close survey.json", stdin=f"{said}\n")
    assert "Closing it destroys their key" in asked.stderr
    assert "Close it for good?" in asked.stderr
    assert answer("survey status survey.json")["state"] == state


def test_a_crowd_uses_each_invitation_once(frozen):
    port = free_port()
    opened("--invitations", 50, "--url", f"http://127.0.0.1:{port}")
    text = Path("invitations.txt").read_text()
    with running(DATABASE) as (url, _):
        Path("links.txt").write_text(text.replace(f"http://127.0.0.1:{port}", url))
        first = Path("links.txt").read_text().split()[0]
        bare = Link(url, frozen.id, frozen.design.fingerprint)
        assert "--invitations FILE" in refusal("crowd", bare, "--data", "people.csv")
        Path("none.txt").touch()
        said = refusal("crowd", bare, "--data", "people.csv", "--invitations", "none.txt")
        assert said == "none.txt holds no links. Name the file of the invitations"
        other = Link(url, "otherone", frozen.design.fingerprint)
        assert "Check the link, its port too" in refusal("crowd", other, "--data", "people.csv")
        words = ("crowd", first, "--data", "people.csv", "--invitations", "links.txt")
        assert answer(*words)["answered"] == 50
        again = answer(*words)
        assert (again["answered"], again["refused"]) == (0, 50)
        assert "403" in again["reason"]
        assert done(*words).endswith("Use the link you got.\n")
    assert answer("survey status survey.json")["invitations"] == {
        "kind": "required",
        "made": 50,
        "used": 50,
    }


def test_a_pilot_leads_to_the_main_survey_and_nobody_is_in_both(frozen):
    opened("--invitations", 500)
    with running(DATABASE) as (url, _):
        text = Path("invitations.txt").read_text().replace("http://127.0.0.1:8000", url)
        links = text.split()
        Path("pilot.txt").write_text("\n".join(links[:300]))
        done("crowd", links[0], "--data", "people.csv", "--invitations", "pilot.txt")
        Path("all.txt").write_text(text)
        Path("cut.txt").write_text(f"{links[0]}\nhttps://cut", encoding="utf-8")
        cut = "survey phase survey.json --people 5000 --links cut.txt -o main.txt"
        assert "cut.txt, line 2: this is no link to a survey" in refusal(cut)
        assert answer("survey status survey.json")["phase"] == 1
        made = answer("survey phase survey.json --people 5000 --links all.txt -o main.txt")
        assert made["pilot"] == 300
        assert made["epsilon_main"] <= made["epsilon_pilot"] == frozen.design.epsilon
        main = Path("main.txt").read_text().split()
        assert Link.parse(main[0]).fingerprint == made["fingerprint"] != frozen.design.fingerprint
        time.sleep(1.1)  # the server shows a survey as it was at most a second ago
        assert "first part of the survey" in refusal("crowd", links[-1], "--data", "people.csv")
        sent = answer("crowd", main[0], "--data", "people.csv", "--invitations", "main.txt")
        assert (sent["answered"], sent["refused"]) == (200, 300)
        found = answer("survey status survey.json")
        assert [phase["answers"] for phase in found["phases"]] == [300, 200]
    both = answer("survey results survey.json --method product")
    assert (both["answers"], both["phase"]) == (500, None)
    pilot = answer("survey results survey.json --phase 1 --method product")
    assert (pilot["answers"], pilot["phase"]) == (300, 1)

    # The frozen survey holds the main design, and links to a page elsewhere promise that one.
    said = done("survey page survey.json --collector https://x.example.org -o page")
    assert f"#design={made['fingerprint']}&words={frozen.words}," in "".join(said.split("\n"))
    with database(DATABASE) as store:
        held = store.need(frozen.id).frozen
    assert [design.fingerprint for design in held.phases] == [
        frozen.design.fingerprint,
        made["fingerprint"],
    ]
    assert held.predicted["people"] == 5000
    assert FrozenSurvey.from_json(held.to_json()) == held

    # What is published is what was estimated: both phases as one, and each.
    done("survey close survey.json")
    assert answer("survey publish survey.json --method product")["answers"] == 500
    with database(DATABASE) as store:
        results = json.loads(store.need(frozen.id).results)
    shown = ("answers", "phase", "attributes")
    assert {key: results[key] for key in shown} == {key: both[key] for key in shown}
    assert [each["phase"] for each in results["phases"]] == [1, 2]
    assert results["phases"][0]["attributes"] == pilot["attributes"]


def test_a_pilot_without_answers_or_a_second_main_survey_is_one_line(frozen):
    opened("--invitations", 300)
    words = "survey phase survey.json --people 5000"
    assert "nobody has answered" in refusal(words)
    with running(DATABASE) as (url, _):
        text = Path("invitations.txt").read_text().replace("http://127.0.0.1:8000", url)
        Path("links.txt").write_text(text)
        done("crowd", text.split()[0], "--data", "people.csv", "--invitations", "links.txt")
    said = done(f"{words} --links links.txt -o main.txt")
    assert "Send everybody the new link" in said
    again = refusal(words)
    assert again == f"survey {frozen.id} is in its main survey already; it has one pilot"


def test_a_pilot_without_invitations_needs_a_promise(frozen):
    opened("--no-invitations")
    assert "--different-people" in refusal("survey phase survey.json --people 500")
    assert "go together" in refusal("survey phase survey.json --people 500 -o x.txt")


def test_clusters_of_the_pilot_can_be_asked_for(frozen):
    opened("--no-invitations")
    with running(DATABASE) as (url, store):
        link = Link(url, frozen.id, frozen.design.fingerprint)
        done("crowd", link, "--data", "people.csv", "--n", 600)
        words = "survey phase survey.json --people 900 --different-people --epsilon 3"
        made = answer(f"{words} --clusters 12 --min-dependence 0")
        design = store.need(frozen.id).phase(2).design
    assert made["epsilon_main"] == design.epsilon <= 3.0
    assert max(len(cluster.attributes) for cluster in design.clusters) > 1


def test_the_page_is_written_for_somebody_else_to_serve(frozen):
    done("survey page survey.json --collector https://collector.example.org/ -o page")
    text = Path("page/index.html").read_text(encoding="utf-8")
    assert '"mdrr-collector" content="https://collector.example.org"' in text
    assert f'"mdrr-survey" content="{frozen.id}"' in text
    assert Path("page/form.js").is_file()
    assert "exists" in refusal("survey page survey.json --collector https://x.org -o page")
    assert "is not https://" in refusal("survey page survey.json --collector http://x.org -o p")


@pytest.mark.parametrize("kind", [(), ("--blind",)], ids=["required", "blind"])
def test_the_page_elsewhere_comes_with_its_links(frozen, kind):
    opened("--invitations", 3, *kind)
    old = [Link.parse(line) for line in Path("invitations.txt").read_text().split()]
    words = "survey page survey.json --collector https://x.org --url https://page.org/here/ "
    assert "go together" in refusal(f"{words} -o page --links invitations.txt")
    done(f"{words} -o page --links invitations.txt --links-out page.txt")
    new = Path("page.txt").read_text().split()
    assert stat.S_IMODE(os.stat("page.txt").st_mode) == 0o600
    for before, line in zip(old, new, strict=True):
        address, _, fragment = line.partition("#")
        assert address == "https://page.org/here/index.html"
        assert parse_qs(fragment) == parse_qs(str(before).partition("#")[2])
    Path("bad.txt").write_text(f"{old[0]}\n{replace(old[1], survey='abcdefgh')}\n")
    said = refusal(f"{words} -o other --links bad.txt --links-out other.txt")
    assert said == f"bad.txt, line 2: this is no invitation to survey {frozen.id}"
    assert not Path("other").exists()


def start(*words: object) -> subprocess.Popen:
    """A command as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "mdrr", *map(str, words)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )


def wait_for(url: str, server: subprocess.Popen) -> None:
    for _ in range(1200):
        assert server.poll() is None, server.communicate()
        try:
            assert httpx.get(f"{url}/healthz").json() == {"status": "ok"}
            return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")


def test_serve_crowd_and_results_as_processes(frozen):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    opened("--invitations", 400, "--url", url)
    link = Path("invitations.txt").read_text().split()[0]
    server = start("serve", "--port", port)
    try:
        wait_for(url, server)
        crowd = start("crowd", link, "--data", "people.csv", "--invitations", "invitations.txt")
        out, err = crowd.communicate(timeout=300)
        assert crowd.returncode == 0, err
        assert "400 simulated people answered" in out
        assert "A simulation" in err
    finally:
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=60)
    assert f"Serving {DATABASE} at {url}" in err
    assert frozen.design.fingerprint in err
    assert "Traceback" not in err
    done("survey close survey.json")
    found = answer("survey results survey.json --method product")
    assert found["answers"] == 400
    people = pl.read_csv("people.csv")[:400]
    shares = [float((people["smokes"] == label).mean()) for label in ("no", "yes")]
    # p = 0.7 and 400 people: three standard errors are below 3 * sqrt(1/4/400)/0.7 < 0.11; we
    # allow four and a half, a false alarm of 7e-6.
    assert np.abs(np.array(found["attributes"][0]["shares"]) - shares).max() < 4.5 * 0.036


def test_the_demo_is_answered_already_and_prints_its_links(folder, monkeypatch):
    port = free_port()
    server = start("serve", "--demo", "--n", 200, "--port", port)
    try:
        wait_for(f"http://127.0.0.1:{port}", server)
        lines = []
        while "Stop with Ctrl-C" not in (line := server.stderr.readline()):
            assert line, lines
            lines.append(line)
        [page] = re.findall(r"Answer yourself: +(\S+)", "".join(lines))
        [board] = re.findall(r"Look at results: +(\S+)", "".join(lines))
        link, token = Link.parse(page), board.rpartition("#token=")[2]
        survey = httpx.get(link.api).json()
        assert survey["fingerprint"] == link.fingerprint
        assert survey["survey"]["questions"][6]["text"] == {"en": "What is your sex?"}
        owner = {"authorization": f"Bearer {token}"}
        status = httpx.get(f"{link.api}/owner/status", headers=owner).json()
        assert status["answers"] == 200
        assert status["epsilon"] <= 4
        assert httpx.get(page).status_code == httpx.get(board).status_code == 200
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)
    assert not list(Path().glob("*.db*"))
    assert "leave out --database" in refusal("serve --demo --database sqlite:///x.db")


def test_serving_an_empty_database_says_what_to_do(folder):
    server = start("serve", "--port", port := free_port())
    try:
        wait_for(f"http://127.0.0.1:{port}", server)
    finally:
        server.send_signal(signal.SIGINT)
        _, err = server.communicate(timeout=60)
    assert "has no surveys yet. Add one with: mdrr survey open" in err


def test_a_port_or_host_that_cannot_be_had_is_one_line(frozen):
    opened("--no-invitations")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"port {port} is in use" in refusal(f"serve --port {port}")
    for host in ("192.0.2.1", "no-such-host.invalid"):
        assert f"{host} is no address of this machine" in refusal(f"serve --host {host} --port 0")


def test_in_a_folder_without_the_database_nothing_is_made(frozen):
    for words in ("status", "close", "reopen", "results", "publish", "owner"):
        said = refusal(f"survey {words} survey.json")
        assert "there is no database sqlite:///mdrr.db here. Name it with --database" in said
    assert not list(Path().glob("mdrr.db*"))
    opened("--no-invitations")
    said = refusal("survey status abcdefgh")
    assert "no survey 'abcdefgh' in sqlite:///mdrr.db. Name its database with --database" in said


def test_passwords_of_databases_are_not_shown(frozen):
    url = "postgresql://ann:secret@127.0.0.1:1/none"
    said = refusal(f"survey open survey.json --no-invitations --database {url}")
    assert "postgresql://ann:***@127.0.0.1:1/none cannot be opened" in said
    assert "secret" not in said


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_a_database_that_others_can_read_is_warned_of(frozen):
    opened("--no-invitations")
    assert "Others on this machine" not in run("survey status survey.json").stderr
    Path("mdrr.db").chmod(0o644)
    said = run("survey status survey.json").stderr
    assert "Others on this machine may read mdrr.db. Prevent that with: chmod 600 mdrr.db*" in said


def test_the_lines_that_are_printed_work(folder):
    text = Path("survey.toml").read_text(encoding="utf-8")
    plan = "[design]\nepsilon = 2.0\npeople = 30\n"
    Path("survey.toml").write_text(text.replace("[[attributes]]", f"{plan}[[attributes]]", 1))
    said = done("survey freeze survey.toml -o survey.json")
    [line] = re.findall(r"Next: mdrr (.*)", said)
    assert line == "survey open survey.json --invitations 30"
    printed = done(f"{line} --url http://127.0.0.1:8071")
    assert "Serve it with: mdrr serve --database sqlite:///mdrr.db --port 8071\n" in printed


def test_a_folder_that_is_missing_is_said(frozen):
    said = refusal("survey open survey.json --invitations 2 -o /nonexistent/i.txt")
    assert "there is no folder '/nonexistent'" in said
    assert Store(DATABASE).states() == {}


def test_an_address_that_is_none_leaves_no_survey_behind(frozen):
    for url in ("survey.example.org", "ftp://x.org", "https://x.org/#a", "https://x.org/?q"):
        said = refusal("survey", "open", "survey.json", "--no-invitations", "--url", url)
        assert "is no address. Write it as in https://" in said
    said = refusal("survey open survey.json --no-invitations --url survey.example.org")
    assert said.endswith("Write it as in https://survey.example.org")
    opened("--no-invitations", "--url", "https://x.org/here/")


def test_serve_prints_links_that_can_be_answered(frozen, monkeypatch):
    opened("--invitations", 1, "--blind", "--url", "http://127.0.0.1:8123")
    invited = Link.parse(Path("invitations.txt").read_text().strip())
    monkeypatch.setattr("mdrr.server.app.serve", lambda *words, **more: None)
    monkeypatch.setattr("mdrr.cli.crowd.free_port", lambda host, port: 8123)
    said = run("serve --port 8123").stderr
    assert str(replace(invited, invitation=None)) in said


def test_a_crowd_without_its_invitations_is_told_the_option(frozen):
    opened("--invitations", 1)
    with running(DATABASE) as (url, _):
        link = Link(url, frozen.id, frozen.design.fingerprint)
        assert "--invitations" in refusal("crowd", link, "--data", "people.csv")
        other = replace(link, fingerprint="0" * 64)
        assert "another design" in refusal("crowd", other, "--data", "people.csv")
    done("survey close survey.json")
    with running(DATABASE) as (url, _):
        link = replace(link, base=url)
        assert "does not take answers now" in refusal("crowd", link, "--data", "people.csv")


def test_a_database_that_cannot_be_opened_is_named(frozen):
    assert "Check that its folder exists" in refusal(
        "survey open survey.json --no-invitations --database sqlite:///no/such/folder/x.db"
    )
    assert Store(DATABASE).states() == {}
