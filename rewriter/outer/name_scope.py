"""The meaning of names in one SELECT, and what is known of expressions over them.

Each construct has one rule, from what is known of its operands to what is known of its result. Without a rule, a result
depends on released numbers where one of its operands does, and nobody knows how.

The limit of a share: of a number that is never negative, over a sum that has this number among its terms.

``100.0 * COUNT(*) / SUM(COUNT(*)) OVER ()`` is at most 100, whatever was measured, and so is a number of a WITH query
over ``(SELECT SUM(n) FROM g)``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from rewriter.outer.allow_list import CONSTRUCTS
from rewriter.outer.construct import Trait
from rewriter.outer.outer_aggregates import of_any_row
from rewriter.outer.provenance import (
    OTHER,
    PUBLIC,
    AddedUp,
    Affine,
    Listed,
    Mean,
    Measured,
    Quotient,
    Running,
    over_slots,
    running,
    slots_of,
    unknown,
)
from rewriter.release import RunningSum
from rewriter.statement import listed_items

MOST_SLOTS = 16
"""The most slots of one query."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The released ``tables`` that a slot's rows are of; ``picked``: it is a row that a window function picks;
    ``total``: it stands for several rows, and its own is any of them."""

    tables: frozenset[str]
    picked: bool = False
    total: AddedUp | None = None

    @property
    def of_other_rows(self) -> bool:
        """Whether its row may be another one in a replicate, that shows other groups."""
        return self.picked or self.total is not None


@dataclass(frozen=True, slots=True)
class TracedTable:
    """Something in FROM: its columns and its slots. ``filtered``: noise decides which rows it has. ``chosen``: not only
    by groups that are not shown, whose neighbours have bars for that already. ``keys``: its rows are all rows of one
    released table, once each, and these columns are keys of it; None where that is not so, or not known. ``rows`` are
    the numbers of its slots' rows, as the SELECT spells them.
    """

    columns: tuple[tuple[str, Measured], ...]
    origins: tuple[Slot, ...] = ()
    filtered: bool = False
    chosen: bool = False
    keys: Mapping[str, str] | None = None
    rows: tuple[exp.Expr, ...] = ()

    @property
    def slots(self) -> int:
        return len(self.origins)

    def named(self, names: Sequence[str]) -> TracedTable:
        """The same with other names, from the first column on."""
        columns = [
            (names[place] if place < len(names) else name, one) for place, (name, one) in enumerate(self.columns)
        ]
        new = {name.lower(): other for (name, _), (other, _) in zip(self.columns, columns, strict=True)}
        keys = None if self.keys is None else {new[name].lower(): key for name, key in self.keys.items()}
        return replace(self, columns=tuple(columns), keys=keys)


Ctes = Mapping[str, TracedTable]


class PickedRows:
    """The slots that are added to the ``own`` ones of a SELECT, whose rows have these ``numbers``: rows that windows
    pick, rows that are added up, and rows of subqueries of one row. ``added`` are the numbers of their rows."""

    def __init__(self, own: Sequence[Slot], numbers: Sequence[exp.Expr]) -> None:
        self.own = own
        self.numbers = numbers
        self.added: list[tuple[Slot, exp.Expr]] = []

    def holds(self, slots: Collection[int]) -> bool:
        """Whether rows of these slots can be picked, or added up."""
        return max(slots) < len(self.own) and self.has_room(len(slots))

    def has_room(self, slots: int) -> bool:
        """Whether so many slots can be added."""
        return len(self.origins) + slots <= MOST_SLOTS

    def picked(self, window: exp.Window, own: int) -> int:
        """The slot of the row that a window picks of an own slot's rows."""
        number = window.copy()
        number.this.set("this", self.numbers[own].copy())
        return self.slot(replace(self.own[own], picked=True), number)

    def added_up(self, total: AddedUp, own: int, *, gathered: bool) -> int:
        """The slot of the own slot's rows that are added up."""
        number = self.numbers[own].copy()
        return self.slot(replace(self.own[own], total=total), of_any_row(number) if gathered else number)

    def slot(self, origin: Slot, number: exp.Expr) -> int:
        """A slot, which may be there already."""
        if (origin, number) not in self.added:
            self.added.append((origin, number))
        return len(self.own) + self.added.index((origin, number))

    @property
    def origins(self) -> tuple[Slot, ...]:
        return (*self.own, *(origin for origin, _ in self.added))


