"""`mdrr securesum demo`, `relay`, `party` and `aggregator`, as real processes."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest

import mdrr
from mdrr.dependence import from_codes
from mdrr.securesum.keys import Identity
from mdrr.securesum.organiser import join
from mdrr.securesum.terms import Terms
from mdrr.securesum.transport.client import RelayClient
from mdrr.source import SeededSource


def mdrr_says(*args: str, timeout: float = 180.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mdrr", "securesum", *args],
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@pytest.mark.parametrize("mode", ["paper", "aggregators"])
def test_the_demo_ends_with_the_exact_dependences_and_clusters(mode: str) -> None:
    done = mdrr_says("demo", "--n", "4", "--mode", mode, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    keys = "n measure level names values low high clear margins clusters privacy"
    assert set(answer) == set(keys.split())
    domain = mdrr.datasets.adult_domain()
    codes = [column[:4] for column in mdrr.encode(mdrr.datasets.adult(), domain)]
    exact = from_codes(codes, domain)
    assert np.allclose(answer["values"], exact.values)
    assert answer["privacy"]["epsilon"] is None
    clusters = mdrr.cluster(exact, domain, max_cells=100, min_dependence=0.1)
    assert [tuple(one) for one in answer["clusters"]] == list(clusters)
    if mode == "aggregators":
        assert "run by this demo, who can therefore read every single answer" in done.stderr


def test_the_demo_prints_a_matrix_and_what_it_cost() -> None:
    done = mdrr_says("demo", "--n", "3", "--epsilon", "100")
    assert done.returncode == 0, done.stderr
    assert "Dependences of 3 people" in done.stdout
    assert "Clusters:" in done.stdout
    assert "the sum over 28 tables" in done.stdout


def test_nobody_answers_at_the_relays_address(tmp_path: Path) -> None:
    (tmp_path / "me.json").write_text("{}")
    done = mdrr_says(
        "party", "--relay", "http://127.0.0.1:9", "--record", str(tmp_path / "me.json"),
        "--state", str(tmp_path), "--patience", "0.2",
    )  # fmt: skip
    assert done.returncode == 2
    assert "the relay at http://127.0.0.1:9 does not answer" in done.stderr
    assert "Traceback" not in done.stderr


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
    done = mdrr_says(
        "party", "--relay", "http://127.0.0.1:9", "--record", str(record), "--state", str(state)
    )
    assert done.returncode == 2
    assert reason in done.stderr
    assert "does not answer" not in done.stderr
    assert not state.exists()


@contextmanager
def relaying(folder: Path, *args: str) -> Iterator[dict[str, str]]:
    """A relay for three people; its address and the organiser's id."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mdrr", "securesum", "relay", "--n", "3", "--minimum", "3", *args,
         "--port", "0", "--key", str(folder / "organiser.key")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        told = json.loads(process.stdout.readline())
        yield told | ({"said": process.stderr.readline()} if "aggregators" in args else {})
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.fixture
def relay(tmp_path: Path):
    with relaying(tmp_path, "--mode", "paper") as told:
        yield told


def test_a_party_refuses_another_organiser_too_few_people_and_unknown_answers(
    relay: dict[str, str], tmp_path: Path
) -> None:
    record = tmp_path / "me.json"
    record.write_text(json.dumps({"workclass": "Butcher"}))
    base = ["party", "--relay", relay["url"], "--record", str(record), "--state", str(tmp_path)]
    for more, reason in (
        (["--organiser", "0" * 64], "do not take part"),
        (["--organiser", relay["organiser"], "--minimum", "4"], "open for 3 people; you ask for 4"),
        (["--organiser", relay["organiser"]], "no answer to 'education'"),
    ):
        done = mdrr_says(*base, *more, "--patience", "5")
        assert done.returncode == 2
        assert reason in done.stderr
        assert "Butcher" not in done.stderr
    assert (tmp_path / "keys.json").stat().st_mode & 0o077 == 0  # for its owner only


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["--minimum", "2"], "at least 3"),
        (["--mode", "magic"], "'magic' is not one of 'paper', 'aggregators'"),
        (["--n", "2"], "fewer than the minimum"),
        (["--survey", "missing.toml"], "no file"),
    ],
)
def test_a_relay_refuses_terms_that_protect_nobody(
    args: list[str], reason: str, tmp_path: Path
) -> None:
    base = ["relay", "--n", "5", "--minimum", "5", "--port", "0"]
    done = mdrr_says(*base, "--key", str(tmp_path / "k"), *args)
    assert done.returncode == 2
    assert reason in done.stderr


