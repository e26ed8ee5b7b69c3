"""How wide the noise of a plan must be for its price. Looks at no data.

The price is shared by the blocks of the plan, by their weights, and its key selection. What each share buys is derived
again from the mechanism that was built for it, exactly, and compared with the share, before anything can run.

Why the share is charged and not what was derived: the scale of noise is a float, so the derived loss is below the share
by about one part in 10¹⁵, and a sum of such numbers has denominators that never stop growing.
Why no analytic Gaussian under ``approx``: Balle, Wang 2018 prove it for continuous noise. Ours is
discrete and goes through its zCDP guarantee and the tight conversion of Canonne, Kamath, Steinke 2020.
Why no Laplace noise under ``zcdp``: at the same ρ its variance is 2·l1²/2ρ, the Gaussian's l2²/2ρ, and l2 ≤ l1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accountant import Accounting, largest_rho
from dpsql.errors import error
from dpsql.inference.finish import expected_half_width
from dpsql.inference.prefix import group_noise
from dpsql.loss import PrivacyLoss
from dpsql.mechanisms.commonest import Commonest
from dpsql.mechanisms.gaussian import Gaussian
from dpsql.mechanisms.laplace import Laplace
from dpsql.mechanisms.quantile import Exponential, Quantile, TooFar, together, unit_weight
from dpsql.mechanisms.sampling import TooWide
from dpsql.mechanisms.selection import MOST_DELTA, Threshold
from dpsql.mechanisms.top_k import PICKS, TopK, part_of_picks
from dpsql.table import Noise
from rewriter.plan import Block, Choice, Chosen, Plan, Selection, Top
from rewriter.sensitivity import Sensitivity

Mechanism = Laplace | Gaussian

NOMINAL_GROUP = 1000
"""The rows of the group for which a mean's error is predicted, where nobody says another number."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One block, the mechanism that hides it, and the share of the price that pays for it: always enough."""

    block: Block
    mechanism: Mechanism
    share: PrivacyLoss

    def __post_init__(self) -> None:
        _check_covered(self.loss, self.share)

    @property
    def loss(self) -> PrivacyLoss:
        """Derived from the mechanism and the sensitivity alone, exactly."""
        return self.mechanism.loss(self.block.sensitivity)


@dataclass(frozen=True, slots=True)
class Selected:
    """The threshold that decides which groups are named, and the share of the price that pays for it: always enough."""

    threshold: Threshold
    share: PrivacyLoss

    def __post_init__(self) -> None:
        _check_covered(self.threshold.loss, self.share)


@dataclass(frozen=True, slots=True)
class Peeled:
    """How the groups that are measured are picked, and the share of the price that pays for it: always enough."""

    mechanism: TopK
    share: PrivacyLoss

    def __post_init__(self) -> None:
        _check_covered(self.mechanism.loss, self.share)


@dataclass(frozen=True, slots=True)
class Picked:
    """One choice, how each of its fractions is picked, and the share of the price for all of them: always enough.

    ``ends`` are what is picked below and above each quantile; None for MIN and MAX, and where the price is too low.
    """

    choice: Choice
    quantiles: tuple[Quantile, ...]
    ends: tuple[tuple[Quantile, Quantile] | None, ...]
    share: PrivacyLoss

    def __post_init__(self) -> None:
        if tuple(one.fraction for one in self.quantiles) != self.choice.fractions or len(self.ends) != len(
            self.quantiles
        ):
            raise ValueError("every fraction is picked once")
        for one, pair in zip(self.quantiles, self.ends, strict=True):
            if one.choice != self.choice or one.mechanism != self.mechanism or one.shift:
                raise ValueError("quantiles of one column are picked alike")
            if pair is not None and pair != one.ends():
                raise ValueError("ends are picked beside their quantile")
        _check_covered(self.loss, self.share)

    @property
    def mechanism(self) -> Exponential:
        return self.quantiles[0].mechanism

    @property
    def loss(self) -> PrivacyLoss:
        """Of all picks together, exactly."""
        linear, squared = together(self.choice.fractions, ends=any(self.ends))
        one = self.mechanism.loss
        return PrivacyLoss(one.epsilon * linear, one.rho * squared)


@dataclass(frozen=True, slots=True)
class Modal:
    """A choice of which the mode is picked, and the share of the price for it: always enough."""

    choice: Choice
    quantiles: tuple[Commonest]
    share: PrivacyLoss
    ends: tuple[None] = (None,)

    def __post_init__(self) -> None:
        if self.quantiles[0].choice != self.choice:
            raise ValueError("a mode is picked from its own choice")
        _check_covered(self.loss, self.share)

    @property
    def mechanism(self) -> Exponential:
        return self.quantiles[0].mechanism

    @property
    def loss(self) -> PrivacyLoss:
        return self.mechanism.loss


