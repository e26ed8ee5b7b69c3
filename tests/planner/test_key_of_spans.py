"""Keys that are sums of intervals: one value in each interval, and none of these values before the first or behind the
last."""

from __future__ import annotations

import datetime
from itertools import pairwise

import duckdb
import pytest

from dpsql.engines.duckdb.duckdb_schema import read_schema
from dpsql.policy.declared_catalog import catalog
from dpsql.policy.policy import Policy
from rewriter.declared import measure
from rewriter.dialects.duckdb import DUCKDB
from rewriter.planner.intervals import key_of_spans
from rewriter.split.splitter import split
from rewriter.statement.parser import Select, parse

pytestmark = pytest.mark.quick

POLICY = """
database: duckdb:shop.duckdb
ledger: sqlite:shop.ledger
privacy_unit: person.id
budget: {{epsilon: 1, delta: 0}}
tables:
  person: {{columns: {{id: {{}}, day: {{range: [{low}, {high}]}}, moment: {{range: [{low}, {high}]}}, n: {{range: [0, 3]}}}}}}
"""
RANGES = [
    ("2025-03-05", "2025-03-20"),
    ("2024-02-20", "2024-04-10"),
    ("2024-12-20", "2025-01-20"),
    ("2020-12-28", "2021-01-03"),
    ("1999-12-31", "2001-01-01"),
    ("1996-06-01", "2004-05-05"),
]
READ = [
    "DATE_TRUNC('week', {})",
    "DATE_TRUNC('month', {})",
    "DATE_TRUNC('month', {})::text",
    "DATE_TRUNC('month', {}::date)",
    "DATE_TRUNC('year', DATE_TRUNC('month', {}))",
    "DATE_TRUNC('month', DATE_TRUNC('year', {}))",
    "DATE_TRUNC('week', DATE_TRUNC('month', {}))",
    "EXTRACT(YEAR FROM {})",
    "EXTRACT(YEAR FROM {})::text",
    "EXTRACT(YEAR FROM DATE_TRUNC('month', {}))",
    "EXTRACT(DECADE FROM {})",
    "TO_CHAR({}, 'YYYY-MM')",
    "TO_CHAR({}, 'YYYY')",
    "TO_CHAR({}, 'IYYY-IW')",
]
UNREAD = [
    "EXTRACT(CENTURY FROM {})",
    "EXTRACT(ISOYEAR FROM {})",
    "EXTRACT(MONTH FROM {})",
    "EXTRACT(YEAR FROM DATE_TRUNC('week', {}))",
    "DATE_TRUNC('month', DATE_TRUNC('week', {}))",
    "TO_CHAR(DATE_TRUNC('week', {}), 'YYYY-MM')",
    "TO_CHAR({}, 'IYYY')",
    "DATE_TRUNC('month', {})::time",
]


def found(key: str, low: str, high: str) -> tuple[list[datetime.datetime] | None, list[tuple[datetime.datetime, str]]]:
    """The cuts of a key, and its value at each noon and at both ends of each day for some years around the range."""
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, day DATE NOT NULL, moment TIMESTAMP NOT NULL, n INTEGER NOT NULL)"
        )
        connection.execute(
            "INSERT INTO person SELECT 3 * d + h, t::date, t, 0 FROM (SELECT d, h, TIMESTAMP '1985-01-01' + to_days(d::int)"
            " + to_microseconds(h * 43199999999 + h // 2) AS t FROM range(16000) AS d(d), range(3) AS h(h))"
        )
        known = catalog(Policy.parse(POLICY.format(low=low, high=high)), read_schema(connection), {}, {})
        statement = parse(f"SELECT {key} AS k, COUNT(*) FROM person GROUP BY 1")
        assert isinstance(statement, Select)
        (query,) = split(statement.tree, known, DUCKDB).groupings
        sql = query.keys[0].value.sql
        spans = key_of_spans(sql)
        if spans is None:
            return None, []
        asked = f"SELECT moment, ({DUCKDB.sql(sql)})::text FROM person AS {query.rows.args['from_'].this.alias_or_name}"
        rows = connection.execute(f"{asked} ORDER BY moment").fetchall()
    start = datetime.datetime(1970, 1, 1)
    zero = measure(start)
    return [start + datetime.timedelta(days=float(cut.at - zero)) for cut in spans.cuts], rows


@pytest.mark.spread
@pytest.mark.parametrize("column", ["day", "moment"])
@pytest.mark.parametrize("key", READ)
def test_each_interval_has_one_value_and_no_row_beyond_has_it(key: str, column: str) -> None:
    divided = 0
    for low, high in RANGES:
        cuts, rows = found(key.format(column), low, high)
        if cuts is None:
            continue
        divided += 1
        assert cuts[0] <= datetime.datetime.fromisoformat(low)
        assert datetime.datetime.fromisoformat(high) < cuts[-1]
        within = [{value for at, value in rows if begin <= at < end} for begin, end in pairwise(cuts)]
        assert all(len(some) == 1 for some in within), (low, high)
        beyond = {value for at, value in rows if not cuts[0] <= at < cuts[-1]}
        assert not beyond.intersection(*[set().union(*within)]), (low, high)
    assert divided >= 4


@pytest.mark.parametrize("column", ["day", "moment"])
@pytest.mark.parametrize("key", UNREAD)
def test_keys_whose_groups_rows_beyond_have_too_are_not_divided(key: str, column: str) -> None:
    assert all(found(key.format(column), low, high)[0] is None for low, high in RANGES)
