"""How values are picked for their share of the price: quantiles one by one or together, and modes. Looks at no data."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting import Accounting, PrivacyLoss, check_covered
from dpsql.errors import error
from dpsql.inference.intervals import reach
from dpsql.mechanisms.quantiles import (
    COUNT,
    SHARE,
    Around,
    Commonest,
    Cost,
    Exponential,
    Joint,
    Quantile,
    TooFar,
    together,
    unit_weight,
)
from dpsql.mechanisms.sampling import Sampler
from dpsql.releases import Key, Rank
from rewriter.plan import Choice, Chosen, Output

Ranks = Mapping[Key, Sequence[Rank]]
MOST_TOGETHER = 24
"""So many quantiles are picked together in a second; more of them one by one."""

Columns = tuple[tuple[int | None, ...], ...]
"""A lattice value, or None, for every group: of each fraction, then of what is below and above each of them."""


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
        check_covered(self.loss, self.share)

    @property
    def mechanism(self) -> Exponential:
        return self.quantiles[0].mechanism

    @property
    def loss(self) -> PrivacyLoss:
        """Of all picks together, exactly."""
        return self.mechanism.loss_of(together(self.choice.fractions, ends=any(self.ends)))

    def rank_variance(self, place: int) -> float:
        return self.quantiles[place].rank_variance

    def usual_rows(self, place: int) -> float:
        return self.quantiles[place].usual_rows

    def columns(self, ranks: Ranks, keys: Sequence[Key], sampler: Sampler) -> Columns:
        ends: list[Quantile | None] = [end for pair in self.ends for end in (pair or (None, None))]
        return tuple(
            tuple(None if one is None else one.pick(ranks.get(key, ()), sampler) for key in keys)
            for one in (*self.quantiles, *ends)
        )


@dataclass(frozen=True, slots=True)
class Joined:
    """One choice whose fractions are picked together, but for MIN and MAX, and the share of the price for all of them:
    always enough. ``around`` None: the price is too low to tell how densely values lie.
    """

    choice: Choice
    joint: Joint
    extremes: tuple[Quantile, ...]
    around: Around | None
    share: PrivacyLoss

    def __post_init__(self) -> None:
        alone = tuple(one.fraction for one in self.extremes)
        if tuple(sorted({*alone, *self.joint.fractions})) != self.choice.fractions or self.joint.choice != self.choice:
            raise ValueError("every fraction is picked once")
        if any(one.choice != self.choice or one.mechanism != self.mechanism or one.shift for one in self.extremes):
            raise ValueError("quantiles of one column are picked alike")
        if self.around is not None and self.around.joint != self.joint:
            raise ValueError("ends are picked beside their quantile")
        check_covered(self.loss, self.share)

    @property
    def mechanism(self) -> Exponential:
        return self.joint.mechanism

    @property
    def quantiles(self) -> tuple[Quantile | Joint, ...]:
        """How each of the fractions is picked."""
        return tuple(self._extreme(fraction) or self.joint for fraction in self.choice.fractions)

    def _extreme(self, fraction: Fraction) -> Quantile | None:
        """How MIN or MAX is picked."""
        return next((one for one in self.extremes if one.fraction == fraction), None)

    def rank_variance(self, place: int) -> float:
        """The variance of the rank of one of the fractions, in rows."""
        fraction = self.choice.fractions[place]
        alone = self._extreme(fraction)
        return self.joint.rank_variance(fraction) if alone is None else alone.rank_variance

    def usual_rows(self, place: int) -> float:
        """How many rows the rank of one of the fractions is away, 95 times in 100, where values lie evenly."""
        fraction = self.choice.fractions[place]
        if (alone := self._extreme(fraction)) is not None:
            return alone.usual_rows
        at = self.joint.fractions.index(fraction)
        far = reach(at, len(self.joint.fractions), float(fraction), _FAR, 1.0) * _FAR
        return far / -math.expm1(-float(self.joint.rate * self.choice.row))

    @property
    def loss(self) -> PrivacyLoss:
        """Of all picks together, exactly."""
        return self.mechanism.loss_of(joint_cost(len(self.extremes), around=self.around is not None))

    def columns(self, ranks: Ranks, keys: Sequence[Key], sampler: Sampler) -> Columns:
        """The last column is the noisy weight of every group."""
        rows = [self._picked(ranks.get(key, ()), sampler) for key in keys]
        return tuple(zip(*rows, strict=True)) if rows else ((),) * (3 * len(self.choice.fractions) + 1)

    def _picked(self, ranks: Sequence[Rank], sampler: Sampler) -> tuple[int | None, ...]:
        """Of one group."""
        total, parts = self.joint.pick(ranks, sampler)
        ends: Sequence[tuple[int | None, int | None]] = ((None, None),) * len(self.joint.fractions)
        if parts is not None and self.around is not None:
            ends = self.around.pick(ranks, total, parts, sampler)
        found: dict[Fraction, int | None] = {one.fraction: one.pick(ranks, sampler) for one in self.extremes}
        beside: dict[Fraction, tuple[int | None, int | None]] = {}
        for place, fraction in enumerate(self.joint.fractions):
            found[fraction] = None if parts is None else parts[place].value
            beside[fraction] = ends[place]
        values = [found[fraction] for fraction in self.choice.fractions]
        pairs = [beside.get(fraction, (None, None)) for fraction in self.choice.fractions]
        return (*values, *(end for pair in pairs for end in pair), total)


def joint_cost(extremes: int, *, around: bool) -> Cost:
    """The cost of a joint pick and of everything that belongs to it, in ε and in ρ of one pick.

    >>> [round(float(cost), 3) for cost in joint_cost(0, around=True)]
    [1.667, 1.361]
    """
    share = SHARE if around else Fraction(0)
    return 1 + COUNT + share + extremes, 1 + 4 * COUNT**2 + share**2 + extremes


@dataclass(frozen=True, slots=True)
class Modal:
    """A choice of which the mode is picked, and the share of the price for it: always enough."""

    choice: Choice
    quantiles: tuple[Commonest]
    share: PrivacyLoss

    def __post_init__(self) -> None:
        if self.quantiles[0].choice != self.choice:
            raise ValueError("a mode is picked from its own choice")
        check_covered(self.loss, self.share)

    @property
    def mechanism(self) -> Exponential:
        return self.quantiles[0].mechanism

    @property
    def loss(self) -> PrivacyLoss:
        return self.mechanism.loss

    def usual_rows(self, place: int) -> None:
        """A value that is not the mode is no rows away from it."""

    def columns(self, ranks: Ranks, keys: Sequence[Key], sampler: Sampler) -> Columns:
        return (tuple(self.quantiles[0].pick(ranks.get(key, ()), sampler) for key in keys),)


def picked(choice: Choice, accounting: Accounting, share: PrivacyLoss) -> Picked | Joined | Modal:
    """The way to pick all fractions of a choice: one by one, or together where that is more accurate. Values around
    them are picked too where the price is enough. Raises :class:`TooFar`.
    """
    if choice.candidates:
        mechanism, paid = _mechanism(choice, accounting, share, (Fraction(1), Fraction(1)))
        return Modal(choice, (Commonest(choice, mechanism),), paid)
    alone, joined = (_with_ends(way, choice, accounting, share) for way in (_alone, _joined))
    if alone is None and joined is None:
        raise TooFar("the price is too low for these quantiles")
    if alone is None or joined is None:
        return alone or joined  # type: ignore[return-value]
    return min(alone, joined, key=lambda one: sum(map(one.rank_variance, range(len(choice.fractions)))))


def _with_ends(
    way: Callable[[Choice, Accounting, PrivacyLoss, bool], Picked | Joined | None],
    choice: Choice,
    accounting: Accounting,
    share: PrivacyLoss,
) -> Picked | Joined | None:
    for ends in (True, False):
        with contextlib.suppress(TooFar):
            return way(choice, accounting, share, ends)
    return None


def _alone(choice: Choice, accounting: Accounting, share: PrivacyLoss, ends: bool) -> Picked:
    ends = ends and any(fraction not in (0, 1) for fraction in choice.fractions)
    mechanism, paid = _mechanism(choice, accounting, share, together(choice.fractions, ends=ends))
    quantiles = tuple(Quantile(choice, fraction, mechanism) for fraction in choice.fractions)
    pairs = tuple(one.ends() if ends and not one.is_extreme else None for one in quantiles)
    return Picked(choice, quantiles, pairs, paid)


def _joined(choice: Choice, accounting: Accounting, share: PrivacyLoss, around: bool) -> Joined | None:
    inner = tuple(fraction for fraction in choice.fractions if fraction not in (0, 1))
    if not 2 <= len(inner) <= MOST_TOGETHER:
        return None
    outer = [fraction for fraction in choice.fractions if fraction in (0, 1)]
    mechanism, paid = _mechanism(choice, accounting, share, joint_cost(len(outer), around=around))
    joint = Joint(choice, inner, mechanism)
    extremes = tuple(Quantile(choice, fraction, mechanism) for fraction in outer)
    return Joined(choice, joint, extremes, Around(joint) if around else None, paid)


def _mechanism(
    choice: Choice, accounting: Accounting, share: PrivacyLoss, cost: Cost
) -> tuple[Exponential, PrivacyLoss]:
    """The mechanism with the greatest exponent, where all picks cost so many times what one does; and what is paid."""
    known = [
        (Exponential.affordable(choice.sensitivity, one.loss, cost), one.charge) for one in accounting.allowances(share)
    ]
    found = [(mechanism, charge) for mechanism, charge in known if mechanism is not None]
    if not found:
        raise error("weights are not bounded in a norm that this ledger can hide", sqlstate="XX000")
    return max(found, key=lambda one: one[0].epsilon / unit_weight(choice.sensitivity, one[0]))


def quantile_half_width(picks: Sequence[Picked | Joined | Modal], chosen: Chosen, rows: int) -> float | None:
    """The 95 % half-width to expect of a quantile in a group of so many rows, spread evenly over the range; None for a
    mode. MIN and MAX are as far from the ends as they aim.
    """
    pick = next(one for one in picks if one.choice.name == chosen.choice)
    if (off := pick.usual_rows(chosen.place)) is None:
        return None
    choice = pick.choice
    return float((choice.high - choice.low) * choice.granularity) / rows * min(off, rows)


_FAR = 1e6
"""An end so far away that noise does not show."""


def rank_notes(releases: Iterable[tuple[Sequence[Output], Sequence[Picked | Joined | Modal]]]) -> Iterator[str]:
    """How far the ranks of quantiles may be off, in words: a bound for every data set, of the widest grouping set."""
    away: dict[str, int] = {}
    usual: dict[str, int] = {}
    beyond: dict[str, tuple[int, int]] = {}
    modes: dict[tuple[str, str], int] = {}
    for outputs, picks in releases:
        for output in outputs:
            if (chosen := output.estimator.as_pick) is None:
                continue
            pick = next(one for one in picks if one.choice.name == chosen.choice)
            quantile = pick.quantiles[chosen.place]
            rows = math.ceil(quantile.rows)
            if isinstance(quantile, Commonest):
                modes[output.text, quantile.way] = max(modes.get((output.text, quantile.way), 0), rows)
            elif isinstance(quantile, Quantile) and quantile.is_extreme:
                beyond[output.text] = max(beyond.get(output.text, (0, 0)), (quantile.inside_rows, rows))
            else:
                away[output.text] = max(away.get(output.text, 0), rows)
                near = math.ceil(pick.usual_rows(chosen.place) or 0)
                usual[output.text] = max(usual.get(output.text, 0), min(near, rows))
    for (text, way), rows in modes.items():
        yield f"{text} is picked by {way}: another value may have up to {rows:,} rows more (95 %)"
    for text, (inside, rows) in beyond.items():
        yield f"{text} has about {inside:,} rows beyond it, at most {rows:,} more or fewer (95 %)"
    if len(away) > 2:
        yield (
            f"each quantile is at most {max(away.values()):,} rows away from the true one in rank (95 %);"
            f" {max(usual.values()):,} where values lie evenly"
        )
    else:
        yield from (
            f"{text} is at most {rows:,} rows away from the true one in rank (95 %); {usual[text]:,} where values lie"
            " evenly"
            for text, rows in away.items()
        )
    if away:
        yield "the error bar of a quantile holds where values lie about as densely as they do around it"
