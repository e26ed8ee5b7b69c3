"""How wide the noise of a plan must be for its price. Looks at no data.

The price is shared by the blocks of the plan, by their weights, and its key selection. What each share buys is derived
again from the mechanism that was built for it, exactly, and compared with the share, before anything can run.

Why the share is charged and not what was derived: the scale of noise is a float, so the derived loss is below the share
by about one part in 10¹⁵, and a sum of such numbers has denominators that never stop growing.
Why no analytic Gaussian under ``approx``: Balle, Wang 2018 prove it for continuous noise. Ours is
discrete and goes through its zCDP guarantee and the tight conversion of Canonne, Kamath, Steinke 2020.
Why no Laplace noise under ``zcdp``: priced exactly (:mod:`dpsql.accounting.concentration`), it is the narrower one only
where one number alone is measured at more than ρ = 1.5, which is about what a whole total of ε = 10 holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

from dpsql.accounting import Accounting, PrivacyLoss, check_covered
from dpsql.calibrate.picks import picked as pick
from dpsql.errors import error
from dpsql.inference.estimates import Spread, estimate_of, group_noise, points_after
from dpsql.mechanisms import PICKS, Mechanism, Threshold, TopK, hiding, part_of_picks
from dpsql.mechanisms.quantiles import Pick, RankError, TooFar
from dpsql.mechanisms.sampling import TooWide
from dpsql.releases import Additive, Noise, NoisyTable
from rewriter.front_door import EXTREME
from rewriter.plan import EXISTS, Block, Choice, Plan, Selection, Top

NOMINAL_GROUP = 1000
"""The rows of the group for which a mean's error is predicted, where nobody says another number."""


@contextmanager
def affordable() -> Iterator[None]:
    """Whatever a mechanism cannot be made for at a price is an error of the statement, before a charge (22023)."""
    try:
        yield
    except TooFar as cause:
        hint = "ask at a larger dpsql.epsilon, or for fewer quantiles at once"
        raise error("a quantile is not told from others at this price", sqlstate="22023", hint=hint) from cause
    except TooWide as cause:
        hint = "ask at a larger dpsql.epsilon, or declare narrower ranges and fewer rows"
        raise error("the noise at this price is wider than 64 bits", sqlstate="22023", hint=hint) from cause


@dataclass(frozen=True, slots=True)
class CalibratedBlock:
    """One block, the mechanism that hides it, and the share of the price that pays for it: always enough."""

    block: Block
    mechanism: Mechanism
    share: PrivacyLoss

    def __post_init__(self) -> None:
        check_covered(self.loss, self.share)

    @property
    def loss(self) -> PrivacyLoss:
        """Derived from the mechanism and the sensitivity alone, exactly."""
        return self.mechanism.loss(self.block.sensitivity)


@dataclass(frozen=True, slots=True)
class Selected:
    """The threshold above which groups are named, and the share of the price for it: always enough.

    ``measured``: the noise is that of a block, which pays for it; the share is for δ alone.
    """

    threshold: Threshold
    share: PrivacyLoss
    measured: bool = False

    def __post_init__(self) -> None:
        loss = PrivacyLoss(delta=self.threshold.delta) if self.measured else self.threshold.loss
        check_covered(loss, self.share)


@dataclass(frozen=True, slots=True)
class Peeled:
    """The mechanism that picks the measured groups, and the share of the price for it: always enough."""

    mechanism: TopK
    share: PrivacyLoss

    def __post_init__(self) -> None:
        check_covered(self.mechanism.loss, self.share)


