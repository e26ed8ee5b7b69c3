"""Dates and times that a text computes of literals: they are literals, the ones that PostgreSQL computes."""

from __future__ import annotations

import datetime
from dataclasses import replace
from random import Random

import psycopg
import pytest
import sqlglot
from sqlglot import exp

from rewriter.declared.interval import Interval
from rewriter.declared.types import DATE, TIMESTAMP
from rewriter.dialects.duckdb import DUCKDB
from rewriter.expressions.build import Context, finite, is_literal, scalar_of
from rewriter.expressions.compile import _compile
from rewriter.expressions.constants import _NoColumns
from rewriter.expressions.value import Value
from rewriter.refused import Refused
from rewriter.statement.parser import Select, parse
from tests.engines.postgres_server import shared_server

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")
DAYS = ("2026-03-29", "2026-10-25", "2026-11-01", "2026-01-31", "2024-02-29", "2026-12-31", "0001-01-01", "9999-12-31")
TIMES = ("00:00:00", "01:30:00", "02:30:00", "03:00:00.5", "23:59:59.999999")
SPANS = ("1 day", "1 month", "30 days", "1 hour", "90 minutes", "13 months", "7 days 2 hours", "0.5 seconds")
UNITS = ("hour", "day", "week", "month", "quarter", "year", "minute", "decade", "century")


def compiled(text: str, zone: str = "UTC") -> Value:
    dialect = replace(DUCKDB, zone=zone)
    return finite(Context(_NoColumns(), dialect, _compile).compile(sqlglot.parse_one(text, read="postgres")), dialect)


def drawn(random: Random) -> str:
    """A moment, and up to three things done to it."""
    day, time = random.choice(DAYS), random.choice(TIMES)
    found = random.choice([f"TIMESTAMPTZ '{day} {time}+00'", f"TIMESTAMP '{day} {time}'", f"DATE '{day}'"])
    for _ in range(random.choice([1, 1, 2, 3])):
        found = random.choice(
            [
                f"({found} {random.choice('+-')} INTERVAL '{random.choice(SPANS)}')",
                f"DATE_TRUNC('{random.choice(UNITS)}', {found})",
                f"({found})::{random.choice(['date', 'timestamp', 'timestamptz'])}",
                f"(({found})::timestamp AT TIME ZONE '{random.choice(ZONES)}')",
                f"(({found})::date {random.choice('+-')} {random.choice([1, 30, 365])})",
                f"DATE_BIN('{random.choice(['15 minutes', '7 days'])}', ({found})::timestamp, TIMESTAMP '2001-01-01')",
            ]
        )
    return f"EXTRACT({random.choice(['year', 'isoyear'])} FROM {found})" if random.random() < 0.1 else found


def test_what_literals_come_to_is_what_postgresql_computes() -> None:
    server, random, compared = shared_server(), Random(4), 0
    with server.owner(server.database("SELECT 1")) as connection:
        connection.autocommit = True
        for _ in range(800):
            text, zone = drawn(random), random.choice(ZONES)
            try:
                value = compiled(text, zone)
            except Refused:
                continue
            if not is_literal(value):
                continue
            connection.execute(f"SET TIME ZONE '{zone}'".encode())
            try:
                (theirs,) = connection.execute(f"SELECT {text}".encode()).fetchone() or ()
            except (psycopg.DataError, psycopg.errors.DatetimeFieldOverflow):
                continue  # beyond the years of Python
            if isinstance(theirs, datetime.datetime) and theirs.tzinfo is not None:
                # DATE_TRUNC of a date is a local time here.
                theirs = theirs if value.type == TIMESTAMP else theirs.astimezone(datetime.UTC)
                theirs = theirs.replace(tzinfo=None)
            assert scalar_of(value) == theirs, f"{text} in {zone}"
            compared += 1
    assert compared > 600


@pytest.mark.parametrize(
    "text",
    [
        "CASE WHEN 1 = 2 THEN DATE '2026-01-01' END - 3",
        "NULLIF(DATE '2026-01-01', DATE '2026-01-01') + 1",
        "NULLIF(TIMESTAMP '2026-01-01', TIMESTAMP '2026-01-01') - INTERVAL '1 day'",
        "TO_TIMESTAMP(1e15)",
        "DATE '9999-12-31' + 1",
        "DATE '0001-01-01'::timestamp - INTERVAL '1 day'",
        "NULL::date - 3",
        "MAKE_DATE(2026, 2, 30)",
        "MAKE_DATE(2026, NULL, 3)",
    ],
)
def test_what_may_be_missing_is_no_moment(text: str) -> None:
    value = compiled(text)
    assert not is_literal(value) or scalar_of(value) is None
    assert value.nullable


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("TO_CHAR(day, 'YYYYMMDD')::int", 20240105, 20261123),
        ("CAST(CAST(TO_CHAR(day, 'YYYYMM') AS VARCHAR(30)) AS BIGINT)", 202401, 202611),
        ("TO_CHAR(day, 'yyyy')::int", 2024, 2026),
        ("CAST(TO_CHAR(day, 'YYYYMMDD') AS VARCHAR(4))::int", None, None),
        ("TO_CHAR(day, 'DDMMYYYY')::int", None, None),
        ("TO_CHAR(day, 'MM')::int", None, None),
    ],
)
def test_dates_that_are_printed_as_numbers_have_their_bounds(text: str, low: int | None, high: int | None) -> None:
    class Day(_NoColumns):
        def column(self, node: exp.Column) -> Value:
            range_ = Interval.of(datetime.date(2024, 1, 5), datetime.date(2026, 11, 23))
            return Value(exp.column("day"), DATE, range_, nullable=False, constant=False, domain=None)

    statement = parse(f"SELECT {text} FROM person")
    assert isinstance(statement, Select)
    value = Context(Day(), DUCKDB, _compile).compile(statement.tree.expressions[0])
    found = (None, None) if value.interval is None else (value.interval.low, value.interval.high)
    assert found == (low, high)
