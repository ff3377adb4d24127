"""Every command and every program on a page is run by a test, or it is told here why not.

A block of Python with `>>>` is run by tests/test_docs.py. Whatever else holds Python or commands
of `mdrr` needs an entry below: in `RUN`, if a test runs the page's own blocks of that kind, or in
`TRIED`, if a test runs the same command otherwise, because as printed it needs other machines,
other files or minutes.
"""

import re
from typing import NamedTuple

import pytest

from tests.test_docs import DOCS, ROOT, is_test

PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
DOCUMENTED = "tests/cli/test_documented.py::"
COLLECTION = "tests/cli/test_collection.py::"
BATCH = "tests/cli/test_batch.py::test_the_documented_run_works_as_it_is_printed"
GROUP = "tests/cli/test_securesum.py::test_the_page_goes_through_a_run_of_a_small_group"
TUTORIAL = "tests/cli/test_tutorial.py::test_the_tutorial_runs_as_printed"
DEMO = "tests/cli/test_securesum.py::test_the_demo_ends_with_the_exact_dependences_and_clusters"
PILOT = f"{COLLECTION}test_a_pilot_leads_to_the_main_survey_and_nobody_is_in_both"
PROCESSES = f"{COLLECTION}test_serve_crowd_and_results_as_processes"

RUN = {
    ("README.md", "sh"): f"{DOCUMENTED}test_the_readme_runs_one_after_the_other",
    ("README.md", "python"): "tests/test_wheel.py::test_quick_start_runs_from_the_installed_wheel",
    ("docs/cli.md", "sh"): f"{DOCUMENTED}test_the_examples_run_one_after_the_other",
    ("docs/collecting.md", "sh"):
        f"{DOCUMENTED}test_the_page_on_collecting_runs_one_after_the_other",
    ("docs/howto/pilot.md", "sh"):
        f"{DOCUMENTED}test_the_page_on_pilots_runs_once_people_have_answered",
    ("docs/scale.md", "python"):
        "tests/engines/test_spark.py::test_the_page_on_clusters_runs_as_printed",
    ("docs/securesum.md", "run"): BATCH,
    ("docs/securesum.md", "serve"): BATCH,
    ("docs/securesum.md", "aggregate"): BATCH,
    ("docs/securesum.md", "report"): BATCH,
    ("docs/securesum.md", "result"): BATCH,
    ("docs/securesum.md", "small group"): GROUP,
    ("docs/tutorial.md", "python"): TUTORIAL,
    ("docs/tutorial.md", "sh"): TUTORIAL,
}  # fmt: skip
"""(page, kind of block): the test that runs all of them."""

TRIED = {
    ("docs/audit.md", "mdrr audit design.json"):
        "tests/cli/test_audit.py::test_an_audit_that_finds_nothing",
    ("docs/audit.md", "mdrr audit --self-test"):
        "tests/cli/test_audit.py::test_the_self_test_is_shown",
    ("docs/benchmarks/numeric.md", "age = mdrr.Attribute"):
        "tests/test_numeric.py::test_banded_designs_spend_no_more_and_keep_nominal_attributes_constant",
    ("docs/benchmarks/securesum.md", "found = mdrr.simulate_dependences"):
        "tests/securesum/test_ways.py::test_randomized_ways_come_near_the_truth",
    ("docs/benchmarks/securesum.md", "mdrr securesum demo"): DEMO,
    ("docs/cli.md", "mdrr survey preview"):
        "tests/cli/test_survey.py::test_preview_shows_questions_plan_and_privacy",
    ("docs/cli.md", "mdrr survey phase"): PILOT,
    ("docs/cli.md", "mdrr survey results"): PILOT,
    ("docs/cli.md", "mdrr survey publish"): PILOT,
    ("docs/cli.md", "mdrr serve"): PROCESSES,
    ("docs/cli.md", "mdrr crowd"): PROCESSES,
    ("docs/cli.md", "mdrr respond"):
        "tests/cli/test_respond.py::test_an_answer_is_asked_shown_and_sent",
    ("docs/cli.md", "mdrr report"):
        "tests/cli/test_report.py::test_the_page_speaks_in_the_surveys_words",
    ("docs/cli.md", "mdrr securesum demo"): DEMO,
    ("docs/cli.md", "mdrr securesum offer"): BATCH,
    ("docs/cli.md", "mdrr securesum batch"): BATCH,
    ("docs/cli.md", "mdrr securesum relay"): BATCH,
    ("docs/cli.md", "mdrr securesum report"): BATCH,
    ("docs/cli.md", "mdrr securesum aggregate"): BATCH,
    ("docs/cli.md", "mdrr securesum result"): BATCH,
    ("docs/cli.md", "mdrr securesum group"): GROUP,
    ("docs/cli.md", "mdrr securesum organise"): GROUP,
    ("docs/cli.md", "mdrr securesum party"): GROUP,
    ("docs/cli.md", "mdrr demo"):
        "tests/cli/test_demo.py::test_a_clear_signal_gives_the_known_clusters",
    ("docs/collecting.md", "mdrr serve --demo"):
        f"{COLLECTION}test_the_demo_is_answered_already_and_prints_its_links",
}  # fmt: skip
"""(page, how the line begins): a test of the same command, with other files or fewer people."""

