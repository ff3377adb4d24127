"""What the pages of results are written with."""

from benchmarks.pages import span, table, wrapped


def test_columns_of_numbers_are_set_right_and_columns_of_words_left():
    made = table(["name", "n", "why"], [["a", 1, "x"], ("b", "2.0", "")], texts=(0, 2))
    assert made == "| name | n | why |\n|---|--:|---|\n| a | 1 | x |\n| b | 2.0 |  |"
    assert table(["n"], [], texts=()) == "| n |\n|--:|"


def test_prose_is_wrapped_and_tables_are_not():
    words = "word " * 30
    first, second, third = wrapped(f"{words}\n\n- {words}\n\n| {words}|").split("\n\n")
    assert max(map(len, first.splitlines())) <= 100
    assert second.splitlines()[1].startswith("  word")
    assert third == f"| {words}|"


def test_a_span_of_one_number_is_that_number():
    assert span([3, 5, 4]) == "3 to 5"
    assert span([3, 5], "–") == "3–5"
    assert span([2, 2]) == "2"
