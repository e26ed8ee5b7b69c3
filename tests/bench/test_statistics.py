"""The comparison of statistics compares what it says: the noise of the plain approach, and the price of the product."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pytest

from .statistics import Product
from .statistics_libraries import WithOpenDP
from .statistics_measured import Given, accuracy
from .statistics_plain import BINS, Plain
from .statistics_questions import (
    CORRELATION,
    DECILES,
    DEVIATION,
    MEAN,
    MEDIAN,
    STATISTICS,
    TOPICS_OF_MOST,
    Statistic,
    make_people,
)


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.duckdb"
    make_people(str(path))
    return path


@pytest.fixture(scope="module")
def connection(people: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    copy = people.with_name("copy.duckdb")
    copy.write_bytes(people.read_bytes())
    with duckdb.connect(str(copy), read_only=True) as connection:
        yield connection


@pytest.mark.parametrize("question", STATISTICS, ids=lambda question: question.name)
def test_nobody_is_beyond_what_is_declared(question: Statistic, connection: duckdb.DuckDBPyConnection) -> None:
    for column, (low, high) in zip(question.read(connection), question.ranges, strict=True):
        assert low <= column.min()
        assert column.max() <= high


@pytest.mark.parametrize("question", [MEAN, DEVIATION, CORRELATION], ids=lambda question: question.name)
def test_at_a_high_price_the_plain_approach_says_the_truth(
    question: Statistic, connection: duckdb.DuckDBPyConnection
) -> None:
    """Its formulas are right, so that all of its error is noise."""
    plain = Plain(question, question.read(connection))
    plain._epsilon = 1e9
    assert plain.answer() == pytest.approx(question.truth(connection), rel=1e-5)


def test_the_noise_of_a_plain_mean_is_that_of_half_the_price(connection: duckdb.DuckDBPyConnection) -> None:
    """By the delta method: Laplace noise of scale 200 on the sum, and of scale 2 on the count."""
    columns, truth = MEAN.read(connection), MEAN.truth(connection)
    plain = Plain(MEAN, columns)
    found = accuracy([Given(plain.answer()) for _ in range(2_000)], truth)
    expected = math.sqrt(2) * math.hypot(200, 2 * truth[0]) / len(columns[0])
    assert found.error == pytest.approx(expected, rel=0.15)


def test_a_plain_quantile_lies_in_the_bin_that_holds_the_truth(connection: duckdb.DuckDBPyConnection) -> None:
    plain = Plain(DECILES, DECILES.read(connection))
    errors = np.abs(np.array(plain.answer()) - DECILES.truth(connection))
    assert (errors < 500_000 / BINS).all()


def test_opendp_answers_at_the_same_price(connection: duckdb.DuckDBPyConnection) -> None:
    """ρ = 1/2 over two sums is σ² = 2 in units of their sensitivity."""
    columns, truth = MEAN.read(connection), MEAN.truth(connection)
    opendp = WithOpenDP(MEAN, columns, "zcdp")
    found = accuracy([Given(opendp.answer()) for _ in range(400)], truth)
    assert found.error == pytest.approx(math.sqrt(2) * math.hypot(100, truth[0]) / len(columns[0]), rel=0.2)
    top = WithOpenDP(TOPICS_OF_MOST, TOPICS_OF_MOST.read(connection), "pure").answer()
    assert len({*top} & {*TOPICS_OF_MOST.truth(connection)}) >= 8


@pytest.mark.parametrize("accounting", ["zcdp", "pure"])
@pytest.mark.parametrize("question", [MEAN, MEDIAN], ids=lambda question: question.name)
def test_the_product_beats_the_plain_approach_at_its_price(
    question: Statistic, accounting: str, people: Path, tmp_path: Path, connection: duckdb.DuckDBPyConnection
) -> None:
    """Half of what is aimed at: few answers. Intervals come in pairs around the number.

    One error that is thirteen scales of Laplace noise, once in 30,000 runs, is too large for fifteen answers; not for
    three times fifteen, one after the other.
    """
    truth = question.truth(connection)
    plain = Plain(question, question.read(connection))
    beside = accuracy([Given(plain.answer()) for _ in range(400)], truth)
    with closing(Product(question, accounting, people, tmp_path)) as product:
        for _ in range(3):
            answers = [product.answer() for _ in range(15)]
            for given in answers:
                ends = zip(given.numbers, given.intervals, strict=True)
                assert all(low <= number <= high for number, (low, high) in ends)
            if beside.error / accuracy(answers, truth).error > question.target / 2:
                return
    pytest.fail("three times the error was more than half of what is aimed at")


def test_coverage_counts_what_intervals_hold() -> None:
    found = accuracy([Given([1.0, 2.0], [(0.0, 3.0), (3.0, 4.0)])] * 2, [2.0, 2.5])
    assert (found.coverage, found.intervals) == (0.5, 4)