FENCE = re.compile(
    r"(?:^<!-- (?P<mark>\w+(?: \w+)*)[^\n]* -->\n)?"
    r"^(?P<indent> *)(?P<fence>```+|~~~+)(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=indent)(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
COMMAND = re.compile(r"^\s*(?:\$ )?(?:mdrr |python3? -|>>> |import \w|from \w+ import )", re.M)
PYTHON = ("python", "py", "pycon")
SHELL = ("sh", "bash", "shell", "console")


class Block(NamedTuple):
    page: str
    line: int
    kind: str
    body: str

    @property
    def lines(self) -> list[str]:
        """What must be listed: every command, or how a program begins."""
        lines = [line.strip() for line in self.body.splitlines() if line.strip()]
        return lines[:1] if self.kind in PYTHON else lines


def unrun(text: str, page: str) -> list[Block]:
    """Blocks of a page that hold Python or commands, without those tests/test_docs.py runs."""
    found = []
    for fence in FENCE.finditer(text):
        info, body = fence["info"].strip(), fence["body"]
        if info == "python" and ">>> " in body and not fence["indent"]:
            continue
        tag = info.split(" ")[0]
        programs = tag in PYTHON or (tag in ("", *SHELL) and COMMAND.search(body))
        if programs:
            kind = tag or fence["mark"] or ""
            found.append(Block(page, text.count("\n", 0, fence.start("fence")) + 1, kind, body))
    return found


BLOCKS = [
    block
    for page in PAGES
    for block in unrun(page.read_text(encoding="utf-8"), page.relative_to(ROOT).as_posix())
]


def entries(block: Block) -> list[tuple[str, str]] | None:
    """The entries that say where a block is run, or None if one is missing."""
    if (block.page, block.kind) in RUN:
        return [(block.page, block.kind)]
    found = []
    for line in block.lines:
        begins = [key for key in TRIED if key[0] == block.page and line.startswith(key[1])]
        if not begins:
            return None
        found += begins
    return found


def test_every_command_and_program_of_the_pages_is_run():
    """If not: tag the block so that a test runs it, or list it above with its test."""
    assert len(BLOCKS) > 80
    assert [block[:2] for block in BLOCKS if entries(block) is None] == []


def test_no_entry_is_left_over_and_every_test_exists():
    used = {key for block in BLOCKS for key in entries(block) or ()}
    assert [key for key in (RUN | TRIED) if key not in used] == []
    assert [test for test in (RUN | TRIED).values() if not is_test(test)] == []


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("```\nmdrr plan survey.toml\n```\n", [""]),
        ("```bash\n$ mdrr plan survey.toml\n```\n", ["bash"]),
        ("- a\n\n  ```python\n  >>> 1\n  1\n  ```\n", ["python"]),
        ('```python title="a.py"\nprint(1)\n```\n', ["python"]),
        ("```\n>>> 1\n1\n```\n", [""]),
        ("~~~\nimport mdrr\n~~~\n", [""]),
        ("<!-- small group, relay -->\n```\nmdrr securesum relay\n```\n", ["small group"]),
        ("```python\n>>> 1\n1\n```\n", []),
        ("```text\nmdrr plan\n```\n```\nmkdir a\n```\n", []),
    ],
)
def test_what_no_test_runs_is_found(text, kinds):
    assert [block.kind for block in unrun(text, "page.md")] == kinds
    assert not any(entries(block) for block in unrun(text, "page.md"))