def named(*servers: Identity) -> list[str]:
    return [word for one in servers for word in ("--aggregator", one.public.pin)]


def test_relay_and_party_take_only_the_aggregators_they_are_told(tmp_path: Path) -> None:
    source = SeededSource("pins")
    one, two, three = (Identity.generate(source, name) for name in ("Office A", "Office B", "C"))
    domain = mdrr.datasets.adult_domain()
    record = tmp_path / "me.json"
    record.write_text(json.dumps({each.name: each.categories[0] for each in domain.attributes}))
    with relaying(tmp_path, "--mode", "aggregators", *named(one, two)) as relay:
        here = ["--relay", relay["url"], "--organiser", relay["organiser"], "--patience", "20"]
        stranger = mdrr_says(
            "aggregator", *here, "--state", str(tmp_path / "s"), "--operator", "Office A"
        )
        assert stranger.returncode == 2
        printed = re.search("This aggregator is ([0-9a-f]{64}):", stranger.stderr)
        assert printed is not None
        assert f"aggregator {printed[1]}, which calls its operator 'Office A'" in stranger.stderr
        client = RelayClient(relay["url"], one.id)
        terms = Terms.read(client.terms(), relay["organiser"])
        client.post(*(join(server, terms, "aggregator") for server in (one, two)))
        client.post(*(join(Identity.generate(source), terms) for _ in range(2)))
        client.close()
        me = ["party", *here, "--record", str(record), "--state", str(tmp_path / "me")]
        for pins, reason in (
            (["--aggregator", "Office A"], "'Office A' is not the id of an aggregator"),
            (named(one, three), "the batch's aggregators are not the ones you named"),
        ):
            refused = mdrr_says(*me, *pins)
            assert refused.returncode == 2
            assert sum(reason in line for line in refused.stderr.splitlines()) == 1
            assert "Traceback" not in refused.stderr
            assert refused.stdout == ""
        done = mdrr_says(*me, *named(two, one))
        assert done.returncode == 0, done.stderr
        assert "The aggregators are the ones you named" in " ".join(done.stdout.split())


def test_a_party_names_no_aggregators_in_paper_mode(relay: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "me.json").write_text("{}")
    done = mdrr_says(
        "party", "--relay", relay["url"], "--record", str(tmp_path / "me.json"), "--state",
        str(tmp_path), "--aggregator", "0" * 64, "--aggregator", "1" * 64,
    )  # fmt: skip
    assert done.returncode == 2
    assert "a run in paper mode has no aggregators; you named some" in done.stderr


def test_the_operator_is_told_how_to_close_a_batch(tmp_path: Path) -> None:
    with relaying(tmp_path, "--mode", "aggregators") as told:
        command = re.search(r"curl -X POST -H '(.*): (.*)' (.*)$", told["said"].strip())
        assert command is not None
        header, value, url = command.groups()
        assert url == f"{told['url']}/v1/close"
        early = httpx.post(url, headers={header: value})
        assert early.json() == {"error": "there is no batch to close"}
        source = SeededSource("close")
        client = RelayClient(told["url"], "0" * 64)
        terms = Terms.read(client.terms(), told["organiser"])
        servers = [Identity.generate(source, name) for name in ("Office A", "Office B")]
        client.post(*(join(server, terms, "aggregator") for server in servers))
        client.post(*(join(Identity.generate(source), terms) for _ in range(3)))
        wrong = httpx.post(url, headers={header: f"{value}0"})
        assert "needs the organiser's token" in wrong.json()["error"]
        assert httpx.post(url, headers={header: value}).json() == {"closed": True}
        kinds = [one.kind for one in client.fetch(5.0, kinds=("close",))]
        client.close()
    assert kinds == ["close"]


def test_a_run_that_ends_because_others_are_missing_has_its_own_exit_code(
    relay: dict[str, str], tmp_path: Path
) -> None:
    record = tmp_path / "me.json"
    domain = mdrr.datasets.adult_domain()
    record.write_text(json.dumps({each.name: each.categories[0] for each in domain.attributes}))
    done = mdrr_says(
        "party", "--relay", relay["url"], "--organiser", relay["organiser"],
        "--record", str(record), "--state", str(tmp_path), "--patience", "1",
    )  # fmt: skip
    assert done.returncode == 3
    assert "mdrr: stopped at step 'roster': no signed roster arrived in time" in done.stderr
    assert "Traceback" not in done.stderr
