"""Sums of the counts and sums of groups, as counts and sums of fewer groups.

``SELECT SUM(n) FROM (SELECT day, COUNT(*) AS n FROM visit GROUP BY day) x`` needs no days.
Theorem: a sum of rows does not depend on how the rows were grouped before, nor do their least and their greatest value.
So ``SUM`` of ``COUNT`` or ``SUM``, ``MIN`` of ``MIN``, ``MAX`` of ``MAX``, ``BOOL_OR`` and ``BOOL_AND`` of themselves
may be taken over any coarser groups. A key that nothing reads is no key, a function of keys that alone is read is a key
in their place, and a condition on keys is one on the rows of their groups. Nothing may have chosen among the finer
groups by more than their keys: no HAVING or LIMIT of theirs, and no condition on what they count.

Beside the number of groups and means over groups, which need the groups, such sums are asked in subqueries of their
own.

Why: the total of m noisy groups has the noise of all of them, √m times that of a total, and lacks the rows that are in
no declared group. Groups of one person each stay as they are: their numbers have no noise, and bounds of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from sqlglot import exp

from rewriter.query.distinct_names import Labels, copied
from rewriter.query.merged_subqueries import body_of, is_volatile, read_columns
from rewriter.query.spread_joins import set_where
from rewriter.statement import (
    conjuncts,
    folded,
    from_items,
    is_grouped,
    is_window_function,
    output_name,
    unaliased,
    unparenthesised,
    walk,
)

_ADDED: Mapping[type[exp.Expr], tuple[type[exp.Expr], ...]] = {
    exp.Sum: (exp.Sum, exp.Count),
    exp.Min: (exp.Min,),
    exp.Max: (exp.Max,),
    exp.LogicalOr: (exp.LogicalOr,),
    exp.LogicalAnd: (exp.LogicalAnd,),
}
"""The aggregates of groups that an aggregate over groups makes into one of all their rows."""

_OUTER = frozenset({"expressions", "from_", "where", "group", "having", "order", "limit", "offset", "distinct"})
_INNER = frozenset({"expressions", "from_", "joins", "where", "group", "order"})
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.Is)
_COARSER = (exp.TimestampTrunc, exp.DateTrunc, exp.Extract)


def total_of_groups(select: exp.Select, persons: Set[str]) -> bool:
    """Coarsen the groups of a subquery in FROM that are only added up, in place; whether there was anything.

    ``persons`` are the names, in lower case, of columns by which groups may be those of one person each.
    """
    found = _Levels.of(select, persons)
    if found is None:
        return False
    changed = found.ask_inside() | found.group_by_functions()
    changed |= found.drop_unread()
    if changed:
        total_of_groups(found.body, persons)
    return changed


def totals_apart(select: exp.Select, persons: Set[str], labels: Labels) -> bool:
    """Ask sums over groups in subqueries of their own, beside numbers of groups and means over them, in place; whether
    there were any.

    The groups stay as they are, and so does what is counted of them; the totals are measured with them, as one family.
    """
    if len(from_items(select)) != 1 or _has_more(select, {"expressions", "from_", "where"}):
        return False
    calls = [node for item in select.expressions for node in walk(item) if isinstance(node, exp.AggFunc)]
    sums = [call for call in calls if isinstance(call, exp.Sum) and not _is_part(call)]
    if len(sums) == len(calls) or not all(_needs_groups(call) for call in calls if call not in sums):
        return False
    found = [(call, total) for call in sums if (total := _alone(call, select, persons, labels)) is not None]
    for call, total in found:
        name = output_name(call)
        value = exp.Subquery(this=total)
        call.replace(value if call.parent is not select else exp.alias_(value, name, quoted=True))
    return bool(found)


def _is_part(call: exp.Expr) -> bool:
    return isinstance(call.parent, exp.Filter) or is_window_function(call) or isinstance(call.this, exp.Distinct)


def _needs_groups(call: exp.AggFunc) -> bool:
    counted = isinstance(call, exp.Count) and isinstance(call.this, exp.Star)
    return (counted or isinstance(call, exp.Avg)) and not _is_part(call)


def _alone(call: exp.Sum, select: exp.Select, persons: Set[str], labels: Labels) -> exp.Select | None:
    """The SELECT of one sum over the same groups, where it needs fewer of them."""
    body = exp.Select(expressions=[call.copy()])
    for part in ("from_", "where"):
        if (found := select.args.get(part)) is not None:
            body.set(part, found.copy())
    body = copied(body, labels)
    return body if total_of_groups(body, persons) else None


@dataclass(frozen=True, slots=True)
class _Levels:
    """A SELECT, the groups that its FROM reads alone, and the groups' keys by the name of their column."""

    select: exp.Select
    item: exp.Expr
    body: exp.Select
    keys: Mapping[str, exp.Expr]

    @classmethod
    def of(cls, select: exp.Select, persons: Set[str]) -> _Levels | None:
        """None where more is made of the groups than coarser ones tell."""
        items = from_items(select)
        body = body_of(items[0]) if len(items) == 1 and not isinstance(items[0], exp.Lateral) else None
        if body is None or not is_grouped(select) or _has_more(select, _OUTER) or _has_more(body, _INNER):
            return None
        group = body.args.get("group")
        if group is None or _has_more(group, {"expressions"}) or not group.expressions:
            return None
        grouped = [unparenthesised(key) for key in group.expressions]
        if any(isinstance(key, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple) for key in grouped):
            return None
        if any(folded(column) in persons for key in grouped for column in key.find_all(exp.Column)):
            return None
        values = {output_name(one): unparenthesised(unaliased(one)) for one in body.expressions}
        keys = {name: value for name, value in values.items() if value in grouped}
        if any(value.find(exp.Window, exp.Query) for value in values.values()):
            return None
        if not all(
            folded(column) in keys or (folded(column) in values and _is_added(column, values[folded(column)], select))
            for column in read_columns(select, items[0])
        ):
            return None
        return cls(select, items[0], body, keys) if _only_adds_up(select, items[0].alias, keys.keys()) else None

    def ask_inside(self) -> bool:
        """Ask conditions that compare keys with constants of the rows of the groups."""
        where = self.select.args.get("where")
        tests = [] if where is None else list(conjuncts(where.this))
        inside = [test for test in tests if self._compares(test)]
        if inside:
            own = [] if (own_where := self.body.args.get("where")) is None else list(conjuncts(own_where.this))
            rest = [test for test in tests if not any(test is one for one in inside)]
            set_where(self.body, [*own, *(self._of_rows(test) for test in inside)])
            set_where(self.select, rest)
        return bool(inside)

    def _compares(self, test: exp.Expr) -> bool:
        is_list = isinstance(test, exp.In) and not test.args.get("query") and not test.args.get("unnest")
        if not is_list and not isinstance(test, _COMPARED):
            return False
        return all(_is_constant(one) or self._is_key(one) for one in test.iter_expressions())

    def _is_key(self, node: exp.Expr) -> bool:
        node = unparenthesised(node)
        own = isinstance(node, exp.Column) and node.text("table") == self.item.alias
        return own and folded(node) in self.keys

    def _of_rows(self, node: exp.Expr) -> exp.Expr:
        """An expression over keys, over what the keys are made of."""
        root = exp.Paren(this=node.copy())
        for column in list(root.find_all(exp.Column)):
            value = self.keys[folded(column)].copy()
            column.replace(value if isinstance(value, exp.Column | exp.Func) else exp.Paren(this=value))
        found: exp.Expr = root.this
        return found.pop()

    def group_by_functions(self) -> bool:
        """Group by a function of keys in the place of the keys, where nothing else of them is read."""
        group = self.select.args.get("group")
        asked = [node for node in (group.expressions if group is not None else ()) if isinstance(node, _COARSER)]
        functions = list(dict.fromkeys(node for node in asked if all(map(self._is_key, node.find_all(exp.Column)))))
        if not functions or group is None or _has_more(group, {"expressions"}):
            return False
        places = [node for part in _parts(self.select) for node in part.walk() if node in functions]
        within = {id(column) for place in places for column in place.find_all(exp.Column)}
        rest = {folded(one) for one in read_columns(self.select, self.item) if id(one) not in within}
        if any(folded(column) in rest for node in functions for column in node.find_all(exp.Column)):
            return False
        taken = {output_name(one) for one in self.body.expressions}
        names = [name for n in range(len(taken) + len(functions)) if (name := f"k{n}") not in taken]
        named: dict[exp.Expr, str] = dict(zip(functions, names, strict=False))
        for node, name in named.items():
            value = self._of_rows(node)
            self.body.append("expressions", exp.alias_(value, name, quoted=True))
            self.body.args["group"].append("expressions", value.copy())
        for place in places:
            column = exp.column(named[place], self.item.alias, quoted=True)
            is_item = isinstance(place.parent, exp.Select) and place.arg_key == "expressions"
            place.replace(exp.alias_(column, output_name(place), quoted=True) if is_item else column)
        return True

    def drop_unread(self) -> bool:
        """Leave out keys that nothing reads, and aggregates that nothing adds up."""
        read = {folded(column) for column in read_columns(self.select, self.item)}
        grouped: list[exp.Expr] = self.body.args["group"].expressions
        shown = [unparenthesised(unaliased(one)) for one in self.body.expressions if output_name(one) in read]
        kept = [key for key in grouped if unparenthesised(key) in shown]
        if len(kept) == len(grouped):
            return False
        self.body.set("expressions", [one for one in self.body.expressions if output_name(one) in read])
        self.body.set("group", exp.Group(expressions=kept) if kept else None)
        self.body.set("order", None)
        return True


