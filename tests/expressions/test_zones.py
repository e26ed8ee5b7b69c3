"""An expression over instants means what it means in PostgreSQL, in the session's zone, on both engines."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator
from dataclasses import replace

import duckdb
import psycopg
import pytest
from sqlglot import exp

from rewriter.declared import time_zones as zones
from rewriter.declared.catalog import Column
from rewriter.declared.interval import Interval, measure
from rewriter.declared.types import DATE, TIMESTAMP, TIMESTAMPTZ, Kind
from rewriter.dialects.dialect import Dialect
from rewriter.dialects.duckdb import DUCKDB
from rewriter.dialects.local_days import zoned_days
from rewriter.dialects.postgres import POSTGRES
from rewriter.dialects.time_step import Period, TimeStep
from rewriter.expressions.compile import compile_expression, read_column
from rewriter.expressions.value import Value
from rewriter.refused import Refused
from tests.engines.postgres_server import shared_server
from tests.properties.total_rows import parse

PLACES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/Sao_Paulo", "-3"]

EXPRESSIONS = [
    "q",
    "q::date",
    # What literals alone decide is computed here and not in an engine.
    "TIMESTAMPTZ '2026-03-30 02:30+00' - INTERVAL '1 day'",
    "TIMESTAMPTZ '2026-10-24 23:30+00' + INTERVAL '1 month 1 day 3 hours'",
    "DATE_TRUNC('day', TIMESTAMPTZ '2026-03-29 22:30+00')",
    "DATE_TRUNC('hour', TIMESTAMPTZ '2026-10-25 00:40+00' + INTERVAL '1 hour')",
    "DATE_TRUNC('month', TIMESTAMPTZ '2026-03-31 20:30+00') - INTERVAL '1 month'",
    "DATE_TRUNC('quarter', TIMESTAMP '2026-03-31 05:00' - INTERVAL '1 month')",
    "DATE '2026-01-31' + INTERVAL '1 month'",
    "DATE '2026-03-01' - 1",
    "DATE_TRUNC('week', TIMESTAMP '0001-01-01')",
    "q::timestamp",
    "p::timestamptz",
    "d::timestamptz",
    "DATE_TRUNC('day', q)",
    "DATE_TRUNC('hour', q)",
    "DATE_TRUNC('minute', q)",
    "DATE_TRUNC('week', q)",
    "DATE_TRUNC('month', q)",
    "DATE_TRUNC('year', q)",
    "DATE_TRUNC('day', q, 'Asia/Tokyo')",
    "DATE_TRUNC('day', q AT TIME ZONE 'America/Lima')",
    "EXTRACT(HOUR FROM q)",
    "EXTRACT(DOW FROM q)",
    "EXTRACT(EPOCH FROM q)",
    "EXTRACT(EPOCH FROM q - p)",
    "EXTRACT(DAY FROM q AT TIME ZONE 'Pacific/Auckland')",
    "TO_CHAR(q, 'YYYY-MM-DD HH24:MI:SS')",
    "q AT TIME ZONE 'Europe/London'",
    "p AT TIME ZONE 'Europe/London'",
    "d AT TIME ZONE 'Europe/London'",
    "TIMEZONE('utc', q)",
    "q AT TIME ZONE 'EST'",
    "q AT TIME ZONE 'CET'",
    "p AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo'",
    "'2026-03-29 02:30' AT TIME ZONE 'Asia/Tokyo'",
    "q AT TIME ZONE INTERVAL '-3 hours'",
    "q::text",
    "LEFT(q::text, 13)",
    "q + INTERVAL '1 month'",
    "q + EXTRACT(DAY FROM d)::int * INTERVAL '1 month'",
    "q - (EXTRACT(DAY FROM d)::int - 20) * INTERVAL '1 year'",
    "p - EXTRACT(DAY FROM d)::int * INTERVAL '5 months'",
    "q + INTERVAL '1 day'",
    "q - INTERVAL '24 hours'",
    "q + INTERVAL '1 day' + INTERVAL '90 minutes'",
    "q < '2026-03-29 02:30'",
    "q >= '2026-10-25 02:30+01'",
    "q >= '2026-10-25 02:30 America/New_York'",
    "q BETWEEN '2026-03-29' AND '2026-10-25'",
    "q IN ('2026-03-29 01:00Z', '2026-10-25 00:00')",
    "q < DATE '2026-03-29'",
    "q < TIMESTAMP '2026-10-25 02:30'",
    "p < '2026-03-29 01:30Z'::timestamptz",
    "p >= '2026-07-01 12:00+02'::timestamptz",
    "d <= '2026-03-29 00:00Z'::timestamptz",
    "p <= q",
    "d < q",
    "GREATEST(q, p)",
    "COALESCE(q, '2026-01-01')",
    "CASE WHEN q < p THEN q ELSE d END",
]

_HOURS = [datetime.timedelta(minutes=minutes) for minutes in (-721, -60, -30, -1, 0, 29, 30, 59, 60, 90, 121, 800)]
_SET = [  # when clocks are set somewhere
    datetime.datetime(2026, 3, 29, 1), datetime.datetime(2026, 10, 25, 1), datetime.datetime(2026, 3, 8, 7),
    datetime.datetime(2026, 11, 1, 6), datetime.datetime(2026, 4, 4, 15), datetime.datetime(2026, 10, 3, 15, 30),
    datetime.datetime(2018, 11, 4, 3), datetime.datetime(2018, 2, 18, 2), datetime.datetime(2026, 1, 1),
    datetime.datetime(2045, 7, 1, 12), datetime.datetime(1995, 3, 26, 1),
]  # fmt: skip
MOMENTS = [at + away for at in _SET for away in _HOURS]
_TYPES = {"q": (TIMESTAMPTZ, "timestamp with time zone"), "p": (TIMESTAMP, "timestamp"), "d": (DATE, "date")}


class _Columns:
    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    def column(self, node: exp.Column) -> Value:
        type_, engine_type = _TYPES[node.name]
        engine_type = engine_type.upper() if self.dialect.name == "duckdb" else engine_type
        known = Column(node.name, type_, engine_type=engine_type)
        return Value.unknown(read_column(known, exp.column(node.name, "r"), self.dialect), type_)

    def membership(self, node: exp.In | exp.Exists) -> Value:
        raise Refused("no subqueries here", hint="none")


def compiled(text: str, dialect: Dialect, zone: str) -> Value:
    spoken = replace(dialect, zone=zone)
    return compile_expression(parse(text), _Columns(spoken), spoken)


@pytest.fixture(scope="module")
def postgres() -> Iterator[psycopg.Connection]:
    server = shared_server()
    with server.owner(server.database()) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("CREATE TABLE r (q timestamptz, p timestamp, d date)")
        with connection.cursor().copy("COPY r FROM STDIN") as copy:
            for row in rows():
                copy.write_row(row)
        yield connection


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("CREATE TABLE r (q timestamptz, p timestamp, d date)")
        texts = [", ".join("NULL" if cell is None else f"'{cell}'" for cell in row) for row in rows()]
        connection.execute("INSERT INTO r VALUES " + ", ".join(f"({text})" for text in texts))
        yield connection


def rows() -> Iterator[tuple[str | None, ...]]:
    for moment, other in zip(MOMENTS, itertools.cycle(MOMENTS[5:]), strict=False):
        yield f"{moment}+00", str(other), str(moment.date())
    yield None, None, None


@pytest.mark.parametrize("place", PLACES)
def test_an_expression_over_instants_is_postgresqls(
    place: str, postgres: psycopg.Connection, duck: duckdb.DuckDBPyConnection
) -> None:
    zone = zones.zone_of(place)
    assert zone is not None
    order = "ORDER BY r.q, r.p, r.d"
    for text in EXPRESSIONS:
        values = [compiled(text, dialect, zone) for dialect in (DUCKDB, POSTGRES)]
        postgres.execute(f"SET TimeZone = '{place}'")
        meant = f"({text})::timestamptz AT TIME ZONE 'UTC'" if values[0].type.kind is Kind.TIMESTAMPTZ else f"({text})"
        expected = postgres.execute(f"SELECT ({meant})::text FROM r {order}").fetchall()  # type: ignore[arg-type]
        postgres.execute("SET TimeZone = 'UTC'")
        found = postgres.execute(f"SELECT ({POSTGRES.sql(values[1].sql)})::text FROM r {order}").fetchall()  # type: ignore[arg-type]
        ours = duck.execute(f"SELECT ({DUCKDB.sql(values[0].sql)})::text FROM r {order} NULLS LAST").fetchall()
        assert [row[0] for row in found] == [_plain(row[0]) for row in expected] or _numbers(found, expected), text
        assert [row[0] for row in ours] == [_plain(row[0]) for row in expected] or _numbers(ours, expected), text


def _plain(text: str | None) -> str | None:
    return {"t": "true", "f": "false"}.get(text, text) if text is not None else None


def _numbers(found: list[tuple[str | None, ...]], expected: list[tuple[str | None, ...]]) -> bool:
    """Whether they are the same numbers, in other digits."""
    try:
        pairs = [(one[0] and float(one[0]), other[0] and float(other[0])) for one, other in zip(found, expected)]  # noqa: B905
    except ValueError:
        return False
    return all(one == other for one, other in pairs)


@pytest.mark.parametrize("zone", [place for place in PLACES if "/" in place])
def test_rules_of_a_zone_are_those_of_postgresql(zone: str, postgres: psycopg.Connection) -> None:
    for moment in MOMENTS:
        there, back = postgres.execute(
            "SELECT (%(at)s AT TIME ZONE 'UTC') AT TIME ZONE %(zone)s, (%(at)s AT TIME ZONE %(zone)s) AT TIME ZONE 'UTC'",
            {"at": moment, "zone": zone},
        ).fetchone() or (None, None)
        assert (zones.local(moment, zone), zones.instant(moment, zone)) == (there, back), (moment, zone)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"])
@pytest.mark.parametrize("period", [Period.DAY, Period.HOUR])
def test_listed_days_and_hours_are_those_that_instants_have(
    zone: str, period: Period, duck: duckdb.DuckDBPyConnection
) -> None:
    bounds = datetime.datetime(2026, 3, 20, 5, 17), datetime.datetime(2026, 11, 9, 22, 40)
    listed = zoned_days(bounds, TimeStep(period).by(zone))
    assert listed is not None
    dialect = replace(DUCKDB, zone=zone)
    scope = _Columns(dialect)
    tree = parse(f"DATE_TRUNC('{'day' if period == Period.DAY else 'hour'}', q)")
    begins = compile_expression(tree, scope, dialect).sql
    for part in list(begins.find_all(exp.Column)):
        part.set("table", exp.to_identifier("z"))
    text = dialect.sql(begins)
    every = (
        "SELECT timezone('UTC', n) AS q FROM generate_series(TIMESTAMP '{}', TIMESTAMP '{}', INTERVAL 1 MINUTE) g(n)"
    )
    wanted = duck.execute(f"SELECT DISTINCT {text} FROM ({every.format(*bounds)}) z").fetchall()
    made = duck.execute(
        f"SELECT DISTINCT {text} FROM (SELECT timezone('UTC', x) AS q FROM ({listed.query(dialect).sql('duckdb')})) z"
    )
    assert {row[0] for row in made.fetchall()} == {row[0] for row in wanted}
    assert len(wanted) <= listed.size


@pytest.mark.quick
def test_no_instant_leaves_the_calendar(duck: duckdb.DuckDBPyConnection) -> None:
    """Also at its ends, where another zone has another year."""
    ends = [
        "0001-01-01 00:00:00+00",
        "0001-01-02 00:00:00+00",
        "9999-12-30 00:00:00+00",
        "9999-12-31 23:59:59.999999+00",
    ]
    duck.execute("CREATE OR REPLACE TABLE ends (q timestamptz, p timestamp, d date)")
    for end in [*ends, "infinity", "-infinity", "290000-01-01 00:00:00+00"]:
        duck.execute(f"INSERT INTO ends VALUES (TIMESTAMPTZ '{end}', timezone('UTC', TIMESTAMPTZ '{end}'), NULL)")
    first, last = datetime.datetime(1, 1, 1), datetime.datetime.max
    for zone, text in itertools.product(["America/New_York", "Asia/Kolkata"], EXPRESSIONS):
        sql = DUCKDB.sql(compiled(text, DUCKDB, zone).sql)
        kind = compiled(text, DUCKDB, zone).type.kind
        for (found,) in duck.execute(f"SELECT {sql} FROM ends r").fetchall():
            assert kind not in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ) or found is None or first <= found <= last


@pytest.mark.parametrize("text", ["q::date", "q::timestamp", "DATE_TRUNC('month', q)", "q + INTERVAL '1 month'"])
def test_a_declared_range_goes_where_its_instants_go(text: str, duck: duckdb.DuckDBPyConnection) -> None:
    zone, dialect = "America/New_York", replace(DUCKDB, zone="America/New_York")
    inside = [moment for moment in MOMENTS if moment.year == 2026]

    class Declared(_Columns):
        def column(self, node: exp.Column) -> Value:
            return replace(
                Value.unknown(exp.column("q", "r"), TIMESTAMPTZ), interval=Interval.of(min(inside), max(inside))
            )

    value = compile_expression(parse(text), Declared(dialect), dialect)
    assert value.interval is not None, zone
    plain = "(SELECT timezone('UTC', q) AS q FROM r WHERE q BETWEEN TIMESTAMPTZ '{}+00' AND TIMESTAMPTZ '{}+00')"
    source = plain.format(min(inside), max(inside))
    for (found,) in duck.execute(f"SELECT {dialect.sql(value.sql)} FROM {source} r").fetchall():
        assert value.interval.low <= measure(found) <= value.interval.high


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("q AT TIME ZONE 'Mars/Base'", "22023"),
        ("q AT TIME ZONE t", "0A000"),
        ("q AT TIME ZONE '+02'", "22023"),
        ("q < '2026-01-01 Mars/Base'", "22007"),
        ("1 AT TIME ZONE 'UTC'", "42883"),
        ("DATE_TRUNC('day', p, 'UTC')", "42883"),
        ("q < '0001-01-01 00:00+14'", "22008"),
        ("q AT TIME ZONE INTERVAL '90 minutes'", "22023"),
    ],
)
def test_what_is_no_zone_is_refused(text: str, state: str) -> None:
    with pytest.raises(Refused) as refused:
        compiled(text, DUCKDB, "Europe/Berlin")
    assert refused.value.sqlstate == state
