"""How conditional counts (and sums) over the same rows are measured: the linear queries with the least predicted noise.

A *workload* is a 0-1 matrix W: row i is an output, column j an atom, a combination of conditions that rows can
satisfy. A *strategy* is an integer matrix A, its rows the cells that are measured, and rational weights E with E·A = W
exactly, so that the outputs are unbiased whatever was rounded on the way to A. One row moves the cells by one column of
A. With noise for the largest column, the total variance of the outputs is Δ²·ΣE², times a factor of the noise alone; Δ
is the L1 norm for Laplace, the L2 norm for Gaussian noise.

The candidates (Li, Miklau, Hay, McGregor, Rastogi 2015, the matrix mechanism):

- *direct*: the outputs themselves, A = W.
- *atoms*: each combination alone, A = 1.
- *total*: T, the rows that any condition holds for, and 2·count - T for every other output: no cell moves more than 1.
- *weighted*: AᵀA near the optimum for Gaussian noise; the eigen design (Li, Miklau 2012) is its first step.
- *prefix*: for many nested conditions, the square root of W, a Toeplitz matrix with r(k) = C(2k, k)/4ᵏ, with columns of
  one length (Fichtenberger, Henzinger, Upadhyay 2023).

>>> four = ((1, 1, 0, 0), (0, 1, 0, 0), (0, 0, 1, 1), (0, 0, 0, 1))
>>> [(norm.value, choose(four, norm).name, round(choose(four, norm).variance, 2)) for norm in Norm]
[('l1', 'atoms', 6.0), ('l2', 'weighted', 5.24)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice, pairwise
from math import lcm, sqrt

from rewriter.declared import Norm
from rewriter.strategies.matrices import Matrix, cholesky, dot, inverse_of_lower, product, square_root, transposed

Row = tuple[int, ...]
Weights = tuple[tuple[Fraction, ...], ...]

STEPS = 1 << 10
"""Steps of the lattice that one row moves the cells of a weighted strategy by, about."""

MOST_WEIGHTED = 20
MOST_PREFIX = 32
_LONG = 12
"""Of more nested outputs, the prefix strategy is a third of the work and worse by 3 %."""

WORTH = 0.98
"""A later candidate must be better than an earlier, simpler one by this factor."""

_PRIME = (1 << 61) - 1


@dataclass(frozen=True, slots=True)
class Strategy:
    """``cells`` is A, in steps of 1/``scale``; ``outputs`` is E per step: ``outputs`` · ``cells`` is the workload.

    ``atoms``: the same for every single atom, where the strategy is made of them or weighs all of them.
    """

    name: str
    cells: tuple[Row, ...]
    outputs: Weights
    atoms: Weights | None = None
    scale: int = 1

    @property
    def l1(self) -> int:
        """The most that one row moves all cells together."""
        found: int = max(sum(map(abs, column)) for column in zip(*self.cells, strict=True))
        return found

    @property
    def l2_squared(self) -> int:
        found: int = max(sum(cell * cell for cell in column) for column in zip(*self.cells, strict=True))
        return found

    @property
    def signed(self) -> bool:
        return any(cell < 0 for row in self.cells for cell in row)

    def price(self, norm: Norm) -> float:
        """The total variance of the outputs, for noise of variance 1 per squared sensitivity."""
        reach = self.l1**2 if norm is Norm.L1 else self.l2_squared
        return reach * sum(float(weight) ** 2 for row in self.outputs for weight in row)


@dataclass(frozen=True, slots=True)
class ChosenStrategy:
    """The strategy chosen, and its predicted total variance."""

    strategy: Strategy
    variance: float

    @property
    def name(self) -> str:
        return self.strategy.name


@lru_cache(maxsize=256)
def choose(workload: tuple[Row, ...], norm: Norm, *, fine: bool = True, apart: bool = False) -> ChosenStrategy:
    """The candidate with the smallest predicted variance. Rows and columns of ``workload`` are distinct, none is 0.

    Without ``fine``, only cells that one row moves by one step at most are taken; ``apart``, only the atoms.
    """
    best: ChosenStrategy | None = None
    for strategy in islice(_candidates(workload, norm, fine), 1 if apart else None):
        price = strategy.price(norm)
        if best is None or price < WORTH * best.variance:
            best = ChosenStrategy(strategy, price)
    if best is None:
        raise AssertionError("there is always a candidate")
    return best


def weight(variance: float, norm: Norm) -> Fraction:
    """The share of a price that a vector of outputs with this total variance should have, a single output having 1.

    Σ Tᵢ/ρᵢ for a given Σρᵢ is least where ρᵢ ∝ √Tᵢ, and Σ Tᵢ/εᵢ² for a given Σεᵢ where εᵢ ∝ Tᵢ^⅓. In sixteenths, so
    that shares are simple fractions.

    >>> weight(1.0, Norm.L2), weight(9.0, Norm.L2), weight(8.0, Norm.L1)
    (Fraction(1, 1), Fraction(3, 1), Fraction(2, 1))
    """
    return Fraction(round(16 * variance ** (1 / 3 if norm is Norm.L1 else 1 / 2)), 16)


def _candidates(workload: tuple[Row, ...], norm: Norm, fine: bool) -> Iterator[Strategy]:
    atoms = len(workload[0])
    yield Strategy("atoms", _identity(atoms), _as_weights(workload), _as_weights(_identity(atoms)))
    if len(workload) == 1:
        return
    yield Strategy("direct", workload, _as_weights(_identity(len(workload))))
    yield total(workload)
    if not fine:
        return
    rank = len(_independent(workload))
    if (order := _nested(workload)) is not None and norm is Norm.L2 and rank > _LONG:
        if (found := _prefix(workload, order)) is not None:
            yield found
        return
    # With as many independent outputs as atoms, the atoms are better under L1: each of them moves one cell.
    if rank <= MOST_WEIGHTED and (norm is Norm.L2 or rank < atoms) and (found := _weighted(workload, rank)):
        yield found


def _identity(size: int) -> tuple[Row, ...]:
    return tuple(tuple(int(row == column) for column in range(size)) for row in range(size))


def _as_weights(rows: Sequence[Row]) -> Weights:
    return tuple(tuple(map(Fraction, row)) for row in rows)


def total(workload: tuple[Row, ...]) -> Strategy:
    everything = (1,) * len(workload[0])
    cells = [everything, *(tuple(2 * cell - 1 for cell in row) for row in workload if row != everything)]
    half, places = Fraction(1, 2), iter(range(1, len(cells)))
    outputs = []
    for row in workload:
        weights = [Fraction(0)] * len(cells)
        if row == everything:
            weights[0] = Fraction(1)
        else:
            weights[0] = weights[next(places)] = half
        outputs.append(tuple(weights))
    return Strategy("total", tuple(cells), tuple(outputs))


# -- weighted strategies -------------------------------------------------------------------------------------------


def _weighted(workload: tuple[Row, ...], rank: int) -> Strategy | None:
    """AᵀA near the one that minimises tr(W (AᵀA)⁻¹ Wᵀ) with no diagonal entry above 1.

    With A = B·R for a basis R of the rows of W = C·R, the optimum Y = BᵀB solves Y·M·Y = CᵀC for M = R·Λ·Rᵀ and some
    Λ ≥ 0, diagonal. The solution for Λ = 1 and R = 1 is the eigen design. Λ grows where the bound is exceeded.
    """
    whole = rank == len(workload[0])
    basis = _identity(rank) if whole else _independent(workload)
    combined = _as_weights(workload) if whole else _in_terms_of(basis, workload)
    try:
        factor = _optimum(basis, [[float(cell) for cell in row] for row in combined], whole)
    except ValueError:
        return None
    return _rounded("weighted", factor, basis, combined, whole)


def _optimum(basis: Sequence[Row], combined: Matrix, whole: bool) -> Matrix:
    """The upper triangular B of the strategy B·R. Raises ValueError where floats do not suffice."""
    columns = [[float(cell) for cell in column] for column in zip(*basis, strict=True)]
    asked = product(transposed(combined), combined)
    shares = [1.0] * len(columns)
    for left in reversed(range(2 if whole else 3)):
        weighed = [[share * cell for cell in column] for share, column in zip(shares, columns, strict=True)]
        lower = cholesky(product(transposed(weighed), columns))
        inverse = inverse_of_lower(lower)
        root = square_root(product(product(transposed(lower), asked), lower))
        gram = product(product(transposed(inverse), root), inverse)
        norms = [dot(column, image) for column, image in zip(columns, product(columns, gram), strict=True)]
        if left:
            mean = sum(norms) / len(norms)
            shares = [
                max(s * (norm / mean) ** (2 if whole else 3), 1e-9) for s, norm in zip(shares, norms, strict=True)
            ]
    if whole:
        sizes = [sqrt(norm) for norm in norms]
        gram = [
            [cell / (a * b) for cell, b in zip(row, sizes, strict=True)] for row, a in zip(gram, sizes, strict=True)
        ]
    return transposed(cholesky(gram))


def _nested(workload: tuple[Row, ...]) -> list[int] | None:
    """The atoms from the one in the fewest outputs, where outputs are nested and as many as the atoms."""
    size = len(workload)
    if size != len(workload[0]) or size > MOST_PREFIX or sorted(map(sum, workload)) != list(range(1, size + 1)):
        return None
    order = sorted(range(size), key=lambda atom: sum(row[atom] for row in workload))
    return None if any(row[one] > row[other] for row in workload for one, other in pairwise(order)) else order


def _prefix(workload: tuple[Row, ...], order: Sequence[int]) -> Strategy | None:
    """W is upper triangular, all ones, for atoms in ``order`` and outputs from the largest; so is its root."""
    size = len(order)
    basis = tuple(tuple(int(atom == place) for atom in range(size)) for place in order)
    root = [1.0]
    for k in range(1, size):
        root.append(root[-1] * (2 * k - 1) / (2 * k))
    lengths = [sqrt(dot(root[: place + 1], root[: place + 1])) for place in range(size)]
    factor = [
        [root[column - row] / lengths[column] if column >= row else 0.0 for column in range(size)]
        for row in range(size)
    ]
    combined = tuple(tuple(Fraction(row[atom]) for atom in order) for row in workload)
    return _rounded("prefix", factor, basis, combined, True)


def _rounded(name: str, factor: Matrix, basis: Sequence[Row], combined: Weights, whole: bool) -> Strategy | None:
    """The strategy B·R on the lattice, with the exact E = C·B⁻¹; None where rounding made B singular."""
    size = len(factor)
    columns = list(zip(*basis, strict=True))
    longest = max(sqrt(sum(dot(row, column) ** 2 for row in factor)) for column in columns)
    # To nine digits first: what differs between machines in the last bits shall not be rounded apart.
    grid = [[round(round(cell * STEPS / longest, 9)) for cell in row] for row in factor]
    if not all(grid[place][place] for place in range(size)):
        return None
    cells = tuple(tuple(sum(b * r for b, r in zip(row, column, strict=True)) for column in columns) for row in grid)
    outputs = tuple(_solved(grid, row) for row in combined)
    atoms = None
    if whole:
        places = [column.index(1) for column in columns]
        unit = _as_weights(_identity(size))
        atoms = tuple(_solved(grid, unit[place]) for place in places)
    return Strategy(name, cells, outputs, atoms, STEPS)


def _solved(grid: Sequence[Sequence[int]], wanted: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """The row e with e·B = ``wanted``, for an upper triangular B of integers. Without fractions until the end.

    >>> [str(x) for x in _solved([[2, 1], [0, 4]], [Fraction(1), Fraction(1)])]
    ['1/2', '1/8']
    """
    whole = lcm(*(cell.denominator for cell in wanted))
    below = whole  # e[i] is found[i] / below for the i known so far
    found: list[int] = []
    for place, cell in enumerate(wanted):
        corner = grid[place][place]
        rest = cell * below - sum(above * grid[row][place] for row, above in enumerate(found))
        found = [above * corner for above in found]
        found.append(int(rest))
        below *= corner
    return tuple(Fraction(above, below) for above in found)


# -- exact linear algebra ------------------------------------------------------------------------------------------


def _independent(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The first rows that are independent of those before them, modulo a large prime.

    Exactly so where there are at most 30: no determinant of so few 0-1 rows reaches the prime (Hadamard 1893).
    """
    reduced: list[tuple[int, list[int]]] = []
    chosen = []
    for row in rows:
        rest = list(row)
        for pivot, other in reduced:
            if factor := rest[pivot]:
                rest = [(a - factor * b) % _PRIME for a, b in zip(rest, other, strict=True)]
        lead = next((place for place, cell in enumerate(rest) if cell), None)
        if lead is not None:
            inverse = pow(rest[lead], -1, _PRIME)
            reduced.append((lead, [cell * inverse % _PRIME for cell in rest]))
            chosen.append(row)
    return tuple(chosen)


def _in_terms_of(basis: Sequence[Row], rows: Sequence[Row]) -> Weights:
    """C with C·basis = rows: each row is one of the basis, or a combination of it."""
    known = {row: place for place, row in enumerate(basis)}
    unit = _as_weights(_identity(len(basis)))
    return tuple(unit[known[row]] if row in known else _combination(basis, row) for row in rows)


def _combination(basis: Sequence[Row], row: Row) -> tuple[Fraction, ...]:
    """Gauss and Jordan on the transposed system, one equation per atom."""
    equations = [[*map(Fraction, column), Fraction(wanted)] for *column, wanted in zip(*basis, row, strict=True)]
    for place in range(len(basis)):
        pivot = next(index for index in range(place, len(equations)) if equations[index][place])
        equations[place], equations[pivot] = equations[pivot], equations[place]
        lead = equations[place][place]
        equations[place] = [cell / lead for cell in equations[place]]
        for index, equation in enumerate(equations):
            if index != place and (factor := equation[place]):
                equations[index] = [a - factor * b for a, b in zip(equation, equations[place], strict=True)]
    return tuple(equations[place][-1] for place in range(len(basis)))
