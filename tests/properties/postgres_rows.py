"""The adversarial rows of :mod:`total_rows` in PostgreSQL, and the same rows in DuckDB, expression by expression."""

from __future__ import annotations

import random
from types import TracebackType

import duckdb
import psycopg
from sqlglot import exp

from rewriter.declared.types import DOUBLE, Scalar, Type
from rewriter.dialects.duckdb import DUCKDB
from rewriter.dialects.postgres import POSTGRES
from tests.engines.postgres_server import shared_server
from tests.properties.total_rows import COLUMNS, WILD, Rows

TYPES = {"HUGEINT": "NUMERIC(39,0)", "DOUBLE": "DOUBLE PRECISION", "FLOAT": "REAL", "VARCHAR": "TEXT"}
IN_POSTGRES: dict[str, tuple[Type, str]] = {
    name: (type_, TYPES.get(engine_type, engine_type).lower().replace("decimal", "numeric"))
    for name, (type_, engine_type) in COLUMNS.items()
} | {"z": (DOUBLE, "numeric")}
IN_DUCKDB = COLUMNS | {"z": (DOUBLE, "DOUBLE")}

_OTHERWISE = {"'5877642-06-25 (BC)'": "'4713-01-01 BC'"}
"""What DuckDB holds and PostgreSQL does not, and what stands in for it there: both lie outside of the calendar."""

_MORE: dict[str, list[tuple[str, str]]] = {
    "m": [("'NaN'", "NULL")],
    "w": [("'NaN'", "NULL")],
    "z": [
        ("'NaN'", "'nan'"),
        ("'Infinity'", "'inf'"),
        ("'-Infinity'", "'-inf'"),
        ("1e400", "'inf'"),
        ("-1e400", "'-inf'"),
        ("1e-400", "0"),
        ("1.7976931348623157e308", "1.7976931348623157e308"),
        ("0.1", "0.1"),
        ("-2.5", "-2.5"),
        ("0", "0"),
    ],
}
"""By column, what PostgreSQL alone holds, with what DuckDB's expression should see in its place."""

EXTREME = {"'-0.0'", "1.7976931348623157e308", "-1e308", "5e-324", "1e400", "-1e400", "1e-400"}
"""Doubles with which PostgreSQL's arithmetic gives NULL, or 0 for what is below 1e-136 and for -0.0."""

GUARDED = Rows(columns=IN_POSTGRES, dialect=POSTGRES)
"""The columns as the rewriter reads them in PostgreSQL; :data:`SAME` as it reads the same rows in DuckDB."""
SAME = Rows(columns=IN_DUCKDB, dialect=DUCKDB)


class Twins:
    """One table of adversarial rows, in PostgreSQL and in DuckDB, in the same order."""

    def __init__(self) -> None:
        server = shared_server()
        with server.owner() as owner:
            owner.execute("DROP DATABASE IF EXISTS twins")
            owner.execute("CREATE DATABASE twins TEMPLATE template0 LOCALE 'C.UTF-8'")
        self.postgres = psycopg.connect(server.process.dsn("twins"), autocommit=True)
        for name, value in (("TimeZone", "UTC"), ("DateStyle", "ISO"), ("extra_float_digits", "1")):
            self.postgres.execute(f"SET {name} = '{value}'")  # type: ignore[arg-type]
        self.duckdb = duckdb.connect(config={"threads": 1})
        self.duckdb.execute("SET TimeZone = 'UTC'")
        pairs = _pairs()
        self.rows = rows = _rows(pairs)
        self.moderate = [not EXTREME & {ours for ours, _ in row} for row in rows]
        for place, (connection, columns) in enumerate(((self.postgres, IN_POSTGRES), (self.duckdb, IN_DUCKDB))):
            declared = ", ".join(f"{name} {engine_type}" for name, (_, engine_type) in columns.items())
            connection.execute(f"CREATE TABLE wild (id INTEGER, {declared})")  # type: ignore[attr-defined]
            values = ", ".join(f"({n}, {', '.join(cell[place] for cell in row)})" for n, row in enumerate(rows))
            connection.execute(f"INSERT INTO wild VALUES {values}")  # type: ignore[attr-defined]
        self.postgres.execute("ANALYZE wild")

    def __enter__(self) -> Twins:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.postgres.close()
        self.duckdb.close()

    def in_postgres(self, sql: exp.Expr) -> list[Scalar | None]:
        """The expression on every row: as a projection, in a filter, as a key, and over a subquery pulled up."""
        text = POSTGRES.sql(sql)
        query = f"SELECT {text} FROM wild AS r ORDER BY id"
        rows = self.postgres.execute(query).fetchall()  # type: ignore[arg-type]
        filtered = f"SELECT COUNT(*) FROM wild AS r WHERE ({text}) IS NOT NULL"
        assert self.postgres.execute(filtered).fetchone() == (sum(row[0] is not None for row in rows),)  # type: ignore[arg-type]
        grouped = f"SELECT k, COUNT(*) FROM (SELECT {text} AS k FROM wild AS r) AS s GROUP BY k ORDER BY k"
        self.postgres.execute(grouped).fetchall()  # type: ignore[arg-type]
        return [row[0] for row in rows]

    def folded(self, sql: exp.Expr, number: int) -> None:
        """The expression of a row's values as literals of a subquery, which the planner puts into it."""
        row = self.rows[number % len(self.rows)]
        literals = ", ".join(
            f"CAST({cell[0]} AS {engine_type}) AS {name}"
            for cell, (name, (_, engine_type)) in zip(row, IN_POSTGRES.items(), strict=True)
        )
        query = f"SELECT {POSTGRES.sql(sql)} FROM (SELECT {literals}) AS r"
        self.postgres.execute(query).fetchall()  # type: ignore[arg-type]

    def in_duckdb(self, sql: exp.Expr) -> list[Scalar | None]:
        text = DUCKDB.sql(sql)
        return [row[0] for row in self.duckdb.execute(f"SELECT {text} FROM wild AS r ORDER BY id").fetchall()]


def _pairs() -> dict[str, list[tuple[str, str]]]:
    """By column, every value as (PostgreSQL, DuckDB) spell it."""
    found = {name: [(_OTHERWISE.get(value, value), value) for value in values] for name, values in WILD.items()}
    for name, values in _MORE.items():
        found[name] = [*found.get(name, []), *values]
    return found


def _rows(pairs: dict[str, list[tuple[str, str]]]) -> list[list[tuple[str, str]]]:
    chance = random.Random(7)
    most = max(map(len, pairs.values()))
    rows = [[pairs[name][place % len(pairs[name])] for name in IN_POSTGRES] for place in range(most)]
    rows += [[chance.choice([*pairs[name], ("NULL", "NULL")]) for name in IN_POSTGRES] for _ in range(120)]
    return [*rows, [("NULL", "NULL")] * len(IN_POSTGRES)]
