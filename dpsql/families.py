"""Which releases measure the same rows by different keys, and how they share a price. Public facts alone.

A *family* is measured together and made consistent together: the grouping sets of one GROUP BY, or a total and its
parts in two branches of a UNION. What it is follows from the text and the policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accountant import Accounting
from dpsql.loss import PrivacyLoss
from rewriter.lineage import measured_by
from rewriter.plan import KeyColumn, Plan
from rewriter.query import Presence, Query, release_name

_UNKNOWN_CELLS = 100
"""What a selected key set counts for where a price is divided: its groups are known only when it was paid."""

_PRECISION = 1 << 10
_TOKEN = _PRECISION >> 8


@dataclass(frozen=True, slots=True)
class Family:
    """Places of measurements, and for each of them the places of its keys among the keys of the family."""

    measurements: tuple[int, ...]
    keys: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """A table that the outer SELECT reads: its measurements, one for each grouping set, one below the other.

    ``sets`` are the places of each measurement's keys among ``keys``; none where there is one measurement and its table
    is read as it is. ``summed``: the outer SELECT adds up over the table's rows, so their sum must be an unbiased one.
    ``others``: the second measurement is the total, of which one row is left that the groups do not have.
    ``presences`` say which of its groups are read, by the output at the place ``counted``, which is ``bought`` where
    nobody asked for it.
    """

    name: str
    measurements: tuple[int, ...]
    keys: tuple[KeyColumn, ...]
    sets: tuple[tuple[int, ...], ...]
    summed: bool
    others: bool = False
    presences: tuple[Presence, ...] = ()
    counted: int = 0
    bought: bool = False

    @property
    def marked(self) -> bool:
        """Whether columns say of each row what it adds up over."""
        return bool(self.sets) or self.others


def shapes(releases: Sequence[Query], plans: Sequence[tuple[Plan, ...]], summed: Sequence[bool]) -> tuple[Shape, ...]:
    """The outer SELECT's tables. ``plans`` has one entry for each grouping of each release, in order."""
    found: list[Shape] = []
    next_ = 0
    for number, query in enumerate(releases):
        places = tuple(range(next_, next_ + len(query.groupings)))
        next_ += len(places)
        if query.sets:
            keys = tuple(KeyColumn(f"k{at}", key.value.type, key.text) for at, key in enumerate(query.keys))
        else:
            keys = plans[places[0]][0].keys
        read = (query.presences, query.counted, query.bought)
        added_up = summed[number] and not any(len(one.places) == len(keys) for one in query.presences)
        found.append(Shape(release_name(number), places, keys, query.sets, added_up, bool(query.others), *read))
    return tuple(found)


def families(releases: Sequence[Query]) -> tuple[Family, ...]:
    """The measurements of all releases, grouped by the rows and the aggregates that they have in common."""
    grouped: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    place = 0
    for query in releases:
        measured = measured_by(query)
        for keys in measured.keys:
            grouped.setdefault(measured.asked, []).append((place, keys))
            place += 1
    return tuple(_family(members) for members in grouped.values())


def _family(members: Sequence[tuple[int, tuple[str, ...]]]) -> Family:
    known = {key: at for at, key in enumerate(dict.fromkeys(key for _, keys in members for key in keys))}
    return Family(tuple(place for place, _ in members), tuple(tuple(known[key] for key in keys) for _, keys in members))


def shares(
    price: PrivacyLoss, families: Sequence[Family], plans: Sequence[Plan], accounting: Accounting
) -> tuple[PrivacyLoss, ...]:
    """Each measurement's share of the price; they add up to it exactly, what is measured twice being paid once.

    Families share equally. Within one, the weights minimise the sum of all cells' variances: ρ goes with √cells, ε with
    the cube root of cells, before least squares makes the answer better still. Under pure ε, where the noise of many
    shares grows with their square, all but a token goes to the finest groups if adding them up is more accurate.

    >>> plans = [Plan(str(n), "duckdb", (), (), (), None, n) for n in (1, 100)]
    >>> halves = shares(PrivacyLoss(rho=Fraction(11)), [Family((0, 1), ((), (0,)))], plans, Accounting.ZCDP)
    >>> [int(share.rho) for share in halves]
    [1, 10]
    """
    result = [PrivacyLoss()] * len(plans)
    for family in families:
        weights = {plans[place].identity: _weight(plans[place].cells, accounting) for place in family.measurements}
        if accounting is Accounting.PURE and (finest := _finest(family, plans)) is not None:
            weights = {identity: _PRECISION if identity == finest else _TOKEN for identity in weights}
        total = sum(weights.values()) * len(families)
        for place in family.measurements:
            result[place] = _portion(price, Fraction(weights[plans[place].identity], total))
    return tuple(result)


def _finest(family: Family, plans: Sequence[Plan]) -> str | None:
    """The measurement that all others are sums of, where measuring it alone is clearly better than sharing.

    With a share ε of the whole, n cells have 2n/ε² of variance; a set of c cells that is added up from n has n cells'
    noise in all. Least squares gains something on what is shared: that is what the margin leaves room for.
    """
    cells = {plans[place].identity: plans[place].cells or 0 for place in family.measurements}
    place, keys = max(zip(family.measurements, family.keys, strict=True), key=lambda member: len(member[1]))
    others = zip(family.measurements, family.keys, strict=True)
    sums = plans[place].sums
    if not all(plans[one].exhaustive and plans[one].sums == sums and set(some) <= set(keys) for one, some in others):
        return None
    if any(plans[other].choices for other in family.measurements):
        return None  # Quantiles of groups say little of those of all rows.
    alone = len(cells) * cells[plans[place].identity]
    return plans[place].identity if alone < 0.8 * sum(count ** (1 / 3) for count in cells.values()) ** 3 else None


def _weight(cells: int | None, accounting: Accounting) -> int:
    known = max(1, _UNKNOWN_CELLS if cells is None else cells)
    power = 1 / 3 if accounting is Accounting.PURE else 1 / 2
    return max(1, round(known**power * _PRECISION)) if known > 1 else _PRECISION


def _portion(price: PrivacyLoss, share: Fraction) -> PrivacyLoss:
    return PrivacyLoss(price.epsilon * share, price.rho * share, price.delta * share)
