"""The FROM and WHERE of one SELECT over people: joined, owned, filtered.

Guarantee: every row of a :class:`SelectRows` is owned by one unit, and no expression of it can raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.columns import Source, find_field, may_be_missing, narrowed_sources
from rewriter.declared import Catalog, ContributionBound, Kind
from rewriter.dialects import Dialect, Fact
from rewriter.expressions import REPORTED, Scope, Value, compared_as_doubles, compile_expression, position_of
from rewriter.refused import TYPE_MISMATCH, UNKNOWN_COLUMN, Refused
from rewriter.relations.ownership import (
    Determined,
    Equality,
    Join,
    MixedPeople,
    OuterCondition,
    Ownership,
    all_settled,
    own,
    own_both,
)
from rewriter.relations.row_number_bounds import limited
from rewriter.relations.shared_rows import people_beside_groups, shared_rows
from rewriter.statement import branches, conjuncts, is_equality, only, tested_for_null, unparenthesised, walk

FIELD: Fact[tuple[str, str]] = Fact("field")
"""Of a resolved column reference: our alias and the column's name."""

_JOIN_PARTS = frozenset({"this", "on", "side", "kind", "method"})
Membership = Callable[["exp.In | exp.Exists | exp.Subquery", "BlockScope"], Value]


@dataclass(frozen=True, slots=True)
class BlockScope:
    """Where the expressions of one SELECT find their columns."""

    sources: tuple[Source, ...]
    membership_of: Membership

    def resolve(self, node: exp.Column) -> tuple[Source, str]:
        known = FIELD.of(node)
        if known is not None:
            alias, name = known
            return next(source for source in self.sources if source.alias == alias), name
        return find_field(self.sources, node)

    def column(self, node: exp.Column) -> Value:
        source, name = self.resolve(node)
        return source.reference(name)

    def membership(self, node: exp.In | exp.Exists | exp.Subquery) -> Value:
        return self.membership_of(node, self)

    def star(self, table: str | None) -> Iterator[tuple[Source, str]]:
        """The columns that ``*`` or ``table.*`` stands for."""
        found = [source for source in self.sources if table is None or source.name.lower() == table.lower()]
        if not found:
            raise Refused(f"there is no {table!r} in FROM", hint="name a table of FROM", sqlstate=UNKNOWN_COLUMN)
        for source in found:
            yield from ((source, name) for name in source.fields)


@dataclass(frozen=True, slots=True)
class SelectRows:
    """The rows of one SELECT: ``rows`` is our own FROM … WHERE …, ``filters`` what holds on each of them.

    The first ``conditions`` of the filters are the conjuncts of its WHERE, in order; ``owned`` is what else is asked of
    the rows, so that each of them has an owner: that its unit is among ``everybody``, where no foreign key says so.
    ``said``: how many rows there are hangs on a statement's word about whose its groups are. ``reported`` are conjuncts
    of WHERE that read what people randomized: they are no filter of rows, and whoever aggregates has to ask them.
    ``believed``: what to say of the ways to a person that it reads rows by, on the owner's word.
    """

    scope: BlockScope
    rows: exp.Select
    unit: exp.Expr | None
    bound: ContributionBound
    filters: tuple[Value, ...]
    conditions: int = 0
    owned: tuple[exp.Expr, ...] = ()
    everybody: exp.Expr | None = None
    said: str = ""
    reported: tuple[exp.Expr, ...] = ()
    believed: tuple[str, ...] = ()


@dataclass(slots=True)
class _Joined:
    """The FROM clause while it is read. ``conditions`` are those of its inner joins, ``tests`` the same as written;
    ``asked`` is what WHERE asks of every row."""

    sources: list[Source]
    equalities: list[Equality]
    determined: list[Determined]
    outer: dict[str, OuterCondition]
    joins: list[exp.Join]
    conditions: list[Value]
    tests: list[exp.Expr]
    asked: tuple[exp.Expr, ...] = ()


