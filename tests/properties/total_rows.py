"""Adversarial rows of every type, a scope over them, and a generator of expressions."""

from __future__ import annotations

import datetime
import random
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from types import TracebackType

import duckdb
import sqlglot
from sqlglot import exp

from rewriter.declared.catalog import Column
from rewriter.declared.interval import Interval
from rewriter.declared.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INTEGER,
    SMALLINT,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Scalar,
    Type,
    decimal,
)
from rewriter.dialects.dialect import Dialect
from rewriter.dialects.duckdb import DUCKDB
from rewriter.expressions.compile import read_column
from rewriter.expressions.value import Value
from rewriter.refused import UNKNOWN_COLUMN, Refused
from rewriter.statement.words_apart import name_functions, told_apart

COLUMNS: dict[str, tuple[Type, str]] = {
    "s": (SMALLINT, "SMALLINT"),
    "i": (INTEGER, "INTEGER"),
    "b": (BIGINT, "BIGINT"),
    "h": (HUGEINT, "HUGEINT"),
    "m": (decimal(15, 2), "DECIMAL(15,2)"),
    "w": (decimal(38, 10), "DECIMAL(38,10)"),
    "n": (decimal(18, 0), "DECIMAL(18,0)"),
    "x": (DOUBLE, "DOUBLE"),
    "y": (DOUBLE, "FLOAT"),
    "t": (TEXT, "VARCHAR"),
    "u": (TEXT, "VARCHAR"),
    "f": (BOOLEAN, "BOOLEAN"),
    "d": (DATE, "DATE"),
    "e": (DATE, "DATE"),
    "p": (TIMESTAMP, "TIMESTAMP"),
    "q": (TIMESTAMPTZ, "TIMESTAMP WITH TIME ZONE"),
}

RANGES: dict[str, tuple[Scalar, Scalar]] = {
    "s": (-5, 100),
    "i": (-10, 90),
    "m": (Decimal("-20.5"), Decimal("1000")),
    "x": (0, 100),
    "y": (-1.5, 1.5),
    "d": (datetime.date(2020, 1, 1), datetime.date(2024, 12, 31)),
    "e": (datetime.date(1999, 2, 28), datetime.date(2000, 3, 1)),
    "p": (datetime.datetime(2020, 1, 1, 12), datetime.datetime(2021, 1, 31, 23, 59, 59)),
}

WILD: dict[str, list[str]] = {
    "s": ["0", "1", "-1", "7", "32767", "-32768"],
    "i": ["0", "1", "-1", "-7", "2147483647", "-2147483648", "2024"],
    "b": ["0", "1", "-1", "9223372036854775807", "-9223372036854775808", "12345678901"],
    "h": ["0", "-1", "170141183460469231731687303715884105727", "-170141183460469231731687303715884105728", "5"],
    "m": ["0", "0.01", "-0.01", "9999999999999.99", "-9999999999999.99", "2.5", "-2.5"],
    "w": ["0", "9999999999999999999999999999.9999999999", "-9999999999999999999999999999.9999999999", "0.5", "1"],
    "n": ["0", "999999999999999999", "-999999999999999999", "1"],
    "x": [
        "0",
        "'-0.0'",
        "'nan'",
        "'inf'",
        "'-inf'",
        "1.7976931348623157e308",
        "-1e308",
        "5e-324",
        "2.5",
        "-3.5",
        "0.1",
    ],
    "y": ["0", "'nan'", "'inf'", "'-inf'", "3.4e38", "1e-45", "1", "-0.5"],
    "t": ["''", "'a'", "' 12 '", "'1e400'", "'2020-02-30'", "'9999-12-31 23:59:59'", "'é%_\\'", "'a,b,,c'", "'yes'"],
    "u": ["''", "'%'", "'\\'", "'_\\%'", "'a'", "'x'", "'NaN'", "'-12.5'", "'0000-01-01'", "'99999999999999999999999'"],
    "f": ["TRUE", "FALSE"],
    "d": [
        "'0001-01-01'",
        "'9999-12-31'",
        "'infinity'",
        "'-infinity'",
        "'2020-02-29'",
        "'290000-01-01'",
        "'0009-06-01'",
    ],
    "e": ["'0001-01-01'", "'9999-12-31'", "'5877642-06-25 (BC)'", "'2000-12-31'", "'1969-12-31'"],
    "p": ["'0001-01-01'", "'9999-12-31 23:59:59.999999'", "'infinity'", "'-infinity'", "'2020-02-29 12:34:56.7'"],
    "q": ["'infinity'", "'294247-01-01'", "'2020-02-29 12:34:56+02'", "'0001-01-01 00:00:00+00'"],
}
_TAME: dict[str, list[str]] = {
    "s": ["-5", "0", "1", "100", "42"],
    "i": ["-10", "0", "1", "90", "13"],
    "m": ["-20.5", "1000", "0", "2.5", "99.99"],
    "x": ["0", "100", "2.5", "0.1", "99.99999999999999", "'-0.0'"],
    "y": ["-1.5", "1.5", "0", "0.1"],
    "d": ["'2020-01-01'", "'2024-12-31'", "'2020-02-29'", "'2021-07-04'"],
    "e": ["'1999-02-28'", "'2000-03-01'", "'2000-02-29'"],
    "p": ["'2020-01-01 12:00:00'", "'2021-01-31 23:59:59'", "'2020-02-29 00:00:00'", "'2020-12-31 10:30:15.123456'"],
}


