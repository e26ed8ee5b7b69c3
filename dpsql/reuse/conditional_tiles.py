"""Releases with FILTERs, such as pivot tables and shares, made of what was bought together: each FILTER by itself.

Guarantee: post-processing, as :mod:`dpsql.reuse.tiles`. Tiles of two FILTERs have the noise of the same cells. Where a
number of the answer may be made of several of them, each of k tiles has k times its variance
(:class:`dpsql.reuse.tiles.Combines`), so that no weighted sum has more than if all were independent: the variance of X₁
+ … + Xₖ is at most k times the sum of theirs (Cauchy and Schwarz).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

import numpy as np

from dpsql.calibrate import CalibratedBlock, Calibration
from dpsql.inference.consistency import DerivedTable
from dpsql.inference.estimates import Column
from dpsql.inference.numeric import FloatArray
from dpsql.releases import Additive, NoisyTable
from dpsql.reuse.derive import Made
from dpsql.reuse.readings import are_alike, renamed
from dpsql.reuse.tiles import Combines, Tile
from rewriter.plan import AddedTo, Linear, Output, Part, Plan, PlanApart, Ratio, Terms, made_of


def of_several(apart: Sequence[PlanApart], combines: Combines) -> Combines:
    """What the numbers of an answer are made of, where its outputs are made of these plans."""
    many = [place for one in apart for some in one.uses for place in {use.place for use in some}]
    several = combines is Combines.NOTHING and len(set(many)) < len(many)
    return Combines.OUTPUTS if several else combines


def of_each_condition(wanted: Calibration, tiles: Sequence[tuple[Tile, PlanApart]]) -> Tile | None:
    """One release of tiles of the same groups, each with how the outputs that are wanted are made of it; None where one
    is no such sum."""
    made: list[tuple[Plan, Sequence[Sequence[AddedTo]]]] = []
    statistics: dict[str, Sequence[int]] = {}
    noise: dict[str, Additive] = {}
    measured: list[CalibratedBlock] = []
    for number, (tile, apart) in enumerate(tiles):
        names = {name: f"f{number}_{name}" for name in tile.made.table.statistics}
        plan = renamed(tile.made.plan, names)
        if plan is None:
            return None
        made.append((plan, apart.uses))
        statistics |= {names[name]: column for name, column in tile.made.table.statistics.items()}
        noise |= {names[name]: law for name, law in tile.made.table.noise.items()}
        pairs = zip(tile.wanted.measured, plan.blocks, strict=True)
        measured += [replace(before, block=block) for before, block in pairs]
    derived = [tile.made.derived for tile, _ in tiles]
    known = [one for one in derived if one is not None and one.shrunk is not None]
    shown = [one.columns for one in known if one.columns is not None]
    agree = len(shown) == len(known)
    whole = _Joined.of(
        wanted.plan,
        made,
        [column for one in shown for column in one] if agree else None,
        [far for one in known for far in one.lifted] if agree else [],
    )
    if whole is None or len(known) < len(tiles):
        return None
    first = tiles[0][0]
    farthest = np.max([one.shrunk for one in known if one.shrunk is not None], axis=0)
    together = DerivedTable(whole.columns, whole.lifted, farthest, whole.plan, (), None, known[0].purchase)
    table = NoisyTable(first.groups, statistics, noise)
    with_noise = replace(wanted, plan=whole.plan, measured=tuple(measured))
    of_all_rows = any(tile.of_all_rows for tile, _ in tiles)
    return Tile(with_noise, first.numbers, Made(whole.plan, table, together), first.groups, of_all_rows)


@dataclass(frozen=True, slots=True)
class _Joined:
    """A plan over the statistics of several, with the finished columns of its parts, where there are some, and how far
    these were lifted."""

    plan: Plan
    columns: list[Column] | None
    lifted: list[FloatArray]

    @classmethod
    def of(
        cls,
        plan: Plan,
        made: Sequence[tuple[Plan, Sequence[Sequence[AddedTo]]]],
        columns: list[Column] | None,
        lifted: list[FloatArray],
    ) -> _Joined | None:
        """The plan with its outputs as these plans have them; None where they are of other values."""
        parts: list[Part] = []
        sources: dict[int, list[tuple[AddedTo, Output]]] = {}
        for one, uses in made:
            for output, some in zip(one.outputs, uses, strict=True):
                at = tuple(len(parts) + part for part in output.parts)
                for use in some:
                    sources.setdefault(use.place, []).append((use, replace(output, parts=at)))
            parts += one.parts
        found = cls(plan, columns, lifted)
        outputs = []
        for place, asked in enumerate(plan.outputs):
            joined = found._output(asked, sources[place], parts)
            if joined is None:
                return None
            outputs.append(joined)
        blocks = tuple(block for one, _ in made for block in one.blocks)
        notes = tuple(dict.fromkeys(note for one, _ in made for note in one.notes))
        whole = replace(plan, blocks=blocks, outputs=tuple(outputs), parts=tuple(parts), orders=(), notes=notes)
        return replace(found, plan=whole)

    def _output(self, asked: Output, sources: Sequence[tuple[AddedTo, Output]], parts: list[Part]) -> Output | None:
        """An output as it is made of others, of which one by itself is taken as it is; a sum has a part of its own."""
        (use, only), several = sources[0], len(sources) > 1
        if not several and use == AddedTo(use.place):
            alike = asked.type == only.type and are_alike(asked.estimator, only.estimator)
            return replace(asked, estimator=only.estimator, parts=only.parts) if alike else None
        sums = [(one, output.estimator.as_sum) for one, output in sources]
        known = [(one, total.terms) for one, total in sums if total is not None]
        if len(known) < len(sums):
            return None
        total = _added([(one.weight, terms) for one, terms in known])
        if isinstance(asked.estimator, Ratio):
            mean, rows = asked.estimator, _added([(Fraction(one.rows), terms) for one, terms in known])
            width = mean.high - mean.low
            above = _added([(1 / width, total), (-mean.low / width, rows)])
            return replace(
                asked, estimator=replace(mean, above=above, below=_added([(1, rows), (-1, above)])), parts=()
            )
        if not isinstance(asked.estimator, Linear) or len(asked.parts) != 1:
            return None
        own = self.plan.parts[asked.parts[0]]
        weights = [(one.weight * parts[at].unit / own.unit, at) for one, output in sources for at in output.parts]
        if any(weight.denominator > 1 for weight, _ in weights):
            return None
        if self.columns is not None:
            self.columns.append(_column(weights, self.columns))
            if self.lifted:
                self.lifted.append(reduce(np.add, (float(weight) * self.lifted[at] for weight, at in weights)))
        parts.append(replace(own, estimator=replace(own.estimator, terms=total)))
        return replace(asked, estimator=replace(asked.estimator, terms=total), parts=(len(parts) - 1,))


def _added(sums: Sequence[tuple[Fraction | int, Terms]]) -> Terms:
    """A weighted sum of weighted sums.

    >>> _added([(2, (("n", Fraction(1)),)), (-1, (("n", Fraction(1)), ("m", Fraction(3))))])
    (('n', Fraction(1, 1)), ('m', Fraction(-3, 1)))
    """
    known = {str(place): terms for place, (_, terms) in enumerate(sums)}
    return made_of(tuple((name, Fraction(weight)) for name, (weight, _) in zip(known, sums, strict=True)), known)


def _column(weights: Sequence[tuple[Fraction, int]], columns: Sequence[Column]) -> Column:
    """Finished numbers in their own unit, which those that they are sums of are multiples of."""
    rows = zip(*(columns[at] for _, at in weights), strict=True)
    return [int(sum(weight * int(number) for (weight, _), number in zip(weights, row, strict=True))) for row in rows]