def _has_more(node: exp.Expr, parts: Set[str]) -> bool:
    return any(value for name, value in node.args.items() if name not in parts)


def _parts(select: exp.Select) -> Iterator[exp.Expr]:
    yield from list(select.expressions)
    yield from (part for name in ("group", "having", "order") if (part := select.args.get(name)) is not None)


def _only_adds_up(select: exp.Select, item: str, keys: Set[str]) -> bool:
    """Whether there are aggregates over groups, and each is made of one column of these that is no key."""
    calls = [node for part in _parts(select) for node in part.find_all(exp.AggFunc) if node.parent_select is select]
    calls = [node for node in calls if not isinstance(node, exp.Grouping) and not is_window_function(node)]
    return bool(calls) and all(
        isinstance(column := _bare(node.this, type(node)), exp.Column)
        and column.text("table") == item
        and folded(column) not in keys
        for node in calls
    )


def _is_added(column: exp.Column, value: exp.Expr, select: exp.Select) -> bool:
    """Whether a column of groups is read to be added up, as the aggregate that it is."""
    node: exp.Expr = column
    while isinstance(node.parent, exp.Paren | exp.Coalesce | exp.Cast):
        node = node.parent
    call = node.parent
    if not isinstance(call, exp.AggFunc) or call.parent_select is not select or is_window_function(call):
        return False
    of = _bare(value, type(call))
    of = of.this if isinstance(of, exp.Filter) else of
    own = isinstance(of, _ADDED.get(type(call), ())) and not isinstance(of.this, exp.Distinct)
    return own and _bare(call.this, type(call)) is column


def _bare(node: exp.Expr, call: type[exp.Expr]) -> exp.Expr:
    """What an aggregate of groups is made of, without what may be done after the aggregate as well: a double of an
    exact number, and 0 for NULL in a sum."""
    while True:
        if isinstance(node, exp.Coalesce):
            done = call is exp.Sum and all(isinstance(one, exp.Literal) and one.name == "0" for one in node.expressions)
        else:
            done = isinstance(node, exp.Paren) or (type(node) is exp.Cast and node.to.is_type(exp.DType.DOUBLE))
        if not done:
            return node
        node = node.this


def _is_constant(node: exp.Expr) -> bool:
    return node.find(exp.Column, exp.Query) is None and not is_volatile(node)
