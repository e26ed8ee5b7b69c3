"""How quantiles of one column are picked: one by one, or together. Looks at no data."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, TypeVar

from dpsql.accounting import Accounting, PrivacyLoss, check_covered
from dpsql.inference.intervals import reach
from dpsql.mechanisms.quantiles import (
    COUNT,
    SHARE,
    Around,
    Columns,
    Cost,
    Exponential,
    Joint,
    Pick,
    Quantile,
    RankError,
    Ranks,
    TooFar,
    paid_mechanism,
    together,
)
from dpsql.mechanisms.sampling import Sampler
from dpsql.releases import Key, Rank
from rewriter.plan import Choice

Way = TypeVar("Way", bound=Pick)

MOST_TOGETHER = 24
"""So many quantiles are picked together in a second; more of them one by one."""

_FAR = 1e6
"""An end so far away that noise does not show."""


@dataclass(frozen=True, slots=True)
class OneByOne(Pick):
    """A choice of which each fraction is picked by itself.

    ``ends`` are what is picked below and above each quantile; None for MIN and MAX, and where the price is too low.
    """

    quantiles: tuple[Quantile, ...]
    ends: tuple[tuple[Quantile, Quantile] | None, ...]

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

    @classmethod
    def affordable(cls, choice: Choice, accounting: Accounting, share: PrivacyLoss) -> OneByOne | None:
        if not choice.fractions:
            return None

        def pick(ends: bool) -> OneByOne:
            ends = ends and any(fraction not in (0, 1) for fraction in choice.fractions)
            mechanism, paid = paid_mechanism(choice, accounting, share, together(choice.fractions, ends=ends))
            quantiles = tuple(Quantile(choice, fraction, mechanism) for fraction in choice.fractions)
            pairs = tuple(one.ends() if ends and not one.is_extreme else None for one in quantiles)
            return OneByOne(choice, paid, quantiles, pairs)

        return _with_ends(pick)

    @property
    def mechanism(self) -> Exponential:
        return self.quantiles[0].mechanism

    @property
    def loss(self) -> PrivacyLoss:
        return self.mechanism.loss_of(together(self.choice.fractions, ends=any(self.ends)))

    @property
    def sees(self) -> int:
        ends = (end for pair in self.ends for end in pair or ())
        return max(one.sees for one in (*self.quantiles, *ends))

    @property
    def variance(self) -> float:
        return sum(one.rank_variance for one in self.quantiles)

    @property
    def rows(self) -> tuple[float, ...]:
        return tuple(one.rows for one in self.quantiles)

    def usual_rows(self, place: int) -> float:
        return self.quantiles[place].usual_rows

    def rank_error(self, place: int, text: str) -> RankError:
        quantile = self.quantiles[place]
        return ExtremeError.of(quantile, text) if quantile.is_extreme else QuantileError.of(self, place, text)

    def columns(self, ranks: Ranks, keys: Sequence[Key], sampler: Sampler) -> Columns:
        ends: list[Quantile | None] = [end for pair in self.ends for end in (pair or (None, None))]
        return tuple(
            tuple(None if one is None else one.pick(ranks.get(key, ()), sampler) for key in keys)
            for one in (*self.quantiles, *ends)
        )


@dataclass(frozen=True, slots=True)
class Joined(Pick):
    """A choice whose fractions are picked together, but for MIN and MAX.

    ``around`` None: the price is too low to tell how densely values lie.
    """

    joint: Joint
    extremes: tuple[Quantile, ...]
    around: Around | None

    def __post_init__(self) -> None:
        alone = tuple(one.fraction for one in self.extremes)
        if tuple(sorted({*alone, *self.joint.fractions})) != self.choice.fractions or self.joint.choice != self.choice:
            raise ValueError("every fraction is picked once")
        if any(one.choice != self.choice or one.mechanism != self.mechanism or one.shift for one in self.extremes):
            raise ValueError("quantiles of one column are picked alike")
        if self.around is not None and self.around.joint != self.joint:
            raise ValueError("ends are picked beside their quantile")
        check_covered(self.loss, self.share)

    @classmethod
    def affordable(cls, choice: Choice, accounting: Accounting, share: PrivacyLoss) -> Joined | None:
        inner = tuple(fraction for fraction in choice.fractions if 0 < fraction < 1)
        outer = [fraction for fraction in choice.fractions if fraction in (0, 1)]
        if not 2 <= len(inner) <= MOST_TOGETHER:
            return None

        def pick(around: bool) -> Joined:
            mechanism, paid = paid_mechanism(choice, accounting, share, joint_cost(len(outer), around=around))
            joint = Joint(choice, inner, mechanism)
            extremes = tuple(Quantile(choice, fraction, mechanism) for fraction in outer)
            return Joined(choice, paid, joint, extremes, Around(joint) if around else None)

        return _with_ends(pick)

    @property
    def mechanism(self) -> Exponential:
        return self.joint.mechanism

    @property
    def loss(self) -> PrivacyLoss:
        return self.mechanism.loss_of(joint_cost(len(self.extremes), around=self.around is not None))

    @property
    def variance(self) -> float:
        return sum(self._variance(fraction) for fraction in self.choice.fractions)

    @property
    def rows(self) -> tuple[float, ...]:
        return tuple((self._extreme(fraction) or self.joint).rows for fraction in self.choice.fractions)

    def usual_rows(self, place: int) -> float:
        fraction = self.choice.fractions[place]
        if (alone := self._extreme(fraction)) is not None:
            return alone.usual_rows
        at = self.joint.fractions.index(fraction)
        far = reach(at, len(self.joint.fractions), float(fraction), _FAR, 1.0) * _FAR
        return far / -math.expm1(-float(self.joint.rate * self.choice.row))

    def rank_error(self, place: int, text: str) -> RankError:
        alone = self._extreme(self.choice.fractions[place])
        return QuantileError.of(self, place, text) if alone is None else ExtremeError.of(alone, text)

    def columns(self, ranks: Ranks, keys: Sequence[Key], sampler: Sampler) -> Columns:
        """The last column is the noisy weight of every group."""
        rows = [self._picked(ranks.get(key, ()), sampler) for key in keys]
        return tuple(zip(*rows, strict=True)) if rows else ((),) * (3 * len(self.choice.fractions) + 1)

    def _extreme(self, fraction: Fraction) -> Quantile | None:
        """How MIN or MAX is picked."""
        return next((one for one in self.extremes if one.fraction == fraction), None)

    def _variance(self, fraction: Fraction) -> float:
        alone = self._extreme(fraction)
        return self.joint.rank_variance(fraction) if alone is None else alone.rank_variance

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


def _with_ends(pick: Callable[[bool], Way]) -> Way | None:
    """The pick with the values around its quantiles, else without them; None where the price is too low for either."""
    for ends in (True, False):
        with contextlib.suppress(TooFar):
            return pick(ends)
    return None


@dataclass(frozen=True, slots=True)
class ExtremeError(RankError):
    """How many people have values beyond MIN or MAX: about those ``inside``, give or take the error."""

    inside: int

    order: ClassVar[int] = 1

    @classmethod
    def of(cls, quantile: Quantile, text: str) -> ExtremeError:
        return cls(text, math.ceil(quantile.rows), quantile.inside_rows)

    @classmethod
    def notes(cls, errors: Sequence[ExtremeError]) -> Iterator[str]:
        beyond: dict[str, tuple[int, int]] = {}
        for one in errors:
            beyond[one.text] = max(beyond.get(one.text, (0, 0)), (one.inside, one.rows))
        for text, (inside, rows) in beyond.items():
            people = "person has" if inside == 1 else "people have"
            yield f"about {inside:,} {people} values beyond {text}, at most {rows:,} more or fewer (95 %)"


@dataclass(frozen=True, slots=True)
class QuantileError(RankError):
    """How many rows, or distinct values, away from the true quantile the one is that was picked; ``usual`` where values
    lie evenly."""

    usual: int
    things: str = "rows"

    order: ClassVar[int] = 2

    @classmethod
    def of(cls, pick: Pick, place: int, text: str) -> QuantileError:
        rows = math.ceil(pick.rows[place])
        things = "values" if pick.choice.distinct else "rows"
        return cls(text, rows, min(math.ceil(pick.usual_rows(place) or 0), rows), things)

    @classmethod
    def notes(cls, errors: Sequence[QuantileError]) -> Iterator[str]:
        away: dict[str, int] = {}
        usual: dict[str, int] = {}
        things = {one.text: one.things for one in errors}
        for one in errors:
            away[one.text] = max(away.get(one.text, 0), one.rows)
            usual[one.text] = max(usual.get(one.text, 0), one.usual)
        if len(away) > 2:
            any_of = " or ".join(sorted(set(things.values())))
            yield (
                f"at most {max(away.values()):,} {any_of} lie between each quantile and the true one (95 %);"
                f" {max(usual.values()):,} where values lie evenly"
            )
        else:
            yield from (
                f"at most {rows:,} {things[text]} lie between {text} and the true one (95 %); {usual[text]:,} where"
                " values lie evenly"
                for text, rows in away.items()
            )
        yield "the error bar of a quantile assumes that values are about as dense nearby as they are at the quantile"
