"""Intervals of quantiles: of several that are picked together, of times, and of what is computed from them."""

from __future__ import annotations

import datetime
import math
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest

import dpsql
from dpsql.accounting import PURE, ZCDP
from dpsql.accounting.loss import PrivacyLoss
from dpsql.calibrate.picks import Joined, picked
from dpsql.inference.estimates.picked_quantiles import chosen_column
from dpsql.interfaces.python.connection import Connection
from dpsql.mechanisms.quantiles.one import TooFar
from dpsql.mechanisms.sampling.sampler import ExactSampler
from dpsql.releases.tables import NoisyTable
from rewriter.declared.types import DOUBLE
from rewriter.plan import Choice, Chosen, Output, Plan
from tests.mechanisms.test_quantile import DECILES, choice, ranks_of

PEOPLE = 4_000


@pytest.mark.parametrize("price", [PrivacyLoss(epsilon=Fraction(1)), PrivacyLoss(rho=Fraction(1, 2))])
@pytest.mark.parametrize("fractions", [DECILES, (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))])
def test_intervals_of_quantiles_that_are_picked_together_cover(
    fractions: tuple[Fraction, ...], price: PrivacyLoss
) -> None:
    """Fresh people for every answer. 95 % is expected; below 70 % less than once in 10⁹ runs, by Chernoff's bound over
    the shares of 150 answers: errors of one answer go together, and more so where it has few numbers."""
    random, sampler = np.random.default_rng(len(fractions)), ExactSampler()
    accounting = ZCDP if price.rho else PURE
    one = choice(fractions, 10**6, 1 << 13)
    found = picked(one, accounting, price)
    assert isinstance(found, Joined)
    outputs = tuple(Output(f"a{place}", DOUBLE, Chosen("q0", place), "") for place in range(len(fractions)))
    plan = Plan("", "duckdb", (), (), outputs, None, 1, choices=(one,))
    covered = []
    for _ in range(12 if len(fractions) == len(DECILES) else 30):
        rows = np.sort(np.minimum(random.lognormal(10, 0.7, PEOPLE), 10**6).astype(int)).tolist()
        columns = found.columns({(): ranks_of(rows, one)}, [()], sampler)
        noisy = NoisyTable(((),), {}, {}, {"q0": columns}, {"q0": found.mechanism.noise})
        for place, q in enumerate(fractions):
            column = chosen_column(noisy, plan, outputs[place], Chosen("q0", place), ordered=True)
            value, (down, up) = column.values[0], (column.reaches or ())[0]
            assert isinstance(value, float)
            covered.append(value - down <= rows[math.ceil(q * PEOPLE) - 1] <= value + up)
    assert np.mean(covered) > 0.7


@pytest.mark.parametrize("window", [1 << 10, 1 << 13])
def test_quantiles_at_the_least_price_are_read_without_what_is_around_them(window: int) -> None:
    """There is a price at which quantiles are picked together, and too low to look around them: then the interval is
    the range."""
    fractions = (Fraction(1, 10), Fraction(1, 2))
    one, prices = (
        choice(fractions, 1000, window),
        [Fraction(400, window) * Fraction(9, 10) ** power for power in range(30)],
    )
    found = [picked(one, PURE, PrivacyLoss(epsilon=price)) for price in prices if _is_enough(one, price)]
    alone = [pick for pick in found if isinstance(pick, Joined) and pick.around is None]
    assert alone
    outputs = tuple(Output(f"a{place}", DOUBLE, Chosen("q0", place), "") for place in range(2))
    plan = Plan("", "duckdb", (), (), outputs, None, 1, choices=(one,))
    for pick in alone:
        columns = pick.columns({(): ranks_of(list(range(1000)), one)}, [()], ExactSampler())
        noisy = NoisyTable(((),), {}, {}, {"q0": columns}, {"q0": pick.mechanism.noise})
        for place, output in enumerate(outputs):
            column = chosen_column(noisy, plan, output, Chosen("q0", place), ordered=True)
            value, (down, up) = column.values[0], (column.reaches or ())[0]
            assert value is None or (value - down, value + up) == (0, 1000)


def _is_enough(one: Choice, price: Fraction) -> bool:
    try:
        return bool(picked(one, PURE, PrivacyLoss(epsilon=price)))
    except TooFar:
        return False