@dataclass(frozen=True, slots=True)
class Calibration:
    """A plan with its noise. ``ranking`` says how the groups are found where an answer shows only its largest ones.
    ``agreement``: what other measurements leave of a group's standard deviation, as far as it is foretold."""

    plan: Plan
    measured: tuple[CalibratedBlock, ...]
    selected: Selected | None
    picked: tuple[Pick, ...] = ()
    peeled: Peeled | None = None
    ranking: str = ""
    agreement: Fraction = Fraction(1)
    loss: PrivacyLoss = field(init=False, repr=False, compare=False)
    """What is charged for it: the shares, none of them exceeded."""
    noise: Mapping[str, Mechanism] = field(init=False, repr=False, compare=False)
    """The noise of each statistic, by its name."""
    picking: Mapping[str, Noise] = field(init=False, repr=False, compare=False)
    """How far each choice is off, and the picks of groups."""
    hidden_by: Mapping[str, Noise] = field(init=False, repr=False, compare=False)
    """All that a release of it is hidden by."""

    def __post_init__(self) -> None:
        groups = [one.share for one in (self.selected, self.peeled) if one is not None]
        shares = [*(one.share for one in self.measured), *groups, *(one.share for one in self.picked)]
        object.__setattr__(self, "loss", sum(shares, start=PrivacyLoss()))
        noise = {statistic.name: one.mechanism for one in self.measured for statistic in one.block.statistics}
        picking = {name: one.noise for name, one in self.picks.items()}
        if self.peeled is not None:
            picking[PICKS] = self.peeled.mechanism.noise
        object.__setattr__(self, "noise", noise)
        object.__setattr__(self, "picking", picking)
        object.__setattr__(self, "hidden_by", {**noise, **picking})
        if tuple(one.choice for one in self.picked) != self.plan.choices:
            raise ValueError("every choice is made once")
        if tuple(one.block for one in self.measured) != self.plan.blocks:
            raise ValueError("every block is measured once")
        if (self.selected and self.selected.threshold.selection) != self.plan.selection:
            raise ValueError("groups are selected as the plan says")
        if self.selected is not None and self.selected.measured is not self._selects(self.selected):
            raise ValueError("what is measured and selects has one noise")
        if (self.peeled and self.peeled.mechanism.top) != self.plan.top:
            raise ValueError("groups are picked as the plan says")

    def _selects(self, selected: Selected) -> bool:
        """Whether a block is what selects, behind the same noise."""
        threshold, block = selected.threshold, self.plan.selecting
        same = [one.mechanism for one in self.measured if one.block == block]
        return (
            same == [threshold.mechanism] and block is not None and block.sensitivity == threshold.selection.sensitivity
        )

    @property
    def parts(self) -> Sequence[Callable[[NoisyTable], Calibration]]:
        """What is read and hidden, one after another, each at the numbers that were released before: of a plan without
        steps, all of it at once. The noise of all of them, and its price, is what it is whatever is released."""
        count = len(self.plan.first_read.blocks)
        first = replace(self, plan=self.plan.first_read, measured=self.measured[:count]) if self.plan.steps else self
        found: list[Callable[[NoisyTable], Calibration]] = [lambda _: first]
        for number, step in enumerate(self.plan.steps):
            own = self.measured[count : count + len(step.blocks)]
            found.append(partial(_at_step, self.plan, number, own))
            count += len(step.blocks)
        return found

    @property
    def read(self) -> Plan:
        """The plan as it is read: values beyond all that a pick looks at are left where they are. From the price."""
        choices = tuple(map(_as_seen, self.picked))
        return self.plan if choices == self.plan.choices else replace(self.plan, choices=choices)

    @property
    def noise_apart(self) -> Mapping[str, Additive]:
        """The noise to expect of each statistic in a group, as it is measured."""
        return group_noise(self.plan.blocks, self.noise)

    @property
    def expected_noise(self) -> Mapping[str, Additive]:
        """The noise to expect of each statistic in a group, after inference."""
        return group_noise(self.plan.blocks, self.noise, float(self.agreement))

    @property
    def picks(self) -> Mapping[str, Pick]:
        """How the values of each choice are picked, by its name."""
        return {one.choice.name: one for one in self.picked}

    @property
    def rank_errors(self) -> Iterator[RankError]:
        """How far the rank of each picked value may be off, whatever the data."""
        picks = self.picks
        for output in self.plan.outputs:
            for one in output.estimator.picks:
                yield picks[one.choice].rank_error(one.place, output.text)

    @property
    def threshold(self) -> float | None:
        """How many people, each in one group, a group needs before noise to be named half of the time."""
        return self.selected.threshold.units if self.selected else None

    @property
    def spreads_people(self) -> bool:
        """Whether that is not all to be said: people who are in several groups weigh less in each."""
        return self.selected is not None and self.selected.threshold.selection.max_groups > 1