@dataclass(frozen=True, slots=True)
class NameScope:
    """The meaning of names in one SELECT; ``outside`` is the scope around it, ``aliases`` are the select items so far.

    ``running`` are the windows that are running sums of a release, by the id of their node. ``tested``: its own
    conditions ask released numbers; ``compared``: not only whether a group is shown. ``picks``, where a SELECT has its
    slots as columns, gets those of rows that windows pick and of totals. ``totals``: which columns are keys of the one
    released table whose rows are all added up by the SELECT's windows, or by its aggregates where it is ``gathered``.
    """

    sources: tuple[tuple[str, TracedTable], ...]
    running: Mapping[int, RunningSum]
    outside: NameScope | None = None
    aliases: Mapping[str, Measured] | None = None
    tested: bool = False
    compared: bool = False
    picks: PickedRows | None = None
    totals: Mapping[str, str] | None = None
    gathered: bool = False

    @property
    def filtered(self) -> bool:
        return self.tested or any(table.filtered for _, table in self.sources)

    @property
    def chosen(self) -> bool:
        return self.compared or any(table.chosen for _, table in self.sources)

    @property
    def origins(self) -> tuple[Slot, ...]:
        return tuple(origin for _, table in self.sources for origin in table.origins)

    def column(self, node: exp.Column) -> Measured:
        """A column by its name, with or without its table's. What is not found may be anything."""
        wanted, table = node.name.lower(), node.table.lower()
        for alias, source in self.sources:
            for name, one in source.columns if table in ("", alias) else ():
                if name.lower() == wanted:
                    return one
        if not table and self.aliases is not None and wanted in self.aliases:
            return self.aliases[wanted]
        return OTHER if self.outside is None else unknown(self.outside.column(node))


Subquery = Callable[[exp.Expr, NameScope], TracedTable]
"""The columns of a query inside of an expression."""


def expression(node: exp.Expr, scope: NameScope, subquery: Subquery) -> Measured:
    """The provenance of an expression.

    >>> import sqlglot
    >>> from rewriter.outer.provenance import output
    >>> from rewriter.plan import Linear, Output
    >>> from rewriter.declared.types import BIGINT
    >>> n = output(0, Output("a0", BIGINT, Linear(()), "COUNT(*)"))
    >>> scope = NameScope((("r", TracedTable((("n", n), ("k", PUBLIC)))),), {})
    >>> read = lambda sql: expression(sqlglot.parse_one(sql), scope, lambda *_: TracedTable(()))
    >>> read("2 * n - 1").form
    Affine(terms=(((0, 'a0'), Fraction(2, 1)),), constant=Fraction(-1, 1), slack=Fraction(0, 1))
    >>> read("k"), read("SQRT(n)").form
    (Measured(form=Public(), whole=False, rounding=None, nonnegative=False, guarded=False, most=None), Other())
    """
    if isinstance(node, exp.Column):
        return scope.column(node)
    if isinstance(node, exp.Query):
        found = subquery(node, scope)
        if (one := _of_one_row(node, found, scope)) is not None:
            return one
        known = OTHER if found.filtered or any(one.noisy for _, one in found.columns) else PUBLIC
        return replace(known, nonnegative=all(one.nonnegative for _, one in found.columns))
    if isinstance(node, exp.Case):
        return _case(node, scope, subquery)
    if (sums := scope.running.get(id(node))) is not None:
        return running(expression(node.this.this, scope, subquery), sums.name, sums.window)
    if (picked := _picked(node, scope, subquery) or _total(node, scope, subquery)) is not None:
        return picked
    if (items := listed_items(node)) is not None:
        return _listed([expression(one, scope, subquery) for one in items])
    parts = [expression(part, scope, subquery) for part in node.iter_expressions()]
    construct = CONSTRUCTS.of(node)
    # How many rows there are, and which, may depend on released numbers too.
    counts_rows = isinstance(node, exp.AggFunc | exp.Window | exp.Exists) and scope.filtered
    one = OTHER if counts_rows else construct.provenance(node, parts)
    return replace(
        one,
        nonnegative=construct.nonnegative(node, parts),
        guarded=_is_guarded(node, parts),
        most=most_of(node, parts) if one.noisy else None,
    )


