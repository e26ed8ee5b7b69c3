"""Whether a share of a price pays for a loss, and how prices are shared: exactly."""

from __future__ import annotations

from fractions import Fraction

from dpsql.accounting.accountant import largest_rho
from dpsql.accounting.loss import PrivacyLoss


def split_price(price: PrivacyLoss, count: int | Fraction) -> PrivacyLoss:
    """One of ``count`` equal shares of a price, exactly.

    >>> split_price(PrivacyLoss(rho=Fraction(1, 200)), 3).rho
    Fraction(1, 600)
    """
    return PrivacyLoss(price.epsilon / count, price.rho / count, price.delta / count)


def covers(share: PrivacyLoss, loss: PrivacyLoss) -> bool:
    """Whether paying ``share`` pays for ``loss``: part by part, but ρ in a ledger of ε and δ by the tight conversion.

    >>> covers(PrivacyLoss(epsilon=Fraction(1), delta=Fraction(1, 10**6)), PrivacyLoss(rho=Fraction(1, 50)))
    True
    """
    if loss.rho and not share.rho:
        epsilon, delta = share.epsilon - loss.epsilon, share.delta - loss.delta
        return epsilon > 0 and delta > 0 and loss.rho <= largest_rho(epsilon, delta)
    return within(loss, share)


def within(loss: PrivacyLoss, price: PrivacyLoss) -> bool:
    """Whether a loss is at most a price, part by part."""
    return loss.epsilon <= price.epsilon and loss.rho <= price.rho and loss.delta <= price.delta


def check_covered(loss: PrivacyLoss, share: PrivacyLoss) -> None:
    """Raises ValueError where the share does not pay for the loss."""
    if not covers(share, loss):
        raise ValueError(f"{loss} is not covered by {share}")
