"""The seeds' example (seed 001, Algorithm 1): four counts, 128/ε² when ε is split evenly, 12/ε² as disjoint atoms."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import duckdb

from dpsql.accountant import Accounting
from dpsql.calibrate import calibrate
from dpsql.inference.finish import infer
from dpsql.loss import PrivacyLoss
from dpsql.mechanisms.sampling import OpenDPSampler
from dpsql.perturb import perturb
from dpsql.table import ExactTable
from dpsql.testing import measure

REPETITIONS = 20_000
SQL = "SELECT sex, COUNT(*) FILTER (WHERE bmi < 25), COUNT(*) FROM patient GROUP BY sex"


def _policy(folder: Path) -> Path:
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE patient (id INTEGER PRIMARY KEY, sex VARCHAR, bmi DOUBLE)")
        connection.execute(
            "INSERT INTO patient SELECT i, CASE WHEN i % 3 = 0 THEN 'F' ELSE 'M' END, 18 + i % 20 FROM range(900) t(i)"
        )
    policy = folder / "policy.yaml"
    policy.write_text(
        "database: duckdb:clinic.duckdb\nledger: sqlite:clinic.ledger\nprivacy_unit: patient.id\n"
        "budget: {epsilon: 10}\n"
        "tables: {patient: {columns: {sex: {values: [F, M]}, bmi: {range: [10, 60]}}}}\n"
    )
    return policy


def test_the_total_squared_error_of_the_four_counts(tmp_path: Path) -> None:
    (measured,) = measure(SQL, _policy(tmp_path))
    truth = {"F": (105, 300), "M": (210, 600)}
    names = [statistic.name for statistic in measured.plan.statistics]
    keys = tuple(measured.groups)
    columns = {name: tuple(measured.groups[key][name] for key in keys) for name in names}
    exact = ExactTable(keys, columns)
    calibration = calibrate(measured.plan, Accounting.PURE, PrivacyLoss(epsilon=Fraction(1)))
    sampler = OpenDPSampler()
    total = 0
    for _ in range(REPETITIONS):
        table = infer(perturb(exact, calibration, sampler), measured.plan)
        for sex, under, everyone in zip(*(column.values for column in table.columns), strict=True):
            total += (under - truth[str(sex)][0]) ** 2 + (everyone - truth[str(sex)][1]) ** 2
    error = total / REPETITIONS
    assert 10 < error <= 12.5, f"total squared error {error:.2f}/ε²"
