"""``dpsql randomize``: files in, files out, and no true value anywhere else."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpsql.errors import DataError
from dpsql.interfaces.commands.commands import main
from dpsql.policy import Policy
from dpsql.randomize import ColumnToRandomize, Secret, epsilon_of, randomize_file, rappor_of, values_of

ANSWERS = "id,smoker,note\n" + "".join(f'{at},{("yes", "no", "")[at % 3]},"a, {at}"\n' for at in range(300))


def test_a_csv_keeps_its_other_columns_and_rows(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text(ANSWERS)
    asked = ColumnToRandomize("smoker", ("yes", "no"), Fraction("0.5"))
    made = randomize_file(tmp_path / "answers.csv", tmp_path / "reports.csv", asked, Secret())
    assert (made.rows, made.missing) == (300, 100)
    before, after = (
        [line.split(",", 2) for line in (tmp_path / name).read_text().splitlines()]
        for name in ("answers.csv", "reports.csv")
    )
    assert [(one[0], one[2]) for one in before] == [(one[0], one[2]) for one in after]
    assert [one[1] == "" for one in before] == [one[1] == "" for one in after]
    assert any(one[1] != other[1] for one, other in zip(before, after, strict=True))


def test_a_parquet_file_keeps_its_types(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2, 3], "well": [True, None, False], "n": [1, 2, 1]})
    pq.write_table(table, tmp_path / "answers.parquet")
    asked = ColumnToRandomize("well", ("true", "false"), Fraction(1))
    made = randomize_file(tmp_path / "answers.parquet", tmp_path / "reports.parquet", asked, Secret())
    found = pq.read_table(tmp_path / "reports.parquet")
    assert made.law.values == (True, False)
    assert found.schema.equals(table.schema)
    assert found["id"] == table["id"]
    assert found["well"].is_null().to_pylist() == [False, True, False]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (ColumnToRandomize("smoker", ("yes", "perhaps"), Fraction(1)), "holds a value that is not among those named"),
        (ColumnToRandomize("smokes", ("yes", "no"), Fraction(1)), "there is no column smokes"),
        (ColumnToRandomize("smoker", ("yes", "yes"), Fraction(1)), "each named once"),
    ],
)
def test_an_error_names_no_value_and_leaves_no_file(tmp_path: Path, asked: ColumnToRandomize, said: str) -> None:
    (tmp_path / "answers.csv").write_text(ANSWERS.replace("yes", "secret"))
    with pytest.raises(DataError, match=said) as found:
        randomize_file(tmp_path / "answers.csv", tmp_path / "reports.csv", asked, Secret())
    assert "secret" not in str(found.value)
    assert not (tmp_path / "reports.csv").exists()


def test_another_value_counts_as_the_one_named(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text(ANSWERS)
    asked = ColumnToRandomize("smoker", ("no", "unknown"), Fraction(20), other="unknown")
    randomize_file(tmp_path / "answers.csv", tmp_path / "reports.csv", asked, Secret())
    found = [line.split(",")[1] for line in (tmp_path / "reports.csv").read_text().splitlines()[1:]]
    assert set(found) == {"no", "unknown", ""}
    assert found.count("unknown") == 100


def test_the_command_says_which_epsilon_and_the_policy_and_no_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "answers.csv", tmp_path / "reports.csv"
    source.write_text(ANSWERS)
    words = ["randomize", str(source), "--column", "smoker", "--values", "yes,no", "--output", str(target)]
    assert main([*words, "--response", "1.1"]) == 0
    said = capsys.readouterr()
    assert said.out == 'smoker: {values: ["yes", "no"], randomized: {response: 1.1}}\n'
    assert "300 rows, 100 of them without a report: randomized response of 2 values at ε = 1.1" in said.err
    assert main([*words, "--response", "1.1"]) == 1  # it is there already
    assert "is there already" in capsys.readouterr().err
    assert main([*words[:-1], str(tmp_path / "bits.csv"), "--rappor", "bits=16,cohorts=2"]) == 0
    assert "rappor: {bits: 16, hashes: 2, f: 0.5, p: 0.25, q: 0.75, cohorts: 2}" in capsys.readouterr().out
    reports = [line.split(",")[1] for line in (tmp_path / "bits.csv").read_text().splitlines()[1:]]
    assert {len(one) for one in reports} == {0, 18}
    for wrong in ("0", "x", "21"):
        assert main([*words[:-1], str(tmp_path / "c.csv"), "--response", wrong]) == 1


def test_who_randomizes_a_column_twice_is_warned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "answers.csv").write_text("id,smoker,drinker\n1,yes,no\n")

    def said(column: str, target: str) -> str:
        words = ["randomize", tmp_path / "answers.csv", "--column", column, "--values", "yes,no", "--response", "1"]
        assert main([*map(str, words), "--output", str(tmp_path / target)]) == 0
        return capsys.readouterr().err

    assert "Warning" not in said("smoker", "a.csv")
    assert "Warning" not in said("drinker", "b.csv"), "that is another column"
    assert f"Warning: reports of this column of the file were made before: {tmp_path / 'a.csv'}" in said("smoker", "c")
    assert str(tmp_path / "c") in said("smoker", "d.csv")
    notes = (tmp_path / "answers.csv.randomized").read_text()
    assert "yes" not in notes
    assert "no" not in notes.replace(str(tmp_path), "")


def _made(folder: Path, content: bytes, asked: ColumnToRandomize, name: str = "answers.csv") -> str:
    """The reports of a CSV file, or the words of the error."""
    target = folder / f"reports{Path(name).suffix}"
    target.unlink(missing_ok=True)
    (folder / name).write_bytes(content)
    try:
        randomize_file(folder / name, target, asked, Secret())
    except DataError as error:
        assert sorted(one.name for one in folder.iterdir() if one.suffix != ".randomized") == [name]
        return str(error)
    assert not list(folder.glob("*.partial"))
    return target.read_text(encoding="utf-8")


SURE = ColumnToRandomize("smoker", ("yes, I do", "nö", "日本"), Fraction(20))


def test_a_file_as_it_comes_is_read(tmp_path: Path) -> None:
    rows = 'id,smoker\n1,"yes, I do"\n2,nö\n3,\n4,日本\n'
    assert _made(tmp_path, rows.encode(), SURE) == rows
    assert _made(tmp_path, b"\xef\xbb\xbf" + rows.replace("\n", "\r\n").encode(), SURE) == rows
    assert _made(tmp_path, rows.replace("\n2", "\n\n2").encode(), SURE) == rows
    assert _made(tmp_path, b"id,smoker\n", SURE) == "id,smoker\n"
    assert _made(tmp_path, "smoker\nnö\n\n日本\n".encode(), SURE) == 'smoker\nnö\n""\n日本\n'
    tabs = "id\tsmoker\n1\tyes, I do\n2\t日本\n"
    assert _made(tmp_path, tabs.encode(), SURE, "answers.tsv") == tabs
    long = f"id,smoker,note\n1,nö,{'x' * 300_000}\n"
    assert _made(tmp_path, long.encode(), SURE) == long


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "there is no column smoker"),
        (b"Anna,yes\nOtto,no\n", "there is no column smoker"),
        (b"id;smoker\n1;yes\n", "there is no column smoker"),
        (b"smoker,smoker\nyes,no\n", "there are several columns smoker"),
        ("id,smoker\n1,nö\n".encode("latin-1"), "not UTF-8"),
        (b'id,smoker\n1,"yes" no\n', "not CSV"),
        (b"id,smoker\n1,yes,9\n", "row 2 has not as many fields"),
        (b"id,smoker\n1,NULL\n", "a value that is not among those named"),
        (b"id,smoker\n1, yes\n", "a value that is not among those named"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_quotes_nobody(tmp_path: Path, content: bytes, said: str) -> None:
    found = _made(tmp_path, content, ColumnToRandomize("smoker", ("yes", "no"), Fraction(1)))
    assert said in found
    assert not any(word in found.replace(" no ", " ") for word in ("Anna", "Otto", "nö", "1,", ";"))


def test_columns_of_parquet_keep_dictionaries_and_other_types_are_refused(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array(["x", None, "y"]).dictionary_encode(), "b": [1.0, 2.0, None], "c": [1, 2, None]})
    pq.write_table(table, source := tmp_path / "answers.parquet")
    randomize_file(source, made := tmp_path / "a.parquet", ColumnToRandomize("a", ("x", "y"), Fraction(20)), Secret())
    assert pq.read_table(made)["a"].to_pylist() == ["x", None, "y"]
    bits = ColumnToRandomize("c", ("1", "2"), rappor=rappor_of(("1", "2"), "bits=16"))
    randomize_file(source, made := tmp_path / "c.parquet", bits, Secret())
    assert [None if one is None else len(one) for one in pq.read_table(made)["c"].to_pylist()] == [18, 18, None]
    for column, values, said in (
        ("b", ("1", "2"), "a column of double is not randomized"),
        ("c", ("one", "2"), "whole numbers"),
        ("d", ("1", "2"), "there is no column d"),
    ):
        with pytest.raises(DataError, match=said):
            randomize_file(source, tmp_path / "no.parquet", ColumnToRandomize(column, values, Fraction(1)), Secret())
    (tmp_path / "no.parquet").write_bytes(b"PAR")
    with pytest.raises(DataError, match="not Parquet"):
        randomize_file(tmp_path / "no.parquet", tmp_path / "n.parquet", SURE, Secret())


def test_what_no_policy_could_read_is_not_made(tmp_path: Path) -> None:
    many = tuple(map(str, range(101)))
    assert "at most 100" in _made(tmp_path, b"id,smoker\n", ColumnToRandomize("smoker", many, Fraction(1)))
    for epsilon in ("0.0000001", "1e-3000", "1/3", "nan", "20.1"):
        with pytest.raises(DataError, match=r"is no ε from 0\.001 to 20"):
            epsilon_of(epsilon)
    for wrong in ("bits=257", "bits=0", "bits=8.5", "bits=8,cohorts=65", "bits=8,p=0,q=1,f=0", "bits=8,f=1/3"):
        with pytest.raises(DataError):
            rappor_of(("a", "b"), wrong)
    with pytest.raises(DataError, match="one line of CSV"):
        values_of('yes,"no')


def test_a_policy_reads_the_line_that_is_printed(tmp_path: Path) -> None:
    asked = ColumnToRandomize("how: is it", ("yes", "no, 'never'", "#7", "null", "ü"), epsilon_of("0.123456789012"))
    text = (
        "database: duckdb:x\nledger: sqlite:l\nprivacy_unit: t.id\nbudget: {epsilon: 1}\ntables:\n  t:\n    columns:\n"
        f"      id: {{}}\n      {asked.policy_line}\n"
    )
    (table,) = (Policy.parse(text).tables or {}).values()
    (column,) = [one for name, one in (table.columns or {}).items() if name == "how: is it"]
    assert tuple(map(str, column.values or ())) == asked.values
    assert column.randomized is not None
    assert column.randomized.response == asked.response
