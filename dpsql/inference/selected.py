"""Intervals of rows that were chosen by their own noisy numbers: the first ten, those above a limit.

Chosen rows are likelier to be overstated: of the first 5 of 64 equal groups, 95 % intervals hold 73 %. Where R of m
rows are shown by what was measured of them, intervals of the level 1 - 0.05·R/m hold 95 % of the rows that are shown,
in the mean, whatever the rule was (Benjamini, Yekutieli 2005, theorem 1: the false coverage-statement rate). So each
interval is made that much wider. Post-processing: it reads what is shown, and the statement's text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import sqlglot
from sqlglot import exp

from dpsql.inference.propagate import Ends, as_number

NOTE = (
    "the rows were chosen by their noisy numbers, which makes these likelier to be too high or too low: their error"
    " bars are wider, so that 95 % of the rows shown are within them"
)
_MISSED = 0.05

Cell = Ends | tuple[str, str] | None


def chooses(outer: str, measured: frozenset[str]) -> bool:
    """Whether a statement over releases shows some rows and not others by what is ``measured`` of them.

    >>> names = frozenset({"a0"})
    >>> chooses("SELECT k0, a0 AS n FROM r ORDER BY n DESC LIMIT 5", names)
    True
    >>> chooses("SELECT k0, a0 AS n FROM r WHERE k0 > 3 ORDER BY k0 LIMIT 5", names)
    False
    """
    tree = sqlglot.parse_one(outer, read="duckdb")
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


def stretch(shown: int, among: int, *, laplace: bool) -> float:
    """By what the intervals of so many rows among others are longer than 95 % intervals of single rows.

    >>> round(stretch(5, 64, laplace=False), 2), round(stretch(5, 64, laplace=True), 2), stretch(64, 64, laplace=True)
    (1.47, 1.85, 1.0)
    """
    if not 0 < shown < among:
        return 1.0
    missed = _MISSED * shown / among
    if laplace:
        return math.log(missed) / math.log(_MISSED)
    normal = NormalDist()
    return normal.inv_cdf(1 - missed / 2) / normal.inv_cdf(1 - _MISSED / 2)


def stretched(values: Sequence[object], ends: Sequence[Cell], by: float) -> tuple[Cell, ...]:
    """Ends as many times as far from their values; what cannot be negative stays so. Arrays keep theirs."""
    found: list[Cell] = []
    for value, pair in zip(values, ends, strict=True):
        number = as_number(value)
        if pair is None or number is None or not all(isinstance(end, int | float) for end in pair):
            found.append(pair)
            continue
        low, high = float(pair[0]), float(pair[1])
        wider = number - by * max(number - low, 0.0)
        found.append((max(wider, 0.0) if low >= 0 else wider, number + by * max(high - number, 0.0)))
    return tuple(found)
