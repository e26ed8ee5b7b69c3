"""Names of a statement, resolved once, by PostgreSQL's rules: :func:`bind`.

Guarantee: the rows, names and types are those of the statement as written. Afterwards

- each column says its item of FROM, by the analyst's own word for it; a name alone is an output, in ORDER BY;
- GROUP BY has expressions: a name is an input column first, then an output; a position is what stands there;
- ``*`` is written out, USING and NATURAL are conditions, and a column that FULL JOIN merges is a COALESCE;
- lists of column names after an alias are names in the select list, and default names are pinned;
- no WITH query hides a table: its name is another one, and the item of FROM that reads it is called as it was.

Why nothing is refused here: a column without a single meaning stays as it was written, and a form that there is no rule
for (functions in FROM without a name, joins in parentheses) leaves the whole statement so. What is wrong with it is
said where it is read, at its place; a statement that is not bound is never answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from sqlglot import exp

from rewriter.declared import VIRTUAL_COLUMNS, Catalog
from rewriter.expressions import in_place_of, makes_rows
from rewriter.query.names_in_reach import (
    AMBIGUOUS,
    BEFORE_COMMA,
    UNKNOWN,
    FromItem,
    InReach,
    JoinedItems,
    NoColumn,
    NoRule,
    Reference,
    SeveralColumns,
    TableName,
    spelt,
)
from rewriter.release import RESERVED
from rewriter.statement import (
    alias_columns,
    folded,
    has_aggregate,
    is_star,
    nodes_of,
    output_name,
    unaliased,
    unparenthesised,
)

_SELECT = frozenset(
    ("with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset")
) | {"distinct", "qualify"}
_SET = frozenset({"with_", "this", "expression", "distinct", "order", "limit", "offset"})
_JOIN = frozenset({"this", "on", "using", "side", "kind", "method"})
_NESTED = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)


def bind(tree: exp.Query, catalog: Catalog) -> bool:
    """Bind the names of ``tree``, which is changed in place: the caller's own copy. False unless all names are bound.

    >>> import sqlglot
    >>> from rewriter.declared import TEXT, Column, Table
    >>> column = {name: Column(name, TEXT) for name in ("id", "region")}
    >>> catalog = Catalog({"patient": Table("patient", column, public=True)}, None)
    >>> tree = sqlglot.parse_one("SELECT LOWER(region) AS region, COUNT(*) FROM patient p GROUP BY region")
    >>> bind(tree, catalog)
    True
    >>> print(tree.sql())
    SELECT LOWER(p.region) AS region, COUNT(*) AS "count" FROM patient AS p GROUP BY p.region
    >>> bind(sqlglot.parse_one("SELECT x FROM patient"), catalog)
    False
    """
    binder = _Binder(tree, catalog)
    try:
        binder.query(tree, {}, None, named=True)
    except NoRule:
        return False
    binder.apply()
    return binder.complete


_Columns = tuple[Sequence[str], Mapping[str, str]]
"""The names of a query's columns; and of those that were called as another one before them, what they were called."""


@dataclass(frozen=True, slots=True)
class _With:
    """A WITH query: the names of its ``columns``, and another name for it where it would hide a table."""

    columns: _Columns
    name: exp.Identifier | None


Reach = Mapping[str, _With]
"""The WITH queries in reach, by folded name."""


@dataclass(frozen=True, slots=True)
class _Output:
    """A column of a SELECT: an item of its list, by its ``index`` there, or a column that ``*`` stands for."""

    name: str
    index: int
    item: exp.Expr
    reference: Reference | None = None

    @property
    def value(self) -> exp.Expr | Reference:
        return unaliased(self.item) if self.reference is None else self.reference


