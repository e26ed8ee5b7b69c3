"""How charges add up: what a ledger counts, and everything that follows from it, in one object.

To add a way of accounting, write a file beside :mod:`dpsql.accounting.pure` and put its object into ``ACCOUNTINGS``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpsql.accounting.loss import PrivacyLoss
from rewriter.declared import Norm

MOST_DELTA = Fraction(1, 10)
"""No policy wants more for a key selection, and the tail bounds of its noise hold only in the tail."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """One way to spend a share of a price: a mechanism may lose ``loss``, ε or ρ alone, and ``charge`` is paid for it.

    ``delta`` is what of the charge decides which groups may be named.
    """

    loss: PrivacyLoss
    charge: PrivacyLoss
    delta: Fraction = Fraction(0)


class Accounting(ABC):
    """A way of accounting. Its objects have no state; ``name`` is what policies and ledgers call it."""

    name: ClassVar[str]
    takes_delta: ClassVar[bool]
    """Whether a declared total has a δ, without which it has nothing to say of key selection or of Gaussian noise."""
    norms: ClassVar[tuple[Norm, ...]]
    """The norms in which a release may be bounded: for each there is noise that this accounting can pay for."""
    concentrated: ClassVar[bool]
    """Whether variances fall in proportion to a price, as they do with ρ, or with its square, as they do with ε."""
    deviation: ClassVar[float]
    """The standard deviation of noise that hides 1 at ε = 1."""
    cells_power: ClassVar[float]
    """The share of a measurement in a price goes with this power of the number of its cells."""
    two_steps: ClassVar[int | None] = None
    """How many times a loss without δ is lost between databases that are two neighbours apart; None where that is not
    known."""
    prefers_finest: ClassVar[bool]
    """Whether one measurement, of which others are sums, may be more accurate than a share for each of them."""

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name.upper()

    def check_total(self, delta: Fraction) -> None:
        """Raise ValueError where no total of this kind has such a δ."""
        if delta and not self.takes_delta:
            raise ValueError(f"{self} accounting has no delta")

    @abstractmethod
    def limit(self, epsilon: Fraction, delta: Fraction, selection: Fraction | None) -> PrivacyLoss:
        """The box that a declared total is; ``selection`` is the part of δ that is set apart for key selection."""

    @abstractmethod
    def adds(self, loss: PrivacyLoss) -> bool:
        """Whether a loss is of the kind that is added here."""

    @abstractmethod
    def price(self, epsilon: Fraction, delta_for_selection: Fraction) -> PrivacyLoss:
        """The price of a statement with this ε."""

    def price_of_pure(self, epsilon: Fraction, width: Fraction) -> PrivacyLoss:
        """The price of one mechanism with pure ε; at most that of a statement.

        For each pair of neighbours its log-ratios lie in an interval of this width, which is at most 2ε.
        """
        return self.price(epsilon, Fraction(0))

    @abstractmethod
    def statement_epsilon(self, loss: PrivacyLoss) -> Fraction:
        """The ε of the statement that a loss is the price of: what :meth:`price` was asked for."""

    @abstractmethod
    def alone(self, loss: PrivacyLoss, delta: Fraction) -> tuple[Fraction, Fraction] | None:
        """The (ε, δ) that one loss is by itself, if nothing else was ever answered, where δ was declared for all; None
        where no ε is enough.

        A statement takes another part of a total: losses may add up more slowly than the ε of one statement.
        """

    @abstractmethod
    def delta(self, declared: Fraction, *, selects: bool) -> Fraction:
        """The δ of a statement, of the one that is declared for statements that select groups."""

    @abstractmethod
    def epsilon_of(self, spent: PrivacyLoss, epsilon: Fraction, delta: Fraction, limit: PrivacyLoss) -> Fraction:
        """The ε that ``spent`` amounts to where (ε, δ) was declared, and ``limit`` is made of it."""

    @abstractmethod
    def largest(self, left: PrivacyLoss) -> Fraction:
        """The ε of a statement that costs all that is left; not above it by rounding."""

    @abstractmethod
    def allowances(self, share: PrivacyLoss) -> Iterable[Allowance]:
        """The ways in which a share pays for noise or for picks."""

    @abstractmethod
    def selections(self, share: PrivacyLoss, delta: Fraction) -> Iterable[Allowance]:
        """The ways in which a share pays for the noise of a key selection, the best first; ``delta`` is the whole
        price's. None where groups cannot be selected."""

    def of_two_steps(self, loss: PrivacyLoss) -> PrivacyLoss:
        """What is lost between two databases that are two neighbours apart, where each step loses so much. Raises
        ValueError where this accounting does not know, and for a loss with δ."""
        return loss * self._two_steps(loss)

    def step_of_two(self, share: PrivacyLoss) -> PrivacyLoss:
        """What each of two steps may lose, so that a share pays for both. Raises ValueError as :meth:`of_two_steps`."""
        return share / self._two_steps(share)

    def _two_steps(self, loss: PrivacyLoss) -> int:
        if self.two_steps is None or loss.delta:
            raise ValueError(f"{self} accounting knows no price of two steps of this loss")
        return self.two_steps

    @abstractmethod
    def price_of_information(self, part: Fraction) -> Fraction:
        """The part of a price that buys a part of the information, one over the variance, that the whole buys."""

    @abstractmethod
    def tail(self, chance: float) -> float:
        """The multiple of its scale that noise exceeds, on either side, with this chance: for the noise with the
        heaviest tails of this accounting."""
