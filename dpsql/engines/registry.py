"""The databases that dpsql reads, one entry each: how a policy names one, and how it is opened.

An engine's driver is imported when a database of its kind is opened, and no earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypedDict

from dpsql.engines.engine import Engine
from dpsql.engines.listed_files import ListedFiles
from rewriter.dialects import DUCKDB, POSTGRES, SPARK, Dialect

PATH = "PATH"
"""What follows the scheme of a file."""


@dataclass(frozen=True, slots=True)
class Address:
    """How places of one kind are written: the scheme, and what follows it: the path of a file, the rest of a server's
    URL, or nothing at all.

    >>> [str(Address("sqlite", PATH)), str(Address("postgresql", "//")), str(Address("files", ""))]
    ['sqlite:PATH', 'postgresql://…', 'files']
    """

    scheme: str
    follows: str
    also: tuple[str, ...] = ()
    """Other schemes that mean the same."""

    @property
    def is_file(self) -> bool:
        return self.follows == PATH

    @property
    def is_server(self) -> bool:
        return self.follows not in (PATH, "")

    def __str__(self) -> str:
        if not self.follows:
            return self.scheme
        return f"{self.scheme}:{PATH}" if self.is_file else f"{self.scheme}:{self.follows}…"


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources of an engine: ``threads``, and ``memory`` in MiB. None: what it takes by itself.

    Where several ``processes`` of a server have an engine each that computes in the process, these are of all of them
    together.
    """

    threads: int | None = None
    memory: int | None = None
    processes: int = 1


Files = Mapping[str, ListedFiles]
"""The files that the owner lists, by the table whose rows they have."""


@dataclass(frozen=True, slots=True)
class EngineKind:
    """``open`` takes the path of a file, or the URL of a server, and the files that the owner lists as the rows of
    tables, and raises :class:`dpsql.errors.Error`."""

    address: Address
    dialect: Dialect
    open: Callable[[str, Resources, Files], Engine]
    takes_files: bool = False
    """Whether tables may be files that the owner lists."""


class DuckDBShare(TypedDict):
    """What one DuckDB may use."""

    threads: int | None
    memory_limit: str | None


_DUCKDB_PERCENT = 80
"""Of the machine's memory, which DuckDB takes by itself."""


def _duckdb(path: str, resources: Resources, files: Files) -> Engine:
    from dpsql.engines.duckdb import DuckDBEngine

    return DuckDBEngine.open(path, files=files, **_duckdb_share(resources))


def _files(target: str, resources: Resources, files: Files) -> Engine:
    from dpsql.engines.duckdb import DuckDBEngine

    return DuckDBEngine.over(files, **_duckdb_share(resources))


def _duckdb_share(resources: Resources) -> DuckDBShare:
    memory, threads, processes = None, resources.threads, resources.processes
    if resources.memory is not None:
        memory = f"{max(1, resources.memory // processes)}MiB"
    elif processes > 1:
        memory = f"{_DUCKDB_PERCENT // processes}%"
    if threads is not None:
        threads = max(1, threads // processes)
    return {"threads": threads, "memory_limit": memory}


def _postgresql(url: str, resources: Resources, files: Files) -> Engine:
    from dpsql.engines.postgres import PostgresEngine

    return PostgresEngine.open(url, work_mem=f"{resources.memory}MB" if resources.memory else None)


def _spark(url: str, resources: Resources, files: Files) -> Engine:
    from dpsql.engines.spark import SparkEngine

    return SparkEngine.open(url)


SQLITE = Address("sqlite", PATH)
POSTGRESQL = Address("postgresql", "//", also=("postgres",))
FILES = Address("files", "")

ENGINES: Mapping[str, EngineKind] = {
    kind.address.scheme: kind
    for kind in (
        EngineKind(Address("duckdb", PATH), DUCKDB, _duckdb, takes_files=True),
        EngineKind(FILES, DUCKDB, _files, takes_files=True),
        EngineKind(POSTGRESQL, POSTGRES, _postgresql),
        EngineKind(Address("spark", "sc://"), SPARK, _spark),
    )
}
"""Every kind of database by its scheme. A path without a scheme is a file of the first kind."""
