"""Two disjoint counts and a part of each: 128/ε² when ε is split evenly among the four, 12/ε² as disjoint atoms.

With Gaussian noise the atoms have 6σ², and the best strategy there is 5.236σ².
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.accounting import PURE, ZCDP, Accounting
from dpsql.accounting.loss import PrivacyLoss
from dpsql.calibrate.calibration import calibrate
from dpsql.inference.estimates.columns import infer
from dpsql.mechanisms.sampling.sampler import ExactSampler
from dpsql.perturb import perturb
from dpsql.releases.tables import ExactTable
from dpsql.testing import Measurement, measure
from tests.new_databases import new_database

REPETITIONS = 20_000
"""As many copies of the groups, in one table: noise is drawn afresh for every cell."""

SQL = "SELECT sex, COUNT(*) FILTER (WHERE bmi < 25), COUNT(*) FROM patient GROUP BY sex"
ONE = (
    "SELECT COUNT(*) FILTER (WHERE sex = 'M' AND bmi < 25), COUNT(*) FILTER (WHERE sex = 'M'), "
    "SUM(CASE WHEN sex = 'F' AND bmi < 25 THEN 1 ELSE 0 END), COUNT(*) FILTER (WHERE sex = 'F') FROM patient"
)


def _policy(folder: Path, budget: str) -> Path:
    with new_database(folder / "clinic.duckdb") as connection:
        connection.execute("CREATE TABLE patient (id INTEGER PRIMARY KEY, sex VARCHAR NOT NULL, bmi DOUBLE)")
        connection.execute(
            "INSERT INTO patient SELECT i, CASE WHEN i % 3 = 0 THEN 'F' ELSE 'M' END, 18 + i % 20 FROM range(900) t(i)"
        )
    policy = folder / "policy.yaml"
    policy.write_text(
        "database: duckdb:clinic.duckdb\nledger: sqlite:clinic.ledger\nprivacy_unit: patient.id\n"
        f"budget: {{epsilon: 10, {budget}}}\n"
        "tables: {patient: {columns: {sex: {values: [F, M]}, bmi: {range: [10, 60]}}}}\n"
    )
    return policy


def _exact(measured: Measurement) -> ExactTable:
    names = [statistic.name for statistic in measured.plan.statistics]
    keys = tuple(measured.groups)
    columns = {name: tuple(measured.groups[key][name] for key in keys) * REPETITIONS for name in names}
    return ExactTable(keys * REPETITIONS, columns)


def _error(measured: Measurement, truth: list[tuple[int, ...]], accounting: Accounting, price: PrivacyLoss) -> float:
    """The mean, over repetitions, of the total squared error of all counts of all groups."""
    exact = _exact(measured)
    # The same groups many times over, each time with noise of its own.
    many = replace(measured.plan, cells=(measured.plan.cells or 0) * REPETITIONS)
    calibration = calibrate(many, accounting, price)
    width = len(measured.plan.keys)
    table = infer(perturb(exact, calibration, ExactSampler()), measured.plan)
    rows = zip(*(column.values for column in table.columns[width:]), strict=True)
    total = sum(
        (int(str(value)) - known) ** 2
        for row, right in zip(rows, truth * REPETITIONS, strict=True)
        for value, known in zip(row, right, strict=True)
    )
    return total / REPETITIONS


FORMS = {SQL: [(105, 300), (210, 600)], ONE: [(210, 600, 105, 300)]}


@pytest.mark.quick
@pytest.mark.parametrize("sql", FORMS)
def test_the_total_squared_error_of_the_four_counts(sql: str, tmp_path: Path) -> None:
    (measured,) = measure(sql, _policy(tmp_path, "accounting: pure"))
    error = _error(measured, FORMS[sql], PURE, PrivacyLoss(epsilon=Fraction(1)))
    assert 10 < error <= 12.2, f"total squared error {error:.2f}/ε²"


@pytest.mark.parametrize("sql", FORMS)
def test_the_same_under_gaussian_noise(sql: str, tmp_path: Path) -> None:
    """σ is 10, for one count alone, so that rounding to whole counts does not show."""
    (measured,) = measure(sql, _policy(tmp_path, "delta: 1e-6"))
    error = _error(measured, FORMS[sql], ZCDP, PrivacyLoss(rho=Fraction(1, 200))) / 100
    # Of 20,000 repetitions the mean has a deviation of 0.03.
    assert 5.0 < error <= 5.5, f"total squared error {error:.2f}σ²"
