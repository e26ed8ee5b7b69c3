"""Tables that agree where there is hardly any noise: least squares of numbers with sixteen digits of certainty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest

from dpsql.inference.consistency import infer as consistent
from dpsql.inference.intervals.widths import LEAST
from dpsql.inference.numeric.least_squares import lattice
from tests.properties.planted import case, rows

FOURTEEN = [
    "CREATE TABLE person (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER)",
    "INSERT INTO person SELECT i, i % 2, CASE WHEN i < 5 THEN 0 WHEN i < 10 THEN 1 ELSE i % 4 END FROM generate_series(0, 13) AS t(i)",
]
PEOPLE = "  person: {columns: {id: {}, a: {range: [0, 1]}, b: {range: [0, 3]}}}\n"
X = "CASE WHEN a = 0 THEN 'x' ELSE 'y' END"
Y = "CASE WHEN b = 0 THEN 'p' WHEN b = 1 THEN 'q' ELSE 'r' END"


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
@pytest.mark.parametrize("sets", ["GROUPING SETS ((1), (2), ())", "CUBE (1, 2)"])
def test_no_price_makes_agreeing_tables_wrong(tmp_path: Path, accounting: str, sets: str) -> None:
    """At these prices there is no noise in any lifetime."""
    sql = f"SELECT {X}, {Y}, COUNT(*) FROM person GROUP BY {sets}"
    with case(tmp_path / "silent", FOURTEEN, PEOPLE, accounting) as silent:
        silent.execute("SET dpsql.consistent = off")
        truth = rows(silent, sql)
    with case(tmp_path / "noisy", FOURTEEN, PEOPLE, accounting, noise=True) as session:
        session.execute("SET dpsql.reuse = off")
        for epsilon in (250, 300, 400, 500, 600):
            session.execute(f"SET dpsql.epsilon = {epsilon}")
            assert rows(session, sql) == truth, epsilon


Cells = list[np.ndarray]  # type: ignore[type-arg]


@pytest.mark.parametrize("seed", range(60))
def test_estimates_are_those_of_exact_arithmetic_whatever_the_noise(seed: int) -> None:
    """Crossing sets whose prices, and so the weights of whose cells, differ by many powers of ten."""
    random = Random(seed)
    height, width = random.choice([2, 3, 4]), random.choice([2, 3, 4])
    leaves = [(i, j) for i in range(height) for j in range(width) if random.random() < 0.9] or [(0, 0)]
    truth = np.array([random.choice([0.0, 1.0, 5.0, 1000.0, 1e6]) for _ in leaves])
    epsilon = random.choice([50, 100, 250, 400, 700, 1000])
    groupings, sizes, values, variances = [], [], [], []
    for name in random.choice(["xy,x,y", "x,y,t", "x,y", "xy,x,y,t"]).split(","):
        cells = np.array([{"x": i, "y": j, "t": 0, "xy": i * width + j}[name] for i, j in leaves])
        size = {"x": height, "y": width, "t": 1, "xy": height * width}[name]
        variance = max(LEAST, 0.5 / math.sinh(min(epsilon * random.choice([0.01, 0.1, 0.3, 0.5]), 500) / 2) ** 2)
        noise = np.array([round(random.gauss(0, math.sqrt(variance))) for _ in range(size)])
        groupings.append(cells)
        sizes.append(size)
        values.append(np.bincount(cells, weights=truth, minlength=size) + noise)
        variances.append(np.full(size, variance))
    found, _ = lattice(groupings, sizes, values, variances)
    wanted = _exact(groupings, values, variances, len(leaves))
    for cells, estimates in zip(groupings, found, strict=True):
        for cell in set(cells.tolist()):
            expected = sum((one for one, at in zip(wanted, cells, strict=True) if at == cell), Fraction(0))
            assert float(estimates[cell]) == pytest.approx(float(expected), abs=1e-3)


def _exact(groupings: Cells, values: Cells, variances: Cells, size: int) -> Sequence[Fraction]:
    """Some numbers of the finest cells with least squares, by Gauss and Jordan on the normal equations."""
    system = [[Fraction(0)] * (size + 1) for _ in range(size)]
    for cells, numbers, spreads in zip(groupings, values, variances, strict=True):
        for cell, (number, spread) in enumerate(zip(numbers, spreads, strict=True)):
            inside = [leaf for leaf in range(size) if cells[leaf] == cell]
            for leaf in inside:
                for other in inside:
                    system[leaf][other] += 1 / Fraction(float(spread))
                system[leaf][size] += Fraction(float(number)) / Fraction(float(spread))
    pivots: dict[int, int] = {}
    for column in range(size):
        row = next((at for at in range(len(pivots), size) if system[at][column]), None)
        if row is None:
            continue
        place = len(pivots)
        system[place], system[row] = system[row], system[place]
        system[place] = [one / system[place][column] for one in system[place]]
        for at in range(size):
            if at != place and (factor := system[at][column]):
                system[at] = [one - factor * other for one, other in zip(system[at], system[place], strict=True)]
        pivots[column] = place
    return [system[pivots[column]][size] if column in pivots else Fraction(0) for column in range(size)]


@pytest.mark.quick
@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_what_no_noise_can_have_made_is_not_shown(
    tmp_path: Path, accounting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Should doubles ever fail, the numbers are those that were measured."""

    def astray(*measured: object) -> object:
        found, spreads = lattice(*measured)  # type: ignore[arg-type]
        return [number + 4_061_237 for number in found], spreads

    monkeypatch.setattr(consistent, "lattice", astray)
    sql = f"SELECT {X}, {Y}, COUNT(*) FROM person GROUP BY CUBE (1, 2)"
    with case(tmp_path, FOURTEEN, PEOPLE, accounting) as session:
        found = rows(session, sql)
        session.execute("SET dpsql.consistent = off")
        assert found == rows(session, sql)
