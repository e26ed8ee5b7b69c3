"""Sums over windows that move: measured as such where that is more accurate, and with the error that is said."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest

from dpsql.inference.estimates.running_estimates import prefix_variances
from dpsql.mechanisms import Gaussian
from dpsql.proxy import Proxy
from dpsql.testing import measure
from rewriter.declared.contribution import Norm
from rewriter.release import Frame
from rewriter.strategies.prefix_strategies import Prefix, PrefixStrategy, Toeplitz, Tree, best_tree
from tests.doubles import open_without_noise
from tests.new_databases import new_database

DAYS = 60
WEEK = "ROWS BETWEEN 6 PRECEDING AND CURRENT ROW"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with new_database(tmp_path / "shop.duckdb") as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, day DATE NOT NULL, sex TEXT NOT NULL)")
        connection.execute(
            f"INSERT INTO person SELECT i, DATE '2025-01-01' + (i * 7 % {DAYS})::INT,"
            " CASE WHEN i % 3 = 0 THEN 'F' ELSE 'M' END FROM range(1201) t(i)"
        )
    return tmp_path


def policy(folder: Path, accounting: str) -> Path:
    delta = "" if accounting == "pure" else "delta: 1e-6, "
    path = folder / f"{accounting}.yaml"
    path.write_text(
        f"""
database: duckdb:shop.duckdb
ledger: sqlite:{accounting}.ledger
privacy_unit: person.id
budget: {{epsilon: 1000, {delta}accounting: {accounting}}}
statement: {{epsilon: 1, max_epsilon: 10}}
tables:
  person: {{columns: {{id: {{}}, day: {{range: [2025-01-01, 2025-03-01]}}, sex: {{values: [F, M]}}}}}}
