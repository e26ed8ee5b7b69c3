"""Releases with several FILTERs, such as pivot tables, made of what was bought together: each FILTER by itself.

Guarantee: post-processing, as :mod:`dpsql.reuse.tiles`. Tiles of two FILTERs have the noise of the same cells. Where a
number of the answer may be made of several of them, each of k tiles has k times its variance
(:class:`dpsql.reuse.tiles.Combines`), so that no weighted sum has more than if all were independent: the variance of X₁
+ … + Xₖ is at most k times the sum of theirs (Cauchy and Schwarz).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpsql.calibrate import CalibratedBlock, Calibration
from dpsql.inference.consistency import DerivedTable
from dpsql.releases import Additive, NoisyTable
from dpsql.reuse.derive import Made
from dpsql.reuse.readings import are_alike, renamed
from dpsql.reuse.tiles import Tile
from rewriter.plan import Part, Plan


def of_each_condition(wanted: Calibration, tiles: Sequence[tuple[Tile, Sequence[int]]]) -> Tile | None:
    """One release of tiles of the same groups, each with the places of its outputs among those that are wanted; None
    where an output is no sum, mean or moment of the same values."""
    plans: list[tuple[Plan, Sequence[int]]] = []
    statistics: dict[str, Sequence[int]] = {}
    noise: dict[str, Additive] = {}
    measured: list[CalibratedBlock] = []
    for number, (one, places) in enumerate(tiles):
        names = {name: f"f{number}_{name}" for name in one.made.table.statistics}
        plan = renamed(one.made.plan, names)
        if plan is None:
            return None
        plans.append((plan, places))
        statistics |= {names[name]: column for name, column in one.made.table.statistics.items()}
        noise |= {names[name]: law for name, law in one.made.table.noise.items()}
        pairs = zip(one.wanted.measured, plan.blocks, strict=True)
        measured += [replace(before, block=block) for before, block in pairs]
    whole = _joined(wanted.plan, plans)
    derived = [one.made.derived for one, _ in tiles]
    if whole is None or any(one is None or one.shrunk is None for one in derived):
        return None
    known = [one for one in derived if one is not None]
    shown = [one.columns for one in known if one.columns is not None]
    agree = len(shown) == len(known)
    first = tiles[0][0]
    together = DerivedTable(
        [column for one in shown for column in one] if agree else None,
        [far for one in known for far in one.lifted] if agree else [],
        np.max([one.shrunk for one in known if one.shrunk is not None], axis=0),
        whole,
        (),
        None,
        known[0].purchase,
    )
    table = NoisyTable(first.groups, statistics, noise)
    with_noise = replace(wanted, plan=whole, measured=tuple(measured))
    of_all_rows = any(one.of_all_rows for one, _ in tiles)
    return Tile(with_noise, first.numbers, Made(whole, table, together), first.groups, of_all_rows)


def _joined(plan: Plan, plans: Sequence[tuple[Plan, Sequence[int]]]) -> Plan | None:
    """The plan with its outputs as these plans have them; None where they are of other values."""
    outputs = list(plan.outputs)
    parts: list[Part] = []
    for one, places in plans:
        for place, output in zip(places, one.outputs, strict=True):
            asked = outputs[place]
            if asked.type != output.type or not are_alike(asked.estimator, output.estimator):
                return None
            at = tuple(len(parts) + part for part in output.parts)
            outputs[place] = replace(asked, estimator=output.estimator, parts=at)
        parts += one.parts
    blocks = tuple(block for one, _ in plans for block in one.blocks)
    notes = tuple(dict.fromkeys(note for one, _ in plans for note in one.notes))
    return replace(plan, blocks=blocks, outputs=tuple(outputs), parts=tuple(parts), orders=(), notes=notes)
