"""A query, prepared: everything about it that follows from text and policy, so that it can be remembered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlglot import exp

from dpsql.memory import Memory
from dpsql.sandbox import Sandbox
from rewriter.declared import DOUBLE, EarlierAnswer, Learned, Type
from rewriter.front_door import Affine, Described, Measured, Program, Shown
from rewriter.refused import Refused

_REMEMBERED = 8
"""So many sets of learned bounds of one statement: they change when their histograms are bought again."""


_SHORTEST = 1_000
"""Characters that the shortest statement counts."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A program, and the names and types of the ``columns`` that it answers with.

    Where the ``program`` lacks bounds that the owner left to be learned, it is not to be run: ``with_bounds`` is the
    query planned with those that were learned. Nor is it to be run where an ``earlier`` query has to be answered
    before: it is planned then as if nothing was known of that answer. ``read_again`` gives the query as it was parsed:
    a tree of thousands of nodes is not kept for as long as the statement is remembered.
    """

    sql: str
    program: Program
    columns: tuple[tuple[str, Type], ...]
    outer: Described
    with_bounds: Callable[[tuple[Learned, ...]], Prepared] | None = field(default=None, repr=False, compare=False)
    read_again: Callable[[], exp.Query] = field(default=exp.Select, repr=False, compare=False)
    earlier: Earlier | None = field(default=None, repr=False, compare=False)

    @property
    def stages(self) -> tuple[Prepared, ...]:
        """All queries that are answered for it, one after the other, itself the last."""
        return (self,) if self.earlier is None else (*self.earlier.first.stages, *self.earlier.draft.stages)

    @property
    def characters(self) -> int:
        """Those of the text and of the engine's SQL, by which memories weigh a statement: it takes 10 to 20 bytes for
        each, and less than 50. With an earlier answer, it is planned again, and both plans are kept."""
        again = () if self.earlier is None else self.earlier.draft.stages
        options = (option for one in (*self.stages, *again) for option in one.program.options)
        plans = [plan for option in options for plan in (*option.by_norm, *option.picks)]
        written = sum(len(plan.sql) + sum(len(one.sql) for one in plan.choices) for plan in plans)
        return max(len(self.sql) + written, _SHORTEST)

    @property
    def zone(self) -> str:
        """The session's time zone."""
        return self.program.outer.zone

    @property
    def measured(self) -> tuple[Measured, ...]:
        """How each column follows from released numbers, as it is shown: an end of an interval has no error."""
        ends = self.program.shown or (Shown.VALUE,) * len(self.columns)
        return tuple(
            one if end is Shown.VALUE else replace(one, form=Affine())
            for one, end in zip(self.outer.measured, ends, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Earlier:
    """The query that is answered ``first``, for a statement that is planned as a ``draft`` till then; ``text`` spells
    it. ``then`` is the statement planned with its answer, which may have another earlier query."""

    text: str
    first: Prepared
    draft: Prepared
    then: Callable[[EarlierAnswer], Prepared]


def prepare(program: Program, sql: str, sandbox: Sandbox, read_again: Callable[[], exp.Query]) -> Prepared:
    """Ask the database without rows what the columns of the outer SELECT are. Reads no data, costs nothing."""
    described = sandbox.describe(program.outer.shown_sql, program.outer.released_columns)
    outer = program.outer.described([kind for _, kind in described])
    columns = _shown(described, program.shown)
    planned, program = program.with_bounds, replace(program, outer=program.outer.kept)
    if planned is None:
        return Prepared(sql, program, columns, outer, read_again=read_again)
    # Forgotten with the statement that it is a part of.
    known: Memory[tuple[Learned, ...], Prepared] = Memory("plans with learned bounds", _REMEMBERED)
    return Prepared(
        sql,
        program,
        columns,
        outer,
        lambda learned: known.get(learned, lambda: prepare(planned(learned), sql, sandbox, read_again)),
        read_again,
    )


def _shown(columns: tuple[tuple[str, Type], ...], shown: tuple[Shown, ...]) -> tuple[tuple[str, Type], ...]:
    """The columns as they are shown: a half-width is a double, an end has its number's type.

    Raises :class:`Refused` for an end of what is neither a number nor a time.
    """
    for (name, kind), end in zip(columns, shown, strict=False):
        if end is not Shown.VALUE and not (kind.numeric or (kind.temporal and end is not Shown.MARGIN)):
            raise Refused(f"dpsql.{end} takes a number, {name} is {kind}", hint="write dpsql.margin(COUNT(*))")
    return tuple(
        (name, DOUBLE if end is Shown.MARGIN else kind)
        for (name, kind), end in zip(columns, shown or (Shown.VALUE,) * len(columns), strict=True)
    )
