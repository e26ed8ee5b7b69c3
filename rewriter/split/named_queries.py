"""The names that stand in FROM: WITH queries in reach, tables of the catalog, and virtual relations.

WITH queries that nothing reads: releases under them are not bought.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from rewriter.columns import nearest_name
from rewriter.declared import VIRTUAL_COLUMNS, Catalog, Table
from rewriter.expressions import position_of
from rewriter.refused import TOO_COMPLEX, UNKNOWN_TABLE, Refused
from rewriter.relations import Relation
from rewriter.release import RESERVED
from rewriter.split.correlated_values import with_joined_values
from rewriter.split.lists_in_from import made_rows
from rewriter.statement import folded, only

_VIRTUAL = frozenset(name.removeprefix(RESERVED) for name in VIRTUAL_COLUMNS)

MAX_EXPANDED = 400_000
"""Syntax nodes that WITH queries over people become where they are named, together."""


@dataclass(frozen=True, slots=True)
class Outer:
    """A query over released tables and public ones, rebuilt on our table names.

    It was made of ``source`` and ``names``, which are kept for a subquery that rows of people are joined with. WITH
    calls its first columns by the names ``columns``.
    """

    tree: exp.Query
    releases: bool
    source: exp.Query
    names: Names
    columns: tuple[str, ...] = ()


Resolved = Relation | Outer
Names = Mapping[str, Resolved]
"""The CTEs in reach, by folded name."""


class NamedQueries:
    """What a name in FROM stands for."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._expanded = 0
        self._sizes: dict[int, tuple[exp.Expr, int]] = {}

    def named(self, item: exp.Table, names: Names) -> Resolved | Table | None:
        """A CTE, a table of the catalog, or None for a virtual relation. Raises for anything else."""
        only(item, frozenset({"this", "db", "catalog", "alias"}), "FROM")
        if not isinstance(item.this, exp.Identifier):
            raise Refused("a function in FROM is not answered", hint="name a table", sqlstate=UNKNOWN_TABLE)
        name, quoted = item.this.name, bool(item.this.args.get("quoted"))
        schema = item.db.lower()
        if not schema and not item.catalog and (found := names.get(name if quoted else name.lower())) is not None:
            if isinstance(found, Relation):
                self._expand(found)
            return found
        if schema == "dpsql" and name.lower() in _VIRTUAL and not item.catalog:
            return None
        table = None if item.catalog else self._catalog.find(name, quoted, schema)
        if table is None:
            raise Refused(
                f"there is no table {'.'.join(part.name for part in item.parts)!r}",
                hint=self._instead(item, names),
                sqlstate=UNKNOWN_TABLE,
                position=position_of(item.this),
            )
        return table

    def _instead(self, item: exp.Table, names: Names) -> str:
        """What a hint names in the place of a table that there is not."""
        name, schema = item.name, item.db.lower()
        if schema == "dpsql":
            return nearest_name(f"dpsql.{name}", (f"dpsql.{known}" for known in sorted(_VIRTUAL)))
        if schema and (found := self._catalog.find(name, quoted=bool(item.this.args.get("quoted")))) is not None:
            return f"write {found.name}"
        return nearest_name(name, [*names, *sorted(self._catalog.tables)])

    def columns(self, item: exp.Expr, names: Names) -> frozenset[str] | None:
        """The folded names of the columns of rows that are named; None of all else."""
        found = self.named(item, names) if isinstance(item, exp.Table) else None
        if isinstance(found, Table):
            return frozenset(name.lower() for name in found.columns)
        return frozenset(name.lower() for name, _ in found.columns) if isinstance(found, Relation) else None

    def with_joined_values(self, select: exp.Select, names: Names) -> exp.Select:
        """A SELECT whose subqueries look up values of other rows for each row, with joins in their place, where people
        are among these rows."""
        if not any(map(partial(self._is_of_people, names=names), select.find_all(exp.Table))):
            return select

        def is_public(item: exp.Expr) -> bool:
            if isinstance(item, exp.Subquery):
                return all(map(is_public, item.find_all(exp.Table)))
            if not isinstance(item, exp.Table) or made_rows(item) is not None:
                return isinstance(item, exp.Values | exp.Table)
            found = self.named(item, names)
            return found.public if isinstance(found, Table) else isinstance(found, Outer) and not found.releases

        return with_joined_values(select, is_public) or select

    def _is_of_people(self, item: exp.Table, names: Names) -> bool:
        """Whether a name means rows of people, here or in a subquery that may give it another meaning."""
        found = None if item.db else names.get(item.name, names.get(item.name.lower()))
        table = self._catalog.find(item.name, schema=item.db)
        return isinstance(found, Relation) or (table is not None and not table.public)

    def tables_in(self, names: Names) -> Callable[[exp.Expr], Table | None]:
        """What items of FROM mean where these names are in reach."""

        def table_of(item: exp.Expr) -> Table | None:
            found = self.named(item, names) if isinstance(item, exp.Table) else None
            return found if isinstance(found, Table) else None

        return table_of

    def holds_people(self, item: exp.Expr, names: Names, sources: Mapping[int, Resolved]) -> bool:
        if id(item) in sources:
            return isinstance(sources[id(item)], Relation)
        table = self.named(item, names) if isinstance(item, exp.Table) else None
        return isinstance(table, Relation) or (isinstance(table, Table) and not table.public)

    def defined(self, cte: exp.Expr) -> str:
        """The folded name that a WITH query gives; it is none of ours."""
        only(cte, frozenset({"this", "alias", "materialized"}), "WITH")
        name = cte.args["alias"].this
        known_as = folded(name)
        if known_as.startswith(RESERVED):
            raise Refused(f"names that begin with {RESERVED} are taken", hint="choose another name", sqlstate="42939")
        return known_as

    def _expand(self, cte: Relation) -> None:
        """Bound what names stand for: a CTE over people is put in wherever it is named, and each may name two more."""
        self._expanded += self._size(cte.rows) + len(cte.columns)
        if self._expanded > MAX_EXPANDED:
            raise Refused(
                "the query becomes too large when its WITH queries are put in",
                hint="name each of them fewer times",
                sqlstate=TOO_COMPLEX,
            )

    def _size(self, rows: exp.Select) -> int:
        """The syntax nodes of the rows of a CTE; those of a CTE inside of it, whose FROM they share, are known."""
        from_ = rows.args["from_"]
        if (known := self._sizes.get(id(from_))) is not None:
            return known[1]
        size, stack = 0, [rows]
        while stack:
            node = stack.pop()
            inside = self._sizes.get(id(node.args.get("from_"))) if isinstance(node, exp.Select) else None
            if inside is not None:
                size += inside[1]
                stack += node.expressions
            else:
                size += 1
                stack.extend(node.iter_expressions())
        self._sizes[id(from_)] = from_, size
        return size


