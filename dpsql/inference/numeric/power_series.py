"""Quotients of power series, by their first coefficients."""

from __future__ import annotations

import numpy as np

from dpsql.inference.numeric.arrays import FloatArray


def quotient(dividend: FloatArray, divisor: FloatArray) -> FloatArray:
    """The first coefficients of ``dividend`` by ``divisor``, as many as the dividend has; the divisor begins with no 0.

    That is the filter whose outputs, convolved with the divisor, are the dividend. Coefficients of the divisor that are
    not given are 0.

    >>> quotient(np.array([1.0, 0.0, 0.0, 0.0]), np.array([1.0, -0.5]))  # 1 / (1 - x/2)
    array([1.   , 0.5  , 0.25 , 0.125])
    >>> quotient(np.zeros(0), np.ones(1))
    array([], dtype=float64)
    """
    size, later = dividend.size, divisor[1:]
    found = np.zeros(size)
    # From the last coefficient to the first: those found so far stand in the order of the divisor's.
    for place, value in enumerate(dividend.tolist()):
        begin = size - place
        known = found[begin : begin + later.size]
        found[begin - 1] = (value - later[: known.size] @ known) / divisor[0]
    return found[::-1].copy()
