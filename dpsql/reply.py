"""Replies to statements: an answer, or the explanation of one. Everything in them may be shown to anybody."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction

from dpsql.accounting import PrivacyLoss
from dpsql.calendar_unit import CalendarUnit
from dpsql.releases import Additive, bar
from rewriter.declared import Scalar, Type
from rewriter.plan import Plan

Margin = float | tuple[float, ...] | None
"""The half-width of a cell's interval, of an array those of its items."""


STALE = "Stale: "
"""The beginning of the notice of an answer that is made of older numbers, since the budget admits no new ones."""


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Budget:
    """What is declared, spent and left, of the total or of an analyst's share. Spent and left are (ε, δ) at the
    declared δ, rounded against the analyst; ``statements_left`` counts statements at the default price. ``limit`` is
    the declared budget, in the terms in which prices add up, and ``used`` the part that is gone; ``own`` says that it
    is an analyst's share, not the total. ``per`` is the window that all of this is about, which ends when it
    ``renews``; None for a budget of all time. ``rows``: that of the rows of these times, for ever."""

    epsilon: Fraction
    delta: Fraction
    spent_epsilon: float
    left_epsilon: float
    statements_left: int
    accounting: str
    limit: PrivacyLoss
    own: bool = False
    used: Fraction = Fraction(0)
    per: CalendarUnit | None = None
    renews: datetime | None = None
    rows: tuple[datetime, datetime] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows that may be shown to anybody, with the half-width of the 95 % interval of each measured number: infinite
    where none is known, None for a key, a constant and all else that is exact.

    ``lows`` and ``highs`` have the ends of these intervals, which need not be as far from the number on both sides.
    ``items`` has those of measured columns of arrays, by their places: of each row, those of all items, NaN of NULL.
    ``price`` was charged for this statement, ``epsilon`` is the ε that was paid; both are 0 where it was free.
    ``remaining`` asks the ledger when it is read.
    """

    columns: tuple[AnswerColumn, ...] = ()
    rows: tuple[tuple[Scalar | None, ...], ...] = ()
    margins: Sequence[tuple[float | None, ...]] = ()
    lows: Sequence[tuple[float | None, ...]] = ()
    highs: Sequence[tuple[float | None, ...]] = ()
    items: Mapping[int, tuple[tuple[float, ...], ...]] = field(default_factory=dict)
    price: PrivacyLoss = field(default_factory=PrivacyLoss)
    epsilon: Fraction = Fraction(0)
    budget: Callable[[], Budget] | None = field(default=None, repr=False, compare=False)
    notices: tuple[str, ...] = ()
    tag: str = "SELECT"

    @property
    def every_margin(self) -> tuple[tuple[Margin, ...], ...]:
        """The margins with those of arrays, which have one for each item."""
        if not self.items:
            return tuple(self.margins)
        return tuple(
            tuple(self.items[at][number] if at in self.items else one for at, one in enumerate(row))
            for number, row in enumerate(self.margins)
        )

    def ends(self, column: int) -> list[tuple[float, float] | None]:
        """The ends of each cell's interval in a column; None where none is known."""
        sides = ([row[column] for row in side] for side in (self.lows, self.highs))
        pairs = [None if low is None or high is None else (low, high) for low, high in zip(*sides, strict=True)]
        return pairs or [None] * len(self.rows)

    @property
    def remaining(self) -> Budget:
        """What is left to the analyst now."""
        if self.budget is None:
            raise AssertionError("an answer knows its session's budget")
        return self.budget()


@dataclass(frozen=True, slots=True)
class ReleaseExplanation:
    """One release of a statement: its plan, its noise, and the half-width to expect of each output.

    ``origin`` says what it is made of, where not all of it is measured afresh.
    ``ranking`` says how the groups are found where only the largest ones are shown.
    ``running`` are the half-widths of the running sums of those outputs that are measured for them.
    ``beside``: it is the total that is measured beside groups, for the row of those that are not shown.
    ``marginal``: it is measured beside groups of several keys, to know where the ends of one are.
    ``every``: none of its public groups is left out of the answer. ``group``: how many rows a group has for which the
    errors of means are foretold; ``profiled``: a profile of the table says so. ``spreads`` are the outputs of which
    one says how their values lie.
    """

    plan: Plan
    mechanisms: tuple[Additive, ...]
    threshold: float | None
    margins: Mapping[str, float]
    reused: bool
    running: Mapping[str, float] = field(default_factory=dict)
    origin: str = ""
    ranking: str = ""
    beside: bool = False
    marginal: bool = False
    every: bool = True
    group: int = 1_000
    profiled: bool = False
    spreads: frozenset[str] = frozenset()

    @property
    def node(self) -> dict[str, object]:
        """The release as a node of a plan of PostgreSQL's: an aggregate of tables, by keys."""
        return {
            "Node Type": "Aggregate",
            "Strategy": "Hashed" if self.plan.keys else "Plain",
            "Parent Relationship": "Outer",
            "Output": [output.text for output in self.plan.outputs],
            **({"Group Key": [key.text for key in self.plan.keys]} if self.plan.keys else {}),
            "Plans": [
                {"Node Type": "Seq Scan", "Parent Relationship": "Outer", "Relation Name": name, "Alias": name}
                for name in sorted(self.plan.tables)
            ],
        }


