"""Names as PostgreSQL reads them, and the small questions that every reader of a tree asks."""

from __future__ import annotations

from sqlglot import exp


def folded(identifier: exp.Expr) -> str:
    """The name that an identifier means, or that of a column: in lower case, unless it is quoted.

    >>> import sqlglot
    >>> [folded(sqlglot.parse_one(text)) for text in ('Town', '"Town"', 't.Town')]
    ['town', 'Town', 'town']
    """
    own = identifier.this if isinstance(identifier, exp.Column) else identifier
    return str(own.name) if own.args.get("quoted") else str(own.name.lower())


def alias_columns(alias: exp.Expr | None) -> list[str]:
    """The names that an alias gives to columns, as in ``AS t(a, b)``."""
    return [] if alias is None else [folded(name) for name in alias.args.get("columns") or ()]


def unaliased(item: exp.Expr) -> exp.Expr:
    """An item of a select list without its name."""
    return item.this if isinstance(item, exp.Alias) else item


def is_star(item: exp.Expr) -> bool:
    """Whether an item is ``*`` or ``t.*``."""
    return isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))


def nodes_of(part: object) -> list[exp.Expr]:
    """The nodes of one part of a node, which is a node, a list of nodes, or something else."""
    if isinstance(part, list):
        return [one for one in part if isinstance(one, exp.Expr)]
    return [part] if isinstance(part, exp.Expr) else []
