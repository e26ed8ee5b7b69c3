"""``dpsql.low(x)``, ``dpsql.high(x)`` and ``dpsql.margin(x)``: columns that show the error of a number.

Such a column is the number itself until it has been answered: only then is its interval known, and stands in its place.
So nothing of the query may read the column, and it stands in the list of the outermost SELECT alone.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NoReturn

from sqlglot import exp

from rewriter.expressions import position_of
from rewriter.refused import NOT_ANSWERED, Refused
from rewriter.statement.identifiers import folded, is_star, nodes_of
from rewriter.statement.output_names import output_name


class Shown(StrEnum):
    """What a column shows of a number with an error: itself, an end of its 95 % interval, or the half-width."""

    VALUE = "value"
    LOW = "low"
    HIGH = "high"
    MARGIN = "margin"


def without_ends(tree: exp.Query) -> tuple[exp.Query, tuple[Shown, ...]]:
    """The query with numbers in place of their ends, and what each column of it shows; nothing where all are values.

    Raises :class:`Refused` where an end stands elsewhere, or where something reads its column.

    >>> import sqlglot
    >>> text = "SELECT k, dpsql.low(AVG(x)), dpsql.margin(AVG(x)) AS by FROM t GROUP BY k"
    >>> plain, shown = without_ends(sqlglot.parse_one(text, read="postgres"))
    >>> plain.sql(), [str(one) for one in shown]
    ('SELECT k, AVG(x) AS low, AVG(x) AS by FROM t GROUP BY k', ['value', 'low', 'margin'])
    """
    if not any(_end(node) for node in tree.find_all(exp.Dot)):
        return tree, ()
    plain = tree.copy()
    if type(plain) is not exp.Select or any(is_star(item) for item in plain.expressions):
        _refuse(next(node for node in plain.find_all(exp.Dot) if _end(node)))
    shown = []
    for item in list(plain.expressions):
        call = item.this if isinstance(item, exp.Alias) else item
        end = _end(call)
        shown.append(end or Shown.VALUE)
        if end is not None:
            named = item.args["alias"] if isinstance(item, exp.Alias) else exp.to_identifier(str(end))
            item.replace(exp.Alias(this=call.expression.expressions[0], alias=named))
    if left := next((node for node in plain.find_all(exp.Dot) if _end(node)), None):
        _refuse(left)
    _check_unread(plain, shown)
    return plain, tuple(shown)


def _end(node: exp.Expr | None) -> Shown | None:
    """What a call shows, if it is one of ours: ``dpsql.low(x)``."""
    if not isinstance(node, exp.Dot) or not isinstance(node.this, exp.Identifier):
        return None
    call = node.expression
    if folded(node.this) != "dpsql" or not isinstance(call, exp.Anonymous) or len(call.expressions) != 1:
        return None
    name = call.name.lower()
    return Shown(name) if name in ("low", "high", "margin") else None


def _check_unread(select: exp.Select, shown: list[Shown]) -> None:
    """ORDER BY, GROUP BY and DISTINCT would read the number, and not its end."""
    ends = {at for at, one in enumerate(shown) if one is not Shown.VALUE}
    names = {output_name(select.expressions[at]) for at in ends}
    own = {output_name(item) for at, item in enumerate(select.expressions) if at not in ends}
    if select.args.get("distinct"):
        _refuse(select)
    for name in ("order", "group", "having", "qualify", "windows"):
        for node in (one for part in nodes_of(select.args.get(name)) for one in part.walk()):
            by_name = isinstance(node, exp.Column) and not node.table and folded(node) in names - own
            by_place = isinstance(node, exp.Literal) and node.is_int and int(node.name) - 1 in ends
            if by_name or (by_place and isinstance(node.parent, exp.Ordered | exp.Group)):
                _refuse(node)


def _refuse(node: exp.Expr) -> NoReturn:
    raise Refused(
        "dpsql.low, dpsql.high and dpsql.margin are columns of their own",
        hint="write them in the list of the outermost SELECT, as in SELECT AVG(x), dpsql.margin(AVG(x)), "
        "and sort by the number itself",
        sqlstate=NOT_ANSWERED,
        position=position_of(node),
    )
