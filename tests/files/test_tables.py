import gzip
import os

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mdrr.domain import Attribute, Domain
from mdrr.errors import MdrrError, SchemaError, TallyError
from mdrr.files import read_codes, read_people, read_tables, tables, tally_files, write_tables
from mdrr.files.tables import ahead
from mdrr.frames import encode
from mdrr.labels import typed_column
from mdrr.protocols import independent
from tests.cases import MIXED

ASKED = Domain((Attribute("a", ("x", "y")), Attribute("n", (1, 2))))

CSV = """ssn,age,ville,children,smokes
1,17,東京,0,True
2,120,Genève,2,false
3,18.0,🦔,1.0,0
4,64,Zürich,-5,1
"""
CODES = {
    "ville": [2, 0, 3, 1],
    "smokes": [1, 0, 0, 1],
    "children": [0, 2, 1, 3],
    "age": [0, 2, 1, 1],
}


def codes_of(path, domain=MIXED):
    """All codes of a file, chunk after chunk."""
    chunks = [encode(table, domain) for table in read_people(path, domain)]
    return {
        name: [int(code) for chunk in chunks for code in chunk[j]]
        for j, name in enumerate(domain.names)
    }


def write(path, text, **options):
    path.write_text(text, encoding="utf-8", **options)
    return path


def test_csv_of_every_type_in_any_column_order(tmp_path):
    assert codes_of(write(tmp_path / "p.csv", CSV)) == CODES


def test_tsv_gzip_and_a_byte_order_mark(tmp_path):
    assert codes_of(write(tmp_path / "p.tsv", CSV.replace(",", "\t"))) == CODES
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    assert codes_of(tmp_path / "p.csv.gz") == CODES
    short = "\n".join(line.split(",", 1)[1] for line in CSV.splitlines())
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbf" + short.encode())
    assert codes_of(tmp_path / "bom.csv") == CODES


def test_parquet_with_and_without_dictionaries(tmp_path):
    people = pa.table(
        {
            "smokes": [True, False, False, True],
            "ville": pa.array(["東京", "Genève", "🦔", "Zürich"]).dictionary_encode(),
            "children": pa.array([0, 2, 1, -5], "int8"),
            "age": [17.0, 120.0, 18.0, 64.0],
            "ssn": ["1", "2", "3", "4"],
        }
    )
    pq.write_table(people, tmp_path / "p.parquet")
    assert codes_of(tmp_path / "p.parquet") == CODES
    people = people.set_column(1, "ville", people["ville"].cast("string"))
    pq.write_table(people, tmp_path / "p.pq")
    assert codes_of(tmp_path / "p.pq") == CODES


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_files_are_read_in_chunks_that_together_are_the_whole(tmp_path, monkeypatch, name):
    monkeypatch.setattr(tables, "_BLOCK", 300)
    monkeypatch.setattr(tables, "ROWS", 50)
    domain = Domain((Attribute("size", ("s", "m", "l")), Attribute("n", (0, 1, 2))))
    frame = pd.DataFrame({"size": list("smlls") * 40, "n": [0, 1, 2, 0, 1] * 40})
    path = tmp_path / name
    frame.to_csv(path, index=False) if name.endswith("csv") else frame.to_parquet(path)
    shares: list[float] = []
    chunks = list(read_people(path, domain, shares.append))
    assert len(chunks) >= 3
    assert max(chunk.num_rows for chunk in chunks) < 200
    assert codes_of(path, domain) == {"size": [0, 1, 2, 2, 0] * 40, "n": [0, 1, 2, 0, 1] * 40}
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_columns_that_were_not_asked_are_never_read(tmp_path):
    path = write(tmp_path / "p.csv", CSV)
    (table,) = read_people(path, MIXED.project(["smokes"]))
    assert table.column_names == ["smokes"]


def test_an_empty_cell_is_missing_and_a_quoted_one_is_a_label_where_it_is_one(tmp_path):
    asked = Domain((Attribute("a", ("x", "?"), missing="?"), Attribute("b", ("y", "z"))))
    assert codes_of(write(tmp_path / "p.csv", 'a,b\n,y\n"",z\nx,y\n'), asked)["a"] == [1, 1, 0]
    blank = Domain((Attribute("a", ("x", "", "?"), missing="?"), Attribute("b", ("y", "z"))))
    assert codes_of(write(tmp_path / "p.csv", 'a,b\n,y\n"",z\nx,y\n'), blank)["a"] == [2, 1, 0]


