"""Names of tables as constants: ``'patient'::regclass::text`` is the name of a declared table.

It is the name by which ``dpsql.columns`` has the table. A name of no table is refused, as in PostgreSQL.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.columns import nearest_name
from rewriter.declared import Catalog, Table
from rewriter.refused import UNKNOWN_TABLE, Refused
from rewriter.statement import SUMMARY, lexemes

SUMMARIZED = (
    "SUMMARIZE reads no row: min and max are the ends of the declared range; MIN, MAX, COUNT(*), AVG, STDDEV and "
    "MEDIAN of a SELECT are measured"
)


def plain_table_names(tree: exp.Query, catalog: Catalog) -> tuple[exp.Query, tuple[str, ...]]:
    """``tree`` with such names as texts, and what is to be told of it."""
    if tree.find(exp.ObjectIdentifier) is None:
        return tree, ()
    copy: exp.Query = tree.copy()
    for cast in list(copy.find_all(exp.Cast)):
        inner = cast.this
        if (
            cast.to.this is exp.DType.TEXT
            and isinstance(inner, exp.Cast)
            and isinstance(inner.to, exp.ObjectIdentifier)
            and inner.to.name.upper() == "REGCLASS"
            and isinstance(inner.this, exp.Literal)
            and inner.this.is_string
        ):
            cast.set("this", exp.Literal.string(_table(inner.this.name, catalog).name))
    summary = any(table.alias == SUMMARY for table in copy.find_all(exp.Table))
    return copy, (SUMMARIZED,) if summary else ()


def _table(name: str, catalog: Catalog) -> Table:
    parts = [lexeme for lexeme in lexemes(name) if lexeme.text != "."]
    found = None
    if 1 <= len(parts) <= 2:
        schema = parts[0].name if len(parts) == 2 else ""
        found = catalog.find(parts[-1].name, parts[-1].text.startswith('"'), schema)
    if found is None:
        hint = nearest_name(parts[-1].name if parts else name, sorted(catalog.tables))
        raise Refused(f"there is no table {name[:100]!r}", hint=hint, sqlstate=UNKNOWN_TABLE)
    return found
