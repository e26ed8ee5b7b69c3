"""Running sums are measured as such: never less private, never biased, and far more accurate than adding up groups."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import pytest
from sqlglot import exp

from dpsql.accounting import PURE, ZCDP, Accounting
from dpsql.accounting.loss import PrivacyLoss
from dpsql.calibrate.calibration import calibrate
from dpsql.inference.estimates.columns import infer
from dpsql.inference.estimates.running_estimates import group_variances, prefix_variances, running_half_widths
from dpsql.mechanisms import Gaussian
from dpsql.mechanisms.mechanism import Draws
from dpsql.perturb import perturb
from dpsql.proxy import Proxy
from dpsql.releases import IntegerColumn
from dpsql.releases.tables import ExactTable, NoisyTable
from dpsql.testing import Measurement, measure
from rewriter.declared.catalog import Catalog
from rewriter.declared.contribution import Norm
from rewriter.dialects.duckdb import DUCKDB
from rewriter.split.splitter import split
from rewriter.statement.parser import Select, parse
from rewriter.strategies.prefix_strategies import Prefix, PrefixStrategy, Toeplitz, Tree, best_tree, convolved
from tests.doubles import open_without_noise
from tests.mechanisms.laws import draw
from tests.new_databases import new_database

DAYS = 30
VISITS = 3
"""Of one person."""

BY_DAY = "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) AS total FROM person GROUP BY day"
STRATEGIES = (Toeplitz(1), Toeplitz(2), Toeplitz(40), Tree(40, 3, 3), Tree(40, 16, 2), Tree(5, 7, 1),
              Toeplitz(40, 7), Toeplitz(40, 3), Toeplitz(3, 2), Tree(40, 6, 2, 20))  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """People with one day each, and three visits each, some of these without a day: every group has somebody."""
    with new_database(tmp_path / "clinic.duckdb") as connection:
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, day DATE NOT NULL, sex TEXT NOT NULL, weight INTEGER)"
        )
        connection.execute(
            f"INSERT INTO person SELECT i, DATE '2025-01-01' + ((i * i + i // 60) % {DAYS})::INT,"
            " CASE WHEN (i // 30) % 3 = 0 THEN 'F' ELSE 'M' END, 40 + i % 50 FROM range(1800) t(i)"
        )
        connection.execute(
            "CREATE TABLE visit (person_id INTEGER REFERENCES person (id), day DATE, cost DECIMAL(8, 2), change DOUBLE)"
        )
        connection.execute(
            "INSERT INTO visit SELECT i % 1800, CASE WHEN i % 97 > 0 THEN DATE '2025-01-01' + (i % 29 + i % 2)::INT END,"
            f" (i % 700) / 7.0, (i % 64) / 8.0 - 4 FROM range({1800 * VISITS}) t(i)"
        )
    return tmp_path


def policy(folder: Path, accounting: str = "zcdp") -> Path:
    delta = "" if accounting == "pure" else "delta: 1e-6, "
    path = folder / f"{accounting}.yaml"
    path.write_text(
        f"""
database: duckdb:clinic.duckdb
ledger: sqlite:{accounting}.ledger
privacy_unit: person.id
budget: {{epsilon: 1000, {delta}accounting: {accounting}}}
statement: {{epsilon: 1, max_epsilon: 10}}
tables:
  person:
    columns:
      id: {{}}
      day: {{range: [2025-01-01, 2025-01-{DAYS}]}}
      sex: {{values: [F, M]}}
      weight: {{range: [40, 90]}}
  visit:
    unit: person_id -> person.id
    max_rows: {VISITS}
    columns: {{person_id: {{}}, day: {{range: [2025-01-01, 2025-01-{DAYS}]}}, cost: {{range: [0, 100]}}, change: {{range: [-4, 4]}}}}