def test_numbers_may_be_missing_in_many_spellings(tmp_path):
    age = Domain((Attribute("age", kind="numeric", edges=(0, 18, 120), missing="no answer"),))
    text = "age,b\n17,\n,\nNaN,\nNA,\nno answer,\n1e2,\n"
    assert codes_of(write(tmp_path / "p.csv", text), age)["age"] == [0, 2, 2, 2, 2, 1]


def test_quoted_cells_may_hold_line_breaks_and_commas(tmp_path):
    odd = Domain((Attribute("a", ("x, y", "z")), Attribute("b", ("y", "z"))))
    text = 'a,b,note\n"x, y",y,"two\nlines"\nz,z,\n'
    assert codes_of(write(tmp_path / "p.csv", text), odd)["a"] == [0, 1]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "p.csv' is empty. Its first line must name the columns"),
        ("\n\n", "p.csv' is empty"),
        ("a,n\n", "p.csv' has no rows"),
        ("a,m\nx,1\n", "p.csv' has no column 'n'. It has 'a', 'm'"),
        ("a,n,a\nx,1,x\n", "p.csv' has two columns named 'a'"),
        ("a,n\nx,1\nsecret\n", "p.csv': row 3 has 1 cells instead of 2"),
        ("a,n\nx,1\nx,2,secret\n", "p.csv': row 3 has 3 cells instead of 2"),
        ("a,n\nw,1\n", "'a' has no category 'w'"),
        ("a,n\nx,5\n", "'n' has no category '5'"),
        ("a,n\nx,one\n", "'n' has no category 'one'"),
        ("a,n\nx,\n", "'n' has 1 missing values. Declare a category"),
    ],
)
def test_a_bad_csv_file_is_refused_and_no_row_is_repeated(tmp_path, text, complaint):
    domain = Domain((Attribute("a", ("x", "y")), Attribute("n", (1, 2))))
    with pytest.raises(SchemaError, match=complaint) as error:
        codes_of(write(tmp_path / "p.csv", text), domain)
    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        (["17", "old"], "'age' has no category 'old'"),
        (["17", "[0, 18)"], "'age' mixes numbers and bins"),
        (["[0, 18)", "[18, 99)"], r"'age' has no category '\[18, 99\)'"),
    ],
)
def test_a_numeric_column_holds_numbers_or_bins(texts, complaint):
    age = Attribute("age", kind="numeric", edges=(0, 18, 120))
    with pytest.raises(SchemaError, match=complaint) as error:
        typed_column(pa.array(texts).dictionary_encode(), age)
    assert "'17'" not in str(error.value)


def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path):
    domain = MIXED.project(["smokes"])
    (tmp_path / "p.parquet").write_text("not parquet at all")
    with pytest.raises(SchemaError, match="is not a Parquet file, or is not whole"):
        codes_of(tmp_path / "p.parquet", domain)
    for text in ("ville\nGenève\n", "ville,été\nGenève,1\n"):
        (tmp_path / "p.csv").write_bytes(text.encode("latin-1"))
        with pytest.raises(SchemaError, match=r"p\.csv' is not text in UTF-8"):
            codes_of(tmp_path / "p.csv", MIXED.project(["ville"]))
    with pytest.raises(MdrrError, match="does not say its format"):
        codes_of(tmp_path / "p.xlsx", domain)
    with pytest.raises(MdrrError, match="JSON Lines hold reports"):
        codes_of(tmp_path / "p.jsonl", domain)
    for name in ("none.csv", "none.parquet"):
        with pytest.raises(FileNotFoundError, match=name):
            codes_of(tmp_path / name, domain)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet"])
