"""`python -m experiments`: all is run, kept and written down; an interruption loses little."""

import numpy as np
import pytest
from experiments.printed import COVERAGES, LEAST_DEPENDENCES, METHODS, MOST_CELLS
from experiments.runs import EXPERIMENTS, jobs

from experiments import __main__ as command

BOTH = [f"{m} {e}" for m in ("Randomized", METHODS[0]) for e in ("absolute", "relative")]
CELLS = [f"{most} {least}" for most in MOST_CELLS for least in LEAST_DEPENDENCES]
SERIES = {
    "figure2": [f"{c} {name}" for c in COVERAGES for name in BOTH],
    "table": [str(most) for most in MOST_CELLS],
    "once": [str(most) for most in MOST_CELLS],
    "figure3": [f"{c} {method}" for c in COVERAGES for method in METHODS],
    "joint": ["whole", "queried", "independent", "distance", "independent distance"],
    "learnt": [*CELLS, *(f"{cell} clusters" for cell in CELLS)],
}


def quickly(job):
    """What an experiment gives, without running it; the real ones are in the golden tests."""
    rng = np.random.default_rng([*str(job).encode()])
    return {"errors": {name: list(rng.random(job[6] - job[5])) for name in SERIES[job[0]]}}


@pytest.fixture
def words(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "work", quickly)
    monkeypatch.setattr(command, "save_charts", lambda outcome, folder: None)
    return ["--runs", "4", "--workers", "0", "--out", str(tmp_path)]


def test_all_is_run_once_and_written(words, tmp_path, capsys):
    assert command.main(words) == 0
    said = capsys.readouterr().out
    assert "claims hold" in said
    assert str(tmp_path / "reproduction.md") in said
    kept = tmp_path / "runs.jsonl"
    lines = kept.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(jobs(4, 1))
    written = (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    kept.write_text("\n".join(lines[:-2]) + '\n{"job": ["torn\n', encoding="utf-8")
    (tmp_path / "reproduction.md").unlink()
    assert command.main(words) == 0  # only what is missing is run again
    assert len(kept.read_text(encoding="utf-8").splitlines()) == len(lines) + 1
    assert (tmp_path / "reproduction.md").read_text(encoding="utf-8") == written
    assert command.main([*words, "--fresh"]) == 0
    assert len(kept.read_text(encoding="utf-8").splitlines()) == len(lines)


def test_every_experiment_has_its_series():
    assert set(SERIES) == set(EXPERIMENTS)


def test_an_interruption_says_how_to_go_on(words, tmp_path, monkeypatch, capsys):
    def stop(job):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "work", stop)
    assert command.main(words) == 130
    assert f"kept in {tmp_path / 'runs.jsonl'}; the same command" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--runs", "0"], ["--seed", "-1"], ["--workers", "-1"]])
def test_wrong_numbers_are_refused(wrong, capsys):
    with pytest.raises(SystemExit) as stopped:
        command.main(wrong)
    assert stopped.value.code == 2
    assert "at least one run" in capsys.readouterr().err
