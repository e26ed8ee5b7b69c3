"""Answers as they came over the wire, as numbers that a score can be learned from."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from decimal import Decimal

import numpy as np

from dpsql.audit.telling_events import Bits, Samples

Outcome = dict[str, float | None]
"""The numbers of one answer, or of one group of it, by name; None is NULL, and what has no row is not there."""


def numbers(value: object) -> Iterator[tuple[str, float | None]]:
    """A value that came over the wire as numbers: of an array, each.

    >>> list(numbers("{1,NULL}")), list(numbers([1, None])), list(numbers(True))
    ([('[0]', 1.0), ('[1]', None)], [('[0]', 1.0), ('[1]', None)], [('', 1.0)])
    """
    if isinstance(value, str) and value[:1] == "{":
        value = value.strip("{}").split(",")
    if isinstance(value, list):
        for place, part in enumerate(value):
            yield f"[{place}]", _number(part)
    else:
        yield "", _number(value)


def _number(value: object) -> float | None:
    if value is None or isinstance(value, bool | int | float | Decimal):
        return None if value is None else float(value)
    if isinstance(value, datetime.date):
        return float(value.toordinal())
    if isinstance(value, str):
        try:
            return None if value in ("NULL", "") else float(value)
        except ValueError:
            return float(int.from_bytes(value.encode()[:6], "big"))
    raise TypeError(f"not a number: {type(value).__name__}")


def samples_of(outcomes: Sequence[Outcome], bits: Bits) -> Samples:
    """Outcomes side by side, with the coin of each; of columns that never change one is kept.

    >>> samples_of([{"n": 1.0}, {"n": None}, {}], np.array([True, False, True])).kinds.tolist()
    [[0], [1], [2]]
    """
    names = sorted({name for outcome in outcomes for name in outcome})
    values = np.zeros((len(outcomes), len(names)))
    kinds = np.full((len(outcomes), len(names)), 2, dtype=np.int8)
    places = {name: place for place, name in enumerate(names)}
    for at, outcome in enumerate(outcomes):
        for name, number in outcome.items():
            place = places[name]
            kinds[at, place] = 0 if number is not None else 1
            values[at, place] = number if number is not None else 0.0
    # What is always the same tells nothing; one of it is kept, so that there is something to look at.
    changing = [at for at in range(len(names)) if len(np.unique(values[:, at] + 1e9 * kinds[:, at])) > 1]
    if not changing:
        return Samples(("nothing",), np.zeros((len(outcomes), 1)), np.zeros((len(outcomes), 1), dtype=np.int8), bits)
    return Samples(tuple(names[at] for at in changing), values[:, changing], kinds[:, changing], bits)
