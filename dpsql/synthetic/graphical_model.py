"""A graphical model of marginals, and rows that are drawn from it. Needs ``mbi``, which needs JAX.

Guarantee: rows follow from released counts alone: a model of them shows nothing that they do not.

A model of :func:`draw` keeps pairs of columns that depend on each other by more than noise and chance explain, those
that depend most first, as long as it stays small (the score of MWEM and AIM, McKenna and others 2022, here of numbers
that were released before: choosing costs nothing). A :class:`GraphicalModel` says where it is wrong, round by round,
and has counts by up to three columns. Both are the distribution of most entropy near the counts (McKenna and others
2019).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import pi, sqrt
from typing import Any

import numpy as np

from dpsql.synthetic.marginals import ReleasedCounts, best

os.environ.setdefault("JAX_ENABLE_X64", "true")
os.environ.setdefault("JAX_ENABLE_COMPILATION_CACHE", "false")

from mbi import Domain, LinearMeasurement, MarkovRandomField, estimation, junction_tree, marginal_oracles

_MEGABYTES = 2.0
"""The size of a model that is fitted within a minute."""
_STEPS = 1_000
_STEPS_OF_A_ROUND = 150


def draw(cells: Mapping[str, int], measured: Sequence[ReleasedCounts], rows: int | None) -> dict[str, np.ndarray]:
    """Rows of a model fitted to marginals, as cells of each attribute (:data:`dpsql.synthetic.Draw`)."""
    domain = Domain(tuple(cells), tuple(cells.values()))
    single = {name: best(measured, (name,)) for name in cells}
    pairs = _kept(domain, single, [one for one in measured if len(one.names) == 2])
    # A column of a pair that is left out is known by that pair, too.
    used = [*single.values(), *pairs]
    weighed = [LinearMeasurement(one.numbers.ravel(), one.names, one.deviation) for one in used]
    total = max(_total([*single.values()]), 1)
    model = estimation.MirrorDescent().estimate(domain, weighed, known_total=float(total), iters=_STEPS)
    return _rows(model, total if rows is None else rows)


def _rows(model: MarkovRandomField, rows: int) -> dict[str, np.ndarray]:
    made = model.synthetic_data(rows=rows)
    return {name: np.asarray(made.data[name], dtype=int) for name in model.domain.attributes}


class GraphicalModel:
    """A model that grows round by round (:class:`dpsql.synthetic.AdaptiveModel`), and draws rows."""

    def __init__(self, cells: Mapping[str, int]) -> None:
        self._domain = Domain(tuple(cells), tuple(cells.values()))
        self._cliques: list[tuple[str, ...]] = []
        self._model: MarkovRandomField | None = None
        self._conditionals: Conditionals | None = None

    def fit(self, measured: Sequence[ReleasedCounts]) -> None:
        self._fit(measured, _STEPS_OF_A_ROUND)

    def _fit(self, measured: Sequence[ReleasedCounts], steps: int) -> MarkovRandomField:
        self._cliques = list(dict.fromkeys(one.names for one in measured))
        used = [_added(measured, names) for names in self._cliques]
        weighed = [LinearMeasurement(one.numbers.ravel(), one.names, one.deviation) for one in used]
        total = max(_total([best(measured, (name,)) for name in self._domain.attributes]), 1)
        found = estimation.MirrorDescent().estimate(
            self._domain,
            weighed,
            known_total=float(total),
            iters=steps,
            warm_start=None if self._model is None else self._model.potentials,
        )
        self._model, self._conditionals = found, Conditionals.of(found)
        return found

    def fits(self, names: Sequence[str], part: Fraction) -> bool:
        if any(set(names) <= set(clique) for clique in self._cliques):
            return True
        size = junction_tree.hypothetical_model_size(self._domain, [*self._cliques, tuple(names)])
        return len(names) == 1 or bool(size <= _MEGABYTES * part)

    def predicted(self, names: Sequence[str]) -> np.ndarray:
        if self._conditionals is None:
            raise AssertionError("a model is fitted before it is asked")
        return self._conditionals.by(names)

    def rows(self, measured: Sequence[ReleasedCounts], rows: int | None) -> dict[str, np.ndarray]:
        model = self._fit(measured, _STEPS)
        return _rows(model, round(float(model.total)) if rows is None else rows)


def _added(measured: Sequence[ReleasedCounts], names: tuple[str, ...]) -> ReleasedCounts:
    """One table of counts that were measured several times."""
    return best([one for one in measured if one.names == names], names)


@dataclass(frozen=True, slots=True)
class Conditionals:
    """A model as a product of conditional probabilities, each of the names that are new in it given those before it:
    counts by any attributes are sums of it. Numbers stay within 0 and 1, so no sum overflows."""

    parts: tuple[tuple[np.ndarray, tuple[str, ...], frozenset[str]], ...]
    total: float

    @classmethod
    def of(cls, model: MarkovRandomField) -> Conditionals:
        tree, _ = junction_tree.make_junction_tree(model.domain, [tuple(one) for one in model.cliques])
        marginals = marginal_oracles.message_passing_stable(model.potentials.expand(list(tree.nodes)), 1.0)
        parts: list[tuple[np.ndarray, tuple[str, ...], frozenset[str]]] = []
        seen: set[str] = set()
        for clique in _in_order(tree):
            factor = marginals.project(clique)
            joint, names = np.asarray(factor.datavector(flatten=False)), tuple(factor.domain.attributes)
            new = frozenset(names) - seen
            before = joint.sum(axis=tuple(at for at, name in enumerate(names) if name in new), keepdims=True)
            parts.append((np.divide(joint, before, out=np.zeros_like(joint), where=before > 0), names, new))
            seen |= new
        return cls(tuple(parts), float(model.total))

    def by(self, names: Sequence[str]) -> np.ndarray:
        """The counts by some attributes. A part that no asked name depends on sums to 1."""
        letters: dict[str, int] = {}
        needed = set(names)
        operands: list[object] = []
        for numbers, own, new in reversed(self.parts):
            if new & needed:
                needed |= set(own)
                operands += [numbers, [letters.setdefault(name, len(letters)) for name in own]]
        found = np.einsum(*operands, [letters[name] for name in names], optimize="greedy")  # type: ignore[call-overload]
        return np.asarray(found * self.total)


def _in_order(tree: Any) -> list[tuple[str, ...]]:
    """The cliques of a junction tree, each after its parent."""
    left, found = set(tree.nodes), list[tuple[str, ...]]()
    while left:
        line = [min(left)]
        while line:
            clique = line.pop()
            left.discard(clique)
            found.append(clique)
            line += [one for one in tree.neighbors(clique) if one in left and one not in line]
    return found


def _total(single: Sequence[ReleasedCounts]) -> int:
    """The number of rows, from counts by each column: weighted so that its variance is least."""
    totals = [one.by(()) for one in single]
    weights = [one.deviation**-2 for one in totals]
    return round(sum(float(one.numbers) * weight for one, weight in zip(totals, weights, strict=True)) / sum(weights))


def _kept(
    domain: Domain, single: Mapping[str, ReleasedCounts], pairs: Sequence[ReleasedCounts]
) -> list[ReleasedCounts]:
    scored = sorted(((_score(one, single), place) for place, one in enumerate(pairs)), reverse=True)
    kept: list[ReleasedCounts] = []
    for score, place in scored:
        names = [*((name,) for name in single), *(one.names for one in kept), pairs[place].names]
        if score > 0 and junction_tree.hypothetical_model_size(domain, names) <= _MEGABYTES:
            kept.append(pairs[place])
    return kept


def _score(pair: ReleasedCounts, single: Mapping[str, ReleasedCounts]) -> float:
    """How far the pair's counts are from those of columns that do not depend on each other, beyond what noise and the
    chance of who is in the table explain."""
    first, second = (np.maximum(single[name].numbers, 0) for name in pair.names)
    apart = np.outer(first, second) / max(float(first.sum()), 1.0)
    chance = np.sqrt(pair.deviation**2 + apart)
    return float(np.abs(pair.numbers - apart).sum() - sqrt(2 / pi) * chance.sum())
