"""`mdrr securesum demo`, and the paper's `group`, `organise` and `party`; runs are of processes."""

import json
import os
import pty
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import Result

import mdrr
from mdrr.cli.securesum import _confirm
from mdrr.dependence import from_codes
from mdrr.errors import ProtocolError
from mdrr.securesum.batch import make_group
from mdrr.securesum.belongings import load_or_make
from mdrr.securesum.question import Question
from mdrr.securesum.statement import of_opened
from mdrr.server.held import new_tokens
from mdrr.source import SystemSource
from tests.cli.run import run as invoke
from tests.securesum.group import Group

ROOT = Path(__file__).resolve().parents[2]
NOBODY = ("--organiser", "0" * 64, "--invitation", "x" * 43)


def run(*args: object) -> Result:
    """`mdrr securesum` in this process: starting one costs a second."""
    return invoke("securesum", *args)


@pytest.mark.parametrize("mode", ["paper", "aggregators"])
def test_the_demo_ends_with_the_exact_dependences_and_clusters(mode: str, tmp_path: Path) -> None:
    done = run("demo", "--n", "4", "--mode", mode, "--json")
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    keys = "n question totals measure level names values low high clear margins clusters privacy"
    assert set(answer) == set(keys.split())
    domain = mdrr.datasets.adult_domain()
    codes = [column[:4] for column in mdrr.encode(mdrr.datasets.adult(), domain)]
    exact = from_codes(codes, domain)
    assert np.allclose(answer["values"], exact.values)
    assert answer["privacy"]["epsilon"] is None
    clusters = mdrr.cluster(exact, domain, max_cells=100, min_dependence=0.1)
    assert [tuple(one) for one in answer["clusters"]] == list(clusters)
    (tmp_path / "demo.json").write_text(done.stdout, encoding="utf-8")
    read = invoke(f"cluster {tmp_path / 'demo.json'} --max-cells 100 --min-dependence 0.1 --json")
    assert json.loads(read.stdout)["clusters"] == answer["clusters"]
    if mode == "aggregators":
        assert "run by this demo, who can therefore read every single answer" in done.stderr


def test_the_demo_prints_a_matrix_and_what_it_cost() -> None:
    done = run("demo", "--n", "3", "--epsilon", "100", "--mode", "paper")
    assert done.exit_code == 0, done.stderr
    assert "Dependences of 3 people" in done.stdout
    assert "3 people are too few to tell" in done.stdout
    assert not re.search(r"\d\.\d{3}", done.stdout.partition("too few")[0])
    assert "Clusters:" in done.stdout
    assert "the sum over 28 tables" in done.stdout


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--n", "2"), "--n 2 is too few: of two people .* Give --n 3 or more"),
        (("--minimum", "2"), "--minimum 2 is too few: .* Give --minimum 3 or more"),
        (("--n", "5", "--minimum", "9"), "Give --n 9 or more, or --minimum 5"),
    ],
)
def test_a_demo_of_too_few_people_says_what_to_give(options: tuple[str, ...], told: str) -> None:
    done = run("demo", *options)
    assert done.exit_code == 2
    assert re.search(told, done.stderr)
    assert "started" not in done.stderr


def test_a_folder_that_others_can_look_into_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "me.json").write_text("{}")
    state = tmp_path / "state"
    state.mkdir()
    state.chmod(0o755)
    there = ("--relay", "http://127.0.0.1:9", *NOBODY[:2], "--state", str(state))
    hers = (*there, *NOBODY[2:], "--record", str(tmp_path / "me.json"))
    offered = ("--state", str(state), "--operator", "A", "--out", str(tmp_path / "offer"))
    for command in (
        ("offer", *offered),
        ("aggregate", *there),
        ("report", *hers),
        ("party", *hers),
    ):
        done = run(*command)
        assert done.exit_code == 2
        assert f"can look into {state} (mode 755)" in done.stderr
        assert f"chmod 700 {state}" in done.stderr
    assert [*state.iterdir()] == []
    state.chmod(0o700)
    assert run("offer", *offered).exit_code == 0


def test_nobody_answers_at_the_relays_address(tmp_path: Path) -> None:
    (tmp_path / "me.json").write_text("{}")
    done = run(
        "party", "--relay", "http://127.0.0.1:9", "--record", str(tmp_path / "me.json"),
        "--state", str(tmp_path), "--patience", "0.2", "--yes", *NOBODY,
    )  # fmt: skip
    assert done.exit_code == 2
    assert "the relay at http://127.0.0.1:9 does not answer" in done.stderr
    assert "Traceback" not in done.stderr


def test_who_is_not_at_a_terminal_is_told_before_anybody_waits_for_her(tmp_path: Path) -> None:
    (tmp_path / "me.json").write_text("{}")
    done = run(
        "party", "--relay", "http://127.0.0.1:9", "--record", str(tmp_path / "me.json"),
        "--state", str(tmp_path / "state"), *NOBODY,
    )  # fmt: skip
    assert done.exit_code == 2
    assert "Give the command on a terminal, or add --yes to take part whoever" in done.stderr
    assert not (tmp_path / "state").exists()


