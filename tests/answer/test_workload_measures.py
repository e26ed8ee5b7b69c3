"""Means, sums and deviations of the same rows by different keys, bought as one: one vector in each cell."""

from __future__ import annotations

import math
import random
from contextlib import AbstractContextManager
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest

from dpsql.proxy import Proxy
from tests.doubles import opened_policy
from tests.policies import policy_text

PEOPLE = 3_000
POLICY = policy_text("""
database: duckdb:people.duckdb; ledger: sqlite:{name}.ledger; privacy_unit: person.id; budget: {budget}
statement: {epsilon: 0.5, max_epsilon: 4}
tables:
  person: id, region [N, E, S, W], plan [free, pro, max], segment [std, vip], amount 0..100, rest -50..20
""")
PURE = "{epsilon: 100, accounting: pure}"
BUDGETS = ("{epsilon: 100, delta: 1e-6}", PURE)
MEANS = (
    "SELECT AVG(amount) AS n FROM person",
    "SELECT region, AVG(amount) AS n FROM person GROUP BY region",
    "SELECT plan, AVG(amount) AS n FROM person GROUP BY plan",
    "SELECT region, plan, AVG(amount) AS n FROM person GROUP BY region, plan",
    "SELECT plan, AVG(amount) AS n FROM person WHERE segment = 'vip' GROUP BY plan",
)
SUMS = (
    "SELECT COUNT(*) AS c, SUM(rest) AS n FROM person",
    "SELECT region, COUNT(*) AS c, SUM(rest) AS n FROM person GROUP BY region",
    "SELECT plan, COUNT(*) AS c, SUM(rest) AS n FROM person GROUP BY plan",
    "SELECT region, plan, COUNT(*) AS c, SUM(rest) AS n FROM person GROUP BY plan, region",
    "SELECT region, COUNT(*) AS c, SUM(rest) AS n FROM person WHERE plan = 'pro' GROUP BY region",
)
DEVIATIONS = (
    "SELECT STDDEV(amount) AS n FROM person",
    "SELECT segment, STDDEV(amount) AS n FROM person GROUP BY segment",
    "SELECT plan, STDDEV(amount) AS n FROM person GROUP BY plan",
    "SELECT plan, segment, STDDEV(amount) AS n FROM person GROUP BY plan, segment",
)
MIXED = (
    "SELECT COUNT(*) AS n FROM person",
    "SELECT region, COUNT(*) AS n FROM person GROUP BY region",
    "SELECT p.region, AVG(p.amount) AS n FROM person AS p GROUP BY p.region",
    "SELECT plan, SUM(amount) AS n FROM person GROUP BY plan",
    "SELECT plan, COUNT(*) AS c, AVG(amount) AS n FROM person GROUP BY plan",
    "SELECT AVG(amount) AS n FROM person WHERE segment = 'vip'",
    "SELECT plan, COUNT(DISTINCT id) AS n FROM person WHERE segment = 'vip' GROUP BY plan",
)
"""Counts, sums and means of one value: read off one vector in each cell."""
NULLS = (
    "SELECT region, COUNT(rest) AS n FROM person GROUP BY region",
    "SELECT plan, AVG(rest) AS n FROM person GROUP BY plan",
    "SELECT region, plan, AVG(rest) AS n FROM person GROUP BY region, plan",
    "SELECT region, SUM(rest) AS n FROM person GROUP BY region",
    "SELECT plan, COUNT(rest) AS c, SUM(rest) AS n, AVG(rest) AS d FROM person GROUP BY plan",
)
"""The same of a value that is NULL for some."""
EVERY = (MEANS, SUMS, DEVIATIONS, MIXED, NULLS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made, drawn = tmp_path_factory.mktemp("people"), random.Random(3)
    with duckdb.connect(str(made / "people.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, region ENUM ('N', 'E', 'S', 'W') NOT NULL,"
            " plan ENUM ('free', 'pro', 'max') NOT NULL, segment ENUM ('std', 'vip') NOT NULL, amount INTEGER NOT NULL,"
            " rest INTEGER)"
        )
        people = [
            f"({number}, '{drawn.choice('NNNESW')}', '{drawn.choice(['free', 'free', 'pro', 'max'])}',"
            f" '{drawn.choice(['std', 'std', 'vip'])}', {drawn.randrange(101)},"
            f" {drawn.choice([-50, -7, 0, 20, 'NULL'])})"
            for number in range(PEOPLE)
        ]
        connection.execute(f"INSERT INTO person VALUES {', '.join(people)}")
    return made


def opened(folder: Path, budget: str = BUDGETS[0], *, silent: bool = False) -> AbstractContextManager[Proxy]:
    return opened_policy(folder, POLICY, silent=silent, budget=budget)


def truth(folder: Path, sql: str) -> dict[tuple[object, ...], tuple[float, ...]]:
    with duckdb.connect(str(folder / "people.duckdb"), read_only=True) as known:
        read = known.execute(sql)
        keys = sum(one[0] not in {"n", "c", "d"} for one in read.description or ())
        return {tuple(row[:keys]): row[keys:] for row in read.fetchall()}


@pytest.mark.spread
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("statements", EVERY)
def test_means_sums_and_deviations_are_one_charge_and_free_from_then_on(
    folder: Path, statements: tuple[str, ...], budget: str
) -> None:
    with opened(folder, budget) as proxy:
        session = proxy.session()
        plan, charged = session.buy(statements, Fraction(1))
        assert sum(one.joined for one in plan.statements) >= len(statements) - (statements is NULLS and budget is PURE)
        assert charged == plan.loss
        [one] = proxy.ledger.charges(limit=10)
        assert one.loss == charged
        for sql in statements:
            assert not session.execute(sql).price, sql
        squares = [
            (one.alone[place], one.together[place])
            for one in plan.statements
            for place in range(len(one.columns))
            if one.alone[place]
        ]
        alone, together = np.square(np.array(squares, dtype=float)).sum(axis=0)
        assert together < 0.8 * alone


@pytest.mark.parametrize("statements", EVERY)
def test_without_noise_the_answers_are_those_of_the_database(folder: Path, statements: tuple[str, ...]) -> None:
    """And so are later questions about fewer rows and in other words, whatever the order of statistics there."""
    what = (
        "AVG(rest) AS n" if statements is NULLS else statements[0].removeprefix("SELECT ").removesuffix(" FROM person")
    )
    later = (
        f"SELECT {what} FROM person WHERE plan = 'pro'",
        f"SELECT plan IN ('pro', 'max'), {what} FROM person GROUP BY 1",
        f"SELECT {what} FROM person WHERE plan <> 'max'",
    )
    if statements is MIXED:
        later += (
            "SELECT region, COUNT(*) AS c, SUM(amount) AS n, AVG(amount) AS d FROM person GROUP BY region",
            "SELECT plan, SUM(amount) AS n FROM person WHERE segment = 'std' GROUP BY plan",
        )
    truths = {sql: truth(folder, sql) for sql in (*statements, *later)}
    with opened(folder, silent=True) as proxy:
        session = proxy.session()
        session.buy(statements, Fraction(4))
        session.change("dpsql.consistent", "off")
        for sql, known in truths.items():
            answer = session.execute(sql)
            assert not answer.price, sql
            width = len(next(iter(known)))
            shown = {tuple(row[:width]): row[width:] for row in answer.rows}
            assert shown.keys() == known.keys()
            for key, numbers in known.items():
                assert shown[key] == pytest.approx(tuple(map(float, numbers)), rel=1e-3), (sql, key)


@pytest.mark.parametrize("purchases", [3, pytest.param(12, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("statements", EVERY)
def test_error_bars_hold_what_they_say(folder: Path, statements: tuple[str, ...], purchases: int) -> None:
    """The bound is three standard deviations of a third of the numbers, since those of one purchase go together."""
    known = {sql: truth(folder, sql) for sql in statements}
    inside: list[bool] = []
    for _ in range(purchases):
        with opened(folder) as proxy:
            session = proxy.session()
            session.buy(statements, Fraction(1, 2))
            for sql in statements:
                answer = session.execute(sql)
                assert not answer.price
                for row, margins in zip(answer.rows, answer.margins, strict=True):
                    width = len(next(iter(known[sql])))
                    right = known[sql].get(tuple(row[:width]))
                    if right is None:
                        continue
                    for number, margin, exact in zip(row[width:], margins[width:], right, strict=True):
                        assert margin is not None
                        inside.append(abs(float(number) - float(exact)) <= margin)  # type: ignore[arg-type]
    assert len(inside) > 10 * purchases
    assert np.mean(inside) > 0.95 - 3 * math.sqrt(0.05 * 0.95 / (len(inside) / 3))


def test_counts_of_one_vector_agree_whatever_they_were_bought_for(folder: Path) -> None:
    with opened(folder) as proxy:
        session = proxy.session()
        plan, _ = session.buy(MIXED, Fraction(1))
        assert len({one.plan.blocks for one in plan.priced.calibrations}) == 1, "one vector in all tables"
        [[total]] = session.execute(MIXED[0]).rows
        plans = session.execute(MIXED[4]).rows
        both = session.execute("SELECT plan, segment, COUNT(*) FROM person GROUP BY 1, 2")
        assert not both.price
        assert total == sum(row[1] for row in plans) == sum(row[2] for row in both.rows)  # type: ignore[misc]
        for name, number, _ in plans:
            assert number == sum(row[2] for row in both.rows if row[0] == name)  # type: ignore[misc]
