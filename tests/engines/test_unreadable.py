"""A table that cannot be read is found before anything is charged for it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.engines.postgres.postgres_engine import PostgresEngine
from dpsql.errors import OperationalError
from dpsql.interfaces.commands.commands import main
from dpsql.opened import open_policy
from tests.engines.postgres_server import shared_server
from tests.policies import policy_text

FILES, CHANGED = "it reads files", "it does not work any more"
VIEWS = {
    "of_parquet": FILES,
    "of_csv": FILES,
    "of_a_view_of_files": FILES,
    "of_a_dropped_column": CHANGED,
    "of_a_dropped_table": CHANGED,
    "of_another_type": CHANGED,
    "of_a_table": None,
    "elsewhere": None,
}

POLICY = policy_text("""
database: {database}; ledger: sqlite:{name}.ledger; privacy_unit: {name}.id; budget: {epsilon: 2, delta: 1e-6}
statement: {epsilon: 0.1, max_epsilon: 1}
tables:
  {name}(max_rows: 3): id, amount 0..100
""")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("views")
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        for name in ("sales", "narrowed", "dropped", "retyped"):
            connection.execute(f"CREATE TABLE {name} AS SELECT i AS id, i * 1.5 AS amount FROM range(50) t(i)")
        connection.execute(f"COPY sales TO '{folder}/sales.parquet'; COPY sales TO '{folder}/sales.csv' (HEADER)")
        connection.execute(f"CREATE VIEW of_parquet AS FROM '{folder}/sales.parquet'")
        connection.execute(f"CREATE VIEW of_csv AS FROM read_csv('{folder}/sales.csv')")
        connection.execute("CREATE VIEW of_a_view_of_files AS SELECT * FROM of_parquet WHERE id > 3")
        connection.execute("CREATE VIEW of_a_table AS SELECT * FROM sales")
        connection.execute("CREATE VIEW of_a_dropped_column AS SELECT id, amount FROM narrowed")
        connection.execute(
            "CREATE VIEW of_a_dropped_table AS FROM dropped; CREATE VIEW of_another_type AS FROM retyped"
        )
        connection.execute("ALTER TABLE narrowed DROP COLUMN amount; DROP TABLE dropped")
        connection.execute("ALTER TABLE retyped ALTER amount TYPE VARCHAR")
        connection.execute("CREATE SCHEMA back; CREATE TABLE back.elsewhere AS FROM sales")
    return folder


@pytest.mark.quick
@pytest.mark.parametrize(("name", "problem"), VIEWS.items())
def test_a_view_that_fails_is_found_by_check_and_keeps_the_policy_closed(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, problem: str | None
) -> None:
    path = folder / f"{name}.yaml"
    path.write_text(POLICY.format(database="duckdb:shop.duckdb", name=name))
    failed = main(["check", str(path)])
    said = capsys.readouterr().out
    if problem is None:
        assert not failed
        open_policy(path).close()
        return
    assert failed
    assert f"error: tables.{name}: {problem}" in said
    with pytest.raises(OperationalError) as caught:
        open_policy(path)
    assert problem in caught.value.message
    assert str(folder) not in caught.value.message
    assert not (folder / f"{name}.ledger").exists(), "no ledger is begun for what is not served"


def test_a_column_that_is_not_declared_may_fail(folder: Path) -> None:
    engine = DuckDBEngine.open(folder / "shop.duckdb")
    assert engine.unreadable({"of_another_type": ["id"]}) == ()
    assert [one.table for one in engine.unreadable({"of_another_type": ["id", "amount"], "sales": ["id"]})] == [
        "of_another_type"
    ]
    engine.close()


def test_what_postgresql_lists_and_does_not_read_is_found(tmp_path: Path) -> None:
    server = shared_server()
    name = server.database(
        "CREATE TABLE sales (id integer, amount numeric(8, 2)); CREATE VIEW shown AS SELECT * FROM sales;"
        "CREATE MATERIALIZED VIEW later AS SELECT * FROM sales WITH NO DATA; CREATE VIEW revoked AS SELECT * FROM sales;"
        "CREATE ROLE clerk; GRANT CREATE, USAGE ON SCHEMA public TO clerk; ALTER VIEW revoked OWNER TO clerk"
    )
    engine = PostgresEngine.open(server.url(name))
    columns = dict.fromkeys(("sales", "shown", "later", "revoked"), ("id", "amount"))
    found = {one.table: one.text for one in engine.unreadable(columns)}
    assert found.keys() == {"later", "revoked"}
    assert "REFRESH" in found["later"]
    assert "GRANT SELECT" in found["revoked"]
    assert engine.schema().tables.keys() >= columns.keys(), "the catalog alone does not tell"
    engine.close()
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY.format(database=server.url(name), name="revoked"))
    path.chmod(0o600)
    with pytest.raises(OperationalError) as caught:
        open_policy(path)
    assert "tables.revoked: dpsql's role may not read" in caught.value.message
