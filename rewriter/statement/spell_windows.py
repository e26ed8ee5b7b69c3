"""Named windows, written out at each call: ``SUM(n) OVER w … WINDOW w AS (ORDER BY i)``.

Theorem: a name of WINDOW stands for its definition, wherever the same SELECT names it; a definition that names an
earlier one has its PARTITION BY and ORDER BY. So every later reader knows one spelling of a window.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from rewriter.refused import TOO_COMPLEX, Refused
from rewriter.statement.identifiers import folded

_MOST_NODES = 20_000
"""How large all copies of definitions may be together."""
_PARTS = ("partition_by", "order", "spec")


def plain_windows(tree: exp.Query) -> exp.Query:
    """``tree`` without WINDOW. Raises :class:`Refused` as PostgreSQL does: 42704 for a name without a definition, 42P20
    for PARTITION BY, a second ORDER BY or a frame where the definition decides.

    >>> import sqlglot
    >>> sql = "SELECT SUM(n) OVER v FROM t WINDOW w AS (PARTITION BY k), v AS (w ORDER BY n)"
    >>> plain_windows(sqlglot.parse_one(sql, read="postgres")).sql("postgres")
    'SELECT SUM(n) OVER (PARTITION BY k ORDER BY n) FROM t'
    """
    named = (_name(node) is not None for node in tree.find_all(exp.Window))
    if not any(named) and not any(select.args.get("windows") for select in tree.find_all(exp.Select)):
        return tree
    copy: exp.Query = tree.copy()
    left = _MOST_NODES
    for select in copy.find_all(exp.Select):
        definitions = _definitions(select)
        for node in list(select.find_all(exp.Window)):
            name = _name(node)
            if name is None or node.parent_select is not select:
                continue
            _write_out(node, name, definitions)
            left -= sum(1 for _ in node.walk())
            if left < 0:
                raise Refused(
                    "the query becomes too large when its names are put in", hint="ask for less", sqlstate=TOO_COMPLEX
                )
        select.set("windows", None)
    return copy


def _definitions(select: exp.Select) -> dict[str, exp.Window]:
    """The windows of WINDOW by their names, each without the name of another."""
    found: dict[str, exp.Window] = {}
    for window in select.args.get("windows") or ():
        if (base := _name(window)) is not None:
            _write_out(window, base, found)
        if folded(window.this) in found:
            raise Refused(
                f"window {window.name!r} is already defined", hint="give each window a name", sqlstate="42P20"
            )
        found[folded(window.this)] = window
    return found


def _write_out(node: exp.Window, name: exp.Identifier, definitions: Mapping[str, exp.Window]) -> None:
    """Put a definition's parts in the place of its name, beside an ORDER BY and a frame of the window's own."""
    base = definitions.get(folded(name))
    if base is None:
        raise Refused(f"there is no window {name.name!r}", hint="name it: WINDOW w AS (…)", sqlstate="42704")
    own, its = ({part for part in _PARTS if of.args.get(part)} for of in (node, base))
    if "partition_by" in own or (own and "spec" in its) or own & its:
        raise Refused(f"window {name.name!r} decides this already", hint="write the window out", sqlstate="42P20")
    for part in its:
        value = base.args[part]
        node.set(part, [one.copy() for one in value] if isinstance(value, list) else value.copy())
    node.set("alias", None)


def _name(node: exp.Window) -> exp.Identifier | None:
    name = node.args.get("alias")
    return name if isinstance(name, exp.Identifier) else None