class _Binder:
    """One reading of a statement. Nothing is changed before all of it has been read."""

    def __init__(self, tree: exp.Query, catalog: Catalog) -> None:
        self._tree = tree
        self._catalog = catalog
        self.complete = True
        """Whether each column that was read has one meaning."""
        self._names: set[str] = set()
        """Names that WITH queries were given."""
        self._columns: list[tuple[exp.Column, Reference]] = []
        self._changes: list[Callable[[], None]] = []
        """Changes of whole clauses, in order; columns have been spelt by then."""
        self._lists: list[Callable[[], None]] = []
        """Changes of select lists, after all of what reads their items."""

    def apply(self) -> None:
        for column, reference in self._columns:
            new = spelt(reference, column)
            if isinstance(new, exp.Column):
                column.set("this", new.this)
                column.set("table", new.args["table"])
            else:
                column.replace(new)
        for change in (*self._changes, *self._lists):
            change()

    # Queries

    def query(
        self,
        node: exp.Expr,
        reach: Reach,
        parent: InReach | None,
        *,
        named: bool = False,
        renamed: Sequence[str] = (),
    ) -> list[str]:
        """Bind a query; the names of its columns. ``named``: they are read, so that they are pinned. ``renamed`` are
        names for the first of them, where it is a SELECT."""
        if isinstance(node, exp.Select):
            return self._select(node, self._with(node, reach, parent), parent, named, renamed)
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query | exp.Values):
            _only(node, frozenset({"this", "alias"}))
            return self.query(node.this, reach, parent, named=named)
        if isinstance(node, exp.Values):
            return self._values(node, reach, parent)
        if isinstance(node, exp.SetOperation):
            _only(node, _SET)
            reach = self._with(node, reach, parent)
            names = self.query(node.this, reach, parent, named=named)
            self.query(node.expression, reach, parent)
            _check_order_of_set(node, names)
            return names
        raise NoRule

    def _with(self, node: exp.Expr, reach: Reach, parent: InReach | None) -> Reach:
        with_ = node.args.get("with_")
        if with_ is None:
            return reach
        _only(with_, frozenset({"expressions"}))
        known = dict(reach)
        for cte in with_.expressions:
            _only(cte, frozenset({"this", "alias", "materialized"}))
            alias = cte.args["alias"]
            known[folded(alias.this)] = _With(self._renamed(cte.this, alias, known, parent), self._apart(alias))
        return known

    def _apart(self, alias: exp.Expr) -> exp.Identifier | None:
        """The new name of a WITH query that hides a table."""
        name = folded(alias.this)
        if self._catalog.find(alias.this.name) is None:
            return None
        taken = {one.name.lower() for one in self._tree.find_all(exp.Identifier)} | self._names
        number = 1
        while (new := f"{name}_{number}") in taken or self._catalog.find(new) is not None:
            number += 1
        self._names.add(new)
        identifier = exp.to_identifier(new)
        self._changes.append(partial(alias.set, "this", identifier.copy()))
        return identifier

    def _renamed(self, query: exp.Expr, alias: exp.Expr | None, reach: Reach, parent: InReach | None) -> _Columns:
        """A query in FROM or WITH, whose alias may rename its columns: a SELECT then has these names itself."""
        names = alias_columns(alias)
        if not names or not isinstance(query, exp.Select):
            found = self.query(query, reach, parent, named=True)
            if names and len({*names, *found[len(names) :]}) < len(found):
                raise NoRule
            return ([*names, *found[len(names) :]], {}) if names else (found, _told_apart(found))
        found = self.query(query, reach, parent, named=True, renamed=names)
        if alias is not None:
            self._changes.append(lambda: alias.set("columns", None))
        return found, _told_apart(found)

    def _values(self, node: exp.Values, reach: Reach, parent: InReach | None) -> list[str]:
        _only(node, frozenset({"expressions", "alias"}))
        rows: list[exp.Expr] = node.expressions
        width = len(rows[0].expressions) if isinstance(rows[0], exp.Tuple) else 1
        if not rows or any((len(row.expressions) if isinstance(row, exp.Tuple) else 1) != width for row in rows):
            raise NoRule
        for row in rows:
            self._expression(row, InReach((), parent), reach)
        return [f"column{place}" for place in range(1, width + 1)]

    # SELECT

    def _select(
        self, select: exp.Select, reach: Reach, parent: InReach | None, named: bool, renamed: Sequence[str]
    ) -> list[str]:
        _only(select, _SELECT)
        scope = self._from(select, reach, parent)
        items: list[_Output] = []
        for index, item in enumerate(select.expressions):
            if is_star(item):
                _only(item if isinstance(item, exp.Star) else item.this, frozenset())
                items += (_Output(name, index, item, one) for name, one in scope.star(item.args.get("table")))
            else:
                self._expression(unaliased(item), scope, reach)
                items.append(_Output(output_name(item), index, item))
        if len(renamed) > len(items) or not items:
            raise NoRule
        names = [*renamed, *(item.name for item in items[len(renamed) :])]
        self._lists.append(lambda: _write_list(select, items, names, named))
        for part in ("where", "having"):
            if (clause := select.args.get(part)) is not None:
                self._expression(clause.this, scope, reach)
        if (qualify := select.args.get("qualify")) is not None:
            self._expression(qualify.this, scope, reach, partial(self._meant, select=select, items=items, scope=scope))
        for part in ("limit", "offset"):
            for clause in nodes_of(select.args.get(part)):
                self._expression(clause, scope, reach)
        if (distinct := select.args.get("distinct")) is not None and (on := distinct.args.get("on")) is not None:
            for key in on.expressions if isinstance(on, exp.Tuple) else [on]:
                self._output_or_input(key, items, scope, reach, bool(renamed))
        if (group := select.args.get("group")) is not None:
            _only(group, frozenset({"expressions", "all"}))
            if not group.expressions:
                raise NoRule
            for key in group.expressions:
                self._group_key(key, select, items, scope, reach)
        if (order := select.args.get("order")) is not None:
            for one in order.expressions:
                self._output_or_input(one.this, items, scope, reach, bool(renamed))
        return names

    def _meant(self, key: exp.Column, *, select: exp.Select, items: Sequence[_Output], scope: InReach) -> bool:
        """QUALIFY: whether a name that is no input column is an output, which then stands there itself."""
        place = _output(key, items) if _is_name(key) and not scope.has(key.this) else None
        if place is None or isinstance(items[place].value, tuple):
            return False
        index = items[place].index

        def said() -> None:
            value = unaliased(select.expressions[index]).copy()
            alone = isinstance(value, exp.Window | exp.Func | exp.Column)
            _replace(key, in_place_of(value if alone else exp.paren(value), key))

        self._changes.append(said)
        return True

    def _output_or_input(
        self,
        node: exp.Expr,
        items: Sequence[_Output],
        scope: InReach,
        reach: Reach,
        renamed: bool,
    ) -> None:
        """ORDER BY and DISTINCT ON: a name is an output first, then an input column; in an expression, an input."""
        key = unparenthesised(node)
        if isinstance(key, exp.Literal) and not key.is_string:
            return
        if _is_name(key):
            place = _output(key, items)
            if place is not None:
                if renamed:
                    self._changes.append(lambda: _replace(key, exp.Literal.number(place + 1)))
                return
        self._expression(node, scope, reach)

    def _group_key(
        self, node: exp.Expr, select: exp.Select, items: Sequence[_Output], scope: InReach, reach: Reach
    ) -> None:
        """GROUP BY: a name is an input column of this FROM first, then an output; a number is a position."""
        key = unparenthesised(node)
        if isinstance(key, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple):
            for element in key.expressions:
                self._group_key(element, select, items, scope, reach)
            return
        place: int | None = None
        if isinstance(key, exp.Literal) and not key.is_string:
            if not key.is_int or not 1 <= int(key.name) <= len(items):
                raise NoRule
            place = int(key.name) - 1
        elif _is_name(key) and not scope.has(key.this):
            place = _output(key, items)
        if place is None:
            self._expression(key, scope, reach)
            return
        found, number, index = items[place].value, place + 1, items[place].index
        if isinstance(found, tuple):
            self._changes.append(lambda: _replace(key, spelt(found)))
        elif has_aggregate(found):
            raise NoRule
        elif isinstance(unparenthesised(found), exp.Literal) or found.find(exp.Query, exp.Window) is not None:
            # A constant would be read as a position, and a subquery stands in one place.
            self._changes.append(lambda: _replace(key, exp.Literal.number(number)))
        else:
            self._changes.append(lambda: _replace(key, unaliased(select.expressions[index]).copy()))

    # FROM

    def _from(self, select: exp.Select, reach: Reach, parent: InReach | None) -> InReach:
        from_ = select.args.get("from_")
        if from_ is None:
            if select.args.get("joins"):
                raise NoRule
            return InReach((), parent)
        _only(from_, frozenset({"this"}))
        parts: list[JoinedItems] = []
        taken: set[str] = set()

        def item_of(node: exp.Expr) -> FromItem:
            item = self._item(node, reach, parent, parts, taken)
            if item.identifier.name.lower() in taken:
                raise NoRule
            taken.add(item.identifier.name.lower())
            return item

        parts.append(JoinedItems([]))
        parts[0].items.append(item_of(from_.this))
        for join in select.args.get("joins") or ():
            _only(join, _JOIN)
            self._join(join, item_of, parts, parent, reach)
        return InReach(parts, parent)

    def _join(
        self,
        join: exp.Join,
        item_of: Callable[[exp.Expr], FromItem],
        parts: list[JoinedItems],
        parent: InReach | None,
        reach: Reach,
    ) -> None:
        on, using, method = join.args.get("on"), join.args.get("using"), join.method.upper()
        side, kind = join.side.upper(), join.kind.upper()
        if method not in ("", "NATURAL") or side not in ("", "LEFT", "RIGHT", "FULL"):
            raise NoRule
        if kind not in ("", "INNER", "OUTER", "CROSS"):
            raise NoRule
        if not (on or using or method or side or kind):
            parts.append(JoinedItems([]))
            parts[-1].items.append(item_of(join.this))
            return
        if (on is None and not using and not method and kind != "CROSS") or (on is not None and (using or method)):
            raise NoRule
        item, part = item_of(join.this), parts[-1]
        if method:
            using = _common(part, item)
        if using:
            try:
                pairs = [(spelt(left), spelt(right)) for left, right in part.merge(using, item, side)]
            except NoRule:
                self.complete = False
                pairs = [_same_name(name, part.items, item) for name in using]
                part.items.append(item)
            self._changes.append(lambda: _write_on(join, pairs))
            return
        part.items.append(item)
        if method:
            # NATURAL without common columns joins all with all.
            self._changes.append(lambda: _write_on(join, []))
        elif on is not None:
            self._expression(on, InReach((part,), parent), reach, beside=InReach(parts[:-1], parent))

    def _item(
        self, node: exp.Expr, reach: Reach, parent: InReach | None, before: Sequence[JoinedItems], taken: set[str]
    ) -> FromItem:
        alias = node.args.get("alias")
        name = None if alias is None else alias.this
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            return self._table(node, reach, alias)
        if isinstance(node, exp.Subquery):
            _only(node, frozenset({"this", "alias"}))
            found = self._renamed(node.this, alias, reach, parent)
            if name is None:
                name = _new_alias(taken)
                self._changes.append(partial(node.set, "alias", exp.TableAlias(this=name.copy())))
            return _item_of(name, *found)
        if name is None and (_is_series(node) or isinstance(node, exp.Unnest)):
            # PostgreSQL calls the item, and its column, by the function's name.
            name = exp.to_identifier("generate_series" if _is_series(node) else "unnest")
            self._changes.append(partial(node.set, "alias", exp.TableAlias(this=name.copy())))
        if name is None and isinstance(node, exp.Values):
            name = _new_alias(taken)
            columns = [exp.to_identifier(one) for one in self._values(node, reach, parent)]
            self._changes.append(partial(node.set, "alias", exp.TableAlias(this=name.copy(), columns=columns)))
        if name is None:
            raise NoRule
        # A copy of the list: items to the right are not seen.
        left = InReach(list(before), parent)
        if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
            _only(node, frozenset({"this", "alias"}))
            _only(node.this, frozenset({"this"}))
            return _item_of(name, *self._renamed(node.this.this, alias, reach, left))
        if isinstance(node, exp.Values):
            names = [*alias_columns(alias), *self._values(node, reach, left)[len(alias_columns(alias)) :]]
            return _item_of(name, names)
        made = node
        if isinstance(node, exp.Lateral | exp.Table):
            _only(node, frozenset({"this", "alias"}))
            made = node.this
        if isinstance(made, exp.Unnest) and len(made.expressions) == 1:
            _only(made, frozenset({"expressions", "alias"}))
        elif not makes_rows(made):
            raise NoRule
        for argument in made.iter_expressions():
            if not isinstance(argument, exp.TableAlias):
                self._expression(argument, left, reach)
        names = alias_columns(alias) or [folded(name)]
        if len(names) > 1:
            raise NoRule
        return _item_of(name, names)

    def _table(self, node: exp.Table, reach: Reach, alias: exp.Expr | None) -> FromItem:
        _only(node, frozenset({"this", "db", "catalog", "alias"}))
        identifier = node.this if alias is None or alias.this is None else alias.this
        names, schema = alias_columns(alias), node.db.lower()
        if node.args.get("catalog") is not None:
            raise NoRule
        if not schema and (known := reach.get(folded(node.this))) is not None:
            read, twins = known.columns
            if names and (twins or len(names) > len(read)):
                raise NoRule
            if known.name is not None or names:
                self._changes.append(partial(node.set, "alias", exp.TableAlias(this=identifier.copy())))
            if known.name is not None:
                self._changes.append(partial(node.set, "this", known.name.copy()))
            return _item_of(identifier, read, twins, names)
        if schema == "dpsql":
            virtual = VIRTUAL_COLUMNS.get(RESERVED + node.name.lower())
            if virtual is None or names:
                raise NoRule
            return FromItem(identifier, {TableName(one): one for one in virtual})
        table = self._catalog.find(node.name, bool(node.this.args.get("quoted")), schema)
        if table is None:
            raise NoRule
        own = list(map(TableName, table.columns))
        if not names:
            return FromItem(identifier, {one: one for one in own})
        if len(names) > len(own) or alias is None:
            raise NoRule
        self._changes.append(lambda: alias.set("columns", None))
        columns = dict(zip([*names, *own[len(names) :]], own, strict=True))
        if len(columns) < len(own):
            raise NoRule
        return FromItem(identifier, columns)

    # Expressions

    def _expression(
        self,
        node: exp.Expr,
        scope: InReach,
        reach: Reach,
        other: Callable[[exp.Column], bool] = lambda _: False,
        beside: InReach | None = None,
    ) -> None:
        """Bind the columns of an expression, and of its subqueries; but for those that are ``other`` names. Columns
        that are not in reach may be in that ``beside`` it."""
        stack = [node]
        while stack:
            found = stack.pop()
            if isinstance(found, exp.Column):
                if other(found):
                    continue
                try:
                    self._columns.append((found, scope.resolve(found)))
                except NoRule as lacking:
                    self.complete = False
                    if (found.table or isinstance(lacking, NoColumn)) and beside and _resolves(beside, found):
                        BEFORE_COMMA.on(found, True)
                    elif isinstance(lacking, NoColumn):
                        UNKNOWN.on(found, True)
                    elif isinstance(lacking, SeveralColumns):
                        AMBIGUOUS.on(found, True)
            elif isinstance(found, _NESTED):
                self.query(found, reach, scope)
            elif isinstance(found, exp.Lambda | exp.Table):
                raise NoRule
            else:
                stack.extend(found.iter_expressions())


