"""Run a command in this process and look at what it did."""

import json
import shlex
from typing import Any

from typer.testing import CliRunner, Result

from mdrr.cli import make_app


def run(*args: object, stdin: str | None = None) -> Result:
    """Run `mdrr` with these arguments; a single text is split as a shell would."""
    words = [str(arg) for arg in args]
    if len(words) == 1:
        words = shlex.split(words[0])
    return CliRunner().invoke(make_app(), words, input=stdin)


def done(*args: object, stdin: str | None = None) -> str:
    """What a command that must succeed prints."""
    result = run(*args, stdin=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.stderr
    return result.stdout


def answer(*args: object) -> Any:
    """The JSON a command prints."""
    words = shlex.split(str(args[0])) if len(args) == 1 else args
    return json.loads(done(*words, "--json"))


def refusal(*args: object, stdin: str | None = None) -> str:
    """The one line that a command with bad input prints, after checking that it is one."""
    result = run(*args, stdin=stdin)
    assert isinstance(result.exception, SystemExit), f"a traceback: {result.exception!r}"
    assert result.exit_code == 2
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("mdrr: ")
    return lines[0].removeprefix("mdrr: ")
