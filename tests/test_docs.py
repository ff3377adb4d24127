"""Every `>>>` in the pages of docs/ gives what the page says, and every link leads somewhere."""

import doctest
import pkgutil
import re
from pathlib import Path

import pytest

from mdrr.datasets import adult_domain
from mdrr.planning import plan
from mdrr.privacy import belief
from tests.test_imports import ORDER

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
PAGES = sorted(page for page in DOCS.rglob("*.md") if ">>> " in page.read_text(encoding="utf-8"))

OURS = ("docs", "src", "examples", "benchmarks", "experiments", "vectors", "tests", "scripts")
LINKING = sorted(
    [*ROOT.glob("*.md"), *(p for folder in OURS for p in (ROOT / folder).rglob("*.md"))]
)


def examples(text: str) -> str:
    """The Python blocks of a page, everything else blanked so that line numbers stay."""
    kept = [""] * (text.count("\n") + 1)
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if ">>> " in block[1]:
            first = text.count("\n", 0, block.start(1))
            lines = block[1].splitlines()
            kept[first : first + len(lines)] = lines
    return "\n".join(kept) + "\n"


def failures(text: str, name: str) -> tuple[int, int]:
    """(failed, tried), the failures printed."""
    test = doctest.DocTestParser().get_doctest(examples(text), {}, name, name, 0)
    found = doctest.DocTestRunner(optionflags=FLAGS).run(test)
    return found.failed, found.attempted


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_says_what_happens(page):
    text = page.read_text(encoding="utf-8")
    if ">>> import duckdb" in text:
        pytest.importorskip("duckdb")
    failed, tried = failures(text, page.name)
    assert tried > 0
    assert failed == 0


def test_a_wrong_number_is_found():
    page = "# A page\n\n```python\n>>> 1 + 1\n3\n```\n\n```python\nnot run\n```\n"
    assert failures(page, "page") == (1, 1)
    assert failures(page.replace("3", "2"), "page") == (0, 1)


def test_the_readme_says_how_many_people_it_takes():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d,]+) \|(( [\d.]+ % \|){4})$", text, re.MULTILINE)
    assert [row[0] for row in rows] == ["1,000", "10,000", "100,000"]
    [head] = re.findall(r"^\| people \|(.*)\|$", text, re.MULTILINE)
    budgets = [float(cell.removeprefix(" ε = ")) for cell in head.split("|")]
    assert budgets == [1, 2, 4, 8]
    for people, cells, _ in rows:
        for epsilon, cell in zip(budgets, cells.split("|")[:4], strict=True):
            printed = cell.strip().removesuffix(" %")
            n, digits = int(people.replace(",", "")), len(printed.partition(".")[2])
            error = plan(adult_domain(), n=n, epsilon=epsilon).best.predicted.error
            assert f"{100 * error:.{digits}f}" == printed, (people, epsilon)


def test_the_readme_says_what_an_epsilon_does_to_a_guess():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    likely = 100 * belief(0.5, 2.0).high
    assert f"At ε = 2, a 50:50 guess becomes at most about {likely:.0f}:{100 - likely:.0f}" in text


def anchor(heading: str) -> str:
    """The name GitHub gives a heading: `## A, b` is #a-b."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def broken(text: str, page: Path) -> list[str]:
    """Relative links of a page that lead to no file, or to no heading of it."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    found = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, place = link.partition("#")
        if path and not (page.parent / path).exists():
            found.append(link)
        elif place:
            there = (page.parent / path).read_text(encoding="utf-8") if path else text
            if place not in map(anchor, re.findall(r"^#+ (.*)$", there, re.MULTILINE)):
                found.append(link)
    return found


@pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    if page.name != "securesum_page.md":  # a template: its links are those of the page it makes
        assert broken(page.read_text(encoding="utf-8"), page) == []


def test_every_benchmark_page_is_listed_with_a_command_that_exists():
    folder = DOCS / "benchmarks"
    listed = (folder / "README.md").read_text(encoding="utf-8")
    pages = {page.name for page in folder.glob("*.md")} - {"README.md"}
    assert set(re.findall(r"^\| \[([\w-]+\.md)\]", listed, re.MULTILINE)) == pages
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = re.findall(r"`make ([\w-]+)` \|$", listed, re.MULTILINE)
    assert len(commands) == len(pages)
    assert all(re.search(f"^{command}:", makefile, re.MULTILINE) for command in commands)


def test_every_benchmark_page_is_linked_from_the_findings():
    linked = (DOCS / "findings.md").read_text(encoding="utf-8")
    pages = [page.name for page in (DOCS / "benchmarks").glob("*.md")]
    assert [name for name in pages if f"](benchmarks/{name})" not in linked] == []


def test_every_page_has_its_place_on_the_site():
    """A new page goes into the `nav` of mkdocs.yml; benchmarks are linked from the findings."""
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n", 1)[1]
    placed = re.findall(r"[\w/-]+\.md$", nav, re.MULTILINE)
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert {page for page in pages if not page.startswith("benchmarks/")} == set(placed)