"""
    )
    return path


@contextmanager
def opened(path: Path) -> Iterator[Catalog]:
    proxy = open_without_noise(path)
    try:
        yield proxy.catalog
    finally:
        proxy.close()


# What is measured


def matrix(strategy: PrefixStrategy, steps: int) -> np.ndarray:
    """B, column by column."""
    return np.array([strategy.measured([int(row == column) for row in range(steps)]) for column in range(steps)]).T


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_no_column_is_longer_than_declared(strategy: PrefixStrategy) -> None:
    for steps in (1, strategy.steps // 2, strategy.steps):
        found = matrix(strategy, steps) if steps else np.zeros((0, 1), dtype=int)
        assert np.abs(found).sum(axis=0).max() <= strategy.l1
        assert (found * found).sum(axis=0).max() <= strategy.l2_squared
    whole = matrix(strategy, strategy.steps)
    assert np.abs(whole).sum(axis=0).max() == strategy.l1
    assert (whole * whole).sum(axis=0).max() == strategy.l2_squared


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_no_unit_moves_what_is_measured_further_than_declared(strategy: PrefixStrategy) -> None:
    """The worst vectors of an L1 norm, over several series."""
    prefix = Prefix(strategy, (1,), descending=True)
    keys = [(sex, day) for sex in "fm" for day in range(strategy.steps)]
    random = Random(5)
    for _ in range(30):
        vector = [0] * len(keys)
        for _ in range(7):
            vector[random.randrange(len(keys))] += random.choice([1, 1, -1])
        most = prefix.sensitivity(sum(map(abs, vector)))
        moved = prefix.measured(vector, keys)
        assert most.l1 is not None
        assert sum(map(abs, moved)) <= most.l1
        assert sum(move * move for move in moved) <= most.l2_squared


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_the_variances_are_those_of_least_squares(strategy: PrefixStrategy) -> None:
    for steps in {1, (strategy.steps + 1) // 2, strategy.steps}:
        measured = matrix(strategy, steps).astype(float)
        covariance = np.linalg.inv(measured.T @ measured)
        below = np.tril(np.ones((steps, steps)))
        prefix = Prefix(strategy, (0,), descending=False)
        keys = [(day,) for day in range(steps)]
        noise = Gaussian(Fraction(50))
        assert np.allclose(prefix_variances(prefix, keys, noise), 2500 * np.diag(below @ covariance @ below.T))
        assert np.allclose(group_variances(prefix, keys, noise), 2500 * np.diag(covariance))


@pytest.mark.parametrize("steps", [3, 30, 365])
def test_the_predicted_variance_is_not_far_from_the_true_one(steps: int) -> None:
    for strategy in (Toeplitz(steps), best_tree(steps, squared=False)):
        assert strategy is not None
        prefix = Prefix(strategy, (0,), descending=False)
        true = prefix_variances(prefix, [(day,) for day in range(steps)], Gaussian(Fraction(100))).mean() / 1e4
        assert true <= strategy.variance * 1.001
        assert strategy.variance <= 1.2 * true


def test_a_convolution_is_exact_at_any_size() -> None:
    random = Random(1)
    for size in (0, 1, 2, 9):
        for reach in (0, 1, 10**3, 10**30):
            one = [random.randint(-reach, reach) for _ in range(size)]
            other = [random.randint(-100, 500) for _ in range(size)]
            expected = [sum(one[j] * other[i - j] for j in range(i + 1)) for i in range(size)]
            assert convolved(one, other) == expected


# Which statements

RUNNING = {
    BY_DAY: (0, False),
    "SELECT day, SUM(SUM(weight)) OVER (ORDER BY day) FROM person GROUP BY day": (0, False),
    "SELECT day, SUM(n) OVER (ORDER BY day) FROM (SELECT day, COUNT(*) AS n FROM person GROUP BY day) t": (0, False),
    "WITH t AS (SELECT day AS d, COUNT(*) AS n FROM person GROUP BY day) SELECT d, SUM(n) OVER w FROM t WINDOW w AS"
    " (ORDER BY d)": (0, False),
    "SELECT * FROM (SELECT *, SUM(n) OVER (ORDER BY day ROWS UNBOUNDED PRECEDING) FROM"
    " (SELECT day, COUNT(*) AS n FROM person GROUP BY 1) a) b LIMIT 1000": (0, False),
    "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM person"
    " GROUP BY day": (0, False),
    "SELECT day, 100.0 * SUM(COUNT(*)) OVER (ORDER BY day) / SUM(COUNT(*)) OVER () FROM person GROUP BY day": (0, False),
    "SELECT sex, day, SUM(COUNT(*)) OVER (PARTITION BY sex ORDER BY day) FROM person GROUP BY sex, day": (1, False),
    "SELECT day, sex, SUM(COUNT(*)) OVER (ORDER BY day) FROM person GROUP BY day, sex": (0, False),
    "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day DESC) FROM person GROUP BY day": (0, True),
    "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM person"
    " GROUP BY day": (0, True),
    "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day DESC ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM person"
    " GROUP BY day": (0, False),
    "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day), SUM(COUNT(*) FILTER (WHERE sex = 'F')) OVER (ORDER BY day)"
    " FROM person GROUP BY day": (0, False),
}  # fmt: skip

DIRECT = (
    "SELECT day, COUNT(*) FROM person GROUP BY day",
    "SELECT day, SUM(COUNT(*)) OVER () FROM person GROUP BY day",
    "SELECT day, AVG(COUNT(*)) OVER (ORDER BY day) FROM person GROUP BY day",
    "SELECT day, SUM(AVG(weight)) OVER (ORDER BY day) FROM person GROUP BY day",
    "SELECT day, SUM(COUNT(*)) OVER (ORDER BY COUNT(*)) FROM person GROUP BY day",
    "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM visit"
    " GROUP BY ROLLUP (day)",
    "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day ROWS BETWEEN 9 PRECEDING AND 3 PRECEDING) FROM person GROUP BY day",
    "SELECT day, SUM(COUNT(*)) OVER (PARTITION BY day ORDER BY day) FROM person GROUP BY day",
    "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day DESC NULLS LAST) FROM visit GROUP BY day",
    "SELECT sex, SUM(COUNT(*)) OVER (ORDER BY sex) FROM person GROUP BY sex",
    "SELECT day, SUM(COUNT(*) + 1) OVER (ORDER BY day) FROM person GROUP BY day",
    "SELECT day, sex, SUM(COUNT(*)) OVER (ORDER BY day) FROM person GROUP BY ROLLUP (day, sex)",
)


@pytest.mark.parametrize("sql", RUNNING)
def test_a_running_sum_is_recognised(sql: str, folder: Path) -> None:
    (measured,) = measure(sql, policy(folder))
    order, descending = RUNNING[sql]
    for block in measured.plan.blocks:
        assert block.prefix == Prefix(Toeplitz(DAYS), (order,), descending)


@pytest.mark.parametrize("sql", DIRECT)
def test_anything_else_is_measured_group_by_group(sql: str, folder: Path) -> None:
    for measured in measure(sql, policy(folder)):
        assert all(block.prefix is None for block in measured.plan.blocks)


def test_a_running_release_is_another_one_than_a_plain_one(folder: Path) -> None:
    plans = [measure(sql, policy(folder))[0].plan for sql in (BY_DAY, DIRECT[0])]
    assert plans[0].sql == plans[1].sql
    assert plans[0].identity != plans[1].identity


def test_a_person_with_many_days_and_a_small_l2_norm_is_measured_directly(folder: Path) -> None:
    path = policy(folder)
    path.write_text(path.read_text().replace(f"max_rows: {VISITS}", "max_rows: 25\n    max_rows_per_group: 1"))
    (measured,) = measure(BY_DAY.replace("person", "visit"), path)
    assert measured.plan.blocks[0].prefix is None


# Answers


def oracle(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(folder / "clinic.duckdb"), config={"default_null_order": "postgres"}) as connection:
        return connection.execute(sql).fetchall()


EXACT = (
    *RUNNING,
    "SELECT day, COUNT(*), SUM(COUNT(*)) OVER (ORDER BY day), SUM(COUNT(*)) OVER (ORDER BY day DESC) FROM visit"
    " GROUP BY day",
    "SELECT day, SUM(cost), SUM(SUM(cost)) OVER (ORDER BY day) FROM visit GROUP BY day",
    "SELECT day, SUM(change), SUM(SUM(change)) OVER (ORDER BY day) FROM visit GROUP BY day",
    "SELECT day, COUNT(DISTINCT person_id), SUM(COUNT(DISTINCT person_id)) OVER (ORDER BY day) FROM visit GROUP BY day",
    "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day), AVG(weight), SUM(SUM(weight)) OVER (ORDER BY day) FROM person"
    " GROUP BY day",
)


@pytest.mark.parametrize(
    "accounting", ["zcdp", *(pytest.param(one, marks=pytest.mark.campaign) for one in ("pure", "approx"))]
)
def test_without_noise_an_answer_is_the_engines_own(accounting: str, folder: Path) -> None:
    wanted = {sql: oracle(folder, sql) for sql in EXACT}
    proxy = open_without_noise(policy(folder, accounting))
    try:
        session = proxy.session()
        for consistent, (sql, rows) in itertools.product(("on", "off"), wanted.items()):
            session.execute(f"SET dpsql.consistent = {consistent}")
            assert plain(session.execute(sql).rows) == plain(rows), sql
    finally:
        proxy.close()


NOBODY = "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) FROM person WHERE day > DATE '2030-01-01' GROUP BY day"


@pytest.mark.parametrize("accounting", ["zcdp", "pure"])
def test_no_groups_have_no_running_sums(accounting: str, folder: Path) -> None:
    proxy = Proxy.open(policy(folder, accounting))
    try:
        assert proxy.session().execute(NOBODY).rows == ()
    finally:
        proxy.close()


@pytest.mark.parametrize("down", ["", " DESC", " DESC NULLS LAST", " NULLS FIRST"])
def test_a_group_of_missing_keys_stands_where_the_order_puts_it(down: str, folder: Path) -> None:
    """Monotone in the order of the window, and exact without noise, wherever NULL comes."""
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE note (person_id INTEGER REFERENCES person (id), page INTEGER)")
        connection.execute("INSERT INTO note SELECT i, CASE WHEN i % 20 > 0 THEN i % 20 END FROM range(400) t(i)")
    path = policy(folder)
    pages = ", ".join(map(str, range(1, 20)))
    path.write_text(
        f"{path.read_text()}  note: {{unit: person_id -> person.id, max_rows: 1, "
        f"columns: {{person_id: {{}}, page: {{values: [{pages}, null]}}}}}}\n"
    )
    sql = f"SELECT page, SUM(COUNT(*)) OVER (ORDER BY page{down}) AS total FROM note GROUP BY page ORDER BY page{down}"
    wanted = oracle(folder, sql)
    exact, noisy = open_without_noise(path), Proxy.open(path)
    try:
        assert plain(exact.session().execute(sql).rows) == plain(wanted)
        session = noisy.session()
        session.execute("SET dpsql.reuse = off")
        session.execute("SET dpsql.epsilon = 0.1")
        sums = [row[1] for row in session.execute(sql).rows]
        assert len(sums) == 20
        assert sums == sorted(sums)
    finally:
        exact.close()
        noisy.close()


def plain(rows: object) -> list[tuple[object, ...]]:
    """In one order and one arithmetic."""
    assert isinstance(rows, list | tuple)
    numbers = int | float | Decimal
    found = [tuple(round(float(v), 4) if isinstance(v, numbers) else v for v in row) for row in rows]
    return sorted(found, key=repr)


def test_a_running_sum_never_falls_and_ends_with_the_sum_of_its_groups(folder: Path) -> None:
    sql = "SELECT sex, day, COUNT(*), SUM(COUNT(*)) OVER (PARTITION BY sex ORDER BY day) FROM person GROUP BY 1, 2"
    proxy = Proxy.open(policy(folder))
    try:
        session = proxy.session()
        session.execute("SET dpsql.epsilon = 0.005")  # none of 60 groups is measured below 0 once in 10¹⁶ runs
        rows = sorted(session.execute(sql).rows)
        total = 0
        for place, (sex, _, count, running) in enumerate(rows):
            total = count + (total if place and rows[place - 1][0] == sex else 0)
            assert count >= 0
            assert running == total
        again = session.execute(sql)
        assert sorted(again.rows) == rows
        assert not again.price, "what was released is answered again, for free"
        session.execute("SET dpsql.consistent = off")
        raw = session.execute(sql)
        assert not raw.price
        assert sorted(raw.rows) != rows
        assert min(row[2] for row in raw.rows) < 0
    finally:
        proxy.close()


# Accuracy


class Fast:
    """Draws for simulations only. The Gaussian ones span thousands of steps, whose edges do not show."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(20261121)

    def draw(self, law: Any) -> Any:
        assert isinstance(law, Draws)
        name, scale = law.mechanism.name, law.mechanism.scale
        if name == "laplace":
            return IntegerColumn.of([int(n) for n in draw(self._rng, name, float(scale), law.count)])
        assert scale > 1000
        return IntegerColumn.nearest_to(self._rng.normal(0, float(scale), law.count))