def _resolves(scope: InReach, column: exp.Column) -> bool:
    try:
        scope.resolve(column)
    except NoRule:
        return False
    return True


def _only(node: exp.Expr, parts: Iterable[str]) -> None:
    """Nothing but these parts of a node is given."""
    for name, value in node.args.items():
        if value and name not in parts:
            raise NoRule


def _check_order_of_set(node: exp.Expr, names: Sequence[str]) -> None:
    """ORDER BY of a set operation names outputs alone."""
    order = node.args.get("order")
    for one in () if order is None else order.expressions:
        key = unparenthesised(one.this)
        by_position = isinstance(key, exp.Literal) and not key.is_string
        if not by_position and not (isinstance(key, exp.Column) and not key.table and folded(key) in names):
            raise NoRule


def _is_name(node: exp.Expr) -> bool:
    """Whether this is a name without a table."""
    return isinstance(node, exp.Column) and node.args.get("table") is None and not is_star(node)


def _is_series(item: exp.Expr) -> bool:
    return isinstance(item, exp.Table | exp.Lateral) and isinstance(
        item.this, exp.GenerateSeries | exp.ExplodingGenerateSeries
    )


def _item_of(
    identifier: exp.Identifier,
    names: Sequence[str],
    twins: Mapping[str, str] = MappingProxyType({}),
    given: Sequence[str] = (),
) -> FromItem:
    """An item of FROM by the names of its columns; an alias may have ``given`` the first of them others."""
    called = [*given, *names[len(given) :]]
    if len(set(called)) < len(called):
        raise NoRule
    return FromItem(identifier, dict(zip(called, names, strict=True)), twins=twins)