def build_block(
    select: exp.Select,
    resolve: Callable[[exp.Expr], Source],
    membership: Membership,
    catalog: Catalog,
    dialect: Dialect,
    *,
    reports: bool = False,
) -> SelectRows:
    """Read FROM, joins and WHERE. ``resolve`` makes a source of a FROM item; with ``reports``, conjuncts over columns
    that people randomized are left to the caller. Raises :class:`Refused`."""
    first = select.args["from_"].this
    joins = list(select.args.get("joins") or ())
    where = select.args.get("where")
    asked = () if where is None else tuple(conjuncts(where.this))
    if len(joins) == 1 and joins[0].side == "FULL":
        first, joins = _narrower(first, joins[0], asked)
    head = resolve(first)
    if len(joins) == 1 and joins[0].side == "FULL":
        return _all_of_both(head, joins[0], asked, resolve, membership, catalog, dialect)
    state = _Joined([head], [], [], {}, [], [], [], asked)
    for join in joins:
        _join(join, resolve, membership, state, dialect)
    scope = BlockScope(tuple(state.sources), membership)
    if any(value.ways_when for source in state.sources for value in source.fields.values()):
        spelt = [*state.determined, *_said(asked, scope, dialect)]
        settled = all_settled(state.sources, state.equalities, state.outer, spelt)
        scope = BlockScope(tuple(settled), membership)
    conditions: list[Value] = []
    reported = tuple(one for one in asked if reports and reports_in(one, scope))
    for conjunct in (one for one in asked if one not in reported):
        conditions.append(condition(conjunct, scope, dialect, "WHERE"))
        state.equalities += _equalities(conjunct, scope)
        state.determined += _determined(conjunct, scope, dialect)
        state.tests.append(conjunct)
    state.equalities += _same_constants(state.tests, scope, dialect)
    state.sources = [s if s.optional else limited(s, state.tests, scope.resolve) for s in state.sources]
    believed = tuple(_believed_ways(select, state))
    state.sources = all_settled(state.sources, state.equalities, state.outer, state.determined)
    unmatched = frozenset(alias for test in state.tests for alias in _unmatched(test, scope, state.outer))
    owner = _owned(state, unmatched, catalog, dialect)
    sources = tuple(
        source.constant() if source.alias in owner.constant and not (source.private and source.optional) else source
        for source in state.sources
    )
    inherited = [one for source in sources if not source.optional for one in source.filters]
    same = frozenset(
        source.alias
        for source in sources
        if source.alias in owner.constant and not (source.private and source.optional)
    )
    filters = tuple(_of_owner(one, same) for one in (*conditions, *state.conditions, *inherited))
    sources = _present(narrowed_sources(sources, filters), state, scope)
    scope = BlockScope(sources, membership)
    rows = exp.Select().from_(owner.items.get(head.alias, head.item), copy=False)
    for source, join in zip(state.sources[1:], state.joins, strict=True):
        _compare_owners(source, join, owner)
    rows.set("joins", [*state.joins, *owner.joins])
    owned: list[exp.Expr] = []
    if owner.unit is not None and owner.semi_join is not None:
        owned.append(exp.In(this=owner.unit.copy(), query=exp.Subquery(this=owner.semi_join.copy())))
    elif owner.unit is not None and owner.nullable:
        owned.append(exp.Not(this=exp.Is(this=owner.unit.copy(), expression=exp.Null())))
    if conditions or owned:
        tests = [*(value.sql.copy() for value in conditions), *(test.copy() for test in owned)]
        rows.set("where", exp.Where(this=exp.and_(*tests, copy=False)))
    said = next((source.said for source in sources if source.said and not source.optional), "")
    return SelectRows(
        *(scope, rows, owner.unit, owner.bound, filters, len(conditions), tuple(owned), owner.semi_join, said),
        reported=reported,
        believed=believed,
    )


def _said(asked: Sequence[exp.Expr], scope: BlockScope, dialect: Dialect) -> Iterator[Determined]:
    """The columns of which WHERE spells the value, before its conditions are read: subqueries in them hang on these."""
    for test in asked:
        with suppress(Refused):
            yield from _determined(test, scope, dialect)


def _believed_ways(select: exp.Select, state: _Joined) -> Iterator[str]:
    """A notice for each conditional way that a SELECT may read rows by, since it reads the column, and its conditions
    hold, on all rows or where a row of an outer join has a match."""
    parts = select.find_all(exp.Column, exp.Star)
    read = {part.name.lower() for part in parts if not isinstance(part.parent, exp.Count)}
    everywhere = all_settled(state.sources, state.equalities, state.outer, state.determined)
    matched = [one for condition in state.outer.values() for one in condition.determined]
    somewhere = all_settled(state.sources, state.equalities, state.outer, [*state.determined, *matched])
    for source, one, other in zip(state.sources, everywhere, somewhere, strict=True):
        for name, value in source.fields.items():
            told = (one.fields[name].ways | other.fields[name].ways) - value.ways
            if told and (name.lower() in read or "*" in read):
                parents = " and ".join(sorted({key.table for key in told}))
                yield (
                    f"rows of {source.table_name} are those of the person of the row of {parents} that {name} refers to"
                    f" by the policy: where it is another's row, they do not meet"
                )


