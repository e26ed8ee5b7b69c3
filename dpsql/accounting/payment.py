"""Whether what is paid is enough for what is lost, where the two are of different kinds."""

from __future__ import annotations

from dpsql.accounting.conversion import largest_rho
from dpsql.accounting.curves import as_curve
from dpsql.accounting.loss import PrivacyLoss


def covers(share: PrivacyLoss, loss: PrivacyLoss) -> bool:
    """Whether paying ``share`` pays for ``loss``: part by part, but ρ in a ledger of ε and δ by the tight conversion,
    and ε or ρ in a ledger of curves by the curves that they are.

    >>> from fractions import Fraction
    >>> covers(PrivacyLoss(epsilon=Fraction(1), delta=Fraction(1, 10**6)), PrivacyLoss(rho=Fraction(1, 50)))
    True
    """
    if share.curve:
        return as_curve(loss).fits_within(share)
    if loss.rho and not share.rho:
        epsilon, delta = share.epsilon - loss.epsilon, share.delta - loss.delta
        return epsilon > 0 and delta > 0 and loss.rho <= largest_rho(epsilon, delta)
    return loss.fits_within(share)


def check_covered(loss: PrivacyLoss, share: PrivacyLoss) -> None:
    """Raises ValueError where the share does not pay for the loss."""
    if not covers(share, loss):
        raise ValueError(f"{loss} is not covered by {share}")
