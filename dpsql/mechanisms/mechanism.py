"""The interface of all mechanisms that add noise."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

from dpsql.accounting import PrivacyLoss
from dpsql.mechanisms.sampling import Law, Sampler, check_scale
from dpsql.releases import Additive, IntegerColumn
from rewriter.declared import Sensitivity


@dataclass(frozen=True, slots=True)
class Mechanism(Additive):
    """Hides a vector of integers under noise, drawn afresh for each of them."""

    @classmethod
    @abstractmethod
    def affordable(cls, sensitivity: Sensitivity, loss: PrivacyLoss) -> Self | None:
        """The least noise that hides such a vector and costs at most ``loss``, of ε or of ρ; None where nothing of the
        kind is paid, or the vector is not bounded in the norm that it takes."""

    @abstractmethod
    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """The exact privacy loss. Raises ValueError for a vector that the mechanism does not hide."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of one draw, in squared steps."""

    @abstractmethod
    def draws(self, count: int) -> IntegerColumn:
        """So many independent draws, exactly of this law, from a cryptographic source. :meth:`sample` asks for them."""

    def sample(self, sampler: Sampler, count: int) -> IntegerColumn:
        """So many draws of a sampler."""
        check_scale(self.scale)
        return sampler.draw(Draws(self, count))

    @abstractmethod
    def distance(self, log_chance: float) -> int:
        """A distance that one draw reaches, upwards, with at most such a chance, of which this is the logarithm."""


@dataclass(frozen=True, slots=True)
class Draws(Law[IntegerColumn]):
    """So many independent draws of a mechanism's noise."""

    mechanism: Mechanism
    count: int

    def draw(self) -> IntegerColumn:
        return self.mechanism.draws(self.count)

    def nearest(self) -> IntegerColumn:
        return IntegerColumn.of([0] * self.count)


def rounded_up(distance: float) -> int:
    """Rounded up, with more room than the errors of the floats that made it."""
    return math.ceil(distance * (1 + 1e-11) + 1e-9)