def test_a_roster_is_shown_and_refused_unless_the_person_confirms_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listed, asked = Group(4).roster, list[str]()

    def says(answer: bool) -> None:
        def confirm(text: str, *, err: bool) -> bool:
            asked.append(text)
            return answer

        monkeypatch.setattr(typer, "confirm", confirm)

    says(True)
    _confirm(listed, listed.ids[2], None, False)
    told = capsys.readouterr().err
    assert f"Roster of 4 parties: {listed.ids[0][:12]}, {listed.ids[1][:12]}, " in told
    assert f"{listed.ids[2][:12]} (you), " in told
    assert listed.digest in told.replace(" ", "")
    says(False)
    with pytest.raises(ProtocolError, match="the roster was not confirmed"):
        _confirm(listed, listed.ids[2], None, False)
    assert asked == ["Does the other person have the same digest?"] * 2
    _confirm(listed, listed.ids[2], None, True)
    _confirm(listed, listed.ids[2], listed.spoken, False)
    _confirm(listed, listed.ids[2], listed.digest, True)
    with pytest.raises(ProtocolError, match="the roster is not the one that was agreed on"):
        _confirm(listed, listed.ids[2], "0" * 64, True)
    assert len(asked) == 2


@pytest.mark.parametrize("digest", ["zzz", "0" * 63, "0" * 64 + "g"])
def test_a_digest_that_is_none_is_refused_before_anybody_hears_of_her(
    tmp_path: Path, digest: str
) -> None:
    record(tmp_path / "me.json", 0)
    done = run(
        "party", "--relay", "http://127.0.0.1:9/b/0", "--organiser", "0" * 64, "--invitation",
        "x" * 43, "--record", str(tmp_path / "me.json"), "--state", str(tmp_path / "state"),
        "--roster", digest,
    )  # fmt: skip
    assert done.exit_code == 2
    assert "--roster needs the digest of a roster, 64 digits and letters" in done.stderr


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "there is no file"), ("{", "is not JSON"), ("[1]", "must hold one JSON object")],
)
def test_a_record_that_cannot_be_read_is_refused_before_anybody_is_asked(
    tmp_path: Path, content: str | None, reason: str
) -> None:
    record, state = tmp_path / "me.json", tmp_path / "state"
    if content is not None:
        record.write_text(content)
    done = run(
        "party", "--relay", "http://127.0.0.1:9", "--record", str(record), "--state", str(state),
        *NOBODY,
    )  # fmt: skip
    assert done.exit_code == 2
    assert reason in done.stderr
    assert "does not answer" not in done.stderr
    assert not state.exists()


def test_an_invitation_that_was_not_copied_whole_is_refused(tmp_path: Path) -> None:
    (tmp_path / "me.json").write_text("{}")
    done = run(
        "party", "--relay", "http://127.0.0.1:9", "--record", str(tmp_path / "me.json"),
        "--state", str(tmp_path), "--organiser", "0" * 64, "--invitation", "abc",
    )  # fmt: skip
    assert done.exit_code == 2
    assert "Copy it whole" in done.stderr


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["--minimum", "2"], "at least 3"),
        (["--invite", "2"], "at most as many as are invited"),
        (["--invite", "201"], "takes at most 200 people"),
        (["--survey", "missing.toml"], "no file"),
        (["--closes", "tomorrow"], "is not a time such as"),
        (["--closes", "2020-01-01T12:00Z"], "is over. Give a time to come"),
    ],
)
def test_an_organiser_refuses_terms_that_protect_nobody_or_that_nobody_can_serve(
    args: list[str], reason: str, tmp_path: Path
) -> None:
    base = ["group", "--invite", "5", "--minimum", "5", "--out", str(tmp_path / "out")]
    done = run(*base, "--key", str(tmp_path / "k"), *args)
    assert done.exit_code == 2
    assert reason in " ".join(done.stderr.split())
    assert not (tmp_path / "out").exists()


