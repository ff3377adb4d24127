import json
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from mdrr.errors import MdrrError
from mdrr.reproduction import runner
from mdrr.reproduction.outcome import reproduce
from mdrr.reproduction.runner import run
from mdrr.reproduction.settings import Settings
from mdrr.reproduction.store import Store
from mdrr.reproduction.unit import SIZES, Unit, measure, units

SETTINGS = Settings(runs=8)


def test_units_cover_every_run_once():
    for experiment in SIZES:
        listed = units(experiment, 130)
        for p in {unit.p for unit in listed}:
            runs = [r for u in listed if u.p == p for r in range(u.start, u.stop)]
            assert runs == list(range(130))


def test_a_unit_is_the_sum_of_its_runs():
    """So results cannot depend on how runs are cut into units or spread over processes."""
    for experiment in ("table1", "figure2", "joint"):
        p = 0.7
        whole = measure(Unit(experiment, p, 0, 3), SETTINGS)
        parts = [measure(Unit(experiment, p, i, i + 1), SETTINGS) for i in range(3)]
        assert whole == {name: [part[name][0] for part in parts] for name in whole}
    whole = measure(Unit("figure3", 0.7, 0, 2, (50, 0.1)), SETTINGS)
    later = measure(Unit("figure3", 0.7, 1, 2, (50, 0.1)), SETTINGS)
    assert {name: listed[1:] for name, listed in whole.items()} == later


def test_two_processes_give_the_numbers_of_one(tmp_path):
    stores = []
    for workers in (1, 2):
        store = Store.open(tmp_path / str(workers), SETTINGS)
        run([(SETTINGS, store, units("table1", 8))], workers=workers)
        stores.append(store)
    assert stores[0].done == stores[1].done
    assert len(stores[0].done) == 4


def test_an_interrupted_reproduction_goes_on(tmp_path, monkeypatch):
    settings = Settings(runs=250)
    known = reproduce(["figure2"], settings, workers=1)
    measured = []

    def cut_off(unit, some):
        if len(measured) == 2:
            raise KeyboardInterrupt
        measured.append(unit)
        return measure(unit, some)

    monkeypatch.setattr(runner, "measure", cut_off)
    with pytest.raises(KeyboardInterrupt):
        reproduce(["figure2"], settings, folder=tmp_path, workers=1)
    monkeypatch.setattr(runner, "measure", lambda u, s: measured.append(u) or measure(u, s))
    told = []
    resumed = reproduce(
        ["figure2"], settings, folder=tmp_path, workers=1, progress=lambda *x: told.append(x)
    )
    assert [unit.start for unit in measured] == [0, 100, 200]
    assert told == [(200, 250), (250, 250)]
    assert resumed.to_dict() == known.to_dict()


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interruption_while_a_unit_is_kept_counts_what_is_on_disk(tmp_path, monkeypatch, when):
    settings, add, told = Settings(runs=250), Store.add, []

    def cut_off(store, unit, errors):
        if when == "after":
            add(Store(store.path), unit, errors)  # on disk, and not yet in memory
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "add", cut_off)
    with pytest.raises(KeyboardInterrupt):
        reproduce(["figure2"], settings, folder=tmp_path, workers=1,
                  progress=lambda *x: told.append(x))  # fmt: skip
    assert told == [(0, 250), (100 if when == "after" else 0, 250)]


def test_a_torn_line_is_run_again(tmp_path):
    store = Store.open(tmp_path, SETTINGS)
    listed = units("table1", 8)
    run([(SETTINGS, store, listed)], workers=1)
    text = store.path.read_text(encoding="utf-8")
    store.path.write_text(text[: len(text) - 40], encoding="utf-8")
    torn = Store.open(tmp_path, SETTINGS)
    assert torn.missing(listed) == listed[-1:]
    run([(SETTINGS, torn, listed)], workers=1)
    again = Store.open(tmp_path, SETTINGS)
    assert again.missing(listed) == []
    assert again.done == store.done


def test_stores_of_other_settings_are_apart(tmp_path):
    store = Store.open(tmp_path, SETTINGS)
    store.add(Unit("table1", 0.1, 0, 1), {"x": [0.1234567891234]})
    assert Store.open(tmp_path, replace(SETTINGS, matrix="power")).done == {}
    assert Store.open(tmp_path, replace(SETTINGS, runs=3)).done == store.done
    lines = [json.loads(line) for line in store.path.read_text().splitlines() if line]
    assert lines == [{"unit": "table1 p=0.1 runs=0:1", "errors": {"x": [0.123456789]}}]


def test_more_runs_keep_the_first(tmp_path):
    few = reproduce(["table1"], Settings(runs=100), folder=tmp_path, workers=1)
    told = []
    reproduce(
        ["table1"],
        Settings(runs=101),
        folder=tmp_path,
        workers=1,
        progress=lambda *x: told.append(x),
    )
    assert told[0] == (400, 404)
    assert few.settings.fingerprint == Settings(runs=101).fingerprint


def test_variants_that_are_the_main_settings_are_not_run_twice():
    told = []
    reproduce(
        ["table1", "choices"], Settings(runs=1), workers=1, progress=lambda *x: told.append(x)
    )
    assert told[-1] == (6 * 4, 6 * 4)


def test_thresholds_of_ours_are_the_best_of_our_table():
    found = reproduce(["table1", "figure3"], Settings(runs=1, thresholds="ours"), workers=1)
    for p, (most, least) in found.thresholds.items():
        errors = {cell[1:]: m.value for cell, m in found.tables["table1"].items() if cell[0] == p}
        assert errors[most, least] == min(errors.values())


def test_bad_orders_are_refused():
    with pytest.raises(MdrrError, match="nothing called 'table3'"):
        reproduce(["table3"], SETTINGS)
    with pytest.raises(MdrrError, match="workers=0"):
        run([], workers=0)
    with pytest.raises(MdrrError, match="no experiment"):
        Unit("figure9", 0.1, 0, 1)
    with pytest.raises(MdrrError, match="is empty"):
        Unit("table1", 0.1, 4, 4)
    with pytest.raises(MdrrError, match="Figure 3, and only it"):
        Unit("table1", 0.1, 0, 4, (50, 0.1))
    with pytest.raises(MdrrError, match="Figure 3, and only it"):
        Unit("figure3", 0.1, 0, 4)


HELD_BACK = """
import signal
from mdrr.reproduction.runner import _later

done = []
try:
    with _later():
        signal.raise_signal(signal.SIGINT)
        done.append("the wait")
except KeyboardInterrupt:
    print("interrupted after", *done)
"""


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="POSIX signals")
def test_ctrl_c_is_held_back_until_the_wait_is_over():
    command = [sys.executable, "-c", HELD_BACK]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("interrupted after the wait\n", "")
