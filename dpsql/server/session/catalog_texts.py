"""Whether a text asks for catalogs alone, of a program that asks without a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpsql.server.session.route import Route, route, route_unparsed
from rewriter.declared import Catalog
from rewriter.front_door import Explain, Select, parse
from rewriter.refused import Refused

_NODES = (
    *(exp.CurrentSchema, exp.CurrentSchemas, exp.CurrentCatalog, exp.CurrentDatabase, exp.CurrentUser, exp.SessionUser),
    *(exp.CurrentVersion, exp.ObjectIdentifier),
)
_WORDS = frozenset(
    {"version", "current_database", "current_setting", "format_type", "obj_description", "col_description"}
)
_OWN = frozenset({"pg_backend_pid", "pg_cancel_backend"})
"""Of a session of the server: without one there is no such number."""


def catalog_query(text: str, parameters: Sequence[object] | Mapping[str, object], catalog: Catalog) -> str | None:
    """What the catalogs are asked for a text, with its parameters as literals; None where it is about something else.
    Raises :class:`rewriter.refused.Refused` for a mixture.

    >>> known = Catalog({}, None)
    >>> catalog_query("SELECT relname FROM pg_class WHERE relname = ?", ["visit"], known)
    "SELECT relname FROM pg_class WHERE relname = 'visit'"
    >>> catalog_query("SELECT 'pg_class'", (), known), catalog_query("SELECT COUNT(*) FROM pg_visit_", (), known)
    (None, 'SELECT COUNT(*) FROM pg_visit_')
    >>> catalog_query("SELECT version(), current_schema", (), known), catalog_query("SELECT 1 + 1", (), known)
    ('SELECT version(), current_schema', None)
    """
    try:
        statement = parse(text, parameters)
    except Refused:
        if route_unparsed(text, catalog) is None:
            return None
        if parameters:
            reason = "this question about the catalog takes no parameters"
            raise Refused(reason, hint="write its values into the text") from None
        return text
    if isinstance(statement, Explain):
        check_explained(statement.query.tree, catalog)
    if not isinstance(statement, Select):
        return None
    if statement.tree.find(exp.Table) is None and not any(map(_of_catalogs, statement.tree.walk())):
        return None
    if route(statement.tree, catalog) is not Route.SHADOW:
        return None
    return statement.tree.sql("postgres", comments=False) if parameters else text


def check_explained(tree: exp.Query, catalog: Catalog) -> None:
    """Raises :class:`rewriter.refused.Refused` for EXPLAIN of a query of catalogs, which has no price and no errors."""
    if tree.find(exp.Table) is not None and route(tree, catalog) is Route.SHADOW:
        reason = "EXPLAIN tells the price and the errors of questions about people: a query of the catalog has neither"
        raise Refused(reason, hint="ask it without EXPLAIN: it is free")


def _of_catalogs(node: exp.Expr) -> bool:
    """Whether a part of a text without tables asks for what the server is, or for what it knows of tables."""
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        return name in _WORDS or (name.startswith(("pg_", "has_")) and name not in _OWN)
    return isinstance(node, _NODES)