@dataclass(frozen=True, slots=True)
class Calibration:
    """A plan with its noise. ``loss`` is what is charged for it: the shares, none of them exceeded.

    ``ranking`` says how the groups are found where an answer shows only its largest ones.
    """

    plan: Plan
    measured: tuple[Measured, ...]
    selected: Selected | None
    picked: tuple[Picked | Modal, ...] = ()
    peeled: Peeled | None = None
    ranking: str = ""

    def __post_init__(self) -> None:
        if tuple(one.choice for one in self.picked) != self.plan.choices:
            raise ValueError("every choice is made once")
        if tuple(one.block for one in self.measured) != self.plan.blocks:
            raise ValueError("every block is measured once")
        if (self.selected and self.selected.threshold.selection) != self.plan.selection:
            raise ValueError("groups are selected as the plan says")
        if (self.peeled and self.peeled.mechanism.top) != self.plan.top:
            raise ValueError("groups are picked as the plan says")

    @property
    def loss(self) -> PrivacyLoss:
        groups = [one.share for one in (self.selected, self.peeled) if one is not None]
        shares = [*(one.share for one in self.measured), *groups, *(one.share for one in self.picked)]
        return sum(shares, start=PrivacyLoss())

    @property
    def noise(self) -> Mapping[str, Noise]:
        """The noise of each statistic, by its name; and of each choice, and of the groups that are picked."""
        noise = {statistic.name: one.mechanism.noise for one in self.measured for statistic in one.block.statistics}
        noise |= {one.choice.name: one.quantiles[0].mechanism.noise for one in self.picked}
        return noise if self.peeled is None else noise | {PICKS: self.peeled.mechanism.noise}

    @property
    def threshold(self) -> float | None:
        """How many people, each in one group, a group needs before noise to be named half of the time."""
        return self.selected.threshold.units if self.selected else None


def calibrate(plan: Plan, accounting: Accounting, price: PrivacyLoss) -> Calibration:
    """The least noise that costs at most ``price``. Raises :class:`dpsql.errors.Error`; nothing was read or charged.

    >>> from rewriter.plan import Statistic
    >>> block = Block((Statistic("n", Fraction(1), 2, "count"),), Sensitivity(l1=2, l2_squared=4))
    >>> plan = Plan("SELECT …", "duckdb", (), (block,), (), None, 1)
    >>> calibrate(plan, Accounting.PURE, PrivacyLoss(epsilon=Fraction(1, 10))).noise
    {'n': Noise(kind='laplace', scale=Fraction(20, 1))}
    """
    whole = sum((block.weight for block in plan.blocks), Fraction(plan.selection is not None))
    whole += sum(max(len(choice.fractions), 1) for choice in plan.choices)
    if not whole:
        return Calibration(plan, (), None)
    _check_price(accounting, price)
    peeled = None if plan.top is None else _peel(plan, plan.top, accounting, price)
    rest = price if peeled is None else _less(price, peeled.share)
    share = split_price(rest, whole)
    try:
        measured = tuple(measure(one, accounting, split_price(rest, whole / one.weight)) for one in plan.blocks)
        selected = _select(plan, plan.selection, accounting, share, price.delta) if plan.selection else None
        sizes = [max(len(one.fractions), 1) for one in plan.choices]
        picked = tuple(
            _pick(one, accounting, split_price(rest, whole / size))
            for one, size in zip(plan.choices, sizes, strict=True)
        )
    except TooFar as cause:
        hint = "ask at a larger dpsql.epsilon, or for fewer quantiles at once"
        raise error("a quantile is not told from others at this price", sqlstate="22023", hint=hint) from cause
    except TooWide as cause:
        hint = "ask at a larger dpsql.epsilon, or declare narrower ranges and fewer rows"
        raise error("the noise at this price is wider than 64 bits", sqlstate="22023", hint=hint) from cause
    calibration = Calibration(plan, measured, selected, picked, peeled)
    if not _within(calibration.loss, price):
        raise error("a calibration exceeds its price", sqlstate="XX000")
    return calibration


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
    return _within(loss, share)


def margins(plan: Plan, calibration: Calibration, group_size: int = NOMINAL_GROUP) -> Mapping[str, float]:
    """The 95 % half-width to expect of each output, before any data is read.

    For a mean: in a group of ``group_size`` rows, wherever in its range the mean lies.
    """
    steps = {statistic.name: statistic.granularity for statistic in plan.statistics}
    noise = group_noise(plan.blocks, calibration.noise)
    return {
        output.name: expected_half_width(output.estimator, noise, steps, group_size)
        for output in plan.outputs
        if not isinstance(output.estimator, Chosen)
    }