def released(measured: Measurement, accounting: Accounting, consistent: bool, times: int) -> Iterator[np.ndarray]:
    """The running sums of repeated releases at ε = 1, a column of groups each."""
    epsilon = Fraction(1)
    price = PrivacyLoss(rho=epsilon**2 / 2) if accounting is ZCDP else PrivacyLoss(epsilon=epsilon)
    keys = tuple(measured.groups)
    names = [statistic.name for statistic in measured.plan.statistics]
    exact = ExactTable(keys, {name: tuple(measured.groups[key][name] for key in keys) for name in names})
    calibration = calibrate(measured.plan, accounting, price)
    sampler = Fast()
    for _ in range(times):
        table = infer(perturb(exact, calibration, sampler), measured.plan, consistent=consistent)
        yield np.cumsum([float(value) for value in table.columns[-1].values])  # type: ignore[arg-type]


def errors(measured: Measurement, accounting: Accounting, *, consistent: bool, times: int) -> np.ndarray:
    (statistic,) = measured.plan.statistics
    truth = np.cumsum([float(row[statistic.name] * statistic.granularity) for row in measured.groups.values()])
    return np.array([sums - truth for sums in released(measured, accounting, consistent, times)])


def plain_error(rows: int) -> float:
    """The RMSE of Laplace noise with ε = 1 split evenly over the running sums; one row moves all that follow."""
    return DAYS * rows * 2**0.5


