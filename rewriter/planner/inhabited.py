"""The SQL of a release without its public groups, for an engine that has listed them before.

An engine takes longer to plan and to make a small key set than to read the rows. The set is the last table of the
plan's own SQL but for the SELECT that fills empty groups in, so the text is cut there: what is measured, and how people
are bounded, is the same text to the letter.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.dialects import Dialect, named_table, number
from rewriter.plan import Inhabited


def inhabited(tree: exp.Expr, sql: str, public: exp.Expr, dialect: Dialect) -> Inhabited | None:
    """What ``sql``, the text of ``tree``, answers for groups that somebody is in, listed or not; None where more
    than one table is filled in."""
    with_ = tree.args.get("with_")
    names = [] if with_ is None else [cte.alias for cte in with_.expressions]
    groups = dialect.sql(public)
    before, cut, after = sql.partition(f", keys AS ({groups}) SELECT ")
    if names[-2:] != ["released", "keys"] or not cut or ") SELECT " in after:
        return None
    columns: list[exp.Expr] = []
    for item in tree.expressions:
        if isinstance(item, exp.Column):
            columns.append(exp.column(item.name))
        else:
            filled = exp.Coalesce(this=exp.column(item.alias), expressions=[number(0)])
            columns.append(exp.alias_(filled, item.alias))
    found = exp.Select(expressions=columns).from_(named_table("released"), copy=False)
    tables = frozenset((table.db, table.name) for table in public.find_all(exp.Table) if table.db)
    return Inhabited(f"{before} {dialect.sql(found)}", sql, tables)
