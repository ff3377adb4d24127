"""`mdrr securesum offer`, `batch`, `relay`, `report`, `aggregate`, `result`, as real processes."""

import json
import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from mdrr.cli.organising import opened_fields
from mdrr.domain import Attribute, Domain
from mdrr.securesum.batch import Batch, make_batch, read_offer
from mdrr.securesum.belongings import load_or_make
from mdrr.securesum.ledger import Ledger
from mdrr.securesum.message import Message
from mdrr.securesum.person import make_reports
from mdrr.securesum.question import Question, randomized_in_all
from mdrr.securesum.statement import of_opened
from mdrr.securesum.transport.remote import RemotePost
from mdrr.source import SystemSource
from tests.cli.run import done
from tests.cli.run import run as invoke
from tests.securesum.scene import forged

PAGE = Path(__file__).resolve().parents[2] / "docs" / "securesum.md"

DOMAIN = Domain(
    (
        Attribute("sex", ("f", "m")),
        Attribute("smokes", ("no", "sometimes", "daily")),
        Attribute("moves", ("no", "yes")),
    )
)
OVER = 1_577_880_000
CODES = [np.array(column) for column in ([0, 1, 1, 0], [0, 2, 1, 2], [1, 1, 0, 0])]


def run(*args: object) -> str:
    """What `mdrr securesum` prints, in this process: starting one costs seconds."""
    return done("securesum", *args)


def refused(*args: object) -> str:
    """The last line of a command that refuses; above it stands what it told before."""
    result = invoke("securesum", *args)
    assert isinstance(result.exception, SystemExit), f"a traceback: {result.exception!r}"
    assert result.exit_code == 2
    return " ".join(result.stderr.split())


