"""A public list with people counted beside it: ``days LEFT JOIN visit ON visit.day = days.d GROUP BY days.d``.

Rows of the list that nobody matches belong to nobody. So the people are aggregated by what they are joined on, and the
list is joined with the answer: what nobody matches has a count of 0, and NULL for other aggregates.

    SELECT d, COUNT(v.id) FROM days LEFT JOIN visit AS v ON v.day = d GROUP BY d
    SELECT d, COALESCE(SUM(a0), 0) FROM days
      LEFT JOIN (SELECT v.day AS j0, COUNT(v.id) AS a0 FROM visit AS v GROUP BY v.day) AS people ON d = j0 GROUP BY d

Conditions of another kind, ``s.begun <= m.month AND s.ended > m.month``, join people with the different values of the
list that they read; people are then grouped by these values.

A sum over a group of the list adds up the sums of its rows, and a mean is that of their means, each as often as it has
values; any other aggregate is answered where the groups are those that people are joined on.

People in the steps of a list of times: ``v.ts >= g.d AND v.ts < g.d + INTERVAL '1 month'``, as one equality.

The list is a series whose step is that interval. So a time lies in one step at most, and its beginning is computed of
the time: ``DATE_TRUNC('month', v.ts) = g.d``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import Type
from rewriter.dialects import MIRRORED, Dialect
from rewriter.expressions import constant_point, constant_span, floor_to
from rewriter.query import reads_outside
from rewriter.refused import Refused
from rewriter.split.bins import written_values
from rewriter.split.series_rows import local_moment
from rewriter.statement import (
    conjuncts,
    from_items,
    grouped_item,
    is_aggregate,
    output_name,
    unaliased,
    unparenthesised,
    walk,
)

_PEOPLE, _LIST = "dpsql_people", "dpsql_list"
_STRICT = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In, exp.Like, exp.ILike)
_OTHERWISE = (exp.Coalesce, exp.Is, exp.Case, exp.If, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Concat, exp.Nullif)
"""What may have a value where what it reads is NULL."""


def with_people_aggregated(select: exp.Select, private: Sequence[bool], dialect: Dialect) -> exp.Select | None:
    """The SELECT over a public list and aggregates over people; None where it has another form.

    ``private`` says of each item of FROM whether it holds people.
    """
    found = _Sides.of(select, private)
    if found is None:
        return None
    try:
        return _Spine(select, found, dialect).rewritten()
    except Refused:
        if found.inner:  # It is a join of people with public rows as well.
            return None
        raise


@dataclass(slots=True)
class _Sides:
    """The items of FROM: the public ones, with their joins, and those of people, the first of them joined ``on``."""

    public: exp.Select
    people: exp.Select
    on: list[exp.Expr]
    names: frozenset[str]
    inner: bool = False
    """Whether rows of the list that nobody matches are left out."""

    @classmethod
    def of(cls, select: exp.Select, private: Sequence[bool]) -> _Sides | None:
        items, joins = from_items(select), list(select.args.get("joins") or ())
        if select.args.get("laterals") or any(join.method for join in joins):
            return None
        inner = len(items) == 2 and len(joins) == 1 and _is_series_beside(items[list(private).index(False)], joins[0])
        if inner and list(private) == [True, False]:
            items, private = [items[1], items[0]], [False, True]
            joins = [exp.Join(**{**joins[0].args, "this": items[1]})]
        if private[0] or True not in private:
            return None
        first = list(private).index(True)
        left, rest = joins[first - 1], joins[first:]
        if not (inner or left.side.upper() == "LEFT") or not all(private[first:]):
            return None
        if any(one.side.upper() != "LEFT" for one in rest):
            return None
        theirs, ours = items[first:], items[:first]
        names = frozenset(item.alias_or_name.lower() for item in theirs)
        public = exp.Select().from_(ours[0].copy(), copy=False)
        public.set("joins", [join.copy() for join in joins[: first - 1]])
        people = exp.Select().from_(theirs[0].copy(), copy=False)
        people.set("joins", [join.copy() for join in rest])
        on = list(conjuncts(left.args["on"])) if left.args.get("on") is not None else []
        return cls(public, people, on, names, inner)

    def tied(self, select: exp.Select) -> list[exp.Expr]:
        """The conditions that tie people to the list: those of ON, and of WHERE where both mean the same."""
        where = select.args.get("where")
        tests = [] if where is None or not self.inner else conjuncts(where.this)
        return [*self.on, *(test for test in tests if self.side(test) == "both")]

    def side(self, node: exp.Expr) -> str:
        """Whose columns an expression reads: of the "public" list, of "people", of "both", or "none"."""
        apart = [query for query in node.find_all(exp.Query) if not reads_outside(query, query)]
        hidden = {id(column) for query in apart for column in query.find_all(exp.Column)}
        sides = {self._of(column) for column in node.find_all(exp.Column) if id(column) not in hidden}
        return "both" if len(sides) > 1 else next(iter(sides), "none")

    def _of(self, column: exp.Column) -> str:
        return "people" if column.table.lower() in self.names else "public"


def _is_series_beside(listed: exp.Expr, join: exp.Join) -> bool:
    """Whether people are joined with a series, and rows that match nothing are left out: no table has its rows."""
    kind, side = (str(join.args.get(part) or "").upper() for part in ("kind", "side"))
    made = isinstance(listed, exp.Subquery) and listed.find(exp.Table) is None and listed.find(exp.Values) is not None
    return made and kind in ("", "INNER", "CROSS") and not side


@dataclass(slots=True)
class _Spine:
    select: exp.Select
    sides: _Sides
    dialect: Dialect
    aggregates: list[exp.Expr] = field(default_factory=list)
    keeps: bool = False
    """Whether every row of the list is kept, once, whoever matches it."""

    def rewritten(self) -> exp.Select:
        sides, pairs = self.sides, list[tuple[exp.Expr, exp.Expr]]()
        beside: list[exp.Expr] = []
        asked: list[exp.Expr] = []
        tied: list[exp.Expr] = []
        for test in as_bins(sides.tied(self.select), sides.public, sides.side, self.dialect):
            pair = self._pair(test)
            if pair is not None:
                pairs.append(pair)
            else:
                {"both": tied, "people": asked}.get(sides.side(test), beside).append(test.copy())
        limits = [limit for listed, own in pairs for limit in _limits(sides.public, listed, own, self.dialect)]
        if tied and (sides.inner or any(test.find(exp.Query) for test in tied)):
            raise _refused("join people by =, such as visit.day = days.d or DATE_TRUNC('month', visit.day) = days.d")
        where, inner = self._where()
        self.keeps = not (inner or sides.inner)
        listed = self._beside_list(tied, [*beside, *where]) if tied else []
        if not (pairs or tied):
            raise _refused("join people by =, such as visit.day = days.d")
        outer = self._outer([*pairs, *listed])
        asked += inner
        people = sides.people
        people.set("expressions", self._measured([*pairs, *listed]))
        people.set("group", exp.Group(expressions=[own.copy() for _, own in [*pairs, *listed]]))
        asked += limits
        if asked:
            people.set("where", exp.Where(this=exp.and_(*asked, copy=False)))
        joined = exp.Subquery(this=people, alias=exp.TableAlias(this=exp.to_identifier(_PEOPLE)))
        kinds = [exp.EQ] * len(pairs) + [exp.NullSafeEQ] * len(listed)
        tests = [
            kind(this=value.copy(), expression=_of_people(f"j{n}"))
            for n, (kind, (value, _)) in enumerate(zip(kinds, [*pairs, *listed], strict=True))
        ]
        side = "LEFT" if self.keeps else ""
        join = exp.Join(this=joined, on=exp.and_(*tests, *beside, copy=False), side=side)
        outer.set("from_", sides.public.args["from_"])
        outer.set("joins", [*(sides.public.args.get("joins") or ()), join])
        outer.set("where", exp.Where(this=exp.and_(*where, copy=False)) if where else None)
        return outer

    def _beside_list(self, tied: Sequence[exp.Expr], chosen: Sequence[exp.Expr]) -> list[tuple[exp.Expr, exp.Expr]]:
        """Joins people with the different values of the list that ``tied`` reads, in its ``chosen`` rows, and pairs the
        list with these values, which may be NULL."""
        columns = [column for test in tied for column in test.find_all(exp.Column)]
        listed = list(dict.fromkeys(column.copy() for column in columns if self.sides.side(column) == "public"))
        names = [column.name for column in listed]
        own = {
            column: exp.column(name if names.count(name) == 1 else f"l{n}", _LIST)
            for n, (column, name) in enumerate(zip(listed, names, strict=True))
        }
        values = self.sides.public.copy().distinct()
        values.set("expressions", [exp.alias_(column.copy(), found.name) for column, found in own.items()])
        values.where(*(test.copy() for test in chosen if self.sides.side(test) == "public"), copy=False)
        on = exp.and_(*tied, copy=False).transform(lambda node: own[node].copy() if node in own else node)
        item = exp.Subquery(this=values, alias=exp.TableAlias(this=exp.to_identifier(_LIST)))
        self.sides.people.append("joins", exp.Join(this=item, on=on))
        return list(own.items())

    def _pair(self, test: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
        """The two sides of ``listed = of people``."""
        node = unparenthesised(test)
        if not isinstance(node, exp.EQ):
            return None
        sides = (self.sides.side(node.this), self.sides.side(node.expression))
        if sides == ("public", "people"):
            return node.this, node.expression
        return (node.expression, node.this) if sides == ("people", "public") else None

    def _where(self) -> tuple[list[exp.Expr], list[exp.Expr]]:
        """The conditions on the list, and those on people, which no row passes that has none."""
        where = self.select.args.get("where")
        listed: list[exp.Expr] = []
        people: list[exp.Expr] = []
        for test in () if where is None else conjuncts(where.this):
            if self.sides.side(test) in ("public", "none"):
                listed.append(test.copy())
            elif self.sides.inner:  # what ties both is read with ON
                people += [] if self.sides.side(test) == "both" else [test.copy()]
            elif self.sides.side(test) == "people" and type(test) in _STRICT and test.find(*_OTHERWISE) is None:
                people.append(test.copy())
            else:
                raise _refused("put the conditions on people into ON")
        return listed, people

    # What is shown

    def _outer(self, pairs: Sequence[tuple[exp.Expr, exp.Expr]]) -> exp.Select:
        group = self.select.args.get("group")
        keys = [grouped_item(key, self.select) for key in (group.expressions if group is not None else ())]
        if group is not None and {name for name, part in group.args.items() if part} != {"expressions"}:
            raise _refused("GROUP BY plain columns of the list")
        if any(self.sides.side(key) in ("people", "both") for key in keys):
            raise _refused("GROUP BY columns of the list alone, or write JOIN in the place of LEFT JOIN")
        each = all(any(self._tells(key, listed) for key in keys) for listed, _ in pairs)
        outer = self.select.copy()
        for item in list(outer.expressions):
            if not isinstance(item, exp.Alias) and item.find(exp.AggFunc) is not None:
                item.replace(exp.alias_(item.copy(), output_name(item), quoted=True, copy=False))
        parts = [*outer.expressions, *(outer.args.get(name) for name in ("having", "order"))]
        found = [
            node
            for part in parts
            if part is not None
            for node in walk(part)
            if isinstance(node, exp.AggFunc) and is_aggregate(node)
        ]
        for node in found:
            if isinstance(node.parent, exp.Window):
                continue
            asked: exp.Expr = node
            while isinstance(asked.parent, exp.Filter | exp.WithinGroup):
                asked = asked.parent
            asked.replace(self._over_list(asked, each=each))
        if any(self.sides.side(part) in ("people", "both") for part in parts if part is not None):
            raise _refused("show columns of the list, and aggregates over people")
        return outer

    def _tells(self, key: exp.Expr, listed: exp.Expr) -> bool:
        """Whether rows of the list that have one ``key`` have one ``listed`` value, too: the key is that value, or
        differs for each constant that the list has."""
        columns = {*key.find_all(exp.Column), *listed.find_all(exp.Column)}
        if key == listed or len(columns) != 1:
            return key == listed
        values = _values(self.sides.public, next(iter(columns)))
        points = _points((_at(key, value) for value in values), self.dialect)
        return bool(points) and len({place for _, place in points}) == len(set(_points(values, self.dialect)))

    def _over_list(self, asked: exp.Expr, *, each: bool) -> exp.Expr:
        """An aggregate over people as one over the list's rows."""
        inner = next(iter(asked.find_all(exp.AggFunc)))
        if self.sides.inner and isinstance(inner, exp.Count) and isinstance(inner.this, exp.Star):
            pass
        elif self.sides.side(asked) != "people":
            different = isinstance(inner, exp.Min | exp.Max) or (inner.find(exp.Distinct) is not None and self.keeps)
            if self.sides.side(asked) == "public" and different:
                return asked.copy()
            if not isinstance(inner, exp.Count):
                raise _refused("aggregate columns of people alone, or different values of the list, COUNT(DISTINCT d)")
            raise _refused(
                "COUNT(*) counts rows of the list that nobody matches: count a column of people, COUNT(v.id)"
            )
        nothing = isinstance(inner, exp.Count)
        if not nothing and (otherwise := asked.find(*_OTHERWISE)) is not None:
            if not isinstance(inner, exp.Sum) or not _is_zero_for_nobody(inner.this, otherwise):
                raise _refused("leave out COALESCE and CASE below the aggregate: COALESCE(SUM(x), 0)")
            nothing = True
        if (
            isinstance(inner, exp.Count)
            and asked.find(exp.Coalesce, exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ) is not None
        ):
            raise _refused("count a column of people, COUNT(v.id)")
        adds_up = isinstance(inner, exp.Sum | exp.Count) and inner.find(exp.Distinct) is None
        if not adds_up and not each:
            if isinstance(inner, exp.Avg) and inner.find(exp.Distinct) is None:
                return self._mean(asked)
            raise _refused("GROUP BY what people are joined on")
        column = _of_people(f"a{self._place(asked)}")
        found: exp.Expr = exp.Sum(this=column) if adds_up else exp.Max(this=column)
        if nothing:
            found = exp.Coalesce(this=found, expressions=[exp.Literal.number("0")])
        return exp.cast(found, "bigint") if isinstance(inner, exp.Count) else found

    def _mean(self, asked: exp.Expr) -> exp.Expr:
        """The mean over several rows of the list: that of their means, each as often as it has values."""
        counted = asked.transform(lambda node: exp.Count(this=node.this) if isinstance(node, exp.Avg) else node)
        mean, often = (_of_people(f"a{self._place(one)}") for one in (asked, counted))
        added = exp.Sum(this=exp.Mul(this=mean, expression=often))
        values = exp.Nullif(this=exp.Sum(this=often.copy()), expression=exp.Literal.number(0))
        return exp.Paren(this=exp.Div(this=added, expression=values))

    def _place(self, asked: exp.Expr) -> int:
        if asked not in self.aggregates:
            self.aggregates.append(asked.copy())
        return self.aggregates.index(asked)

    def _measured(self, pairs: Sequence[tuple[exp.Expr, exp.Expr]]) -> list[exp.Expr]:
        joined = [exp.alias_(own.copy(), f"j{n}", copy=False) for n, (_, own) in enumerate(pairs)]
        return [*joined, *(exp.alias_(one.copy(), f"a{n}", copy=False) for n, one in enumerate(self.aggregates))]