def _owned(state: _Joined, unmatched: frozenset[str], catalog: Catalog, dialect: Dialect) -> Ownership:
    """Who owns the rows: one person each; or, where that is not so and few of them are two people's, nobody."""
    join = Join(state.sources, state.equalities, state.outer, unmatched, catalog, dialect)
    try:
        return own(replace(join, determined=state.determined))
    except MixedPeople:
        found = people_beside_groups(join) or shared_rows(join)
        if found is None:
            raise
    state.sources = list(found.sources)
    return found.owner


def reports_in(node: exp.Expr, scope: BlockScope) -> tuple[tuple[Source, str], ...]:
    """The columns that people randomized among those that an expression reads, each once."""
    if not any(value.randomized for source in scope.sources for value in source.fields.values()):
        return ()
    found: dict[tuple[str, str], tuple[Source, str]] = {}
    for column in walk(node):
        if isinstance(column, exp.Column) and not REPORTED.is_on(column):
            try:
                source, name = scope.resolve(column)
            except Refused:
                continue
            if source.fields[name].randomized is not None:
                found[source.alias, name] = source, name
    return tuple(found.values())


def _of_owner(test: Value, same: frozenset[str]) -> Value:
    """A condition, which is the same on all rows of a unit where it reads nothing but columns of sources that are."""
    columns = {column.text("table") for column in test.sql.find_all(exp.Column)}
    constant = bool(columns) and columns <= same and test.sql.find(exp.Query) is None
    return replace(test, constant=True) if constant else test


def _present(sources: tuple[Source, ...], state: _Joined, scope: BlockScope) -> tuple[Source, ...]:
    """The sources, where keys of a person that are compared on every row are never NULL."""
    found = {column for equality in state.equalities for column in equality}
    for test in state.tests:
        column = _compared_column(test)
        if column is not None:
            source, name = scope.resolve(column)
            found.add((source.alias, name))
    kept = []
    for source in sources:
        fields = {
            name: replace(value, nullable=False)
            if value.nullable and (value.keys or value.ways) and (source.alias, name) in found
            else value
            for name, value in source.fields.items()
        }
        kept.append(replace(source, fields=fields) if found else source)
    return tuple(kept)


def _compared_column(test: exp.Expr) -> exp.Column | None:
    """The column that is not NULL where a condition is true."""
    node = unparenthesised(test)
    negated = isinstance(node, exp.Not)
    node = unparenthesised(node.this) if negated else node
    if isinstance(node, exp.Is):
        told = negated ^ bool(node.args.get("negate")) and isinstance(node.expression, exp.Null)
    else:
        told = type(node) in _STRICT and node.args.get("query") is None
    side = unparenthesised(node.this) if told else None
    return side if isinstance(side, exp.Column) else None


def _narrower(first: exp.Expr, join: exp.Join, asked: Sequence[exp.Expr]) -> tuple[exp.Expr, list[exp.Join]]:
    """A FULL JOIN as an outer or inner one, where WHERE keeps no row without a match on one side, or on either."""
    left, right = (any(_rejects_missing(test, item.alias_or_name) for test in asked) for item in (first, join.this))
    if left:
        return first, [exp.Join(**{**join.args, "side": "" if right else "LEFT"})]
    if right:
        return join.this, [exp.Join(**{**join.args, "this": first, "side": "LEFT"})]
    return first, [join]


