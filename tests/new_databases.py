"""DuckDB files for tests, made with little work.

To fill a small one takes forty milliseconds, and to copy it takes one: a file is made once in a process.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

_KEPT = 64
"""Files that are remembered, of one or two megabytes each."""
_MADE: dict[tuple[tuple[str, str], ...], bytes] = {}
_AT_ONCE = 500
_NEVER_TWICE = re.compile(r"\b(now|current_\w+|today|random|setseed|uuid|gen_random_uuid|read_\w+)\b", re.IGNORECASE)
"""Statements that make other rows when they run again."""


class Statements:
    """A stand-in for a connection: statements that make a database, and run where their block ends."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Sequence[object]]] = []

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> None:
        self.asked.append((sql, parameters))


@contextmanager
def new_database(path: Path) -> Iterator[Statements]:
    """A new DuckDB at ``path``, equal to the file that the statements of the block make."""
    assert not path.exists(), f"{path} is there already"
    statements = Statements()
    yield statements
    if any(_NEVER_TWICE.search(sql) for sql, _ in statements.asked):
        _make(path, statements)
        return
    # Written out, since 1 equals 1.0 and TRUE.
    key = tuple((sql, repr(parameters)) for sql, parameters in statements.asked)
    if key not in _MADE:
        with tempfile.TemporaryDirectory() as folder:
            _make(made := Path(folder) / "made.duckdb", statements)
            _MADE[key] = made.read_bytes()
        if len(_MADE) > _KEPT:
            del _MADE[next(iter(_MADE))]
    path.write_bytes(_MADE[key])


def insert(into: Statements | duckdb.DuckDBPyConnection, table: str, rows: Sequence[Sequence[object]]) -> None:
    """Adds rows by few statements: a statement for each row takes ten times as long."""
    for begin in range(0, len(rows), _AT_ONCE):
        some = rows[begin : begin + _AT_ONCE]
        marks = ", ".join(f"({', '.join('?' * len(row))})" for row in some)
        into.execute(f"INSERT INTO {table} VALUES {marks}", [value for row in some for value in row])


def _make(path: Path, statements: Statements) -> None:
    with duckdb.connect(str(path)) as connection:
        for sql, parameters in statements.asked:
            connection.execute(sql, parameters)