def _picked(node: exp.Expr, scope: NameScope, subquery: Subquery) -> Measured | None:
    """``LAG(x)``, ``LAST_VALUE(x)`` and their like: x, over the rows that the same window picks of x's own slots.

    None where numbers that are compared decide which row is picked, or the value may be of no row.
    """
    if not isinstance(node, exp.Window) or not CONSTRUCTS.has(node.this, Trait.PICK) or scope.picks is None:
        return None
    if scope.gathered:
        return None
    one = expression(node.this.this, scope, subquery)
    if scope.chosen or node.this.args.get("default") is not None:
        return None
    around = [part for part in (*node.iter_expressions(), *node.this.iter_expressions()) if part is not node.this]
    select = node.parent_select
    named = select.args.get("windows") or [] if select is not None and node.args.get("alias") else []
    around += [part for window in named for part in window.iter_expressions()]
    rest = [part for part in around if part is not node.this.this]
    if not isinstance(one.form, Affine | Quotient | Mean | Running) or not (slots := slots_of(one.form)):
        return None
    if not scope.picks.holds(slots) or any(expression(part, scope, subquery).noisy for part in rest):
        return None
    twins = {slot: scope.picks.picked(node, slot) for slot in sorted(slots)}
    # The row of a window's end picks none: COALESCE has a number there, and the form has not.
    return replace(over_slots(one, twins.__getitem__), guarded=True, most=None)


def _total(node: exp.Expr, scope: NameScope, subquery: Subquery) -> Measured | None:
    """``SUM(n) OVER ()`` and ``AVG(n) OVER (PARTITION BY k)`` over all rows of a release, and the same of aggregates:
    n, over the slot of these rows."""
    call, by = _added_up(node, scope)
    if call is None or scope.picks is None or scope.totals is None or scope.filtered:
        return None
    keys = [scope.totals.get(key.name.lower()) if isinstance(key, exp.Column) else None for key in by]
    one = expression(call.this, scope, subquery)
    if not isinstance(one.form, Affine) or one.rounding is not None or one.form.constant or one.form.slack:
        return None
    slots = slots_of(one.form)
    known = tuple(key for key in keys if key is not None)
    if len(slots) != 1 or len(known) < len(keys) or one.guarded or not scope.picks.holds(slots):
        return None
    (own,) = slots
    if scope.picks.own[own].of_other_rows:
        return None
    total = AddedUp(tuple(sorted({*known})), mean=CONSTRUCTS.has(call, Trait.MEAN))
    slot = scope.picks.added_up(total, own, gathered=scope.gathered)
    return Measured(over_slots(one, lambda _: slot).form, nonnegative=one.nonnegative)


