"""Finished outputs: unbiased until the last step, typed, inside their ranges, with margins that hold."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.accounting import ACCOUNTINGS, APPROX, Accounting
from dpsql.calibrate.calibration import calibrate, margins
from dpsql.inference.estimates.columns import infer
from dpsql.inference.estimates.rounding import quotients
from dpsql.mechanisms import Laplace
from dpsql.releases.integer_column import IntegerColumn
from dpsql.releases.tables import NoisyTable, ReleasedColumn
from rewriter.declared.types import BIGINT, DOUBLE, INTEGER, SMALLINT, TEXT, Scalar, Type, decimal
from rewriter.plan import Estimator, Linear, Output, Ratio
from tests.calibrate.plans import block, plan
from tests.mechanisms.laws import draw

COUNT = Linear((("n", Fraction(1)),), integer=True, minimum=0)
ROW = Fraction(1, 180)
MEAN = Ratio((("above", ROW),), (("below", ROW),), Fraction(40), Fraction(220))
COIN = Laplace(Fraction(10))


def finish(estimator: Estimator, target: Type, **columns: list[int]) -> ReleasedColumn:
    rows = len(next(iter(columns.values())))
    noisy = NoisyTable(
        tuple((f"k{row}",) for row in range(rows)),
        {name: tuple(column) for name, column in columns.items()},
        dict.fromkeys(columns, COIN),
    )
    released = infer(noisy, plan(outputs=(Output("x", target, estimator, "x"),)))
    assert released.columns[0] == ReleasedColumn("region", TEXT, tuple(key for (key,) in noisy.keys))
    return released.columns[1]


def typed(number: Fraction, target: Type) -> Scalar:
    found: Scalar = quotients(target)(IntegerColumn.of([number.numerator]), number.denominator)[0]
    return found


def test_counts_are_whole_and_not_negative() -> None:
    column = finish(COUNT, BIGINT, n=[-7, 0, 12])
    assert column.values == (0, 0, 12)
    assert all(type(value) is int for value in column.values)
    assert column.margins == (30.0, 30.0, 30.0)


def test_cells_are_added_before_anything_is_cut_off() -> None:
    both = Linear((("a", Fraction(1)), ("b", Fraction(1))), integer=True, minimum=0)
    assert finish(both, BIGINT, a=[-50], b=[60]).values == (10,)


def test_fractions_are_added_before_anything_is_rounded() -> None:
    thirds = Linear((("a", Fraction(1, 3)), ("b", Fraction(1, 3)), ("c", Fraction(1, 3))), integer=True)
    assert finish(thirds, BIGINT, a=[1], b=[1], c=[1]).values == (1,)
    half = Linear((("a", Fraction(1, 2)),), integer=True)
    assert finish(half, BIGINT, a=[1, 3, -1]).values == (0, 2, 0)


def test_a_statistic_that_is_named_twice_has_one_noise() -> None:
    twice = Linear((("a", Fraction(1)), ("a", Fraction(1))))
    assert finish(twice, DOUBLE, a=[1]).margins == (60.0,)
    gone = Linear((("a", Fraction(1)), ("a", Fraction(-1))))
    assert finish(gone, DOUBLE, a=[1]).margins == (0.0,)


@pytest.mark.parametrize(("target", "expected"), [(DOUBLE, 2.34375), (decimal(15, 2), Decimal("2.34")), (INTEGER, 2)])
def test_sums_take_their_type(target: Type, expected: object) -> None:
    column = finish(Linear((("s", Fraction(1, 64)),)), target, s=[150])
    assert column.values == (expected,)
    assert type(column.values[0]) is type(expected)


@pytest.mark.quick
@settings(deadline=None)
@given(st.fractions(), st.sampled_from([SMALLINT, BIGINT, DOUBLE, decimal(4, 2), decimal(38, 38), decimal(38, 0)]))
def test_a_typed_value_is_of_its_type_and_nearest(number: Fraction, target: Type) -> None:
    value = typed(number, target)
    assert isinstance(value, int | float | Decimal)
    if isinstance(value, Decimal):
        assert value.as_tuple().exponent == -target.scale
        assert len(value.as_tuple().digits) <= target.precision
        if abs(number) < 10 ** (target.precision - target.scale) - 1:
            assert abs(Fraction(value) - number) <= Fraction(1, 2 * 10**target.scale)


@pytest.mark.parametrize("target", [SMALLINT, BIGINT, DOUBLE, decimal(4, 2)])
def test_noise_beyond_a_type_ends_at_its_end(target: Type) -> None:
    high, low = typed(Fraction(10**400), target), typed(Fraction(-(10**400)), target)
    assert isinstance(high, int | float | Decimal)
    assert isinstance(low, int | float | Decimal)
    assert low < 0 < high


def test_means_stay_in_their_range_and_nobody_has_none() -> None:
    column = finish(MEAN, DOUBLE, above=[500, -20, 500, -3, 0, 1], below=[500, 500, -20, 2, 0, -1])
    assert column.values == (130.0, 40.0, 220.0, None, None, None)
    assert column.margins is not None
    assert column.margins[3:] == (180.0, 180.0, 180.0)
    assert all(0 < margin <= 180 for margin in column.margins)


@settings(deadline=None)
@given(st.integers(-(10**12), 10**12), st.integers(-(10**12), 10**12))
def test_a_mean_is_null_or_within_its_range_in_every_type(a: int, b: int) -> None:
    for target in (DOUBLE, decimal(10, 3)):
        (value,) = finish(MEAN, target, above=[a], below=[b]).values
        assert (value is None) == (a + b <= 0)
        assert value is None or 40 <= float(str(value)) <= 220


def test_no_groups_no_rows() -> None:
    assert finish(COUNT, BIGINT, n=[]).values == ()
    assert finish(MEAN, DOUBLE, above=[], below=[]).values == ()


def test_rounded_sums_are_covered() -> None:
    """Counts from a mean's pair are rounded; their margin allows for it."""
    rng = np.random.default_rng(5)
    for scale in (1, 3, 40):
        size = Linear((("a", Fraction(1, 8)), ("b", Fraction(1, 8))), integer=True, minimum=0)
        a, b = draw(rng, "laplace", scale, 20_000), 8 * 37 + draw(rng, "laplace", scale, 20_000)
        noisy = NoisyTable(
            (("k",),) * 20_000,
            {"a": tuple(a.tolist()), "b": tuple(b.tolist())},
            dict.fromkeys("ab", Laplace(Fraction(scale))),
        )
        column = infer(noisy, plan(outputs=(Output("n", BIGINT, size, ""),))).columns[1]
        assert column.margins is not None
        assert (np.abs(np.array(column.values, dtype=float) - 37) <= column.margins[0]).mean() >= 0.945


