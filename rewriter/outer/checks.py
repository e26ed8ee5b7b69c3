"""The outer SELECT: everything above the released tables, checked against a list and spelled for DuckDB.

Guarantee: a tree that passes :func:`check_outer` names only the given tables and its own CTEs, and consists only of
constructs that read their inputs (:mod:`rewriter.outer.allow_list`): no table function, file, setting or clock. What
could make one value grow without bound takes literals of limited size.

The size of an outer SELECT once DuckDB has bound it: a short text can become exponentially large.

Guarantee: a tree that passes has a bounded number of expressions, columns and grouping sets *after* binding. DuckDB
puts the expression of a select item in the place of its alias, NULLIF and a named window repeat what they are given,
and ``SELECT *, *`` doubles its columns. Nested, each doubles with every level, and no time limit interrupts that.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from sqlglot import exp

from rewriter.dialects import is_fact, plain_text
from rewriter.expressions import ANY_NUMBER
from rewriter.outer.allow_list import CONSTRUCTS, NAMED, not_answered
from rewriter.outer.construct import Columns
from rewriter.outer.to_duckdb import spelled
from rewriter.refused import TOO_COMPLEX, UNKNOWN_TABLE, Refused
from rewriter.statement import folded, from_items, is_star


def check_outer(tree: exp.Query, tables: Container[str]) -> None:
    """Let pass what post-processing may consist of. Raises :class:`Refused`, else does nothing.

    >>> import sqlglot
    >>> check_outer(sqlglot.parse_one("SELECT k0, a0 FROM dpsql_release_0 ORDER BY a0 DESC"), {"dpsql_release_0"})
    >>> check_outer(sqlglot.parse_one("SELECT a0 FROM read_csv('x')"), {"dpsql_release_0"})
    Traceback (most recent call last):
    rewriter.refused.Refused: a function in FROM is not answered
    """
    for node in _nodes(tree):
        if type(node) is exp.Anonymous:
            _check_function(node)
            continue
        construct = CONSTRUCTS.listed(node)
        if construct is None:
            raise not_answered(node)
        if construct.parts is not None:
            _check_parts(node, construct.parts)
        if isinstance(node, exp.Table):
            _check_table(node, tables)
        construct.check(node)
    _check_names(tree)
    _check_rows(tree, tables)
    check_size(tree, tables)


def outer_sql(tree: exp.Query, columns: Columns) -> str:
    """DuckDB's SQL for a checked tree, with PostgreSQL's meaning; ``columns`` are those of its tables.

    For a database with ``integer_division`` on: there ``/`` of integers truncates, as in PostgreSQL.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("SELECT A0 / 2 AS H FROM r WHERE k0 LIKE 'a\\\\_%' ORDER BY 1 DESC", read="postgres")
    >>> outer_sql(tree, {})
    "SELECT a0 / 2 AS h FROM r WHERE k0 LIKE 'a\\\\_%' ESCAPE '\\\\' ORDER BY 1 DESC NULLS FIRST"
    """
    return plain_text(spelled(tree, columns), "duckdb")


def _nodes(tree: exp.Expr) -> Iterator[exp.Expr]:
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node.iter_expressions())


def _check_function(node: exp.Expr) -> None:
    name = str(node.name)
    if name.upper() not in NAMED:
        raise Refused(
            f"there is no function {name[:40]}", hint="use the common functions of PostgreSQL", sqlstate="42883"
        )
    count = NAMED[name.upper()].arguments
    if count != ANY_NUMBER and len(node.expressions) != count:
        raise Refused(f"{name} takes {count} arguments here", hint=f"give it {count}", sqlstate="42883")


_PARTS = {"limit_options": "PERCENT"}
_NODES: dict[type, str] = {exp.LimitOptions: "FETCH"}
"""The words for parts of a query, and for what they are in, whose names in the tree are others."""
_INSTEAD = {
    "with_ties": "keep equal rows by their rank: SELECT … FROM"
    " (SELECT …, RANK() OVER (ORDER BY n DESC) AS r FROM …) AS t WHERE r <= 10"
}


def _check_parts(node: exp.Expr, parts: Container[str]) -> None:
    for name, value in node.args.items():
        if value and name not in parts and not name.startswith("_") and not is_fact(value):
            part = _PARTS.get(name) or name.replace("_", " ").strip().upper()
            raise Refused(
                f"{part} in {_NODES.get(type(node)) or type(node).__name__.upper()} is not answered",
                hint=_INSTEAD.get(name, "leave it out"),
            )


# Tables


def _check_table(node: exp.Expr, tables: Container[str]) -> None:
    if not isinstance(node.this, exp.Identifier):
        raise Refused("a function in FROM is not answered", hint="name a table", sqlstate=UNKNOWN_TABLE)
    name = node.this.name
    real = name if node.this.args.get("quoted") else name.lower()
    if name.lower() not in _ctes_in_reach(node) and name not in tables and real not in tables:
        raise Refused(f"there is no table {name!r}", hint="name a table or a WITH query", sqlstate=UNKNOWN_TABLE)


def _ctes_in_reach(table: exp.Expr) -> set[str]:
    """The names that the WITH clauses around a table give it: all of enclosing queries, earlier ones of its own."""
    names: set[str] = set()
    child, node = table, table.parent
    inside: exp.Expr | None = None
    while node is not None:
        if isinstance(node, exp.With):
            for cte in node.expressions:
                if cte is child:
                    break
                names.add(cte.alias.lower())
            inside = node
        else:
            with_ = node.args.get("with_")
            if with_ is not None and with_ is not inside:
                names.update(cte.alias.lower() for cte in with_.expressions)
        child, node = node, node.parent
    return names


def _check_rows(tree: exp.Expr, tables: Container[str]) -> None:
    """A name that only a table has would be a whole row of it, with columns of ours: refused."""
    ctes = {cte.alias.lower(): _columns_of(cte.this) for cte in tree.find_all(exp.CTE)}
    for column in tree.find_all(exp.Column):
        select = None if column.table else column.find_ancestor(exp.Select)
        name = column.name.lower()
        beside = {} if select is None else {id(item): _known_columns(item, ctes, tables) for item in from_items(select)}
        for item in from_items(select) if select is not None else ():
            is_row = item.alias_or_name.lower() == name and beside[id(item)] is not None
            if is_row and not any(name in known for known in beside.values() if known is not None):
                raise Refused(
                    f"{column.name} is a table, whose rows are no values here",
                    hint="name its columns",
                    sqlstate="42703",
                )


def _known_columns(
    item: exp.Expr, ctes: Mapping[str, Sequence[str] | None], tables: Container[str]
) -> frozenset[str] | None:
    """The folded names of the columns of an item of FROM; None where they are not known."""
    alias = item.args.get("alias")
    named = [one.name.lower() for one in alias.args.get("columns") or ()] if alias is not None else []
    if isinstance(item, exp.Subquery):
        known = _columns_of(item.this)
    else:
        stored = tables.get(item.name, ()) if isinstance(tables, Mapping) else None
        known = ctes.get(item.name.lower(), stored)
    return None if known is None else frozenset((*named, *(one.lower() for one in known)))


def _columns_of(query: exp.Expr) -> Sequence[str] | None:
    """The names of a query's columns; None where a star hides them."""
    names = query.named_selects if isinstance(query, exp.Query) else []
    return None if "*" in names or not names else names


