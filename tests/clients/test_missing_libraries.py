"""What needs a library that is not installed says which one, and how it comes, before anything else fails or is fetched."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql.errors import Error

ROOT = Path(dpsql.__file__).parents[1]

POLICY = """
database: duckdb:people.duckdb
ledger: sqlite:people.ledger
privacy_unit: person.id
budget: {epsilon: 10, delta: 1e-6}
tables: {person: {columns: {id: {}, half: {values: [even, odd]}}}}
"""


@pytest.fixture
def cursor(tmp_path: Path) -> Iterator[dpsql.Cursor]:
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, half VARCHAR)")
        connection.execute(
            "INSERT INTO person SELECT i, CASE WHEN i % 2 = 0 THEN 'even' ELSE 'odd' END FROM range(500) t(i)"
        )
    (tmp_path / "policy.yaml").write_text(POLICY)
    with dpsql.connect(tmp_path / "policy.yaml") as connection:
        yield connection.execute("SELECT half, COUNT(*) FROM person GROUP BY half")


@pytest.mark.parametrize(
    ("library", "method", "hint"),
    [
        ("pandas", "df", "pip install pandas"),
        ("polars", "pl", "pip install polars"),
        ("matplotlib", "plot", "pip install '.[notebook]'"),
    ],
)
def test_a_method_names_its_library_and_fetches_nothing(
    cursor: dpsql.Cursor, library: str, method: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(Error, match=library) as missing:
        getattr(cursor, method)()
    assert missing.value.sqlstate == "0A000"
    assert hint in missing.value.hint
    assert len(cursor.fetchall()) == 2


@pytest.mark.parametrize("started", ["import dpsql.interfaces.sqlalchemy", "import dpsql, dpsql.interfaces.sqlalchemy"])
def test_the_dialect_names_sqlalchemy(started: str) -> None:
    blocked = f"import sys; sys.modules['sqlalchemy'] = None; {started}"
    done = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True)
    assert "dpsql's dialect needs SQLAlchemy; in a clone of dpsql: pip install '.[sqlalchemy]'" in done.stderr


def test_spark_names_its_client_even_where_no_server_listens() -> None:
    asked = """
import sys
sys.modules["pyspark"] = None
from dpsql.engines.spark.spark_session import connect
connect("sc://127.0.0.1:1")
"""
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
    assert "Spark's client is not installed" in done.stderr


def test_no_text_installs_dpsql_from_an_index() -> None:
    """Whatever stands there under this name is not this."""
    texts = [*ROOT.glob("*.md"), *filter(Path.is_file, (ROOT / "docker").rglob("*"))]
    for folder in ("dpsql", "rewriter", "examples"):
        texts += [path for path in (ROOT / folder).rglob("*") if path.suffix in {".md", ".py", ".ipynb"}]
    wrong = {path.name for path in texts if re.search(r"pip install [\\\"']*dpsql", path.read_text())}
    assert wrong <= {"CHANGELOG.md"}, wrong