def test_tables_come_back_as_written(tmp_path, name):
    table = pa.table({"smokes": [True, False], "ville": ["東京", "Genève"], "ssn": [1, 2]})
    assert write_tables(tmp_path / name, [table, table]) == 4
    assert codes_of(tmp_path / name, MIXED.project(["ville", "smokes"])) == {
        "ville": [2, 0, 2, 0],
        "smokes": [1, 0, 1, 0],
    }
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_table_that_fails_half_way_leaves_the_old_file(tmp_path, name):
    table = pa.table({"a": ["x"] * 1000})
    write_tables(tmp_path / name, [table])
    before = (tmp_path / name).read_bytes()

    def broken():
        yield table
        raise SchemaError("an unknown label in the second chunk")

    with pytest.raises(SchemaError, match="second chunk"):
        write_tables(tmp_path / name, broken())
    assert (tmp_path / name).read_bytes() == before
    assert os.listdir(tmp_path) == [name]


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(MdrrError, match="there is nothing to write"):
        write_tables(tmp_path / "t.csv", [])
    for path in (tmp_path / "t.jsonl", tmp_path / "t.parquet.gz", "-"):
        with pytest.raises(MdrrError, match=r"tables are written as \.csv"):
            write_tables(path, [pa.table({"a": [1]})])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.parquet", "p.csv.gz"])
def test_an_error_about_data_names_the_file_and_the_row(tmp_path, monkeypatch, name):
    """The row is the one a spreadsheet shows, also beyond the first chunk."""
    monkeypatch.setattr(tables, "_BLOCK", 1 << 10)
    monkeypatch.setattr(tables, "ROWS", 100)
    path = tmp_path / name
    for column, wrong, says in (
        ("a", "w", "'a' has no category 'w'"),
        ("n", None, "'n' has 1 missing values"),
    ):
        people = {"a": ["x", "y"] * 1000, "n": [1, 2] * 1000}
        people[column][1234] = wrong
        write_tables(path, [pa.table(people)])
        row = 1235 if name.endswith("parquet") else 1236
        with pytest.raises(SchemaError, match=rf"{name}': row {row:,}: {says}"):
            for _ in tables.read_codes(path, ASKED):
                pass


def test_reports_name_the_row_too(tmp_path):
    design = independent(ASKED, p=0.5)
    labels = {"a": ["x", "y", None], "n": [1, 2, 1]}
    write_tables(tmp_path / "r.csv", [pa.table(labels)], fingerprint=design.fingerprint)
    with pytest.raises(TallyError, match=r"r.csv': row 4: 1 reports lack an answer to 'a'"):
        tally_files([tmp_path / "r.csv"], design)


def test_chunks_are_read_ahead_and_errors_come_in_their_place():
    read = []

    def chunks():
        for i in range(5):
            if i == 3:
                raise SchemaError("row 4 is broken")
            read.append(i)
            yield i

    found = ahead(chunks())
    assert next(found) == 0
    assert next(found) == 1
    assert next(found) == 2
    with pytest.raises(SchemaError, match="row 4 is broken"):
        next(found)
    assert read == [0, 1, 2]


def test_reading_ahead_stops_with_who_reads():
    read = []

    def chunks():
        for i in range(1000):
            read.append(i)
            yield i

    found = ahead(chunks())
    next(found)
    found.close()
    assert len(read) <= 2


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_text_of_every_kind_is_read_by_its_dictionary(tmp_path, kind):
    domain = Domain((Attribute("a", ("y", "x")),))
    table = pa.table({"a": pa.array(["x", "y", "x"], kind)})
    pq.write_table(table, tmp_path / "p.parquet")
    (read,) = read_tables(tmp_path / "p.parquet", domain.attributes)
    assert pa.types.is_dictionary(read.schema.field("a").type)
    assert [c[0].tolist() for c in read_codes(tmp_path / "p.parquet", domain)] == [[1, 0, 1]]


def test_dictionaries_are_written_as_text_with_what_is_said_of_them(tmp_path):
    table = pa.table({"a": pa.array(["x", "y"]).dictionary_encode()})
    table = table.replace_schema_metadata({"mdrr.fingerprint": "f00"})
    write_tables(tmp_path / "p.parquet", [table])
    again = pq.read_table(tmp_path / "p.parquet")
    assert pa.types.is_string(again.schema.field("a").type)
    assert again.schema.metadata[b"mdrr.fingerprint"] == b"f00"
    write_tables(tmp_path / "p.csv", [table])
    assert (tmp_path / "p.csv").read_text(encoding="utf-8") == '"a"\n"x"\n"y"\n'