@pytest.fixture(scope="module", params=["pure", "zcdp"])
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """People whose wages, births and visits are spread evenly."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        with duckdb.connect(str(path / "people.duckdb")) as database:
            database.execute(
                f"""CREATE TABLE person AS SELECT range AS id, range * 10 AS wage,
                DATE '1950-01-01' + (range // 2)::INTEGER AS born,
                TIMESTAMP '2020-01-01 00:00:00' + INTERVAL (range * 100) SECOND AS seen,
                CASE WHEN range % 2 = 0 THEN 'even' ELSE 'odd' END AS half FROM range({PEOPLE})"""
            )
            database.execute("ALTER TABLE person ADD PRIMARY KEY (id)")
        budget = "accounting: pure" if request.param == "pure" else "delta: 1e-6"
        (path / "policy.yaml").write_text(
            f"database: duckdb:people.duckdb\nledger: sqlite:ledger\nprivacy_unit: person.id\n"
            f"budget: {{epsilon: 100000, {budget}}}\nstatement: {{epsilon: 1, max_epsilon: 2}}\n"
            "tables: {person: {columns: {id: {}, wage: {range: [0, 50000]}, born: {range: [1940-01-01, 1990-12-31]},\n"
            "  seen: {range: ['2019-01-01', '2025-01-01']}, half: {values: [even, odd]}}}}\n"
        )
        with dpsql.connect(path / "policy.yaml") as connected:
            yield connected


def asked(connection: Connection, sql: str) -> tuple[list[str], list[tuple[object, ...]]]:
    with connection.cursor() as cursor:
        cursor.execute("SET dpsql.intervals = on")
        cursor.execute(sql)
        return [column[0] for column in cursor.description or ()], cursor.fetchall()


def test_times_have_intervals_of_times(connection: Connection) -> None:
    names, ((median, low, high, seen, seen_low, seen_high),) = asked(
        connection, "SELECT MEDIAN(born) AS b, MEDIAN(seen) AS s FROM person"
    )
    assert names == ["b", "b_low", "b_high", "s", "s_low", "s_high"]
    assert all(type(one) is datetime.date for one in (median, low, high))
    assert all(type(one) is datetime.datetime for one in (seen, seen_low, seen_high))
    assert low <= median <= high  # type: ignore[operator]
    assert seen_low <= seen <= seen_high  # type: ignore[operator]
    assert seen_low < seen_high  # type: ignore[operator]
    assert high - low < datetime.timedelta(days=200)  # type: ignore[operator]


def test_a_list_of_fractions_has_lists_of_ends(connection: Connection) -> None:
    names, (row,) = asked(
        connection,
        "SELECT PERCENTILE_CONT(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY wage) AS q,"
        " PERCENTILE_DISC(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY born) AS b FROM person",
    )
    assert names == ["q", "q_low", "q_high", "b", "b_low", "b_high"]
    assert all(isinstance(day, datetime.date) for one in row[3:] for day in one)  # type: ignore[attr-defined]
    for lists in (row[:3], row[3:]):
        for low, middle, high in zip(lists[1], lists[0], lists[2], strict=True):  # type: ignore[call-overload]
            assert low <= middle <= high
            assert low < high


@pytest.mark.quick
def test_what_is_computed_from_quantiles_and_what_is_beside_them_has_an_interval(connection: Connection) -> None:
    """The distance of two quartiles is about 20,000: within 2,000 of it, 400 rows, but for once in a million times."""
    _, rows = asked(
        connection,
        "SELECT half, QUANTILE_CONT(wage, 0.75) - QUANTILE_CONT(wage, 0.25) AS spread, SQRT(COUNT(*)) AS root"
        " FROM person GROUP BY half",
    )
    assert len(rows) == 2
    for _, spread, low, high, root, root_low, root_high in rows:
        assert low < spread < high  # type: ignore[operator]
        assert abs(spread - 20_000) < 2_000  # type: ignore[operator]
        assert root_low < root < root_high  # type: ignore[operator]
    # About 3,200 where ε is counted; one in some thousand is three times as long, both of two hardly ever.
    assert min(high - low for _, _, low, high, *_ in rows) < 9_000  # type: ignore[operator]


def test_an_error_may_be_asked_of_quantiles(connection: Connection) -> None:
    """Of a group of 1,000 rows spread over 50,000, a row is 50: the price falls as the error grows."""
    sql = "SELECT QUANTILE_CONT(wage, 0.25) AS a, MEDIAN(wage) AS b, QUANTILE_CONT(wage, 0.75) AS c FROM person"
    prices = []
    with connection.cursor() as cursor:
        for error in (500, 1_500, 4_000):
            cursor.execute(f"SET dpsql.target_error = {error}")
            cursor.execute(f"EXPLAIN {sql}")
            text = "\n".join(line for (line,) in cursor.fetchall())
            prices.append(float(text.split(f"an error of {error} takes ε = ")[1].split()[0].rstrip(";,.")))
        cursor.execute("SET dpsql.target_error = 1")
        cursor.execute(f"EXPLAIN {sql}")  # is a guess, and so no refusal
        assert "may take more than the owner allows" in "\n".join(line for (line,) in cursor.fetchall())
        cursor.execute("RESET dpsql.target_error")
    assert prices == sorted(prices, reverse=True)
    assert len(set(prices)) == 3