@contextmanager
def relaying(folder: Path, *batches: Path) -> Iterator[list[dict[str, Any]]]:
    """A relay process; where its batches are."""
    named = [str(word) for one in batches for word in ("--batch", one)]
    process = subprocess.Popen(
        [sys.executable, "-m", "mdrr", "securesum", "relay", "--port", "0", *named,
         "--database", f"sqlite:///{folder / 'relay.db'}"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield [json.loads(process.stdout.readline()) for _ in batches]
    finally:
        process.terminate()
        process.communicate(timeout=30)


def made_batch(folder: Path, name: str, invite: int, *more: object) -> dict[str, str]:
    """Two offers and a batch, in `folder/name`."""
    (folder / "domain.json").write_text(json.dumps(DOMAIN.to_dict()))
    offers: list[object] = []
    for k, operator in enumerate(("Office A", "Office B")):
        file = folder / f"{name}{k}.json"
        run("offer", "--state", folder / f"agg{k}", "--operator", operator, "--out", file)
        offers += ["--offer", file]
    answer: dict[str, str] = json.loads(
        run("batch", "--survey", folder / "domain.json", "--invite", invite, *offers, "--key",
            folder / "organiser.key", "--out", folder / name, *more)
    )  # fmt: skip
    return answer


def tokens(folder: Path, name: str = "one") -> list[str]:
    return (folder / name / "invitations.txt").read_text().split()


def record(folder: Path, k: int) -> Path:
    path = folder / f"record{k}.json"
    answers = {
        each.name: each.categories[int(column[k])]
        for each, column in zip(DOMAIN.attributes, CODES, strict=True)
    }
    path.write_text(json.dumps(answers))
    return path


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A batch of three people and a cheat; the relay has two more, one of them closed."""
    folder = tmp_path_factory.mktemp("batch")
    made = made_batch(folder, "one", 4, "--minimum", 3, "--purpose", "a test")
    again = made_batch(folder, "two", 4, "--minimum", 3)
    offers = [Message.from_json((folder / f"one{k}.json").read_bytes()) for k in (0, 1)]
    leader, source = load_or_make(folder / "organiser.key", SystemSource()), SystemSource()
    closed, papers = make_batch(
        leader, Question(DOMAIN), offers, tokens(folder), source, closes=OVER, minimum=3
    )
    papers.save(folder / "old" / "relay")
    with relaying(folder, *(folder / name / "relay" for name in ("one", "two", "old"))) as told:
        by_run = {one["url"].rpartition("/")[2]: one for one in told}
        assert {one["kind"] for one in told} == {"batch"}
        assert [by_run[one["batch"]]["purpose"] for one in (made, again)] == ["a test", ""]
        assert all(one["asked"] == list(DOMAIN.names) for one in told)
        here = ["--relay", by_run[made["batch"]]["url"], "--organiser", made["organiser"]]
        there = ["--relay", by_run[again["batch"]]["url"], "--organiser", made["organiser"]]
        over = ["--relay", by_run[closed.digest]["url"], "--organiser", made["organiser"]]
        servers = [
            subprocess.Popen(
                [sys.executable, "-m", "mdrr", "securesum", "aggregate", *here, "--json",
                 "--state", str(folder / f"agg{k}"), "--patience", "60"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for k in (0, 1)
        ]  # fmt: skip
        said = []
        for k in range(3):
            mine = ["--invitation", tokens(folder)[k], "--record", record(folder, k)]
            said.append(run("report", *here, *mine, "--state", folder / f"me{k}", "--json"))
        places = {"here": here, "there": there, "over": over}
        yield {"folder": folder, **places, "servers": servers, "said": said}
        for server in servers:
            server.kill()
            server.communicate()


def test_three_people_and_a_cheat_report_and_everybody_can_check_the_total(
    ended: dict[str, Any],
) -> None:
    folder, here = ended["folder"], ended["here"]
    me = ["report", *here, "--invitation", tokens(folder)[0], "--record", record(folder, 0)]
    assert "You had reported already" in run(*me, "--state", folder / "me0")
    other_device = refused(*me, "--state", folder / "elsewhere")
    assert "this invitation was used already, with another report" in other_device
    post = RemotePost(here[1])
    batch = Batch.read(post.document(), here[3])
    post.upload(forged(batch, tokens(folder)[3], [9] * batch.question.cells))
    post.close()
    endings = [server.communicate(timeout=150) for server in ended["servers"]]
    for (out, err), server in zip(endings, ended["servers"], strict=True):
        assert server.returncode == 0, err
        assert json.loads(out) == json.loads(endings[0][0])
    result = json.loads(run("result", *here, "--state", folder / "me1", "--json"))
    truth = Question(DOMAIN).sums([column[:3] for column in CODES])
    why = "the proof does not hold"
    assert (result["n"], result["invited"], result["refused"]) == (3, 4, {why: 1})
    assert result["totals"] == truth.tolist()
    assert result["counted"] is True
    assert result.keys() == {*json.loads(endings[0][0]), "counted"}
    assert result["privacy"] == of_opened((), 3).to_dict()
    typo = refused("result", *here, "--state", folder / "typo")
    assert "typo holds no report to this batch. Leave out --state" in typo
    given_up = refused("aggregate", *here, "--state", folder / "agg0", "--abort", "too late")
    assert "cannot be given up. Leave out --abort to see the total" in given_up
    words = " ".join(run("result", *here, "--state", folder / "me1").split())
    assert f"Of 4 people invited 3 count. Refused: 1 because {why}." in words
    assert "Your report is one of them." in words
    assert "ε = ∞" in words
    late = ["--invitation", tokens(folder)[3], "--record", record(folder, 3)]
    over = refused("report", *ended["over"], *late, "--state", folder / "late")
    assert "this batch closed on 2020-01-01 12:00 UTC" in over


def test_json_of_randomized_pairs_has_the_sum_of_their_epsilon() -> None:
    question = randomized_in_all(DOMAIN, 2.0)
    fields = opened_fields(question, question.sums(CODES, SystemSource()), 4)
    privacy: Any = fields["privacy"]
    assert 1.99 < privacy["epsilon"] <= 2.0
    assert "the sum over 3 tables" in privacy["words"]


def test_a_person_holds_to_her_own_limits(ended: dict[str, Any]) -> None:
    folder, there = ended["folder"], ended["there"]
    token, mistyped = tokens(folder, "two")[3], f"{there[3][:-1]}{'01'[there[3][-1] == '0']}"
    me = ["report", *there, "--record", record(folder, 3), "--state", folder / "new"]
    for more, reason in (
        (["--invitation", "short"], "this is not an invitation"),
        (["--invitation", "s" * 43], "not on the relay's roll"),
        (["--invitation", token, "--minimum", "4"], "opens for 3 people; you ask for 4"),
        (["--invitation", token, "--aggregator", "0" * 64], "not the ones you named"),
        (["--invitation", token, "--organiser", mistyped], f"not from {mistyped}. If the second"),
    ):
        assert reason in refused(*me, *more)
    done = invoke("securesum", *me, "--invitation", token)  # after the one that was wrong
    assert "Reported (" in done.stdout
    before = " ".join(done.stderr.split())
    assert "A total opens for at least 3 of 4 people invited." in before
    for k, operator in enumerate(("Office A", "Office B")):
        name = load_or_make(folder / f"agg{k}" / "keys.json", SystemSource()).id
        assert f"Aggregator {name}, which calls its operator '{operator}'" in before
    assert "hidden as long as one of Office A, Office B is honest" in before
    mine = [*me[:5], "--record", record(folder, 0), "--state", folder / "me0"]
    second = refused(*mine, "--invitation", token)
    assert "you answered sex, smokes, moves exactly in batch" in second
    assert "Traceback" not in second


def test_a_batch_without_a_result_says_so(ended: dict[str, Any]) -> None:
    assert "there is no result yet; missing:" in refused("result", *ended["there"])


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["--minimum", "2"], "at least 3"),
        (["--minimum", "30"], "at most as many as are invited"),
        (["--closes", "tomorrow"], "is not a time such as 2030-12-01T12:00Z"),
        (["--closes", "2030-12-01T12:00"], "is not a time such as"),
        (["--closes", "2020-01-01T12:00Z"], "is over. Give a time to come"),
        (["--survey", "missing.toml"], "no file"),
    ],
)
def test_an_organiser_refuses_batches_that_protect_nobody(
    ended: dict[str, Any], tmp_path: Path, args: list[str], reason: str
) -> None:
    folder = ended["folder"]
    offers = ["--offer", folder / "one0.json", "--offer", folder / "one1.json"]
    base = ["batch", "--invite", 20, "--key", tmp_path / "k", "--out", tmp_path / "new", *offers]
    assert reason in refused(*base, "--survey", folder / "domain.json", *args)
    assert not (tmp_path / "new").exists()
    assert "exists" in refused(*base[:-5], folder / "one", *offers)
    alone = refused(*base[:-2], "--survey", folder / "domain.json")
    assert "a batch has two to five aggregators, not 1" in alone


def secrets(state: Path) -> list[bytes]:
    """The sealing secrets of an aggregator's offers."""
    with closing(sqlite3.connect(state / "ledger.sqlite")) as ledger:
        return [row[0] for row in ledger.execute("select secret from offer") if row[0]]


def on_disk(state: Path) -> bytes:
    """The bytes of an aggregator's ledger and of its write-ahead log."""
    return b"".join(path.read_bytes() for path in state.glob("ledger.sqlite*"))


def test_keys_are_wiped_without_the_relay_and_it_is_told_later(tmp_path: Path) -> None:
    made, state = made_batch(tmp_path, "one", 4, "--minimum", 3), tmp_path / "agg0"
    command = ["aggregate", "--organiser", made["organiser"], "--state", state]
    with relaying(tmp_path, tmp_path / "one" / "relay") as [told]:
        here = ["--relay", told["url"]]
        server = subprocess.Popen(
            [sys.executable, "-m", "mdrr", "securesum", *map(str, command), *here],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert server.stderr is not None
        assert "A batch of 4 people" in server.stderr.readline()
        server.kill()
        server.communicate()
    [secret] = secrets(state)
    served = load_or_make(state / "keys.json", SystemSource())
    assert secret in on_disk(state)
    for nothing in ("", " "):
        assert "--abort needs a reason" in refused(*command, *here, "--abort", nothing)
    assert secret in on_disk(state)
    ended = invoke("securesum", *command, *here, "--abort", "gone", "--patience", "0.2")
    words = " ".join(ended.stderr.split())
    assert ended.exit_code == 3, words
    assert "its abort is signed and kept, but it could not be told. Give the same" in words
    assert secret not in on_disk(state)
    with relaying(tmp_path, tmp_path / "one" / "relay") as [told]:
        here = ["--relay", told["url"]]
        again = invoke("securesum", *command, *here, "--abort", "gone")
        assert again.exit_code == 3
        assert "stopped at step 'given up': gone" in again.stderr
        seen = invoke("securesum", "result", *here, "--organiser", made["organiser"])
        assert f"aggregator {served.id[:12]} says: gone" in " ".join(seen.stderr.split())


def test_offers_that_no_batch_used_are_withdrawn(tmp_path: Path) -> None:
    made_batch(tmp_path, "one", 4, "--minimum", 3)
    state, offer = tmp_path / "agg0", Message.from_json((tmp_path / "one0.json").read_bytes())
    with closing(Ledger(state / "ledger.sqlite")) as ledger:
        used = ledger.secret(read_offer(offer).sealing, "used")
    more = ["offer", "--state", state]
    assert "an offer needs --operator NAME and --out FILE" in refused(*more)
    run(*more, "--operator", "Office A", "--out", tmp_path / "unused.json")
    [unused] = {*secrets(state)} - {used}
    assert unused in on_disk(state)
    done = invoke("securesum", *more, "--withdraw")
    assert "1 unused offer withdrawn, the keys wiped." in done.stderr
    again = invoke("securesum", *more, "--withdraw")
    said = f"There is no unused offer in {state}, so nothing was withdrawn."
    assert (again.exit_code, said in again.stderr) == (0, True)
    assert "add --abort REASON to your 'mdrr securesum aggregate'" in again.stderr
    assert secrets(state) == [used]
    assert unused not in on_disk(state)
    nothing = refused("offer", "--withdraw", "--state", tmp_path / "nowhere")
    assert "nowhere has no keys of an aggregator" in nothing


def test_a_batch_is_given_up_without_its_keys(tmp_path: Path) -> None:
    """Else those who reported to a batch of a withdrawn offer could never answer again."""
    made = made_batch(tmp_path, "one", 4, "--minimum", 3)
    invoke("securesum", "offer", "--state", tmp_path / "agg0", "--withdraw")
    with relaying(tmp_path, tmp_path / "one" / "relay") as [told]:
        here = ["--relay", told["url"], "--organiser", made["organiser"]]
        serve = ["aggregate", *here, "--state", tmp_path / "agg0"]
        assert "If it was withdrawn, add --abort REASON" in refused(*serve)
        stopped = invoke("securesum", *serve, "--abort", "withdrawn")
        assert stopped.exit_code == 3
        assert "stopped at step 'given up': withdrawn" in stopped.stderr
        seen = invoke("securesum", "result", *here)
        assert "says: withdrawn" in " ".join(seen.stderr.split())
        nobody = refused("party", *here, "--invitation", tokens(tmp_path)[0], "--record",
                         record(tmp_path, 0), "--state", tmp_path / "me", "--yes")  # fmt: skip
        assert "is the address of a batch, which has aggregators" in nobody


def test_a_relay_that_is_given_the_organisers_folder_says_which_it_needs(
    ended: dict[str, Any],
) -> None:
    given = ended["folder"] / "one"
    said = refused("relay", "--batch", given)
    assert f"{given} has no batch.json. Give the folder 'relay'" in said


def test_the_documented_run_works_as_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eleven more people report from this process; everything else is what the page says."""
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"<!-- (\w+) -->\n```\n(.*?)```", text, re.DOTALL)
    assert [name for name, _ in found] == ["run", "run", "serve", "aggregate", "report", "result"]
    lines = [(name, line) for name, block in found for line in block.splitlines()]
    (tmp_path / "me.json").write_text(re.findall(r"```\n(\{.*?\})\n```", text, re.DOTALL)[0])
    known: dict[str, str] = {}
    started: list[subprocess.Popen[str]] = []

    def start(line: str) -> subprocess.Popen[str]:
        words = [known.get(word, word) for word in shlex.split(line)]
        assert words[0] == "mdrr"
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    try:
        servers = []
        for name, line in lines:
            if name == "serve":
                relay = start(f"{line} --port 0")
                assert relay.stdout is not None
                told = json.loads(relay.stdout.readline())
                invitations = (tmp_path / "batch" / "invitations.txt").read_text().split()
                known |= {"URL": told["url"], "ID": told["organiser"], "TOKEN": invitations[0]}
            elif name == "aggregate":
                servers.append(start(line))
            else:
                if name == "result":
                    assert [server.wait(timeout=120) for server in servers] == [0, 0]
                process = start(line)
                out, err = process.communicate(timeout=120)
                assert process.returncode == 0, (line, err)
            if name == "report":
                post, source = RemotePost(told["url"]), SystemSource()
                batch = Batch.read(post.document(), told["organiser"])
                places = batch.question.positions([[0] * 11] * 8, source)
                for one in make_reports(batch, invitations[1:], places, source):
                    post.upload(one)
                post.close()
    finally:
        for process in started:
            if process.poll() is None:
                process.terminate()
            process.communicate(timeout=30)
    words = " ".join(out.split())
    assert "Of 12 people invited 12 count. Refused: 0." in words
    assert "Your report is one of them." in words


def test_a_relay_cannot_write_on_the_screen_of_those_who_ask_it() -> None:
    """Escape sequences in what it answers could hide a warning, or show another roster."""

    class Lies(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"error": "\x1b[2J\x1b[1;1Hall is well\x07\r"}).encode()
            self.send_response(400)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Lies) as server:
        thread = Thread(target=server.handle_request)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/b/{'0' * 64}"
        said = refused("result", "--relay", url, "--organiser", "0" * 64, "--patience", "1")
        thread.join()
    assert r"the relay refused: \x1b[2J\x1b[1;1Hall is well\x07" in said
    assert said.replace("\n", "").isprintable()
