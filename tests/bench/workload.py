"""How much more accurate dashboards are that are bought as one: ``python -m tests.bench workload [--purchases N] [NAME …]``.

Fifty counts, and dashboards over 20,000 people and over their visits, all of (ε, δ) = (1, 1e-6) spent on each. The
figures are root mean squares of standard deviations over the statements, each as accurate as its cells: at equal shares
of the price, as planned together, as measured in some purchases, and at the optimum of all linear strategies, which is
known in closed form for marginals with Gaussian noise (Xiao and others 2023). Sums, means and numbers of visits are in
units of what one person adds. With ``--bars N``: how often bars hold (:mod:`tests.bench.workload_bars`).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import nan, prod, sqrt
from pathlib import Path

import duckdb
import numpy as np

from dpsql.calibrate import NOMINAL_GROUP
from dpsql.proxy import Proxy
from rewriter.strategies import AskedMarginal, components
from tests.bench import workload_bars

PEOPLE = 20_000
MOST_ROWS = 5
"""So many visits has a person at most."""
NORMAL = 1.959963984540054
"""The half-width of a 95 % interval over the standard deviation."""
VALUES = {
    "region": ("N", "E", "S", "W", "X"),
    "plan": ("free", "pro", "max"),
    "segment": ("std", "vip"),
    "channel": ("web", "app", "shop", "mail"),
    "age": ("18", "30", "40", "50", "60", "70"),
    "device": ("phone", "tablet", "desk"),
}


_PEOPLE = "COUNT(DISTINCT person_id)"
_VISITS_OF_PEOPLE = (
    "(SELECT v.person_id, p.region, p.plan, p.segment FROM visit AS v JOIN person AS p ON p.id = v.person_id) AS visits"
)


@dataclass(frozen=True, slots=True)
class Tile:
    """A count by some attributes, or another ``measure``, of all people or of those of one segment; or of the rows of
    another ``table``, of which a person may have ``MOST_ROWS``. ``where`` is a condition on the amount."""

    keys: tuple[str, ...]
    vip: bool = False
    measure: str = "COUNT(*)"
    table: str = "person"
    where: str = ""

    @property
    def sql(self) -> str:
        tests = [*(["segment = 'vip'"] if self.vip else []), *([self.where] if self.where else [])]
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        shown = "".join(f"{key}, " for key in self.keys)
        grouped = f" GROUP BY {', '.join(self.keys)}" if self.keys else ""
        return f"SELECT {shown}{self.measure} AS n FROM {self.table}{where}{grouped}"

    def unit(self, people: float = NOMINAL_GROUP) -> float:
        """The most that one person adds to a number; to a mean, in a group of so many people."""
        rows = 1 if self.table == "person" or self.measure == _PEOPLE else MOST_ROWS
        return rows * {"COUNT(*)": 1.0, _PEOPLE: 1.0, "SUM(amount)": 100.0}.get(self.measure, 100.0 / max(people, 1.0))

    def sizes(self, known: duckdb.DuckDBPyConnection) -> dict[tuple[object, ...], int]:
        """The people of each group."""
        rows = known.execute(self.sql.replace(f"{self.measure} AS n", "COUNT(*)")).fetchall()
        return {tuple(row[:-1]): row[-1] for row in rows}

    @property
    def attributes(self) -> tuple[int, ...]:
        """The places of the attributes of the marginal that it is a part of."""
        names = (*self.keys, *(("segment",) if self.vip else ()))
        return tuple(sorted(list(VALUES).index(name) for name in names))


def tiles(*keys: str, vip: Sequence[str] = ()) -> list[Tile]:
    return [*(Tile(tuple(one.split())) for one in keys), *(Tile(tuple(one.split()), vip=True) for one in vip)]


def measured(measure: str, *keys: str, table: str = "person") -> list[Tile]:
    return [Tile(tuple(one.split()), measure=measure, table=table) for one in keys]


def fifty() -> list[Tile]:
    """The total, all one-way and two-way tables, those of the segment, and three-way tables, three of them of the segment."""
    others = [name for name in VALUES if name != "segment"]
    found = [Tile(()), *(Tile((name,)) for name in VALUES), *(Tile(pair) for pair in combinations(VALUES, 2))]
    found += [Tile((name,), vip=True) for name in others] + [Tile(pair, vip=True) for pair in combinations(others, 2)]
    found += [Tile(three) for three in combinations(others, 3)]
    return [*found, *(Tile(three, vip=True) for three in combinations(others, 3))][:50]


_OF_VISITS = ("", "region", "plan", "segment", "region plan", "region segment", "plan segment")

_OF_NUMBERS = (
    ("", ""),
    ("", "amount >= 40"),
    ("", "amount < 20"),
    ("", "amount BETWEEN 20 AND 39"),
    ("", "amount BETWEEN 40 AND 64"),
    ("", "amount >= 65"),
    ("region", ""),
    ("region", "amount >= 40"),
    ("region", "amount < 20"),
    ("plan", "amount BETWEEN 20 AND 64"),
    ("plan", ""),
    ("segment", "amount >= 65"),
)
"""The keys and the condition of each tile of a dashboard with conditions on numbers."""


def numbers(table: str) -> list[Tile]:
    return [Tile(tuple(keys.split()), table=table, where=where) for keys, where in _OF_NUMBERS]


_OF_SEGMENT = [(vip, key) for vip in (False, True) for key in ("", "region", "plan")]

DASHBOARDS = {
    "fifty counts": fifty(),
    "sales": tiles("", "region", "plan", "channel", "region plan", "region channel", "plan channel"),
    "product": tiles("", "plan", "device", "plan device", vip=("plan", "device", "plan device")),
    "people": tiles("", "age", "region", "age region", "age plan", "age segment", vip=("age", "age region")),
    "one large table": tiles("", "region", "plan", "age", "region plan", "region age", "plan age", "region plan age"),
    "unlike tables": tiles("region", "age device", "plan channel", "segment", vip=("region", "channel")),
    "means": measured("AVG(amount)", "", "region", "plan", "age", "region plan", "region age"),
    "counts and means": [
        *tiles("", "region", "plan", "region plan"),
        *measured("AVG(amount)", "", "region", "plan", "region plan"),
    ],
    "counts and totals": [
        *tiles("", "region", "plan", "region plan"),
        *measured("SUM(amount)", "", "region", "plan", "region plan"),
    ],
    "counts of visits": measured("COUNT(*)", *_OF_VISITS, table="visit"),
    "totals of visits": measured("SUM(amount)", *_OF_VISITS, table="visit"),
    "counts and totals of visits": [
        *measured("COUNT(*)", "", "region", "plan", "region plan", table="visit"),
        *measured("SUM(amount)", "", "region", "plan", "region plan", table="visit"),
    ],
    "people and visits": [
        one
        for measure in ("COUNT(*)", _PEOPLE)
        for one in measured(measure, "", "region", "plan", "region plan", table=_VISITS_OF_PEOPLE)
    ],
    "people and visits in all": [Tile((), measure=measure, table="visit") for measure in ("COUNT(*)", _PEOPLE)],
    "numbers": numbers("person"),
    "numbers of visits": numbers("visit"),
    "thresholds": [
        Tile(()),
        *(Tile((), where=f"amount >= {at}") for at in (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95)),
    ],
    "visits of a segment": [Tile(tuple(key.split()), vip, "COUNT(*)", "visit") for vip, key in _OF_SEGMENT],
}


@dataclass(frozen=True, slots=True)
class Figures:
    """Root mean squares of standard deviations."""

    alone: float
    together: float
    measured: float
    optimum: float
    counts: tuple[tuple[int, float, float], ...] = ()
    """Of each count its number of attributes, and the deviation of a cell alone and together."""


def compare(name: str, asked: Sequence[Tile], folder: Path, purchases: int, accounting: str = "delta: 1e-6") -> Figures:
    statements, errors = [one.sql for one in asked], []
    with duckdb.connect(str(folder / "people.duckdb")) as known:
        truth = [{row[:-1]: row[-1] for row in known.execute(sql).fetchall()} for sql in statements]
        sizes_of = [one.sizes(known) for one in asked]
    for number in range(max(purchases, 1)):
        (folder / "policy.yaml").write_text(policy(f"{name} {number}".replace(" ", "_"), accounting))
        with closing(Proxy.open(folder / "policy.yaml")) as proxy:
            session, limit = proxy.session(), proxy.answering.opened.accountant.limit
            epsilon = Fraction(int(sqrt(2 * limit.rho) * 10**6), 10**6) if limit.rho else limit.epsilon
            plan = session.buy(statements, epsilon)[0] if purchases else session.workload(statements, epsilon)
            for tile, right, sizes in zip(asked, truth, sizes_of, strict=True) if purchases else ():
                answer = session.execute(tile.sql)
                assert not answer.price, tile.sql
                cells = {tuple(row[:-1]): float(row[-1]) for row in answer.rows if row[-1] is not None}  # type: ignore[arg-type]
                off = [(cells[key] - right.get(key, 0)) / tile.unit(sizes.get(key, 0)) for key in cells]
                errors.append(np.mean(np.square(off)))
    deviations = [
        [(one.alone[-1] or 0) / NORMAL / tile.unit(), (one.together[-1] or 0) / NORMAL / tile.unit()]
        for tile, one in zip(asked, plan.statements, strict=True)
    ]
    return Figures(
        _root([alone for alone, _ in deviations]),
        _root([together for _, together in deviations]),
        sqrt(float(np.mean(errors))) if errors else nan,
        sqrt(optimum(asked) / len(asked) / float(2 * limit.rho)) if limit.rho else nan,
        tuple((len(tile.attributes), alone, both) for tile, (alone, both) in zip(asked, deviations, strict=True)),
    )


def optimum(asked: Sequence[Tile]) -> float:
    """The least total variance of unbiased sums, for 2ρ = 1 and in the units of tiles.

    With counts and sums t of [0, 1] by the same keys, one person adds (1, t) to a cell. With M the information of a
    strategy about both, (1, t) M (1, t) is at most 1 for all t where it is so at both ends, and the trace of the
    inverse of M is least, (3 + √5)/2, for M = ((1, -m/2), (-m/2, m)) with m = √5 - 1. All components have that form,
    since it follows from the two limits alone. People and their rows are the same with t from 1/N on.
    """
    if any(one.where for one in asked):
        return optimum_of_cells(asked)
    by_measure: dict[str, list[tuple[int, ...]]] = {}
    for one in asked:
        by_measure.setdefault(one.measure, []).append(one.attributes)
    keys = next(iter(by_measure.values()))
    if any(sorted(other) != sorted(keys) for other in by_measure.values()) or len(by_measure) > 2:
        return nan
    total = components(tuple(map(len, VALUES.values())), [AskedMarginal(one, 1.0) for one in keys]).total
    if len(by_measure) == 1:
        return total
    least = 1 / MOST_ROWS if _PEOPLE in by_measure else 0.0
    return (sqrt(1 + ((1 + least) / 2) ** 2) + (1 - least) / 2) ** 2 * total


def optimum_of_cells(asked: Sequence[Tile]) -> float:
    """The least total variance of counts with conditions on numbers, for 2ρ = 1, over the cells of all attributes.

    With V the sum of the outer products of what is asked, and X the information of a strategy, the total is tr(V X⁻¹),
    where no cell has more than 1 on the diagonal of X. Its dual is the largest (tr √(D^½ V D^½))² over weights D of the
    cells that add up to 1; X = D^-½ √(D^½ V D^½) D^-½ / tr √(…) has 1 in each cell there.
    """
    names = sorted({name for one in asked for name in one.keys})
    tests = sorted({one.where for one in asked if one.where})
    with duckdb.connect() as engine:
        shown = ", ".join(tests)
        intervals = engine.execute(f"SELECT DISTINCT {shown} FROM range(101) AS of_amounts(amount)").fetchall()
    cells = list(product(*(range(len(VALUES[name])) for name in names), range(len(intervals))))
    wanted = np.zeros((len(cells), len(cells)))
    for one in asked:
        inside = np.array([not one.where or intervals[cell[-1]][tests.index(one.where)] for cell in cells], float)
        groups: dict[tuple[int, ...], list[int]] = {}
        for place, cell in enumerate(cells):
            groups.setdefault(tuple(cell[names.index(name)] for name in one.keys), []).append(place)
        for members in groups.values():
            row = np.zeros(len(cells))
            row[members] = inside[members]
            wanted += np.outer(row, row) / len(groups)
    weights = np.full(len(cells), 1 / len(cells))
    for _ in range(200):
        roots = np.sqrt(weights)
        values, vectors = np.linalg.eigh(wanted * np.outer(roots, roots))
        square_root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        total = float(np.trace(square_root))
        weights = weights * (np.diag(square_root) / weights / total)
    return total**2


def _root(deviations: Sequence[float]) -> float:
    return sqrt(float(np.mean(np.square(deviations))))


def policy(ledger: str, accounting: str = "delta: 1e-6") -> str:
    columns = "".join(f"      {name}: {{values: [{', '.join(values)}]}}\n" for name, values in VALUES.items())
    return (
        f"database: duckdb:people.duckdb\nledger: sqlite:{ledger}.ledger\nprivacy_unit: person.id\n"
        f"budget: {{epsilon: 1, {accounting}}}\nstatement: {{epsilon: 0.01, max_epsilon: 1}}\n"
        f"tables:\n  person:\n    columns:\n      id: {{}}\n      amount: {{range: [0, 100]}}\n{columns}"
        f"  visit:\n    unit: person_id -> person.id\n    max_rows: {MOST_ROWS}\n    columns:\n      person_id: {{}}\n"
        f"      amount: {{range: [0, 100]}}\n{columns}"
    )


def fill(folder: Path) -> None:
    """People whose attributes depend on each other a little, as drawn from a fixed seed."""
    drawn = np.random.default_rng(38)
    base = drawn.random(PEOPLE)
    columns, types = [], []
    for name, values in VALUES.items():
        at = ((0.5 * base + 0.5 * drawn.random(PEOPLE)) ** 1.5 * len(values)).astype(int)
        columns.append([values[place] for place in at])
        types.append(f"{name} ENUM ({', '.join(map(repr, values))}) NOT NULL")
    columns.append([str(int(one)) for one in 100 * base])
    types.append("amount INTEGER NOT NULL")
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.execute(f"CREATE TABLE person (id INTEGER PRIMARY KEY, {', '.join(types)})")
        lines = [",".join((str(number), *row)) for number, row in enumerate(zip(*columns, strict=True))]
        (folder / "people.csv").write_text("\n".join(lines))
        connection.execute(f"COPY person FROM '{folder / 'people.csv'}' (HEADER false)")
        # Each visit has the attributes of some person, and nobody has more visits than may count.
        connection.execute(f"CREATE TABLE visit (person_id INTEGER NOT NULL REFERENCES person, {', '.join(types)})")
        connection.execute(
            f"INSERT INTO visit SELECT (id * 7919 + 13 * n) % {PEOPLE}, * EXCLUDE (id, n) FROM person,"
            f" range({MOST_ROWS}) AS visits(n) WHERE hash(id, n) % 5 < 3"
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench workload")
    parser.add_argument("--purchases", type=int, default=0, help="to be measured, too; fifty counts take some minutes")
    parser.add_argument("--pure", action="store_true", help="pure ε, of which no optimum is known")
    parser.add_argument(
        "--bars", type=int, default=0, metavar="N", help="how often bars hold in N purchases of small tables"
    )
    parser.add_argument("names", nargs="*", help="the dashboards; by themselves all of them")
    options = parser.parse_args()
    if options.bars:
        workload_bars.show(options.names or [*workload_bars.WORLDS], options.bars)
        return
    accounting = "delta: 0, accounting: pure" if options.pure else "delta: 1e-6"
    print(f"{PEOPLE:,} people, {prod(map(len, VALUES.values())):,} combinations, ε = 1, {accounting}")
    print(f"{'':18}{'counts':>8}{'alone':>10}{'together':>10}{'measured':>10}{'optimum':>10}{'over it':>10}")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        fill(folder)
        for name in options.names or DASHBOARDS:
            asked = DASHBOARDS[name]
            found = compare(name, asked, folder, options.purchases, accounting)
            shown = (found.alone, found.together, found.measured, found.optimum)
            told = "".join(f"{number:10.2f}" for number in shown)
            print(f"{name:18}{len(asked):8}{told}{found.together / found.optimum:10.3f}", flush=True)
