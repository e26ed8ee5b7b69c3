"""A total expression means what its text means: the engine's own answer where it has one, and PostgreSQL's."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Iterator
from decimal import Decimal
from typing import ClassVar

import duckdb
import pytest

from rewriter.declared.types import Scalar
from rewriter.dialects.duckdb import DUCKDB
from rewriter.expressions.compile import compile_expression
from rewriter.expressions.value import Value
from rewriter.refused import Refused
from tests.default_run import thinned
from tests.properties.total_rows import CLIENT, COLUMNS, Grammar, Table, parse


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    with Table() as opened:
        yield opened


class Both(Grammar):
    """Expressions that DuckDB reads as PostgreSQL does."""

    templates: ClassVar[dict[str, list[str]]] = {
        "number": [
            *(f"(<number> {sign} <number>)" for sign in "+-*%+-*"),
            "(- <number>)",
            "ABS(<number>)",
            "COALESCE(<number>, <number>)",
            "GREATEST(<number>, <number>)",
            "LEAST(<number>, <number>)",
            "CASE WHEN <truth> THEN <number> ELSE <number> END",
            "CASE WHEN <truth> THEN <number> END",
            "(<number>)::bigint",
            "LENGTH(<text>)",
            "(d - e)",
            "(<truth>)::integer",
        ],
        "text": [
            "UPPER(<text>)",
            "(<text> || <text>)",
            "REPLACE(<text>, <text>, 'z')",
            "LEFT(<text>, <small>)",
            "RIGHT(<text>, <small>)",
            "REVERSE(<text>)",
            "TRIM(<text>)",
            "CASE WHEN <truth> THEN <text> ELSE <text> END",
        ],
        "truth": [
            *(f"(<number> {sign} <number>)" for sign in ("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM")),
            *(f"(<text> {sign} <text>)" for sign in ("=", "<", ">=", "IS NOT DISTINCT FROM")),
            "(d <= e)",
            "(<truth> AND <truth>)",
            "(<truth> OR <truth>)",
            "(NOT <truth>)",
            "(<number> BETWEEN <number> AND <number>)",
            "(<number> IN (1, <number>))",
            "(<truth> IS NOT TRUE)",
        ],
    }
    leaves: ClassVar[dict[str, list[str]]] = {
        "number": ["s", "i", "b", "s", "i", "x", "m", "1", "7", "-3", "1000000", "0.25"],
        "text": ["t", "u", "'ab'", "''"],
        "truth": ["f", "TRUE", "x IS NULL", "i > 0", "d >= '2020-01-01'", "t IN ('a', 'é%')"],
    }

    def expression(self) -> str:
        return self.some(self.chance.choice(["number", "number", "text", "truth"]))


def raw(table: Table, text: str) -> list[tuple[bool, Scalar | None]]:
    """The engine's own answer per row of clean columns: (it did not raise, result)."""
    columns = ", ".join(
        f"{CLIENT.column(parse(name)).sql.sql('duckdb')} AS {name}"  # type: ignore[arg-type]
        for name in COLUMNS
    )
    table.connection.execute(
        f"CREATE OR REPLACE TEMP TABLE clean AS SELECT row_number() OVER () AS id, {columns} FROM wild AS r"
    )
    found: list[tuple[bool, Scalar | None]] = []
    count = table.connection.execute("SELECT COUNT(*) FROM clean").fetchone()
    assert count is not None
    for number in range(1, count[0] + 1):
        try:
            row = table.connection.execute(f"SELECT {text} FROM clean WHERE id = {number}").fetchone()
        except duckdb.Error:
            found.append((False, None))
        else:
            assert row is not None
            found.append((True, row[0]))
    return found


def close(ours: Scalar | None, theirs: Scalar | None) -> bool:
    if isinstance(theirs, float) and not math.isfinite(theirs):
        return ours is None  # PostgreSQL raises
    if ours is None or theirs is None or isinstance(ours, str | bool | datetime.date):
        return ours == theirs
    return math.isclose(float(ours), float(theirs), rel_tol=1e-9, abs_tol=1e-12)  # type: ignore[arg-type]


def steady(value: Value) -> bool:
    """Whether doubles are absent, whose comparison could hinge on the last digit."""
    text = value.sql.sql("duckdb")
    return "DOUBLE" not in text and "e0" not in text


