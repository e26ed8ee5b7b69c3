"""What all mechanisms that add noise have in common."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

from dpsql.accounting import PrivacyLoss
from dpsql.mechanisms.sampling import Sampler
from dpsql.releases import Additive
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
        """What it costs, exactly. Raises ValueError for a vector that it does not hide."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Of one draw, in squared steps."""

    @abstractmethod
    def sample(self, sampler: Sampler, count: int) -> list[int]:
        """So many draws."""

    @abstractmethod
    def distance(self, log_chance: float) -> int:
        """A distance that one draw reaches, upwards, with at most such a chance, of which this is the logarithm."""


def rounded_up(distance: float) -> int:
    """Rounded up, with more room than the errors of the floats that made it."""
    return math.ceil(distance * (1 + 1e-11) + 1e-9)
