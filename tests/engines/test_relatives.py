"""What speaks PostgreSQL's protocol says what it is, and several hosts are one database."""

from __future__ import annotations

import pytest

from dpsql.engines.postgres.postgres_engine import PostgresEngine
from dpsql.engines.postgres.relatives import RELATIVES, relative
from dpsql.engines.schema import Schema, SchemaColumn, SchemaTable
from dpsql.errors import OperationalError
from dpsql.policy.declared_catalog import fit
from dpsql.policy.policy import Policy
from rewriter.declared.types import BIGINT
from tests.engines.postgres_server import shared_server
from tests.engines.spark_server import free_port
from tests.engines.test_files import plan

# As each of them has it in its documentation.
VERSIONS = {
    "PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2 20041017, Redshift 1.0.58558": "Redshift",
    "PostgreSQL 12.12 (Greenplum Database 7.0.0 build commit:0a7a3566873325aca1789ae6f818c80f17a9402d)": "Greenplum",
    "PostgreSQL 14.4 (Apache Cloudberry 2.0.0-incubating build 1) on x86_64-pc-linux-gnu": "Cloudberry",
    "CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/15 21:28:29, go1.22.2)": "CockroachDB",
    "PostgreSQL 13.14.0-RisingWave-2.0.1 (0f9783e1d9d2fc4b4ce5b4d6e2ef6ca4d3d39d5d)": "RisingWave",
    "PostgreSQL 15.12-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 17.0.6": "YugabyteDB",
    "PostgreSQL 16.3 on x86_64-pc-linux-gnu, compiled by gcc (GCC) 7.3.1, 64-bit": None,
    "PostgreSQL 17.4 (Debian 17.4-1.pgdg120+2) on x86_64-pc-linux-gnu": None,
}


@pytest.mark.quick
@pytest.mark.parametrize(("version", "name"), VERSIONS.items())
def test_a_server_is_told_by_its_version(version: str, name: str | None) -> None:
    found = relative(version)
    assert (found.name if found else None) == name


@pytest.mark.quick
def test_citus_is_told_by_its_extension() -> None:
    found = relative("PostgreSQL 16.3", ["plpgsql", "citus", "citus_columnar"])
    assert found is not None
    assert not found.refused
    assert {one.name for one in RELATIVES if not one.refused} == {"Citus", "YugabyteDB"}


def test_a_relative_that_is_refused_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    server = shared_server()
    monkeypatch.setattr("dpsql.engines.postgres.postgres_connection.relative", lambda _: RELATIVES[0])
    with pytest.raises(OperationalError, match="this is Redshift: keys that it declares are not enforced"):
        PostgresEngine.open(server.url(server.database()))


def test_rows_without_an_identity_are_no_units() -> None:
    text = """
database: postgresql://h/x
ledger: sqlite:x.ledger
privacy_unit: row
budget: {epsilon: 1, delta: 1e-6}
tables: {visit: {columns: {cost: {range: [0, 9]}}}}
"""
    columns = {"cost": SchemaColumn("cost", "bigint", BIGINT)}
    for told_apart in (True, False):
        schema = Schema({"visit": SchemaTable("visit", columns, told_apart=told_apart)})
        said = [problem.message for problem in fit(Policy.parse(text), schema).errors]
        assert any("no identity" in one for one in said) is not told_apart


@pytest.mark.parametrize("wanted", ["any", "primary", "read-write"])
def test_the_first_host_that_will_do_is_asked(wanted: str) -> None:
    server = shared_server()
    name = server.database("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)")
    url = server.url(name).replace("@", f"@127.0.0.1:{free_port()},") + f"?target_session_attrs={wanted}"
    engine = PostgresEngine.open(url)
    assert engine.run(plan("SELECT COUNT(*) AS s0 FROM public.t")).statistics == {"s0": (1,)}
    engine.close()


def test_where_no_host_will_do_it_is_said_without_a_password() -> None:
    server = shared_server()
    url = server.url(server.database()) + "?target_session_attrs=standby"
    with pytest.raises(OperationalError) as caught:
        PostgresEngine.open(url)
    assert "open-sesame" not in str(caught.value)