def _all_of_both(
    head: Source,
    join: exp.Join,
    asked: Sequence[exp.Expr],
    resolve: Callable[[exp.Expr], Source],
    membership: Membership,
    catalog: Catalog,
    dialect: Dialect,
) -> SelectRows:
    """The rows of a FULL JOIN of two sources of people, which its condition ties to one owner.

    A row that has a match is its owner's, on both sides; one that has none is that of its own side. So a unit's rows
    follow from its rows alone, and there are no more of them than pairs, and rows of each side.
    """
    only(join, _JOIN_PARTS - {"method"}, "a join over people")
    tests = list(conjuncts(join.args["on"])) if join.args.get("on") is not None else []
    if not tests:
        raise Refused("a FULL JOIN needs a condition", hint="write FULL JOIN … ON a.key = b.key", sqlstate="42601")
    other = resolve(join.this)
    if other.name.lower() == head.name.lower():
        raise Refused(f"{other.name} stands twice in FROM", hint="give each an alias", sqlstate="42712")
    whole = (head, other)
    scope = BlockScope(tuple(source.as_optional() for source in whole), membership)
    on = exp.and_(*(condition(test, scope, dialect, "a join condition").sql for test in tests), copy=False)
    equalities = [equality for test in tests for equality in _equalities(test, scope)]
    complete = len(equalities) == len(tests) and all(map(is_equality, tests))
    by_unit = complete and _tie_units(equalities, [head], other)
    owner = own_both(whole, equalities, catalog, dialect, by_unit=by_unit)
    if (same := owner.compared.get(other.alias)) is not None:
        on = exp.and_(on, same, copy=False)
    items = [owner.items.get(source.alias, source.item) for source in whole]
    rows = exp.Select().from_(items[0], copy=False)
    rows.set("joins", [exp.Join(this=items[1], on=on, side="FULL")])
    conditions = [condition(test, scope, dialect, "WHERE") for test in asked]
    if owner.unit is None:
        raise AssertionError("rows of people have an owner")
    owned: list[exp.Expr] = [exp.Not(this=exp.Is(this=owner.unit.copy(), expression=exp.Null()))]
    if owner.semi_join is not None:
        owned = [exp.In(this=owner.unit.copy(), query=exp.Subquery(this=owner.semi_join.copy()))]
    rows.set("where", exp.Where(this=exp.and_(*(one.sql.copy() for one in conditions), *owned, copy=False)))
    said, filters = head.said or other.said, tuple(conditions)
    return SelectRows(scope, rows, owner.unit, owner.bound, filters, len(filters), tuple(owned), owner.semi_join, said)


def _compare_owners(source: Source, join: exp.Join, owner: Ownership) -> None:
    """The join of a source whose rows are to be those of the others' owner, which its condition does not say itself."""
    join.set("this", owner.items.get(source.alias, join.this))
    if (same := owner.compared.get(source.alias)) is not None:
        join.set("on", same if join.args.get("on") is None else exp.and_(join.args["on"], same, copy=False))
        join.set("kind", None)


def _join(
    join: exp.Join,
    resolve: Callable[[exp.Expr], Source],
    membership: Membership,
    state: _Joined,
    dialect: Dialect,
) -> None:
    only(join, _JOIN_PARTS, "a join over people")
    side, kind, method = join.side.upper(), join.kind.upper(), join.method.upper()
    if method:
        raise Refused(f"{method} JOIN is not answered", hint="write the join condition with ON or USING")
    if side not in ("", "LEFT") or kind not in ("", "INNER", "CROSS", "OUTER"):
        raise Refused(
            f"{' '.join(part for part in (side, kind) if part)} JOIN is not answered beside other joins of people",
            hint="put the FULL JOIN into a subquery of its own, or use LEFT JOIN with the people on the left",
        )
    source = whole = resolve(join.this)
    if any(source.name.lower() == other.name.lower() for other in state.sources):
        raise Refused(f"{source.name} stands twice in FROM", hint="give each an alias", sqlstate="42712")
    if side == "LEFT" and not source.private and any(_rejects_missing(test, source.name) for test in state.asked):
        side = ""
    if side == "LEFT":
        source = source.as_optional()
    before = list(state.sources)
    state.sources.append(source)
    on = join.args.get("on")
    tests = list(conjuncts(on)) if on is not None else []
    scope = BlockScope(tuple(state.sources), membership)
    compiled = [condition(test, scope, dialect, "a join condition") for test in tests]
    equalities = [equality for test in tests for equality in _equalities(test, scope)]
    if side == "LEFT" and _is_own_parent(equalities, tests, before, whole):
        side = ""
        state.sources[-1] = whole
        scope = BlockScope(tuple(state.sources), membership)
        compiled = [condition(test, scope, dialect, "a join condition") for test in tests]
    if side == "LEFT":
        if not tests:
            raise Refused("a LEFT JOIN needs a condition", hint="add ON …", sqlstate="42601")
        complete = len(equalities) == len(tests) and all(map(is_equality, tests))
        by_unit = complete and _tie_units(equalities, before, whole)
        on = exp.and_(*(value.sql.copy() for value in compiled), copy=False)
        state.sources[-1] = limited(whole.as_optional(on, by_unit=by_unit), tests, scope.resolve)
        determined = tuple(one for test in tests for one in _determined(test, scope, dialect))
        state.outer[source.alias] = OuterCondition(tuple(equalities), complete, determined)
    else:
        state.equalities += equalities
        state.determined += [one for test in tests for one in _determined(test, scope, dialect)]
        state.conditions += compiled
        state.tests += tests
    parts: dict[str, object] = {"this": source.item}
    if compiled:
        parts["on"] = exp.and_(*(value.sql.copy() for value in compiled), copy=False)
    if side == "LEFT":
        parts["side"] = "LEFT"
    elif not compiled:
        parts["kind"] = "CROSS"
    state.joins.append(exp.Join(**parts))


