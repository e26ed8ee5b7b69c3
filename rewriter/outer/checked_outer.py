"""The outer SELECT of a program: checked, spelt for DuckDB, and read for what its columns are made of, and
for whether measured numbers choose the rows that it shows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.at_rest import AtRest
from rewriter.declared import Type
from rewriter.dialects import plain_text
from rewriter.outer.checks import check_outer, outer_sql
from rewriter.outer.construct import Columns
from rewriter.outer.independence import independent
from rewriter.outer.operand_types import check_types
from rewriter.outer.over_replicates import replicated_sql
from rewriter.outer.provenance import OTHER, PUBLIC, AddedUp, Form, Measured, Other, slots_of
from rewriter.outer.question import Question
from rewriter.outer.to_duckdb import spelled
from rewriter.outer.tracing import Traced, trace
from rewriter.plan import Output, Plan
from rewriter.release import RESERVED, OverGroups, RunningSums, added_name

NUMERIC_PRINTED = (
    "means and quotients are printed with the digits of a double: where PostgreSQL has a NUMERIC, its text has others,"
    " which ROUND(x, 2)::text has not"
)


def chooses(tree: exp.Query, measured: frozenset[str]) -> bool:
    """Whether a statement over releases shows some rows and not others by what is ``measured`` of them.

    >>> import sqlglot
    >>> names = frozenset({"a0"})
    >>> chooses(sqlglot.parse_one("SELECT k0, a0 AS n FROM r ORDER BY n DESC LIMIT 5"), names)
    True
    >>> chooses(sqlglot.parse_one("SELECT k0, a0 AS n FROM r WHERE k0 > 3 ORDER BY k0 LIMIT 5"), names)
    False
    """
    noisy = _noisy_names(tree, measured)

    def reads(node: exp.Expr | None) -> bool:
        return node is not None and any(column.name.lower() in noisy for column in node.find_all(exp.Column))

    for select in tree.find_all(exp.Select, exp.Union):
        if any(reads(select.args.get(part)) for part in ("where", "having", "qualify")):
            return True
        order = select.args.get("order")
        if order is None or not (select.args.get("limit") or select.args.get("offset")):
            continue
        items = select.selects
        for ordered in order.expressions:
            by = ordered.this
            if isinstance(by, exp.Literal) and by.is_int and 0 < int(by.name) <= len(items):
                by = items[int(by.name) - 1]
            if reads(by):
                return True
    return False


def _noisy_names(tree: exp.Expr, measured: frozenset[str]) -> set[str]:
    """The measured columns, and what they are called further up."""
    noisy = set(measured)
    aliases = [(one.alias.lower(), one.this) for one in tree.find_all(exp.Alias)]
    while True:
        found = {
            name
            for name, item in aliases
            if name not in noisy and any(column.name.lower() in noisy for column in item.find_all(exp.Column))
        }
        if not found:
            return noisy
        noisy |= found


@dataclass(frozen=True, slots=True)
class Described:
    """The outer SELECT, whose columns are known: ``sql`` answers them first, and then the numbers of the released rows
    behind each row, which are of the tables ``origins``.

    ``over_groups`` are the columns that are a number of groups or a mean over groups. ``measured`` says how each column
    follows from released rows, and ``totals`` which slots stand for many; ``question`` is what replicates are asked for
    the others.
    """

    sql: str
    measured: tuple[Measured, ...]
    origins: tuple[frozenset[str], ...]
    question: Question
    over_groups: tuple[OverGroups, ...] = ()
    totals: tuple[AddedUp | None, ...] = ()

    def has_totals(self, form: Form) -> bool:
        """Whether a form is made of the sum of many rows."""
        return any(self.totals[slot] is not None for slot in slots_of(form)) if self.totals else False

    @property
    def foretold(self) -> tuple[Measured, ...]:
        """The columns as they are known before any row is: how many rows a total has is not."""
        return tuple(OTHER if self.has_totals(one.form) else one for one in self.measured)


@dataclass(frozen=True, slots=True)
class OuterSelect:
    """A ``checked`` tree over ``tables``, of which ``released`` are made of people; ``traced`` where it could be
    followed.

    ``shown_sql`` answers its columns and nothing else. ``chooses``: rows are shown or not by what is measured of them.
    """

    checked: exp.Query | AtRest[exp.Query]
    tables: Columns
    released: tuple[str, ...]
    traced: Traced | None
    shown_sql: str
    chooses: bool
    zone: str
    over_groups: tuple[OverGroups, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def tree(self) -> exp.Query:
        return self.checked.in_use if isinstance(self.checked, AtRest) else self.checked

    @property
    def released_columns(self) -> dict[str, list[tuple[str, Type]]]:
        """The columns of the released tables, which a database without rows describes the SELECT over."""
        return {name: list(columns.items()) for name, columns in self.tables.items() if name.startswith(RESERVED)}

    @property
    def kept(self) -> OuterSelect:
        """The SELECT as it is kept once its columns are described (:class:`AtRest`)."""
        return replace(self, checked=AtRest.of(self.tree), traced=None)

    def described(self, kinds: Sequence[Type]) -> Described:
        """The SELECT with columns of these types. Where tracing found others, nothing is known of them."""
        traced = self.traced
        if traced is None or len(traced.columns) != len(kinds):
            traced = Traced(self.tree, tuple(OTHER if self.released else PUBLIC for _ in kinds))
        sql = outer_sql(traced.tree, self.tables) if traced.slots else self.shown_sql
        over_groups = self.over_groups if len(self.tree.selects) == len(kinds) else ()
        question = self._question(sql, traced, kinds, {one.at for one in over_groups})
        origins = tuple(slot.tables for slot in traced.origins)
        totals = tuple(slot.total for slot in traced.origins)
        return Described(sql, traced.columns, origins, question, over_groups, totals)

    def _question(self, sql: str, traced: Traced, kinds: Sequence[Type], known: Collection[int]) -> Question:
        """Replicates are asked for columns whose error is not known, in rows known by all that is not measured."""
        own = [len(traced.columns) + at for at, slot in enumerate(traced.origins) if not slot.of_other_rows]
        wanted = tuple(
            at
            for at, (column, kind) in enumerate(zip(traced.columns, kinds, strict=True))
            if isinstance(column.form, Other) and kind.numeric and at not in known
        )
        if not wanted:
            return Question(sql, "", (), ())
        keys = [at for at, column in enumerate(traced.columns) if not column.noisy]
        never = frozenset(at for at in wanted if traced.columns[at].nonnegative)
        most = tuple((at, float(end)) for at in wanted if (end := traced.columns[at].most) is not None)
        once = replicated_sql(traced.tree, self.tables, self.released, len(traced.columns) + traced.slots)
        return Question(sql, once, (*keys, *own), wanted, never, most, self.zone)


def outer_select(
    tree: exp.Query,
    running: RunningSums,
    tables: Columns,
    outputs: Mapping[str, Sequence[Output]],
    plans: Mapping[str, Sequence[Plan]],
    zone: str,
    over_groups: tuple[OverGroups, ...] = (),
) -> OuterSelect:
    """The outer SELECT over ``tables``. ``outputs`` and ``plans`` are those of each released table; ``running`` are the
    windows of ``tree`` that are running sums of a release.

    Raises :class:`rewriter.refused.Refused` for what post-processing may not consist of.
    """
    check_outer(tree, tables)
    notes = (NUMERIC_PRINTED,) if check_types(tree, tables) else ()
    spelt = spelled(tree, tables)
    traced = trace(tree, running, outputs, tables)
    if traced is not None:
        traced = replace(traced, columns=tuple(independent(one, traced, plans) for one in traced.columns))
    names = [output.name for some in outputs.values() for output in some]
    measured = frozenset((*names, *map(added_name, names)))
    chosen = chooses(spelt, measured)
    return OuterSelect(
        tree, tables, tuple(outputs), traced, plain_text(spelt, "duckdb"), chosen, zone, over_groups, notes
    )
