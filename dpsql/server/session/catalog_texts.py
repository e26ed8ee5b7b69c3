"""Whether a text asks for catalogs alone, of a program that asks without a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpsql.server.session.route import Route, route, route_unparsed
from rewriter.declared import Catalog
from rewriter.front_door import Select, parse
from rewriter.refused import Refused


def catalog_query(text: str, parameters: Sequence[object] | Mapping[str, object], catalog: Catalog) -> str | None:
    """What the catalogs are asked for a text, with its parameters as literals; None where it is about something else.
    Raises :class:`rewriter.refused.Refused` for a mixture.

    >>> known = Catalog({}, None)
    >>> catalog_query("SELECT relname FROM pg_class WHERE relname = ?", ["visit"], known)
    "SELECT relname FROM pg_class WHERE relname = 'visit'"
    >>> catalog_query("SELECT 'pg_class'", (), known), catalog_query("SELECT COUNT(*) FROM pg_visit_", (), known)
    (None, 'SELECT COUNT(*) FROM pg_visit_')
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
    if not isinstance(statement, Select) or statement.tree.find(exp.Table) is None:
        return None
    if route(statement.tree, catalog) is not Route.SHADOW:
        return None
    return statement.tree.sql("postgres", comments=False) if parameters else text
