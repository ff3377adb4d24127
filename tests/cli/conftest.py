import json
import shutil
from pathlib import Path

import pytest

from mdrr.survey import Survey
from tests.cli.run import done
from tests.remembered import Remembered

SURVEY = """
title = "Health"
[[attributes]]
name = "smokes"
question = "Do you smoke?"
categories = ["no", "yes"]
labels = { yes = "Yes, daily" }
[[attributes]]
name = "age"
edges = [0, 18, 65, 120]
[[attributes]]
name = "visits"
kind = "ordinal"
categories = [0, 1, 2]
[[attributes]]
name = "insured"
categories = [false, true]
"""


@pytest.fixture(scope="session")
def estimates() -> Remembered:
    return Remembered()


@pytest.fixture(autouse=True)
def remembered(estimates, monkeypatch) -> None:
    """Commands estimate what an earlier one did anew only if something differs: see there."""
    estimates.install(monkeypatch)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory) -> Path:
    """A folder with a survey, 600 people, a design, their reports and the tally."""
    made = tmp_path_factory.mktemp("prepared")
    (made / "survey.toml").write_text(SURVEY, encoding="utf-8")
    rows = [
        f"{('no', 'yes')[i % 3 == 0]},{(i * 7) % 121},{i % 3},{i % 2 == 0},secret{i}"
        for i in range(600)
    ]
    header = "smokes,age,visits,insured,ssn"
    (made / "people.csv").write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    design, reports = made / "design.json", made / "reports.parquet"
    done("design", made / "survey.toml", "--p", 0.7, "-o", design)
    done("randomize", made / "people.csv", "-d", design, "-o", reports, "--seed", 1)
    done("tally", reports, "-d", design, "-o", made / "tally.json")
    return made


@pytest.fixture
def folder(prepared, tmp_path, monkeypatch) -> Path:
    """A copy of the prepared folder, which is the working directory."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def design(folder):
    return json.loads((folder / "design.json").read_text(encoding="utf-8"))


@pytest.fixture
def domain(folder):
    return Survey.load(folder / "survey.toml").domain