def rank_notes(calibrations: Sequence[Calibration]) -> Iterator[str]:
    """How far the ranks of quantiles may be off, in words: a bound for every data set, of the widest grouping set."""
    away: dict[str, int] = {}
    beyond: dict[str, tuple[int, int]] = {}
    modes: dict[tuple[str, str], int] = {}
    for calibration in calibrations:
        for output in calibration.plan.outputs:
            if not isinstance(chosen := output.estimator, Chosen):
                continue
            picked = next(one for one in calibration.picked if one.choice.name == chosen.choice)
            quantile = picked.quantiles[chosen.place]
            rows = math.ceil(quantile.rows)
            if isinstance(quantile, Commonest):
                modes[output.text, quantile.way] = max(modes.get((output.text, quantile.way), 0), rows)
            elif quantile.is_extreme:
                beyond[output.text] = max(beyond.get(output.text, (0, 0)), (quantile.inside_rows, rows))
            else:
                away[output.text] = max(away.get(output.text, 0), rows)
    for (text, way), rows in modes.items():
        yield f"{text} is picked by {way}: another value may have up to {rows:,} rows more (95 %)"
    for text, (inside, rows) in beyond.items():
        yield f"{text} has about {inside:,} rows beyond it, at most {rows:,} more or fewer (95 %)"
    if len(away) > 2:
        yield f"each quantile is at most {max(away.values()):,} rows away from the true one in rank (95 %)"
    else:
        yield from (
            f"{text} is at most {rows:,} rows away from the true one in rank (95 %)" for text, rows in away.items()
        )
    if away:
        yield "the error bar of a quantile holds where values lie about as densely as they do around it"


def turning_notes(calibration: Calibration) -> Iterator[str]:
    """How many rows turn BOOL_OR and BOOL_AND, in words."""
    deciding = [output for output in calibration.plan.outputs if output.decides]
    known = margins(calibration.plan, calibration) if deciding else {}
    for output in deciding:
        rows = math.floor(known[output.name]) + 1
        way, what = ("TRUE", "it is") if output.decides.startswith("BOOL_OR") else ("FALSE", "it is not")
        yield (
            f"{output.decides} is {way} from {rows:,} noisy rows on which {what}: wrong in at most 2.5 % of groups"
            f" without such a row, and of those with {2 * rows:,}; NULL where rows are too few to tell"
        )


def _check_covered(loss: PrivacyLoss, share: PrivacyLoss) -> None:
    if not covers(share, loss):
        raise ValueError(f"{loss} is not covered by {share}")


def _within(loss: PrivacyLoss, price: PrivacyLoss) -> bool:
    return loss.epsilon <= price.epsilon and loss.rho <= price.rho and loss.delta <= price.delta


def _check_price(accounting: Accounting, price: PrivacyLoss) -> None:
    paid, other = (price.rho, price.epsilon) if accounting is Accounting.ZCDP else (price.epsilon, price.rho)
    if other:
        raise error(f"a {accounting} ledger is not paid like this", sqlstate="XX000")
    if not paid:
        raise error("an answer has a price above 0", sqlstate="22023", hint="SET dpsql.epsilon = 0.1")


def measure(block: Block, accounting: Accounting, share: PrivacyLoss) -> Measured:
    """The least noise that hides a block for a share of a price."""
    mechanisms = _mechanisms(accounting)(block.sensitivity, share)
    if not mechanisms:
        raise error("statistics are not bounded in a norm that this ledger can hide", sqlstate="XX000")
    mechanism = min(mechanisms, key=lambda candidate: candidate.variance)
    delta = share.delta if accounting is Accounting.APPROX and isinstance(mechanism, Gaussian) else Fraction(0)
    return Measured(block, mechanism, PrivacyLoss(share.epsilon, share.rho, delta))


def _peel(plan: Plan, top: Top, accounting: Accounting, price: PrivacyLoss) -> Peeled:
    """The picks with the greatest exponent for their part of the price: by ρ, or by ε."""
    block = next(one for one in plan.blocks if any(statistic.name == top.name for statistic in one.statistics))
    concentrated = accounting is Accounting.ZCDP
    norms = block.sensitivity
    shown = 1.386 * math.sqrt(norms.l2_squared) if concentrated or norms.l1 is None else 3.0 * norms.l1
    part = part_of_picks(top, plan.cells or 1, shown, concentrated=concentrated)
    share = split_price(price, 1 / part)
    if accounting is Accounting.ZCDP:
        return Peeled(TopK.of_rho(top, share.rho), PrivacyLoss(rho=share.rho))
    found = [Peeled(TopK.of_epsilon(top, share.epsilon), PrivacyLoss(epsilon=share.epsilon))]
    if accounting is Accounting.APPROX and share.delta:
        found.append(Peeled(TopK.of_rho(top, largest_rho(share.epsilon, share.delta)), share))
    return max(found, key=lambda one: one.mechanism.rate)