def test_a_broken_link_is_found(tmp_path):
    (tmp_path / "other.md").write_text("# Some words, here\n", encoding="utf-8")
    page = tmp_path / "page.md"
    good = "# Top\n[a](other.md) [b](other.md#some-words-here) [c](#top) [d](https://e.org/f)\n"
    bad = "[a](gone.md) [b](other.md#none) [c](#bottom)\n"
    assert broken(good, page) == []
    assert broken(good + bad, page) == ["gone.md", "other.md#none", "#bottom"]


def test_pages_that_the_text_names_exist():
    """Paths such as `docs/cli.md` in code, help texts and prose."""
    texts = [*LINKING, *(p for f in OURS for p in (ROOT / f).rglob("*.py")), ROOT / "Makefile"]
    named = {
        name
        for path in texts
        for name in re.findall(r"docs/[\w/]+\.md", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 10
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_architecture_names_files_that_exist_and_the_tested_order():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    files = [f"/{path.relative_to(ROOT).as_posix()}" for path in ROOT.glob("src/mdrr/**/*")]
    files += [f"/{path.relative_to(ROOT).as_posix()}" for path in ROOT.glob("tests/*.py")]
    named = set(re.findall(r"`([\w/]+\.py)`", text))
    assert len(named) > 20
    assert [name for name in sorted(named) if not any(f.endswith("/" + name) for f in files)] == []
    flow = text.split("errors · display", 1)[1].split("```", 1)[0]
    rooms = ["errors", "display", *re.findall(r"\w+", re.sub(r"\(.*?\)", "", flow))]
    assert rooms == [room for room in ORDER if room != "__main__"]


def test_every_defence_is_shown_by_tests_that_exist():
    """docs/threats.md names a test for each defence, as `file::test`."""
    text = (DOCS / "threats.md").read_text(encoding="utf-8")
    rows = re.search(r"\n## Defended\n(.*?)\n## ", text, re.DOTALL)
    assert rows is not None
    cited = [
        re.findall(r"`(tests/[^`]+)`", line) for line in rows[1].splitlines() if "`tests" in line
    ]
    heads = rows[1].count("\n| threat | defence | shown by |\n")
    assert heads == 2  # surveys and secure sums
    assert len(cited) == rows[1].count("\n| ") - heads
    missing = [each for each in re.findall(r"`(tests/[^`]+)`", text) if not is_test(each)]
    assert missing == []
    assert not is_test("tests/test_docs.py::test_that_is_not_there")


def test_every_attack_on_secure_sums_is_among_the_threats():
    """A new file of attacks needs a row in docs/threats.md."""
    text = (DOCS / "threats.md").read_text(encoding="utf-8")
    files = [file.name for file in (ROOT / "tests/securesum/attacks").glob("test_*.py")]
    assert len(files) > 8
    assert [name for name in files if f"`tests/securesum/attacks/{name}::" not in text] == []


def is_test(name: str) -> bool:
    """Whether a file of tests defines a test, or is there if none is named."""
    file, _, test = name.partition("::")
    path = ROOT / file
    return path.is_file() and (
        f"\ndef {test}(" in path.read_text(encoding="utf-8") if test else True
    )


PAPER = (
    *(f"({k})" for k in range(1, 17)),
    *("Definition 1", "Definition 2", "Protocol 1", "Protocol 2", "Algorithm 1", "Algorithm 2"),
    *("Proposition 1", "Corollary 1", "Example 1"),
    *("Figure 1", "Figure 2", "Figure 3", "Table 1", "Table 2"),
)
"""What the paper numbers."""


def missing_names(text: str) -> list[str]:
    """Functions and tests that a page names in backticks and that do not exist."""
    missing = []
    for name in re.findall(r"`((?:mdrr|experiments)\.[\w.]+)`", text):
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError):
            missing.append(name)
    for file, test in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text):
        path = ROOT / file
        if not path.exists() or f"def {test}(" not in path.read_text(encoding="utf-8"):
            missing.append(f"{file}::{test}")
    return missing


def test_the_paper_is_mapped_to_functions_and_tests_that_exist():
    text = (DOCS / "mathematics.md").read_text(encoding="utf-8")
    assert missing_names(text) == []
    rows = [
        row.replace(r"\|", "").split("|")[1:-1] for row in re.findall(r"^\| .*", text, re.MULTILINE)
    ]
    rows = [row for row in rows if row[0].strip() != "paper"]
    assert len(rows) > 40
    for _, _, functions, tests in rows:
        assert re.findall(r"`(?:mdrr|experiments)\.", functions)
        assert "`tests/" in tests
    mapped = " ".join(row[0] for row in rows)
    assert [part for part in PAPER if part not in mapped] == []


def test_a_name_that_is_gone_is_found():
    gone = "`mdrr.magic` `mdrr.plan` `tests/test_docs.py::test_none` `tests/none.py::test_x`"
    found = ["mdrr.magic", "tests/test_docs.py::test_none", "tests/none.py::test_x"]
    assert missing_names(gone) == found


def test_commits_are_looked_at_with_the_projects_own_tools():
    """Hooks run what `make check` runs, from .venv, and fetch nothing."""
    yaml = pytest.importorskip("yaml")
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    hooks = config["repos"][0]["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    check = (ROOT / "Makefile").read_text(encoding="utf-8").split("\ncheck:", 1)[1]
    check = check.split("\n\n", 1)[0].replace("$(BIN)", ".venv/bin")
    for hook in hooks:
        assert " ".join(hook["entry"].split()[:2]) in check
