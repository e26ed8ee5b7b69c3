"""Keys that have nothing in common are listed apart: seven days of the week by twenty-four hours are 168 groups.

Guarantee: the same groups as of all lists together. Keys belong together where they read the same list, or lists that
a condition ties to each other; every group of one such part stands beside every group of another. So each part is
listed to its distinct groups before they are multiplied, however many values are behind them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.keys.declared_lists import Item
from rewriter.once import once


@dataclass(frozen=True, slots=True)
class SeparateKeys:
    """The keys at some ``places`` of a GROUP BY, the lists that they read, and the conditions that read these.

    At most ``most`` groups are counted on; where that is not proved of what is listed, the list is ``cut`` to the first
    of them, in the order of the keys.
    """

    places: tuple[int, ...]
    items: tuple[Item, ...]
    conditions: tuple[exp.Expr, ...]
    most: int = 0
    cut: bool = False

    @property
    def limit(self) -> int | None:
        return self.most if self.cut else None

    @property
    def grows(self) -> bool:
        return any(item.grows for item in self.items)

    @property
    def size(self) -> int:
        """How many combinations of values are behind the keys, at most."""
        return math.prod(item.size for item in self.items if not item.linked)

    def loose(self, needed: Sequence[exp.Expr]) -> SeparateKeys:
        """The part without the conditions that tie lists to each other, but for those that are ``needed``."""
        kept = (one for one in self.conditions if any(one is other for other in needed) or len(tables_of(one)) < 2)
        return replace(self, conditions=tuple(kept))


@once
def tables_of(node: exp.Expr) -> frozenset[str]:
    """The lists that a node reads; columns within a public table have no table's name."""
    return frozenset(column.table for column in node.find_all(exp.Column) if column.table)


def parts(keys: Sequence[exp.Expr], items: Sequence[Item], conditions: Sequence[exp.Expr]) -> tuple[SeparateKeys, ...]:
    """The lists, in the order of the keys. Lists that no key needs are left out, with their conditions.

    >>> import sqlglot
    >>> keys = [sqlglot.parse_one(sql) for sql in ("hour(a.x)", "b.x + c.x", "dow(a.x)", "1")]
    >>> items = [Item(exp.Subquery(this=exp.select("1"), alias=name), 10) for name in "abc"]
    >>> [(part.places, part.size) for part in parts(keys, items, [])]
    [((0, 2), 10), ((1,), 100), ((3,), 1)]
    """
    together: list[frozenset[str]] = []
    for node in (*keys, *conditions):
        tables = tables_of(node)
        near = [one for one in together if one & tables]
        together = [one for one in together if not one & tables] + ([tables.union(*near)] if tables else [])
    places: dict[frozenset[str], list[int]] = {}
    for place, key in enumerate(keys):
        tables = next((one for one in together if one & tables_of(key)), frozenset[str]())
        places.setdefault(tables, []).append(place)
    return tuple(
        SeparateKeys(
            tuple(found),
            tuple(item for item in items if item.sql.alias in tables),
            tuple(one for one in conditions if tables_of(one) & tables),
        )
        for tables, found in places.items()
    )


def of_parts(columns: Sequence[exp.Expr], found: Sequence[SeparateKeys], always: Sequence[exp.Expr]) -> exp.Select:
    """Every group once, as the aliased ``columns``. ``always`` are conditions that read no list.

    Text that reads no list stands beside the parts that do.
    """
    listed = [part for part in found if part.items]
    if len(listed) < 2:
        items = [item for part in listed for item in part.items]
        asked = [*(one for part in listed for one in part.conditions), *always]
        most = next((part.limit for part in listed), None)
        return _select(columns, items, asked if items else (), most)
    names = {place: f"p{number}" for number, part in enumerate(listed) for place in part.places}
    outer = [
        exp.alias_(exp.column(column.alias, names[place]), column.alias) if place in names else column
        for place, column in enumerate(columns)
    ]
    inner = [
        exp.Subquery(
            this=_select([columns[place] for place in part.places], part.items, part.conditions, part.limit),
            alias=exp.TableAlias(this=exp.to_identifier(f"p{number}")),
        )
        for number, part in enumerate(listed)
    ]
    select = _select(outer, [Item(one, 0) for one in inner], always)
    select.set("distinct", None)
    return select


def _select(
    columns: Sequence[exp.Expr], items: Sequence[Item], conditions: Sequence[exp.Expr], most: int | None = None
) -> exp.Select:
    select = exp.Select(expressions=list(columns), distinct=exp.Distinct())
    if items:
        select.from_(items[0].sql, copy=False)
        select.set("joins", [exp.Join(this=item.sql, kind="CROSS") for item in items[1:]])
    if conditions:
        select.set("where", exp.Where(this=exp.and_(*conditions, copy=False)))
    if most is not None:
        select.set("order", exp.Order(expressions=[exp.Ordered(this=exp.column(column.alias)) for column in columns]))
        select.set("limit", exp.Limit(expression=exp.Literal.number(most)))
    return select