def _check_names(tree: exp.Expr) -> None:
    """DuckDB knows no case in names, PostgreSQL does: two tables in one query must differ by more than case."""
    spelt: dict[str, str] = {}
    for alias in tree.find_all(exp.TableAlias):
        name = alias.this
        if isinstance(name, exp.Identifier):
            exact = folded(name)
            if spelt.setdefault(exact.lower(), exact) != exact:
                raise Refused(f"two names differ only by case: {exact}", hint="rename one of them", sqlstate="42712")


MAX_SIZE = 50_000
MAX_WIDTH = 2_000
MAX_GROUPING_SETS = 256
UNKNOWN_WIDTH = 100
"""Columns of a table whose columns are not given."""

_NAMED_WINDOW = "window "
_Sizes = Mapping[str, int]


def check_size(tree: exp.Expr, tables: Container[str]) -> None:
    """Raises :class:`Refused` (54001) where binding could take more than a bounded time.

    >>> import sqlglot
    >>> items = ", ".join(f"s{i} + s{i} AS s{i + 1}" for i in range(30))
    >>> check_size(sqlglot.parse_one(f"SELECT 1 AS s0, {items}"), ())
    Traceback (most recent call last):
    rewriter.refused.Refused: the query becomes too large when its names are put in
    """
    _Measure(tables).size(tree, {}, {})