def _at_step(plan: Plan, number: int, own: tuple[CalibratedBlock, ...], before: NoisyTable) -> Calibration:
    """A step at what was released before it."""
    points = points_after(plan, number, before)
    return Calibration(plan.at_step(plan.steps[number], before.keys, points), own, None)


def calibrate(plan: Plan, accounting: Accounting, price: PrivacyLoss) -> Calibration:
    """The least noise that costs at most ``price``. Raises :class:`dpsql.errors.Error`; nothing was read or charged.

    >>> from rewriter.plan import Sensitivity, Statistic
    >>> block = Block((Statistic("n", Fraction(1), 2, "count"),), Sensitivity(l1=2, l2_squared=4))
    >>> plan = Plan("SELECT …", "duckdb", (), (block,), (), None, 1)
    >>> from dpsql.accounting import PURE
    >>> calibrate(plan, PURE, PrivacyLoss(epsilon=Fraction(1, 10))).noise
    {'n': Laplace(scale=Fraction(20, 1))}
    """
    apart = plan.selection is not None and plan.selecting is None
    whole = sum((block.weight for block in plan.blocks), Fraction(apart))
    whole += sum(choice.size for choice in plan.choices)
    if not whole:
        return Calibration(plan, (), None)
    _check_price(accounting, price)
    _check_sizes(plan)
    with affordable():
        peeled = None if plan.top is None else _peel(plan, plan.top, accounting, price)
        rest = price if peeled is None else price - peeled.share
        share = rest / whole
        shares = [rest * one.weight / whole for one in plan.blocks]
        selected = _select(plan, plan.selection, accounting, share, price.delta) if plan.selection and apart else None
        if plan.selection is not None and not apart:
            place = next(place for place, one in enumerate(plan.blocks) if one == plan.selecting)
            selected, shares[place] = _selecting(plan, plan.selection, accounting, shares[place], price.delta)
        measured = tuple(measure(one, accounting, part) for one, part in zip(plan.blocks, shares, strict=True))
        picked = tuple(pick(one, accounting, rest * one.size / whole) for one in plan.choices)
    calibration = Calibration(plan, measured, selected, picked, peeled)
    if not calibration.loss.fits_within(price):
        raise error("a calibration exceeds its price", sqlstate="XX000")
    return calibration


def _as_seen(pick: Pick) -> Choice:
    """The choice with the SQL of the window that its pick needs, to a power of two."""
    choice, window = pick.choice, pick.choice.window
    if choice.within is None:
        return choice
    while window // 2 >= pick.sees:
        window //= 2
    return choice if window == choice.window else replace(choice, sql=choice.within(window), window=window)


def margins(
    plan: Plan,
    calibration: Calibration,
    group_size: int = NOMINAL_GROUP,
    spread: Callable[[str], Spread | None] = lambda _: None,
) -> Mapping[str, float]:
    """The 95 % half-width to expect of each output, before any data is read.

    For a mean: in a group of ``group_size`` rows, wherever in its range the mean lies. ``spread`` says how the values
    of an output lie, where that is known.
    """
    known = {}
    for one in plan.outputs:
        summed = bool(one.parts)  # The half-width of a sum is multiplied by the factor of agreement, as in an answer.
        noise = calibration.noise_apart if summed else calibration.expected_noise
        estimate = estimate_of(one.estimator)
        width = estimate.expected_half_width(noise, calibration.picks, group_size, spread(one.name))
        if one.estimator.has_margin and width is not None:
            known[one.name] = width * float(calibration.agreement) if summed else width
    return known