@pytest.mark.parametrize(("sql", "rows", "least"), [(BY_DAY, 1, 15), (BY_DAY.replace("person", "visit"), VISITS, 15)])
def test_thirty_days_are_fifteen_times_more_accurate(sql: str, rows: int, least: float, folder: Path) -> None:
    (measured,) = measure(sql, policy(folder))
    found = errors(measured, ZCDP, consistent=True, times=150)
    gain = plain_error(rows) / np.sqrt(np.square(found).mean())
    assert gain >= least, f"{gain:.1f} times"


@pytest.mark.parametrize("accounting", [ZCDP, PURE])
def test_unbiased_running_sums_have_the_variances_that_are_said(accounting: Accounting, folder: Path) -> None:
    times = 600
    path = policy(folder, str(accounting))
    (measured,) = measure(BY_DAY, path, norm=Norm.L2 if accounting is ZCDP else Norm.L1)
    (block,) = measured.plan.blocks
    if accounting is PURE:
        assert block.prefix is None, "thirty days do not pay for a tree"
        path.write_text(path.read_text().replace(f"2025-01-{DAYS}", "2025-04-30"))
        (measured,) = measure(BY_DAY, path, norm=Norm.L1)
        (block,) = measured.plan.blocks
        assert isinstance(block.prefix and block.prefix.strategy, Tree)
    assert block.prefix is not None
    found = errors(measured, accounting, consistent=False, times=times)
    price = PrivacyLoss(rho=Fraction(1, 2)) if accounting is ZCDP else PrivacyLoss(epsilon=Fraction(1))
    (noise,) = calibrate(measured.plan, accounting, price).noise.values()
    said = prefix_variances(block.prefix, list(measured.groups), noise)
    assert np.abs(found.mean(axis=0) / np.sqrt(said / times)).max() < 5, "biased"
    # 1/12 more, since a running sum is rounded
    assert np.abs(np.square(found).mean(axis=0) / (said + 1 / 12) - 1).max() < 5 * (6 / times) ** 0.5
    assert np.square(found).mean() == pytest.approx((said + 1 / 12).mean(), rel=0.12)


