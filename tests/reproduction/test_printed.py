import pytest

from mdrr.reproduction.printed import (
    KEEPS,
    LEAST_DEPENDENCES,
    MOST_CELLS,
    TABLES,
    best_thresholds,
)


def test_tables_are_whole():
    wanted = {(p, most, least) for p in KEEPS for most in MOST_CELLS for least in LEAST_DEPENDENCES}
    for table in TABLES.values():
        assert set(table) == wanted
        assert all(0.05 < error < 0.6 for error in table.values())


@pytest.mark.parametrize(
    ("name", "cell", "error"),
    [
        ("table1", (0.1, 50, 0.1), 0.335),
        ("table1", (0.1, 100, 0.3), 0.426),
        ("table1", (0.3, 50, 0.3), 0.199),
        ("table1", (0.7, 300, 0.2), 0.071),
        ("table2", (0.1, 300, 0.3), 0.462),
        ("table2", (0.5, 100, 0.2), 0.075),
        ("table2", (0.7, 300, 0.1), 0.056),
    ],
)
def test_cells_are_where_the_paper_has_them(name, cell, error):
    assert TABLES[name][cell] == error


def test_sums_of_the_printed_rows():
    """A misread digit anywhere changes a sum; these were added up from the paper itself."""
    assert sum(TABLES["table1"].values()) == pytest.approx(8.729)
    assert sum(TABLES["table2"].values()) == pytest.approx(6.554)


def test_best_thresholds_minimise_the_printed_error():
    for p in KEEPS:
        most, least = best_thresholds(p)
        assert TABLES["table1"][p, most, least] == min(
            error for cell, error in TABLES["table1"].items() if cell[0] == p
        )