@pytest.mark.parametrize("accounting", list(ACCOUNTINGS.values()))
def test_predicted_margins_are_those_of_the_answer(accounting: Accounting) -> None:
    step = Fraction(1, 64)
    outputs = (
        Output("n", BIGINT, COUNT, "COUNT(*)"),
        Output("mean", DOUBLE, MEAN.finer(dict.fromkeys(("above", "below"), 64)), "AVG(height)"),
        Output("total", DOUBLE, Linear((("above", step), ("n", Fraction(40)))), "SUM(height)"),
    )
    query = plan(block("n"), block("above", "below", l1=180 * 64, step=step), outputs=outputs)
    price = accounting.price(Fraction(1, 10), Fraction(1, 10**6) if accounting is APPROX else Fraction(0))
    calibration = calibrate(query, accounting, price)
    expected = margins(query, calibration, group_size=2000)
    for share in (Fraction(0), Fraction(1, 10), Fraction(1, 2)):
        whole = 2000 * 180 * 64
        statistics = {"n": (2000,), "above": (int(whole * share),), "below": (int(whole * (1 - share)),)}
        released = infer(NoisyTable((("k",),), statistics, calibration.noise), query)
        actual = {column.name: column.margins[0] for column in released.columns if column.margins}
        assert actual["n"] == expected["n"]
        assert actual["total"] == expected["total"]
        assert 0.5 * expected["mean"] < actual["mean"] <= expected["mean"] * 1.001
