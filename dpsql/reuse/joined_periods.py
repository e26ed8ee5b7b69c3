"""The tables of the periods of a series as one table. Post-processing of released numbers.

Each period's cells have the noise that was paid for them; some may have less, where more was paid once. The table says
the widest of each statistic: an error bar may be wider than need be, and never narrower.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from dpsql.releases import Additive, Key, NoisyTable
from dpsql.reuse.derive import Made, refined
from rewriter.plan import Plan


def joined(whole: Plan, parts: Sequence[Made]) -> Made:
    """All groups of a series, in the order of their keys. A part may be on a lattice that is finer than planned."""
    steps = [{one.name: one.granularity for one in part.plan.statistics} for part in parts]
    factors = {one.name: [int(one.granularity / own[one.name]) for own in steps] for one in whole.statistics}
    finest = {name: math.lcm(*some) for name, some in factors.items()}
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
    noise = {
        name: _widest(
            [
                _scaled(part.table.noise[name], finest[name] // factor)
                for part, factor in zip(parts, factors[name], strict=True)
            ]
        )
        for name in finest
    }
    return Made(refined(whole, finest), NoisyTable(keys, statistics, noise))


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
