"""A plugin of pytest that notes which statements tests ask, and under which policies: ``python -m tests.tape collect``.

A session notes what it is asked when it prepares it, whatever becomes of it. The world is the policy's text with the schema of
its DuckDB, and the rows of public tables: planning reads no others. Databases of other engines are left out, and so are
settings that are no words of SET. What is asked of the rewriter without a policy is noted for the clinic of the golden
queries, where it names only its tables.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot
from sqlglot import exp

import dpsql.testing
import rewriter.statement.parser
from dpsql.engines.duckdb import DuckDBEngine
from dpsql.opened import Opened
from dpsql.policy import Policy
from dpsql.proxy import Session
from tests.golden.pairs import clinic
from tests.tape.worlds import placed

PLACE = "TAPE_STATEMENTS"
"""The folder that every process of pytest writes a file into."""
_ROWS, _LETTERS = 20_000, 400_000
"""A world with more rows of public tables, or a longer schema, is left out; and so is a statement of 64 KiB."""
_OF_A_TEST = 60
"""Statements of one test that are kept: some draw thousands."""


class Collecting:
    """What the tests of this process have asked."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / f"{os.getpid()}.jsonl").open("w", encoding="utf-8")
        self._worlds: dict[str, str] = {}
        self._names: dict[int, tuple[Policy, str | None]] = {}
        self._seen: set[tuple[str, str]] = set()
        self._of_test: dict[str, int] = {}
        self._test = ""
        self._clinic = frozenset(clinic().tables)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        self._test = item.nodeid.partition("[")[0]

    def pytest_unconfigure(self) -> None:
        self._file.close()

    def session(self, session: Session, sql: str, parameters: Any) -> None:
        """A statement of a session."""
        told, values = _settings(session), _told(parameters)
        if told is None or values is None or not self._is_new(sql, json.dumps([told, values]), session._opened):
            return
        world = self._world(session._opened)
        if world is not None:
            self._note({"world": world, "sql": sql, "settings": told, "parameters": values})

    def measured(self, opened: Opened, sql: str, parameters: Any) -> None:
        """A statement whose exact statistics are looked at."""
        values = _told(parameters)
        if values is not None and self._is_new(sql, json.dumps([{}, values]), opened):
            world = self._world(opened)
            if world is not None:
                self._note({"world": world, "sql": sql, "settings": {}, "parameters": values})

    def bare(self, sql: str) -> None:
        """A statement that is parsed under no policy."""
        if not self._is_new(sql, "", None):
            return
        with contextlib.suppress(sqlglot.errors.SqlglotError, RecursionError):
            tree = sqlglot.parse_one(sql, read="postgres")
            named = {cte.alias for cte in tree.find_all(exp.CTE)}
            tables = {table.name for table in tree.find_all(exp.Table)} - named
            if tables and tables <= self._clinic:
                self._note({"world": "golden", "sql": sql, "settings": {}, "parameters": []})

    def _is_new(self, sql: str, more: str, opened: Opened | None) -> bool:
        """Whether it is the first of its kind, and the test has not asked too many."""
        key = (f"{opened.policy.path if opened else ''} {sql}", more)
        if key in self._seen or len(sql) > 1 << 16 or self._of_test.get(self._test, 0) >= _OF_A_TEST:
            return False
        self._seen.add(key)
        self._of_test[self._test] = self._of_test.get(self._test, 0) + 1
        return True

    def _world(self, opened: Opened) -> str | None:
        """The name of an open policy's world, written down at its first statement."""
        if id(opened.policy) in self._names:
            return self._names[id(opened.policy)][1]
        name = None
        with contextlib.suppress(Exception):  # A world that cannot be told is left out.
            schema = _schema(opened)
            policy = placed(Path(opened.policy.path or "").read_text(encoding="utf-8-sig"))
            if schema is not None:
                name = hashlib.sha256(f"{policy}\0{schema}".encode()).hexdigest()[:10]
                if name not in self._worlds:
                    self._worlds[name] = schema
                    self._write({"name": name, "policy": policy, "schema": schema})
        self._names[id(opened.policy)] = opened.policy, name
        return name

    def _note(self, told: dict[str, Any]) -> None:
        self._write({"test": self._test, **told})

    def _write(self, told: dict[str, Any]) -> None:
        print(json.dumps(told, ensure_ascii=False), file=self._file, flush=True)


