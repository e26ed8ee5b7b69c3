"""Fill an empty PostgreSQL with the clinic, and make the role that dpsql reads it with; do nothing where that was done.

It connects as the owner, as libpq's variables say (PGHOST, PGUSER, PGPASSWORD, PGDATABASE). READER_PASSWORD is the
password that the role gets.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import duckdb
import psycopg
from psycopg import sql

from dpsql.interfaces.commands import demo_clinic as clinic

TABLES = ("region", "patient", "visit")
READER = "dpsql_reader"
ROLE = """
CREATE ROLE {role} LOGIN PASSWORD {password} NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
ALTER ROLE {role} SET default_transaction_read_only = on;
GRANT USAGE ON SCHEMA public TO {role};
GRANT SELECT ON {tables} TO {role};
"""


def seed(connection: psycopg.Connection, password: str) -> bool:
    """All of it or nothing, in one transaction. False where the tables are there already."""
    with connection.transaction():
        known = connection.execute("SELECT to_regclass('public.visit')").fetchone()
        if known is not None and known[0] is not None:
            return False
        connection.execute(clinic.SCHEMA.replace("DOUBLE", "DOUBLE PRECISION").encode())
        with tempfile.TemporaryDirectory() as folder:
            clinic.build(Path(folder))
            with duckdb.connect(str(Path(folder) / clinic.DATABASE), read_only=True) as source:
                for name in TABLES:
                    _copy(source, connection, name)
        tables = sql.SQL(", ").join(map(sql.Identifier, TABLES))
        role = sql.SQL(ROLE).format(role=sql.Identifier(READER), password=sql.Literal(password), tables=tables)
        connection.execute(role)
    connection.execute("ANALYZE")
    return True


def _copy(source: duckdb.DuckDBPyConnection, target: psycopg.Connection, name: str) -> None:
    rows = source.execute(f"SELECT * FROM {name}").fetchall()
    copying = sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))
    with target.cursor().copy(copying) as copy:
        for row in rows:
            copy.write_row(row)


if __name__ == "__main__":
    with psycopg.connect(autocommit=True) as owner:
        done = seed(owner, os.environ["READER_PASSWORD"])
    sys.stderr.write("the clinic is seeded\n" if done else "the clinic was there already\n")
