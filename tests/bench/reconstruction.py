"""What other estimates than least squares would add to workloads: ``python -m tests.bench reconstruction [NAME …]``.

Dashboards of counts are measured as workloads measure them: the same tables, at the same shares of (ε, 1e-6), with
Gaussian noise. Each draw of the noise is estimated in four ways, from the same numbers:

- *least squares*: unbiased; error bars come from its variances.
- *as shown*: least squares over finest cells that are not negative, made whole, as answers are shown.
- *GReM-LNN*: the nearest tables to the unbiased ones, by their covariance, that agree and are not negative where a
  table was asked for (Mullins and others 2024). Its total is held at the unbiased one, as that of shown tables is:
  otherwise cells that are lifted to 0 lift the total.
- *a graphical model*: the distribution of most entropy near the measured tables (``mbi``, the extra ``synthetic``). It
  takes minutes, so that it is fitted to the first draws alone; shown numbers of these draws follow it.

An error is the root mean square over statements, each as accurate as its cells. A rate is the part of numbers that are
within the 95 % bar of the unbiased estimate; the worst rate is that of one statement. ``--write`` keeps the figures of
the fifty counts at ε = 1, from which the guide's picture is made.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, reduce
from math import prod, sqrt
from pathlib import Path

import duckdb
import numpy as np
import scipy

from dpsql.accounting import ZCDP, Accountant
from dpsql.inference.numeric import FloatArray, IntArray, nonnegative_lattice, round_lattice
from rewriter.front_door import AskedMarginal, Attributes, best
from tests.bench.workload import DASHBOARDS, NORMAL, VALUES, Tile, fill, optimum
from tests.bench.workload import compare as planned_dashboard
from tests.bench.workload_picture import FIGURES

SIZES = tuple(map(len, VALUES.values()))
FIFTY = "fifty counts"
NAMES = (FIFTY, "sales", "product", "people", "one large table", "unlike tables")
PRICES = ("0.1", "0.3", "1")
STEPS = 10_000
"""So many steps of a fit of a graphical model, after which it is converged."""
LEAST_SQUARES, SHOWN, LOCAL, MODEL = WAYS = ("least squares", "as shown", "GReM-LNN", "graphical model")


@cache
def cells_of(attributes: Attributes) -> IntArray:
    """The cell of a table that each finest cell is in."""
    places = np.indices(SIZES).reshape(len(SIZES), -1)
    found = np.zeros(prod(SIZES), dtype=np.int64)
    for at in attributes:
        found = found * SIZES[at] + places[at]
    return found


def many(attributes: Attributes) -> int:
    return prod(SIZES[at] for at in attributes)


def table(attributes: Attributes, finest: FloatArray) -> FloatArray:
    """A table as sums of finest cells, or several side by side."""
    sums = scipy.sparse.csr_array((np.ones(prod(SIZES)), (cells_of(attributes), np.arange(prod(SIZES)))))
    return np.asarray(sums @ finest)


@cache
def contrasts() -> tuple[FloatArray, list[frozenset[int]]]:
    """An orthonormal basis of the finest cells, and the attributes of the component that each vector is in."""
    bases = []
    for size in SIZES:
        start = np.eye(size)
        start[:, 0] = 1
        bases.append(np.linalg.qr(start)[0])
    parts = [frozenset(np.flatnonzero(one).tolist()) for one in np.ndindex(*SIZES)]
    return reduce(np.kron, bases), parts


@dataclass(frozen=True)
class Measured:
    """Tables that are measured for a dashboard, each with the standard deviation of its noise."""

    asked: Sequence[Tile]
    tables: Sequence[tuple[Attributes, float]]

    @classmethod
    def of(cls, asked: Sequence[Tile], epsilon: str) -> Measured:
        """The tables and shares that a workload has for these counts at a whole budget of (ε, 1e-6)."""
        wanted = [one.attributes for one in asked]
        shares = best(SIZES, [AskedMarginal(one, 1.0) for one in wanted], candidates=sorted(set(wanted)))
        squares = 2 * float(Accountant(ZCDP, Fraction(epsilon), Fraction(1, 10**6)).limit.rho)
        return cls(asked, [(one, 1 / sqrt(squares * float(part))) for one, part in shares.parts.items()])

    @property
    def wanted(self) -> list[Attributes]:
        return sorted({one.attributes for one in self.asked}, key=lambda one: (len(one), one))

    def draw(self, finest: FloatArray, drawn: np.random.Generator) -> list[FloatArray]:
        """The measured tables, with the noise of a simulation."""
        return [table(one, finest) + deviation * drawn.normal(size=many(one)) for one, deviation in self.tables]


class Estimates:
    """Estimates of all tables that are asked for, in four ways."""

    def __init__(self, measured: Measured) -> None:
        self.measured = measured
        vectors, parts = contrasts()
        told = [
            sum(many(tuple({*range(len(SIZES))} - {*one})) / by**2 for one, by in measured.tables if part <= {*one})
            for part in parts
        ]
        known = np.flatnonzero(told)
        self._vectors, self._told = vectors[:, known], np.array(told)[known]
        self._of_all = [not parts[at] for at in known]
        self._tables = {one: table(one, self._vectors) for one in {*measured.wanted, *(m for m, _ in measured.tables)}}
        self.deviations = {one: np.sqrt((self._tables[one] ** 2 / self._told).sum(axis=1)) for one in measured.wanted}

    def _coefficients(self, values: Sequence[FloatArray]) -> FloatArray:
        rows = zip(self.measured.tables, values, strict=True)
        return np.asarray(sum(self._tables[one].T @ value / by**2 for (one, by), value in rows) / self._told)

    def least_squares(self, values: Sequence[FloatArray]) -> dict[Attributes, FloatArray]:
        coefficients = self._coefficients(values)
        return {one: self._tables[one] @ coefficients for one in self.measured.wanted}

    def locally_nonnegative(self, values: Sequence[FloatArray]) -> dict[Attributes, FloatArray]:
        """The dual: multipliers of the cells of the finest tables that are asked for, none of them negative."""
        start = self._coefficients(values)
        wanted = self.measured.wanted
        outer = [one for one in wanted if not any({*one} < {*other} for other in wanted)]
        sums = np.vstack([self._tables[one] for one in outer])
        # The unit of a multiplier is that of its cell's deviation, so that all of them are of one size.
        scale = 1 / np.sqrt((sums**2 / self._told).sum(axis=1))
        whitened = scale[:, None] * sums / np.sqrt(self._told)
        whitened[:, self._of_all] = 0  # the total stays as it was estimated
        shown = scale * (sums @ start)

        def dual(multipliers: FloatArray) -> tuple[float, FloatArray]:
            moved = whitened.T @ multipliers
            return float(moved @ moved / 2 + multipliers @ shown), whitened @ moved + shown

        found = scipy.optimize.minimize(
            dual,
            np.zeros(len(shown)),
            jac=True,
            bounds=[(0, None)] * len(shown),
            method="L-BFGS-B",
            options={"maxiter": 5_000, "maxfun": 10_000, "ftol": 1e-11, "gtol": 1e-3},
        )
        coefficients = start + (whitened.T @ found.x) / np.sqrt(self._told)
        return {one: self._tables[one] @ coefficients for one in wanted}

    def shown(self, values: Sequence[FloatArray]) -> dict[Attributes, FloatArray]:
        groupings = [cells_of(one) for one, _ in self.measured.tables]
        sizes = [many(one) for one, _ in self.measured.tables]
        variances = [np.full(size, by**2) for size, (_, by) in zip(sizes, self.measured.tables, strict=True)]
        total = max(0.0, float((self._vectors @ self._coefficients(values)).sum()))
        finest = nonnegative_lattice(groupings, sizes, values, variances, total=total)
        whole = round_lattice([*groupings, *(cells_of(one) for one in self.measured.wanted)], finest)
        return {one: table(one, np.array(whole, dtype=np.float64)) for one in self.measured.wanted}

    def graphical_model(self, values: Sequence[FloatArray], steps: int) -> dict[Attributes, FloatArray]:
        from dpsql.synthetic.graphical_model import Domain, LinearMeasurement, estimation, marginal_oracles

        names = tuple(VALUES)
        weighed = [
            LinearMeasurement(value, tuple(names[at] for at in one), by)
            for (one, by), value in zip(self.measured.tables, values, strict=True)
        ]
        total = max(1.0, float((self._vectors @ self._coefficients(values)).sum()))
        fitted = estimation.MirrorDescent(marginal_oracle=marginal_oracles.brute_force_marginals)
        model = fitted.estimate(Domain(names, SIZES), weighed, known_total=total, iters=steps)
        tables = (model.project(tuple(names[at] for at in one)) for one in self.measured.wanted)
        found = [np.asarray(one.datavector(), dtype=np.float64) for one in tables]
        return dict(zip(self.measured.wanted, found, strict=True))


@dataclass(frozen=True, slots=True)
class Found:
    """Of each draw and statement, the mean squared error and the part of numbers within their bars."""

    errors: FloatArray
    inside: FloatArray

    @property
    def error(self) -> float:
        return sqrt(float(self.errors.mean()))

    @property
    def spread(self) -> float:
        """The standard error of the error, over draws."""
        each = np.sqrt(self.errors.mean(axis=1))
        return float(each.std(ddof=1) / sqrt(len(each))) if len(each) > 1 else 0.0

    @property
    def rates(self) -> FloatArray:
        """Of each statement, the part of numbers within their bars."""
        return np.asarray(self.inside.mean(axis=0))

    def first(self, draws: int) -> Found:
        return Found(self.errors[:draws], self.inside[:draws])

    def __str__(self) -> str:
        rates = "".join(f"{100 * rate:7.1f}%" for rate in (self.rates.mean(), self.rates.min()))
        return f"{len(self.errors):6}{self.error:8.2f}{self.spread:6.2f}{rates}"


def cells(tile: Tile) -> IntArray:
    """The cells of its table that a statement shows."""
    at = list(VALUES).index("segment")
    every = np.arange(many(tile.attributes))
    if not tile.vip:
        return every
    kept = np.unique(cells_of(tile.attributes)[np.indices(SIZES)[at].ravel() == VALUES["segment"].index("vip")])
    return every[kept]


def compare(
    asked: Sequence[Tile], epsilon: str, finest: FloatArray, draws: int, models: int, steps: int = STEPS, seed: int = 0
) -> dict[str, Found]:
    """The errors and rates of each way; those of a graphical model over ``models`` draws."""
    measured = Measured.of(asked, epsilon)
    estimates, drawn = Estimates(measured), np.random.default_rng(seed)
    truth = {one: table(one, finest) for one in measured.wanted}
    places = [cells(one) for one in asked]
    ways: dict[str, Callable[[Sequence[FloatArray]], dict[Attributes, FloatArray]]] = {
        LEAST_SQUARES: estimates.least_squares,
        SHOWN: estimates.shown,
        LOCAL: estimates.locally_nonnegative,
        MODEL: lambda values: estimates.graphical_model(values, steps),
    }
    errors: dict[str, list[list[float]]] = {way: [] for way in ways}
    inside: dict[str, list[list[float]]] = {way: [] for way in ways}
    for number in range(draws):
        values = measured.draw(finest, drawn)
        for way, estimate in ways.items():
            if way == MODEL and number >= models:
                continue
            found = estimate(values)
            off = [
                (found[one.attributes] - truth[one.attributes])[place] for one, place in zip(asked, places, strict=True)
            ]
            bars = [
                NORMAL * estimates.deviations[one.attributes][place] for one, place in zip(asked, places, strict=True)
            ]
            errors[way].append([float(np.mean(one**2)) for one in off])
            inside[way].append([float(np.mean(np.abs(one) <= bar)) for one, bar in zip(off, bars, strict=True)])
    return {way: Found(np.array(errors[way]), np.array(inside[way])) for way in ways if errors[way]}


def people(folder: Path, one_of: int = 1) -> FloatArray:
    """How many people are in each finest cell: of all, or of each so manieth."""
    shown = ", ".join(VALUES)
    with duckdb.connect(str(folder / "people.duckdb"), read_only=True) as known:
        rows = known.execute(f"SELECT {shown}, count(*) FROM person WHERE id % {one_of} = 0 GROUP BY ALL").fetchall()
    found = np.zeros(SIZES)
    for *key, number in rows:
        found[tuple(values.index(one) for values, one in zip(VALUES.values(), key, strict=True))] = number
    return found.ravel()


def write(folder: Path, found: Mapping[str, Found]) -> None:
    """Keep what a plan says of the fifty counts, and the errors of draws."""
    planned = planned_dashboard(FIFTY, DASHBOARDS[FIFTY], folder, 0)
    kept = {
        "alone": planned.alone,
        "together": planned.together,
        "optimum": planned.optimum,
        "shown": found[SHOWN].error,
        "local": found[LOCAL].error,
        "model": found[MODEL].error,
        "counts": planned.counts,
    }
    FIGURES.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench reconstruction")
    parser.add_argument("names", nargs="*", default=[*NAMES], help="dashboards of counts; by themselves six")
    parser.add_argument("--epsilon", nargs="+", default=[*PRICES])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument(
        "--models", type=int, default=2, help="so many of the draws are fitted by a graphical model, too"
    )
    parser.add_argument("--steps", type=int, default=STEPS, help="of a fit of a graphical model")
    parser.add_argument("--write", action="store_true", help="keep the figures of the fifty counts at ε = 1")
    parser.add_argument("--one-of", type=int, default=1, help="only each so manieth person")
    options = parser.parse_args()
    if options.write and not (FIFTY in options.names and "1" in options.epsilon and options.models):
        parser.error("--write keeps figures of the fifty counts at ε = 1, and of a graphical model")
    print(f"{'':16}{'ε':>5}{'optimum':>9}  {'':16}{'draws':>6}{'error':>8}{'±':>6}{'rate':>8}{'worst':>8}")
    with tempfile.TemporaryDirectory() as made:
        fill(Path(made))
        finest = people(Path(made), options.one_of)
        for name in options.names:
            for epsilon in options.epsilon:
                squares = 2 * float(Accountant(ZCDP, Fraction(epsilon), Fraction(1, 10**6)).limit.rho)
                least = sqrt(optimum(DASHBOARDS[name]) / len(DASHBOARDS[name]) / squares)
                found = compare(DASHBOARDS[name], epsilon, finest, options.draws, options.models, options.steps)
                rows = [*found.items()]
                if MODEL in found:
                    rows.append((SHOWN, found[SHOWN].first(options.models)))
                for way, one in rows:
                    print(f"{name:16}{epsilon:>5}{least:9.2f}  {way:16}{one}", flush=True)
                if options.write and (name, epsilon) == (FIFTY, "1"):
                    write(Path(made), found)


if __name__ == "__main__":
    main()
