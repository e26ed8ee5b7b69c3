"""Constants in the clothes of functions, as tools write them: TO_DATE('2025-03-01', 'YYYY-MM-DD') is a date.

Guarantee: only literals are looked at, and a call is replaced by the one value that PostgreSQL gives it, or left alone
(to be refused where functions are checked). Times with a zone do not exist here: TO_TIMESTAMP is told in UTC.
"""

from __future__ import annotations

import datetime
import re

from sqlglot import exp

_FORMATS = re.compile(r"(?:%[YmdHMSf]|[-/ .:T])+")


def fold(tree: exp.Expr) -> None:
    """Replace such calls in a tree, in place.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("SELECT TO_DATE('2025-03-01', 'YYYY-MM-DD')", read="postgres")
    >>> fold(tree)
    >>> tree.sql("postgres")
    "SELECT CAST('2025-03-01' AS DATE)"
    """
    for node in list(tree.find_all(exp.StrToDate, exp.StrToTime)):
        moment = _moment(node)
        if moment is not None:
            is_date = isinstance(node, exp.StrToDate)
            spelt = moment.date().isoformat() if is_date else moment.isoformat(" ")
            type_ = exp.DataType.build("date" if is_date else "timestamp")
            node.replace(exp.Cast(this=exp.Literal.string(spelt), to=type_))


def _moment(node: exp.Expr) -> datetime.datetime | None:
    written, pattern = node.this, node.args.get("format")
    for part in (written, pattern):
        if not isinstance(part, exp.Literal) or not part.is_string or len(part.this) > 40:
            return None
    if _FORMATS.fullmatch(pattern.this) is None:  # type: ignore[union-attr]
        return None
    try:
        return datetime.datetime.strptime(written.this, pattern.this)  # type: ignore[union-attr]
    except ValueError:
        return None
