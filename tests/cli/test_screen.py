"""Names and labels of a survey are shown as they are written, whatever signs they hold."""

import io
import sys
from pathlib import Path

import pytest

from mdrr.cli.screen import print_table, print_text, progress, step
from tests.cli.run import answer, done, refusal

NAMES = ("[net] income", "[/]", "town, if any", "a+b", ":smile: [bold]x[/bold]")


@pytest.fixture
def odd(folder):
    """A design, people and reports over attributes with odd names."""
    blocks = [f"[[attributes]]\nname = {name!r}\ncategories = ['[red]', '[/]']" for name in NAMES]
    Path("odd.toml").write_text("\n".join(blocks), encoding="utf-8")
    header = ",".join(f'"{name}"' for name in NAMES)
    rows = [",".join("[red]" if (i + j) % 3 else "[/]" for j in range(5)) for i in range(60)]
    Path("odd.csv").write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    done("design odd.toml --p 0.7 -o odd.json")
    done("randomize odd.csv -d odd.json -o odd.parquet --seed 1")
    done("tally odd.parquet -d odd.json -o odd-tally.json")


@pytest.mark.parametrize(
    "command",
    [
        "design odd.toml --p 0.7",
        "privacy odd.json",
        "theory odd.json --n 60",
        "estimate odd-tally.json -d odd.json --method product",
    ],
)
def test_names_are_shown_as_they_are_written(odd, command):
    printed = done(command)
    for name in NAMES:
        assert name in printed


def test_headings_and_labels_are_no_markup(odd):
    printed = done("estimate", "odd-tally.json", "-d", "odd.json", "--method", "product",
                   "--table", "[net] income, [/]")  # fmt: skip
    assert "[net] income × [/]" in printed
    assert printed.count("[red]") == 4


def test_a_name_may_hold_a_comma_or_a_plus(odd):
    tables = answer("estimate odd-tally.json -d odd.json --method product")["tables"]
    assert [table["attributes"] for table in tables] == [[name] for name in NAMES]
    one = answer("estimate", "odd-tally.json", "-d", "odd.json", "--method", "product",
                 "--table", "town, if any+a+b,[/]")  # fmt: skip
    assert [table["attributes"] for table in one["tables"]] == [["town, if any", "a+b", "[/]"]]
    clusters = "town, if any+a+b,[/]+[net] income,:smile: [bold]x[/bold]"
    made = answer("design", "odd.toml", "--p", "0.7", "--clusters", clusters)
    together = [c["attributes"] for c in made["questionnaires"][0]["clusters"]]
    assert together == [["[net] income", "[/]"], ["town, if any", "a+b"], [NAMES[4]]]
    assert "Did you mean 'town, if any'?" in refusal(
        "estimate", "odd-tally.json", "-d", "odd.json", "--table", "town if any"
    )


def test_an_escape_sequence_does_not_reach_the_terminal(capsys):
    print_table(["a\x1b[31m"], [["b\x1b[2J"]], title="c\x07")
    print_text("d\x1b[0m\nnext [line]")
    step("Purpose: \x1b[8m")
    printed, told = capsys.readouterr()
    assert told == "Purpose: \\x1b[8m\n"
    assert "\x1b" not in printed
    assert "\x07" not in printed
    assert r"b\x1b[2J" in printed
    assert printed.endswith("next [line]\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def narrow(monkeypatch) -> Terminal:
    """A terminal of 40 columns, from now on."""
    monkeypatch.setattr(sys, "stdout", screen := Terminal())
    for name, value in {"TERM": "dumb", "COLUMNS": "40", "LINES": "24"}.items():
        monkeypatch.setenv(name, value)
    return screen


def test_a_wide_matrix_is_cut_between_columns(monkeypatch):
    screen = narrow(monkeypatch)
    names = ["workclass", "education", "occupation", "race", "sex"]
    rows = [[name, *(0.1 * (i + j) for j in range(5))] for i, name in enumerate(names)]
    print_table(["", *names], rows, "Dependences")
    lines = screen.getvalue().splitlines()
    assert all(len(line) <= 40 for line in lines)
    assert lines[0].strip() == "Dependences"
    for name in names:
        kept = [line.split("│")[2:-1] for line in lines if line.startswith(f"│ {name} ")]
        numbers = [float(cell) for part in kept for cell in part]
        assert numbers == pytest.approx([0.1 * (names.index(name) + j) for j in range(5)])
    heads = [line for line in lines if line.startswith("┃")]
    assert len(heads) > 1
    assert [word for head in heads for word in head.replace("┃", " ").split()] == names


def test_all_labels_of_a_row_are_repeated(monkeypatch):
    screen = narrow(monkeypatch)
    print_table(
        ["first", "second", "measure", "dependence"],
        [["workclass", "education", "V", 0.25], ["race", "sex", "V", 0.5]],
        labels=2,
    )
    rows = [line for line in screen.getvalue().splitlines() if line.startswith("│")]
    assert [line.replace("│", " ").split() for line in rows] == [
        ["workclass", "education", "V"],
        ["race", "sex", "V"],
        ["workclass", "education", "0.2500"],
        ["race", "sex", "0.5000"],
    ]


def test_long_texts_are_folded_before_a_table_is_cut(monkeypatch):
    screen = narrow(monkeypatch)
    question = "How often do you go out in the evening"
    print_table(["question", "n"], [[question, 12]])
    lines = screen.getvalue().splitlines()
    assert all(len(line) <= 40 for line in lines)
    assert sum("┏" in line for line in lines) == 1
    assert " ".join(line.split("│")[1].strip() for line in lines[3:-1]) == question


def test_a_terminal_shows_the_time_left(monkeypatch):
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with progress("Tallying") as advance:
        advance(0.25)
        advance(0.5)
    shown = screen.getvalue()
    assert "Tallying" in shown
    assert " left " in shown
    monkeypatch.setattr(sys, "stderr", silent := io.StringIO())
    with progress("Tallying") as advance:
        advance(0.5)
    assert silent.getvalue() == ""
