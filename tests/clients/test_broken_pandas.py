"""A pandas that does not load: Arrow looks for it with the first array it makes, and no answer is lost by that."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpsql.errors import OperationalError
from dpsql.opened import open_policy
from tests.new_databases import new_database
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:people.duckdb; ledger: sqlite:ledger.sqlite; privacy_unit: person.id
budget: {epsilon: 10, delta: 1e-6}
tables:
  person: id, sex [F, M], age 0..100
  town: public
""")

PROGRAM = """
import warnings

warnings.simplefilter("error")
import dpsql

with dpsql.connect("policy.yaml") as connection:
    cursor = connection.cursor()
    cursor.execute("SELECT sex, LN(COUNT(*)) AS n, AVG(age) FROM person GROUP BY sex ORDER BY 2 * COUNT(*)")
    print(len(cursor.fetchall()))
    cursor.execute("SELECT COUNT(*) FROM person")
    try:
        cursor.df()
    except dpsql.NotSupportedError as refused:
        print(refused.sqlstate)
    print(len(cursor.fetchall()))
    cursor.execute("SELECT COUNT(*) FROM person")
    print(cursor.arrow().num_rows)
"""

BROKEN = {
    "made for another NumPy": 'raise ValueError("numpy.dtype size changed")',
    "half removed": "__version__ = '3.1.1'",
    "does not find its own": "raise ImportError('no pandas._libs')",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with new_database(tmp_path / "people.duckdb") as database:
        database.execute(
            "CREATE TABLE person AS SELECT i AS id, IF(i % 2 = 0, 'F', 'M') AS sex, 30 AS age FROM range(400) AS t(i)"
        )
        database.execute("CREATE TABLE town AS SELECT 'Ulm' AS name")
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


@pytest.mark.quick
@pytest.mark.parametrize("kind", BROKEN)
def test_a_pandas_that_does_not_load_costs_no_answer(folder: Path, kind: str) -> None:
    package = folder / "before" / "pandas"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(BROKEN[kind])
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.split() == ["2", "0A000", "1", "1"]


def test_where_arrow_itself_does_not_work_nothing_is_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(values: object) -> object:
        raise ValueError

    monkeypatch.chdir(folder)
    monkeypatch.setattr("dpsql.releases.arrow_types.pa.array", broken)
    with pytest.raises(OperationalError) as refused:
        open_policy("policy.yaml")
    assert (refused.value.sqlstate, "pyarrow does not work" in refused.value.message) == ("58000", True)
    assert not (folder / "ledger.sqlite").exists()