def turning_notes(calibration: Calibration) -> Iterator[str]:
    """How many rows turn BOOL_OR and BOOL_AND, in words."""
    deciding = [output for output in calibration.plan.outputs if output.decides]
    known = margins(calibration.plan, calibration) if deciding else {}
    for output in deciding:
        rows = math.floor(known[output.name]) + 1
        if output.decides == EXISTS:
            yield (
                f"whether there is a row is told by a noisy count of {output.text}: from {rows:,} on there is, wrong in"
                f" at most 2.5 % of cases without a row, and of those with {2 * rows:,}; else the answer is no, also"
                " where there are too few to tell"
            )
            continue
        way, what = ("TRUE", "it is") if output.decides.startswith("BOOL_OR") else ("FALSE", "it is not")
        yield (
            f"{output.decides} is {way} from {rows:,} noisy rows on which {what}: wrong in at most 2.5 % of groups"
            f" without such a row, and of those with {2 * rows:,}; NULL where rows are too few to tell"
        )


def _check_price(accounting: Accounting, price: PrivacyLoss) -> None:
    if not accounting.adds(price):
        raise error(f"a {accounting} ledger is not paid like this", sqlstate="XX000")
    if not price.of_noise:
        raise error("an answer has a price above 0", sqlstate="22023", hint="SET dpsql.epsilon = 0.1")


def _check_sizes(plan: Plan) -> None:
    """Refuse sums whose squares no double holds: all that is known of their errors is computed in doubles."""
    sizes = [one.granularity * step for one in plan.statistics for step in (1, max(one.bound, 1))]
    sizes += [size for output in plan.outputs for size in output.estimator.squared]
    if any(not 1 / EXTREME <= size <= EXTREME for size in sizes if size):
        raise error(
            "numbers of this size are not added up", sqlstate="22003", hint="declare a narrower range, or divide them"
        )


def measure(block: Block, accounting: Accounting, share: PrivacyLoss) -> CalibratedBlock:
    """The least noise that hides a block for a share of a price."""
    found = [
        CalibratedBlock(block, mechanism, allowance.charge)
        for allowance in accounting.allowances(share)
        for mechanism in hiding(block.sensitivity, allowance.loss)
    ]
    if not found:
        raise error("statistics are not bounded in a norm that this ledger can hide", sqlstate="XX000")
    return min(found, key=lambda one: one.mechanism.variance)


def _peel(plan: Plan, top: Top, accounting: Accounting, price: PrivacyLoss) -> Peeled:
    """The picks with the greatest exponent for their part of the price: by ρ, or by ε."""
    block = next(one for one in plan.blocks if any(statistic.name == top.name for statistic in one.statistics))
    concentrated, norms = accounting.concentrated, block.sensitivity
    shown = 1.386 * math.sqrt(norms.l2_squared) if concentrated or norms.l1 is None else 3.0 * norms.l1
    part = part_of_picks(top, plan.cells or 1, shown, concentrated=concentrated)
    found = [Peeled(TopK.affordable(top, one.loss), one.charge) for one in accounting.allowances(price * part)]
    return max(found, key=lambda one: one.mechanism.rate)


def _selecting(
    plan: Plan, selection: Selection, accounting: Accounting, share: PrivacyLoss, delta: Fraction
) -> tuple[Selected, PrivacyLoss]:
    """The threshold for weights that are measured within a block at its share, and the rest of this share for the
    noise."""
    found = _select(plan, selection, accounting, share, delta)
    return Selected(found.threshold, found.share.of_failure, measured=True), found.share.of_noise


def _select(plan: Plan, selection: Selection, accounting: Accounting, share: PrivacyLoss, delta: Fraction) -> Selected:
    """The first way to pay for a threshold for which there is noise."""
    unpaid = True
    for allowance in accounting.selections(share, delta):
        unpaid = False
        for mechanism in hiding(selection.sensitivity, allowance.loss):
            return Selected(Threshold(selection, mechanism, allowance.delta), allowance.charge)
    if not unpaid:
        raise TooWide("nothing hides for nothing")
    columns = ", ".join(key.text for key in plan.keys)
    raise error(
        f"GROUP BY {columns} has no key set",
        sqlstate="0A000",
        hint=f"declare values for {columns} in the policy, or give the policy a delta",
    )
