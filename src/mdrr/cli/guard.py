"""Where errors become one clear line and an exit code, for every command."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer import Option
from typer.core import TyperGroup

from mdrr.cli.commands import COMMANDS, PANELS
from mdrr.cli.screen import printable, take_notes
from mdrr.errors import AbortedError, MdrrError, did_you_mean

BAD_INPUT = 2
ABORTED = 3
INTERRUPTED = 130

_SERVER = ("fastapi", "httpx", "sqlalchemy", "uvicorn")
"""Packages that an extra brings and that commands import where they need them."""

_WORDS = {
    "Value error, ": "",
    "Input should be a valid integer, .* as an integer": "give a whole number, as in 1000",
    "Input should be a valid number, .* as a number": "give a number, as in 0.5",
}
"""What to say instead of Typer's words."""


class Listed(TyperGroup):
    """A group whose help lists commands under what they are for, with their first sentences."""

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write that list; Typer's own would cut the sentences."""
        for panel, rows in self.panels().items():
            with formatter.section(panel):
                formatter.write_dl(rows)

    def panels(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """Every command with its first sentence."""
        rows = [(name, one.get_short_help_str(1000)) for name, one in self.commands.items()]
        return {"Commands": rows}


class Guarded(Listed):
    """A group of commands whose bad input ends in one line on stderr and exit code 2.

    A subclass because that is how Typer lets a program have the last word.
    """

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The commands in the order of their list."""
        return list(COMMANDS)

    def panels(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """All of their list, none of them loaded."""
        return PANELS

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]
        """A command, loaded when it is asked for; all of them to find what a wrong name means."""
        for name in [cmd_name] if cmd_name in COMMANDS else COMMANDS:
            if name not in self.commands:
                self.commands[name] = _loaded(name)
        return self.commands.get(cmd_name)

    def main(self, *args: Any, **options: Any) -> NoReturn:
        """Run, then exit: 0 done, 2 bad input, 3 aborted by others, 130 interrupted."""
        options |= {"prog_name": "mdrr", "standalone_mode": False}
        take_notes()
        try:
            result = super().main(*args, **options)
            sys.stdout.flush()
        except typer.Abort:
            fail("stopped", INTERRUPTED)
        except typer.TyperException as error:
            path = getattr(getattr(error, "ctx", None), "command_path", "mdrr")
            fail(f"{_plain(error.format_message())} See: {path} --help")
        except AbortedError as error:
            fail(str(error), ABORTED)
        except MdrrError as error:
            fail(str(error))
        except UnicodeDecodeError as error:
            fail(f"a file is not text in UTF-8 ({error.reason}). Convert it first")
        except BrokenPipeError:  # whoever reads what is printed has seen enough, as in `… | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)  # as Typer does if it notices first
        except OSError as error:
            fail(_file_trouble(error))
        except ModuleNotFoundError as error:
            if error.name not in _SERVER:
                raise
            fail(f"{error.name} is not installed. Run: pip install 'mdrr[server]'")
        except RecursionError:
            fail("a file is nested too deeply to be read")
        except MemoryError:
            fail("there is not enough memory for this; ask for less at a time")
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in ("sqlalchemy", "sqlite3", "psycopg"):
                raise
            fail(_database_trouble(error))
        if result == INTERRUPTED:  # what Typer makes of Ctrl-C
            fail("stopped", INTERRUPTED)
        for line in take_notes():
            print(printable(line), file=sys.stderr)
        sys.exit(result if isinstance(result, int) else 0)


def _loaded(name: str) -> Any:
    """A command, or a group of them, from its module."""
    path, line = COMMANDS[name]
    module = import_module(f"mdrr.cli.{path}")
    app, found = typer.Typer(rich_markup_mode=None), getattr(module, name)
    if isinstance(found, typer.Typer):
        app.add_typer(found, name=name, help=line)
    else:
        app.command(name, epilog=_shown(module.EXAMPLES[name]))(found)
    return typer.main.get_group(app).commands[name]


def group(
    name: str, commands: Mapping[str, tuple[Callable[..., None], str]]
) -> tuple[typer.Typer, dict[str, str]]:
    """A group of commands, from what each runs and the words of its example; and the examples."""
    app = typer.Typer(cls=Listed)
    examples = {each: f"mdrr {name} {each} {words}" for each, (_, words) in commands.items()}
    for each, (run, _) in commands.items():
        app.command(each, epilog=_shown(examples[each]))(run)
    return app, examples


def _shown(example: str) -> str:
    return f"\b\nExample: {example}"  # \b: not to be wrapped


def fail(message: str, code: int = BAD_INPUT) -> NoReturn:
    """Print one line on stderr and exit."""
    print("mdrr:", printable(" ".join(message.split())), file=sys.stderr)
    sys.exit(code)


def _plain(text: str) -> str:
    """Typer's message as a sentence, in fewer words, and a hint where a choice is mistyped."""
    for found, rather in _WORDS.items():
        text = re.sub(found, rather, text)
    text = text if text.endswith((".", "?", "!")) else f"{text}."
    choice = re.search(r"'([^']*)' is not one of (.*)", text)
    hint = did_you_mean(choice[1], re.findall(r"'(.*?)'", choice[2])) if choice else ""
    return text + hint.removeprefix(".")


def _file_trouble(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"there is no file {str(error.filename)!r}. Check the path"
    where = f"{str(error.filename)!r}: " if error.filename is not None else ""
    return f"{where}{error.strerror or error}"


_ADVICE = {
    "full": "Make room on the disk, then run the same command again",
    "disk I/O": "The disk may be full. Make room on it, then run the same command again",
    "locked": "Another program is writing to it. Wait a moment, then run the same command again",
    "readonly": "See that you may write to the file and to its folder",
    "moved or deleted": "Then run the same command again",
    "malformed": "Restore it from a copy",
    "not a database": "Name another file with --database",
}
"""What to do about a database, by what it says."""


def _database_trouble(error: Exception) -> str:
    said = str(getattr(error, "orig", None) or error).strip().partition("\n")[0].rstrip(".")
    default = "See that the database runs and can be reached, then run the same command again"
    advice = next((text for found, text in _ADVICE.items() if found in said), default)
    return f"the database failed: {said}. {advice}"


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"mdrr {version('mdrr')}")
        raise typer.Exit


def start(
    context: typer.Context,
    version: Annotated[
        bool, Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Collect and analyse personal answers that are randomized before anyone sees them."""
    if context.invoked_subcommand is None:
        print(context.get_help())