def test_margins_of_groups_cover(folder: Path) -> None:
    (measured,) = measure("SELECT day, COUNT(*), " + BY_DAY[len("SELECT day, ") :], policy(folder))
    calibration = calibrate(measured.plan, ZCDP, PrivacyLoss(rho=Fraction(1, 200)))
    keys = tuple(measured.groups)
    exact = ExactTable(keys, {"s0": tuple(row["s0"] for row in measured.groups.values())})
    truth = np.array(exact.statistics["s0"])
    inside, sampler = [], Fast()
    for _ in range(300):
        column = infer(perturb(exact, calibration, sampler), measured.plan, consistent=False).columns[-1]
        inside.append(np.abs(np.array(column.values) - truth) <= np.array(column.margins))
    assert 0.935 <= np.mean(inside) <= 0.97


@pytest.mark.parametrize("accounting", [ZCDP, PURE])
def test_margins_of_running_sums_cover(accounting: Accounting, folder: Path) -> None:
    path = policy(folder, str(accounting))
    path.write_text(path.read_text().replace(f"2025-01-{DAYS}", "2025-03-31"))
    for sql in (BY_DAY, BY_DAY.replace("COUNT(*)", "SUM(weight)")):
        (measured,) = measure(sql, path, norm=Norm.L2 if accounting is ZCDP else Norm.L1)
        (block,) = measured.plan.blocks
        assert block.prefix is not None
        price = PrivacyLoss(rho=Fraction(1, 2)) if accounting is ZCDP else PrivacyLoss(epsilon=Fraction(1))
        noise = calibrate(measured.plan, accounting, price).noise
        widths = running_half_widths(NoisyTable(tuple(measured.groups), {}, noise), measured.plan)["a0"]
        for consistent in (False, True):
            inside = np.abs(errors(measured, accounting, consistent=consistent, times=150)) <= np.array(widths)
            assert 0.92 <= inside.mean() <= (1 if consistent else 0.97)


