"""Approximate differential privacy: ε and δ add up, each by itself (basic composition)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpsql.accounting.accounting import MOST_DELTA, Allowance
from dpsql.accounting.conversion import largest_rho
from dpsql.accounting.loss import PrivacyLoss
from dpsql.accounting.pure import Pure
from rewriter.declared import Norm


class Approx(Pure):
    """ε as in pure accounting, and δ beside it, with which Gaussian noise is paid by the tight conversion of ρ."""

    name = "approx"
    takes_delta = True
    norms = (Norm.L1, Norm.L2)
    cells_power = 1 / 2
    prefers_finest = False

    def delta(self, declared: Fraction, *, selects: bool) -> Fraction:
        """Noise may need it where no group is selected."""
        return declared

    def allowances(self, share: PrivacyLoss) -> Iterator[Allowance]:
        if share.delta and (rho := largest_rho(share.epsilon, share.delta)):
            yield Allowance(PrivacyLoss(rho=rho), share)
        yield from super().allowances(share)

    def selections(self, share: PrivacyLoss, delta: Fraction) -> Iterator[Allowance]:
        """ε with the share's δ; or ρ, whose conversion takes a half of it."""
        if delta:
            yield Allowance(PrivacyLoss(epsilon=share.epsilon), share, min(share.delta, MOST_DELTA))
            half = min(share.delta / 2, MOST_DELTA)
            yield Allowance(PrivacyLoss(rho=largest_rho(share.epsilon, half)), share, half)


APPROX = Approx()