class Rows:
    """The scope: every column as the base table gives it, with declared ranges or without."""

    def __init__(
        self,
        ranges: Mapping[str, tuple[Scalar, Scalar]] | None = None,
        guarded: bool = True,
        columns: Mapping[str, tuple[Type, str]] = COLUMNS,
        dialect: Dialect = DUCKDB,
    ) -> None:
        self.ranges = ranges or {}
        self.guarded = guarded
        self.columns = columns
        self.dialect = dialect

    def column(self, node: exp.Column) -> Value:
        if node.name not in self.columns:
            raise Refused(f"no column {node.name}", hint="there are others", sqlstate=UNKNOWN_COLUMN)
        type_, engine_type = self.columns[node.name]
        sql: exp.Expr = exp.column(node.name, "r")
        if self.guarded:
            sql = read_column(Column(node.name, type_, engine_type=engine_type), sql, self.dialect)
        declared = self.ranges.get(node.name)
        return replace(Value.unknown(sql, type_), interval=Interval.of(*declared) if declared else None)

    def membership(self, node: exp.In | exp.Exists) -> Value:
        raise Refused("no subqueries here", hint="none")


CLIENT = Rows()


class Table:
    """A DuckDB table of adversarial rows, and one of rows within :data:`RANGES`."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        self._fill("wild", WILD)
        self._fill("tame", {**WILD, **_TAME})

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.connection.close()

    def _fill(self, name: str, values: Mapping[str, list[str]]) -> None:
        chance = random.Random(7)
        columns = ", ".join(f"{column} {engine_type}" for column, (_, engine_type) in COLUMNS.items())
        self.connection.execute(f"CREATE TABLE {name} ({columns})")
        most = max(len(choices) for choices in values.values())
        rows = []
        for number in range(most):  # every value at least once
            rows.append([values[column][number % len(values[column])] for column in COLUMNS])
        rows += [[chance.choice([*values[column], "NULL"]) for column in COLUMNS] for _ in range(120)]
        rows.append(["NULL"] * len(COLUMNS))
        self.connection.execute(f"INSERT INTO {name} VALUES " + ", ".join(f"({', '.join(row)})" for row in rows))

    def run(self, sql: exp.Expr, tame: bool = False) -> list[Scalar | None]:
        """The expression on every row, as a projection and as it is used in a filter."""
        text = DUCKDB.sql(sql)
        table = "tame" if tame else "wild"
        rows = self.connection.execute(f"SELECT {text} FROM {table} AS r").fetchall()
        self.connection.execute(f"SELECT COUNT(*) FROM {table} AS r WHERE ({text}) IS NOT NULL").fetchall()
        return [row[0] for row in rows]


def parse(text: str) -> exp.Expr:
    """An expression, or a query that begins with SELECT or WITH, as an analyst's text has it."""
    if not any(word in text.lower() for word in ("to_char", "date_part")):
        return sqlglot.parse_one(text, read="postgres")
    is_query = text.lstrip().upper().startswith(("SELECT", "WITH"))
    wrapped = text if is_query else f"SELECT {text}"
    tree = sqlglot.parse_one(told_apart(wrapped, sqlglot.tokenize(wrapped, read="postgres")), read="postgres")
    name_functions(tree)  # type: ignore[arg-type]
    return tree if is_query else tree.expressions[0].pop()


