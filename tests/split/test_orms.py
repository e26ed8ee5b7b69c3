"""What object-relational mappers write around subqueries: answered as plain SQL means it, or refused where no row is an answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dpsql.errors import Error
from dpsql.interfaces.commands.demo_clinic import DATABASE, POLICY, build
from dpsql.proxy import Proxy, Session
from tests.doubles import open_without_noise


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("orms")
    build(found)
    return found


@pytest.fixture(scope="module")
def proxy(folder: Path) -> Iterator[Proxy]:
    opened = open_without_noise(folder / POLICY)
    yield opened
    opened.close()


@pytest.fixture
def ana(proxy: Proxy) -> Session:
    return proxy.session("ana")


@pytest.fixture(scope="module")
def data(folder: Path, proxy: Proxy) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(f"ATTACH '{folder / DATABASE}' AS clinic (READ_ONLY)")
    connection.execute("USE clinic")
    return connection


EXISTS = (
    'SELECT COUNT(*) AS "__count" FROM "patient" WHERE {}EXISTS(SELECT 1 AS "a" FROM "visit" U0 WHERE '
    '(U0."patient_id" = ("patient"."id") AND U0."reason" = \'surgery\') {})'
)
OF_EACH = (
    'SELECT SUM("t"), COUNT("t") FROM (SELECT (SELECT {} AS "s" FROM "visit" U0 WHERE U0."patient_id" = ("patient"."id") '
    'AND U0."reason" = \'surgery\' {}) AS "t" FROM "patient") subquery'
)
GROUPED = 'GROUP BY U0."patient_id"'


@pytest.mark.parametrize("limit", ["", "LIMIT 1", "LIMIT 21", "FETCH FIRST 1 ROWS ONLY", 'ORDER BY U0."day" LIMIT 1'])
@pytest.mark.parametrize("negated", ["", "NOT "])
def test_a_limit_within_exists_changes_nothing(
    ana: Session, data: duckdb.DuckDBPyConnection, negated: str, limit: str
) -> None:
    true = data.execute(EXISTS.format(negated, "")).fetchall()
    assert ana.execute(EXISTS.format(negated, limit)).rows == tuple(true)


@pytest.mark.parametrize("limit", ["LIMIT 0", "LIMIT 1 OFFSET 1"])
def test_a_limit_that_takes_rows_away_is_refused(ana: Session, limit: str) -> None:
    with pytest.raises(Error, match="LIMIT"):
        ana.execute(EXISTS.format("", limit))


@pytest.mark.parametrize("item", ["COUNT(*)", 'SUM(LEAST(U0."cost", 400))'])
@pytest.mark.parametrize("group", ["", GROUPED])
def test_a_subquery_for_one_value_may_be_grouped_by_what_ties_it(
    ana: Session, data: duckdb.DuckDBPyConnection, item: str, group: str
) -> None:
    """Without a row a COUNT is 0, and NULL with GROUP BY."""
    sql = OF_EACH.format(item, group)
    (row,), (true,) = ana.execute(sql).rows, data.execute(sql).fetchall()
    assert [float(str(value)) for value in row] == pytest.approx([float(value) for value in true], rel=0.002)


def test_a_subquery_for_one_value_of_another_group_is_refused(ana: Session) -> None:
    with pytest.raises(Error):
        ana.execute(OF_EACH.format("COUNT(*)", 'GROUP BY U0."day"'))


@pytest.mark.parametrize("item", ["1 AS one", "1", "TRUE AS a, 'x'"])
def test_a_row_of_nothing_is_no_preview(ana: Session, item: str) -> None:
    """Rails and Django ask so whether there is a row: an empty answer would say that there is none."""
    with pytest.raises(Error, match="asks whether there is a row") as refused:
        ana.execute(f"SELECT {item} FROM patient WHERE sex = 'F' LIMIT 1")
    assert "SELECT COUNT(*)" in (refused.value.hint or "")


@pytest.mark.parametrize("item", ["1", "*"])
def test_whether_anybody_exists_is_asked_by_counting(ana: Session, item: str) -> None:
    with pytest.raises(Error, match="rows of people") as refused:
        ana.execute(f"SELECT EXISTS (SELECT {item} FROM patient WHERE sex = 'F')")
    assert "SELECT COUNT(*) > 10" in (refused.value.hint or "")
    assert ana.execute("SELECT COUNT(*) > 10 FROM patient WHERE sex = 'F'").rows == ((True,),)


def test_times_that_are_made_of_numbers_are_literals(ana: Session) -> None:
    made = "MAKE_TIMESTAMP(CAST(2025 AS INT), CAST(1 AS INT), 6, 0, 0, 0)"
    sql = "SELECT DATE_BIN(INTERVAL '7 DAY', day::timestamp, {}) AS k, COUNT(*) FROM visit GROUP BY 1 ORDER BY 1"
    assert ana.execute(sql.format(made)).rows == ana.execute(sql.format("TIMESTAMP '2025-01-06'")).rows


@pytest.mark.parametrize("parts", ["2025, 2, 30, 0, 0, 0", "2025, 1, 1, 0, 0, 0.5", "0, 1, 1, 0, 0, 0"])
def test_what_no_time_is_stays(ana: Session, parts: str) -> None:
    with pytest.raises(Error):
        ana.execute(
            f"SELECT DATE_BIN(INTERVAL '7 DAY', day::timestamp, MAKE_TIMESTAMP({parts})), COUNT(*) FROM visit GROUP BY 1"
        )
