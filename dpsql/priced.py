"""The releases of a statement with their noise, where each comes from, and what the statement costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from dpsql.calibrate import Calibration
from dpsql.derive import Offer
from dpsql.loss import PrivacyLoss
from dpsql.table import NoisyTable
from rewriter.plan import Plan

_REPEATED = "answered from what was released before, at no price"
_DERIVED = "derived from what was released before, at no price"
_TOPPED_UP = "combined with what was released before: only the rest of the price is paid"


@dataclass(frozen=True, slots=True)
class Priced:
    """The releases of a statement, each calibrated at its share of the price; what is stored already is free, and of
    what is made of other releases only the rest is paid.

    ``epsilon`` is what the statement would pay if nothing was, ``notes`` say how it came about.
    """

    epsilon: Fraction
    calibrations: tuple[Calibration, ...]
    stored: Mapping[str, NoisyTable]
    offers: Mapping[str, Offer] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def loss(self) -> PrivacyLoss:
        fresh = {c.plan.identity: self._loss(c) for c in self.calibrations if c.plan.identity not in self.stored}
        return sum(fresh.values(), PrivacyLoss())

    def _loss(self, calibration: Calibration) -> PrivacyLoss:
        found = self.offers.get(calibration.plan.identity)
        return calibration.loss if found is None else found.loss

    def origin(self, plan: Plan) -> str:
        """Where a release comes from, if it is not all measured afresh."""
        found = self.offers.get(plan.identity)
        if found is not None:
            return _TOPPED_UP if found.fresh is not None else _DERIVED
        return _REPEATED if plan.identity in self.stored else ""
