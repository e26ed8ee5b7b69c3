"""The tables of the periods of a series as one table. Post-processing of released numbers.

Each period's cells have the noise that was paid for them; some may have less, where more was paid once. Where each
group is in one period, the table says the widest of each statistic: an error bar may be wider than need be, and never
narrower. Where periods are added up, the variance of a group is the sum of those of the periods that list it, under
the law with the heaviest tails of all; the table says the widest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.mechanisms import sqrt_at_least
from dpsql.releases import Additive, Key, NoisyTable, heaviest
from dpsql.reuse.derive import Made, refined
from rewriter.plan import Plan


def joined(whole: Plan, parts: Sequence[Made]) -> Made:
    """All groups of a series, in the order of their keys. A part may be on a lattice that is finer than planned."""
    factors, finest = _factors(whole, parts)
    rows = sorted(
        (_order(key), place, row) for place, part in enumerate(parts) for row, key in enumerate(part.table.keys)
    )
    keys = tuple(tuple(parts[place].table.keys[row]) for _, place, row in rows)
    statistics = {
        name: _column([part.table.statistics[name] for part in parts], [finest[name] // one for one in factors[name]], [
            (place, row) for _, place, row in rows
        ])
        for name in finest
    }  # fmt: skip
    noises = [
        {name: _scaled(part.table.noise[name], finest[name] // factors[name][place]) for name in finest}
        for place, part in enumerate(parts)
    ]
    noise = {name: _widest([one[name] for one in noises]) for name in finest}
    periods = tuple(place for _, place, _ in rows)
    return Made(refined(whole, finest), NoisyTable(keys, statistics, noise, periods=periods, noises=noises))


def added_up(whole: Plan, parts: Sequence[Made]) -> Made:
    """The sums of the periods, group by group, in the order of their keys. A group that a period does not list has no
    rows in it."""
    factors, finest = _factors(whole, parts)
    places = [{tuple(key): row for row, key in enumerate(part.table.keys)} for part in parts]
    keys = tuple(sorted({key for known in places for key in known}, key=_order))
    # A group has the noise of the periods that list it: a day of another zone is listed by two days.
    listings = {tuple(place for place, known in enumerate(places) if key in known) for key in keys}
    statistics: dict[str, tuple[int, ...]] = {}
    noise: dict[str, Additive] = {}
    for name, most in finest.items():
        times = [most // factor for factor in factors[name]]
        columns = [part.table.statistics[name] for part in parts]
        pairs = list(zip(columns, times, places, strict=True))
        statistics[name] = tuple(
            sum(int(column[at[key]]) * factor for column, factor, at in pairs if key in at) for key in keys
        )
        noises = [part.table.noise[name] for part in parts]
        squares = [one.square * factor**2 for one, factor in zip(noises, times, strict=True)]
        every = sum(squares, Fraction())
        square = max((sum((squares[place] for place in listing), Fraction()) for listing in listings), default=every)
        law = heaviest(noises)
        noise[name] = law(Fraction(sqrt_at_least(law.square_of_scale(square))))
    return Made(refined(whole, finest), NoisyTable(keys, statistics, noise))


def _factors(whole: Plan, parts: Sequence[Made]) -> tuple[Mapping[str, Sequence[int]], Mapping[str, int]]:
    """How many steps of each part a planned step of a statistic has, and how many of the lattice that holds all."""
    steps = [{one.name: one.granularity for one in part.plan.statistics} for part in parts]
    factors = {one.name: [int(one.granularity / own[one.name]) for own in steps] for one in whole.statistics}
    return factors, {name: math.lcm(*some) for name, some in factors.items()}


def _order(key: Key) -> tuple[tuple[bool, object], ...]:
    """NULL is last."""
    return tuple((value is None, 0 if value is None else value) for value in key)


def _column(columns: Sequence[Sequence[int]], times: Sequence[int], rows: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    plain = [[int(number) * factor for number in column] for column, factor in zip(columns, times, strict=True)]
    return tuple(plain[place][row] for place, row in rows)


def _scaled(noise: Additive, factor: int) -> Additive:
    return noise if factor == 1 else replace(noise, scale=noise.scale * factor)


def _widest(noises: Sequence[Additive]) -> Additive:
    return max(noises, key=lambda noise: noise.square)
