"""Adversarial rows of every type, a scope over them, and a generator of expressions."""

from __future__ import annotations

import datetime
import random
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
    if "to_char" not in text.lower():
        return sqlglot.parse_one(text, read="postgres")
    is_query = text.lstrip().upper().startswith(("SELECT", "WITH"))
    wrapped = text if is_query else f"SELECT {text}"
    tree = sqlglot.parse_one(told_apart(wrapped, sqlglot.tokenize(wrapped, read="postgres")), read="postgres")
    name_functions(tree)  # type: ignore[arg-type]
    return tree if is_query else tree.expressions[0].pop()