def renamed_table(item: exp.Table, table: Table | None) -> exp.Table:
    """A public table, or a virtual relation, by our name for it; the query goes on calling it as it did."""
    real = RESERVED + item.name.lower() if table is None else table.name
    columns = item.args["alias"].args.get("columns") if item.args.get("alias") else None
    alias = exp.TableAlias(this=exp.to_identifier(item.alias or item.name, quoted=True), columns=columns)
    return exp.Table(this=exp.to_identifier(real, quoted=True), alias=alias)


def drop_unread_queries(tree: exp.Expr, may_go: Callable[[exp.CTE], bool] = lambda _: True) -> None:
    """Take away, in place, WITH queries that nothing reads, of those that ``may_go``; and what they alone read.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("WITH a AS (SELECT 1 AS x), b AS (SELECT x FROM a) SELECT 2 AS y")
    >>> drop_unread_queries(tree)
    >>> tree.sql()
    'SELECT 2 AS y'
    """
    while True:
        read = {table.name.lower() for table in tree.find_all(exp.Table)}
        unread = [cte for cte in tree.find_all(exp.CTE) if cte.alias.lower() not in read and may_go(cte)]
        if not unread:
            return
        for cte in unread:
            with_ = cte.parent
            cte.pop()
            if with_ is not None and not with_.expressions:
                with_.pop()
