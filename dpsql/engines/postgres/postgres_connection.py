"""A connection to the owner's PostgreSQL: read-only, with every setting that could change an answer fixed."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dpsql.engines.postgres.relatives import relative
from dpsql.errors import OperationalError
from dpsql.postgresql import DEFAULTS, OLDEST, reason, without_password

Connection = psycopg.Connection[tuple[Any, ...]]

PREPARED = 64
"""Prepared statements that one connection keeps."""
WORK_MEM = "128MB"
"""What one hash table may take on the server; partial sums per person that do not fit are spilled to its disk."""

SETTINGS = {
    # Nothing but the server's own functions and operators can be meant by a name.
    "search_path": "pg_catalog, pg_temp",
    "default_transaction_read_only": "on",
    "default_transaction_isolation": "repeatable read",
    # How a literal is read; with the first one off, a backslash would end it in another place.
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    # How values are spelt and what time it is.
    "timezone": "UTC",
    "datestyle": "ISO, YMD",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "lc_monetary": "C",
    # What is raised as a notice may hold values of rows.
    "client_min_messages": "error",
    "row_security": "on",
    # Compiling costs more than it saves in queries of this size.
    "jit": "off",
    # Bounded queries nest deeper than the planner's estimates reach: it takes 200 groups for 2,400 and many units for
    # few. A hash join never becomes quadratic and sorts nobody's rows; the others remain where there is no equality.
    "enable_mergejoin": "off",
    "enable_nestloop": "off",
}


def connect(url: str, work_mem: str = WORK_MEM) -> Connection:
    """A new connection, in autocommit: every statement is a transaction of its own. Raises :class:`psycopg.Error`."""
    settings = SETTINGS | {"work_mem": work_mem}
    parameters = DEFAULTS | conninfo_to_dict(url) | {"client_encoding": "UTF8"}
    connection: Connection = psycopg.connect(make_conninfo("", **parameters), autocommit=True)
    try:
        connection.execute("; ".join(f"SET {name} = {_quoted(name, value)}" for name, value in settings.items()))
        connection.prepare_threshold = 1
        connection.prepared_max = PREPARED
    except BaseException:
        connection.close()
        raise
    return connection


def check(connection: Connection) -> None:
    """Raise :class:`OperationalError` for a server whose answers would differ from the planned ones."""
    said = str((connection.execute("SELECT version()").fetchone() or ("",))[0])
    found = relative(said)
    if found is not None and found.refused:
        raise OperationalError(str(found), sqlstate="0A000", hint=f"dpsql reads PostgreSQL {OLDEST} and newer")
    version = connection.info.server_version // 10_000
    if version < OLDEST:
        raise OperationalError(
            f"PostgreSQL {version} is too old", sqlstate="0A000", hint=f"dpsql reads PostgreSQL {OLDEST} and newer"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise OperationalError(
            f"the database is encoded in {encoding}, and its texts may not all have Unicode characters",
            sqlstate="0A000",
            hint="dpsql reads databases that are encoded in UTF8",
        )


def cannot_open(url: str, error: psycopg.Error) -> OperationalError:
    """Opening is the owner's act and comes before any row is read: libpq's own words are told, but no password."""
    place = without_password(url)
    if isinstance(error, psycopg.ProgrammingError):
        why, hint = "the URL is not understood", "write postgresql://USER@HOST:PORT/DATABASE"
    else:
        why, hint = reason(url, error), "a password may stand in PGPASSWORD or in a password file (~/.pgpass)"
    return OperationalError(f"the database {place} cannot be opened: {why}", sqlstate="08001", hint=hint)


def _quoted(name: str, value: str) -> str:
    if name == "search_path":
        return value
    return "'" + value + "'"
