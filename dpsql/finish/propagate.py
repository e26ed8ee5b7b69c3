"""How far noise moves numbers computed from released ones: sums and quotients, exactly.

Guarantee: a function of released numbers, their noise and the query. The interval holds, 95 times in 100, what the
same expression would be over the bounded data; what bounding took away is not in it.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np

from dpsql.inference.intervals import ONE_SIDED, count_ends, half_width, quotient_ends
from dpsql.inference.numeric import IntArray
from dpsql.releases import Additive, ReleasedColumn, ReleasedTable
from rewriter.front_door import Affine, Form, Mean, Measured, Quotient, Rounding, Term
from rewriter.plan import Linear, Output, Plan
from rewriter.release import Along

Ends = tuple[float, float]
"""The lower and the upper end of a 95 % interval; infinite where nothing is known."""

_ROW_BITS = 40
_FACTORS = 256


@dataclass(frozen=True, slots=True)
class Piece:
    """The rows that one measurement gave to a released table, from row ``first`` on."""

    plan: Plan
    noises: Mapping[str, Additive]
    table: ReleasedTable
    first: int = 0
    running: Callable[[Along], Mapping[str, Sequence[float]]] = field(default=lambda _: {})
    """By output, the half-width of the sum over the window of each row of the measurement."""
    outputs: Mapping[str, Output] = field(init=False)
    columns: Mapping[str, ReleasedColumn] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "outputs", {output.name: output for output in self.plan.outputs})
        object.__setattr__(self, "columns", {column.name: column for column in self.table.columns})

    def shrunk(self, row: int) -> int:
        """By how many 256ths a row's noise is multiplied: a few values, so that half-widths are remembered."""
        return _FACTORS if self.table.shrunk is None else math.ceil(self.table.shrunk[row] * _FACTORS)


Row = tuple[Piece, int]
"""A row of a piece's table."""


def row_number(piece: int, rows: IntArray) -> IntArray:
    """The numbers that released rows have in the outer SELECT."""
    return piece << _ROW_BITS | rows


def located(number: object, pieces: Sequence[Piece]) -> Row | None:
    """The released row of a number; None for NULL, which an outer join leaves."""
    return (pieces[number >> _ROW_BITS], number & (1 << _ROW_BITS) - 1) if isinstance(number, int) else None


def exact_ends(column: Measured, rows: Sequence[Sequence[Row | None]]) -> list[Ends | None] | None:
    """The interval of a column in each row, given by its slots; None where the column is of no form that is exact."""
    found = _form_ends(column.form, rows)
    if found is None or column.rounding is None:
        return found
    return [None if ends is None else _rounded(ends, column.rounding) for ends in found]


def _form_ends(form: Form, rows: Sequence[Sequence[Row | None]]) -> list[Ends | None] | None:
    if isinstance(form, Affine) and form.terms:
        return _affine_ends(form, rows)
    if isinstance(form, Quotient):
        return _quotient_ends(form, rows)
    if isinstance(form, Mean):
        return _mean_ends(form, rows)
    return None


def _rounded(ends: Ends, rounding: Rounding) -> Ends:
    """Rounding keeps order: what is inside stays inside."""
    low, high = (_turned(end, rounding) for end in ends)
    return low, high


def _turned(end: float, rounding: Rounding) -> float:
    if math.isinf(end):
        return end
    return float(round(end, rounding.digits)) if rounding.way == "nearest" else float(math.trunc(end))


# Sums


def _affine_ends(form: Affine, rows: Sequence[Sequence[Row | None]]) -> list[Ends | None]:
    widths: dict[object, tuple[float, float | None]] = {}
    least = float(form.constant)
    downwards = any(weight < 0 for _, weight in form.terms)
    weighed, slots = _weighed(form), _slots([form])
    found: list[Ends | None] = []
    for row in rows:
        value = _value(weighed, row)
        if value is None:
            found.append(None)
            continue
        pattern = _pattern(slots, row)
        if pattern not in widths:
            widths[pattern] = _widths(form, row)
        width, one_sided = widths[pattern]
        value += least
        if one_sided is None:
            found.append((value - width, value + width))
        elif downwards:
            low, high = count_ends(least - value, width, one_sided)
            found.append((least - high, least - low))
        else:
            low, high = count_ends(value - least, width, one_sided)
            found.append((least + low, least + high))
    return found


