"""How much agreement lowers the noise of a statement's measurements, before any of them is read.

Guarantee: text, policy and noise alone. The factor is that of generalised least squares, in closed form: measurements
of all combinations of their keys split into orthogonal components, and the information on a component adds up over
the measurements that have it (:mod:`rewriter.strategies.residual_basis`). Nothing is foretold to fall where a key may
have undeclared values, or where groups are not all combinations.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from dpsql.calibrate import Calibration
from dpsql.inference.consistency import joins_in
from dpsql.inference.intervals import variance
from rewriter.front_door import Attributes, Family, cell_variance, within
from rewriter.plan import Part

Sizes = Sequence[Fraction]

_FACTORS = 256
"""Factors are rounded up to parts of this, as those of an answer are."""


def agreeing(
    calibrations: Sequence[Calibration],
    families: Sequence[Family],
    derived: Collection[str] = (),
    apart: Collection[str] = (),
) -> tuple[Calibration, ...]:
    """The calibrations with the factors by which agreement lowers their noise. By the identities of their plans, those
    ``derived`` are made of earlier releases and say nothing themselves, and a family with one of ``apart`` is left."""
    found = list(calibrations)
    for family in families:
        if family.beside is not None or any(found[at].plan.identity in apart for at in family.measurements):
            continue
        alike: dict[str, list[tuple[int, Attributes]]] = {}
        for place, keys in zip(family.measurements, family.keys, strict=True):
            if joins_in(found[place].plan):
                alike.setdefault(found[place].plan.sums, []).append((place, tuple(sorted(keys))))
        for members in alike.values():
            for place, factor in _factors(calibrations, members, derived).items():
                found[place] = replace(found[place], agreement=Fraction(math.ceil(factor * _FACTORS), _FACTORS))
    return tuple(found)


def _factors(
    calibrations: Sequence[Calibration], members: Sequence[tuple[int, Attributes]], derived: Collection[str]
) -> Mapping[int, float]:
    """The factor of each measurement, by its place; none where there is only one, or no closed form."""
    plans = {place: calibrations[place].plan for place, _ in members}
    distinct = {plans[place].identity: (place, keys) for place, keys in reversed(members)}
    closed = all(plan.exhaustive or all(key.closed for key in plan.keys) for plan in plans.values())
    cells = [(keys, plans[place].cells) for place, keys in distinct.values()]
    if len(distinct) < 2 or not closed:
        return {}
    attributes = attributes_of([(keys, count) for keys, count in cells if count is not None])
    if attributes is None or len(attributes[1]) < len(distinct):
        return {}
    sizes, places = attributes
    factors = dict.fromkeys(distinct, 0.0)
    for parts in zip(*(plans[place].parts for place, _ in distinct.values()), strict=False):
        measured = {
            identity: (some, _variance(calibrations[place], part))
            for (identity, (place, _)), some, part in zip(distinct.items(), places, parts, strict=True)
        }
        known = components(
            sizes, [(some, math.inf if one in derived else own) for one, (some, own) in measured.items()]
        )
        for identity, (some, own) in measured.items():
            left = cell_variance(sizes, some, known)
            factors[identity] = max(factors[identity], min(1.0, math.sqrt(left / own) if own else 1.0))
    return {place: factors[plans[place].identity] or 1.0 for place, _ in members}


def _variance(calibration: Calibration, part: Part) -> float:
    weights: dict[str, Fraction] = {}
    for name, weight in part.estimator.terms:
        weights[name] = weights.get(name, Fraction(0)) + weight
    noise = calibration.noise
    return sum(float(weight) ** 2 * variance(noise[name]) for name, weight in weights.items())


def attributes_of(cells: Sequence[tuple[Attributes, int]]) -> tuple[list[Fraction], list[Attributes]] | None:
    """The number of values of each attribute, and the attributes of each measurement, from its keys and its number of
    groups. Keys that always stand together are one attribute. None if groups are not all combinations of values.

    The groups of a chain, each measurement a coarsening of the next, need not be combinations: a month has its year,
    and a year the mean number of months.

    >>> attributes_of([((), 1), ((0,), 4), ((0, 1), 12)])
    ([Fraction(4, 1), Fraction(3, 1)], [(), (0,), (0, 1)])
    >>> attributes_of([((0,), 3), ((1,), 36), ((0, 1), 36)]) is None
    True
    """
    where: dict[int, frozenset[int]] = {}
    for at, (keys, _) in enumerate(cells):
        for key in keys:
            where[key] = where.get(key, frozenset()) | {at}
    kinds = list(dict.fromkeys(where.values()))
    places = [tuple(number for number, kind in enumerate(kinds) if at in kind) for at in range(len(cells))]
    sizes: dict[int, Fraction] = {}
    pending = sorted(range(len(cells)), key=lambda at: len(places[at]))
    while pending:
        solvable = [at for at in pending if sum(one not in sizes for one in places[at]) <= 1]
        if not solvable:
            return None
        pending.remove(at := solvable[0])
        count = Fraction(cells[at][1])
        new = [one for one in places[at] if one not in sizes]
        told = count / math.prod((sizes[one] for one in places[at] if one in sizes), start=Fraction(1))
        if told < 1 or (not new and told != 1):
            return None
        sizes |= dict.fromkeys(new, told)
    along = sorted(places, key=len)
    chain = all(set(one) <= set(other) for one, other in pairwise(along))
    if not chain and any(size.denominator != 1 for size in sizes.values()):
        return None
    return [sizes[number] for number in range(len(kinds))], places


def components(sizes: Sizes, measured: Sequence[tuple[Attributes, float]]) -> dict[Attributes, float]:
    """The variance of each component, from the attributes of each measurement and the variance of one of its groups.

    >>> found = components([Fraction(2)], [((0,), 1.0), ((), 2.0)])
    >>> found[()], cell_variance([2], (0,), found)
    (1.0, 0.75)
    """
    information: dict[Attributes, float] = {}
    for attributes, spread in measured:
        for part in within(attributes):
            of_rest = math.prod((sizes[one] for one in attributes if one not in part), start=Fraction(1))
            told = 1 / (spread * float(of_rest)) if spread else math.inf
            information[part] = information.get(part, 0.0) + told
    return {part: 1 / told if told else math.inf for part, told in information.items()}