@pytest.mark.parametrize("seed", thinned(range(6), 2))
def test_the_engine_gives_the_same_where_it_gives_an_answer(seed: int, table: Table) -> None:
    grammar = Both(random.Random(seed), depth=2)
    compared = 0
    for _ in range(25):
        text = grammar.expression()
        try:
            value = compile_expression(parse(text), CLIENT, DUCKDB)
        except Refused:
            continue
        if not steady(value):
            continue
        ours = table.run(value.sql)
        for mine, (answered, theirs) in zip(ours, raw(table, text), strict=True):
            if answered:
                compared += 1
                assert close(mine, theirs), (text, mine, theirs)
    assert compared > 300


NULL = None
POSTGRES: list[tuple[str, Scalar | None]] = [
    ("7 / 2", 3),
    ("-7 / 2", -3),
    ("7 / -2", -3),
    ("-7 % 2", -1),
    ("7 % -2", 1),
    ("-7.5 % 2", Decimal("-1.5")),
    ("7 / 2.0", 3.5),
    ("1 / 0", NULL),
    ("1 % 0", NULL),
    ("1 / (1e308 * 10)", NULL),
    ("7 % (1e308 * 10)", NULL),
    ("SIGN(1e308 * 10)", NULL),
    ("EXP(-1e308 * 10)", NULL),
    ("ATAN(1e308 * 10)", NULL),
    ("1e308 * 10 > 5", NULL),
    ("COALESCE(1e308 * 10, 3)", 3.0),
    ("MOD(-7, 3)", -1),
    ("DIV(-7, 2)", Decimal(-3)),
    ("2147483647 + 1", 2147483648),
    ("-2147483648 / -1", 2147483648),
    ("2 ^ 10", 1024.0),
    ("2 ^ 3 ^ 2", 64.0),
    ("-2 ^ 2", 4.0),
    ("1 - 2 - 3", -4),
    ("1 - (2 - 3)", 2),
    ("2 * (3 + 4)", 14),
    ("8 / (4 / 2)", 4),
    ("8 / 4 / 2", 1),
    ("- (-5)", 5),
    ("NOT (TRUE AND FALSE)", True),
    ("2.5::integer", 3),
    ("-2.5::integer", -3),
    ("2.5::double precision::integer", 2),
    ("3.5::double precision::integer", 4),
    ("(-2.5)::double precision::integer", -2),
    ("1e10::integer", NULL),
    ("ROUND(2.5)", Decimal(3)),
    ("ROUND(2.5::double precision)", 2.0),
    ("ROUND(25 / 10.0)", 3.0),
    ("ROUND(-COALESCE(NULL, 25) / 10.0)", -3.0),
    ("ROUND(5 / COALESCE(NULL, 2.0) * 1)", 3.0),
    ("ROUND(CASE WHEN TRUE THEN 5 / 2.0 ELSE 1 END)", 3.0),
    ("ROUND(5 / 2.0::double precision)", 2.0),
    ("ROUND((5 / 2.0)::double precision)", 2.0),
    ("ROUND(2.5::double precision::numeric)", 3.0),
    ("ROUND(25e-1)", 3.0),
    ("ROUND(EXTRACT(EPOCH FROM TIMESTAMP '2026-01-01 00:05:00' - TIMESTAMP '2026-01-01') / 600)", 1.0),
    ("(EXTRACT(EPOCH FROM INTERVAL '5 minutes') / 600)::integer", 1),
    ("ROUND(EXTRACT(EPOCH FROM TIMESTAMP '1970-01-01 00:05:00') / 600)", 1.0),
    ("ROUND(EXTRACT(EPOCH FROM TIME '00:05:00') / 600)", 1.0),
    ("ROUND(EXTRACT(MINUTE FROM TIMESTAMP '2026-01-01 00:30:00') / 60)", 1.0),
    ("ROUND(DATE_PART('epoch', TIMESTAMP '2026-01-01 00:05:00' - TIMESTAMP '2026-01-01') / 600)", 0.0),
    ("ROUND(DATE_PART('minute', TIMESTAMP '2026-01-01 00:30:00') / 60)", 0.0),
    ("(DATE_PART('minute', TIMESTAMP '2026-01-01 00:30:00') / 60)::integer", 0),
    ("(25 / 10.0)::integer", 3),
    ("(COALESCE(NULL, 4.5) / -1)::integer", -5),
    ("FLOOR(1.2 / 0.1)", 12.0),
    ("FLOOR(COALESCE(NULL, 1.2) / COALESCE(NULL, 0.1))", 12.0),
    ("CEIL(COALESCE(NULL, 9.21) / 0.01)", 921.0),
    ("ROUND(2.345, 2)", Decimal("2.35")),
    ("ROUND(1250, -2)", Decimal(1300)),
    ("ROUND(7, -3)", Decimal(0)),
    ("ROUND(5, -1)", Decimal(10)),
    ("TRUNC(NULL::integer, -2)", NULL),
    ("TRUNC((NULL::boolean)::integer, -2)", NULL),
    ("ROUND(NULLIF(5, 5), -12)", NULL),
    ("TRUNC(-2.567, 1)", Decimal("-2.5")),
    ("FLOOR(-0.5)", Decimal(-1)),
    ("SIGN(-3)", Decimal(-1)),
    ("SQRT(-1)", NULL),
    ("LN(0)", NULL),
    ("LOG(100)", 2.0),
    ("LOG(2, 8)", 3.0),
    ("LOG10(1000)", 3.0),
    ("EXP(1000)", NULL),
    ("POWER(0, -1)", NULL),
    ("'a' || NULL", NULL),
    ("CONCAT('a', NULL, 1, TRUE)", "a1t"),
    ("CONCAT_WS(',', 'a', NULL, 'b')", "a,b"),
    ("'a' || 1.50", "a1.50"),
    ("TRUE || 'x'", "truex"),
    ("TRUE::text", "true"),
    ("1e0::text", "1"),
    ("0.1e0::text", "0.1"),
    ("SUBSTRING('hello' FROM 2 FOR 3)", "ell"),
    ("SUBSTRING('hello' FROM 0 FOR 3)", "he"),
    ("SUBSTRING('hello' FROM -1)", "hello"),
    ("SUBSTRING('hello' FROM -2 FOR 4)", "h"),
    ("SUBSTRING('hello' FOR 2)", "he"),
    ("LEFT('hello', -2)", "hel"),
    ("RIGHT('hello', -2)", "llo"),
    ("LPAD('5', 3, '0')", "005"),
    ("LPAD('12345', 3, '0')", "123"),
    ("RPAD('a', 3)", "a  "),
    ("REPEAT('ab', 2)", "abab"),
    ("SPLIT_PART('a,b,c', ',', 2)", "b"),
    ("SPLIT_PART('a,b,c', ',', 5)", ""),
    ("SPLIT_PART('a,b,c', ',', -1)", "c"),
    ("SPLIT_PART(NULL, ',', 1)", NULL),
    ("POSITION('l' IN 'hello')", 3),
    ("STRPOS('hello', 'z')", 0),
    ("TRIM('  a ')", "a"),
    ("TRIM(LEADING 'x' FROM 'xxaxx')", "axx"),
    ("LENGTH('é')", 1),
    ("OCTET_LENGTH('é')", 2),
    ("BIT_LENGTH('é')", 16),
    ("INITCAP('o''NEIL the 2nd, von_der-ECK')", "O'Neil The 2nd, Von_Der-Eck"),
    ("INITCAP('')", ""),
    ("MD5('abc')", "900150983cd24fb0d6963f7d28e17f72"),
    ("CHR(233)", "é"),
    ("CHR(0)", NULL),
    ("CHR(55296)", NULL),
    ("SUBSTRING('foobar' FROM 'o(.)b')", "o"),
    ("SUBSTRING('foobar' FROM 'o.b')", "oob"),
    ("SUBSTRING('foobar' FROM 'x.b')", NULL),
    ("SUBSTRING(E'a\nb' FROM 'a(.)b')", "\n"),
    ("SUBSTRING('foobar', 'b(x*)')", ""),
    ("SUBSTRING('foobar' FROM POSITION('o' IN 'foobar') + 1 FOR 2)", "ob"),
    ("SUBSTRING('foobar' FROM 1 - 3 FOR 4)", "f"),
    ("SUBSTRING('foobar' FROM 1 - 3 FOR 2)", ""),
    ("SUBSTRING('foobar' FROM 1 - 3)", "foobar"),
    ("SUBSTRING('foobar', 2 + 5)", ""),
    ("SUBSTRING('foobar', 2, 1 - 2)", NULL),
    ("SUBSTRING('foobar', NULL::integer, 2)", NULL),
    ("SUBSTRING('foobar', 1 - 3, NULL::integer)", NULL),
    ("SUBSTRING('foobar', 2147483646 + 1, 2147483646 + 1)", ""),
    ("LEFT('foobar', 1 - 3)", "foob"),
    ("LEFT('foobar', 1 - 9)", ""),
    ("LEFT('foobar', 9 - 2)", "foobar"),
    ("LEFT('foobar', NULL::integer)", NULL),
    ("LEFT('foobar', 3 - 3)", ""),
    ("RIGHT('foobar', 1 - 3)", "obar"),
    ("RIGHT('foobar', 1 - 9)", ""),
    ("RIGHT('foobar', 5 + 4)", "foobar"),
    ("RIGHT('foobar', 3 - 3)", ""),
    ("RIGHT('foobar', NULL::integer)", NULL),
    ("RIGHT('foobar', -2147483647 - 1)", ""),
    (r"REGEXP_REPLACE('https://www.a.org/b/c', '^https?://(?:www\.)?([^/]+)/.*$', '\1')", "a.org"),
    (r"REGEXP_REPLACE('foo bar', '(\w+) (\w+)', '\2 \1 \& \\')", "bar foo foo bar \\"),
    ("REGEXP_REPLACE('banana', 'a', 'o')", "bonana"),
    ("REGEXP_REPLACE('bAnana', 'a', 'o', 'gi')", "bonono"),
    (r"REGEXP_REPLACE('ba', 'a', '\\o')", "b\\o"),
    ("REGEXP_REPLACE('a-b-c', '-', '', 'g')", "abc"),
    ("REGEXP_REPLACE('', '^$', 'none')", "none"),
    ("REGEXP_COUNT('a1b22', '[0-9]+')", 2),
    ("6 & 3", 2),
    ("6 | 3", 7),
    ("6 # 3", 5),
    ("-6 & 3", 2),
    ("~6", -7),
    ("1 << 4", 16),
    ("-5 >> 1", -3),
    ("GCD(12, -18)", 6),
    ("LCM(4, 6)", 12),
    ("GCD(0, 0)", 0),
    ("SINH(1)", 1.1752011936438014),
    ("ACOSH(0.5)", NULL),
    ("ATANH(0.5)", 0.5493061443340548),
    ("MAKE_TIMESTAMP(2024, 2, 29, 1, 2, 3.5)", datetime.datetime(2024, 2, 29, 1, 2, 3, 500000)),
    ("MAKE_TIMESTAMP(2023, 2, 29, 1, 2, 3.5)", NULL),
    ("MAKE_TIMESTAMP(2023, 2, 28, 25, 2, 3.5)", NULL),
    ("MAKE_TIMESTAMP(23, 12, 1, 0, 0, 9)", datetime.datetime(23, 12, 1, 0, 0, 9)),
    ("TO_TIMESTAMP(1685600000.25) AT TIME ZONE 'UTC'", datetime.datetime(2023, 6, 1, 6, 13, 20, 250000)),
    ("TO_TIMESTAMP(-1) AT TIME ZONE 'UTC'", datetime.datetime(1969, 12, 31, 23, 59, 59)),
    ("TO_TIMESTAMP(1e15) AT TIME ZONE 'UTC'", NULL),
    ("'50%' LIKE '50\\%'", True),
    ("'50x' LIKE '50\\%'", False),
    ("'50%' LIKE '50!%' ESCAPE '!'", True),
    ("'ABC' ILIKE 'a_c'", True),
    ("'abc' NOT LIKE 'a%'", False),
    ("'abc' ~ 'b'", True),
    ("'ABC' ~* 'b'", True),
    ("'ABC' !~ 'b'", True),
    ("E'a\\nb' ~ 'a.b'", True),
    ("' 12 '::integer", 12),
    ("'yes'::boolean", True),
    ("'12.5'::numeric(5,1)", Decimal("12.5")),
    ("DATE '2020-03-31' - INTERVAL '1 month'", datetime.datetime(2020, 2, 29)),
    ("DATE '2020-01-31' + INTERVAL '1 month'", datetime.datetime(2020, 2, 29)),
    ("DATE '2020-01-31' + 1", datetime.date(2020, 2, 1)),
    ("DATE '2020-03-01' - DATE '2020-02-01'", 29),
    ("TIMESTAMP '2020-01-01 10:00' + INTERVAL '90 minutes'", datetime.datetime(2020, 1, 1, 11, 30)),
    ("DATE_TRUNC('week', DATE '2020-05-15')", datetime.datetime(2020, 5, 11)),
    ("DATE_TRUNC('quarter', DATE '2020-05-15')", datetime.datetime(2020, 4, 1)),
    ("DATE_TRUNC('decade', DATE '2025-05-15')", datetime.datetime(2020, 1, 1)),
    ("EXTRACT(DOW FROM DATE '2020-01-05')", Decimal(0)),
    ("EXTRACT(ISODOW FROM DATE '2020-01-05')", Decimal(7)),
    ("EXTRACT(WEEK FROM DATE '2021-01-01')", Decimal(53)),
    ("EXTRACT(ISOYEAR FROM DATE '2021-01-01')", Decimal(2020)),
    ("EXTRACT(CENTURY FROM DATE '2000-12-31')", Decimal(20)),
    ("EXTRACT(MILLENNIUM FROM DATE '2001-01-01')", Decimal(3)),
    ("EXTRACT(DECADE FROM DATE '2019-01-01')", Decimal(201)),
    ("EXTRACT(SECOND FROM TIMESTAMP '2020-01-01 10:00:01.5')", Decimal("1.5")),
    ("EXTRACT(EPOCH FROM DATE '1970-01-02')", 86400.0),
    ("EXTRACT(EPOCH FROM TIMESTAMP '2020-01-02' - TIMESTAMP '2020-01-01 12:00')", 43200.0),
    ("EXTRACT(MONTH FROM DATE '2020-04-01') / 3", 4 / 3),
    ("MAKE_DATE(2020, 2, 29)", datetime.date(2020, 2, 29)),
    ("MAKE_DATE(2021, 2, 29)", NULL),
    ("TO_CHAR(DATE '2020-01-05', 'YYYY-MM')", "2020-01"),
    ("WIDTH_BUCKET(5.35, 0.024, 10.06, 5)", 3),
    ("WIDTH_BUCKET(10, 0, 10, 5)", 6),
    ("WIDTH_BUCKET(-1, 0, 10, 5)", 0),
    ("GREATEST(1, NULL, 3)", 3),
    ("LEAST(2, NULL)", 2),
    ("COALESCE(NULL, 2.5, 1)", Decimal("2.5")),
    ("NULLIF(1, 1)", NULL),
    ("NULLIF(1, 2)", 1),
    ("CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", "b"),
    ("CASE WHEN NULL THEN 1 ELSE 2 END", 2),
    ("NULL = NULL", NULL),
    ("NULL IS NOT DISTINCT FROM NULL", True),
    ("1 IN (2, NULL)", NULL),
    ("5 BETWEEN SYMMETRIC 10 AND 1", True),
    ("NULL IS NOT TRUE", True),
    ("1 = '1'", True),
    ("DATE '2020-01-01' = TIMESTAMP '2020-01-01 00:00'", True),
    ("0.1 + 0.2 = 0.3", True),
    ("0.1::float8 + 0.2::float8 = 0.3::float8", False),
    ("9007199254740993 = 9007199254740992", False),
]


@pytest.mark.parametrize(("text", "expected"), POSTGRES)
def test_it_means_what_postgresql_means(text: str, expected: Scalar | None, table: Table) -> None:
    """Expected values are those of PostgreSQL 15, but NULL where it raises, and wider where its integers overflow."""
    result = table.run(compile_expression(parse(text), CLIENT, DUCKDB).sql)[0]
    if isinstance(expected, float):
        assert result == pytest.approx(expected)
        assert isinstance(result, float)
    else:
        assert result == expected
        assert type(result) is type(expected)
