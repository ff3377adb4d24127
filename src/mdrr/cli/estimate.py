"""`mdrr estimate`: tables of the true distribution, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from mdrr.cli import options
from mdrr.cli.inputs import SAVED, keep_apart, load_fit, read_groups
from mdrr.cli.methods import read_options
from mdrr.cli.screen import note, print_json, print_table, print_text, write_json
from mdrr.errors import EstimateError, MdrrError

if TYPE_CHECKING:
    from mdrr.design import Design
    from mdrr.estimation import Table

EXAMPLE = "mdrr estimate tally.json --design design.json --table sex,income"


def estimate(
    reports: options.Estimable,
    design: options.EstimateDesign = None,
    table: Annotated[
        list[str] | None,
        Option(
            help="Attributes of a table, as in sex,income; repeatable. Default: one table per "
            "attribute."
        ),
    ] = None,
    method: options.Method = "auto",
    projection: Annotated[
        Literal["euclidean", "clip", "bayes"] | None,
        Option(help="How methods product and adjust remove negative shares."),
    ] = None,
    option: options.MethodOption = None,
    level: options.Level = 0.95,
    out: options.MaybeOut = None,
    as_json: options.AsJson = False,
) -> None:
    """Estimate tables of the true distribution; with -o estimate.npz, save the estimate."""
    from mdrr.estimation.result import MOST_INTERVALS, RESULTS, check_names, refuse_clash
    from mdrr.files import write_tables
    from mdrr.files.streams import check_folder
    from mdrr.files.tables import file_format

    keep_apart(out, reports, design)
    words = [*(option or ()), *_projection(method, projection)]
    made, fit = load_fit(reports, design, method, words, quiet=as_json)
    asked = [tuple(chain(*read_groups(text, made.domain.names))) for text in table or ()]
    asked = asked or [(name,) for name in made.domain.names]
    for names in asked:
        check_names(made.domain, names)
    saves, lists = (out is not None and out.suffix.lower() == end for end in (SAVED, ".json"))
    if out is not None:
        check_folder(out)
    if out is not None and not (saves or lists):
        file_format(out)
        if len(asked) != 1:
            raise MdrrError(
                f"{out} holds one table, and {len(asked)} are asked for. Name one with --table, or "
                "write them all to a .json file"
            )
        refuse_clash(asked[0], RESULTS)
    found = fit()
    tables = [found.table(*names, level=level) for names in asked]
    fields: dict[str, Any] = {
        "n": found.n,
        "method": found.method,
        "level": level,
        "tables": [{"attributes": list(t.attributes), "cells": _cells(t)} for t in tables],
    }
    why = found.notes.get("why")
    if why is not None:
        fields["why"] = why
    if out is not None and saves:
        found.save(out)
    elif out is not None and lists:
        write_json(out, fields)
    elif out is not None:
        small = tables[0].values.size <= MOST_INTERVALS
        write_tables(out, [tables[0].to_frame("pyarrow", intervals=small)])
    if as_json:
        print_json(fields)
        return
    for each in fields["tables"]:
        heads = [*each["attributes"], "probability", "low", "high"]
        rows = [[*c["labels"], c["probability"], c["low"], c["high"]] for c in each["cells"]]
        names = each["attributes"]
        print_table(heads, rows, title=" × ".join(names), labels=len(names))
    print_text(f"{found.n:,} reports, method {found.method}, {level:.0%} intervals.")
    if why is not None:
        print_text(f"How: {why}.")
    if saves:
        print_text(f"Wrote {out}. 'mdrr query', 'synth' and 'report' take it instead of reports.")
    for names in asked:
        say_bias(made, found.method, names)


def say_bias(design: Design, method: str, names: Sequence[str]) -> None:
    """Say that a method of the paper takes the attributes of different clusters as unrelated."""
    clusters = (cluster for q in design.questionnaires for cluster in q.clusters)
    together = any(set(names) <= set(cluster.attributes) for cluster in clusters)
    if method in ("product", "adjust") and not together:
        how = "as independent" if method == "product" else "as less related than they are"
        note(
            f"Note: {' and '.join(names)} are reported apart, and {method} takes them {how}. The "
            "interval allows for that, the estimate does not; --method auto does"
        )


def _cells(table: Table) -> list[dict[str, Any]]:
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