def _of_one_row(node: exp.Query, found: TracedTable, scope: NameScope) -> Measured | None:
    """``(SELECT SUM(n) FROM g)`` and ``(SELECT n FROM total)``: the column, over slots of the subquery's own rows.

    None where a subquery reads anything else than tables, or noise decides whether it has its row; and where it reads
    another release: two that agree with each other are closer to the truth than their noise says.
    """
    select = node.unnest()
    if scope.picks is None or scope.gathered or not isinstance(select, exp.Select) or found.filtered:
        return None
    if {part for part, value in select.args.items() if value} - {"expressions", "from_", "where"}:
        return None
    where, from_ = select.args.get("where"), select.args.get("from_")
    if from_ is None or not isinstance(from_.this, exp.Table) or (where is not None and where.find(exp.Query)):
        return None
    one = found.columns[0][1]
    if len(found.columns) != 1 or not isinstance(one.form, Affine | Quotient | Mean):
        return None
    slots = slots_of(one.form)
    if not slots or len(found.rows) != found.slots or not scope.picks.has_room(len(slots)):
        return None
    around = frozenset(table for origin in scope.origins for table in origin.tables)
    if not all(found.origins[slot].tables <= around for slot in slots):
        return None
    twins: dict[int, int] = {}
    for slot in sorted(slots):
        number = select.copy()
        number.set("expressions", [found.rows[slot].copy()])
        twins[slot] = scope.picks.slot(found.origins[slot], exp.Subquery(this=number))
    return replace(over_slots(one, twins.__getitem__), most=None)


def _added_up(node: exp.Expr, scope: NameScope) -> tuple[exp.Expr | None, Sequence[exp.Expr]]:
    """The call of a sum or a mean over rows in no order, and what these rows agree in."""
    call: exp.Expr = node
    by: Sequence[exp.Expr] = ()
    if scope.gathered:
        select = node.parent_select
        group = None if select is None else select.args.get("group")
        if group is not None and {part for part, value in group.args.items() if value} - {"expressions"}:
            return None, ()
        by = group.expressions if group is not None else ()
    elif isinstance(node, exp.Window):
        if {part for part, value in node.args.items() if value} - {"this", "partition_by", "over"}:
            return None, ()
        call, by = node.this, node.args.get("partition_by") or ()
    else:
        return None, ()
    return (call, by) if CONSTRUCTS.has(call, Trait.SUM | Trait.MEAN) else (None, ())


def _listed(items: Sequence[Measured]) -> Measured:
    """The text of an array: its items, where they are shown as they were released."""
    means = tuple(one.form for one in items if isinstance(one.form, Mean) and one.rounding is None)
    return Measured(Listed(means)) if means and len(means) == len(items) else unknown(*items)


def _is_guarded(node: exp.Expr, parts: Sequence[Measured]) -> bool:
    """A quotient by 0 is NULL, guarded or not: ``NULLIF(b, 0)`` below the line hides nothing."""
    if isinstance(node, exp.Div) and _is_unless_zero(node.expression):
        return parts[0].guarded
    return CONSTRUCTS.has(node, Trait.NULLIF) or any(part.guarded for part in parts)


def _is_unless_zero(node: exp.Expr) -> bool:
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    return CONSTRUCTS.has(node, Trait.NULLIF) and node.expression.is_int and str(node.expression) == "0"


def _case(node: exp.Case, scope: NameScope, subquery: Subquery) -> Measured:
    """A guard such as ``CASE WHEN b > 0 THEN a / b END``: where it shows a number, it is that of its one branch."""
    tests = [node.this, *(branch.this for branch in node.args["ifs"])]
    shown = [node.args.get("default"), *(branch.args["true"] for branch in node.args["ifs"])]
    conditions = [expression(test, scope, subquery) for test in tests if test is not None]
    branches = [expression(one, scope, subquery) for one in shown if one is not None and not isinstance(one, exp.Null)]
    if len(branches) == 1 and branches[0].noisy:
        return replace(branches[0], guarded=True)
    return replace(unknown(*conditions, *branches), nonnegative=all(branch.nonnegative for branch in branches))