def _is_zero_for_nobody(summed: exp.Expr, otherwise: exp.Expr) -> bool:
    """Whether a summand is 0 where people have only NULLs: COALESCE(x, 0), CASE WHEN x = 1 THEN y ELSE 0 END."""
    if otherwise is not summed:
        return False
    if isinstance(summed, exp.Coalesce):
        last = summed.expressions[-1:] or [exp.Null()]
        return len(summed.expressions) == 1 and _is_zero(last[0]) and summed.this.find(*_OTHERWISE) is None
    if not isinstance(summed, exp.Case) or not _is_zero(summed.args.get("default")):
        return False
    tests = [branch.this for branch in summed.args["ifs"]]
    return all(type(test) in _STRICT and test.find(*_OTHERWISE) is None for test in tests)


def _is_zero(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Literal) and node.name in ("0", "0.0")


def _of_people(name: str) -> exp.Column:
    return exp.column(name, _PEOPLE)


_KEEP_ROWS = frozenset({"expressions", "from_", "where", "distinct", "order", "limit"})
_MONOTONE = (exp.Column, exp.Identifier, exp.Cast, exp.DataType, exp.Paren, exp.TimestampTrunc, exp.Var)


def _limits(public: exp.Select, listed: exp.Expr, own: exp.Expr, dialect: Dialect) -> Iterable[exp.Expr]:
    """What people are joined on lies between the ends of the times that the list has."""
    columns = list(listed.find_all(exp.Column))
    if len(columns) != 1 or not all(isinstance(one, _MONOTONE) for one in listed.walk()):
        return
    values = [_at(listed, value) for value in _values(public, columns[0])]
    points = _points(values, dialect)
    if len(points) > 1 and all(kind.temporal for kind, _ in points):
        places = [place for _, place in points]
        low, high = (values[places.index(end)] for end in (min(places), max(places)))
        yield exp.Between(this=own.copy(), low=low, high=high)


