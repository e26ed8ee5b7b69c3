"""Rényi differential privacy: the divergences of every order add up, and the δ of key selection beside them.

The filter, and why it may admit by any order. The declared (ε, δ) becomes a budget B(α) for each of a fixed list of
orders, before the first question. A charge is admitted while the sum S(α) of all charges is within B(α) at *some*
order; the filter ends when no order is left. Which order that will be may depend on the answers, since prices are
chosen after seeing them, and therefore δ is not given to each order but divided among them, in advance.

Proof. Let L be the privacy loss of all answers, under fully adaptive choice. At each order α by itself, the process
exp((α-1)(L - S(α))) is a supermartingale that begins with 1: the next mechanism's divergence is what it is charged,
whatever was answered before (Feldman, Zrnic 2021, Theorem 3.1; Lécuyer 2021, Theorem 1). Let A(α) be the event that
all ends with α as the first order within its budget; these events are disjoint, and one of them happens. There
E[exp((α-1)L); A(α)] ≤ exp((α-1)B(α)). Since max(0, 1 - e^(ε-L)) ≤ c(α) exp((α-1)(L-ε)) with
c(α) = (α-1)^(α-1)/α^α (Canonne, Kamath, Steinke 2020, Proposition 7), A(α) adds at most c(α) exp((α-1)(B(α)-ε)) to δ,
which is δ(α) for

    B(α) = ε + log(δ(α)/c(α)) / (α-1).

All orders together add Σδ(α); key selection has a part of δ of its own, as in :mod:`dpsql.accounting.zcdp`.

Giving each order the whole of δ instead has no such proof: the order is fixed in advance only for whoever asks what
does not depend on answers. A sum over k orders proves kδ then, and an analyst who asks for noise of one kind after
lucky answers and of another kind after unlucky ones collects the failures of two.

Of the δ for orders, half is the one's at which the most Gaussian noise fits, and the others share the rest evenly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import ROUND_CEILING, Context, localcontext
from fractions import Fraction
from functools import lru_cache

from dpsql.accounting.accounting import MOST_DELTA, Allowance
from dpsql.accounting.concentration import rho_of_range
from dpsql.accounting.conversion import DIGITS, MARGIN, decimal
from dpsql.accounting.curves import flattest, line, pure, steepest
from dpsql.accounting.loss import ORDERS, PrivacyLoss
from dpsql.accounting.zcdp import Zcdp


class Rdp(Zcdp):
    """A curve of divergences and δ, by a Rényi filter over fixed orders.

    Noise is priced as under zcdp, where it costs a line; what is purely private costs less than a line here.
    """

    name = "rdp"

    def check_total(self, delta: Fraction) -> None:
        if not delta:
            raise ValueError("rdp accounting needs a delta above 0")

    def limit(self, epsilon: Fraction, delta: Fraction, selection: Fraction | None) -> PrivacyLoss:
        """
        >>> whole = RDP.limit(Fraction(1), Fraction(1, 10**6), None)
        >>> round(float(steepest(whole.curve)), 4), whole.delta
        (0.0224, Fraction(1, 4000000))
        """
        apart = delta / 4 if selection is None else selection
        if not 0 <= apart < delta:
            raise ValueError("the part of delta for key selection is at least 0 and less than delta")
        among = _divided(epsilon, delta - apart)
        budgets = tuple(max(Fraction(0), epsilon - conversion(order, among[order])) for order in ORDERS)
        return PrivacyLoss(delta=apart, curve=budgets)

    def adds(self, loss: PrivacyLoss) -> bool:
        return not loss.epsilon and not loss.rho

    def price(self, epsilon: Fraction, delta_for_selection: Fraction) -> PrivacyLoss:
        """The line of ρ = ε²/2: what Gaussian noise of that ρ costs, and at least what any ε-DP mechanism does."""
        return PrivacyLoss(delta=delta_for_selection, curve=line(epsilon * epsilon / 2))

    def price_of_pure(self, epsilon: Fraction, width: Fraction) -> PrivacyLoss:
        """At each order the lesser of the two curves that hold for it."""
        pairs = zip(pure(epsilon), line(rho_of_range(width)), strict=True)
        return PrivacyLoss(curve=tuple(min(pair) for pair in pairs))

    def statement_epsilon(self, loss: PrivacyLoss) -> Fraction:
        """
        >>> RDP.statement_epsilon(RDP.price(Fraction(1, 10), Fraction(0)))
        Fraction(1, 10)
        """
        return super().statement_epsilon(PrivacyLoss(rho=loss.rho + steepest(loss.curve)))

    def alone(self, loss: PrivacyLoss, delta: Fraction) -> tuple[Fraction, Fraction] | None:
        """At the declared δ, all of it at the order that is best for this loss: nothing else is chosen.

        >>> epsilon, delta = RDP.alone(RDP.price(Fraction(1), Fraction(0)), Fraction(1, 10**6))
        >>> round(float(epsilon), 2), float(delta)
        (5.22, 1e-06)
        """
        if not loss.curve:
            return Fraction(0), loss.delta
        if loss.delta >= delta:
            return None
        left = delta - loss.delta
        pairs = zip(ORDERS, loss.curve, strict=True)
        return max(Fraction(0), min(part + conversion(order, left) for order, part in pairs)), delta

    def epsilon_of(self, spent: PrivacyLoss, epsilon: Fraction, delta: Fraction, limit: PrivacyLoss) -> Fraction:
        if not spent.curve:
            return Fraction(0)
        among = _divided(epsilon, delta - limit.delta)
        pairs = zip(ORDERS, spent.curve, strict=True)
        return max(Fraction(0), min(part + conversion(order, among[order]) for order, part in pairs))

    def largest(self, left: PrivacyLoss) -> Fraction:
        return super().largest(PrivacyLoss(rho=steepest(left.curve)))

    def allowances(self, share: PrivacyLoss) -> Iterator[Allowance]:
        if rho := flattest(share.curve):
            yield Allowance(PrivacyLoss(rho=rho), PrivacyLoss(curve=line(rho)))

    def selections(self, share: PrivacyLoss, delta: Fraction) -> Iterator[Allowance]:
        """With the whole δ of the price, which noise does not need."""
        rho = flattest(share.curve)
        if rho and (delta := min(delta, MOST_DELTA)):
            yield Allowance(PrivacyLoss(rho=rho), PrivacyLoss(curve=line(rho), delta=delta), delta)


@lru_cache(maxsize=4096)
def conversion(order: Fraction, delta: Fraction) -> Fraction:
    """log(c(α)/δ) / (α-1), rounded up: what ε is above the divergence of this order; it may be below 0.

    >>> round(float(conversion(Fraction(24), Fraction(1, 10**6))), 4)
    0.4199
    """
    with localcontext(Context(prec=DIGITS, rounding=ROUND_CEILING)) as context:
        a = decimal(order)
        found = (a - 1).ln() - (a * a.ln() + decimal(delta).ln()) / (a - 1) + MARGIN
        context.prec = 30
        return Fraction(+found)


@lru_cache(maxsize=64)
def _divided(epsilon: Fraction, delta: Fraction) -> Mapping[Fraction, Fraction]:
    """δ by order: a function of the declaration alone."""
    best = max(ORDERS, key=lambda order: (epsilon - conversion(order, delta / 2)) / order)
    others = delta / 2 / (len(ORDERS) - 1)
    return {order: delta / 2 if order == best else others for order in ORDERS}


RDP = Rdp()
