"""A query, prepared: everything about it that follows from text and policy, so that it can be remembered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dpsql.memory import Memory
from dpsql.sandbox import Sandbox
from rewriter.declared import Learned, Type
from rewriter.front_door import Described, Program

_REMEMBERED = 8
"""So many sets of learned bounds of one statement: they change when their histograms are bought again."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A program, and the names and types of the ``columns`` that it answers with.

    Where the ``program`` lacks bounds that the owner left to be learned, it is not to be run: ``with_bounds`` is the
    query planned with those that were learned.
    """

    sql: str
    program: Program
    columns: tuple[tuple[str, Type], ...]
    outer: Described
    with_bounds: Callable[[tuple[Learned, ...]], Prepared] | None = field(default=None, repr=False, compare=False)

    @property
    def zone(self) -> str:
        """The session's time zone."""
        return self.program.outer.zone


def prepare(program: Program, sql: str, sandbox: Sandbox) -> Prepared:
    """Ask the database without rows what the columns of the outer SELECT are. Reads no data, costs nothing."""
    columns = sandbox.describe(program.outer.shown_sql, program.outer.released_columns)
    outer = program.outer.described([kind for _, kind in columns])
    planned = program.with_bounds
    if planned is None:
        return Prepared(sql, program, columns, outer)
    # Forgotten with the statement that it is a part of.
    known: Memory[tuple[Learned, ...], Prepared] = Memory("plans with learned bounds", _REMEMBERED)
    return Prepared(
        sql,
        program,
        columns,
        outer,
        lambda learned: known.get(learned, lambda: prepare(planned(learned), sql, sandbox)),
    )