@dataclass(frozen=True, slots=True)
class Better:
    """What would make an answer more accurate: a line to write, and the errors that the columns would have then.

    ``less`` is the part of each column's error that goes: what a bound takes away is what comes from it. With coarser
    groups one of them has ``larger`` times as many rows, and what goes is of the error beside a number. A change of
    ``all_keys`` bounds people in the groups of every statement: the error of one says nothing of what others lose.
    """

    change: str
    errors: tuple[float | None, ...]
    by_owner: bool
    price: Fraction = Fraction(1)
    less: tuple[float | None, ...] = ()
    larger: float = 1.0
    all_keys: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a statement would do, cost and be worth. Making one costs nothing and reads no data.

    ``expected`` is the half-width to expect of each column, where that is known before; ``expected_items`` those of
    the items of arrays, for each column, and () where no column has any. ``unseen`` are those of the notices that say
    what the price cannot show. ``render`` draws it: as text it
    is what EXPLAIN answers. ``draw`` makes HTML of it. ``advise`` plans what would be better, which takes some
    milliseconds.
    """

    releases: tuple[ReleaseExplanation, ...]
    outer_sql: str
    columns: tuple[AnswerColumn, ...]
    expected: tuple[float | None, ...]
    price: PrivacyLoss
    epsilon: Fraction
    remaining_after: Budget
    notices: tuple[str, ...]
    render: Callable[[Explanation], Sequence[str]] = field(repr=False, compare=False)
    draw: Callable[[Explanation], str] = field(repr=False, compare=False)
    advise: Callable[[], tuple[Better, ...]] = field(default=tuple, repr=False, compare=False)
    expected_items: tuple[tuple[float | None, ...], ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def better(self) -> tuple[Better, ...]:
        """What would make the answer more accurate: by the analyst first, then by the owner."""
        return tuple(one for one in self.advise() if not one.all_keys)

    @property
    def to_weigh(self) -> tuple[Better, ...]:
        """What would make this answer more accurate and is no advice: other questions may lose more by it."""
        return tuple(one for one in self.advise() if one.all_keys)

    @property
    def errors(self) -> tuple[float | tuple[float | None, ...] | None, ...]:
        """What is expected of each column, an array's of each item."""
        items = self.expected_items or ((),) * len(self.expected)
        return tuple(own or error for error, own in zip(self.expected, items, strict=True))

    @property
    def lines(self) -> tuple[str, ...]:
        """What EXPLAIN answers. Drawing them takes far longer than all else of an explanation."""
        return tuple(self.render(self))

    @property
    def json(self) -> str:
        """What EXPLAIN (FORMAT JSON) answers: what one gets, at which price, and what would be better.

        ``Plan`` has the form of PostgreSQL's, which tools draw as a tree: the releases, and what is computed of them.
        """
        left = self.remaining_after
        told = {
            "Plan": {
                "Node Type": "Result",
                "Output": [column.name for column in self.columns],
                "Plans": [release.node for release in self.releases],
            },
            "columns": [
                {"name": column.name, "type": str(column.type)}
                | ({"expected_errors": list(error)} if isinstance(error, tuple) else {"expected_error": error})
                for column, error in zip(self.columns, self.errors, strict=True)
            ],
            "price": {
                "epsilon": float(self.epsilon),
                "loss": {part: float(getattr(self.price, part)) for part in ("epsilon", "rho", "delta")}
                | ({"curve": [float(part) for part in self.price.curve]} if self.price.curve else {}),
                "part_of_budget": float(self.price.part_of(left.limit)),
            },
            "left": {
                "part": float(max(Fraction(0), 1 - left.used)),
                "statements": left.statements_left,
                "own": left.own,
                "per": None if left.per is None else str(left.per),
                "renews": None if left.renews is None else left.renews.isoformat(),
            },
            "better": [
                {
                    "change": one.change,
                    "by_owner": one.by_owner,
                    "price": float(one.price),
                    "expected_errors": list(one.errors),
                    "less_error": list(one.less),
                    "larger_groups": one.larger,
                }
                for one in self.better
            ],
            "notices": list(self.notices),
            "unseen": list(self.unseen),
        }
        return json.dumps([_finite(told)], ensure_ascii=False, allow_nan=False)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.draw(self)

    def __repr__(self) -> str:
        """One line: the columns with their errors, and the price. ``print`` shows all."""
        pairs = zip(self.columns, self.errors, strict=True)
        shown = (one.name + (f" ± {bar(error)}" if isinstance(error, float) else "") for one, error in pairs)
        return f"<Explanation of {', '.join(shown)} at ε = {float(self.epsilon):g}>"

    def __str__(self) -> str:
        return "\n".join(self.lines)


def _finite(told: object) -> object:
    """The same with null for a number that JSON has no word for: an error without a bound is not known."""
    if isinstance(told, dict):
        return {name: _finite(value) for name, value in told.items()}
    if isinstance(told, list | tuple):
        return [_finite(value) for value in told]
    return None if isinstance(told, float) and not math.isfinite(told) else told
