"""Components of a marginal of which nothing is known yet, measured without the others.

Guarantee: the sensitivity is proved, and what is measured tells of no component but those that are named. For a table x
over all combinations of attributes, N of them, and the projection P onto the components that are named
(:mod:`rewriter.strategies.residual_basis`), the integers N·P·x are measured, one for each cell:

- They are integers, since a component of whole numbers is a whole number of 1/N in each cell.
- A unit that moves x by v moves them by N·P·v. P is a projection, so that is at most N·‖v‖. It is also the sum of the
  columns of N·P, each as often as v has its cell, and all columns are equally long: at most Σ|v| times their length,
  with the square N · Σ P{n - 1 : T} over the components T. Of several statistics in each cell both hold for the
  vector of all of them.
- Noise of variance σ² in each cell tells each T as a table of x with noise σ/N does.

So at the same price the standard deviation of what is new is √(Σ P{(n - 1)/n : T} · P{1/n : the rest} over all T)
times that of the whole table, for units of one cell. That is the optimum for the cells of one marginal (Xiao and
others 2023).

>>> new = MissingComponents((2, 2), ((0, 1),))
>>> new.measured([5, 1, 2, 4], [(a, b) for a in "xy" for b in "xy"]), new.sensitivity(Sensitivity(1, 1))
([6, -6, -6, 6], Sensitivity(l1=None, l2_squared=4))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from rewriter.declared import Sensitivity
from rewriter.strategies.residual_basis import Attributes, Marginal, residual, steps_within, summed


@dataclass(frozen=True, slots=True)
class MissingComponents:
    """The components ``missing`` of a table whose keys have so many values each: by the places of its keys. With each
    of them all that it is a part of are missing."""

    sizes: tuple[int, ...]
    missing: tuple[Attributes, ...]

    @property
    def steps(self) -> int:
        """So many steps of what is measured are one."""
        return prod(self.sizes)

    @property
    def column_squared(self) -> int:
        """The square of the length of each column of N·P."""
        return self.steps * sum(prod(self.sizes[at] - 1 for at in part) for part in self.missing)

    def sensitivity(self, of: Sensitivity) -> Sensitivity:
        """How far a unit moves what is measured, that moves the cells by no more than ``of``."""
        squares = [self.steps**2 * of.l2_squared]
        if of.l1 is not None:
            squares.append(self.column_squared * of.l1**2)
        return Sensitivity(None, min(squares))

    def size(self, keys: Sequence[tuple[object, ...]]) -> int:
        """How many integers are measured of one statistic."""
        return len(keys)

    def measured(self, column: Sequence[int], keys: Sequence[tuple[object, ...]]) -> list[int]:
        """N·P·x, in the order of ``keys``. Raises ValueError where these are not all combinations, each once: then the
        sensitivity would be another."""
        numbers: list[dict[object, int]] = [{} for _ in self.sizes]
        places = []
        for key in keys:
            place = 0
            for value, size, known in zip(key, self.sizes, numbers, strict=True):
                place = place * size + known.setdefault(value, len(known))
            places.append(place)
        if [len(one) for one in numbers] != list(self.sizes) or sorted(places) != list(range(self.steps)):
            raise ValueError("components are of all combinations of values")
        cells = [0] * self.steps
        for place, number in zip(places, column, strict=True):
            cells[place] = int(number)
        every = tuple(range(len(self.sizes)))
        found = [0] * self.steps
        for part in self.missing:
            component = residual(self.sizes, summed(self.sizes, Marginal(every, tuple(cells)), part))
            steps = steps_within(self.sizes, every, part)
            for place in range(self.steps):
                found[place] += component[sum((place // by % size) * step for by, size, step in steps)]
        return [found[place] for place in places]