def _told_apart(names: list[str]) -> dict[str, str]:
    """Give each name that stands in a list before another one, in place; the names that these had."""
    twins: dict[str, str] = {}
    for place, name in enumerate(names):
        if name in names[:place]:
            number = 2
            while (new := f"{name}#{number}") in names:
                number += 1
            names[place], twins[new] = new, name
    return twins


def _new_alias(taken: set[str]) -> exp.Identifier:
    number = 1
    while (name := "subquery" if number == 1 else f"subquery_{number}") in taken:
        number += 1
    return exp.Identifier(this=name, quoted=False)


def _common(part: JoinedItems, other: FromItem) -> list[exp.Expr]:
    """The columns by which a NATURAL JOIN joins: those that both sides have."""
    names = (
        exp.to_identifier(name, quoted=not isinstance(name, TableName) and name != name.lower())
        for name, _ in part.star()
    )
    return [name for name in dict.fromkeys(names) if other.find(name) is not None]


def _output(key: exp.Expr, items: Sequence[_Output]) -> int | None:
    """The place of the output that a name means; the same expression may stand twice."""
    name = folded(key)
    places = [place for place, item in enumerate(items) if item.name == name]
    if not places:
        return None
    if any(items[place].value != items[places[0]].value for place in places[1:]):
        raise NoRule
    return places[0]


