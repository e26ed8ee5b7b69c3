"""The interface of an engine. An engine knows nothing of noise, and is never given a client's text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from sqlglot import exp

from dpsql.engines.deadlines import Cancellation
from dpsql.engines.schema import Concern, Look, Profile, Schema
from dpsql.engines.turns import Load, Turn
from dpsql.engines.way_check import Rows, Way
from dpsql.releases import ExactTable
from rewriter.dialects import Dialect
from rewriter.front_door import OneScan
from rewriter.plan import Plan

if TYPE_CHECKING:
    import pyarrow as pa


class Engine(Protocol):
    """A database, open for reading. Thread-safe.

    Whatever goes wrong in it is one text to an analyst, and no error that leaves it holds the engine's own as its
    cause or context.
    """

    load: Load
    """How much of it is computed at once."""

    @property
    def dialect(self) -> Dialect:
        """The rewriter's dialect in which plans for this engine are spelt."""
        ...

    def schema(self) -> Schema:
        """The declared schema: tables, views, columns, keys. It is read once."""
        ...

    def rely_on(self, tables: Iterable[str], agrees: Callable[[Engine], bool] | None = None) -> None:
        """From now on :meth:`run` answers only while these tables are declared as they were when they were read.

        A constraint that is dropped under a running server would take a plan's sensitivity with it. Files that were
        replaced are read only where the policy ``agrees`` with an engine over the new ones.
        """
        ...

    def state(self, tables: Iterable[str]) -> str:
        """The state of the files that are the rows of tables, as a part of what a release stands under; "" without any.

        Files that were replaced are opened anew. Raises :class:`dpsql.errors.OperationalError`, before any charge,
        where the policy does not agree with them.
        """
        ...

    def ready(
        self,
        turn: Turn,
        tables: Iterable[str],
        state: str,
        timeout: float | None = None,
        cancellation: Cancellation | None = None,
    ) -> AbstractContextManager[None]:
        """A block in which what runs in the ``turn`` finds the database: it has answered, and the files of the tables
        are still in this ``state``.

        Raises :class:`dpsql.errors.OperationalError` where that is not so, before any charge.
        """
        ...

    def run(
        self,
        plan: Plan,
        timeout: float | None = None,
        cancellation: Cancellation | None = None,
        turn: Turn | None = None,
    ) -> ExactTable:
        """The exact integers of a release, groups in the order of their keys. Secret. Without a ``turn`` it takes one.

        Raises :class:`dpsql.errors.OperationalError`: 57014 after ``timeout`` seconds or when it is cancelled.
        """
        ...

    def run_together(
        self,
        scan: OneScan,
        timeout: float | None = None,
        cancellation: Cancellation | None = None,
        turn: Turn | None = None,
    ) -> tuple[ExactTable, ...]:
        """The same of several plans, in their order: integers as :meth:`run` has them. Secret."""
        ...

    def public_rows(self, table: str, columns: Sequence[str]) -> pa.Table:
        """The rows of a table that the owner declared public, read as the rewriter reads them."""
        ...

    def public_profile(self, table: str) -> Profile:
        """The measured profile of a table that the owner declared public. No other table may be profiled."""
        ...

    def lasting(self, table: str) -> bool:
        """Whether nobody can change the rows of a table while it is open here."""
        ...

    def look(self, table: str, columns: Sequence[str], timeout: float | None = None) -> Look:
        """Whether columns are a key of a table, seen by one scan. For the owner's eyes alone.

        Raises :class:`dpsql.errors.OperationalError`.
        """
        ...

    def agree(
        self, table: str, people: tuple[str, str], own: Way, others: Sequence[Way], timeout: float | None = None
    ) -> tuple[bool, ...]:
        """For each other way, whether no row of a table leads to somebody else by it than by its own, seen by one scan.

        For the owner's eyes alone. Raises :class:`dpsql.errors.OperationalError`.
        """
        ...

    def refers(self, column: tuple[str, str], key: tuple[str, str], timeout: float | None = None) -> bool:
        """Whether a column of one table seems to hold keys of another: it has many values, and all of them are some.

        For the owner's eyes alone. Raises :class:`dpsql.errors.OperationalError`.
        """
        ...

    def figures(self, scan: Callable[[Rows], exp.Select], timeout: float | None = None) -> tuple[Any, ...]:
        """The one row of a scan of our own over rows as they are read, such as how many values are NULL.

        For the owner's eyes alone. Raises :class:`dpsql.errors.OperationalError`.
        """
        ...

    def zones(self) -> frozenset[str]:
        """The time zones that it knows, by name."""
        ...

    def concerns(self) -> tuple[Concern, ...]:
        """Warnings about the way in which the database is opened."""
        ...

    def unreadable(self, columns: Mapping[str, Sequence[str]]) -> tuple[Concern, ...]:
        """Why columns of tables cannot be read, though the schema has them: an error of each table that fails.

        No row is asked for. What a view is made of may be out of reach, and is known only when it is tried: then every
        statement would be charged, and fail.
        """
        ...

    def close(self) -> None: ...
