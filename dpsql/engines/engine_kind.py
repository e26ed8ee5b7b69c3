"""A kind of database, as an entry of :mod:`dpsql.engines.registry` describes it: how a policy names one, and how it is
opened.

What describes an engine is light: its driver is imported when a database of its kind is opened, and no earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dpsql.engines.engine import Engine
from dpsql.engines.listed_files import ListedFiles
from rewriter.dialects import Dialect

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
