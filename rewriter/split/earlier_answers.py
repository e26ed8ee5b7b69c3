"""Aggregates over people that rows of people are compared with: they are released first, and are constants then.

``WHERE total > (SELECT AVG(total) FROM orders)`` asks of each row how it compares with a number that everybody's rows
make. That number is released, by a query of its own, before the statement is planned. From then on it is what a public
table of one row would be: ``(VALUES (…))``. A query with groups is a table of them, which rows of people are joined
with: ``JOIN (SELECT item, AVG(total) AS mean … GROUP BY item) AS s ON …``.

Why privacy is kept: what was released is nobody's secret, and what is planned after it is measured with bounds and
noise of its own: releases that are chosen by earlier ones add up in the filter, which is what it is proven for. Beside
them stands no row of people that was not there before, and none of another person: sensitivity is that of the same
rows joined with public ones.

Why a number is used as a column of a subquery: nothing is known of it but its type, and the range that declared ones
leave it, so that no group, bound or refusal of the later statement hangs on it.

By which columns the rows of a query differ, whatever the data: read from the form of the query alone.

A fact that lowers noise: people who are joined with at most one row of an earlier answer are not clipped for it. So it
is claimed here alone, and :func:`rewriter.split.earlier_answers.EarlierAnswers.relation` holds it against the rows that
were released before they reach an engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from sqlglot import exp

from rewriter.columns import BEHIND, Computed, Origin, aliased, literal_of
from rewriter.declared import LISTS, AnsweredColumn, Catalog, ContributionBound, EarlierAnswer, Kind
from rewriter.dialects import Dialect, Fact
from rewriter.expressions import Value, makes_rows
from rewriter.refused import TOO_COMPLEX, NeedsAnswer, Refused, compared_with_aggregate
from rewriter.relations import Relation
from rewriter.split.correlated_values import ROWS_OF_PEOPLE
from rewriter.split.named_queries import Names, Outer, Resolved
from rewriter.statement import (
    conjuncts,
    folded,
    from_items,
    grouped_item,
    has_aggregate,
    is_equality,
    output_name,
    unaliased,
    unparenthesised,
    walk,
)

_MEASURED: Fact[bool] = Fact("measured")
"""Of a column of constants: numbers with noise."""
MAX_CELLS = 10_000
"""Released numbers that stand in one statement."""
_MANY = 100
"""As how many a person counts who is joined with all rows of an answer of which nobody knows how many there are. It is
never less than 2 but where a theorem says that there is one: then people are not clipped."""


class MoreRowsThanClaimed(AssertionError):
    """A query released rows that its form excludes: people would be counted more often than is claimed."""


_OWN_ROWS = "add the condition that both are the same person's, as in w.person_id = v.person_id"
_COMPARED = frozenset(
    {Kind.BOOLEAN, Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE, Kind.TEXT}
    | {Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.TIME}
)  # fmt: skip
"""What an engine holds as it is released, beside rows of people."""


@dataclass(slots=True)
class EarlierAnswers:
    """The answers that a statement knows; ``alias`` gives a new name. ``used`` are the texts of those that it read."""

    catalog: Catalog
    alias: Callable[[], str]
    dialect: Dialect
    used: set[str] = field(default_factory=set)
    _definitions: dict[int, tuple[Resolved, exp.CTE, Names]] = field(default_factory=dict)

    def define(self, resolved: Resolved, cte: exp.CTE, names: Names) -> None:
        """A WITH query, and the names that it could read itself."""
        self._definitions[id(resolved)] = (resolved, cte, names)

    def relation(self, outer: Outer) -> Relation:
        """The released rows of a query over people. Raises :class:`NeedsAnswer` where it was not asked yet."""
        query = self._complete(outer.source, outer.names)
        if any(item.alias == ROWS_OF_PEOPLE for item in query.find_all(exp.Subquery)):
            raise Refused("rows of one person are compared with rows of others", hint=_OWN_ROWS)
        text = query.sql()
        found = self.catalog.answers.get(text)
        if found is None:
            raise NeedsAnswer(query, text)
        self.used.add(text)
        return _relation(found, outer.source, self.alias(), self.dialect)

    def _complete(self, query: exp.Query, names: Names) -> exp.Query:
        """The query with the WITH queries around it that it reads, so that it can be asked alone."""
        own = query.args.get("with_")
        found = {} if own is None else {cte.alias.lower(): cte for cte in own.expressions}
        copy: exp.Query = query.copy()
        around = [cte for cte in self._read(query, names, {}) if cte.alias.lower() not in found]
        if around:
            kept = [] if own is None else [cte.copy() for cte in own.expressions]
            copy.set("with_", exp.With(expressions=[*(cte.copy() for cte in around), *kept]))
        return copy

    def _read(self, node: exp.Expr, names: Names, found: dict[str, exp.CTE]) -> list[exp.CTE]:
        """The WITH queries in reach that a query names, those that others read before them."""
        for table in node.find_all(exp.Table):
            resolved = None if table.db else names.get(table.name, names.get(table.name.lower()))
            _, cte, inner = self._definitions.get(id(resolved), (None, None, {}))
            if cte is None:
                continue
            name = cte.alias.lower()
            if name not in found:
                self._read(cte.this, inner, found)
                found[name] = cte
            elif found[name] is not cte:
                # Two queries of one name, one of which hides the other: nobody can tell them apart side by side.
                raise compared_with_aggregate()
        return list(found.values())


def by_own_keys(select: exp.Select, answers: Set[int]) -> exp.Select:
    """``select`` with the columns of released rows that equal one of people, on every row, as that one: the groups of
    it may be declared. ``answers`` are the released items of FROM."""
    items = [item for item in from_items(select) if id(item) in answers]
    tests = [] if select.args.get("where") is None else list(conjuncts(select.args["where"].this))
    for join in select.args.get("joins") or ():
        if not join.side and join.args.get("on") is not None:
            tests += conjuncts(join.args["on"])
    released = {item.alias_or_name.lower() for item in items}
    same: dict[tuple[str, str], exp.Column] = {}
    for test in tests:
        if is_equality(test):
            one, other = (unparenthesised(side) for side in (test.this, test.expression))
            for left, right in ((one, other), (other, one)):
                if not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
                    continue
                if left.table.lower() in released and right.table.lower() not in released | {""}:
                    same.setdefault((left.table.lower(), folded(left)), right)
    if not same:
        return select
    copy: exp.Select = select.copy()
    for item in [*copy.expressions]:
        if isinstance(item, exp.Column) and (item.table.lower(), folded(item)) in same:
            item.replace(exp.alias_(item.copy(), item.name, quoted=True, copy=False))
    parts = [*copy.expressions, *(copy.args[name] for name in ("group", "having", "order") if copy.args.get(name))]
    for column in [node for part in parts for node in walk(part) if isinstance(node, exp.Column)]:
        if (found := same.get((column.table.lower(), folded(column)))) is not None:
            column.replace(found.copy())
    return copy


def _relation(answer: EarlierAnswer, query: exp.Query, alias: str, dialect: Dialect) -> Relation:
    """The rows of an answer as public rows, of which nothing but types and ranges is known."""
    unique = told_apart(query)
    most = 1 if unique == frozenset() else _MANY if unique is None or answer.groups is None else max(2, answer.groups)
    if (many := max(most, len(answer.rows))) * len(answer.columns) > MAX_CELLS:
        raise Refused(
            f"rows of people are compared with {many:,} released groups",
            hint="compare them with fewer groups, or with one number",
            sqlstate=TOO_COMPLEX,
        )
    for column in answer.columns:
        if column.type.kind not in _COMPARED:
            is_list = column.type.kind in LISTS
            hint = "ask for one item of it: (SELECT (…)[1] FROM …)" if is_list else "cast it to a number"
            raise Refused(f"a released {column.type} is not compared with rows of people", hint=hint)
    columns = tuple(
        (one.name, replace(Value.unknown(_column(f"c{place}", alias, one), one.type), interval=one.range))
        for place, one in enumerate(answer.columns)
    )
    if unique is not None and len({tuple(row[place] for place in sorted(unique)) for row in answer.rows}) < len(
        answer.rows
    ):
        raise MoreRowsThanClaimed
    rows = exp.Select().from_(aliased(_values(answer, dialect), alias), copy=False)
    return Relation(columns, rows, None, ContributionBound(most), unique=() if unique is None else (unique,))


def _column(name: str, alias: str, column: AnsweredColumn) -> exp.Expr:
    found = BEHIND.on(exp.column(name, alias), Computed(frozenset()))
    measured = column.noisy and column.type.kind in (Kind.DOUBLE, Kind.DECIMAL)
    return _MEASURED.on(found, True) if measured else found


def check_equalities(rows: exp.Expr) -> None:
    """Raises :class:`Refused` where rows are asked to equal a number with noise, which they do by chance alone."""
    for test in rows.find_all(exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In):
        if any(map(_is_measured, test.iter_expressions())):
            raise Refused(
                "people's values are asked to equal a released number, which has noise",
                hint="compare with >= or <=, or ask for values near it: x BETWEEN 0.99 * (…) AND 1.01 * (…)",
            )


def _is_measured(node: exp.Expr) -> bool:
    for part in node.walk():
        behind = BEHIND.of(part)
        if _MEASURED.of(part) or (isinstance(behind, Origin) and _is_measured(behind.sql)):
            return True
    return False


def _values(answer: EarlierAnswer, dialect: Dialect) -> exp.Select:
    """``SELECT CAST(v.c0 AS DOUBLE) AS c0 FROM (VALUES (53.2)) AS v(c0)``."""
    names = [f"c{place}" for place, _ in enumerate(answer.columns)]

    def typed(column: Callable[[str], exp.Expr]) -> list[exp.Expr]:
        pairs = zip(names, answer.columns, strict=True)
        return [exp.alias_(dialect.cast(column(name), one.type), name) for name, one in pairs]

    if not answer.rows:
        return exp.Select(expressions=typed(lambda _: exp.Null())).where(exp.false(), copy=False)
    rows = [exp.Tuple(expressions=[literal_of(value, None, dialect) for value in row]) for row in answer.rows]
    alias = exp.TableAlias(this=exp.to_identifier("v"), columns=[exp.to_identifier(name) for name in names])
    return exp.Select(expressions=typed(lambda name: exp.column(name, "v"))).from_(
        exp.Values(expressions=rows, alias=alias), copy=False
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """A query that FROM names, whether its columns are ``renamed`` there, and the WITH queries ``around`` it."""

    query: exp.Expr
    renamed: bool
    around: Mapping[str, _Reading]


def told_apart(query: exp.Expr, around: Mapping[str, _Reading] = MappingProxyType({})) -> frozenset[int] | None:
    """The columns by which the rows of a query differ, whatever the data; none of them where it has at most one row.

    Theorem: an aggregation without GROUP BY has one row, and one with GROUP BY has one row for each combination of its
    keys, which are all among the columns. A projection of one such query alone keeps its rows. HAVING, LIMIT and
    DISTINCT only remove rows. A function that makes rows in a select list, a second item in FROM and a set operation
    repeat rows, so that nothing is claimed of them. ``around`` are the WITH queries in reach.

    >>> import sqlglot
    >>> texts = ("SELECT AVG(x) FROM t", "SELECT a, AVG(x) FROM t GROUP BY a", "SELECT AVG(x) FROM t GROUP BY a")
    >>> [told_apart(sqlglot.parse_one(text)) for text in texts]
    [frozenset(), frozenset({0}), None]
    >>> one = "SELECT n FROM (SELECT COUNT(*) AS n FROM t) AS x"
    >>> texts = (one, f"{one}, t", "SELECT COUNT(*), GENERATE_SERIES(1, 9) FROM t")
    >>> [told_apart(sqlglot.parse_one(text)) for text in texts]
    [frozenset(), None, None]
    >>> told_apart(sqlglot.parse_one("WITH a AS (SELECT k, AVG(x) AS m FROM t GROUP BY k) SELECT m, k FROM a"))
    frozenset({1})
    """
    while isinstance(query, exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select):
        return None
    reach = dict(around)
    for cte in query.args["with_"].expressions if query.args.get("with_") else ():
        reach[cte.alias.lower()] = _Reading(cte.this, bool(cte.args["alias"].columns), dict(reach))
    if any(makes_rows(node) for item in query.expressions for node in walk(item)):
        return None
    group = query.args.get("group")
    if group is None:
        alone = any(map(has_aggregate, query.expressions))
        return frozenset() if alone else _kept(query, reach)
    if any(value for part, value in group.args.items() if part != "expressions"):
        return None
    items = [unaliased(item) for item in query.expressions]
    keys = [grouped_item(key, query) for key in group.expressions]
    return frozenset(map(items.index, keys)) if all(key in items for key in keys) else None


def _kept(select: exp.Select, reach: Mapping[str, _Reading]) -> frozenset[int] | None:
    """The columns that tell the rows of a projection apart: those of the one query that it reads, where it has them."""
    read = [_reading(item, reach) for item in from_items(select)]
    if len(read) != 1 or read[0] is None or select.args.get("laterals"):
        return None
    inner = read[0].query
    told = told_apart(inner, read[0].around)
    if not told:
        return told
    inner = inner.unnest()
    if read[0].renamed or not isinstance(inner, exp.Select):
        return None
    names = [output_name(item) for item in inner.expressions]
    plain = [unaliased(item) for item in select.expressions]
    shown = {folded(item): place for place, item in enumerate(plain) if isinstance(item, exp.Column)}
    found = frozenset(shown[names[at]] for at in told if names.count(names[at]) == 1 and names[at] in shown)
    return found if len(found) == len(told) else None


def _reading(item: exp.Expr, reach: Mapping[str, _Reading]) -> _Reading | None:
    """The query that an item of FROM is, alone."""
    if isinstance(item, exp.Subquery) and not any(item.args.get(name) for name in ("joins", "pivots", "sample")):
        alias = item.args.get("alias")
        return _Reading(item.this, alias is not None and bool(alias.columns), reach)
    if isinstance(item, exp.Table) and not item.db and not any(item.args.get(name) for name in ("joins", "pivots")):
        found = reach.get(item.name.lower())
        alias = item.args.get("alias")
        if found is not None and alias is not None and alias.columns:
            return replace(found, renamed=True)
        return found
    return None
