"""Errors are one line and exit code 2; help is instant; the program does as the tested app."""

import os
import signal
import sqlite3
import subprocess
import sys

import psycopg
import pytest
import sqlalchemy

import mdrr
from tests.cli.run import done, refusal, run

HEAVY = ("numpy", "scipy", "numba", "polars", "pyarrow", "pandas", "narwhals", "cryptography")


def program(*args: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "mdrr", *args], capture_output=True, text=True, **options
    )


def test_version_and_help():
    assert done("--version") == f"mdrr {mdrr.__version__}\n"
    for arguments in ((), ("--help",), ("-h",)):
        assert "Usage: mdrr" in run(*arguments).stdout


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("frobnicate", "No such command 'frobnicate'. See: mdrr --help"),
        ("desing", "No such command 'desing'. Did you mean 'design'?"),
        ("--frobnicate", "No such option"),
        ("design", "Missing argument 'survey'. See: mdrr design --help"),
        ("design survey.toml --frobnicate", "No such option"),
        ("design survey.toml --p high", "Invalid value for '--p'"),
        ("design none.toml", "there is no file 'none.toml'. Check the path"),
        ("randomize people.csv -o r.csv", "Missing option '--design'"),
    ],
)
def test_bad_arguments_are_one_line(folder, command, complaint):
    assert complaint in refusal(command)


def test_a_file_that_cannot_be_read_is_named(folder):
    (folder / "folder.toml").mkdir()
    assert "folder.toml" in refusal("design folder.toml --p 0.5")
    (folder / "latin.toml").write_bytes("title = 'é'".encode("latin-1"))
    assert "not text in UTF-8" in refusal("design latin.toml --p 0.5")


def test_help_does_not_load_what_computes(tmp_path):
    code = f"""
import sys
from mdrr.cli import main
sys.argv = ["mdrr", "--help"]
try:
    main()
except SystemExit as stop:
    assert stop.code == 0
loaded = [name for name in {(*HEAVY, "mdrr.cli.tallying")!r} if name in sys.modules]
assert not loaded, loaded
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Usage: mdrr" in done.stdout


def test_the_real_program(folder):
    good = program("query", "tally.json", "-d", "design.json", "smokes == 'yes'")
    assert good.returncode == 0
    assert "of 600 people" in good.stdout
    assert good.stderr == ""
    bad = program("query", "tally.json", "-d", "design.json", "smokes == 'often'")
    assert bad.returncode == 2
    assert bad.stdout == ""
    assert bad.stderr.startswith("mdrr: 'smokes' has no category 'often'")
    assert bad.stderr.count("\n") == 1


def test_whoever_reads_no_further_is_told_nothing(folder):
    """As in `mdrr … | head`: the pipe is closed before what is printed, short or long, is read."""
    for command in ("query tally.json -d design.json smokes=='yes'", "dependence --help"):
        reading, writing = os.pipe()
        os.close(reading)
        words = [sys.executable, "-m", "mdrr", *command.split()]
        done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, text=True)
        os.close(writing)
        assert (done.returncode, done.stderr) == (1, "")


def test_without_the_extra_the_program_says_how_to_get_it(tmp_path):
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError(name='typer')")
    done = program("--help", env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2
    assert done.stderr == "mdrr: typer is not installed. Run: pip install 'mdrr[cli]'\n"


@pytest.mark.parametrize(
    ("package", "command"),
    [
        ("httpx", "respond http://127.0.0.1:9/s/abcdefgh#design=0"),
        ("sqlalchemy", "survey status abcdefgh"),
        ("fastapi", "serve --port 0"),
    ],
)
def test_without_what_a_command_needs_it_says_how_to_get_it(
    monkeypatch, tmp_path, package, command
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"{package}.py").write_text(f"raise ModuleNotFoundError(name={package!r})")
    done = program(*command.split(), env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2
    assert done.stderr == f"mdrr: {package} is not installed. Run: pip install 'mdrr[server]'\n"


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_told_to_stop_it_leaves_the_old_file_and_no_other(folder, sent, code):
    before = (folder / "reports.parquet").read_bytes()
    os.mkfifo(folder / "endless.csv")  # a reader of it waits, in the middle of its work
    command = ["randomize", "endless.csv", "-d", "design.json", "-o", "reports.parquet"]
    child = subprocess.Popen(
        [sys.executable, "-m", "mdrr", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with open(folder / "endless.csv", "w"):  # opens once the child reads
        child.send_signal(sent)
        _, stderr = child.communicate()
    assert child.returncode == code
    assert b"Traceback" not in stderr
    if sent == signal.SIGINT:
        assert stderr == b"mdrr: stopped\n"
    assert (folder / "reports.parquet").read_bytes() == before
    assert not list(folder.glob(".*part"))


def test_the_shell_completes_commands_and_choices():
    for words, wanted in [
        ("mdrr des", {"design"}),
        ("mdrr estimate t.json --method p", {"product", "pairwise"}),
        ("mdrr securesum demo --mode ", {"paper", "aggregators"}),
        ("mdrr report t.json --compare lat", {"latent"}),
    ]:
        shell = {"_MDRR_COMPLETE": "complete_bash", "COMP_WORDS": words,
                 "COMP_CWORD": str(words.count(" "))}  # fmt: skip
        done = program(env={**os.environ, **shell})
        assert set(done.stdout.split()) == wanted, done.stderr


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            sqlite3.OperationalError("database or disk is full"),
            "the database failed: database or disk is full. Make room on the disk, then run the "
            "same command again",
        ),
        (
            sqlalchemy.exc.OperationalError("SELECT", {}, sqlite3.OperationalError("is locked")),
            "the database failed: is locked. Another program is writing to it. Wait a moment, then "
            "run the same command again",
        ),
        (
            psycopg.OperationalError("connection refused\nDETAIL: more"),
            "the database failed: connection refused. See that the database runs and can be "
            "reached, then run the same command again",
        ),
        (sqlite3.DatabaseError("file is not a database"), "Name another file with --database"),
    ],
)
def test_a_database_that_fails_is_one_line_with_advice(folder, monkeypatch, error, said):
    def fail(*_):
        raise error

    monkeypatch.setattr("mdrr.server.store.Store.status", fail)
    done("survey freeze survey.toml --design design.json -o survey.json")
    done("survey open survey.json --no-invitations")
    assert refusal("survey status survey.json").endswith(said)


def test_a_file_that_is_no_database_is_one_line(folder):
    assert "cannot be opened" in refusal("survey status abcdefgh --database sqlite:///people.csv")
