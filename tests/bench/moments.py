"""How accurate variances and correlations are: ours against sums of x, x² and 1 at equal shares of the same price.

``python -m tests.bench.moments`` prints, for each question and both noises, our error over the plain approach's, and how
often our 95 % intervals hold the truth. Our numbers come from the plans, prices and estimators of the product; only the
noise is numpy's, so that thousands of repetitions take seconds.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

from dpsql.accounting import PURE, ZCDP, Accounting
from dpsql.accounting.loss import PrivacyLoss
from dpsql.calibrate.calibration import calibrate
from dpsql.finish.replicates import drawn
from dpsql.inference.estimates.moment_figures import moment_ends, moment_values
from dpsql.inference.numeric.arrays import FloatArray
from dpsql.testing import measure
from rewriter.declared.contribution import Norm
from rewriter.plan import Moment
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:people.duckdb; ledger: sqlite:people.ledger; privacy_unit: person.id
budget: {epsilon: 1000000, delta: 1e-6, accounting: zcdp}; statement: {epsilon: 1, max_epsilon: 10}
tables:
  person: id, x 0..100, y 0..100
""")


@dataclass(frozen=True, slots=True)
class People:
    """``size`` people whose x and y are around ``mean``, ``spread`` wide and correlated, in a range of 0 to 100."""

    size: int
    mean: tuple[float, float]
    spread: tuple[float, float]
    correlation: float

    @property
    def values(self) -> FloatArray:
        random = np.random.default_rng(7)
        both = random.standard_normal((2, self.size))
        both[1] = self.correlation * both[0] + math.sqrt(1 - self.correlation**2) * both[1]
        centre, width = (np.array(pair)[:, None] for pair in (self.mean, self.spread))
        return np.asarray(np.clip(centre + width * both, 0, 100).round(2))

    def write(self, folder: Path) -> None:
        x, y = self.values
        (folder / "policy.yaml").write_text(POLICY)
        (folder / "people.duckdb").unlink(missing_ok=True)
        with duckdb.connect(str(folder / "people.duckdb")) as connection:
            connection.execute(
                "CREATE TABLE person (id INTEGER PRIMARY KEY, x DECIMAL(5,2) NOT NULL, y DECIMAL(5,2) NOT NULL)"
            )
            rows = ", ".join(f"({number}, {a:.2f}, {b:.2f})" for number, (a, b) in enumerate(zip(x, y, strict=True)))
            connection.execute(f"INSERT INTO person VALUES {rows}")


@dataclass(frozen=True, slots=True)
class Result:
    """Root mean squared errors, and how often our intervals held the truth."""

    truth: float
    ours: float
    plain: float
    coverage: float

    @property
    def factor(self) -> float:
        return self.plain / self.ours


Plain = Callable[[dict[str, FloatArray]], FloatArray]


def _variance(s: dict[str, FloatArray], name: str = "x") -> FloatArray:
    return np.asarray(np.maximum(s[name + name] / s["n"] - (s[name] / s["n"]) ** 2, 0))


def _covariance(s: dict[str, FloatArray]) -> FloatArray:
    return np.asarray(s["xy"] / s["n"] - s["x"] * s["y"] / s["n"] ** 2)


def _slope(s: dict[str, FloatArray]) -> FloatArray:
    spread = _variance(s)
    return np.asarray(np.where(spread > 0, _covariance(s) / np.where(spread > 0, spread, 1), np.nan))


def _correlation(s: dict[str, FloatArray]) -> FloatArray:
    product = np.sqrt(np.maximum(_variance(s) * _variance(s, "y"), 1e-9))
    return np.asarray(np.clip(_covariance(s) / product, -1, 1))


