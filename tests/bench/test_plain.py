"""What others are measured by must itself be right: the plain approach's noise, its bounds, and everybody's truth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest

from .accuracy import Product, copied
from .accuracy_data import make_people
from .accuracy_measured import accuracy, measured
from .accuracy_questions import (
    FOUR_COUNTS,
    QUESTIONS,
    QUESTIONS_OF_ORDERS,
    QUESTIONS_OF_PEOPLE,
    Counts,
    Question,
)
from .kept import Kept
from .plain import Plain, noise_scale, predicted, sampled, sensitivity
from .with_opendp import WithOpenDP

_ORDERS = """
CREATE TABLE orders (o_custkey BIGINT NOT NULL, o_orderdate DATE NOT NULL, o_orderpriority VARCHAR NOT NULL);
INSERT INTO orders SELECT i * i % 97, DATE '1992-01-01' + CAST(i * 37 % 2406 AS INTEGER),
    ['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'][1 + i % 5] FROM range(4000) t(i);
INSERT INTO orders SELECT 1000, DATE '1995-05-05', '5-LOW' FROM range(300);
INSERT INTO orders SELECT 1001, DATE '1992-01-01' + CAST(i * 8 AS INTEGER), '2-HIGH' FROM range(300) t(i);
"""


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.duckdb"
    make_people(str(path))
    return path


@pytest.fixture(scope="module")
def connection(people: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Both tables; two customers have far more orders than any policy allows."""
    with copied("person", people) as connection:
        connection.execute(_ORDERS)
        yield connection


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_the_counts_of_a_question_are_its_own_sql_without_privacy(
    question: Question, connection: duckdb.DuckDBPyConnection
) -> None:
    """The cells that SQL does not list are empty groups."""
    truth = question.truth(connection)
    asked = question.by_cell(connection.execute(question.sql).fetchall())
    assert asked == {cell: number for cell, number in truth.items() if cell in asked}
    assert not any(number for cell, number in truth.items() if cell not in asked)
    assert len(truth) == len(question.cells)


@pytest.mark.parametrize("question", QUESTIONS_OF_PEOPLE, ids=lambda question: question.name)
def test_noise_has_the_variance_that_an_even_split_of_epsilon_makes(
    question: Question, connection: duckdb.DuckDBPyConnection
) -> None:
    shares = len(question.counts)
    found = measured(Plain(question, connection).answer, question.truth(connection), 0.4, 8)
    assert predicted(question) == pytest.approx(math.sqrt(2) * shares / float(question.epsilon))
    assert abs(found.rmse - predicted(question)) < 5 * found.uncertainty


def test_noise_has_the_tails_of_laplace(connection: duckdb.DuckDBPyConnection) -> None:
    """The mean of |x| is the scale, which tells it from any other law of the same variance."""
    truth = FOUR_COUNTS.truth(connection)
    plain = Plain(FOUR_COUNTS, connection)
    sizes = np.array([abs(value - truth[cell]) for _ in range(5000) for cell, value in plain.answer().items()])
    scale = noise_scale(FOUR_COUNTS, FOUR_COUNTS.counts[0])
    assert abs(sizes.mean() - scale) < 5 * scale / math.sqrt(len(sizes))


@pytest.mark.parametrize("question", QUESTIONS_OF_ORDERS, ids=lambda question: question.name)
@pytest.mark.parametrize("rows", [45, 5])
def test_no_person_moves_the_counts_by_more_than_the_sensitivity(
    question: Question, rows: int, connection: duckdb.DuckDBPyConnection
) -> None:
    """Whoever has 300 orders, in one group or in many; and the worst of them moves them by all of it."""
    question = replace(question, rows=rows)
    (counts,) = question.counts
    moved = []
    for person in (1000, 1001):
        alone = replace(question, table=f"(SELECT * FROM orders WHERE o_custkey = {person})")
        moved.append(sum(question.exact(connection, counts, sampled(alone, counts)).values()))
    assert max(moved) == sensitivity(question, counts)


def test_the_smaller_of_the_two_bounds_is_taken(connection: duckdb.DuckDBPyConnection) -> None:
    """A single group with at most 20 rows of a person is less than 45 rows."""
    priority = QUESTIONS_OF_ORDERS[1]
    one = replace(priority, keys=(replace(priority.keys[0], values=("5-LOW",)),))
    where = Counts(where="o_orderpriority = '5-LOW'", by=("priority",))
    assert sensitivity(one, where) == 20
    alone = replace(one, table="(SELECT * FROM orders WHERE o_custkey = 1000)")
    assert one.exact(connection, where, sampled(alone, where)) == {("5-LOW",): 20}


@pytest.mark.parametrize(("accounting", "variance"), [("zcdp", 4 / 0.1**2), ("pure", 2 * (4 / 0.1) ** 2)])
def test_opendp_splits_the_same_price(accounting: str, variance: float, connection: duckdb.DuckDBPyConnection) -> None:
    """ρ = ε²/2 over four counts is σ² = 4/ε² each; ε over four is a scale of 4/ε."""
    truth = FOUR_COUNTS.truth(connection)
    found = measured(WithOpenDP(FOUR_COUNTS, connection, accounting).answer, truth, 1.0, 8)
    assert abs(found.rmse - math.sqrt(variance)) < 5 * found.uncertainty


@pytest.mark.parametrize("accounting", ["zcdp", "pure"])
def test_the_product_answers_every_cell_at_the_same_price(accounting: str, people: Path, tmp_path: Path) -> None:
    with copied("person", people) as connection:
        truth = FOUR_COUNTS.truth(connection)
    with Product(FOUR_COUNTS, accounting, people, tmp_path) as product:
        found = measured(product.answer, truth, 0.0, 3)
    assert found.repetitions == 3
    assert 0 < found.rmse < 5 * predicted(FOUR_COUNTS)


def test_errors_of_levels_are_told_apart() -> None:
    found = accuracy(np.array([[3.0, -4.0, 0.0], [3.0, 4.0, 0.0]]), np.array([10.0, 8.0, 0.0]), [1, 0, 1])
    assert found.rmse == pytest.approx(math.sqrt(25 / 3))
    assert found.levels == {"0": 4.0, "1": math.sqrt(4.5)}
    assert found.median_relative == pytest.approx(0.4)
    assert found.uncertainty == 0


def test_rows_are_drawn_anew_where_somebody_loses_some(connection: duckdb.DuckDBPyConnection) -> None:
    month = QUESTIONS_OF_ORDERS[0]
    drawn, never = (Kept(replace(month, rows=rows, rows_per_group=300), connection, sampled) for rows in (45, 300))
    assert drawn.read(month.counts[0]) != drawn.read(month.counts[0])
    assert never.read(month.counts[0]) is never.read(month.counts[0])
