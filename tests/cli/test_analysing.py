"""`mdrr estimate`, `query`, `adjust` and `synth`: the library's answers, printed and in files."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from mdrr.design import Design
from mdrr.estimation import estimate
from mdrr.files import tally_files
from mdrr.protocols import joint
from mdrr.weighting import weigh
from tests.cases import domain_of
from tests.cli.run import answer, done, refusal, run


@pytest.fixture
def library(folder):
    """The library's own estimate, by method."""
    design = Design.from_json(Path("design.json").read_text(encoding="utf-8"))
    tally = tally_files(["reports.parquet"], design)
    return lambda method="auto", **options: estimate(tally, design, method, **options)


@pytest.mark.parametrize("source", ["tally.json", "reports.parquet"])
@pytest.mark.parametrize("method", ["product", "adjust"])
def test_tables_are_those_of_the_library(library, source, method):
    fields = answer(
        f"estimate {source} -d design.json --table visits,smokes --table age "
        f"--method {method} --level 0.9"
    )
    assert (fields["n"], fields["method"], fields["level"]) == (600, method, 0.9)
    assert [t["attributes"] for t in fields["tables"]] == [["visits", "smokes"], ["age"]]
    wanted = library(method).table("visits", "smokes", level=0.9)
    cells = fields["tables"][0]["cells"]
    assert [c["labels"] for c in cells] == [[v, s] for v in (0, 1, 2) for s in ("no", "yes")]
    for key, values in {
        "probability": wanted.values,
        "low": wanted.low,
        "high": wanted.high,
    }.items():
        assert np.allclose([c[key] for c in cells], values.ravel(), rtol=1e-12)


def test_every_attribute_is_shown_when_none_is_named(library):
    printed = done("estimate tally.json -d design.json")
    for name in ("smokes", "age", "visits", "insured"):
        assert name in printed
    assert "[18, 65)" in printed
    assert "600 reports, method auto, 95% intervals" in printed


def test_options_are_passed_on(library):
    options = "--method latent --option classes=2 --option prior=0.75 --option seed=3"
    fields = answer(f"estimate tally.json -d design.json --table age,smokes {options}")
    wanted = library("latent", classes=2, prior=0.75, seed=3)
    table = wanted.table("age", "smokes").values
    cells = [c["probability"] for c in fields["tables"][0]["cells"]]
    assert np.allclose(cells, table.ravel(), rtol=0, atol=1e-12)
    assert not np.allclose(cells, library("latent").table("age", "smokes").values.ravel())
    count = answer("query", "tally.json", "-d", "design.json", "smokes == 'yes'", *options.split())
    assert count["value"] == pytest.approx(wanted.count("smokes == 'yes'").value)
    pairwise = "estimate tally.json -d design.json --method pairwise --table age,smokes"
    flags = [answer(f"{pairwise} --option shrink={flag}") for flag in ("no", "yes")]
    assert flags[0] != flags[1]


def test_a_projection_is_passed_on(library):
    for projection in ("clip", "bayes"):
        fields = answer(
            "estimate tally.json -d design.json --table age --method product "
            f"--projection {projection}"
        )
        wanted = library("product", projection=projection).table("age").values
        assert np.allclose([c["probability"] for c in fields["tables"][0]["cells"]], wanted)


def test_tables_go_into_files(library):
    done("estimate tally.json -d design.json --table smokes,age -o t.csv")
    done("estimate tally.json -d design.json --table smokes,age -o t.parquet")
    fields = answer("estimate tally.json -d design.json --table smokes,age -o t.json")
    table = pyarrow.parquet.read_table("t.parquet")
    assert table.column_names == ["smokes", "age", "probability", "low", "high"]
    assert pyarrow.csv.read_csv("t.csv").to_pydict() == table.to_pydict()
    assert json.loads(Path("t.json").read_text(encoding="utf-8")) == fields


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("--table sex", "no attribute 'sex'. Known: 'smokes'"),
        ("--table smokes,smokes", "named twice"),
        ("--method magic", "'magic' is not one of 'auto', 'product'"),
        ("--method product --projection magic", "'magic'"),
        ("--projection clip", "'auto' has no option 'projection'"),
        (
            "--option sweeps=3",
            "'auto' has no option 'sweeps'. Known: classes (a whole number), seed (a whole number)",
        ),
        ("--method pairwise --option shrink=2", "it is true or false, not '2'"),
        ("--option classes=many", "--option classes=many: it is a whole number, not 'many'"),
        ("--method adjust --option tolerance=nan", "it is a number, not 'nan'"),
        ("--option classes", "give each option once, as classes=VALUE"),
        ("--option classes=2 --option classes=3", "give each option once, as classes=VALUE"),
        ("--option seed=-1", "seed=-1 must be a whole number, at least 0"),
        ("--option classes=0", "classes=0 must be a whole number, at least 1"),
        ("--method magic --option classes=2", "'magic' is not one of"),
        ("--level 95", "level=95"),
        ("-o t.xlsx", "does not say its format"),
        ("-o t.csv", "t.csv holds one table, and 4 are asked for"),
    ],
)
def test_estimates_that_cannot_be_made(folder, options, complaint):
    assert complaint in refusal(f"estimate tally.json -d design.json {options}")