def commands(text: str) -> list[tuple[str, list[list[str]]]]:
    """The marked blocks of a page: the mark, and its commands as words."""
    blocks = re.findall(r"^<!-- ([\w, ]+) -->\n```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(mark, [shlex.split(one) for one in body.splitlines()]) for mark, body in blocks]


def record(path: Path, k: int) -> None:
    """The answers of one of Adult's first people."""
    domain = mdrr.datasets.adult_domain()
    codes = mdrr.encode(mdrr.datasets.adult()[k : k + 1], domain)
    pairs = zip(domain.attributes, codes, strict=True)
    path.write_text(json.dumps({one.name: one.categories[int(c[0])] for one, c in pairs}))


def test_the_page_goes_through_a_run_of_a_small_group(tmp_path: Path) -> None:
    """As it is printed there, each person at a terminal of her own, where she confirms the list."""
    text = (ROOT / "docs" / "securesum.md").read_text(encoding="utf-8")
    [group, serve, organise, party] = [
        block for mark, block in commands(text) if mark.startswith("small group")
    ]
    closes = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    values = {"CLOSES": closes, "sqlite:///relay.db": f"sqlite:///{tmp_path}/relay.db"}
    started: list[subprocess.Popen[str]] = []
    keyboards: list[int] = []

    def start(words: list[str], *more: str) -> subprocess.Popen[str]:
        given = [values.get(word, word) for word in words[1:]]
        keyboard, terminal = pty.openpty()
        keyboards.append(keyboard)
        process = subprocess.Popen(
            [sys.executable, "-m", "mdrr", *given, *more], stdin=terminal,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        )  # fmt: skip
        os.close(terminal)
        started.append(process)
        return process

    def end(process: subprocess.Popen[str], code: int = 0) -> tuple[str, str]:
        out, err = process.communicate(timeout=240)
        assert process.returncode == code, err
        assert "Traceback" not in err
        return out, " ".join(err.split())

    try:
        values["ID"] = json.loads(end(start(group[0]))[0])["organiser"]
        relay = start(serve[0], "--port", "0")
        assert relay.stdout is not None
        served = json.loads(relay.stdout.readline())
        assert served["kind"] == "group"
        values["URL"] = served["url"]
        leader = start(organise[0], "--json")
        tokens = (tmp_path / "group" / "invitations.txt").read_text().split()
        people = []

        def come(k: int) -> None:
            record(tmp_path / f"me{k}.json", k)
            values.update({"TOKEN": tokens[k], "me": f"me{k}", "me.json": f"me{k}.json"})
            people.append((start(party[0], "--json"), keyboards[-1]))

        for k in range(3):
            come(k)
        # Strangers, the impatient and those with limits of their own are turned away meanwhile.
        here, mine = ["--relay", values["URL"]], ["--record", "me0.json", "--state", "other"]
        (tmp_path / "butcher.json").write_text(json.dumps({"workclass": "Butcher"}))
        limits = [
            (["--organiser", "0" * 64], tokens[3], "do not take part"),
            (["--organiser", values["ID"], "--minimum", "4"], tokens[3], "you ask for 4"),
            (["--organiser", values["ID"]], "x" * 43, "not on the relay's roll"),
            (["--organiser", values["ID"], "--record", "butcher.json"], tokens[3],
             "no answer to 'education'"),
        ]  # fmt: skip
        asked = ["mdrr", "securesum", "party", *here, *mine]
        for more, token, reason in limits:
            _, err = end(start(asked, *more, "--invitation", token), code=2)
            assert reason in err
            assert "Butcher" not in err
        come(3)
        told, _ = end(leader)
        came = json.loads(told)
        assert sorted(came["members"].values()) == [1, 2, 3, 4]
        for process, keyboard in people:
            assert process.poll() is None  # she is asked first
            os.write(keyboard, b"y\n")
        answers = [end(process) for process, _ in people]
        domain = mdrr.datasets.adult_domain()
        truth = Question(domain).sums(mdrr.encode(mdrr.datasets.adult()[:4], domain))
        for out, err in answers:
            opened = json.loads(out)
            assert opened["totals"] == truth.tolist()
            assert opened["privacy"] == of_opened((), 4).to_dict()
            assert opened.keys() == {"n", "question", "totals", "privacy"}
            assert came["roster"] in err.replace(" ", "")
            assert "Does the other person have the same digest? [y/N]:" in err
        assert (tmp_path / "me0" / "keys.json").stat().st_mode & 0o077 == 0  # for its owner only
        late = start(asked, "--organiser", values["ID"], "--invitation", tokens[3])
        assert "this invitation was used already, with other keys" in end(late, code=2)[1]
    finally:
        for keyboard in keyboards:
            os.close(keyboard)
        for process in started:
            if process.poll() is None:
                process.terminate()
                process.communicate(timeout=30)


def test_a_group_of_whom_too_few_come_ends_with_its_own_exit_code(tmp_path: Path) -> None:
    source, tokens = SystemSource(), new_tokens(3)
    leader, asked = load_or_make(tmp_path / "key", source), Question(mdrr.datasets.adult_domain())
    over = int(time.time()) - 1  # 'mdrr securesum group' makes no such group
    _, papers = make_group(leader, asked, tokens, source, closes=over, minimum=3)
    papers.save(tmp_path / "group" / "relay")
    (tmp_path / "group" / "invitations.txt").write_text("\n".join(tokens))
    relay = subprocess.Popen(
        [sys.executable, "-m", "mdrr", "securesum", "relay", "--batch",
         str(tmp_path / "group" / "relay"), "--database", f"sqlite:///{tmp_path}/r.db",
         "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert relay.stdout is not None
    try:
        url = json.loads(relay.stdout.readline())["url"]
        done = run(
            "organise", "--relay", url, "--key", str(tmp_path / "key"), "--invitations",
            str(tmp_path / "group" / "invitations.txt"),
        )  # fmt: skip
    finally:
        relay.terminate()
        relay.communicate(timeout=30)
    assert done.exit_code == 3
    words = " ".join(done.stderr.split())
    assert "stopped at step 'roster': 0 came of 3 invited" in words
    assert "Not here: invitations 1, 2, 3" in words
