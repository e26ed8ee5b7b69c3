"""``IN (SELECT …)``, of one value and of several, ``EXISTS (SELECT …)`` and ``x = (SELECT …)`` on rows of people.

Guarantee: whether such a condition keeps a row depends on that row, on rows of the same unit, and on public ones.

Why that needs a tie: a subquery over people is rows that each belong to a unit. An equality of the two units' keys, or
of one declared key (``orders.id`` and ``item.order_id -> orders.id``, where the database keeps ``orders.id`` unique),
leaves of them the rows of the unit that owns the row in question. Whatever else the subquery asks of both, such as
``z.day > v.day``, then compares rows of one person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.columns import LISTED_COLUMN, Source, variable_behind
from rewriter.declared import DOUBLE, Catalog, Kind, OwnerKey
from rewriter.dialects import Dialect, wrap
from rewriter.expressions import Scope, Value, compared_as_doubles, compile_expression, widen
from rewriter.refused import NO_FUNCTION, NOT_ALLOWED, Refused
from rewriter.relations.from_where import BlockScope, condition
from rewriter.relations.relation import Relation
from rewriter.statement import conjuncts, from_items, is_grouped, unaliased, unparenthesised, values_of_row, walk

_ROWS = "listed"
"""Our alias of the subquery's rows in :meth:`Subqueries._row_member`."""
_SAME_PERSON = "compare the key of the person with itself, e.g. patient.id IN (SELECT patient_id FROM visit …)"