QUESTIONS: dict[str, tuple[str, tuple[str, ...], Plain]] = {
    "AVG(x)": ("AVG(x), VAR_POP(x)", ("n", "x"), lambda s: np.asarray(s["x"] / s["n"])),
    "VAR_POP(x)": ("VAR_POP(x)", ("n", "x", "xx"), _variance),
    "STDDEV_POP(x)": ("STDDEV_POP(x)", ("n", "x", "xx"), lambda s: np.sqrt(_variance(s))),
    "COVAR_POP(y, x)": ("COVAR_POP(y, x)", ("n", "x", "y", "xy"), _covariance),
    "CORR(y, x)": ("CORR(y, x)", ("n", "x", "y", "xx", "xy", "yy"), _correlation),
    "REGR_SLOPE(y, x)": ("REGR_SLOPE(y, x)", ("n", "x", "y", "xx", "xy"), _slope),
    "REGR_INTERCEPT(y, x)": (
        "REGR_INTERCEPT(y, x)",
        ("n", "x", "y", "xx", "xy"),
        lambda s: np.asarray(s["y"] / s["n"] - _slope(s) * s["x"] / s["n"]),
    ),
    "REGR_R2(y, x)": ("REGR_R2(y, x)", ("n", "x", "y", "xx", "xy", "yy"), lambda s: _correlation(s) ** 2),
    "REGR_SXX(x, x)": ("REGR_SXX(x, x)", ("n", "x", "xx"), lambda s: _variance(s) * s["n"]),
    "STDDEV(x)": ("STDDEV(x), CORR(y, x)", ("n", "x", "xx"), lambda s: np.sqrt(_variance(s))),
}
"""What is asked, the sums of the plain approach, and what it makes of them."""


def compare(people: People, question: str, accounting: Accounting, epsilon: Fraction, repeats: int) -> Result:
    """One question at one price."""
    sql, needed, plain = QUESTIONS[question]
    price = PrivacyLoss(rho=epsilon**2 / 2) if accounting is ZCDP else PrivacyLoss(epsilon=epsilon)
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        people.write(Path(name))
        norm = Norm.L2 if accounting is ZCDP else Norm.L1
        (exact,) = measure(f"SELECT {sql} FROM person", Path(name) / "policy.yaml", norm=norm)
    noise = calibrate(exact.plan, accounting, price).noise
    moment = exact.plan.outputs[0].estimator
    assert isinstance(moment, Moment)
    names = [cell for cell, _ in moment.cells]
    integers = exact.groups[()]
    cells = [(integers[cell] + drawn(noise[cell], repeats, random)).tolist() for cell in names]
    ours = np.array([math.nan if value is None else value for value in moment_values(moment, cells)])
    low, high = moment_ends(moment, cells, [noise[cell] for cell in names])
    truth = moment_values(moment, [[integers[cell]] for cell in names])[0]
    assert truth is not None
    held = np.isnan(ours) | ((low <= truth + 1e-9) & (truth <= high + 1e-9))
    x, y = people.values
    sums = {}
    for term in needed:
        total, most = 1.0 + 0 * x, 1.0
        for factor in term if term != "n" else "":
            total, most = total * (x if factor == "x" else y), most * 100
        scale = most * len(needed) / float(epsilon)
        if accounting is ZCDP:
            sums[term] = total.sum() + random.normal(0, most * math.sqrt(len(needed)) / float(epsilon), repeats)
        else:
            sums[term] = total.sum() + random.laplace(0, scale, repeats)
    theirs = plain(sums)
    return Result(truth, _error(ours, truth), _error(theirs, truth), float(held.mean()))


def _error(values: FloatArray, truth: float) -> float:
    return float(np.sqrt(np.nanmean((values - truth) ** 2)))


CASES = {
    "in the middle": People(2000, (50, 50), (15, 15), 0.5),
    "off-centre": People(2000, (15, 10), (7, 6), 0.5),
    "off-centre, 10,000": People(10_000, (5, 8), (2, 3), 0.7),
    "few": People(200, (40, 60), (20, 20), 0.6),
}


def main() -> None:
    for title, people in CASES.items():
        for accounting in (PURE, ZCDP):
            for question in QUESTIONS:
                found = compare(people, question, accounting, Fraction(1), 4000)
                print(
                    f"{title:20} {accounting:5} {question:22} truth {found.truth:10.4f} ours {found.ours:9.4g} "
                    f"plain {found.plain:9.4g} factor {found.factor:6.2f} held {found.coverage:.3f}"
                )


if __name__ == "__main__":
    main()
