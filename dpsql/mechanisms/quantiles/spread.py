"""How densely values lie around quantiles that were picked together: for each, how far away some rows are on each side.

**Distance.** Let v₁ ≤ … ≤ v_m be parts that were picked (:mod:`dpsql.mechanisms.quantiles.several`). The values
between two of them are halved, the lower half belongs to the lower one. For each side of each, there is a public list
of distances h₀ < h₁ < …, and C(h) is the weight between the part and h away from it. One is looked for with C(hᵢ₋₁) ≤
a ≤ C(hᵢ), a a public number: the score of hᵢ is how far a is from that, at most 2a; the last is as if all weight were
within it, so that it is picked where there is not enough. A row is on one side of one part, or within a value
one part of it on each, so it moves the sum E of the scores of all sides by at most its weight. So it does the least of
E and any number that it moves by at most its weight: what is scored is min(E, G), where G = max(W - 3a - D(v), 0), W
the choice's window and D the distance of the vector.

**Claim.** Picking distances with probability ∝ exp(-ε·min(E, G)/2S) is ε·s/S-DP and (ε·s/S)²/8-zCDP, for all sides of
all quantiles together.

Why G: where D(v) is below W - 3a, the engine tells of all rows that weigh 3a or less away, and where it is not, there
is nothing to know. Elsewhere it is far above E.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from dpsql.mechanisms.quantiles.one import TooFar
from dpsql.mechanisms.quantiles.several import Joint, LatticePart
from dpsql.mechanisms.sampling import Product, Sampler
from dpsql.releases import Rank

SHARE = Fraction(1, 2)
"""The ε of all sides together against that of the quantiles."""

_AWAY = 5
"""The weight that is looked for, in exponents of a row's."""
_LEAST = 3
_FARTHEST = 2
"""A distance with more than so many times too much weight is as bad as one with so much."""
"""Where a side has no room for so many, nothing is told of it."""

Ends = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Around:
    """Picks what is below and above each of the quantiles of a joint pick. Raises :class:`TooFar`."""

    joint: Joint

    def __post_init__(self) -> None:
        if self.joint.choice.window < 2 * (len(self.joint.fractions) + 2) * self._most:
            raise TooFar("the price is too low for the density of values")

    @property
    def rate(self) -> Fraction:
        """The exponent of one step of weight."""
        return self.joint.rate * SHARE

    @property
    def _most(self) -> int:
        return ceil(_AWAY / self.rate)

    def weights(self, total: int) -> tuple[tuple[int | None, int | None], ...]:
        """How much is looked for below and above each quantile, where the group has a noisy weight; None for nothing.

        Three quarters of what lies there in the mean, at most.
        """
        targets = [q * total for q in self.joint.fractions]
        last = len(targets) - 1
        found = []
        for place, target in enumerate(targets):
            below = target if not place else (target - targets[place - 1]) / 2
            above = total - target if place == last else (targets[place + 1] - target) / 2
            found.append((self._wanted(below), self._wanted(above)))
        return tuple(found)

    def _wanted(self, room: Fraction) -> int | None:
        room = room * 3 / 4
        return min(self._most, int(room)) if room * self.rate >= _LEAST else None

    def pick(
        self, ranks: Sequence[Rank], total: int, parts: Sequence[LatticePart], sampler: Sampler
    ) -> tuple[Ends, ...]:
        """A lattice value below and above each part. Releasable, where the total and the parts are."""
        measured = self._sides(parts, total)
        product = self.product(ranks, total, parts)
        places = iter(sampler.draw(product) if product.tables else ())
        found: list[Ends] = []
        for part, pair in zip(parts, measured, strict=True):
            down, up = (None if side is None else side[1][next(places)] for side in pair)
            found.append((None if down is None else part.value - down, None if up is None else part.value + up))
        return tuple(found)

    def product(self, ranks: Sequence[Rank], total: int, parts: Sequence[LatticePart]) -> Product:
        """The scores of all distances of all sides."""
        chain = self.joint.chain(ranks, total)
        scale = int(self.joint.rate / chain.rate)
        tables: list[list[int]] = []
        most = 0
        for part, pair in zip(parts, self._sides(parts, total), strict=True):
            here = chain.positions.at(part.value, part.part)
            for side, sign in zip(pair, (-1, 1), strict=True):
                if side is None:
                    continue
                wanted, most = side[0] * scale, max(most, side[0] * scale)
                edges = [chain.positions.edge(part.value + sign * far, up=sign > 0) for far in side[1]]
                upto = [None if here is None or edge is None else abs(edge - here) for edge in edges]
                upto[-1] = None
                tables.append([_score(*pair, wanted) for pair in zip([0, *upto], upto, strict=False)])
        # Not the pick's cap: beyond that, too, what the engine tells ends where the window does.
        window = self.joint.choice.window * scale
        away = replace(chain, cap=window).distance([(part.value, part.part) for part in parts])
        cap = max(window - (1 + _FARTHEST) * most - away, 0)
        return Product(tuple(tables), self.rate / scale, cap)

    def _sides(self, parts: Sequence[LatticePart], total: int) -> list[tuple[tuple[int, list[int]] | None, ...]]:
        """Of each side of each part, the weight that is looked for and the distances; None where there is no side."""
        choice = self.joint.choice
        found = []
        for place, (part, wanted) in enumerate(zip(parts, self.weights(total), strict=True)):
            before = parts[place - 1].value if place else None
            after = parts[place + 1].value if place + 1 < len(parts) else None
            below = part.value - choice.low if before is None else (part.value - before) // 2
            above = choice.high - part.value if after is None else (after - part.value - 1) // 2
            sides = []
            for weight, room, other in zip(wanted, (below, above), (before, after), strict=True):
                none = weight is None or other == part.value
                sides.append(None if none or weight is None else (weight, _distances(room)))
            found.append(tuple(sides))
        return found


def _score(before: int | None, upto: int | None, wanted: int) -> int:
    """How far the wanted weight is from lying between two weights; one that is not known is far above it."""
    if before is None:
        return _FARTHEST * wanted
    return min(max(before - wanted, 0 if upto is None else wanted - upto, 0), _FARTHEST * wanted)


def _distances(room: int) -> list[int]:
    """From none to all of the room, each a fifth more than the one before.

    >>> _distances(20)
    [0, 1, 2, 3, 4, 5, 6, 8, 9, 11, 13, 16, 19, 20]
    """
    found, power = {0, room}, 0
    while (far := int(2 ** (power / 4))) < room:
        found.add(far)
        power += 1
    return sorted(found)