def _widths(form: Affine, row: Sequence[Row | None]) -> tuple[float, float | None]:
    """Half-width, and the one-sided one where the number cannot cross its constant."""
    terms = tuple((noise, weight) for noise, weight, _ in _joint(form, Affine(), row))
    slack = float(form.slack + _roundings(form, row))
    signs = {weight > 0 for _, weight in form.terms}
    bounded = len(signs) == 1 and all(_never_negative(term, row) for term, _ in form.terms)
    return half_width(terms) + slack, half_width(terms, ONE_SIDED) + slack if bounded else None


Weighed = Sequence[tuple[int, str, float]]
"""The terms of a sum: slot, output and weight."""


def _weighed(form: Affine) -> Weighed:
    return [(slot, name, float(weight)) for (slot, name), weight in form.terms]


def _value(weighed: Weighed, row: Sequence[Row | None]) -> float | None:
    """The sum without its constant, of the released numbers; None where one of them is missing."""
    total = 0.0
    for slot, name, weight in weighed:
        place = row[slot]
        value = None if place is None else place[0].columns[name].values[place[1]]
        if not isinstance(value, int | float | Decimal):
            return None
        total += weight * float(value)
    return total


def _never_negative(term: Term, row: Sequence[Row | None]) -> bool:
    place = row[term[0]]
    if place is None:
        return False
    output, parts = place[0].outputs[term[1]], place[0].plan.parts
    if output.parts:
        return all(parts[at].estimator.minimum == 0 for at in output.parts)
    return output.estimator.as_sum is not None and output.estimator.nonnegative


def _roundings(form: Affine, row: Sequence[Row | None]) -> Fraction:
    """How far the released numbers were moved when they were made whole."""
    total = Fraction(0)
    for term, weight in form.terms:
        estimator = _estimator(term, row)
        if estimator.integer and any(part.denominator != 1 for _, part in estimator.terms):
            total += abs(weight) / 2
    return total


def _estimator(term: Term, row: Sequence[Row | None]) -> Linear:
    place = row[term[0]]
    if place is None:
        raise AssertionError("a term without a row")
    total = place[0].outputs[term[1]].estimator.as_sum
    if total is None:
        raise AssertionError("a sum of what is no sum")
    return total


def _joint(above: Affine, below: Affine, row: Sequence[Row | None]) -> tuple[tuple[Additive, Fraction, Fraction], ...]:
    """The noises under two sums: one for each statistic of each measured row, however often it is used.

    They are independent as they were drawn; what least squares makes common to several rows is not in it.
    """
    weights: dict[tuple[str, int, str], list[Fraction]] = {}
    noises: dict[tuple[str, int, str], Additive] = {}
    for side, form in enumerate((above, below)):
        for term, weight in form.terms:
            place = row[term[0]]
            if place is None:
                raise AssertionError("a term without a row")
            piece, number = place
            factor = Fraction(piece.shrunk(number), _FACTORS) if piece.outputs[term[1]].parts else Fraction(1)
            for name, part in _estimator(term, row).terms:
                key = (piece.plan.identity, number - piece.first, name)
                noises[key] = piece.noises[name]
                weights.setdefault(key, [Fraction(0), Fraction(0)])[side] += weight * part * factor
    return tuple((noises[key], pair[0], pair[1]) for key, pair in weights.items() if any(pair))


def _slots(forms: Sequence[Affine]) -> list[int]:
    return sorted({slot for form in forms for (slot, _), _ in form.terms})


def _pattern(slots: Sequence[int], row: Sequence[Row | None]) -> tuple[object, ...]:
    """The pattern that the noise of a row depends on: its pieces, and which slots are the same row."""
    seen: dict[tuple[str, int], int] = {}
    pattern: list[object] = []
    for slot in slots:
        place = row[slot]
        if place is not None:
            piece, number = place
            pattern += [id(piece), piece.shrunk(number)]
            if len(slots) > 1:
                pattern.append(seen.setdefault((piece.plan.identity, number - piece.first), slot))
    return tuple(pattern)


# Quotients