def _at(listed: exp.Expr, value: exp.Expr) -> exp.Expr:
    """An expression of one column, of a value in its place."""
    return listed.transform(lambda node: value.copy() if isinstance(node, exp.Column) else node)


def _refused(hint: str) -> Refused:
    return Refused("this outer join keeps rows that belong to nobody", hint=hint)


_DAY = 86_400_000_000
_UNITS = {
    (0, 0, 60_000_000): "minute", (0, 0, 3_600_000_000): "hour", (0, 1, 0): "day", (0, 7, 0): "week",
    (1, 0, 0): "month", (3, 0, 0): "quarter", (12, 0, 0): "year",
}  # fmt: skip


def as_bins(
    tests: Sequence[exp.Expr], public: exp.Select, side: Callable[[exp.Expr], str], dialect: Dialect
) -> list[exp.Expr]:
    """The conditions, with such a pair as one equality, where the list is a series of that step; else as they were."""
    plain = [unparenthesised(test) for test in tests]
    for place, low in enumerate(plain):
        first = _ordered(low, side, exp.GTE)
        for other, high in enumerate(plain) if first is not None else ():
            last = _ordered(high, side, exp.LT)
            if first is None or last is None or first[0] != last[0]:
                continue
            own, listed = first
            if not isinstance(listed, exp.Column):
                continue
            end = unparenthesised(last[1])
            if not isinstance(end, exp.Add) or end.this != listed:
                continue
            span = constant_span(end.expression, dialect)
            begins = None if span is None else _beginning(own, span, _values(public, listed), dialect)
            if begins is not None:
                rest = [test for number, test in enumerate(tests) if number not in (place, other)]
                return [exp.EQ(this=listed.copy(), expression=begins), *rest]
    return list(tests)