def _less(price: PrivacyLoss, share: PrivacyLoss) -> PrivacyLoss:
    return PrivacyLoss(price.epsilon - share.epsilon, price.rho - share.rho, price.delta - share.delta)


def _pick(choice: Choice, accounting: Accounting, share: PrivacyLoss) -> Picked | Modal:
    """All fractions of a choice, and their ends where the price is enough for that. Raises :class:`TooFar`."""
    try:
        return _picked(choice, accounting, share, ends=True)
    except TooFar:
        return _picked(choice, accounting, share, ends=False)


def _picked(choice: Choice, accounting: Accounting, share: PrivacyLoss, *, ends: bool) -> Picked | Modal:
    """The mechanism with the greatest exponent: of ε, where weights are bounded in the L1 norm, or of ρ."""
    ends = ends and any(fraction not in (0, 1) for fraction in choice.fractions)
    one = (Fraction(1), Fraction(1))
    linear, squared = one if choice.candidates else together(choice.fractions, ends=ends)
    found: list[Exponential] = []
    if accounting is not Accounting.ZCDP and choice.sensitivity.l1 is not None:
        found.append(Exponential(share.epsilon / linear, concentrated=False))
    if accounting is Accounting.ZCDP:
        found.append(Exponential.of_rho(share.rho / squared))
    elif accounting is Accounting.APPROX and share.delta:
        found.append(Exponential.of_rho(largest_rho(share.epsilon, share.delta) / squared))
    if not found:
        raise error("weights are not bounded in a norm that this ledger can hide", sqlstate="XX000")
    mechanism = max(found, key=lambda one: one.epsilon / unit_weight(choice.sensitivity, one))
    needs_delta = accounting is Accounting.APPROX and mechanism.concentrated
    paid = PrivacyLoss(share.epsilon, share.rho, share.delta if needs_delta else Fraction(0))
    if choice.candidates:
        return Modal(choice, (Commonest(choice, mechanism),), paid)
    quantiles = tuple(Quantile(choice, fraction, mechanism) for fraction in choice.fractions)
    pairs = tuple(one.ends() if ends and not one.is_extreme else None for one in quantiles)
    return Picked(choice, quantiles, pairs, paid)


def _mechanisms(accounting: Accounting) -> Callable[[Sensitivity, PrivacyLoss], list[Mechanism]]:
    return {Accounting.ZCDP: _zcdp, Accounting.PURE: _pure, Accounting.APPROX: _approx}[accounting]


def _zcdp(sensitivity: Sensitivity, share: PrivacyLoss) -> list[Mechanism]:
    return [Gaussian.calibrated(sensitivity, share.rho)]


def _pure(sensitivity: Sensitivity, share: PrivacyLoss) -> list[Mechanism]:
    return [] if sensitivity.l1 is None else [Laplace.calibrated(sensitivity, share.epsilon)]


def _approx(sensitivity: Sensitivity, share: PrivacyLoss) -> list[Mechanism]:
    rho = largest_rho(share.epsilon, share.delta) if share.delta else Fraction(0)
    gaussian: list[Mechanism] = [Gaussian.calibrated(sensitivity, rho)] if rho else []
    return gaussian + _pure(sensitivity, share)


def _select(plan: Plan, selection: Selection, accounting: Accounting, share: PrivacyLoss, delta: Fraction) -> Selected:
    """Under zcdp the threshold has the whole δ of the price; under approx its share, halved where noise needs δ too."""
    delta = min(delta, MOST_DELTA)
    if accounting is Accounting.PURE or not delta:
        columns = ", ".join(key.text for key in plan.keys)
        raise error(
            f"GROUP BY {columns} has no key set",
            sqlstate="0A000",
            hint=f"declare values for {columns} in the policy, or give the policy a delta",
        )
    mechanism: Mechanism
    if accounting is Accounting.ZCDP:
        mechanism = Gaussian.calibrated(selection.sensitivity, share.rho)
        return Selected(Threshold(selection, mechanism, delta), PrivacyLoss(rho=share.rho, delta=delta))
    if selection.max_groups == 1:
        mechanism = Laplace.calibrated(selection.sensitivity, share.epsilon)
        return Selected(Threshold(selection, mechanism, min(share.delta, MOST_DELTA)), share)
    half = min(share.delta / 2, MOST_DELTA)
    mechanism = Gaussian.calibrated(selection.sensitivity, largest_rho(share.epsilon, half))
    return Selected(Threshold(selection, mechanism, half), share)
