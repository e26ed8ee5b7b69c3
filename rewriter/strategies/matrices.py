"""Small matrices of floats: what the choice of a strategy needs, the same on every machine's Python.

Rows are lists. Nothing exact rests on these numbers: a strategy is rounded to integers, and what follows from it is
computed from the integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign, hypot, sqrt
from operator import mul

Matrix = list[list[float]]

_TINY = 1e-15
_MOST_SWEEPS = 60


def dot(one: Sequence[float], other: Sequence[float]) -> float:
    return float(sum(map(mul, one, other)))


def transposed(matrix: Sequence[Sequence[float]]) -> Matrix:
    return [list(column) for column in zip(*matrix, strict=True)]


def product(one: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> Matrix:
    """
    >>> product([[1.0, 2.0]], [[3.0], [4.0]])
    [[11.0]]
    """
    columns = transposed(other)
    return [[dot(row, column) for column in columns] for row in one]


def identity(size: int) -> Matrix:
    return [[float(row == column) for column in range(size)] for row in range(size)]


def cholesky(matrix: Sequence[Sequence[float]]) -> Matrix:
    """The lower triangular L with L·Lᵀ the matrix. Raises ValueError where the matrix is not positive definite.

    >>> cholesky([[4.0, 2.0], [2.0, 10.0]])
    [[2.0, 0.0], [1.0, 3.0]]
    """
    lower: Matrix = []
    for i, row in enumerate(matrix):
        found: list[float] = []
        for j in range(i):
            found.append((row[j] - dot(found, lower[j][:j])) / lower[j][j])
        rest = row[i] - dot(found, found)
        if rest <= 0:
            raise ValueError("the matrix is not positive definite")
        lower.append([*found, sqrt(rest), *[0.0] * (len(matrix) - i - 1)])
    return lower


def inverse_of_lower(lower: Sequence[Sequence[float]]) -> Matrix:
    """
    >>> inverse_of_lower([[2.0, 0.0], [1.0, 4.0]])
    [[0.5, 0.0], [-0.125, 0.25]]
    """
    size = len(lower)
    columns: Matrix = []  # of the inverse
    for j in range(size):
        column = [0.0] * j
        for i in range(j, size):
            column.append((float(i == j) - dot(lower[i][j:i], column[j:])) / lower[i][i])
        columns.append(column)
    return transposed(columns)


def square_root(matrix: Sequence[Sequence[float]]) -> Matrix:
    """The symmetric root of a symmetric matrix without negative eigenvalues.

    >>> [[round(cell, 6) for cell in row] for row in square_root([[5.0, 4.0], [4.0, 5.0]])]
    [[2.0, 1.0], [1.0, 2.0]]
    """
    values, vectors = eigen(matrix)
    halves = [[sqrt(sqrt(max(value, 0.0))) * cell for cell in row] for value, row in zip(values, vectors, strict=True)]
    columns = transposed(halves)
    return [[dot(one, other) for other in columns] for one in columns]


def eigen(matrix: Sequence[Sequence[float]]) -> tuple[list[float], Matrix]:
    """Eigenvalues of a symmetric matrix, and its eigenvectors as rows, in no particular order.

    Householder's tridiagonal form, then QL with implicit shifts (Martin, Wilkinson 1968).
    """
    diagonal, beside, vectors = _tridiagonal(matrix)
    size = len(diagonal)
    for low in range(size):
        for _ in range(_MOST_SWEEPS):
            high = low
            while high < size - 1 and abs(beside[high]) > _TINY * (abs(diagonal[high]) + abs(diagonal[high + 1])):
                high += 1
            if high == low:
                break
            _sweep(diagonal, beside, vectors, low, high)
    return diagonal, vectors


def _tridiagonal(matrix: Sequence[Sequence[float]]) -> tuple[list[float], list[float], Matrix]:
    """The diagonal, what stands beside it, and the rows of Qᵀ, where Qᵀ·matrix·Q is tridiagonal."""
    rows, size = [list(row) for row in matrix], len(matrix)
    basis = identity(size)
    for k in range(size - 2):
        mirror = [rows[i][k] for i in range(k + 1, size)]
        length = sqrt(dot(mirror, mirror))
        if length <= _TINY * abs(rows[k][k]) or not any(mirror[1:]):
            continue
        beside = -copysign(length, mirror[0])
        mirror[0] -= beside
        double = 2 / dot(mirror, mirror)
        tails = [rows[i][k + 1 :] for i in range(k + 1, size)]
        image = [double * dot(tail, mirror) for tail in tails]
        share = double * dot(image, mirror) / 2
        image = [one - share * other for one, other in zip(image, mirror, strict=True)]
        for place, (tail, m, p) in enumerate(zip(tails, mirror, image, strict=True), k + 1):
            rows[place][k + 1 :] = [cell - m * y - p * x for cell, x, y in zip(tail, mirror, image, strict=True)]
            rows[place][k] = 0.0
        rows[k + 1][k] = beside
        for row in basis:
            part = double * dot(row[k + 1 :], mirror)
            row[k + 1 :] = [cell - part * x for cell, x in zip(row[k + 1 :], mirror, strict=True)]
    return (
        [rows[i][i] for i in range(size)],
        [*(rows[i + 1][i] for i in range(size - 1)), 0.0],
        transposed(basis),
    )


def _sweep(diagonal: list[float], beside: list[float], vectors: Matrix, low: int, high: int) -> None:
    """One implicit QL step between ``low`` and ``high``."""
    g = (diagonal[low + 1] - diagonal[low]) / (2 * beside[low])
    g = diagonal[high] - diagonal[low] + beside[low] / (g + copysign(hypot(g, 1), g))
    sine = cosine = 1.0
    shift = 0.0
    for i in range(high - 1, low - 1, -1):
        f, b = sine * beside[i], cosine * beside[i]
        radius = beside[i + 1] = hypot(f, g)
        if radius == 0:
            diagonal[i + 1] -= shift
            beside[high] = 0.0
            return
        sine, cosine = f / radius, g / radius
        g = diagonal[i + 1] - shift
        radius = (diagonal[i] - g) * sine + 2 * cosine * b
        shift = sine * radius
        diagonal[i + 1] = g + shift
        g = cosine * radius - b
        one, other = vectors[i], vectors[i + 1]
        vectors[i] = [cosine * x - sine * y for x, y in zip(one, other, strict=True)]
        vectors[i + 1] = [sine * x + cosine * y for x, y in zip(one, other, strict=True)]
    diagonal[low] -= shift
    beside[low] = g
    beside[high] = 0.0
