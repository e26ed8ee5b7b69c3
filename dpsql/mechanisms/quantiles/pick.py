"""The interface of all ways to pick the values of a choice: quantiles one by one or together, and modes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from dpsql.accounting import Accounting, PrivacyLoss
from dpsql.errors import error
from dpsql.mechanisms.picking import Picking
from dpsql.mechanisms.quantiles.one import Cost, Exponential, unit_weight
from dpsql.mechanisms.sampling import Sampler
from dpsql.releases import Key, Rank
from rewriter.plan import Choice

Ranks = Mapping[Key, Sequence[Rank]]

Columns = tuple[tuple[int | None, ...], ...]
"""A lattice value, or None, for every group: of each fraction, then of what is below and above each of them."""


@dataclass(frozen=True, slots=True)
class RankError(ABC):
    """How many rows the rank of a picked value may be off, whatever the data; it was asked for in ``text``."""

    text: str
    rows: int

    order: ClassVar[int]
    """Notes of the kind with the least number are told first."""

    @classmethod
    @abstractmethod
    def notes(cls, errors: Sequence[Self]) -> Iterator[str]:
        """All errors of this kind in a statement, in words: of the widest grouping set, where there are several."""


@dataclass(frozen=True, slots=True)
class Pick(ABC):
    """One choice, how all of its values are picked, and the share of the price for them: always enough."""

    choice: Choice
    share: PrivacyLoss

    @classmethod
    @abstractmethod
    def affordable(cls, choice: Choice, accounting: Accounting, share: PrivacyLoss) -> Pick | None:
        """The most accurate pick of this kind that costs at most a share; None where the choice is not for this kind,
        or the price is too low to tell its values from others."""

    @property
    @abstractmethod
    def mechanism(self) -> Exponential:
        """What all values are picked by."""

    @property
    @abstractmethod
    def loss(self) -> PrivacyLoss:
        """Of all that is picked, together and exactly: from what one unit moves scores by."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variances of all ranks together, in rows: the least is the best way to pick a choice."""

    @property
    @abstractmethod
    def rows(self) -> tuple[float, ...]:
        """How many rows the rank of each value may be off, with a probability of 95 % at least, whatever the data."""

    @abstractmethod
    def usual_rows(self, place: int) -> float | None:
        """How many rows the rank of one value is off, 95 times in 100, where values lie evenly; None where no value is
        near another."""

    @abstractmethod
    def rank_error(self, place: int, text: str) -> RankError:
        """The error of one value, which was asked for in ``text``, to be told."""

    @abstractmethod
    def columns(self, ranks: Ranks, keys: Sequence[Key], sampler: Sampler) -> Columns:
        """Picked values of every group. They are releasable; ``ranks`` are not."""

    @property
    def sees(self) -> int:
        """The window of which it reads values: of those that are further away, nothing is asked."""
        return self.choice.window

    @property
    def noise(self) -> Picking:
        """The noise by which a release is stored."""
        return self.mechanism.noise


def paid_mechanism(
    choice: Choice, accounting: Accounting, share: PrivacyLoss, cost: Cost
) -> tuple[Exponential, PrivacyLoss]:
    """The mechanism with the greatest exponent, where all picks cost so many times what one does; and what is paid."""
    known = [
        (Exponential.affordable(choice.sensitivity, one.loss, cost), one.charge) for one in accounting.allowances(share)
    ]
    found = [(mechanism, charge) for mechanism, charge in known if mechanism is not None]
    if not found:
        raise error("weights are not bounded in a norm that this ledger can hide", sqlstate="XX000")
    return max(found, key=lambda one: one[0].epsilon / unit_weight(choice.sensitivity, one[0]))
