"""UNION, INTERSECT and EXCEPT: of two answers, or of rows of people on both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.aggregates import parenthesised
from rewriter.dialects import Dialect, named_table
from rewriter.refused import Refused, limited_rows
from rewriter.relations import Relation, kept_of, renamed, union_all
from rewriter.release import RESERVED
from rewriter.split.named_queries import Names, Outer, Resolved
from rewriter.statement import only

_PARTS = frozenset({"this", "expression", "distinct", "with_", "order", "limit", "offset"})
_BOTH = f"{RESERVED}both"
"""The name under which SELECT DISTINCT reads the rows of a UNION."""


@dataclass(frozen=True, slots=True)
class SetOperations:
    """How the sides of a set operation are read: ``query`` resolves one, ``select`` a SELECT of our own making over
    names, and ``alias`` gives a new name."""

    query: Callable[[exp.Expr, Names], Resolved]
    select: Callable[[exp.Select, Names, list[exp.Expr]], Resolved]
    alias: Callable[[], str]
    dialect: Dialect

    def of(self, node: exp.SetOperation, names: Names, ctes: list[exp.Expr], *, repeats: bool = False) -> Resolved:
        """``repeats``: it does not matter whether rows are repeated, since they are made distinct above."""
        word = type(node).__name__.upper()
        only(node, _PARTS, word)
        distinct = bool(node.args.get("distinct"))
        if isinstance(node.this, exp.Union) and word == "UNION" and (distinct or repeats) and not _is_cut(node.this):
            left = self.of(node.this, names, [], repeats=True)
        else:
            left = self.query(node.this, names)
        right = self.query(node.expression, names)
        if isinstance(left, Outer) and isinstance(right, Outer):
            return _of_answers(node, left, right, names, ctes)
        if isinstance(left, Relation) and isinstance(right, Relation):
            return self._of_people(node, left, right, names, once=distinct and not repeats)
        raise Refused(f"{word} mixes rows of people with aggregates", hint="aggregate both sides")

    def _of_people(
        self, node: exp.SetOperation, left: Relation, right: Relation, names: Names, *, once: bool
    ) -> Resolved:
        word = type(node).__name__.upper()
        if node.args.get("limit") or node.args.get("offset"):
            raise limited_rows()
        if word == "UNION":
            both = union_all(left, right, self.alias(), self.dialect)
            found = self._distinct(both) if once else both
            return replace(found, source=node, names=names) if isinstance(found, Outer) else found
        if not node.args.get("distinct"):
            raise Refused(f"{word} ALL is not answered over people", hint=f"use {word} without ALL")
        return kept_of(type(node), left, right, self.alias(), self.dialect)

    def _distinct(self, rows: Relation) -> Resolved:
        """The rows of a relation once each: UNION is SELECT DISTINCT over UNION ALL."""
        select, named = once_each(rows)
        return self.select(select, {_BOTH: named}, [])


def _of_answers(node: exp.SetOperation, left: Outer, right: Outer, names: Names, ctes: list[exp.Expr]) -> Outer:
    tree = type(node)(
        this=parenthesised(left.tree),
        expression=parenthesised(right.tree),
        distinct=node.args.get("distinct"),
    )
    for part in ("order", "limit", "offset"):
        if (value := node.args.get(part)) is not None:
            tree.set(part, value.copy())
    if ctes:
        tree.set("with_", exp.With(expressions=ctes))
    return Outer(tree, left.releases or right.releases, node, names)


def once_each(rows: Relation) -> tuple[exp.Select, Relation]:
    """SELECT DISTINCT of all columns of a relation, and the relation under the names that it reads."""
    places = [f"c{place}" for place, _ in enumerate(rows.columns)]
    columns: list[exp.Expr] = [
        exp.alias_(exp.column(place), exp.to_identifier(column, quoted=True))
        for place, (column, _) in zip(places, rows.columns, strict=True)
    ]
    select = exp.Select(expressions=columns, distinct=exp.Distinct()).from_(named_table(_BOTH), copy=False)
    return select, renamed(rows, places)


def _is_cut(node: exp.SetOperation) -> bool:
    """Whether a set operation has parts of its own that its rows depend on."""
    return any(node.args.get(part) for part in ("with_", "order", "limit", "offset"))
