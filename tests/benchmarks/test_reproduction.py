"""The benchmark of the reproduction measures what it says."""

from benchmarks import reproduction


def test_every_experiment_is_timed():
    assert {unit.experiment for _, unit, _ in reproduction.CASES} == {
        "table1",
        "table2",
        "figure2",
        "figure3",
        "joint",
    }


def test_the_command_is_timed_with_its_processes():
    found = reproduction.whole(["figure1", "--workers", "1"])
    assert set(found) == {"wall_seconds", "cpu_seconds"}
    assert found["cpu_seconds"] > 0
    assert found["wall_seconds"] > 0