@dataclass(frozen=True, slots=True)
class Subqueries:
    """How a condition's subqueries are read. ``relation`` resolves one to rows, and refuses aggregates over people."""

    relation: Callable[[exp.Expr], Relation]
    catalog: Catalog
    dialect: Dialect

    def member(self, node: exp.In, scope: BlockScope) -> Value:
        """``x IN (SELECT …)``."""
        listed = values_of_row(node.this)
        if listed is not None:
            return self._row_member(listed, node.args["query"], scope)
        left = compile_expression(node.this, scope, self.dialect)
        if _reads_outer_row(node.args["query"].this):
            raise _correlated()
        relation = self.relation(node.args["query"])
        if len(relation.columns) != 1:
            raise Refused("IN needs a subquery with one column", hint="select one column", sqlstate="42601")
        right = relation.columns[0][1]
        if _asks_for_truth(node) and (found := self._by_way(left, relation, right, scope)) is not None:
            return found
        value = self._in(left, relation, right)
        if left.nullable and relation.unit is not None:
            # NULL NOT IN (…) is true where the subquery is empty: for everybody's rows, if one person's row goes.
            raise Refused(
                "IN over people, of a key that may be missing, depends on whether anybody is found",
                hint="use EXISTS or NOT EXISTS (SELECT 1 FROM … WHERE its key = this one)",
            )
        return value

    def _row_member(self, listed: Sequence[exp.Expr], query: exp.Expr, scope: Scope) -> Value:
        """``(x, y) IN (SELECT …)``: whether one of its rows equals this one in each value.

        NULL where none does and one would if what is missing were equal. Of people, a pair of values that is the unit's
        key on both sides, and missing on neither, is compared in both cases: so only rows of the row's own unit matter.
        """
        relation = self.relation(query)
        if len(relation.columns) != len(listed):
            text = f"IN compares {len(listed)} values with {len(relation.columns)} columns"
            raise Refused(text, hint="select as many columns in the subquery", sqlstate="42601")
        rows = relation.source(_ROWS, _ROWS, [f"c{place}" for place in range(len(listed))])
        pairs = [
            (compile_expression(one, scope, self.dialect), rows.reference(f"c{place}"))
            for place, one in enumerate(listed)
        ]
        ties = [self._same_unit(*pair) and not any(value.nullable for value in pair) for pair in pairs]
        if relation.unit is not None and not any(ties):
            raise _other_people()
        tests = [self._equal(one, *pair) for one, pair in zip(listed, pairs, strict=True)]
        found = self._some_row(rows, [test.sql for test in tests])
        missing = [
            exp.Paren(this=exp.or_(test.sql, *(_is_missing(value) for value in pair if value.nullable), copy=True))
            if any(value.nullable for value in pair)
            else test.sql
            for test, pair in zip(tests, pairs, strict=True)
        ]
        if not any(test.nullable for test in tests):
            return Value.condition(found, nullable=False, constant=False)
        maybe = exp.If(this=self._some_row(rows, missing), true=exp.Null())
        sql = exp.Case(ifs=[exp.If(this=found, true=exp.true()), maybe], default=exp.false())
        return Value.condition(sql, nullable=True, constant=False)

    def _equal(self, node: exp.Expr, this: Value, other: Value) -> Value:
        """Whether a value of this row, written as ``node``, is that of another.

        A constant stays as it is written, since its type follows from the other side. Of all else nothing is looked up
        by a name that the client wrote: an alias of theirs may be one of ours.
        """
        this_side, other_side = exp.column("this"), exp.column("other")
        sides = _Sides({this_side: this, other_side: other})
        written = this_side if node.find(exp.Column, exp.Query) else node.copy()
        return condition(exp.EQ(this=written, expression=other_side), sides, self.dialect, "IN")

    @staticmethod
    def _some_row(rows: Source, tests: Sequence[exp.Expr]) -> exp.Exists:
        one = exp.Select(expressions=[exp.Literal.number(1)]).from_(rows.item.copy(), copy=False)
        one.set("where", exp.Where(this=exp.and_(*(test.copy() for test in tests), copy=False)))
        return exp.Exists(this=one)

    def scalar(self, node: exp.Subquery) -> Value:
        """``(SELECT …)`` of public rows, as one value: NULL where there is no row, and where there are several.

        With ``LIMIT 1`` it is the first by the order of the value itself, and the least where no order is asked: which
        row is taken then is nobody's promise. It reads no rows of people, so it is the same whoever comes or goes.
        """
        if _reads_outer_row(node.this):
            raise _of_the_outer_row()
        query, first, nulls_first = _first_of(node.this)
        relation = self.relation(query)
        if relation.unit is not None:
            raise Refused(
                "a subquery for one value returns rows of people",
                hint="aggregate them in it: (SELECT AVG(x) FROM …)",
                sqlstate=NOT_ALLOWED,
            )
        if len(relation.columns) != 1:
            raise Refused("a subquery in an expression needs one column", hint="select one column", sqlstate="42601")
        value = relation.columns[0][1]
        if value.type.kind in (Kind.BOOLEAN, Kind.NULL):
            raise Refused("a subquery of conditions is not answered", hint="write EXISTS, or compare a number")
        rows = exp.Subquery(this=relation.select(), alias=exp.TableAlias(this=exp.to_identifier("one")))
        if nulls_first and value.nullable:
            raise Refused(
                "the first of values that may be missing is not answered in a subquery for one value",
                hint="write NULLS LAST after its ORDER BY, or ask for MAX or MIN",
            )
        one = exp.Select(expressions=[(first or exp.Min)(this=exp.column("c0", "one"))]).from_(rows, copy=False)
        if first is None:
            alone = exp.LTE(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
            one.set("having", exp.Having(this=alone))
        found = value.carried_by(exp.Subquery(this=one)).unowned()
        return replace(found, nullable=True, constant=True, domain=None)

    def _by_way(self, left: Value, relation: Relation, right: Value, scope: BlockScope) -> Value | None:
        """Whether a row of the same person is listed, where equal values are one person's by another way to it.

        It is false where SQL says NULL, so that it stands where only truth counts. Both owners are compared.
        """
        alias = left.sql.text("table") if isinstance(left.sql, exp.Column) else ""
        ours = next((source.unit for source in scope.sources if source.alias == alias), None)
        same = (left.keys | left.ways) & (right.keys | right.ways)
        if relation.unit is None or ours is None or self._same_unit(left, right) or not any(map(self._is_unique, same)):
            return None
        if left.type.kind is not right.type.kind or compared_as_doubles(left, right):
            return None
        rows = relation.rows.copy()
        for one, other in ((right.sql, left.sql), (relation.unit, ours)):
            rows.where(exp.EQ(this=wrap(one.copy()), expression=wrap(other.copy())), copy=False)
        rows.set("expressions", [exp.Literal.number(1)])
        return Value.condition(exp.Exists(this=rows), nullable=False, constant=False)

    def exists(self, node: exp.Exists, scope: BlockScope) -> Value:
        """EXISTS tied to the outer row. By one equality alone, it is IN over that column."""
        select = unlimited_rows(node.this)
        if not isinstance(select, exp.Select) or is_grouped(select) or not select.args.get("where"):
            raise _correlated()
        inside = Inside(select)
        own: list[exp.Expr] = []
        ties: list[exp.Expr] = []
        for test in conjuncts(select.args["where"].this):
            (ties if any(column not in inside for column in _columns(test)) else own).append(test)
        if not ties:
            raise _correlated()
        read = list(dict.fromkeys(column for test in ties for column in _columns(test) if column in inside))
        select.set("where", exp.Where(this=exp.and_(*own)) if own else None)
        select.set("expressions", [column.copy() for column in read] or [exp.true()])
        relation = self.relation(select)
        values = {column: value for column, (_, value) in zip(read, relation.columns, strict=False)}
        links = [link for test in ties if (link := _link(test, values)) is not None]
        if len(ties) == len(links) == 1:
            left, right = scope.column(links[0][0]), values[links[0][1]]
            return self._by_way(left, relation, right, scope) or self._linked(left, relation, right)
        if relation.unit is not None and not any(
            self._same_unit(scope.column(outer), values[inner]) for outer, inner in links
        ):
            raise _other_people() if links else _correlated()
        rows = relation.rows.copy()
        tied = _Tied(scope, values)
        for test in ties:
            rows.where(condition(test, tied, self.dialect, "WHERE").sql, copy=False)
        rows.set("expressions", [exp.Literal.number(1)])
        return Value.condition(exp.Exists(this=rows), nullable=False, constant=False)

    def _linked(self, left: Value, relation: Relation, right: Value) -> Value:
        rows = relation.rows.copy()
        rows.where(exp.Not(this=exp.Is(this=wrap(right.sql.copy()), expression=exp.Null())), copy=False)
        value = self._in(left, replace(relation, rows=rows), right if right.unit else replace(right, nullable=False))
        sql = exp.Coalesce(this=value.sql, expressions=[exp.false()]) if value.nullable else value.sql
        return replace(value, sql=sql, nullable=False)

    def _in(self, left: Value, relation: Relation, right: Value) -> Value:
        if relation.unit is not None and not self._same_unit(left, right):
            raise _other_people()
        if relation.unit is not None and right.nullable:
            raise Refused(
                "IN over people whose key may be missing would compare everybody with nobody",
                hint="use an inner join inside of the subquery",
            )
        comparable = left.type.kind is right.type.kind or (left.type.numeric and right.type.numeric)
        if not comparable:
            raise Refused(f"{left.type} IN {right.type}", hint="cast one side", sqlstate=NO_FUNCTION)
        if compared_as_doubles(left, right):
            # No decimal has digits enough for both, and the engine would raise where one does not fit the other's.
            if relation.unit is not None:
                raise Refused(f"{left.type} IN {right.type}", hint="give both one type", sqlstate=NO_FUNCTION)
            left, right = (widen(value, DOUBLE, self.dialect) for value in (left, right))
        query = relation.rows.copy()
        query.set("expressions", [right.sql.copy()])
        member: exp.Expr = exp.In(this=wrap(left.sql), query=exp.Subquery(this=query))
        with_decimals = Kind.DECIMAL in (left.type.kind, right.type.kind)
        if relation.unit is not None and self.dialect.decimals_may_be_nan and with_decimals:
            # NaN is read as NULL: with one of them, NOT IN is true of nobody.
            query.where(exp.Not(this=exp.Is(this=wrap(right.sql.copy()), expression=exp.Null())), copy=False)
            member = exp.Coalesce(this=member, expressions=[exp.false()])
        if relation.unit is None:
            LISTED_COLUMN.on(member, variable_behind(right.sql))
        return Value.condition(
            member,
            nullable=left.nullable or right.nullable,
            constant=left.constant or (left.unit and not left.nullable),
        )

    def _same_unit(self, one: Value, other: Value) -> bool:
        """Whether equal values belong to one unit: both are its key, or both hold one declared key."""
        if one.unit and other.unit:
            return True
        return any(self._is_unique(key) for key in one.keys & other.keys)

    def _is_unique(self, key: OwnerKey) -> bool:
        """Whether the database keeps a key unique: else two rows that share it may belong to two units."""
        table = self.catalog.tables.get(key.table)
        found = None if table is None else table.columns.get(key.column)
        return found is not None and found.unique


def _asks_for_truth(node: exp.Expr) -> bool:
    """Whether WHERE asks for a condition as it stands, so that false is as good as NULL."""
    around = node.parent
    while isinstance(around, exp.And | exp.Or | exp.Paren):
        around = around.parent
    return around is None or isinstance(around, exp.Where)


class Inside:
    """Which columns are those of a subquery's own FROM. A name without a table is an output's, and its own."""

    def __init__(self, select: exp.Select) -> None:
        self._tables = frozenset(item.alias_or_name.lower() for item in from_items(select))

    def __contains__(self, column: exp.Column) -> bool:
        return not column.table or column.table.lower() in self._tables


@dataclass(frozen=True, slots=True)
class _Tied:
    """Where a condition finds its columns that compares a subquery's rows with the outer one."""

    outer: Scope
    inner: Mapping[exp.Column, Value]

    def column(self, node: exp.Column) -> Value:
        found = self.inner.get(node)
        return self.outer.column(node) if found is None else replace(found, sql=found.sql.copy())

    def membership(self, node: exp.In | exp.Exists | exp.Subquery) -> Value:
        raise _correlated()


@dataclass(frozen=True, slots=True)
class _Sides:
    """Where a comparison of two values finds them: by our own names."""

    values: Mapping[exp.Column, Value]

    def column(self, node: exp.Column) -> Value:
        return self.values[node]

    def membership(self, node: exp.In | exp.Exists | exp.Subquery) -> Value:
        raise AssertionError("two values are compared, and no subquery")


def _reads_outer_row(query: exp.Expr) -> bool:
    """Whether a SELECT reads columns that none of its items of FROM has."""
    if not isinstance(query, exp.Select):
        return False
    inside = Inside(query)
    return any(column not in inside for part in query.iter_expressions() for column in _columns(part))


def _columns(node: exp.Expr) -> Iterator[exp.Column]:
    return (found for found in walk(node) if isinstance(found, exp.Column))


def _link(test: exp.Expr, inner: Mapping[exp.Column, Value]) -> tuple[exp.Column, exp.Column] | None:
    """The outer row's column and the subquery's, where a condition is their equality."""
    sides = (test.this, test.expression) if isinstance(test, exp.EQ) else (None, None)
    one, other = (unparenthesised(side) if side is not None else None for side in sides)
    if not isinstance(one, exp.Column) or not isinstance(other, exp.Column) or (one in inner) == (other in inner):
        return None
    return (other, one) if one in inner else (one, other)


def unlimited_rows(query: exp.Expr) -> exp.Expr:
    """The rows of an EXISTS without what does not change whether there is one: their order, and a LIMIT above 0."""
    copy = query.copy()
    copy.set("order", None)
    limit = copy.args.get("limit")
    most = limit.args.get("count" if isinstance(limit, exp.Fetch) else "expression") if limit is not None else None
    if isinstance(most, exp.Literal) and most.name.isdecimal() and int(most.name) > 0:
        copy.set("limit", None)
    return copy


def _first_of(query: exp.Expr) -> tuple[exp.Expr, type[exp.Min | exp.Max] | None, bool]:
    """A subquery with ``LIMIT 1`` as all of its rows, with the aggregate that is the first of them, and whether a NULL
    would come before it; any other as it is.

    >>> import sqlglot
    >>> ask = "SELECT x FROM t ORDER BY x DESC LIMIT 1"
    >>> query, first, nulls_first = _first_of(sqlglot.parse_one(ask, read="postgres"))
    >>> query.sql(), first.__name__, nulls_first
    ('SELECT x FROM t', 'Max', True)
    """
    limit = query.args.get("limit")
    if not isinstance(query, exp.Select) or limit is None or query.args.get("offset") or len(query.expressions) != 1:
        return query, None, False
    most = limit.args.get("count" if isinstance(limit, exp.Fetch) else "expression")
    one = most == exp.Literal.number(1) or (most is None and isinstance(limit, exp.Fetch))
    if not one or query.args.get("group") or query.args.get("distinct"):
        return query, None, False
    (item,), order = query.expressions, query.args.get("order")
    first: type[exp.Min | exp.Max] = exp.Min
    nulls_first = False
    if order is not None:
        by = unparenthesised(order.expressions[0].this)
        named = isinstance(by, exp.Column) and by.name == item.alias_or_name
        if not named and by not in (unaliased(item), exp.Literal.number(1)):
            raise Refused(
                "the first row by another column is not answered in a subquery for one value",
                hint="order by the value itself, or compare: WHERE day = (SELECT MAX(day) FROM …)",
            )
        first = exp.Max if order.expressions[0].args.get("desc") else exp.Min
        nulls_first = bool(order.expressions[0].args.get("nulls_first"))
    copy = query.copy()
    copy.set("order", None)
    copy.set("limit", None)
    return copy, first, nulls_first


def _is_missing(value: Value) -> exp.Expr:
    return exp.Is(this=wrap(value.sql.copy()), expression=exp.Null())


def _other_people() -> Refused:
    return Refused("IN compares people with each other", hint=_SAME_PERSON)


def _correlated() -> Refused:
    return Refused(
        "this correlated subquery over people is not answered",
        hint="use EXISTS (SELECT 1 FROM visit v WHERE v.patient_id = p.id AND …), IN, or a join",
    )


def _of_the_outer_row() -> Refused:
    return Refused(
        "a subquery for one value reads a column that its own tables do not have",
        hint="what depends on the outer row is answered as EXISTS or IN, or as a join with a grouped subquery",
    )