_STRICT = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In, exp.Like, exp.ILike)


def _rejects_missing(test: exp.Expr, name: str) -> bool:
    """Whether a condition is not true where all columns of a table are NULL, so that a LEFT JOIN of it is an inner one.

    >>> import sqlglot
    >>> tests = ("c.region = 'x'", "c.region IS NOT NULL", "COALESCE(c.region, 'x') = 'x'", "c.region IS NULL")
    >>> [_rejects_missing(sqlglot.parse_one(sql), "c") for sql in tests]
    [True, True, False, False]
    """
    node, negated = test, False
    while isinstance(node, exp.Not | exp.Paren):
        node, negated = node.this, negated ^ isinstance(node, exp.Not)
    if isinstance(node, exp.Is):
        return (
            negated ^ bool(node.args.get("negate"))
            and isinstance(node.expression, exp.Null)
            and _is_column_of(node.this, name)
        )
    if type(node) not in _STRICT or node.args.get("query") is not None:
        return False
    sides = (node.this,) if type(node) in (exp.In, exp.Between) else (node.this, node.expression)
    return any(_is_column_of(side, name) for side in sides)


def _is_column_of(node: exp.Expr, name: str) -> bool:
    return isinstance(node, exp.Column) and node.table.lower() == name.lower()


def _tie_units(equalities: Sequence[Equality], before: Sequence[Source], source: Source) -> bool:
    """Whether each compares the unit of the rows so far with that of a source, neither of which is ever NULL."""
    preserved = {(one.alias, name) for one in before for name, value in one.fields.items() if _is_unit(value)}
    inner = {(source.alias, name) for name, value in source.fields.items() if _is_unit(value)}
    return all({*pair} & preserved and {*pair} & inner for pair in equalities)


def _is_own_parent(
    equalities: Sequence[Equality], tests: Sequence[exp.Expr], before: Sequence[Source], source: Source
) -> bool:
    """Whether a LEFT JOIN only goes one step of the way from rows of people to their person: rows without a match have
    no person, are nobody's and in no answer, so that the join is an inner one.
    """
    if source.table is None or len(equalities) != len(tests) or not all(map(is_equality, tests)):
        return False
    for child in before:
        hop = child.table.path[0] if child.table is not None and child.table.path else None
        if hop is None or child.table is None or child.optional or child.table.repeats_unit is not None:
            continue
        pairs = {tuple(sorted([(child.alias, ours), (source.alias, theirs)])) for ours, theirs in hop.pairs}
        if hop.parent == source.table.name and pairs == set(equalities):
            return True
    return False


def _is_unit(value: Value) -> bool:
    return value.unit and not value.nullable


def condition(node: exp.Expr, scope: Scope, dialect: Dialect, where: str, sqlstate: str = TYPE_MISMATCH) -> Value:
    """A boolean expression, as PostgreSQL asks of WHERE, ON, FILTER and HAVING."""
    value = compile_expression(node, scope, dialect)
    if value.type.kind not in (Kind.BOOLEAN, Kind.NULL):
        raise Refused(
            f"{where} needs a condition, not {value.type.one}",
            hint="compare it with something",
            sqlstate=sqlstate,
            position=position_of(node),
        )
    return value


