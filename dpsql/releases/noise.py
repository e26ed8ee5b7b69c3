"""By what a released number may be off: the law of its noise, which is public.

A mechanism is its noise: :mod:`dpsql.mechanisms` has one file and one class for each. What is stored is its name and
its scale, and ``NOISES`` there says which class a stored name stands for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Noise(ABC):
    """How far a mechanism is off, in lattice steps: ``scale`` times what it is at the scale 1."""

    scale: Fraction

    name: ClassVar[str]
    """What it is called in the store; never changed."""

    @property
    @abstractmethod
    def square(self) -> Fraction:
        """A bound on the variance, exact."""


@dataclass(frozen=True, slots=True)
class Additive(Noise):
    """Noise that is added to an integer: symmetric, log-concave, on the integers."""

    symbol: ClassVar[str]
    """The letter that its scale has in the literature."""
    silent: ClassVar[float]
    """Below this scale, a draw is 0 but for once in ten thousand."""
    excess: ClassVar[float]
    """The excess kurtosis of the continuous law: how heavy its tails are."""
    stable: ClassVar[bool]
    """Whether sums of such noises have the same law."""

    @classmethod
    @abstractmethod
    def square_of_scale(cls, square: Fraction) -> Fraction:
        """The square of the scale at which ``square`` bounds the variance."""

    @property
    @abstractmethod
    def spread(self) -> float:
        """The variance of one draw, or a little more."""

    @classmethod
    @abstractmethod
    def beyond(cls, chance: float) -> float:
        """How many scales the continuous law goes beyond, on either side, with such a chance.

        On one side alone it goes as far with half the chance.
        """

    @abstractmethod
    def half_width(self, alpha: float) -> int | None:
        """The least w with P(|X| > w) ≤ α for one draw X, where there is a formula for it."""

    @abstractmethod
    def characteristic(self, angles: Floats) -> Floats:
        """E exp(iθX) for a draw X."""

    @classmethod
    @abstractmethod
    def continuous_characteristic(cls, squares: Floats) -> Floats:
        """E exp(itX) of the continuous law with the variance 1, at t²/2."""

    @classmethod
    @abstractmethod
    def pair_half_widths(cls) -> tuple[Floats, Floats] | None:
        """Ratios r in [0, 1], and the 95 % half-width of X + rY for two continuous draws of scale 1; None where that is
        √(1 + r²) times the one of X."""

    @abstractmethod
    def replicas(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draws that hide nobody: what else noise might have done to a number that is released already."""


Stored = Mapping[str, Callable[[Fraction], Noise]]
"""What a name in the store, with a scale, stands for."""


def heaviest(noises: Iterable[Additive]) -> type[Additive]:
    """The law with the heaviest tails, by which a sum of several is bounded."""
    return max((type(noise) for noise in noises), key=lambda law: law.excess)
