"""The databases that dpsql reads, one entry each: how a policy names one, and how it is opened.

An engine's driver is imported when a database of its kind is opened, and no earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dpsql.engines.engine import Engine
from rewriter.dialects import DUCKDB, POSTGRES, Dialect


@dataclass(frozen=True, slots=True)
class Address:
    """How places of one kind are written: as ``scheme:PATH`` of a file, or as ``scheme://…`` of a server.

    >>> str(Address("sqlite", is_file=True)), str(Address("postgresql", is_file=False))
    ('sqlite:PATH', 'postgresql://…')
    """

    scheme: str
    is_file: bool
    also: tuple[str, ...] = ()
    """Other schemes that mean the same."""

    def __str__(self) -> str:
        return f"{self.scheme}:PATH" if self.is_file else f"{self.scheme}://…"


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources of an engine: ``threads``, and ``memory`` in MiB. None: what it takes by itself.

    Where several ``processes`` of a server have an engine each that computes in the process, these are of all of them
    together.
    """

    threads: int | None = None
    memory: int | None = None
    processes: int = 1


@dataclass(frozen=True, slots=True)
class EngineKind:
    """``open`` takes the path of a file, or the URL of a server, and raises :class:`dpsql.errors.Error`."""

    address: Address
    dialect: Dialect
    open: Callable[[str, Resources], Engine]


_DUCKDB_PERCENT = 80
"""Of the machine's memory, which DuckDB takes by itself."""


def _duckdb(path: str, resources: Resources) -> Engine:
    from dpsql.engines.duckdb import DuckDBEngine

    memory, threads, processes = None, resources.threads, resources.processes
    if resources.memory is not None:
        memory = f"{max(1, resources.memory // processes)}MiB"
    elif processes > 1:
        memory = f"{_DUCKDB_PERCENT // processes}%"
    if threads is not None:
        threads = max(1, threads // processes)
    return DuckDBEngine.open(path, threads=threads, memory_limit=memory)


def _postgresql(url: str, resources: Resources) -> Engine:
    from dpsql.engines.postgres import PostgresEngine

    return PostgresEngine.open(url, work_mem=f"{resources.memory}MB" if resources.memory else None)


SQLITE = Address("sqlite", is_file=True)
POSTGRESQL = Address("postgresql", is_file=False, also=("postgres",))

ENGINES: Mapping[str, EngineKind] = {
    kind.address.scheme: kind
    for kind in (
        EngineKind(Address("duckdb", is_file=True), DUCKDB, _duckdb),
        EngineKind(POSTGRESQL, POSTGRES, _postgresql),
    )
}
"""Every kind of database by its scheme. A path without a scheme is a file of the first kind."""