def _ordered(test: exp.Expr, side: Callable[[exp.Expr], str], kind: type[exp.Expr]) -> tuple[exp.Expr, exp.Expr] | None:
    """The two sides of ``people >= list`` or ``people < list``, whichever way it is written."""
    if type(test) not in MIRRORED:
        return None
    left, right = test.this, test.args["expression"]
    found = type(test)
    if (side(left), side(right)) == ("public", "people"):
        left, right, found = right, left, MIRRORED[type(test)]
    return (left, right) if found is kind and (side(left), side(right)) == ("people", "public") else None


def _values(public: exp.Select, column: exp.Column) -> list[exp.Expr]:
    """Constants that include all values of a column of the list; none where the text does not say them."""
    items = [item for item in from_items(public) if item.alias_or_name.lower() == column.table.lower()]
    return _values_in(items[0], column) if len(items) == 1 else []


def _values_in(item: exp.Expr, column: exp.Column) -> list[exp.Expr]:
    """Those of a column of rows that are written down, or of a subquery that computes it of one, for each row alone.

    A condition, DISTINCT, ORDER BY or LIMIT of the subquery leaves rows out, and changes none.
    """
    if isinstance(item, exp.Values):
        return written_values(item, column)
    select = item.this if isinstance(item, exp.Subquery) else None
    if (
        not isinstance(select, exp.Select)
        or item.args["alias"].args.get("columns")
        or {part for part, value in select.args.items() if value} - _KEEP_ROWS
    ):
        return []
    shown = [one for one in select.expressions if output_name(one).lower() == column.name.lower()]
    inner = from_items(select)
    if len(shown) != 1 or len(inner) != 1:
        return []
    value = unaliased(shown[0])
    columns = list(value.find_all(exp.Column))
    if len(columns) != 1:
        return []
    return [_at(value, one) for one in _values_in(inner[0], columns[0])]


def _points(values: Iterable[exp.Expr], dialect: Dialect) -> list[tuple[Type, Fraction]]:
    """The types of constants and their places on the number line; none where one of them has none."""
    found = [constant_point(value, dialect) for value in values]
    known = [point for point in found if point is not None]
    return known if len(known) == len(found) else []


def _beginning(
    own: exp.Expr, span: tuple[int, int, int], values: Sequence[exp.Expr], dialect: Dialect
) -> exp.Expr | None:
    """When the step around a time of people begins; None where the series has other steps."""
    unit = _UNITS.get(span)
    points = _points(values, dialect)
    if unit is None or not points or not all(kind.temporal for kind, _ in points):
        return None
    moments = [local_moment(place, kind, dialect.zone) for kind, place in points]
    if any(floor_to(unit, moment) != moment for moment in moments):
        return None
    return exp.TimestampTrunc(this=own.copy(), unit=exp.Var(this=unit.upper()))
