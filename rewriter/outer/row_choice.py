"""Whether a statement chooses the rows that it shows by their measured numbers."""

from __future__ import annotations

from sqlglot import exp


def chooses(tree: exp.Query, measured: frozenset[str]) -> bool:
    """Whether a statement over releases shows some rows and not others by what is ``measured`` of them.

    >>> import sqlglot
    >>> names = frozenset({"a0"})
    >>> chooses(sqlglot.parse_one("SELECT k0, a0 AS n FROM r ORDER BY n DESC LIMIT 5"), names)
    True
    >>> chooses(sqlglot.parse_one("SELECT k0, a0 AS n FROM r WHERE k0 > 3 ORDER BY k0 LIMIT 5"), names)
    False
    """
    noisy = _noisy_names(tree, measured)

    def reads(node: exp.Expr | None) -> bool:
        return node is not None and any(column.name.lower() in noisy for column in node.find_all(exp.Column))

    for select in tree.find_all(exp.Select, exp.Union):
        if any(reads(select.args.get(part)) for part in ("where", "having", "qualify")):
            return True
        order = select.args.get("order")
        if order is None or not (select.args.get("limit") or select.args.get("offset")):
            continue
        items = select.selects
        for ordered in order.expressions:
            by = ordered.this
            if isinstance(by, exp.Literal) and by.is_int and 0 < int(by.name) <= len(items):
                by = items[int(by.name) - 1]
            if reads(by):
                return True
    return False


def _noisy_names(tree: exp.Expr, measured: frozenset[str]) -> set[str]:
    """The measured columns, and what they are called further up."""
    noisy = set(measured)
    aliases = [(one.alias.lower(), one.this) for one in tree.find_all(exp.Alias)]
    while True:
        found = {
            name
            for name, item in aliases
            if name not in noisy and any(column.name.lower() in noisy for column in item.find_all(exp.Column))
        }
        if not found:
            return noisy
        noisy |= found
