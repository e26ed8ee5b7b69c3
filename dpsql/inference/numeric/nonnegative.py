"""Least squares over non-negative finest cells: which of them are 0, and what the others are.

First by guesses of the whole set of zeros at a time, each after an exact solution of the others (primal-dual active
sets: Hintermüller, Ito and Kunisch 2002). That mostly takes a few solutions, but may go round in circles; from the best
guess on, projected Newton steps then descend (Bertsekas 1982).
"""

from __future__ import annotations

import numpy as np

from dpsql.inference.numeric.arrays import FloatArray
from dpsql.inference.numeric.sparse import PRECISE, System

GUESSES = 40
STEPS = 100
HALVINGS = 40


def nonnegative(system: System, start: FloatArray, target: FloatArray) -> FloatArray:
    """The scaled non-negative vector of least squared distance between ``design`` times it and the target."""
    best = solution = np.maximum(start, 0.0)
    slope = gradient(system, solution, target)
    zero = (solution <= 0) & (slope > 0)
    error, tolerance = np.inf, 10 * PRECISE + 1e-13 * float(np.abs(target).max(initial=0.0))
    for _ in range(GUESSES):
        solution = np.where(zero, 0.0, solution)
        solution = solution + system.descend(-gradient(system, solution, target), ~zero, PRECISE)
        slope = gradient(system, solution, target)
        below, wanted = ~zero & (solution < -tolerance), zero & (slope < -tolerance)
        possible = np.maximum(solution, 0.0)
        if not below.any() and not wanted.any():
            return possible
        if (found := distance(system, possible, target)) < error:
            best, error = possible, found
        zero = (zero | below) & ~wanted
    return _descend(system, best, target, tolerance)


def gradient(system: System, solution: FloatArray, target: FloatArray) -> FloatArray:
    return np.asarray(system.transposed @ (system.design @ solution - target))


def distance(system: System, solution: FloatArray, target: FloatArray) -> float:
    return float(((system.design @ solution - target) ** 2).sum()) / 2


def _descend(system: System, solution: FloatArray, target: FloatArray, tolerance: float) -> FloatArray:
    """Newton steps on what is not held at 0, moved back into the range, and halved until they go down."""
    for _ in range(STEPS):
        slope = gradient(system, solution, target)
        free = (solution > 0) | (slope < 0)
        if np.abs(slope[free]).max(initial=0.0) <= tolerance:
            break
        step, here = system.descend(-slope, free, PRECISE), distance(system, solution, target)
        for _ in range(HALVINGS):
            moved = np.maximum(solution + step, 0.0)
            if distance(system, moved, target) < here + 1e-4 * float(slope @ (moved - solution)):
                break
            step = step / 2
        else:
            break
        solution = moved
    return solution
