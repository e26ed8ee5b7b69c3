"""Where a query goes: to us, where private data is and answers are paid for, or to the shadow, which has no rows.

Guarantee: a query that names a table of the policy, or of the schema ``dpsql``, goes to the shadow only if PostgreSQL
would return no row for it whatever the tables hold. So an empty table is never mistaken for an answer, and a client
that asks for columns alone (``LIMIT 0``, ``WHERE 0 = 1``) gets them free.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, StrEnum

from sqlglot import exp

from rewriter.declared import Catalog
from rewriter.front_door import MAX_BYTES, folded, lexemes
from rewriter.refused import NOT_ALLOWED, NOT_ANSWERED, Refused


class Route(StrEnum):
    OURS = "ours"
    """Tables of the policy, the schema ``dpsql``, and whatever does not exist."""
    SHADOW = "shadow"
    """Catalogs, functions of the session, constants."""
    PROBE = "probe"
    """Tables of the policy, and provably no row: asked for its columns."""


class NamedRelation(Enum):
    """What a name in FROM means."""

    POLICY = 1
    DPSQL = 2
    CATALOG = 3
    UNKNOWN = 4


@dataclass(frozen=True, slots=True)
class SetConfig:
    """``set_config(name, value, is_local)``: a SET in the clothes of a query."""

    name: str
    value: str
    local: bool


_WRITES = (exp.Into, exp.DML, exp.DDL, exp.Command)
_SEVERAL_SETS = (exp.Tuple, exp.Rollup, exp.Cube, exp.GroupingSets)
"""Forms of GROUP BY that may hold the empty set of keys, which has a row even when there are none."""

_PLAIN_SELECT = {"expressions", "from_", "where", "kind", "hint"}
"""Clauses of a SELECT that has one row for each row of its FROM."""

_SCALARS = (
    exp.And, exp.Or, exp.Xor, exp.Cast, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Lower, exp.Upper, exp.Length,
    exp.Trim, exp.Substring, exp.Concat, exp.Abs, exp.Round, exp.Floor, exp.Ceil, exp.Extract, exp.DateTrunc,
    exp.TimestampTrunc, exp.CurrentDate, exp.CurrentTimestamp, exp.Replace, exp.Greatest, exp.Least,
)  # fmt: skip
"""Functions that are surely no aggregates: without GROUP BY an aggregate makes a row of nothing."""


def route(tree: exp.Query, catalog: Catalog) -> Route:
    """Where the query of ``tree`` goes. Raises :class:`Refused` for a mixture of both sides, and for what writes.

    >>> from rewriter.statement.parser import parse
    >>> texts = "SELECT 1", "SELECT * FROM pg_class", "SELECT 1 FROM t"
    >>> [str(route(parse(text).tree, Catalog({}, None))) for text in texts]
    ['shadow', 'shadow', 'ours']
    """
    if tree.find(*_WRITES) is not None:
        raise Refused("dpsql only reads", hint="send a SELECT", sqlstate=NOT_ALLOWED)
    sources = _sources(tree, catalog)
    theirs = sources & {NamedRelation.POLICY, NamedRelation.DPSQL}
    if theirs and NamedRelation.CATALOG in sources:
        raise Refused(
            "catalogs and tables of the policy cannot be mixed in one query",
            hint="ask for the catalog and for the table one by one",
            sqlstate=NOT_ANSWERED,
        )
    if sources == {NamedRelation.POLICY} and no_row(tree):
        return Route.PROBE
    if theirs or sources == {NamedRelation.UNKNOWN}:
        return Route.OURS
    if settings_of(tree) is None and any(_is_set_config(node) for node in tree.find_all(exp.Anonymous)):
        raise Refused(
            "set_config stands in the list of a SELECT, with literals",
            hint="SET name = value does the same",
            sqlstate=NOT_ANSWERED,
        )
    return Route.SHADOW


def route_unparsed(text: str, catalog: Catalog) -> Route | None:
    """Where a text goes that our parser does not read: to the shadow, or nowhere.

    Fail-closed: it must name a catalog, and no word of it, quoted or not, may be a name of the policy's tables.

    >>> str(route_unparsed("SELECT '{}'::regtype[] FROM pg_class", Catalog({}, None)))
    'shadow'
    """
    if len(text.encode(errors="replace")) > MAX_BYTES or re.search(r"u&[\"']", text, re.IGNORECASE):
        return None
    found = [lexeme for lexeme in lexemes(text.rstrip("; \t\r\n")) if lexeme.word or lexeme.text.startswith('"')]
    names = {lexeme.name.lower() for lexeme in found}
    words = {lexeme.word for lexeme in found}
    hidden = {"dpsql"} | {name.lower() for name in catalog.tables}
    if not found or found[0].word not in ("SELECT", "WITH") or names & hidden:
        return None
    if words & {";", "INTO", "INSERT", "UPDATE", "DELETE", "MERGE", "SET_CONFIG"}:
        return None
    return Route.SHADOW if any(_is_catalog_schema(name) for name in names) else None


def settings_of(tree: exp.Query) -> tuple[SetConfig, ...] | None:
    """The settings of a SELECT with ``set_config('name', 'value', false)``; None if there are none. A FROM and a WHERE
    decide whether it has a row, and without a row nothing is set.

    >>> from rewriter.statement.parser import parse
    >>> settings_of(parse("SELECT 1, set_config('timezone', 'UTC', false)").tree)
    (SetConfig(name='timezone', value='UTC', local=False),)
    """
    if type(tree) is not exp.Select or {name for name, value in tree.args.items() if value} - _PLAIN_SELECT:
        return None
    everywhere = sum(_is_set_config(node) for node in tree.find_all(exp.Anonymous))
    calls = [call for call in map(_called, tree.expressions) if _is_set_config(call)]
    found = [one for call in calls if (one := _set_config(call)) is not None]
    return tuple(found) if found and len(found) == everywhere else None


def without_set_config(tree: exp.Query) -> str:
    """The same query with each ``set_config`` replaced by the value that it sets and returns.

    >>> from rewriter.statement.parser import parse
    >>> without_set_config(parse("SELECT set_config('jit', 'off', false) AS new").tree)
    "SELECT CAST('off' AS TEXT) AS new"
    """
    copy = tree.copy()
    for call in [node for node in copy.find_all(exp.Anonymous) if _is_set_config(node)]:
        value = exp.Cast(this=call.expressions[1].copy(), to=exp.DataType.build("text"))
        outer = call.parent if isinstance(call.parent, exp.Dot) else call
        named = outer.parent
        outer.replace(value if isinstance(named, exp.Alias) else exp.alias_(value, "set_config"))
    return copy.sql("postgres", comments=False)


def _called(projection: exp.Expr) -> exp.Expr:
    """The function that a projection calls, without its alias and its schema."""
    bare = projection.unalias()
    return bare.expression if isinstance(bare, exp.Dot) and bare.this.name.lower() == "pg_catalog" else bare


def no_row(tree: exp.Expr) -> bool:
    """Whether PostgreSQL returns no row for a query, whatever its tables hold. False where that is not plain.

    >>> from rewriter.statement.parser import parse
    >>> texts = "SELECT * FROM t LIMIT 0", "SELECT * FROM t WHERE 0 = 1", "SELECT COUNT(*) FROM t WHERE 0 = 1"
    >>> [no_row(parse(text).tree) for text in texts]
    [True, True, False]
    """
    if _is_zero(tree.args.get("limit")):
        return True
    if isinstance(tree, exp.Subquery):
        return no_row(tree.this)
    if isinstance(tree, exp.SetOperation):
        return no_row(tree.left) and no_row(tree.right)
    if not isinstance(tree, exp.Select) or _makes_a_row_of_nothing(tree):
        return False
    where = tree.args.get("where")
    if where is not None and _is_false(where.this):
        return True
    source = tree.args.get("from_")
    inner = source.this if source is not None else None
    return (
        isinstance(inner, exp.Subquery)
        and not tree.args.get("joins")
        and not tree.args.get("laterals")
        and no_row(inner)
    )


def _sources(tree: exp.Query, catalog: Catalog) -> set[NamedRelation]:
    """What the names in FROM mean, wherever they stand. Functions in FROM mean nothing: they read no table.

    A CTE hides no table of the policy: inside of itself the name still means the table.
    """
    hidden = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    found: set[NamedRelation] = set()
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Func):
            continue
        source = _source(table, catalog)
        if table.db or source is NamedRelation.POLICY or table.name.lower() not in hidden:
            found.add(source)
    return found


def _source(table: exp.Table, catalog: Catalog) -> NamedRelation:
    name, schema = table.this, table.args.get("db")
    if not isinstance(name, exp.Identifier):
        return NamedRelation.UNKNOWN
    spelt = "" if schema is None else folded(schema)
    if spelt == "dpsql":
        return NamedRelation.DPSQL
    if _is_catalog_schema(spelt):
        return NamedRelation.CATALOG
    if catalog.find(name.name, bool(name.quoted), spelt) is not None:
        return NamedRelation.POLICY
    if not spelt and folded(name).startswith("pg_"):
        return NamedRelation.CATALOG
    return NamedRelation.UNKNOWN


def _is_catalog_schema(name: str) -> bool:
    return name == "information_schema" or name.startswith("pg_")


def _makes_a_row_of_nothing(tree: exp.Select) -> bool:
    """Whether it may aggregate all rows into one, even when there are none: a count of nothing is 0."""
    group = tree.args.get("group")
    if group is not None:
        plain = {name for name, value in group.args.items() if value} == {"expressions"}
        return not plain or any(key.find(*_SEVERAL_SETS) or _may_aggregate(key) for key in group.expressions)
    if tree.args.get("having") is not None:
        return True
    order = tree.args.get("order")
    parts = [*tree.expressions, *(order.expressions if order is not None else ())]
    return any(_may_aggregate(part) for part in parts)


def _may_aggregate(part: exp.Expr) -> bool:
    return any(not isinstance(node, _SCALARS) for node in part.find_all(exp.Func))


def _is_zero(limit: exp.Expr | None) -> bool:
    count = None if limit is None else limit.args.get("count" if isinstance(limit, exp.Fetch) else "expression")
    return isinstance(count, exp.Literal) and not count.is_string and count.name == "0"


def _is_false(condition: exp.Expr) -> bool:
    """Whether a condition is false by its letters: FALSE, 0 = 1, 1 <> 1, or one of them AND anything."""
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        return _is_false(condition.left) or _is_false(condition.right)
    if isinstance(condition, exp.Boolean):
        return not condition.this
    if isinstance(condition, exp.EQ | exp.NEQ):
        sides = [side.unnest() for side in (condition.left, condition.right)]
        if all(isinstance(side, exp.Literal) and side.name.isdecimal() and not side.is_string for side in sides):
            equal = int(sides[0].name) == int(sides[1].name)
            return equal if isinstance(condition, exp.NEQ) else not equal
    return False


def _is_set_config(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() == "set_config"


def _set_config(node: exp.Expr) -> SetConfig | None:
    if len(node.expressions) != 3:
        return None
    name, value, local = node.expressions
    if not isinstance(local, exp.Boolean):
        return None
    if isinstance(name, exp.Literal | exp.Null) and isinstance(value, exp.Literal | exp.Null):
        return SetConfig(name.name.lower(), value.name, bool(local.this))
    return None
