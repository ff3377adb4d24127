"""`mdrr estimate`: tables of the true distribution, with intervals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mdrr.cli.inputs import SAVED, keep_apart, load_fit, read_names
from mdrr.cli.methods import read_options
from mdrr.cli.options import (
    AsJson,
    Estimable,
    EstimateDesign,
    Level,
    MaybeOut,
    Method,
    MethodOption,
)
from mdrr.cli.screen import note, print_json, print_table, print_text
from mdrr.errors import EstimateError, MdrrError

if TYPE_CHECKING:
    from mdrr.design import Design
    from mdrr.estimation import Estimate, Table

EXAMPLE = "mdrr estimate tally.json --design design.json --table sex,income"


def estimate(
    reports: Estimable,
    design: EstimateDesign = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            help="Attributes of a table, as in sex,income; repeatable. Default: one table per "
            "attribute."
        ),
    ] = None,
    method: Method = "auto",
    projection: Annotated[
        Literal["euclidean", "clip", "bayes"] | None,
        typer.Option(help="How methods product and adjust remove negative shares."),
    ] = None,
    option: MethodOption = None,
    level: Level = 0.95,
    out: MaybeOut = None,
    as_json: AsJson = False,
) -> None:
    """Estimate tables of the true distribution; with -o estimate.npz, save the estimate."""
    from mdrr.estimation.result import check_names

    keep_apart(out, reports, design)
    words = [*(option or ()), *_projection(method, projection)]
    made, fit = load_fit(reports, design, method, words, quiet=as_json)
    asked = [read_names(text, made.domain.names) for text in table or ()]
    asked = asked or [(name,) for name in made.domain.names]
    for names in asked:
        check_names(made.domain, names)
    if out is not None:
        _check_out(out, asked)
    found = fit()
    tables = [found.table(*names, level=level) for names in asked]
    fields = {
        "n": found.n,
        "method": found.method,
        "level": level,
        "tables": [table_fields(each) for each in tables],
    }
    why = found.notes.get("why")
    if why is not None:
        fields["why"] = why
    if out is not None:
        _write(out, found, fields, tables)
    if as_json:
        print_json(fields)
        return
    for each in tables:
        heads = [*each.attributes, "probability", "low", "high"]
        rows = [[*c["labels"], c["probability"], c["low"], c["high"]] for c in cells(each)]
        print_table(heads, rows, title=" × ".join(each.attributes))
    print_text(f"{found.n:,} reports, method {found.method}, {level:.0%} intervals.")
    if why is not None:
        print_text(f"How: {why}.")
    if out is not None and out.suffix.lower() == SAVED:
        print_text(f"Wrote {out}. 'mdrr query', 'synth' and 'report' take it instead of reports.")
    for each in tables:
        say_bias(made, found.method, each.attributes)


def say_bias(design: Design, method: str, names: Sequence[str]) -> None:
    """Say that a method of the paper takes the attributes of different clusters as (too) unrelated.

    Arguments:
        design: says which attributes are reported together.
        method: how the estimate is made.
        names: the attributes a table or a query looks at.
    """
    homes = {c.attributes for q in design.questionnaires for c in q.clusters}
    together = any(set(names) <= set(attributes) for attributes in homes)
    if method in ("product", "adjust") and not together:
        how = "as independent" if method == "product" else "as less related than they are"
        note(
            f"Note: {' and '.join(names)} are reported apart, and {method} takes them {how}. The "
            "interval allows for that, the estimate does not; --method auto does"
        )


def cells(table: Table) -> list[dict[str, Any]]:
    """One entry per combination of a table: labels, probability and interval."""
    import numpy as np

    from mdrr.estimation.result import MOST_INTERVALS

    attributes = [table.estimate.domain.attribute(name) for name in table.attributes]
    known = table.values.size <= MOST_INTERVALS
    return [
        {
            "labels": [a.categories[i] for a, i in zip(attributes, cell, strict=True)],
            "probability": float(table.values[cell]),
            "low": float(table.low[cell]) if known else None,
            "high": float(table.high[cell]) if known else None,
        }
        for cell in np.ndindex(table.values.shape)
    ]


def table_fields(table: Table) -> dict[str, Any]:
    """What `--json` prints of a table."""
    return {"attributes": list(table.attributes), "cells": cells(table)}


def _projection(method: str, projection: str | None) -> list[str]:
    """The option that `--projection` stands for, if the method has it."""
    if projection is None:
        return []
    read_options(method, ())
    try:
        read_options(method, [f"projection={projection}"])
    except EstimateError:
        raise EstimateError(f"method {method!r} takes no --projection") from None
    return [f"projection={projection}"]


def _check_out(out: Path, asked: list[tuple[str, ...]]) -> None:
    from mdrr.estimation.result import RESULTS, refuse_clash
    from mdrr.files.tables import file_format
    from mdrr.files.whole import check_folder

    check_folder(out)
    if out.suffix.lower() not in (".json", SAVED):
        file_format(out)
        if len(asked) != 1:
            raise MdrrError(
                f"{out} holds one table, and {len(asked)} are asked for. Name one with --table, or "
                "write them all to a .json file"
            )
        refuse_clash(asked[0], RESULTS)


def _write(out: Path, found: Estimate, fields: dict[str, Any], tables: list[Table]) -> None:
    from mdrr.files import write_tables, write_text

    if out.suffix.lower() == SAVED:
        found.save(out)
    elif out.suffix.lower() == ".json":
        write_text(out, json.dumps(fields, ensure_ascii=False, indent=2) + "\n")
    else:
        from mdrr.estimation.result import MOST_INTERVALS

        small = tables[0].values.size <= MOST_INTERVALS
        write_tables(out, [tables[0].to_frame("pyarrow", intervals=small)])
