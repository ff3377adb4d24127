"""`mdrr pool`: a pilot and a main survey, planned, asked and estimated on the command line."""

from pathlib import Path

import pyarrow.csv
import pytest

from mdrr.design import Design
from mdrr.planning import pool
from mdrr.tallies import Tally
from tests.cli.run import answer, done, refusal


@pytest.fixture
def surveys(folder):
    """The folder with 200 people's pilot and 400 people's main survey."""
    people = pyarrow.csv.read_csv("people.csv")
    pyarrow.csv.write_csv(people.slice(0, 200), "first.csv")
    pyarrow.csv.write_csv(people.slice(200), "second.csv")
    done("plan survey.toml --n 200 --epsilon 5 -o pilot.json")
    done("randomize first.csv -d pilot.json -o pilot.parquet --seed 1")
    done("dependence pilot.parquet -d pilot.json -o dependences.json")
    command = "plan survey.toml --n 400 --epsilon 6 --dependences dependences.json"
    done(f"{command} -o main.json")
    done("randomize second.csv -d main.json -o main.parquet --seed 2")
    return folder


POOL = "pool pilot.parquet main.parquet -d pilot.json -d main.json -o all.json --pooled pooled.json"


def test_two_phases_end_in_one_estimate(surveys):
    fields = answer(POOL)
    assert (fields["n"], fields["surveys"]) == (600, [200, 400])
    assert fields["epsilon"] <= 6
    designs = [Design.from_json(Path(f"{name}.json").read_text()) for name in ("pilot", "main")]
    tallies = []
    for name, design in zip(("pilot", "main"), designs, strict=True):
        done(f"tally {name}.parquet -d {name}.json -o {name}.tally.json")
        tallies.append(Tally.from_json(Path(f"{name}.tally.json").read_text(), design))
    tally, pooled = pool(list(zip(tallies, designs, strict=True)))
    assert Design.from_json(Path("pooled.json").read_text()) == pooled
    assert Tally.from_json(Path("all.json").read_text(), pooled) == tally
    assert answer("estimate all.json -d pooled.json --table smokes")["n"] == 600
    again = POOL.replace("pilot.parquet main.parquet", "pilot.tally.json main.tally.json")
    assert "600 reports of 2 surveys" in done(again)


def test_wrong_numbers_and_designs_are_refused(surveys):
    few = "pool pilot.parquet main.parquet -d pilot.json -o all.json --pooled pooled.json"
    assert "files of reports: 2, designs: 1" in refusal(few)
    one = "pool pilot.parquet -d pilot.json -o all.json --pooled pooled.json"
    assert "two surveys or more" in refusal(one)
    crossed = POOL.replace("-d pilot.json -d main.json", "-d main.json -d pilot.json")
    assert refusal(crossed)
    assert "written over" in refusal(POOL.replace("all.json", "pilot.json"))
    assert "written over" in refusal(POOL.replace("--pooled pooled.json", "--pooled main.json"))
    assert "written twice" in refusal(POOL.replace("all.json", "pooled.json"))
    twice = POOL.replace("main.parquet", "pilot.parquet")
    assert "count twice" in refusal(twice)
    assert not Path("all.json").exists()
    assert not Path("pooled.json").exists()
    done("design survey.toml --p 0.5 -o pooled.json")
    assert "Name another file with --pooled" in refusal(POOL)
    assert not Path("all.json").exists()