def _schema(opened: Opened) -> str | None:
    """The SQL that makes a database like an open one, without rows of people."""
    engine = opened.engine
    if not isinstance(engine, DuckDBEngine) or opened.policy.files:
        return None
    cursor = engine._now.connection.cursor()
    here = "database_name = current_database() AND NOT internal"
    found: list[str] = [
        *(
            f'CREATE SCHEMA "{name}";'
            for (name,) in cursor.execute(f"SELECT schema_name FROM duckdb_schemas() WHERE {here}").fetchall()
        ),
        *_in_order([sql for (sql,) in cursor.execute(f"SELECT sql FROM duckdb_tables() WHERE {here}").fetchall()]),
    ]
    names = {table.name for table in opened.catalog.tables.values() if table.public}
    tables = cursor.execute(f"SELECT schema_name, table_name FROM duckdb_tables() WHERE {here}").fetchall()
    for schema, name in tables:
        if name in names:
            found += _rows(cursor, f'"{schema}"."{name}"')
    found += [sql for (sql,) in cursor.execute(f"SELECT sql FROM duckdb_views() WHERE {here}").fetchall()]
    text = "\n".join(found)
    return text if len(text) <= _LETTERS else None


def _in_order(statements: list[str]) -> list[str]:
    """The same, each after the tables that it refers to."""
    found: list[str] = []
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        for name in {sql.split("(")[0].split()[-1].split(".")[0] for sql in statements if "." in sql.split("(")[0]}:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {name}")
        for _ in range(len(statements)):
            for sql in [one for one in statements if one not in found]:
                with contextlib.suppress(duckdb.Error):
                    connection.execute(sql)
                    found.append(sql)
    return found


def _rows(cursor: duckdb.DuckDBPyConnection, table: str) -> Iterator[str]:
    rows = cursor.execute(f"SELECT COLUMNS(*)::VARCHAR FROM {table} LIMIT {_ROWS + 1}").fetchall()
    if len(rows) > _ROWS:
        raise ValueError("too many rows of public tables")
    if rows:
        told = (", ".join("NULL" if v is None else "'" + v.replace("'", "''") + "'" for v in row) for row in rows)
        yield f"INSERT INTO {table} VALUES {', '.join(f'({row})' for row in told)};"


def _settings(session: Session) -> dict[str, str] | None:
    """A session's settings in the words of SET; None where one has none."""
    own = session.settings
    if own.target_error is not None or own.watch or not own.reuse or not own.consistent:
        return None
    told = (
        {"dpsql.epsilon": f"{float(own.epsilon):.12g}"}
        if own.epsilon != session._proxy.policy.statement.epsilon
        else {}
    )
    told |= {"dpsql.intervals": "on"} if own.intervals else {}
    told |= {"dpsql.other": "on"} if own.other else {}
    told |= {"dpsql.empty_groups": own.empty.value} if own.empty.name != "AUTO" else {}
    return told | ({"timezone": own.zone} if own.zone != "UTC" else {})


def _told(parameters: Any) -> Any:
    """Parameters as JSON; None where they are more than numbers, texts and truths."""
    values = parameters.values() if isinstance(parameters, dict) else parameters
    plain = all(value is None or type(value) in (bool, int, float, str) for value in values)
    return (dict(parameters) if isinstance(parameters, dict) else list(parameters)) if plain else None


def pytest_configure(config: pytest.Config) -> None:
    """Hook in, before any test module is imported."""
    if PLACE not in os.environ or config.pluginmanager.has_plugin("tape"):
        return
    collecting = Collecting(Path(os.environ[PLACE]))
    config.pluginmanager.register(collecting, "tape")
    prepared, parse = Session._prepared, rewriter.statement.parser.parse

    def noted(self: Session, sql: str, parameters: Any) -> Any:
        with contextlib.suppress(Exception):
            collecting.session(self, sql, parameters)
        return prepared(self, sql, parameters)

    def parsed(sql: str, *rest: Any, **more: Any) -> Any:
        if not rest and not more:
            collecting.bare(sql)
        return parse(sql, *rest, **more)

    plans = dpsql.testing._plans

    def planned(sql: str, opened: Opened, parameters: Any, norm: Any) -> Any:
        with contextlib.suppress(Exception):
            collecting.measured(opened, sql, parameters)
        return plans(sql, opened, parameters, norm)

    dpsql.testing._plans = planned
    Session._prepared = noted  # type: ignore[method-assign]
    rewriter.statement.parser.parse = parsed
