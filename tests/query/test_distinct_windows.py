"""Windows of one person's rows are computed below DISTINCT, and no others are."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.doubles import open_without_noise
from tests.new_databases import new_database
from tests.query.person_and_rows import canonical_text
from tests.query.spellings import POLICY, SETUP

NUMBER = "COUNT(*) OVER (PARTITION BY k, pid)"


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT DISTINCT k, {NUMBER} AS n FROM v",
        f"SELECT DISTINCT k, {NUMBER} AS n FROM v ORDER BY n DESC, 1 LIMIT 5",
        "SELECT DISTINCT v.k, COUNT(*) OVER (PARTITION BY v.k, pid) + 1 AS n FROM v JOIN p ON p.id = v.pid WHERE c > 1",
    ],
)
def test_windows_of_a_person_are_computed_below_distinct(query: str) -> None:
    spelt = canonical_text(query)
    outer, inner = spelt.split("FROM (SELECT ", 1)
    assert "OVER" not in outer
    assert "OVER" in inner
    assert "DISTINCT" not in inner


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT k, COUNT(*) OVER (PARTITION BY k) AS n FROM v",
        f"SELECT DISTINCT ON (pid) k, {NUMBER} AS n FROM v ORDER BY pid, k",
        f"SELECT k, {NUMBER} AS n FROM v",
        "SELECT DISTINCT k, SUM(COUNT(*)) OVER (PARTITION BY pid) AS n FROM v GROUP BY k, pid",
        f"SELECT DISTINCT k, {NUMBER} AS n FROM v ORDER BY v.k",
        "SELECT DISTINCT k, COUNT(*) OVER (PARTITION BY pid) AS n, COUNT(*) OVER (PARTITION BY k) AS m FROM v",
    ],
)
def test_others_are_left(query: str) -> None:
    assert "FROM (SELECT" not in canonical_text(query)


ASKED = (
    "SELECT DISTINCT region, COUNT(*) OVER (PARTITION BY patient_id, region) AS n FROM visit ORDER BY 1, n",
    "SELECT DISTINCT COUNT(*) OVER (PARTITION BY patient_id) AS n FROM visit WHERE cost > 20 ORDER BY n",
    "WITH each AS (SELECT DISTINCT region, COUNT(*) OVER (PARTITION BY patient_id) AS n FROM visit) SELECT DISTINCT region,"
    " MAX(n) OVER (PARTITION BY region) AS most FROM each ORDER BY region",
    "SELECT DISTINCT region, COUNT(*) OVER w AS n FROM visit WINDOW w AS (PARTITION BY patient_id, region) ORDER BY 1, n",
)


def test_answers_are_those_of_plain_sql(tmp_path: Path) -> None:
    with new_database(tmp_path / "clinic.duckdb") as connection:
        connection.execute(SETUP)
    plain = duckdb.connect()
    plain.execute(SETUP)
    (tmp_path / "policy.yaml").write_text(POLICY)
    proxy = open_without_noise(tmp_path / "policy.yaml")
    try:
        session = proxy.session()
        for sql in ASKED:
            true = plain.execute(sql).fetchall()
            assert len(true) > 1
            assert [*map(tuple, session.execute(sql).rows)] == true, sql
    finally:
        proxy.close()
