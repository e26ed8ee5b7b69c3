"""FROM in one form: items in order, equalities of two items in ON, all else in WHERE.

Theorem: an inner join has the rows of the product that its condition is true of, and a condition of an inner join that
no outer join stands around may be asked before or after the joins that follow. So ``FROM a, b WHERE a.x = b.x AND p``,
``FROM a JOIN b ON b.x = a.x AND p`` and ``FROM a CROSS JOIN b WHERE …`` are one query. ``a RIGHT JOIN b`` is
``b LEFT JOIN a``. Nothing is moved where RIGHT or FULL is left.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from sqlglot import exp

from rewriter.statement import conjuncts, from_items, null_safe, unparenthesised


def spread(select: exp.Select) -> bool:
    """Spread the joins of a SELECT, in place; whether anything is another than it was."""
    joins: list[exp.Join] = select.args.get("joins") or []
    if not joins:
        return False
    turned = _turned(select)
    if any(join.side.upper() in ("RIGHT", "FULL") for join in joins):
        return turned
    before = [(join.kind, join.args.get("on")) for join in joins], select.args.get("where")
    places = {item.alias_or_name: place for place, item in enumerate(from_items(select))}
    tests: list[exp.Expr] = []
    for join in joins:
        if not join.side and join.args.get("on") is not None:
            tests += conjuncts(join.args["on"])
            join.set("on", None)
    if (where := select.args.get("where")) is not None:
        tests += conjuncts(where.this)
    found: dict[int, list[exp.Expr]] = {}
    rest: list[exp.Expr] = []
    for test in tests:
        place = _place(test, places)
        if place is None or joins[place - 1].side:
            if not (isinstance(test, exp.Boolean) and test.this):
                rest.append(test)
        else:
            found.setdefault(place, []).append(_turned_equality(test, places))
    for place, join in enumerate(joins, 1):
        if join.side:
            continue
        join.set("on", all_of(found.get(place, ())))
        join.set("kind", None if place in found else "CROSS")
    set_where(select, rest)
    return turned or before != ([(join.kind, join.args.get("on")) for join in joins], select.args.get("where"))


def all_of(tests: Iterable[exp.Expr]) -> exp.Expr | None:
    """The conjunction of conditions; None of none."""
    found = list(tests)
    if len(found) > 1:
        found = [exp.Paren(this=test) if isinstance(test, exp.Connector) else test for test in found]
    return reduce(lambda one, other: exp.And(this=one, expression=other), found) if found else None


def set_where(select: exp.Select, tests: Iterable[exp.Expr]) -> None:
    test = all_of(tests)
    select.set("where", None if test is None else exp.Where(this=test))


def _turned(select: exp.Select) -> bool:
    """``a RIGHT JOIN b`` as ``b LEFT JOIN a``, where nothing is joined before."""
    join = select.args["joins"][0]
    first = select.args["from_"].this
    if join.side.upper() != "RIGHT" or isinstance(join.this, exp.Lateral) or isinstance(first, exp.Lateral):
        return False
    other = join.this
    join.set("this", first.copy())
    select.args["from_"].set("this", other.copy())
    join.set("side", "LEFT")
    return True


def _place(test: exp.Expr, places: dict[str, int]) -> int | None:
    """The later one of the two items that an equality compares, be NULL equal to NULL or not."""
    test = unparenthesised(test)
    equal = test if isinstance(test, exp.EQ) else null_safe(test)
    if equal is None:
        return None
    sides = [_item(side, places) for side in (equal.this, equal.expression)]
    if sides[0] is None or sides[1] is None or sides[0] == sides[1]:
        return None
    return max(sides[0], sides[1])


def _item(side: exp.Expr, places: dict[str, int]) -> int | None:
    """The one item whose columns an expression reads; None where it reads several, or asks a query."""
    if side.find(exp.Query) is not None:
        return None
    read = {places.get(column.text("table")) for column in side.find_all(exp.Column)}
    return read.pop() if len(read) == 1 else None


def _turned_equality(test: exp.Expr, places: dict[str, int]) -> exp.Expr:
    """An equality, the side of the earlier item first."""
    test = unparenthesised(test)
    if not isinstance(test, exp.EQ):
        return test
    one, other = unparenthesised(test.this), unparenthesised(test.expression)
    first, second = _item(one, places), _item(other, places)
    if first is None or second is None or first < second:
        return test
    return exp.EQ(this=other, expression=one)
