"""docs/benchmarks/speed.md, made of benchmarks/results/speed.json and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import pages

PAGE = Path("docs/benchmarks/speed.md")
CHART = Path("docs/benchmarks/img/speed.svg")

Found = Mapping[str, Any]

ABOUT = """Contenders take turns in one process, and medians are compared. So what else the machine
does slows all of them alike, and ratios say more than seconds. The load is the average number of
running processes in the minute before a row was finished; the benchmark's own are one or two of
them. Adult's people are drawn with repetition to the numbers given. Peaks of memory are those of a
process that does nothing else, Python and its libraries included."""

WORDS = {
    "limits": (
        "What the machine can do",
        "For comparison: bytes that are only copied, and random bytes that are only made.",
    ),
    "randomize": (
        "Randomize codes",
        "RR-Independent of Adult's eight attributes at ε = 4, with the system's generator. numpy "
        "does the same with PCG64, which is no generator for secrets. The two packages take one "
        "value at a time, so they are timed on 20,000 values, and the time of each is compared. "
        "numpy and the packages use one core, so what mdrr does on one core is shown too.",
    ),
    "frames": (
        "Randomize frames",
        "The same from a frame to a frame. A Categorical of Polars has four bytes a value, read "
        "and written; the last line shows what NumPy takes to copy as many on one core. Text "
        "is looked up value by value, and written as text again. A frame costs about a millisecond "
        "whatever its size. Polars sets labels by a gather, which takes as long as randomizing.",
    ),
    "pairs": (
        "Count all pairs",
        "The 28 pair tables of Adult's eight attributes from codes in memory.",
    ),
    "adjust": (
        "Re-weight records (Algorithm 2)",
        "From randomized records to weights whose margins are within 1e-9 of their targets. ipfn "
        "would take minutes to hours: one of its sweeps is timed and multiplied by the number of "
        "sweeps that the others need.",
    ),
    "auto": ("The default estimator", "From a tally of RR-Independent at ε = 4."),
    "wide": (
        "Sixty attributes",
        "Of four categories each, reported by 100,000 people: planned at ε = 4, and "
        "RR-Independent at ε = 16. Times of a single run.",
    ),
    "categories": (
        "Two attributes of a thousand categories",
        "The default estimator with 100,000 people.",
    ),
    "latent": (
        "Latent classes against Private-PGM",
        "On Adult, RR-Independent at ε = 8. `mbi` gets the unbiased tables of all pairs, and makes "
        "its 1,000 iterations unless it stops improving. All pairs together are a model of all "
        "1,814,400 combinations. Times of a single run of each, with what they compile. The errors "
        "are mean total variations of pairs.",
    ),
    "file": (
        "A file of 100 million people",
        "From a Parquet file of true records: randomize, tally, estimate all pairs. DuckDB only "
        "counts the file's eight margins.",
    ),
    "start": ("Starting", "A new process each time."),
}


@dataclass(frozen=True)
class Aim:
    """What is to be reached, in words, and how it is read off the results."""

    what: str
    case: str
    least: bool
    limit: float
    value: Callable[[Found], float]
    unit: str = "times"


def _of(found: Found, name: str, key: str = "each") -> float:
    return float(next(row[key] for row in found["rows"] if row["name"] == name))


def _against(mine: str, *others: str) -> Callable[[Found], float]:
    """How many times longer the fastest of the others takes."""
    return lambda found: min(_of(found, name) for name in others) / _of(found, mine)


def _slowest(*names: str) -> Callable[[Found], float]:
    """How many times longer than codes the slowest of some frames takes."""
    return lambda found: max(_of(found, name) for name in names) / _of(found, "codes")


def _seconds(*names: str) -> Callable[[Found], float]:
    return lambda found: max(_of(found, name, "seconds") for name in names)


AIMS = (
    Aim("randomize codes, against the faster of multi-freq-ldpy and pure-ldp",
        "randomize 10000000", True, 400, _against("mdrr", "multi-freq-ldpy", "pure-ldp")),
    Aim("randomize codes, against numpy's PCG64",
        "randomize 10000000", True, 5, _against("mdrr", "numpy, PCG64")),
    *(
        Aim(f"randomize a frame of {kinds}, {rows}, against codes", f"frames {size}", False, 2,
            _slowest(*names))
        for size, rows in ((1_000_000, "1 million rows"), (10_000_000, "10 million rows"))
        for kinds, names in (
            ("Polars Enum, pandas Categorical or Arrow dictionaries",
             ("Polars Enum", "pandas Categorical", "Arrow dictionaries")),
            ("Polars Categorical", ("Polars Categorical",)),
        )
    ),
    Aim("28 pair tables of 10 million rows, against the faster of DuckDB and Polars",
        "pairs 10000000", True, 10,
        _against("mdrr", "DuckDB, 28 queries", "DuckDB, grouping sets", "Polars")),
    Aim("re-weight 1 million records, against ipfn", "adjust 1000000", True, 500,
        _against("mdrr", "ipfn, one sweep times their number")),
    Aim("re-weight 1 million records, against numpy over records", "adjust 1000000", True, 15,
        _against("mdrr", "numpy over records")),
    Aim("a file of 100 million people to all pairs, against DuckDB counting its margins",
        "file 100000000", False, 3,
        lambda f: 1 / _against("mdrr: randomize, tally, pairwise", "DuckDB: eight margins")(f)),
    Aim("its memory", "file 100000000", False, 2048, lambda f: float(f["peak"]), "MiB"),
    Aim("`auto` of 1 million people, memory", "auto 1000000", False, 2048,
        lambda f: float(f["peak"]), "MiB"),
    Aim("sixty attributes: plan", "wide 100000", False, 5, _seconds("plan"), "s"),
    Aim("sixty attributes: `auto`", "wide 100000", False, 30,
        _seconds("auto, planned", "auto, RR-Independent"), "s"),
    Aim("sixty attributes: one count", "wide 100000", False, 0.1,
        _seconds("one count, planned", "one count, RR-Independent"), "s"),
    Aim("sixty attributes: `sample(10_000)`", "wide 100000", False, 3,
        _seconds("sample(10_000), planned", "sample(10_000), RR-Independent"), "s"),
    Aim("sixty attributes: memory", "wide 100000", False, 2048, lambda f: float(f["peak"]), "MiB"),
    Aim("two attributes of 1,000 categories: `auto`", "categories 100000", False, 3,
        _seconds("auto, RR-Independent", "auto, planned"), "s"),
    Aim("latent classes, against Private-PGM on all pairs", "latent 32561", True, 20,
        _against("mdrr", "mbi, all pairs")),
    Aim("`import mdrr` and `mdrr --help`", "start 1", False, 0.25,
        _seconds("import mdrr", "mdrr --help"), "s"),
)  # fmt: skip


def document(kept: Mapping[str, Any]) -> None:
    """Write the page and its chart."""
    cases: Mapping[str, Found] = kept["cases"]
    parts = [
        "# Speed",
        "Written by `make bench-speed`: how long the work takes, beside others that do the same. "
        f"On {kept['machine']}.",
        ABOUT,
        _aims(cases),
    ]
    ratios = [
        {"what": aim.what, "ratio": aim.value(cases[aim.case])}
        for aim in AIMS
        if aim.case in cases and aim.least
    ]
    if ratios:
        CHART.parent.mkdir(parents=True, exist_ok=True)
        _chart(ratios)
        parts.append(f"![How many times longer others take](img/{CHART.name})")
    seen = dict.fromkeys(key.split()[0] for key in cases)
    for work in (work for work in WORDS if work in seen):
        title, text = WORDS[work]
        parts += [f"## {title}", text]
        parts += [_table(key, found) for key, found in cases.items() if key.split()[0] == work]
    PAGE.write_text("\n\n".join(parts) + "\n")


def _aims(cases: Mapping[str, Found]) -> str:
    rows = []
    for aim in AIMS:
        if aim.case not in cases:
            continue
        value = aim.value(cases[aim.case])
        reached = value >= aim.limit if aim.least else value <= aim.limit
        sign = "at least" if aim.least else "at most"
        measured = f"{_number(value)} {aim.unit}"
        aimed = f"{sign} {aim.limit:g} {aim.unit}"
        rows.append((aim.what, aimed, measured, "yes" if reached else "**no**"))
    if {"auto 32561", "auto 1000000"} <= set(cases):
        few, many = (_of(cases[f"auto {n}"], "mdrr") for n in (32561, 1000000))
        reached = "yes" if many <= 4 * few else "**no**"
        what, times = "`auto` of 1 million people, against 32,561", f"{_number(many / few)} times"
        rows.append((what, "at most 4 times", times, reached))
    return pages.table(["work", "aim", "measured", "reached"], rows, texts=(0, 3))


def _table(key: str, found: Found) -> str:
    work, size = key.split()
    rates = work in ("limits", "randomize", "pairs")
    unit = {"limits": "bytes/s", "randomize": "values/s", "pairs": "rows/s"}.get(work, "")
    head = f"| {int(size):,} | seconds |" if int(size) > 1 else "| | seconds |"
    rows = [head + (f" {unit} |" if rates else ""), "|---|--:|" + ("--:|" if rates else "")]
    for row in found["rows"]:
        line = f"| {row['name']} | {_number(row['each'] if work == 'adjust' else row['seconds'])} |"
        rows.append(line + (f" {_million(1 / row['each'])} |" if rates else ""))
    said = [f"{name}: {value:.4f}" for name, value in found["errors"].items()]
    said += (
        [f"peak of memory: {found['peak']:,.0f} MiB"] if work in ("auto", "wide", "file") else []
    )
    said.append(f"load: {found['load']:.1f}")
    text = "; ".join(said)
    return "\n".join(rows) + f"\n\n{text[0].upper()}{text[1:]}."


def _number(value: float) -> str:
    """Three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _million(value: float) -> str:
    return f"{_number(value / 1e9)} G" if value >= 1e9 else f"{_number(value / 1e6)} M"


def _chart(ratios: list[dict[str, Any]]) -> None:
    import altair as alt

    bars = [{**row, "one": 1} for row in ratios]
    base = alt.Chart(alt.Data(values=bars)).encode(
        x=alt.X("ratio:Q", title="times as long as mdrr").scale(type="log", domainMin=1),
        y=alt.Y("what:N", title=None, sort=None).axis(labelLimit=480),
    )
    text = base.mark_text(align="left", dx=4).encode(text=alt.Text("ratio:Q", format=",.3~r"))
    drawn = (base.mark_bar(color="#0072B2", height=14).encode(x2="one:Q") + text).properties(
        width=300
    )
    drawn.configure(background="white", font="sans-serif").save(CHART)
