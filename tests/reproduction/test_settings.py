from dataclasses import replace

import pytest

from mdrr.errors import MdrrError
from mdrr.reproduction.settings import Settings


@pytest.mark.parametrize(
    ("rounding", "found"),
    [
        ("nearest", [1, 1, 4, 3]),
        ("even", [1, 1, 4, 2]),
        ("down", [1, 1, 3, 2]),
        ("up", [1, 2, 4, 3]),
    ],
)
def test_rounding(rounding, found):
    """0.1·4 = 0.4 would be no combination at all; 0.1·35 and 0.1·25 are halves."""
    settings = Settings(rounding=rounding)
    assert [settings.combinations(0.1, cells) for cells in (4, 14, 35, 25)] == found


def test_rounding_is_exact():
    """In floating point 0.3·10 > 3 and 0.7·10 < 7."""
    assert Settings(rounding="up").combinations(0.3, 10) == 3
    assert Settings(rounding="down").combinations(0.7, 10) == 7


def test_fingerprint_tells_settings_apart_but_not_how_many_runs():
    settings = Settings()
    assert replace(settings, runs=5).fingerprint == settings.fingerprint
    others = [
        replace(settings, **change)
        for change in (
            {"seed": 2},
            {"matrix": "printed"},
            {"dependences": "attributes"},
            {"rounding": "up"},
            {"empty": "drop"},
            {"pairs": "repeated"},
            {"query_size": 3},
            {"projection": "euclidean"},
            {"thresholds": "ours"},
        )
    ]
    prints = {settings.fingerprint, *(other.fingerprint for other in others)}
    assert len(prints) == len(others) + 1


def test_streams_depend_on_seed_and_key_only():
    first = Settings(matrix="power").stream("table1", 0.1, 3).random(4)
    assert (first == Settings().stream("table1", 0.1, 3).random(4)).all()
    assert (first != Settings().stream("table1", 0.1, 4).random(4)).all()
    assert (first != Settings(seed=2).stream("table1", 0.1, 3).random(4)).all()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"runs": 0}, "runs=0"),
        ({"matrix": "guess"}, "matrix='guess': choose one of 'corrected'"),
        ({"rounding": "off"}, "rounding='off'"),
        ({"empty": "no"}, "empty='no'"),
        ({"pairs": "two"}, "pairs='two'"),
        ({"query_size": 9}, "query_size=9"),
        ({"projection": "none"}, "projection='none'"),
        ({"thresholds": "best"}, "thresholds='best'"),
        ({"dependences": "guess"}, "dependences='guess': choose one of 'exact'"),
    ],
)
def test_bad_settings_are_refused(change, complaint):
    with pytest.raises(MdrrError, match=complaint):
        Settings(**change)
