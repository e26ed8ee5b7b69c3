"""Worlds that statements are asked in: a policy over a database of its own, opened with a clock that stands still."""

from __future__ import annotations

import datetime
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
import yaml

from dpsql.engines.engine import Engine
from dpsql.engines.registry import ENGINES
from dpsql.memory import Memories
from dpsql.opened import Opened, compared, load_policy, open_here
from dpsql.proxy import Proxy
from rewriter.dialects import Dialect

INSTANT = datetime.datetime(2025, 6, 18, 10, 30, tzinfo=datetime.UTC)
"""When every statement is asked: a tape of tomorrow is compared with one of today."""
_DATABASE = "tape.duckdb"
_LET_PASS = ("two people",)
"""Tests open tables about two people, too."""


@dataclass(frozen=True, slots=True)
class World:
    """A policy and its database: the ``schema`` in SQL, with the rows of public tables, or a DuckDB ``file``.

    Planning reads no rows of people, so a schema needs none.
    """

    name: str
    policy: str
    schema: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A statement as a session sends it. ``source`` names where it is from; ``settings`` are set before. ``spelt``: it is
    planned for every other engine's dialect, too, which takes as long as all else."""

    source: str
    sql: str
    settings: Mapping[str, str] = field(default_factory=dict)
    parameters: Any = ()
    spelt: bool = True


class _Spelling:
    """An engine that is spoken to in another dialect; only for planning."""

    def __init__(self, engine: Engine, dialect: Dialect) -> None:
        self._engine, self.dialect = engine, dialect

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


@dataclass(frozen=True, slots=True)
class OpenWorld:
    """A world that is open: its proxy, and one of the same policy for every other dialect."""

    proxy: Proxy
    others: Mapping[str, Proxy]
    words: frozenset[str]
    """Names of tables and columns, which no plan may change."""


@contextmanager
def opened(world: World) -> Iterator[OpenWorld]:
    """Open a world in a folder of its own. Raises :class:`dpsql.errors.Error`."""
    folder = Path(tempfile.mkdtemp(prefix="tape"))
    try:
        database = folder / _DATABASE
        if world.file:
            shutil.copy(world.file, database)
        else:
            with duckdb.connect(str(database), config={"threads": 1}) as connection:
                connection.execute(world.schema or "SELECT 1")
        policy = folder / "policy.yaml"
        policy.write_text(placed(world.policy), encoding="utf-8")
        found = open_here(compared(load_policy(policy), _LET_PASS), read=lambda: INSTANT)  # type: ignore[arg-type]
        try:
            yield OpenWorld(Proxy.of(found), _others(found), _words(found))
        finally:
            found.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def placed(policy: str) -> str:
    """The text of a policy whose database and ledger are those of a world."""
    told = yaml.safe_load(policy)
    told |= {"database": f"duckdb:{_DATABASE}", "ledger": "sqlite:tape.ledger"}
    told.pop("releases", None)
    told["limits"] = {**(told.get("limits") or {}), "threads": 1}
    return yaml.safe_dump(told, sort_keys=False)


def _others(found: Opened) -> dict[str, Proxy]:
    dialects = {kind.dialect.name: kind.dialect for kind in ENGINES.values()}
    own = found.engine.dialect.name
    spelt: dict[str, Any] = {name: _Spelling(found.engine, one) for name, one in dialects.items() if name != own}
    return {name: Proxy.of(replace(found, engine=engine, memories=Memories())) for name, engine in spelt.items()}


def _words(found: Opened) -> frozenset[str]:
    tables = found.catalog.tables.values()
    names = {name for table in tables for name in (table.name, table.schema or "", *table.columns)}
    return frozenset(part for name in names for part in re.split(r"\W+", name) if part)
