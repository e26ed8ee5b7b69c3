"""Which releases measure the same rows by different keys, and how they share a price. Public facts alone.

A *family* is measured together and made consistent together: the grouping sets of one GROUP BY, or a total and its
parts in two branches of a UNION. What it is follows from the text and the policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from rewriter.plan import KeyColumn, Options
from rewriter.planner.lineage import measured_by
from rewriter.release import Presence, Query, aggregate_name, key_name, release_name


@dataclass(frozen=True, slots=True)
class Family:
    """Places of measurements, and for each of them the places of its keys among the keys of the family.

    ``beside``: it is a marginal that nobody asked for, of the family at this place, whose output ``counted`` has the
    numbers of rows. No other measurement is made to agree with it.
    """

    measurements: tuple[int, ...]
    keys: tuple[tuple[int, ...], ...]
    beside: int | None = None
    counted: int = 0


@dataclass(frozen=True, slots=True)
class KeyMarginal:
    """The measurement at a ``place`` has the numbers of rows by the key at a place ``key`` alone, as its output
    ``counted``."""

    key: int
    place: int
    counted: int


@dataclass(frozen=True, slots=True)
class Shape:
    """A table that the outer SELECT reads: its measurements, one for each grouping set, one below the other.

    ``sets`` are the places of each measurement's keys among ``keys``; none where there is one measurement and its table
    is read as it is. ``summed``: the outer SELECT adds up over the table's rows, so their sum must be an unbiased one.
    ``others``: the second measurement is the total, from which the row of other groups is computed. ``presences`` say
    which of its groups are read, by the output at the place ``counted``, which is ``bought`` where nobody asked for it.
    ``added`` are the outputs that windows of the outer SELECT add up over neighbouring groups. ``marginals`` say for
    each measurement by which others the ends of its ordered keys are chosen. The measurement at the place ``number``
    has the number of its groups.
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
    added: tuple[str, ...] = ()
    marginals: tuple[tuple[KeyMarginal, ...], ...] = ()
    number: int | None = None

    @property
    def marked(self) -> bool:
        """Whether columns say of each row what it adds up over."""
        return bool(self.sets) or self.others


def shapes(
    releases: Sequence[Query],
    options: Sequence[Options],
    *,
    summed: bool,
    marginals: Sequence[tuple[KeyMarginal, ...]] = (),
    numbers: Mapping[int, int] = MappingProxyType({}),
) -> tuple[Shape, ...]:
    """The outer SELECT's tables. ``options`` has one entry for each grouping of each release, in order, and
    ``marginals`` has the marginals that it reads, ``numbers`` the place of its number of groups."""
    found: list[Shape] = []
    next_ = 0
    for number, query in enumerate(releases):
        places = tuple(range(next_, next_ + len(query.groupings)))
        next_ += len(places)
        if query.sets:
            keys = tuple(KeyColumn(key_name(at), key.value.type, key.text) for at, key in enumerate(query.keys))
        else:
            keys = options[places[0]].first.keys
        running = () if query.cumulative is None else tuple(map(aggregate_name, query.cumulative.aggregates))
        read = (query.presences, query.counted, query.bought, running)
        added_up = summed and not any(len(one.places) == len(keys) for one in query.presences)
        own = tuple(marginals[place] for place in places) if marginals else ()
        alone = numbers.get(places[0])
        found.append(
            Shape(release_name(number), places, keys, query.sets, added_up, bool(query.others), *read, own, alone)
        )
    return tuple(found)


def families(releases: Sequence[Query]) -> tuple[Family, ...]:
    """The measurements of all releases, grouped by the rows and the aggregates that they have in common."""
    if len(releases) == 1 and len(releases[0].groupings) == 1:
        # Of one measurement nothing needs to be spelt: its rows may be as long as the statement.
        trees = [key.value.sql for key in releases[0].keys]
        return (Family((0,), (tuple(map(trees.index, trees)),)),)
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
