"""``dpsql randomize``: files in, files out, and no true value anywhere else."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpsql.errors import DataError
from dpsql.interfaces.commands.commands import main
from dpsql.randomize import ColumnToRandomize, Secret, randomize_file

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
    assert said.out == "smoker: {values: [yes, no], randomized: {response: 1.1}}\n"
    assert "300 rows, 100 of them without a report: randomized response of 2 values at ε = 1.1" in said.err
    assert main([*words, "--response", "1.1"]) == 1  # it is there already
    assert "is there already" in capsys.readouterr().err
    assert main([*words[:-1], str(tmp_path / "bits.csv"), "--rappor", "bits=16,cohorts=2"]) == 0
    assert "rappor: {bits: 16, hashes: 2, f: 0.5, p: 0.25, q: 0.75, cohorts: 2}" in capsys.readouterr().out
    reports = [line.split(",")[1] for line in (tmp_path / "bits.csv").read_text().splitlines()[1:]]
    assert {len(one) for one in reports} == {0, 18}
    for wrong in ("0", "x", "21"):
        assert main([*words[:-1], str(tmp_path / "c.csv"), "--response", wrong]) == 1