@pytest.mark.parametrize(
    ("sql", "marked"),
    [
        *((sql, "FROM person GROUP BY day, sex" not in sql) for sql in RUNNING),
        (f"{BY_DAY} HAVING COUNT(*) > 5", False),
        (f"{BY_DAY} ORDER BY day LIMIT 3", True),
        ("SELECT d, SUM(n) OVER (ORDER BY d) FROM (SELECT day d, COUNT(*) n FROM person GROUP BY 1 LIMIT 9) t", False),
        ("SELECT d, SUM(n) OVER (ORDER BY d) FROM (SELECT day d, COUNT(*) n FROM person GROUP BY 1) t WHERE n > 9", False),
        ("SELECT day, SUM(COUNT(*)) OVER (ORDER BY day), SUM(COUNT(*)) OVER (ORDER BY day DESC) FROM person GROUP BY 1",
         True),
    ],
)  # fmt: skip
def test_only_what_adds_up_whole_series_has_their_margin(sql: str, marked: bool, folder: Path) -> None:
    with opened(policy(folder)) as catalog:
        statement = parse(sql)
        assert isinstance(statement, Select)
        parted = split(statement.tree, catalog, DUCKDB)
    windows = {id(window) for window in parted.outer.find_all(exp.Window)}
    assert all(id(window) in windows for window, _ in parted.running)
    several = "FILTER" in sql
    assert [(sums.release, sums.name) for _, sums in parted.running] == (
        [(0, "a0"), (0, "a1")] if several else [(0, "a0")]
    ) * marked


@pytest.mark.quick
def test_explain_says_what_to_expect_of_a_running_sum(folder: Path) -> None:
    """As accurate as it says, on average over its steps."""
    proxy = Proxy.open(policy(folder))
    try:
        told = proxy.session().explain(BY_DAY)
        (release,) = told.releases
        (measured,) = measure(BY_DAY, policy(folder))
        spread = np.sqrt(np.square(errors(measured, ZCDP, consistent=False, times=200)).mean())
        assert release.running["a0"] == pytest.approx(1.96 * spread, rel=0.1)
        assert release.margins["a0"] < release.running["a0"]
        assert any("running sums over at most 30 groups" in notice for notice in told.notices)
    finally:
        proxy.close()


def test_intervals_of_running_sums_hold_the_truth(folder: Path) -> None:
    sql = "SELECT day, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY day) AS total FROM person GROUP BY day ORDER BY day"
    truth = {row[0]: row[1:] for row in oracle(folder, sql)}
    proxy = Proxy.open(policy(folder))
    inside = np.zeros((150, 2))
    try:
        session = proxy.session()
        for setting in ("intervals = on", "reuse = off", "consistent = off", "epsilon = 0.1"):
            session.execute(f"SET dpsql.{setting}")
        for number in range(150):
            rows = session.execute(sql).rows
            names = [(row[2] <= truth[row[0]][0] <= row[3], row[5] <= truth[row[0]][1] <= row[6]) for row in rows]
            inside[number] = np.mean(names, axis=0)
        shifted = "SELECT n - LAG(n) OVER (ORDER BY day) AS change FROM (SELECT day, COUNT(*) AS n, SUM(COUNT(*)) OVER"
        change = session.execute(f"{shifted} (ORDER BY day) AS t FROM person GROUP BY day) AS d")
        assert [column.name for column in change.columns] == ["change", "change_low", "change_high"]
    finally:
        proxy.close()
    # 96 % are expected; errors of one answer's running sums go together: one answer's share has a deviation of 8 %.
    assert (inside.mean(axis=0) >= [0.93, 0.9]).all()
    assert (inside.mean(axis=0) <= [0.98, 0.992]).all()
