"""How a mode is picked: one value, the most common of a public list."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpsql.accounting import Accounting, PrivacyLoss, check_covered
from dpsql.mechanisms.quantiles import Columns, Commonest, Exponential, Pick, RankError, Ranks, paid_mechanism
from dpsql.mechanisms.sampling import Sampler
from dpsql.releases import Key
from rewriter.plan import Choice


@dataclass(frozen=True, slots=True)
class Modal(Pick):
    """A choice of which the mode is picked, and the share of the price for it: always enough."""

    mode: Commonest

    def __post_init__(self) -> None:
        if self.mode.choice != self.choice:
            raise ValueError("a mode is picked from its own choice")
        check_covered(self.loss, self.share)

    @classmethod
    def affordable(cls, choice: Choice, accounting: Accounting, share: PrivacyLoss) -> Modal | None:
        if not choice.candidates:
            return None
        mechanism, paid = paid_mechanism(choice, accounting, share, (Fraction(1), Fraction(1)))
        return Modal(choice, paid, Commonest(choice, mechanism))

    @property
    def mechanism(self) -> Exponential:
        return self.mode.mechanism

    @property
    def loss(self) -> PrivacyLoss:
        return self.mechanism.loss

    @property
    def variance(self) -> float:
        return self.mode.rows**2

    @property
    def rows(self) -> tuple[float]:
        return (self.mode.rows,)

    def usual_rows(self, place: int) -> None:
        """A value that is not the mode is no rows away from it."""

    def rank_error(self, place: int, text: str) -> ModeError:
        return ModeError(text, math.ceil(self.mode.rows), self.mode.way)

    def columns(self, ranks: Ranks, keys: Sequence[Key], sampler: Sampler) -> Columns:
        return (tuple(self.mode.pick(ranks.get(key, ()), sampler) for key in keys),)


@dataclass(frozen=True, slots=True)
class ModeError(RankError):
    """How many rows more another value may have than the mode that was picked."""

    way: str

    order: ClassVar[int] = 0

    @classmethod
    def notes(cls, errors: Sequence[ModeError]) -> Iterator[str]:
        most: dict[tuple[str, str], int] = {}
        for one in errors:
            most[one.text, one.way] = max(most.get((one.text, one.way), 0), one.rows)
        for (text, way), rows in most.items():
            yield f"{text} is picked by {way}: another value may have up to {rows:,} rows more (95 %)"