def _replace(node: exp.Expr, new: exp.Expr) -> None:
    node.replace(new)


def _same_name(name: exp.Expr, items: Sequence[FromItem], other: FromItem) -> tuple[exp.Expr, exp.Expr]:
    """A column of USING on both sides, for whoever says what is wrong with it."""
    left = items[0].identifier.copy() if len(items) == 1 else None
    return (
        exp.Column(this=name.copy(), table=left),
        exp.Column(this=name.copy(), table=other.identifier.copy()),
    )


def _write_on(join: exp.Join, pairs: Sequence[tuple[exp.Expr, exp.Expr]]) -> None:
    tests = [exp.EQ(this=left, expression=right) for left, right in pairs]
    join.set("using", None)
    join.set("method", None)
    if tests:
        join.set("on", exp.and_(*tests, copy=False))
    elif join.side:
        join.set("on", exp.true())
    else:
        join.set("kind", "CROSS")


def _write_list(select: exp.Select, items: Sequence[_Output], names: Sequence[str], named: bool) -> None:
    """The select list, ``*`` written out, with the names that the statement has for its columns."""
    named = named or select.args.get("order") is not None
    found: list[exp.Expr] = []
    for item, name in zip(items, names, strict=True):
        node = select.expressions[item.index] if item.reference is None else spelt(item.reference)
        own = unaliased(node)
        if isinstance(node, exp.Alias) and output_name(node) == name:
            found.append(node)
        elif named and not (isinstance(own, exp.Column) and folded(own) == name):
            found.append(exp.Alias(this=own, alias=exp.to_identifier(name, quoted=True)))
        else:
            found.append(own)
    select.set("expressions", found)
