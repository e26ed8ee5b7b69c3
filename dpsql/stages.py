"""Statements that are answered in stages, before they are: what each stage would cost, as far as it is known.

Guarantee: nothing is charged, read or drawn here. A stage whose releases were all made before is finished again from
what was released, and the next one is planned with its answer. One that would have to be bought leaves the next one
planned with values of which nothing but the type is known; its price is the same whatever they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from dpsql.accounting import PrivacyLoss
from dpsql.engines import Cancellation
from dpsql.finish import Finished, Finisher, delivered
from dpsql.ledger import Span
from dpsql.prepare import Prepared, earlier_answer
from dpsql.price import Priced, Pricing, Settled
from dpsql.releases import UNKNOWN
from dpsql.settings import Settings
from rewriter.front_door import query_written

_TEXT = 80


@dataclass(frozen=True, slots=True)
class Stage:
    """A query of a statement as it would be asked now. Where the bounds it lacks would be bought, nothing else of it is
    ``priced`` yet. ``certain``: it is planned with what earlier ones released, not as if nothing was known of it."""

    settled: Settled
    priced: Priced | None
    certain: bool

    @property
    def loss(self) -> PrivacyLoss:
        if self.settled.purchase is not None:
            return self.settled.purchase.loss
        return PrivacyLoss() if self.priced is None else self.priced.loss

    @property
    def rows(self) -> frozenset[Span]:
        """The times of the rows that it is about, as far as they are known."""
        return frozenset() if self.priced is None else self.priced.rows


@dataclass(slots=True)
class Before:
    """What was paid for the earlier queries of a statement, and what is said of them."""

    loss: PrivacyLoss = field(default_factory=PrivacyLoss)
    notices: list[str] = field(default_factory=list)

    def add(self, prepared: Prepared, finished: Finished, loss: PrivacyLoss, notices: Sequence[str]) -> None:
        self.loss = self.loss + loss
        self.notices += [released_note(prepared, finished), *notices]


def staged(settings: Settings, prepared: Prepared) -> Settings:
    """The settings of each stage of a statement: they share its price."""
    count = len(prepared.stages)
    return settings if count == 1 else replace(settings, stages=count)


def foreseen(
    prepared: Prepared,
    settings: Settings,
    offered: Callable[[Prepared, Settings], Settled],
    pricing: Pricing,
    finisher: Finisher,
) -> list[Stage]:
    """The stages of a query in their order, itself the last. ``offered`` is one with its bounds, or what it would pay
    for them."""
    found: list[Stage] = []

    def walk(query: Prepared, *, certain: bool) -> tuple[Prepared, Finished | None]:
        """A query as it would be asked, and its answer where nothing has to be bought for it."""
        while (earlier := query.earlier) is not None:
            first, answer = walk(earlier.first, certain=certain)
            certain = certain and answer is not None
            query = earlier.draft if answer is None else earlier.then(earlier_answer(first, answer.rows))
        settled = offered(query, settings)
        priced = None if settled.purchase is not None else pricing.settled(settled, settings)
        found.append(Stage(settled, priced, certain))
        if priced is None or not certain or any(priced.fresh(one) is not None for one in priced.releases):
            return query, None
        tables = pricing.tables(priced, {})
        made = [tables[one.plan.identity].answering(one.plan) for one in priced.calibrations]
        return query, finisher.finish(settled.prepared, made, settings, "", Cancellation())

    walk(prepared, certain=True)
    return found


def stage_notes(stages: Sequence[Stage]) -> tuple[str, ...]:
    """What an explanation says of a statement in several stages."""
    if len(stages) == 1:
        return ()
    *before, _ = stages
    asked = ", then ".join(shortened(stage.settled.prepared) for stage in before)
    each = f"each of the {len(stages)} has an equal part of the price and is charged before it is read"
    if all(stage.certain for stage in stages):
        return (f"{asked} is a constant of the statement, and was released before; {each}",)
    return (
        f"{asked} is released first, and is a constant then: the rest is planned with that number, which changes "
        f"neither its price nor its columns; {each}",
    )


def released_note(prepared: Prepared, finished: Finished) -> str:
    """What a stage released, for the notices of the statement that was planned with it."""
    shown = delivered(prepared, finished, intervals=False)
    text = shortened(prepared)
    if len(shown.rows) == len(shown.columns) == 1:
        (value,), (margin,) = shown.rows[0], next(iter(shown.margins))
        exact = "" if margin is None else f" ± {margin:.3g}" if math.isfinite(margin) else f" ± {UNKNOWN}"
        shown_value = "NULL" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
        what = f"{shown_value}{exact}"
    else:
        what = f"{len(shown.rows):,} rows" if len(shown.rows) != 1 else "1 row"
    others = "; who is in groups that were not released meets none of them" if prepared.program.selects else ""
    told = f"{text} was released first, as {what}; error bars hold for that{others}"
    return f"people are compared with released numbers: {told}"


def shortened(prepared: Prepared) -> str:
    """The query of a stage, as much of it as fits into a line."""
    text = query_written(prepared.read_again())
    return text if len(text) <= _TEXT + 2 else f"{text[: _TEXT + 1]}…)"
