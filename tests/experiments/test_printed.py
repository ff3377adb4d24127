"""The numbers of the paper: a misread digit changes a sum, which was added up from its source."""

from experiments.printed import COVERAGES, KEEPS, METHODS, TABLES, best_thresholds


def test_tables_are_whole():
    assert [len(TABLES[copies]) for copies in (1, 6)] == [36, 36]
    assert TABLES[1][0.1, 50, 0.1] == TABLES[1][0.3, 50, 0.1] == 0.335
    assert TABLES[1][0.5, 300, 0.2] == 0.236
    assert TABLES[6][0.7, 300, 0.3] == 0.060
    assert TABLES[6][0.3, 100, 0.2] == 0.225
    assert round(sum(TABLES[1].values()), 3) == 8.729
    assert round(sum(TABLES[6].values()), 3) == 6.554


def test_best_thresholds_are_the_smallest_of_table_1():
    for p in KEEPS:
        best = TABLES[1][(p, *best_thresholds(p))]
        assert best == min(error for cell, error in TABLES[1].items() if cell[0] == p)


def test_settings_are_the_paper_s():
    assert tuple(i / 10 for i in range(1, 10)) == COVERAGES
    assert len(METHODS) == 4
    assert "Randomized" not in METHODS
