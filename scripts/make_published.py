"""Make the survey that examples/published-tally.ipynb analyses: `python scripts/make_published.py`.

UCI Adult's people stand in for respondents. The seed makes the files the same again; a real
survey uses the system's random numbers.
"""

from pathlib import Path

import mdrr

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "published"
ASKED = ["education", "marital-status", "sex", "race", "income"]
EPSILON = 2.0


def published() -> tuple[mdrr.Design, mdrr.Tally]:
    """The design with the least predicted error, and the tally of what people sent under it."""
    people = mdrr.datasets.adult(columns=ASKED)
    domain = mdrr.datasets.adult_domain(columns=ASKED)
    design = mdrr.plan(domain, n=len(people), epsilon=EPSILON).design
    reports = mdrr.randomize(people, design, source=mdrr.SeededSource(1))
    return design, mdrr.tally(reports, design)


if __name__ == "__main__":
    design, tally = published()
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "design.json").write_text(design.to_json(), encoding="utf-8")
    (FOLDER / "tally.json").write_text(tally.to_json(), encoding="utf-8")