def test_counts_are_those_of_the_library(library):
    where = "smokes == 'yes' and visits >= 1"
    for extra, of in (("", "people"), (" --population", "population")):
        fields = answer(f'query tally.json -d design.json "{where}" --level 0.8{extra}')
        wanted = library().count(where, level=0.8, of=of)
        assert fields == {
            "where": where,
            "n": 600,
            "value": wanted.value,
            "low": wanted.low,
            "high": wanted.high,
            "share": wanted.share,
            "level": 0.8,
            "method": "auto",
            "of": of,
        }
    printed = done(f'query reports.parquet -d design.json "{where}"')
    assert "of 600 people" in printed
    assert "95% interval" in printed


@pytest.mark.parametrize(
    ("where", "complaint"),
    [
        ("smokes = 'yes'", "cannot be read near column"),
        ("smokes == 'often'", "'smokes' has no category 'often'"),
        ("smoker == 'yes'", "no attribute 'smoker'"),
        ("smokes < 'yes'", "'smokes' is nominal"),
        ("age < 20", "compare it with < or >= and one of its edges"),
        ("__import__('os').system('true')", "is not a condition"),
    ],
)
def test_queries_that_cannot_be_read(folder, where, complaint):
    assert complaint in refusal("query", "tally.json", "-d", "design.json", where)


@pytest.mark.parametrize("name", ["r.parquet", "r.csv", "r.jsonl"])
def test_weights_are_those_of_the_library(folder, name):
    done(f"randomize people.csv -d design.json -o {name} --seed 1")
    fields = answer(f"adjust {name} -d design.json -o w.parquet --tolerance 1e-6")
    assert (fields["n"], fields["stopped"], fields["unreached"]) == (600, "tolerance", [])
    assert fields["residual"] < 1e-6
    design = Design.from_json(Path("design.json").read_text(encoding="utf-8"))
    wanted = weigh(pyarrow.parquet.read_table("reports.parquet"), design, tolerance=1e-6)
    found = pyarrow.parquet.read_table("w.parquet")
    assert found.drop("weight").equals(wanted.drop("weight"))
    assert np.allclose(found["weight"], wanted["weight"])


def test_several_files_are_weighed_together(folder):
    done("randomize people.csv -d design.json -o more.csv --seed 2")
    printed = done("adjust reports.parquet more.csv -d design.json -o w.csv --sweeps 2")
    assert "Wrote 1,200 records with weights" in printed
    assert "Stopped by sweeps after 2 sweeps" in printed
    weights = pyarrow.csv.read_csv("w.csv")["weight"].to_numpy()
    assert weights.mean() == pytest.approx(1)


def test_what_cannot_be_weighed_is_refused(folder):
    assert "a tally has no records" in refusal("adjust tally.json -d design.json -o w.csv")
    done("design survey.toml --size 2 --epsilon 3 -o pairs.json")
    done("randomize people.csv -d pairs.json -o p.parquet")
    line = refusal("adjust p.parquet -d pairs.json -o w.csv")
    assert "several questionnaires" in line
    assert not Path("w.csv").exists()


def test_repeated_records_have_the_estimated_shares(library):
    assert "Wrote 600 synthetic records" in done(
        "synth tally.json -d design.json --how repeat -o s.parquet"
    )
    table = pyarrow.parquet.read_table("s.parquet")
    shares = pa.compute.mean(pa.compute.equal(table["smokes"], "yes")).as_py()
    # each of the 36 combinations is rounded by less than one record
    assert abs(shares - library().table("smokes").values[1]) < 36 / 600


