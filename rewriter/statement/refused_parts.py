"""Refusal of the parts of a SELECT that are not answered."""

from __future__ import annotations

from sqlglot import exp

from rewriter.dialects import is_fact
from rewriter.refused import NOT_ANSWERED, Refused

_PARTS = {"locks": "FOR UPDATE", "sample": "TABLESAMPLE", "laterals": "LATERAL", "into": "SELECT INTO"}
"""The words for parts of a query whose names in the tree are others."""


def only(node: exp.Expr, allowed: frozenset[str], what: str, hint: str = "leave it out") -> None:
    """Refuse a node that carries anything but the allowed parts: what is not known is not ignored."""
    for name, value in node.args.items():
        if value and name not in allowed and not is_fact(value):
            word = _PARTS.get(name) or name.rstrip("_").replace("_", " ").upper()
            raise Refused(f"{word} is not answered in {what}", hint=hint, sqlstate=NOT_ANSWERED)
