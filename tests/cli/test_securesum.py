"""`mdrr relay`, `party`, `aggregator` and `securesum demo`, as real processes."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mdrr
from mdrr.dependence import from_codes


def mdrr_says(*args: str, timeout: float = 180.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mdrr", *args], capture_output=True, text=True, timeout=timeout
    )


@pytest.mark.parametrize("mode", ["paper", "aggregators"])
def test_the_demo_ends_with_the_exact_dependences_and_clusters(mode: str) -> None:
    done = mdrr_says("securesum", "demo", "--parties", "4", "--mode", mode, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    domain = mdrr.datasets.adult_domain()
    codes = [column[:4] for column in mdrr.encode(mdrr.datasets.adult(), domain)]
    exact = from_codes(codes, domain)
    assert np.allclose(answer["dependences"], exact.values)
    assert answer["privacy"]["epsilon"] is None
    clusters = mdrr.cluster(exact, domain, max_cells=100, min_dependence=0.1)
    assert [tuple(one) for one in answer["clusters"]] == list(clusters)
    if mode == "aggregators":
        assert "run by this demo, who can therefore read every single answer" in done.stderr


def test_the_demo_prints_a_matrix_and_what_it_cost() -> None:
    done = mdrr_says("securesum", "demo", "--parties", "3", "--epsilon", "100")
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


@pytest.fixture
def relay(tmp_path: Path):
    """A relay for three people; its address and the organiser's id."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mdrr", "relay", "--parties", "3", "--minimum", "3", "--mode",
         "paper", "--port", "0", "--key", str(tmp_path / "organiser.key")],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    yield json.loads(process.stdout.readline())
    process.terminate()
    process.communicate(timeout=30)


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
        (["--mode", "magic"], "not known"),
        (["--parties", "2"], "fewer than the minimum"),
        (["--domain", "missing.toml"], "no file"),
    ],
)
def test_a_relay_refuses_terms_that_protect_nobody(
    args: list[str], reason: str, tmp_path: Path
) -> None:
    base = ["relay", "--parties", "5", "--minimum", "5", "--port", "0"]
    done = mdrr_says(*base, "--key", str(tmp_path / "k"), *args)
    assert done.returncode == 2
    assert reason in done.stderr