def test_drawn_records_are_as_many_as_asked_and_come_again(folder):
    done("synth tally.json -d design.json -n 50 --seed 3 -o a.csv")
    fields = answer("synth tally.json -d design.json --how sample -n 50 --seed 3 -o b.csv")
    assert fields == {"n": 50, "how": "sample", "method": "auto", "out": "b.csv"}
    assert Path("a.csv").read_text() == Path("b.csv").read_text()
    assert "'steal' is not one of" in refusal(
        "synth tally.json -d design.json --how steal -o c.csv"
    )
    assert "n=0" in refusal("synth tally.json -d design.json -n 0 -o c.csv")
    assert not Path("c.csv").exists()


@pytest.mark.parametrize(
    ("method", "says"), [("product", "independent"), ("adjust", "less related")]
)
def test_what_the_papers_methods_assume_across_clusters_is_said(folder, method, says):
    across = run(
        "query",
        "tally.json",
        "smokes == 'yes' and visits == 0",
        "-d",
        "design.json",
        "--method",
        method,
    )
    assert across.exit_code == 0
    assert says in across.stderr
    alone = run("query", "tally.json", "smokes == 'yes'", "-d", "design.json", "--method", method)
    assert alone.exit_code == 0
    assert alone.stderr == ""


def test_a_table_too_large_for_intervals_is_still_given(folder, monkeypatch):
    monkeypatch.setattr("mdrr.estimation.result.MOST_INTERVALS", 3)
    (table,) = answer("estimate tally.json -d design.json --table smokes,visits")["tables"]
    assert {cell["low"] for cell in table["cells"]} == {None}
    assert sum(cell["probability"] for cell in table["cells"]) == pytest.approx(1)


@pytest.fixture
def saved(folder):
    done("estimate tally.json -d design.json --method product --table age -o est.npz")


def test_a_saved_estimate_answers_as_the_reports_do(saved):
    """The reports and the design are gone, so nothing can be fitted again."""
    commands = [
        "query {} \"smokes == 'yes' and age >= 18\"",
        "estimate {} --table smokes,visits",
        "synth {} --how sample --n 20 --seed 3 -o s.csv",
    ]
    reports = "tally.json -d design.json --method product"
    wanted = [answer(command.format(reports)) for command in commands]
    records = Path("s.csv").read_text()
    for name in ("tally.json", "design.json", "reports.parquet"):
        Path(name).unlink()
    assert [answer(command.format("est.npz")) for command in commands] == wanted
    assert Path("s.csv").read_text() == records
    assert "Wrote again.npz" in done("estimate est.npz --table smokes -o again.npz")
    assert answer("query again.npz insured") == answer("query est.npz insured")


def test_a_report_is_written_from_a_saved_estimate(saved):
    fields = answer("report est.npz -o r.html")
    assert (fields["n"], fields["method"]) == (600, "product")
    assert "600" in Path("r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("query est.npz --method latent insured", "is estimated already: leave out --method"),
        ("query est.npz tally.json -d design.json insured", "give a saved estimate alone"),
        ("query est.npz -d other.json insured", "was estimated under another design than other"),
        ("query none.npz insured", "there is no file 'none.npz'"),
        ("query bad.npz insured", "bad.npz: this is not a saved estimate"),
        ("query tally.json insured", "reports need the --design they were made under"),
        ("query est.npz", "est.npz is a file. The expression is missing"),
        ("tally est.npz -d design.json -o t.json", "is a saved estimate, and a tally is needed"),
        ("privacy est.npz", "est.npz is a saved estimate, and a design is needed here"),
        ("estimate est.npz --table ages -o est.npz", "would be written over what is read"),
    ],
)
def test_a_saved_estimate_that_cannot_be_used(saved, command, complaint):
    done("design survey.toml --p 0.6 -o other.json")
    Path("bad.npz").write_bytes(b"nothing")
    assert complaint in refusal(command)


def test_a_billion_combinations_are_tallied_and_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    domain = domain_of(*[8] * 10)
    design = joint(domain, epsilon=20.0)
    Path("design.json").write_text(design.to_json(), encoding="utf-8")
    codes = np.random.default_rng(1).integers(0, 8, (10, 200))
    columns = {
        a.name: np.array(a.categories)[c] for a, c in zip(domain.attributes, codes, strict=True)
    }
    pyarrow.parquet.write_table(pa.table(columns), "reports.parquet")
    assert "200 reports" in done("tally reports.parquet -d design.json -o tally.json")
    found = answer("query tally.json -d design.json --method pairwise \"a == 'a1'\"")
    assert 0 <= found["low"] <= found["value"] <= found["high"] <= 200
    assert "debiased" in done("dependence tally.json -d design.json")
