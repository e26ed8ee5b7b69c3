"""How far an approach's answers are from the truth, over many answers to one question; and that of several approaches."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from .accuracy_questions import Cell, Question

Floats = npt.NDArray[np.float64]
OURS, PURE, APPROX, PLAIN, PLAIN_GAUSSIAN, OPENDP, OPENDP_PURE, SMARTNOISE = (
    "dpsql, zcdp",
    "dpsql, pure",
    "dpsql, approx",
    "plain, Laplace",
    "plain, Gaussian",
    "OpenDP, zcdp",
    "OpenDP, pure",
    "smartnoise-sql",
)
APPROACHES = (OURS, PURE, APPROX, PLAIN, PLAIN_GAUSSIAN, OPENDP, OPENDP_PURE, SMARTNOISE)
OWN = (OURS, PURE, APPROX)
_SURE = 0.01
"""A relative standard error of the error at which no more repetitions are needed."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How far an approach is from the truth: over all cells, and over those of each level (by how many keys they have).

    ``uncertainty`` is the standard error of ``rmse``, ``median_relative`` the median of |error| / truth over cells with a
    truth. ``refused`` says why there is nothing else.
    """

    rmse: float = math.nan
    uncertainty: float = math.nan
    median_relative: float = math.nan
    levels: Mapping[str, float] | None = None
    repetitions: int = 0
    refused: str = ""

    def as_json(self) -> dict[str, object]:
        if self.refused:
            return {"refused": self.refused}
        return {
            "rmse": self.rmse,
            "uncertainty": self.uncertainty,
            "median_relative": self.median_relative,
            "levels": dict(self.levels or {}),
            "repetitions": self.repetitions,
        }


class Approach(Protocol):
    """What answers a question: with fresh noise, every time."""

    def answer(self) -> Mapping[Cell, float]: ...


def measured(
    answer: Callable[[], Mapping[Cell, float]], truth: Mapping[Cell, int], seconds: float, least: int
) -> Accuracy:
    """Answer again and again, until the error is known well or the time is up, and compare each cell with the truth."""
    cells = list(truth)
    exact = np.array([truth[cell] for cell in cells], float)
    errors: list[Floats] = []
    squares: list[float] = []
    answer()  # what starts, plans or reads once is not timed
    begun = time.perf_counter()
    while len(errors) < least or (time.perf_counter() - begun < seconds and not _sure(squares)):
        given = answer()
        if given.keys() != truth.keys():
            raise AssertionError(f"an answer has other cells than the truth: {list(given.keys() ^ truth.keys())[:3]}")
        errors.append(np.array([given[cell] for cell in cells]) - exact)
        squares.append(float((errors[-1] ** 2).mean()))
    return accuracy(np.array(errors), exact, [sum(value is not None for value in keys) for _, keys in cells])


def _sure(squares: Sequence[float]) -> bool:
    """Whether the root of the mean of the squares is known to a hundredth. Looked at seldom, so that luck does not stop it."""
    if len(squares) < 50 or len(squares) % 50:
        return False
    return float(np.std(squares)) / math.sqrt(len(squares)) / (2 * float(np.mean(squares))) < _SURE


def accuracy(errors: Floats, exact: Floats, used: Sequence[int]) -> Accuracy:
    """From errors by repetition and cell, the true numbers, and how many keys each cell has.

    >>> accuracy(np.array([[3.0, -4.0], [-3.0, 4.0]]), np.array([10.0, 8.0]), [1, 0]).levels
    {'0': 4.0, '1': 3.0}
    """
    squares = (errors**2).mean(axis=1)
    rmse = math.sqrt(squares.mean())
    levels = np.array(used)
    true = exact > 0
    return Accuracy(
        rmse=rmse,
        uncertainty=float(squares.std(ddof=1) / math.sqrt(len(squares)) / (2 * rmse)) if rmse else 0.0,
        median_relative=float(np.median(np.abs(errors[:, true]) / exact[true])),
        levels={str(level): math.sqrt((errors[:, levels == level] ** 2).mean()) for level in sorted({*used})},
        repetitions=len(errors),
    )


@dataclass(frozen=True, slots=True)
class Compared:
    """One question: each approach's accuracy."""

    question: Question
    by: Mapping[str, Accuracy]

    def factor(self) -> float:
        """How many times larger the least error of any other system is than that of the product in any of its modes."""
        answered = {name: one.rmse for name, one in self.by.items() if not one.refused}
        own = min((answered[name] for name in answered if name in OWN), default=math.nan)
        return min((answered[name] for name in answered if name not in OWN), default=math.nan) / own

    def as_json(self) -> dict[str, object]:
        return {
            "question": self.question.name,
            "sql": self.question.sql,
            "cells": len(self.question.cells),
            "factor": self.factor(),
            "approaches": {name: found.as_json() for name, found in self.by.items()},
        }