def most_of(node: exp.Expr, parts: Sequence[Measured]) -> Fraction | None:
    """The greatest number that an expression can be; ``parts`` are what is known of its operands. None: unknown."""
    if isinstance(node, exp.Alias | exp.Paren | exp.Cast) or CONSTRUCTS.has(node, Trait.NULLIF | Trait.ROUNDED):
        return _kept(node, parts)
    if isinstance(node, exp.Mul):
        for one, other in (parts, parts[::-1]):
            if one.most is not None and other.constant is not None and other.constant >= 0:
                return one.most * other.constant
    if isinstance(node, exp.Div):
        factor, part = _scaled(node.this)
        if parts[0].nonnegative and factor >= 0 and _is_sum_with(node.expression, part):
            return factor
        divisor = parts[1].constant
        return None if parts[0].most is None or divisor is None or divisor <= 0 else parts[0].most / divisor
    return None


def _kept(node: exp.Expr, parts: Sequence[Measured]) -> Fraction | None:
    """Rounded to digits, a number is no larger than the largest where this has so few digits itself."""
    most = parts[0].most if parts else None
    is_rounded = CONSTRUCTS.has(node, Trait.ROUNDED)
    if most is None or not (is_rounded or isinstance(node, exp.Cast)):
        return most
    if isinstance(node, exp.Cast) and node.to.this in (exp.DType.DOUBLE, exp.DType.FLOAT):
        return most
    return most if most.denominator == 1 and (not is_rounded or _has_digits(parts)) else None


def _has_digits(parts: Sequence[Measured]) -> bool:
    """Whether a number is not rounded to tens or hundreds."""
    return len(parts) < 2 or (parts[1].constant is not None and parts[1].constant >= 0)


def _scaled(node: exp.Expr) -> tuple[Fraction, exp.Expr]:
    """The factor of a product with literals, and the rest of it."""
    node = _bare(node)
    if isinstance(node, exp.Mul):
        for one, other in ((node.this, node.expression), (node.expression, node.this)):
            factor = _bare(one)
            if isinstance(factor, exp.Literal) and not factor.is_string:
                inner, part = _scaled(other)
                return Fraction(factor.name) * inner, part
    return Fraction(1), node


def _is_sum_with(node: exp.Expr, part: exp.Expr) -> bool:
    """Whether ``part`` is one of the terms of a sum."""
    whole = _bare(node)
    while CONSTRUCTS.has(whole, Trait.NULLIF):
        whole = _bare(whole.this)
    if isinstance(whole, exp.Window):
        # SQL's own frame has the row itself.
        summed = _is_sum(whole.this) and whole.args.get("spec") is None and not whole.args.get("alias")
        return summed and _bare(whole.this.this) == part
    if isinstance(whole, exp.Subquery):
        whole = whole.this
    around = part.find_ancestor(exp.Select)
    if not isinstance(whole, exp.Select) or around is None or not isinstance(part, exp.Column):
        return False
    if {name for name, value in whole.args.items() if value} != {"expressions", "from_"}:
        return False
    total = [_bare(item.this if isinstance(item, exp.Alias) else item) for item in whole.expressions]
    if len(total) != 1 or not _is_sum(total[0]) or not isinstance(_bare(total[0].this), exp.Column):
        return False
    table, own = (_only_table(select) for select in (whole, around))
    return table is not None and table == own and _bare(total[0].this).name == part.name


def _is_sum(node: exp.Expr) -> bool:
    return CONSTRUCTS.has(node, Trait.SUM)


def _only_table(select: exp.Select) -> str | None:
    from_ = select.args.get("from_")
    item = None if from_ is None else from_.this
    if select.args.get("joins") or not isinstance(item, exp.Table):
        return None
    alias = item.args.get("alias")
    return None if item.db or (alias is not None and alias.args.get("columns")) else item.name.lower()


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren) or (isinstance(node, exp.Cast) and node.to.this in _NUMBERS):
        node = node.this
    return node


_NUMBERS = (exp.DType.DOUBLE, exp.DType.FLOAT, exp.DType.DECIMAL, exp.DType.BIGINT, exp.DType.INT128)