class _Measure:
    def __init__(self, tables: Container[str]) -> None:
        self._tables = tables
        self._widths: dict[int, int] = {}

    def size(self, node: exp.Expr, aliases: _Sizes, ctes: _Sizes) -> int:
        """The expressions that ``node`` becomes. ``aliases`` are the sizes of select items in reach by name."""
        with_ = node.args.get("with_")
        total = 1
        if with_ is not None:
            ctes = dict(ctes)
            for cte in with_.expressions:
                total += self.size(cte.this, {}, ctes)
                ctes[cte.alias.lower()] = self._width(cte.this)
        if isinstance(node, exp.Select):
            total += self._select(node, aliases, ctes)
        elif isinstance(node, exp.Column):
            total += 0 if node.args.get("table") else aliases.get(node.name.lower(), 0)
        else:
            if isinstance(node, exp.Window) and node.alias:
                total += aliases.get(_NAMED_WINDOW + node.alias.lower(), 0)
            elif isinstance(node, exp.Table):
                self._widths[id(node)] = self._stored(node, ctes)
            construct = CONSTRUCTS.of(node)
            for child in node.iter_expressions():
                if not isinstance(child, exp.With):
                    total += self.size(child, aliases, ctes) * (
                        construct.copies if child.arg_key in construct.repeated else 1
                    )
            if isinstance(node, exp.Query | exp.Values | exp.SetOperation):
                self._widths[id(node)] = self._width(node)
        return _bounded(total, MAX_SIZE, "the query becomes too large when its names are put in")

    def _select(self, select: exp.Select, aliases: _Sizes, ctes: _Sizes) -> int:
        total = 0
        sources = [item for part in ("from_", "joins") for item in _parts(select, part)]
        for item in sources:
            total += self.size(item, {}, ctes)
        inner = dict(aliases)
        for window in _parts(select, "windows"):
            inner[_NAMED_WINDOW + window.name.lower()] = size = self.size(window, aliases, ctes)
            total += size
        width, all_columns = 0, sum(self._width(item.this) for item in sources)
        for item in select.expressions:
            size = self.size(item, inner, ctes)
            if isinstance(item, exp.Alias):
                inner[item.alias.lower()] = max(size, inner.get(item.alias.lower(), 0))
            width += all_columns if is_star(item) else 1
            total += size
        for part in select.args:
            if part not in ("with_", "from_", "joins", "windows", "expressions"):
                total += sum(self.size(child, inner, ctes) for child in _parts(select, part))
        self._widths[id(select)] = _bounded(width, MAX_WIDTH, "the query has too many columns")
        _check_sets(select)
        return total

    def _stored(self, table: exp.Expr, ctes: _Sizes) -> int:
        if (width := ctes.get(table.name.lower())) is not None:
            return width
        columns = self._tables.get(table.name) if isinstance(self._tables, Mapping) else None
        return UNKNOWN_WIDTH if columns is None else len(columns)

    def _width(self, node: exp.Expr) -> int:
        if (known := self._widths.get(id(node))) is not None:
            return known
        if isinstance(node, exp.Subquery | exp.SetOperation):
            return self._width(node.this)
        if isinstance(node, exp.Values) and node.expressions:
            return max(len(row.expressions) for row in node.expressions)
        return 1


def _parts(node: exp.Expr, name: str) -> list[exp.Expr]:
    value = node.args.get(name)
    return [part for part in (value if isinstance(value, list) else [value]) if isinstance(part, exp.Expr)]


def _check_sets(select: exp.Select) -> None:
    """GROUP BY ROLLUP(…), CUBE(…) has the product of their grouping sets."""
    group = select.args.get("group")
    sets = 1
    for node in group.find_all(exp.Rollup, exp.Cube, exp.GroupingSets) if group is not None else ():
        count = len(node.expressions)
        sets *= 2 ** min(count, 30) if isinstance(node, exp.Cube) else count + 1
        _bounded(sets, MAX_GROUPING_SETS, "GROUP BY has too many grouping sets")


def _bounded(number: int, most: int, message: str) -> int:
    if number > most:
        raise Refused(message, hint=f"at most {most:,}: use WITH for the parts", sqlstate=TOO_COMPLEX)
    return number