TEMPLATES: dict[str, list[str]] = {
    "number": [
        *(f"(<number> {sign} <number>)" for sign in ("+", "-", "*", "/", "%", "+", "*", "/")),
        "(- <number>)",
        *(f"{name}(<number>)" for name in ("ABS", "SIGN", "FLOOR", "CEIL", "ROUND", "TRUNC", "SQRT", "LN", "EXP")),
        *(f"{name}(<number>)" for name in ("SIN", "ATAN", "CBRT", "ASIN", "DEGREES", "LOG", "COT")),
        "ROUND(<number>, <small>)",
        "TRUNC(<number>, <small>)",
        "POWER(<number>, <number>)",
        "POWER(<number>, 2)",
        "COALESCE(<number>, <number>)",
        "NULLIF(<number>, <number>)",
        "GREATEST(<number>, <number>)",
        "LEAST(<number>, <number>, 3)",
        "CASE WHEN <truth> THEN <number> ELSE <number> END",
        "CASE <number> WHEN 1 THEN <number> END",
        *(f"(<number>)::{name}" for name in ("integer", "bigint", "smallint", "numeric(10,2)", "real", "numeric")),
        "(<number>)::double precision",
        "(<text>)::integer",
        "(<text>)::double precision",
        "(<text>)::numeric(12,3)",
        "LENGTH(<text>)",
        "POSITION('a' IN <text>)",
        *(f"EXTRACT({unit} FROM <moment>)" for unit in ("YEAR", "MONTH", "EPOCH", "DOW", "DECADE", "WEEK")),
        "(<moment>::date - <moment>::date)",
        "EXTRACT(EPOCH FROM p - <moment>)",
        "WIDTH_BUCKET(<number>, 0, 10, 4)",
        "(<truth>)::integer",
        "DIV((<number>)::integer, (<number>)::integer)",
        *(f"((<number>)::integer {sign} (<number>)::bigint)" for sign in "&|#"),
        "(~ (<number>)::integer)",
        "((<number>)::integer << 5)",
        "((<number>)::bigint >> 3)",
        "GCD((<number>)::integer, (<number>)::bigint)",
        "OCTET_LENGTH(<text>)",
        "REGEXP_COUNT(<text>, '[0-9]')",
        "SINH(<number>)",
        "ACOSH(<number>)",
    ],
    "text": [
        *(f"{name}(<text>)" for name in ("UPPER", "LOWER", "REVERSE", "TRIM", "LTRIM", "RTRIM")),
        "(<text> || <text>)",
        "(t || <number>)",
        "CONCAT(<text>, <number>, <truth>, <moment>)",
        "LEFT(<text>, <small>)",
        "RIGHT(<text>, <small>)",
        "SUBSTRING(<text> FROM <small> FOR 2)",
        "REPLACE(<text>, <text>, 'z')",
        "SPLIT_PART(<text>, ',', 2)",
        "SPLIT_PART(<text>, ',', -1)",
        "LPAD(<text>, 4, 'ab')",
        "COALESCE(<text>, <text>)",
        "NULLIF(<text>, <text>)",
        "GREATEST(<text>, <text>)",
        "CASE WHEN <truth> THEN <text> ELSE <text> END",
        "(<number>)::text",
        "(<moment>)::text",
        "(<text>)::varchar(3)",
        "TO_CHAR(<moment>, 'YYYY-MM-DD')",
        "INITCAP(<text>)",
        "MD5(<text>)",
        "CHR((<number>)::integer)",
        "SUBSTRING(<text> FROM '[0-9]+')",
        "SUBSTRING(<text> FROM '^(.)')",
        "REGEXP_REPLACE(<text>, '[a-z]', 'zz', 'g')",
        r"REGEXP_REPLACE(<text>, '^(.)(.*)$', '\2\1')",
    ],
    "moment": [
        *(f"(<moment> + INTERVAL '{span}')" for span in ("1 month", "-3 months", "1 year 2 days", "2 hours")),
        *(f"(<moment> - INTERVAL '{span}')" for span in ("1 month", "40 days", "8000 years", "-1 week")),
        "((<moment>)::date + <days>)",
        "((<moment>)::date - (<number>)::integer)",
        *(f"DATE_TRUNC('{unit}', <moment>)" for unit in ("month", "week", "year", "decade", "hour", "quarter")),
        "(<moment>)::date",
        "(<moment>)::timestamp",
        "(<text>)::date",
        "(<text>)::timestamp",
        "COALESCE(<moment>, <moment>)",
        "LEAST(<moment>, <moment>)",
        "CASE WHEN <truth> THEN <moment> END",
        "MAKE_DATE(i, s, s)",
        "MAKE_TIMESTAMP(i, s, s, s, s, m)",
        "TO_TIMESTAMP(<number>)",
    ],
    "truth": [
        *(f"(<number> {sign} <number>)" for sign in ("=", "<>", "<", ">=", "IS DISTINCT FROM")),
        *(f"(<text> {sign} <text>)" for sign in ("=", "<", "IS NOT DISTINCT FROM")),
        *(f"(<moment> {sign} <moment>)" for sign in ("=", "<=", ">")),
        "(<truth> AND <truth>)",
        "(<truth> OR <truth>)",
        "(NOT <truth>)",
        "(<number> BETWEEN <number> AND <number>)",
        "(<number> BETWEEN SYMMETRIC <number> AND 5)",
        "(<number> IN (1, <number>, NULL))",
        "(<number> IS NOT NULL)",
        "(<truth> IS NOT TRUE)",
        "(<text> LIKE <text>)",
        "(<text> ILIKE 'a!%' ESCAPE '!')",
        "(<text> ~ '^[a-z]+,?')",
        "STARTS_WITH(<text>, 'a')",
        "(<text>)::boolean",
    ],
}
LEAVES: dict[str, list[str]] = {
    "number": [*"sibhmwnxysimx", "0", "1", "-1", "2", "10", "0.5", "1.25", "1e300", "100000000000", "NULL"],
    "text": ["t", "u", "t", "'a'", "''", "'12'", "'2020-02-29'", "'x%'", "NULL::text"],
    "moment": ["d", "e", "p", "q", "d", "p", "DATE '2020-02-29'", "TIMESTAMP '9999-12-31 12:00'"],
    "truth": ["f", "TRUE", "FALSE", "NULL", "i > 0", "t = 'a'", "d >= '2020-01-01'", "x IS NULL"],
}


class Grammar:
    """Random expressions, mostly well typed. A part is one of the templates, its own parts one level less deep."""

    templates = TEMPLATES
    leaves = LEAVES

    def __init__(self, chance: random.Random, depth: int = 3) -> None:
        self.chance = chance
        self.depth = depth

    def expression(self) -> str:
        return self.some(self.chance.choice(["number", "number", "text", "moment", "truth"]))

    def some(self, what: str, depth: int | None = None) -> str:
        depth = self.depth if depth is None else depth
        if depth <= 0 or (depth < self.depth and self.chance.random() < 0.15):
            return self.chance.choice(self.leaves[what])
        template = self.chance.choice(self.templates[what])
        return re.sub(r"<([a-z]+)>", lambda found: self._part(found.group(1), depth - 1), template)

    def _part(self, what: str, depth: int) -> str:
        if what == "small":
            return str(self.chance.randint(-3, 5))
        if what == "days":
            return str(self.chance.randint(-99_999, 99_999))
        return self.some(what, depth)