def _equalities(node: exp.Expr, scope: BlockScope) -> Sequence[Equality]:
    """Each ``a.x = b.y`` of bare columns that is true wherever the condition is: what all branches of an OR say."""
    node = unparenthesised(node)
    if isinstance(node, exp.And):
        return [equality for part in conjuncts(node) for equality in _equalities(part, scope)]
    if isinstance(node, exp.Or):
        first, *others = (_equalities(branch, scope) for branch in branches(node))
        return [equality for equality in first if all(equality in other for other in others)]
    if not is_equality(node):
        return ()
    sides = (unparenthesised(side) for side in (node.this, node.expression))
    (one, x), (other, y) = (scope.resolve(side) for side in sides if isinstance(side, exp.Column))
    if not _compares_exactly(one.fields[x], other.fields[y]):
        return ()
    left, right = sorted([(one.alias, x), (other.alias, y)])
    return [(left, right)]


def _same_constants(tests: Sequence[exp.Expr], scope: BlockScope, dialect: Dialect) -> list[Equality]:
    """Columns of two sources that equal one constant on every row, and so each other: ``a.id = 7 AND b.id = 7``.

    Proof: each comparison is exact, so both columns hold the constant wherever both conditions are true.
    """
    holders: dict[tuple[exp.Expr, Kind], list[tuple[Source, str]]] = {}
    for test in (part for one in tests for part in conjuncts(unparenthesised(one))):
        for source, name, value, _ in _column_tests(test, scope, dialect):
            if value.sql.find(exp.Column, exp.Null) is None and _compares_exactly(source.fields[name], value):
                holders.setdefault((value.sql, value.type.kind), []).append((source, name))
    found: list[Equality] = []
    for (one, x), *others in holders.values():
        for other, y in others:
            if one.alias != other.alias and _compares_exactly(one.fields[x], other.fields[y]):
                left, right = sorted([(one.alias, x), (other.alias, y)])
                found.append((left, right))
    return found


def _column_tests(test: exp.Expr, scope: BlockScope, dialect: Dialect) -> Iterator[tuple[Source, str, Value, exp.Expr]]:
    """Each column that a comparison tests for equality with an expression, its value, and the expression."""
    test = unparenthesised(test)
    listed = test.expressions if isinstance(test, exp.In) else [test.expression] if isinstance(test, exp.EQ) else []
    if len(listed) != 1:
        return
    sides = [unparenthesised(side) for side in (test.this, listed[0])]
    for column, other in (sides, sides[::-1]):
        if isinstance(column, exp.Column) and not isinstance(other, exp.Column) and other.find(exp.Query) is None:
            yield (*scope.resolve(column), compile_expression(other, scope, dialect), other)


def _determined(node: exp.Expr, scope: BlockScope, dialect: Dialect) -> list[Determined]:
    """Each column that a condition compares exactly with an expression, and the sources whose rows it is made of."""
    found: list[Determined] = []
    for part in conjuncts(unparenthesised(node)):
        for source, name, value, other in _column_tests(part, scope, dialect):
            if _compares_exactly(source.fields[name], value):
                of = frozenset(scope.resolve(one)[0].alias for one in other.find_all(exp.Column))
                found.append(Determined((source.alias, name), of, value.literal))
    return found


def _compares_exactly(one: Value, other: Value) -> bool:
    """Whether two values are equal only where they are the same: two whole numbers may be one double, and so may exact
    numbers be that have more digits together than a decimal."""
    kinds = {one.type.kind, other.type.kind}
    if kinds <= {Kind.INTEGER, Kind.DECIMAL}:
        return not compared_as_doubles(one, other)
    return len(kinds) == 1 or kinds == {Kind.DATE, Kind.TIMESTAMP}


def _unmatched(test: exp.Expr, scope: BlockScope, outer: Mapping[str, OuterCondition]) -> Iterator[str]:
    """The null-supplying source of which no match passes ``x IS NULL``: x was compared, or is never read as NULL."""
    column = tested_for_null(test)
    if not isinstance(column, exp.Column):
        return
    source, name = scope.resolve(column)
    if not source.optional:
        return
    compared = any((source.alias, name) in equality for equality in outer[source.alias].equalities)
    if compared or (source.table is not None and not may_be_missing(source.table.columns[name])):
        yield source.alias


def resolved(source: Source, name: str) -> exp.Column:
    """A reference to a column whose source is already known."""
    column = exp.column(exp.to_identifier(name, quoted=True), source.alias)
    return FIELD.on(column, (source.alias, name))
