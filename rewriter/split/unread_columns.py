"""Columns of subqueries and of WITH queries that nothing reads, left out: they are neither planned nor bought.

``SELECT COUNT(*) FROM (SELECT id, … FROM visit) AS v`` asks for no column of ``v``. A statement of many WITH queries
names hundreds of columns, of which a number over people reads a few.

Guarantee: the rows and the columns of the answer are the same. Names are compared alone, wherever they stand, so that a
column is kept if anything could mean it; so are keys of groups, what tells groups from rows, what makes rows, what says
whose a group is, and what reads a name that there is not.

Why aggregates are left out of groups of one person each alone: those of other groups are released, and whoever asks for
one column of what was released before, as dashboards do, has it at no price.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from sqlglot import exp

from rewriter.declared import Catalog
from rewriter.statement import has_aggregate, is_grouped, is_star, output_name, star_of, unaliased, unparenthesised

_MAKES_ROWS = (exp.UDTF, exp.Explode, exp.GenerateSeries, exp.Anonymous)
_SAYS_WHOSE = (exp.Min, exp.Max, exp.AnyValue)


def without_unread_columns(tree: exp.Query, catalog: Catalog) -> exp.Query:
    """``tree`` without such columns: itself, where it has none.

    >>> import sqlglot
    >>> from rewriter.declared import INTEGER, Column, Table
    >>> catalog = Catalog({"t": Table("t", {name: Column(name, INTEGER) for name in "abce"})}, None)
    >>> sql = "SELECT COUNT(*) FROM (SELECT a, b + c AS d, e FROM (SELECT a, b, c, e FROM t) AS u WHERE e > 1) AS v"
    >>> print(without_unread_columns(sqlglot.parse_one(sql), catalog).sql())
    SELECT COUNT(*) FROM (SELECT e FROM (SELECT e FROM t) AS u WHERE e > 1) AS v
    """
    if tree.find(exp.Subquery, exp.CTE) is None:
        return tree
    reading = _Reading.of(tree, catalog)
    unread = {} if reading.reads_all else reading.unread()
    if not any(unread.values()):
        return tree
    copy: exp.Query = tree.copy()
    for select, dead in zip(list(copy.find_all(exp.Select)), unread.values(), strict=True):
        if dead:
            select.set("expressions", [item for place, item in enumerate(select.expressions) if place not in dead])
    return copy


@dataclass(slots=True)
class _Item:
    """A select item of a subquery: the name that it is read by, and the names that it reads."""

    node: exp.Expr
    name: str
    kept: bool
    reads: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Reading:
    """The names that are ``read`` whatever is left out, and the ``items`` of subqueries, by their SELECT.

    ``known`` are the names of columns of tables, ``persons`` those of keys of people. ``reads_all``: something means
    columns without naming them.
    """

    selects: list[exp.Select]
    known: set[str]
    persons: Set[str]
    read: set[str] = field(default_factory=set)
    items: dict[int, list[_Item]] = field(default_factory=dict)
    reads_all: bool = False

    @classmethod
    def of(cls, tree: exp.Query, catalog: Catalog) -> _Reading:
        known = {column.lower() for table in catalog.tables.values() for column in table.columns}
        found = cls(list(tree.find_all(exp.Select)), known, catalog.keys_of_people)
        stack: list[tuple[exp.Expr, set[str]]] = [(tree, found.read)]
        while stack:
            node, read = stack.pop()
            if isinstance(node, exp.Column):
                read.add(node.name.lower())
                found.reads_all = found.reads_all or (isinstance(node.this, exp.Star) and not _is_item(node))
            elif isinstance(node, exp.Join):
                read.update(name.name.lower() for name in node.args.get("using") or ())
                found.reads_all = found.reads_all or node.method.upper() == "NATURAL"
            elif isinstance(node, exp.With):
                found.reads_all = found.reads_all or bool(node.args.get("recursive"))
            if not isinstance(node, exp.Select):
                stack += [(child, read) for child in node.iter_expressions()]
                continue
            stack += found._of_select(node, read)
        return found

    def _of_select(self, select: exp.Select, read: set[str]) -> list[tuple[exp.Expr, set[str]]]:
        """The parts of a SELECT, with the names read on behalf of each."""
        mine = select.expressions
        stack = [(child, read) for child in select.iter_expressions() if child.arg_key != "expressions"]
        if not _is_read_by_name(select) or not self._may_lack(select):
            exists = isinstance(select.parent, exp.Exists)
            self.reads_all = self.reads_all or (not exists and any(star_of(item)[0] for item in mine))
            return [*stack, *((item, read) for item in mine)]
        grouped = is_grouped(select)
        items = self.items[id(select)] = [
            _Item(item, "" if is_star(item) else output_name(item).lower(), _makes(item, grouped=grouped))
            for item in mine
        ]
        return [*stack, *((one.node, one.reads) for one in items)]

    def _may_lack(self, select: exp.Select) -> bool:
        """Whether a SELECT makes rows, or groups of one person each."""
        group = select.args.get("group")
        keys = [] if group is None else [unparenthesised(key) for key in group.expressions]
        by_person = any(isinstance(key, exp.Column) and key.name.lower() in self.persons for key in keys)
        said = any(_says_whose(item, self.persons) for item in select.expressions)
        return by_person or said or not is_grouped(select)

    def unread(self) -> dict[int, set[int]]:
        """The places of the items that nothing reads, by the SELECT; of each SELECT, in their order."""
        known = self.known | {one.name for items in self.items.values() for one in items}
        waiting: list[_Item] = []
        for items in self.items.values():
            for one in items:
                if one.kept or not one.reads <= known or _says_whose(one.node, self.persons):
                    self.read |= one.reads
                else:
                    waiting.append(one)
        while True:
            read = [one for one in waiting if one.name in self.read]
            if not read:
                break
            waiting = [one for one in waiting if one.name not in self.read]
            self.read.update(*(one.reads for one in read))
        dead = {id(one.node) for one in waiting}
        return {id(select): self._dead(select, dead) for select in self.selects}

    def _dead(self, select: exp.Select, dead: set[int]) -> set[int]:
        found = {place for place, item in enumerate(select.expressions) if id(item) in dead}
        if not found:
            return found
        needs = has_aggregate if is_grouped(select) and select.args.get("group") is None else _is_there
        plain = [place for place, item in enumerate(select.expressions) if needs(item)]
        if found.issuperset(plain):
            # One is left, and it is a column if any is: of no columns there would be no rows, and of none no groups.
            columns = [place for place in plain if isinstance(unaliased(select.expressions[place]), exp.Column)]
            found.discard((columns or plain)[0])
        return found


def _is_there(_: exp.Expr) -> bool:
    return True


def _is_item(node: exp.Expr) -> bool:
    return isinstance(node.parent, exp.Select) and node.arg_key == "expressions"


def _is_read_by_name(select: exp.Select) -> bool:
    """Whether a SELECT stands in FROM or WITH under names of its own, and no row hangs on which columns it has."""
    parent = select.parent
    if not isinstance(parent, exp.CTE | exp.Subquery) or select.args.get("distinct"):
        return False
    alias = parent.args.get("alias")
    if alias is None or alias.args.get("columns"):
        return False
    if isinstance(parent, exp.Subquery) and not isinstance(parent.parent, exp.From | exp.Join):
        return False
    group, order = select.args.get("group"), select.args.get("order")
    places = [*(group.expressions if group is not None else ()), *(order.expressions if order is not None else ())]
    return not any(isinstance(unparenthesised(_ordered(one)), exp.Literal) for one in places)


def _ordered(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, exp.Ordered) else node


def _makes(item: exp.Expr, *, grouped: bool) -> bool:
    """Whether an item may decide which rows there are: all columns, functions that make rows, and keys of groups."""
    return is_star(item) or item.find(*_MAKES_ROWS) is not None or (grouped and not has_aggregate(item))


def _says_whose(item: exp.Expr, persons: Set[str]) -> bool:
    """Whether an item may be the MIN or MAX of the key of a person, by which a statement says whose a group is."""
    call = unparenthesised(unaliased(item))
    of = unparenthesised(call.this) if isinstance(call, _SAYS_WHOSE) else None
    return isinstance(of, exp.Column) and of.name.lower() in persons
