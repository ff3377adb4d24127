"""docs/reference.md explains every public name, and every name that a page uses."""

import importlib.util
import inspect
import pkgutil
import re

import pytest

import mdrr
from tests.test_docs import DOCS, ROOT


def test_every_public_name_is_in_the_reference():
    """A new name needs a line `::: mdrr.name` in docs/reference.md."""
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    shown = re.findall(r"^::: mdrr\.([\w.]+)$", text, re.MULTILINE)
    names = {path.split(".")[-1] for path in shown} | {"__version__"}
    names |= set(re.findall(r"^## mdrr\.(\w+)$", text, re.MULTILINE))
    assert [name for name in mdrr.__all__ if name not in names] == []
    for module in (mdrr.privacy, mdrr.theory):
        public = re.findall(r" as (\w+)$", inspect.getsource(module), re.MULTILINE)
        home = module.__name__.removeprefix("mdrr.")
        assert [name for name in public if f"{home}.{name}" not in shown] == []


def unexplained(text: str) -> list[str]:
    """Names such as `mdrr.a.b` that a page uses and docs/reference.md does not explain."""
    reference = (DOCS / "reference.md").read_text(encoding="utf-8")
    listed = re.findall(r"^(?::::|###?) (mdrr\.[\w.]+)$", reference, re.MULTILINE)
    known = {id(pkgutil.resolve_name(name)) for name in listed}
    imports = re.compile(r"^\W*from (mdrr[\w.]*) import ([\w, ]+)$", re.MULTILINE)
    used = {f"{home}.{name.strip()}" for home, names in imports.findall(text)
            for name in names.split(",")}  # fmt: skip
    used |= set(re.findall(r"(?<![\w/])mdrr(?:\.[A-Za-z]\w*)+", imports.sub("", text)))
    missing = []
    for name in sorted(used):
        parts = name.split(".")
        try:
            found = [pkgutil.resolve_name(".".join(parts[:k])) for k in range(2, len(parts) + 1)]
        except (ImportError, AttributeError):
            if importlib.util.find_spec(f"mdrr.{parts[1]}") or parts[1] in mdrr.__all__:
                missing.append(name)  # otherwise it is a file, such as mdrr.db
            continue
        if not known & set(map(id, found)):
            missing.append(name)
    return missing


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))], ids=lambda page: page.name
)
def test_every_name_that_a_page_teaches_is_in_the_reference(page):
    """The rows of docs/mathematics.md lead to the code itself; another test looks after them."""
    text = page.read_text(encoding="utf-8")
    if page.name == "mathematics.md":
        text = re.sub(r"^\| .*", "", text, flags=re.MULTILINE)
    assert unexplained(text) == []


def test_a_name_that_is_not_in_the_reference_is_found():
    good = "`mdrr.plan`, `mdrr.Design.from_json`, `mdrr.theory.compare`, mdrr.db, `src/mdrr.frozen`"
    assert unexplained(f"{good}\n>>> from mdrr.protocols import epsilon_of, p_of\n") == []
    bad = ">>> from mdrr.protocols import p_of, subsets\n`mdrr.frozen.texts` `mdrr.plots.none`"
    assert unexplained(bad) == ["mdrr.frozen.texts", "mdrr.plots.none", "mdrr.protocols.subsets"]