def _quotient_ends(form: Quotient, rows: Sequence[Sequence[Row | None]]) -> list[Ends | None]:
    found: list[Ends | None] = [None] * len(rows)
    alike: dict[object, list[tuple[int, float, float]]] = {}
    sides, slots = [_weighed(form.above), _weighed(form.below)], _slots([form.above, form.below])
    constants = float(form.above.constant), float(form.below.constant)
    for number, row in enumerate(rows):
        above, below = (_value(side, row) for side in sides)
        if above is not None and below is not None and below + constants[1]:
            pair = (number, above + constants[0], below + constants[1])
            alike.setdefault(_pattern(slots, row), []).append(pair)
    for group in alike.values():
        row = rows[group[0][0]]
        tops, bottoms = (np.array([one[side] for one in group]) for side in (1, 2))
        lows, highs = quotient_ends(tops, bottoms, _joint(form.above, form.below, row))
        least = 0.0 if all(_is_never_negative(side, row) for side in (form.above, form.below)) else -math.inf
        most = most_of_share(form, row)
        slack = float(form.slack)
        for (number, _, _), low, high in zip(group, lows.tolist(), highs.tolist(), strict=True):
            found[number] = (max(low - slack, least), min(high, most) + slack)
    return found


def most_of_share(form: Quotient, row: Sequence[Row | None]) -> float:
    """The largest value of a quotient, whatever the data, if its numerator is among the terms of its denominator; else
    inf.

    Examples: a count with a condition over the count without it, and a count over a sum of counts that includes it.
    """
    above, below = (_weights_of_parts(side, row) for side in (form.above, form.below))
    if above is None or below is None or form.above.constant > 0 or form.below.constant < 0:
        return math.inf
    taken: set[tuple[str, int, int]] = set()
    most = Fraction(0)
    for part, weight in above.items():
        whole = next((one for one in (part, *_larger(part, row)) if one in below and one not in taken), None)
        if whole is None:
            return math.inf
        taken.add(whole)
        most = max(most, weight / below[whole])
    return float(most)


def _weights_of_parts(form: Affine, row: Sequence[Row | None]) -> dict[tuple[str, int, int], Fraction] | None:
    """A sum as one of parts that are not negative, by measurement, row and part; None where it is no such sum."""
    found: dict[tuple[str, int, int], Fraction] = {}
    for (slot, name), weight in form.terms:
        place = row[slot]
        if place is None or weight < 0 or not _never_negative((slot, name), row):
            return None
        piece, number = place
        parts = piece.outputs[name].parts
        for part in parts:
            key = (piece.plan.identity, number - piece.first, part)
            found[key] = found.get(key, Fraction(0)) + weight
        if not parts:
            return None
    return found


def _larger(part: tuple[str, int, int], row: Sequence[Row | None]) -> list[tuple[str, int, int]]:
    """The parts of the same group that a part never exceeds."""
    identity, number, place = part
    plan = next(one[0].plan for one in row if one is not None and one[0].plan.identity == identity)
    return [(identity, number, high) for low, high in plan.orders if low == place]


def _is_never_negative(form: Affine, row: Sequence[Row | None]) -> bool:
    return form.constant >= 0 and all(weight > 0 and _never_negative(term, row) for term, weight in form.terms)


# Means


def _mean_ends(form: Mean, rows: Sequence[Sequence[Row | None]]) -> list[Ends | None]:
    (slot, name), factor = form.term, float(form.factor)
    found: list[Ends | None] = []
    for row in rows:
        place = row[slot]
        column = None if place is None else place[0].columns[name]
        value = None if place is None or column is None else column.values[place[1]]
        number = as_number(value)
        if place is None or column is None or column.reaches is None or number is None:
            found.append(None)
            continue
        down, up = column.reaches[place[1]]
        least, most = place[0].outputs[name].estimator.possible
        # The distance from a number to the end of its range, taken off again, is off by a digit that doubles lack.
        ends = min(number, max(number - down, least)), max(number, min(number + up, most))
        low, high = sorted(factor * end + float(form.constant) for end in ends)
        found.append((low - float(form.slack), high + float(form.slack)))
    return found


def as_number(value: object) -> float | None:
    """A number as a float, and a time as the days since the first of January of the year 0; None for all else.

    >>> as_number(datetime.datetime(1, 1, 2, 12))
    2.5
    """
    if isinstance(value, datetime.datetime):
        midnight = datetime.datetime.combine(value.date(), datetime.time())
        return value.toordinal() + (value.replace(tzinfo=None) - midnight) / datetime.timedelta(days=1)
    if isinstance(value, datetime.date):
        return float(value.toordinal())
    return float(value) if isinstance(value, int | float | Decimal) else None