"""
    )
    return path


def sums(rest: str = WEEK, what: str = "SUM(COUNT(*))") -> str:
    return f"SELECT day, {what} OVER (ORDER BY day {rest}) AS w FROM person GROUP BY day ORDER BY day"


@pytest.mark.parametrize(
    ("sql", "strategy", "descending"),
    [
        (sums(), Toeplitz(DAYS, 7), False),
        (sums(what="AVG(COUNT(*))"), Toeplitz(DAYS, 7), False),
        (sums("ROWS 6 PRECEDING"), Toeplitz(DAYS, 7), False),
        (sums("DESC ROWS BETWEEN 2 PRECEDING AND 4 FOLLOWING"), Toeplitz(DAYS, 7), True),
        (sums("ROWS BETWEEN 99 PRECEDING AND CURRENT ROW"), Toeplitz(DAYS), False),
        (
            f"SELECT day, SUM(n) OVER (ORDER BY day {WEEK}) FROM (SELECT day, COUNT(*) AS n FROM person GROUP BY 1) t",
            Toeplitz(DAYS, 7),
            False,
        ),
    ],
)
def test_a_window_that_moves_is_recognised(sql: str, strategy: PrefixStrategy, descending: bool, folder: Path) -> None:
    (measured,) = measure(sql, policy(folder, "zcdp"))
    (block,) = measured.plan.blocks
    assert block.prefix == Prefix(strategy, (0,), descending)


def test_short_windows_are_added_up_where_noise_goes_with_the_l1_norm(folder: Path) -> None:
    (week,) = measure(sums(), policy(folder, "pure"), norm=Norm.L1)
    assert week.plan.blocks[0].prefix is None
    wide = policy(folder, "pure")
    wide.write_text(wide.read_text().replace("2025-03-01", "2026-12-31"))
    (month,) = measure(sums("ROWS 89 PRECEDING"), wide, norm=Norm.L1)
    assert month.plan.blocks[0].prefix == Prefix(Tree(730, 15, 2, 90), (0,), False)


def expected(strategy: PrefixStrategy, size: int, frame: Frame) -> np.ndarray:
    """The variances by linear algebra: of least squares over all that is measured."""
    columns = [strategy.measured([int(row == column) for row in range(size)]) for column in range(size)]
    design = np.array(columns, dtype=float).T
    covariance = np.linalg.inv(design.T @ design)
    window = np.array(
        [[float(row - frame.before <= group <= row + frame.after) for group in range(size)] for row in range(size)]
    )
    return np.einsum("ij,jk,ik->i", window, covariance, window)


@pytest.mark.spread
@pytest.mark.quick
@pytest.mark.parametrize("frame", [Frame(6, 0), Frame(2, 3), Frame(0, 1), Frame(30, 30), Frame(0, 0)])
@pytest.mark.parametrize("strategy", [Toeplitz(30, 7), Toeplitz(30), Tree(30, 4, 2, 9), Tree(30, 7, 2)], ids=str)
def test_the_variance_of_a_window_is_that_of_least_squares(strategy: PrefixStrategy, frame: Frame) -> None:
    for size in (30, 17, 1):
        prefix, noise = Prefix(strategy, (0,), False), Gaussian(Fraction(1000))
        found = prefix_variances(prefix, [(day,) for day in range(size)], noise, frame) / 1e6
        assert found == pytest.approx(expected(strategy, size, frame), rel=1e-6)


@pytest.mark.parametrize("width", [3, 7, 28])
def test_what_is_predicted_of_a_window_holds_and_is_near_the_best_there_is(width: int) -> None:
    """The square of the mean of the singular values bounds what any strategy reaches (Li, Miklau 2013)."""
    steps = 90
    strategy = Toeplitz(steps, width)
    found = expected(strategy, steps, Frame(width - 1, 0)).mean()
    assert found <= strategy.variance * 1.001
    window = np.tril(np.ones((steps, steps))) - np.tril(np.ones((steps, steps)), -width)
    least = (np.linalg.svd(window, compute_uv=False).sum() / steps) ** 2
    assert found * strategy.l2_squared <= 1.1 * least
    tree = best_tree(steps, squared=False, width=width)
    assert tree is not None
    assert expected(tree, steps, Frame(width - 1, 0)).mean() <= 1.05 * tree.variance


@pytest.mark.parametrize("accounting", ["zcdp", "pure"])
def test_windows_are_as_accurate_as_is_said(accounting: str, folder: Path) -> None:
    proxy = Proxy.open(policy(folder, accounting))
    apart = folder / "exact.yaml"  # with a ledger of its own: what the other keeps is noisy
    apart.write_text(policy(folder, accounting).read_text().replace(f"sqlite:{accounting}", "sqlite:exact"))
    exact = open_without_noise(apart)
    try:
        session = proxy.session()
        session.execute("SET dpsql.reuse = off")
        for sql in (sums(), sums(what="AVG(COUNT(*))"), sums("ROWS BETWEEN 3 PRECEDING AND 4 FOLLOWING")):
            with duckdb.connect(":memory:") as theirs:
                theirs.execute(f"ATTACH '{folder / 'shop.duckdb'}' AS shop (READ_ONLY); USE shop")
                truth = [float(total) for _, total in theirs.execute(sql).fetchall()]
            assert [float(row[1]) for row in exact.session().execute(sql).rows] == pytest.approx(truth)
            said = session.explain(sql).expected[1]
            assert said is not None
            answers = [session.execute(sql) for _ in range(60)]
            errors = np.array([[float(row[1]) for row in one.rows] for one in answers]) - np.array(truth)
            widths = np.array([[margins[1] for margins in one.margins] for one in answers], dtype=float)
            assert 1.96 * np.sqrt(np.square(errors).mean()) == pytest.approx(said, rel=0.25)
            # 60 answers: a standard error of at most .008, since the windows of one answer overlap.
            assert 0.91 <= np.mean(np.abs(errors) <= widths) <= 0.99
    finally:
        proxy.close()
        exact.close()
