"""Integers in place of estimates, such that a total is still the sum of its parts, at any magnitude.

By largest remainder (Hamilton's method): everything is rounded down, and the units that are missing go to the largest
fractions. Doubles are taken for the exact numbers that they are, and sums are of Python's integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpsql.inference.numeric.arrays import BoolArray, FloatArray, IntArray, checked_parents
from dpsql.inference.numeric.groupings import Grouping, bare, chain, nested

_BLOCKS = 20_000
"""Families of finest cells of which what others are short of is kept."""
_TRIED = 16
"""Finest cells for which another is sought, to give it a unit or to take one: in the worst sum, and anywhere."""
_MOST_WORK = 100_000_000
"""Comparisons of a finest cell with another in one grouping, about two seconds."""
_OWN = 1e-3
"""What it counts that a finest cell, which nobody sees, is far from its value, beside a sum that is shown."""
EXACT = 2.0**52
"""Below it, the sums of whole doubles are exact."""


def apportion(values: Sequence[float], total: int) -> list[int]:
    """Integers whose sum is ``total``, each within 1 of its value where the values' sum is within 1 of ``total``.

    None is negative where no value is and ``total`` is not. Where the values add up to something else, as sums of large
    doubles do, each value first takes a part of the difference in proportion to its size: that is how it came about.

    >>> apportion([0.5, 0.25, 0.25], 1), apportion([2.0**100, 0.0], 2**100 + 12345)
    ([1, 0, 0], [1267650600228229401496703217721, 0])
    >>> apportion([0.0, 0.0, 0.0], 7)
    [3, 2, 2]
    """
    numbers = [float(value) for value in values]
    if not all(map(math.isfinite, numbers)):
        raise ValueError("only finite numbers can be apportioned")
    if not numbers:
        if total:
            raise ValueError(f"no numbers cannot add up to {total}")
        return []
    whole = [math.floor(number) for number in numbers]
    missing = total - sum(whole)
    if 0 <= missing <= len(whole):
        order = sorted(range(len(whole)), key=lambda i: (whole[i] - numbers[i], -numbers[i]))
    else:
        whole, remainders = _in_proportion(numbers, total)
        missing = total - sum(whole)
        order = sorted(range(len(whole)), key=lambda i: -remainders[i])
    for place in order[:missing]:
        whole[place] += 1
    return whole


def _in_proportion(numbers: Sequence[float], total: int) -> tuple[list[int], list[int]]:
    """Values plus their parts of what is missing from ``total``, rounded down, and the remainders, in a common unit."""
    ratios = [number.as_integer_ratio() for number in numbers]
    unit = max(below for _, below in ratios)  # powers of two, all of them
    exact = [above * (unit // below) for above, below in ratios]
    sizes = [abs(number) for number in exact]
    size = sum(sizes)
    if not size:
        sizes, size = [1] * len(numbers), len(numbers)
    missing = total * unit - sum(exact)
    pairs = [divmod(number * size + missing * part, unit * size) for number, part in zip(exact, sizes, strict=True)]
    return [whole for whole, _ in pairs], [rest for _, rest in pairs]


def round_tree(parents: Sequence[IntArray], values: Sequence[FloatArray]) -> list[list[int]]:
    """Integers of which every node is still the sum of its children, from the roots down.

    Roots to the nearest; the children of a node apportion its integer, each within 1 of its value where the values add
    up. A node without children keeps what it has.

    >>> round_tree([[], [0, 0, 0]], [[1.0], [0.4, 0.3, 0.3]])
    [[1], [1, 0, 0]]
    """
    numbers = [np.asarray(level, dtype=np.float64) for level in values]
    sizes = [level.size for level in numbers]
    places = checked_parents(parents, sizes)
    if not all(np.isfinite(level).all() for level in numbers):
        raise ValueError("only finite numbers can be rounded")
    rounded = [[round(number) for number in numbers[0].tolist()]]
    for place, level in zip(places[1:], numbers[1:], strict=True):
        rounded.append(apportion_all(place, level, rounded[-1]))
    return rounded


def round_lattice(groupings: Sequence[IntArray], finest: FloatArray) -> list[int]:
    """Integers for the finest cells, for groupings that cross: the sums over every grouping are consistent, being sums.

    The sum of all is rounded to the nearest integer. Along a chain of groupings, taken greedily from the coarsest, sums
    are apportioned as in `round_tree`: each is near its value. So are the sums over the others: what they are short of
    so far counts as part of a remainder, as errors are diffused in halftones. Without it the largest of them would have
    the units of many small cells. At last units move between finest cells (:func:`_settled`) while that mends sums:
    each is within 1 of its value, or a little more, where groupings are few, and within 2 or 3 where dozens cross.
    Finest cells are near their values only where they are a grouping. None is negative where no value is.

    >>> round_lattice([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]], [0.25, 0.25, 0.25, 0.25])
    [1, 0, 0, 0]
    >>> round_lattice([[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1]], [0.6, 0.4, 0.6, 0.4, 0.6, 0.4])
    [1, 0, 1, 0, 0, 1]
    """
    cells = np.asarray(finest, dtype=np.float64)
    if any(len(grouping) != cells.size for grouping in groupings):
        raise ValueError("every grouping says where each finest cell is")
    levels: list[Grouping] = []
    crossing: list[Grouping] = []
    everybody = np.zeros(cells.size, dtype=np.int64)
    for grouping in sorted(map(_without_empty_cells, [everybody, *groupings]), key=lambda g: g.size):
        if cells.size:
            (levels if not levels or nested(grouping, levels[-1]) is not None else crossing).append(grouping)
    levels.append(bare(np.arange(cells.size), cells.size))
    line = chain(levels)
    if line is None:
        raise ValueError("groupings that nest are a chain")
    sums = [levels[place].sums(cells) for place in line.order]
    if crossing and len(levels) > 1 and line.order[-1] == len(levels) - 1 and levels[line.order[-2]].size <= _BLOCKS:
        *_, wholes = round_tree(line.parents[:-1], sums[:-1])
        rounded = _diffused(line.parents[-1], cells, wholes, crossing)
    else:
        rounded = round_tree(line.parents, sums)[line.order.index(len(levels) - 1)]
    return _settled([*levels[:-1], *crossing], cells, rounded) if crossing else rounded


def _diffused(families: IntArray, values: FloatArray, wholes: Sequence[int], crossing: Sequence[Grouping]) -> list[int]:
    """Integers whose sums over families are ``wholes``, and near those of ``values`` over each crossing grouping."""
    owed = [np.zeros(grouping.size) for grouping in crossing]
    result = [0] * values.size
    order = np.argsort(families, kind="stable")
    family, starts = np.unique(families[order], return_index=True)
    for which, members in zip(family.tolist(), np.split(order, starts[1:]), strict=True):
        numbers, whole = values[members], wholes[which]
        down = np.floor(numbers)
        missing = whole - int(down.sum())
        if 0 <= missing <= numbers.size and abs(whole) < EXACT:
            remainders = numbers - down
            short = sum((own[one.cells[members]] for own, one in zip(owed, crossing, strict=True)), remainders)
            first = np.argsort(np.where(remainders > 0, -short, np.inf), kind="stable")[:missing]
            down[first] += 1
            integers = [int(number) for number in down.tolist()]
        else:
            integers = apportion(numbers.tolist(), whole)
        wrong = numbers - np.array(integers, dtype=np.float64)
        for own, grouping in zip(owed, crossing, strict=True):
            np.add.at(own, grouping.cells[members], wrong)
        for place, integer in zip(members.tolist(), integers, strict=True):
            result[place] = integer
    return result


def _settled(groupings: Sequence[Grouping], values: FloatArray, integers: list[int]) -> list[int]:
    """The integers with units moved from one finest cell to another while sums over groupings come nearer to those of
    the values: first their squares fall, then their fourth powers, which the worst dominate.

    Finest cells count a little, so that none takes the units of many. No cell becomes negative if no value is; cells of
    nobody (0) get nothing. The work is bounded by a number of comparisons, never by time: equal sums, equal integers.
    """
    if not float(np.abs(values).sum()) < EXACT or max(map(abs, integers)) >= EXACT:
        return integers  # sums of doubles would not tell a unit
    ends = np.cumsum([grouping.size for grouping in groupings]).tolist()
    cells = np.stack([one.cells + end - one.size for one, end in zip(groupings, ends, strict=True)])
    numbers = np.array(integers, dtype=np.float64)
    off = np.concatenate([grouping.sums(numbers - values) for grouping in groupings])
    signed, nobody = bool((values < 0).any()), values == 0
    work = _MOST_WORK
    for power in (2, 4):
        while work > 0 and np.abs(off).max() > 0.5:
            change = tuple(((off + step) ** power - off**power)[cells] for step in (1, -1))
            own = _OWN * (numbers - values)
            costs = (change[0].sum(axis=0) + own, change[1].sum(axis=0) - own)
            closed = (nobody, np.zeros_like(nobody) if signed else numbers <= 0)
            worst = int(np.abs(off).argmax())
            of_worst = ~(cells == worst).any(axis=0)
            gives = int(off[worst] > 0)
            some = [(leaf, gives) for leaf in _least(costs[gives], closed[gives] | of_worst)]
            some += [(leaf, 1) for leaf in _least(costs[1], closed[1])]
            for leaf, gives in some:
                work -= cells.size
                both = np.where(cells != cells[:, leaf, None], change[1 - gives] + change[gives][:, leaf, None], 0.0)
                moved = both.sum(axis=0) + (own - own[leaf]) * (1 if gives else -1)
                moved[closed[1 - gives]] = np.inf
                other = int(moved.argmin())
                if moved[other] < -_OWN:
                    break
            else:
                break
            giver, taker = (leaf, other) if gives else (other, leaf)
            numbers[taker] += 1
            numbers[giver] -= 1
            off[cells[:, taker]] += 1
            off[cells[:, giver]] -= 1
    return [int(number) for number in numbers.tolist()]


def _least(costs: FloatArray, without: BoolArray) -> list[int]:
    """The finest cells of the least costs, the first first, without some."""
    order = np.argsort(np.where(without, np.inf, costs), kind="stable")[:_TRIED]
    return [leaf for leaf in order.tolist() if not without[leaf]]


def _without_empty_cells(grouping: IntArray) -> Grouping:
    """What is in no cell of it is in one more."""
    known, cells = np.unique(np.asarray(grouping, dtype=np.int64), return_inverse=True)
    return bare(cells, known.size)


def apportion_all(families: IntArray, values: FloatArray, wholes: Sequence[int]) -> list[int]:
    """Integers whose sums over families are ``wholes``, those of each family as :func:`apportion` has them.

    >>> apportion_all(np.array([0, 0, 1, 1]), np.array([0.5, 0.5, 2.75, 0.25]), [1, 3])
    [1, 0, 3, 0]
    """
    if not values.size:
        return []
    order = np.argsort(families, kind="stable")
    family, starts = np.unique(families[order], return_index=True)
    number = values[order]
    result = [0] * values.size
    if float(np.abs(values).sum()) < EXACT and max(map(abs, wholes)) < EXACT:
        integers, wrong = _at_once(number, starts, np.array([wholes[place] for place in family.tolist()]))
        for place, integer in zip(order.tolist(), integers.tolist(), strict=True):
            result[place] = integer
    else:
        wrong = np.arange(family.size)
    ends = [*starts[1:].tolist(), values.size]
    for which in wrong.tolist():
        members = slice(int(starts[which]), ends[which])
        whole = wholes[family[which]]
        for place, integer in zip(order[members].tolist(), apportion(number[members].tolist(), whole), strict=True):
            result[place] = integer
    return result


def _at_once(number: FloatArray, starts: IntArray, wholes: IntArray) -> tuple[IntArray, IntArray]:
    """Families of consecutive numbers apportioned, and the families in which plain remainders do not suffice."""
    down = np.floor(number)
    counts = np.diff(np.append(starts, number.size))
    missing = wholes - np.add.reduceat(down, starts).astype(np.int64)
    families = np.repeat(np.arange(starts.size), counts)
    order = np.lexsort((-number, down - number, families))
    first = order[np.arange(number.size) - np.repeat(starts, counts) < np.repeat(missing, counts)]
    integers = down.astype(np.int64)
    integers[first] += 1
    return integers, np.flatnonzero((missing < 0) | (missing > counts))
