"""What the text of a CSV file stands for, given what was asked.

A CSV column comes as a dictionary of distinct texts, so each spelling is read once however many
people wrote it.
"""

from __future__ import annotations

from typing import Any

from mdrr.columns import require
from mdrr.domain import Attribute, Label
from mdrr.errors import SchemaError
from mdrr.labels import as_arrow, label_type


def typed_column(column: Any, attribute: Attribute) -> Any:
    """A dictionary column of texts as labels, or as numbers to be binned, for `encode_column`.

    Integers may be written `1` or `1.0`, booleans in any case or as `0` and `1`. A numeric
    attribute's texts are its bins' labels, or else numbers.
    """
    pa = require("pyarrow", "frames")
    arrow = as_arrow(column, attribute.name)
    words = arrow.dictionary.to_pylist()
    if attribute.kind == "numeric" and not all(word in attribute.categories for word in words):
        numbers = [None if word == attribute.missing else _number(word) for word in words]
        texts = [i for i, x in enumerate(numbers) if x is None and words[i] != attribute.missing]
        if not texts:
            return pa.array(numbers, pa.float64()).take(arrow.indices)
        for i in texts:
            if _number(words[i].replace(",", ".")) is not None:
                raise SchemaError(
                    f"{attribute.name!r} has a number with a decimal comma. Write all numbers "
                    "with a point, as in 3.5",
                    row=_first(arrow, i),
                )
            if words[i] not in attribute.categories:
                raise attribute.no_category(words[i], _first(arrow, i))
        raise SchemaError(f"the column {attribute.name!r} mixes numbers and bins. Use either")
    spelled = spellings(attribute)
    for i, word in enumerate(words):
        if word not in spelled:
            raise attribute.no_category(word, _first(arrow, i))
    values = pa.array([spelled[word] for word in words], label_type(attribute))
    return pa.DictionaryArray.from_arrays(arrow.indices, values)


def _first(arrow: Any, word: int) -> int:
    """The first row that has a word of the dictionary."""
    return int(arrow.indices.index(word).as_py())


def spellings(attribute: Attribute) -> dict[str, Label]:
    """Every text that stands for a label.

    >>> spellings(Attribute("rooms", (1, 2)))
    {'1': 1, '1.0': 1, '2': 2, '2.0': 2}
    """
    found: dict[str, Label] = {}
    for label in attribute.categories:
        if isinstance(label, bool):
            texts = [str(label), str(label).lower(), str(label).upper(), str(int(label))]
        elif isinstance(label, int):
            texts = [str(label), f"{label}.0"]
        else:
            texts = [label]
        found.update(dict.fromkeys(texts, label))
    return found


def _number(text: str) -> float | None:
    if text.strip().casefold() in ("nan", "na", ""):
        return float("nan")
    try:
        return float(text)
    except ValueError:
        return None
