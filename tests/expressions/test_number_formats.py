"""TO_CHAR of numbers: what PostgreSQL prints, letter by letter, for many formats and numbers, on DuckDB."""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import Decimal

import duckdb
import pytest
from sqlglot import exp

from rewriter.declared.types import decimal
from rewriter.dialects import DUCKDB, format_of
from tests.engines.postgres_server import shared_server

_WORDS = (
    "9 999 9999 0999 0009 9990 FM999 FM0999 FM9990 000 FM000 999.99 999D99 FM999.99 FM990.00 990.00 FM990.99 990.09 "
    "FM990.09 0.00 FM0.00 9.9 FM9.9 99. FM99. 9,999 9G999 FM9,999 9,999,999.99 FM9,999,999.99 FM9,999,990.00 0,000,000 "
    "FM0,000,000.0 9,990 S999 999S FMS999 FM999S MI999 999MI FM999MI FMMI999.9 SG999 999SG FM999SG 999PR FM999PR "
    "999.99PR 9,999.9PR S9,999.90 MI9,999.90 $999 FM$999,999 FM990.0% 999.0 FM999.0 9999999999 FM9999999999.999 S0.0 "
    "9,9,9 999.90 FM999.90 FM9.90 (999) FM(999) FM9.99999 FM0.99999 0.9 09.9 FM09.9 0,9 90,9 9,0 9,90.0"
)
FORMATS = [*_WORDS.split(), "999 %", '990D0"%"', '"n="999', 'FM"n = "999,999', " 999", "FM 999"]
NUMBERS = [
    *(Decimal(n) for n in "0 1 -1 .5 -.5 .4 -.4 .05 -.004 5 12 999 -999 1000 999.5 999.995 -999.995 1234.5".split()),
    *(Decimal(n) for n in "-1234567.891 1000000000 .1 10.10 100 2.5 3.5 -2.5 .125 -.00005 99.95 9.995".split()),
]


def _printed(written: str, values: Sequence[Decimal], *, exact: bool) -> list[str]:
    pattern = format_of(written)
    assert pattern is not None, written
    column: exp.Expr = exp.column("x")
    if exact:
        column = DUCKDB.cast(column, decimal(38, len(pattern.decimals)))
    sql = DUCKDB.sql(DUCKDB.format_number(column, pattern, exact=exact))
    kind = "DECIMAL(20, 5)" if exact else "DOUBLE"
    listed = ", ".join(f"({value})::{kind}" for value in values)
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT {sql} FROM (SELECT UNNEST([{listed}]) AS x)").fetchall()
    return [row[0] for row in rows]


@pytest.mark.parametrize("exact", [True, False])
def test_a_number_is_printed_as_postgres_prints_it(*, exact: bool) -> None:
    chance = random.Random(3)
    drawn = [chance.choice((1, -1)) * chance.randrange(10 ** chance.randrange(1, 10)) for _ in range(40)]
    values = [*NUMBERS, *(Decimal(n).scaleb(-chance.randrange(5)) for n in drawn)]
    server, kind = shared_server(), "numeric(20, 5)" if exact else "float8"
    asked = ", ".join(f"to_char(({value})::{kind}, %s)" for value in values)
    with server.owner(server.database("SELECT 1")) as connection:
        for written in FORMATS:
            pattern = format_of(written)
            assert pattern is not None
            told = connection.execute(f"SELECT {asked}", [written] * len(values)).fetchone()  # type: ignore[arg-type]
            again = connection.execute(f"SELECT {asked}", [pattern.written] * len(values)).fetchone()  # type: ignore[arg-type]
            assert told == again, written
            assert _printed(written, values, exact=exact) == list(told or ()), written


@pytest.mark.parametrize(
    "written", ["", "abc", "999th", "99V9", "9.9EEEE", "RN", "L999", "9S9", "99/99", "9,", "S9S", "D"]
)
def test_what_is_not_understood_as_a_whole_is_no_format(written: str) -> None:
    assert format_of(written) is None
