"""Columns are finished as their cells are: each function of columns beside the plain one for a cell, on random tables."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.inference.estimates.mean_share import MeanEstimate
from dpsql.inference.estimates.parts import finished, measured, values
from dpsql.inference.estimates.rounding import quotients
from dpsql.inference.numeric import apportion, simplex
from dpsql.mechanisms import Laplace
from dpsql.releases import ColumnarRows, IntegerColumn, NoisyTable, ValueColumn, units_of, weighted, wide_units_of
from rewriter.declared import Kind
from rewriter.declared.types import BIGINT, DOUBLE, HUGEINT, INTEGER, SMALLINT, TEXT, Scalar, Type, decimal
from rewriter.plan import Linear, Output, Part, Plan, Ratio

NUMBERS = st.one_of(
    st.integers(-100, 100),
    st.integers(-(2**66), 2**66),
    st.sampled_from([2**52, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 2**63, 10**30]),
)
COLUMNS = st.lists(NUMBERS, max_size=8)
BELOW = st.one_of(st.integers(1, 8), st.sampled_from([2**31, 2**53 + 1, 2**61, 2**62, 2**63, 3**50]))
TYPES = [SMALLINT, INTEGER, BIGINT, HUGEINT, DOUBLE, decimal(4, 2), decimal(18, 3), decimal(38, 0), decimal(38, 30)]


# Cells


def cell_nearest(above: int, below: int) -> int:
    whole, rest = divmod(above, below)
    return whole + (2 * rest + whole % 2 > below)


def cell_quotient(target: Type, above: int, below: int) -> Scalar:
    if target.kind is Kind.INTEGER:
        low, high = target.limits
        return min(max(cell_nearest(above, below), low), high)
    if target.kind is Kind.DECIMAL:
        most = 10**target.precision - 1
        units = min(max(cell_nearest(above * 10**target.scale, below), -most), most)
        return Decimal(units).scaleb(-target.scale, Context(prec=64))
    try:
        return above / below
    except OverflowError:
        return math.copysign(sys.float_info.max, above)


ROW = 180
"""What one row adds to both sides of a mean."""


def cell_mean(target: Type, ratio: Ratio, a: int, b: int) -> Scalar | None:
    width = ratio.high - ratio.low
    unit = math.lcm(ratio.low.denominator, width.denominator)
    low, span = int(ratio.low * unit), int(width * unit)
    total, part = a + b, min(max(a, 0), a + b)
    nobody = 2 * total < ROW or total <= 0
    return None if nobody else cell_quotient(target, low * total + span * part, unit * total)


def cells_finished(plan: Plan, columns: Sequence[list[int]]) -> list[list[int]]:
    """The parts of plans whose outputs are all made of the same parts."""
    rows = [list(row) for row in zip(*columns, strict=True)]
    for row in rows:
        sums = [sum(row[part] for part in output.parts) for output in plan.outputs]
        if any(number < 0 for number in (*sums, *row)):
            total = max(0, sum(row))
            known = (
                [max(0, total)]
                if len(row) == 1
                else apportion(simplex(np.array(row, dtype=float), float(total)).tolist(), total)
            )
            row[:] = known
        for _ in range(len(plan.orders) + 1):
            wrong = [(low, high) for low, high in plan.orders if row[low] > row[high]]
            if not wrong:
                break
            for low, high in wrong:
                both = row[low] + row[high]
                row[low], row[high] = both // 2, both - both // 2
        else:
            for low, high in plan.orders:
                row[high] = max(row[high], row[low])
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in columns]


# Columns


@given(COLUMNS, BELOW)
def test_integers_are_rounded_as_each_of_them_is(numbers: list[int], below: int) -> None:
    assert IntegerColumn.of(numbers).quotients(below) == [cell_nearest(number, below) for number in numbers]


@given(st.lists(st.tuples(NUMBERS, BELOW), max_size=8))
def test_each_integer_may_have_a_divisor_of_its_own(pairs: list[tuple[int, int]]) -> None:
    above, below = (IntegerColumn.of([pair[side] for pair in pairs]) for side in (0, 1))
    assert above.quotients(below) == [cell_nearest(*pair) for pair in pairs]
    assert list(above.over(below)) == [one / other for one, other in pairs]


@given(COLUMNS, BELOW, st.sampled_from(TYPES))
def test_values_take_their_type_as_each_cell_does(numbers: list[int], below: int, target: Type) -> None:
    found = quotients(target)(IntegerColumn.of(numbers), below)
    expected = [cell_quotient(target, number, below) for number in numbers]
    assert list(found) == expected
    assert [str(value) for value in found] == [str(value) for value in expected]
    if all(abs(number) < 10**30 for number in numbers) and target.scale < 30:
        in_arrow = ValueColumn(target, arrow=found.arrow)
        assert [str(value) for value in in_arrow] == [str(value) for value in expected]
        assert in_arrow.floats.tolist() == [float(value) for value in expected]  # type: ignore[arg-type]


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=8), NUMBERS, NUMBERS)
def test_sums_are_exact_at_any_size(pairs: list[tuple[int, int]], one: int, other: int) -> None:
    columns = [IntegerColumn.of([pair[side] for pair in pairs]) for side in (0, 1)]
    found = weighted([(columns[0], one), (columns[1], other)], len(pairs))
    assert found == [one * a + other * b for a, b in pairs]
    assert found.is_narrow == all(-(2**63) <= number < 2**63 for number in found)


@given(COLUMNS, st.one_of(st.none(), NUMBERS), st.one_of(st.none(), NUMBERS))
def test_ends_are_those_of_each_number(numbers: list[int], low: int | None, high: int | None) -> None:
    expected = [number if low is None else max(number, low) for number in numbers]
    expected = [number if high is None else min(number, high) for number in expected]
    assert IntegerColumn.of(numbers).clipped(low, high) == expected


@given(st.lists(st.integers(-(2**62), 2**62)), st.data())
def test_secret_integers_and_noise_are_added_exactly(exact: list[int], data: st.DataObject) -> None:
    """In 64 bits, where a declared bound says that they fit, and beyond it."""
    noise = data.draw(st.lists(NUMBERS, min_size=len(exact), max_size=len(exact)))
    expected = [one + other for one, other in zip(exact, noise, strict=True)]
    for column in (IntegerColumn(np.array(exact, dtype=np.int64)), IntegerColumn.wide(exact)):
        assert column.plus(IntegerColumn.of(noise)).narrowed() == expected


def test_every_number_has_noise_of_its_own() -> None:
    for count in (0, 1, 2, 4):
        with pytest.raises(ValueError, match="noise of its own"):
            IntegerColumn.of([1, 2, 3]).plus(IntegerColumn.of([7] * count))


def test_what_is_no_integer_is_no_part_of_a_column() -> None:
    for wrong in ([1.0], [1, 2.5], ["1"], [None]):
        with pytest.raises(TypeError):
            IntegerColumn.of(wrong)  # type: ignore[arg-type]
    assert IntegerColumn.of(np.array([1, 2], dtype=np.int32)).is_narrow  # type: ignore[arg-type]


@given(st.lists(st.integers(-(10**38) + 1, 10**38 - 1), max_size=6), st.integers(0, 3))
def test_decimals_of_arrow_are_their_units(numbers: list[int], skipped: int) -> None:
    array = ValueColumn(decimal(38, 0), [Decimal(number) for number in numbers]).arrow[skipped:]
    assert wide_units_of(array) == numbers[skipped:]
    assert units_of(array) == numbers[skipped:]


@given(st.lists(st.one_of(st.none(), st.integers(-5, 5)), max_size=6), st.data())
def test_a_column_is_the_same_in_python_and_in_arrow(numbers: list[int | None], data: st.DataObject) -> None:
    for type_ in (SMALLINT, BIGINT, HUGEINT, DOUBLE, decimal(6, 2), decimal(38, 0)):
        whole = [None if number is None else cell_quotient(type_, number, 1) for number in numbers]
        plain = ValueColumn(type_, whole)
        arrow = ValueColumn(type_, arrow=plain.arrow)
        places = np.array(data.draw(st.lists(st.sampled_from(range(len(numbers))))) if numbers else [], dtype=np.int64)
        assert list(plain) == list(arrow) == whole
        assert list(map(type, plain)) == list(map(type, arrow))
        assert plain.taken(places) == arrow.taken(places) == [whole[place] for place in places.tolist()]
        assert plain.known.tolist() == arrow.known.tolist() == [value is not None for value in whole]
        assert np.array_equal(plain.floats, arrow.floats, equal_nan=True)
        if type_ is not DOUBLE:
            assert plain.units == arrow.units == [(number or 0) * 10**type_.scale for number in numbers]
        assert ColumnarRows((plain, arrow), len(whole)) == [(value, value) for value in whole]


@settings(deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=6), st.sampled_from([DOUBLE, decimal(10, 3), BIGINT]))
def test_means_are_those_of_each_group(pairs: list[tuple[int, int]], target: Type) -> None:
    ratio = Ratio((("a", Fraction(1, 180)),), (("b", Fraction(1, 180)),), Fraction(-40, 3), Fraction(220))
    a, b = ([pair[side] for pair in pairs] for side in (0, 1))
    found = MeanEstimate(ratio)._means(
        IntegerColumn.of(a), IntegerColumn.of(b), Fraction(ROW), Output("x", target, ratio, "")
    )
    expected = [cell_mean(target, ratio, *pair) for pair in pairs]
    assert [str(value) for value in found] == [str(value) for value in expected]


PARTS = [
    (((0,),), ()),
    (((0, 1),), ()),
    (((0,), (0, 1), (1,)), ((0, 1),)),
    (((0, 1, 2), (2,)), ((0, 1), (1, 2))),
]


@settings(deadline=None)
@given(st.sampled_from(PARTS), st.lists(st.tuples(*[st.integers(-30, 30)] * 3), max_size=12), st.integers(1, 3))
def test_parts_are_moved_as_those_of_each_group(
    how: tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, int], ...]], rows: list[tuple[int, int, int]], unit: int
) -> None:
    outputs, orders = how
    count = max(part for parts in outputs for part in parts) + 1
    names = [f"s{number}" for number in range(count)]
    own = [Linear(((name, Fraction(1)),), integer=True, minimum=0) for name in names]
    whole = Linear(tuple((name, Fraction(1)) for name in names), integer=True, minimum=0)
    plan = Plan(
        "SELECT …", "duckdb", (), (),
        tuple(Output(f"a{at}", decimal(12, 2), whole, "", parts=parts) for at, parts in enumerate(outputs)),
        None, 1, parts=tuple(Part(one, Fraction(unit)) for one in own), orders=orders,
    )  # fmt: skip
    columns = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    noisy = NoisyTable(((),) * len(rows), columns, dict.fromkeys(names, Laplace(Fraction(3))))
    shown = [[cell_nearest(number, unit) for number in columns[name]] for name in names]
    expected = cells_finished(plan, shown)
    found = finished(noisy, plan, summed=False)
    assert found == expected
    assert measured(noisy, own[0], Fraction(unit)) == (columns["s0"], unit)
    for output in plan.outputs:
        sums = [sum(unit * expected[part][at] for part in output.parts) for at in range(len(rows))]
        assert list(values(output, plan, found)) == [cell_quotient(decimal(12, 2), number, 1) for number in sums]


def test_text_keys_are_rows_again() -> None:
    rows = [("b", 1), (None, 2)]
    keys = ColumnarRows.of((TEXT, INTEGER), rows)
    assert keys == rows
    assert list(keys.taken(np.array([1, 0]))) == rows[::-1]
    assert keys[1] == (None, 2)
    with pytest.raises(IndexError):
        keys[2]
