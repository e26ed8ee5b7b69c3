"""Words that DuckDB has beside PostgreSQL's, as what they are in PostgreSQL's."""

from __future__ import annotations

import functools
import itertools

import duckdb
import pytest

from rewriter.refused import Refused
from rewriter.statement import parse, plain_functions
from tests.engines.postgres_server import shared_server


def plain(sql: str) -> str:
    return plain_functions(parse(sql).tree).sql("postgres")


@functools.cache
def engine() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def first_row(sql: str) -> tuple[object, ...]:
    """All rows are fetched: a connection with an unfinished result answers nothing else."""
    [row, *_] = engine().execute(sql).fetchall()
    return tuple(row)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        ("YEAR(d)", "YEAR"),
        ("quarter(d)", "QUARTER"),
        ("Month(d)", "MONTH"),
        ("WEEK(d)", "WEEK"),
        ("DAY(d)", "DAY"),
        ("DAYOFWEEK(d)", "DOW"),
        ("ISODOW(d)", "ISODOW"),
        ("DAYOFYEAR(d)", "DOY"),
        ("HOUR(d)", "HOUR"),
        ("MINUTE(d)", "MINUTE"),
    ],
)
def test_a_field_of_a_time_is_extracted(call: str, field: str) -> None:
    name = call.partition("(")[0].lower()
    assert plain(f"SELECT {call} AS y FROM t") == f"SELECT EXTRACT({field} FROM d) AS y FROM t"
    assert plain(f"SELECT {call} FROM t").endswith(f'EXTRACT({field} FROM d) AS "{name}" FROM t')


@pytest.mark.parametrize(
    ("by_all", "by_places"),
    [
        ("SELECT a, b + 1, COUNT(*) FROM t GROUP BY ALL", "SELECT a, b + 1, COUNT(*) FROM t GROUP BY 1, 2"),
        ("SELECT COUNT(*), a FROM t GROUP BY ALL ORDER BY 2", "SELECT COUNT(*), a FROM t GROUP BY 2 ORDER BY 2"),
        (
            "SELECT a, SUM(COUNT(*)) OVER (ORDER BY a), SUM(x) / COUNT(*) FROM t GROUP BY ALL",
            "SELECT a, SUM(COUNT(*)) OVER (ORDER BY a), SUM(x) / COUNT(*) FROM t GROUP BY 1",
        ),
        ("SELECT COUNT(*) FROM t GROUP BY ALL", "SELECT COUNT(*) FROM t"),
        (
            "SELECT MAX(n) FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY ALL) AS s",
            "SELECT MAX(n) FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY 1) AS s",
        ),
    ],
)
def test_group_by_all_is_by_every_item_without_an_aggregate(by_all: str, by_places: str) -> None:
    assert parse(by_all).tree == parse(by_places).tree


def test_all_is_no_column() -> None:
    with pytest.raises(Refused) as refused:
        parse("SELECT a FROM t GROUP BY")
    assert refused.value.hint == "name a column"


TIMES = ("2024-02-29", "2024-12-30", "2025-01-01", "2025-01-05", "2025-01-06", "2025-03-31", "2026-12-31", "1999-12-31")


@pytest.mark.parametrize("unit", ["day", "Month", "quarter", "YEAR"])
@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP"])
def test_a_difference_counts_the_borders_between(unit: str, kind: str) -> None:
    clock = " 23:59:59" if kind == "TIMESTAMP" else ""
    for one, other in itertools.product(TIMES, TIMES):
        asked = f"SELECT DATE_DIFF('{unit}', {kind} '{one}{clock}', {kind} '{other}') AS n"
        ours, theirs = (first_row(sql) for sql in (plain(asked), asked))
        assert ours == theirs, asked


def test_a_time_is_shown_as_by_duckdb() -> None:
    pattern = "%Y-%m-%d %y/%j %H:%M:%S %I%p, %b %B %a %A, Week %V of %G, %-d.%-m.%Y %-H:%-M:%-S %-I %-j (at %H o'clock)".replace(
        "'", "''"
    )
    for time in TIMES:
        asked = f"SELECT STRFTIME(TIMESTAMP '{time} 07:08:09', '{pattern}') AS t"
        (theirs,) = first_row(asked)
        with shared_server().owner("postgres") as connection:
            ((ours,),) = connection.execute(plain(asked)).fetchall()
        assert ours == theirs


@pytest.mark.parametrize("call", ["STRFTIME(d, '%c')", "STRFTIME(d, f)", "STRFTIME(d, '100%')"])
def test_what_is_not_understood_stays(call: str) -> None:
    assert "STRFTIME(" in plain(f"SELECT {call} FROM t").upper()


@pytest.mark.parametrize("call", ["DATE_DIFF('hour', a, b)", "DATEDIFF(a, b)", "DATEDIFF(day, a, b)"])
def test_other_differences_are_refused_with_what_works(call: str) -> None:
    with pytest.raises(Refused) as refused:
        plain(f"SELECT {call} FROM t")
    assert "DATE_DIFF('day', a, b)" in str(refused.value.hint)
