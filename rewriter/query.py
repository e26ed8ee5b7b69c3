"""A release as a question: which rows, grouped by what, which aggregates. Also the program that a statement becomes."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from rewriter.contribution import ContributionBound
from rewriter.value import Value


@dataclass(frozen=True, slots=True)
class Key:
    """A grouping expression; ``text`` is how it was written."""

    value: Value
    text: str


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate over people, checked: ``function`` is the node class, ``argument`` None for COUNT(*).

    ``distinct`` marks COUNT(DISTINCT argument), ``condition`` is its FILTER. ``within`` is the same over people, where
    CASE can be a condition: SUM(x) FILTER (WHERE p) for SUM(CASE WHEN p THEN x ELSE 0 END).
    """

    function: type[exp.Expr]
    argument: Value | None
    condition: Value | None
    distinct: bool
    text: str
    within: Aggregate | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """One release: the innermost SELECT that aggregates over people. The only thing that touches private data.

    ``rows`` is our own SELECT without a select list; every row of it is owned by ``unit``. ``filters`` are the
    conditions already in ``rows``, for narrowing public key sets.
    """

    rows: exp.Select
    unit: exp.Expr
    bound: ContributionBound
    filters: tuple[Value, ...]
    keys: tuple[Key, ...]
    aggregates: tuple[Aggregate, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A statement: its releases, and the outer SELECT over their tables ``dpsql_release_0``, ``dpsql_release_1``, …

    A release's table has columns ``k0``, ``k1``, … for its keys and ``a0``, ``a1``, … for its aggregates. ``outer``
    still has the analyst's nodes and is checked by :mod:`rewriter.outer` before it runs. ``tables`` are the public
    tables and virtual relations that it reads. ``notes`` tell an analyst what was answered from the policy alone.
    """

    releases: tuple[Query, ...]
    outer: exp.Query
    tables: frozenset[str]
    notes: tuple[str, ...] = ()


def release_name(number: int) -> str:
    return f"dpsql_release_{number}"
