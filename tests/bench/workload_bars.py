"""How often 95 % bars of all that is free hold: ``python -m tests.bench workload --bars N [NAME …]``.

Each world is a small table that a workload is bought of N times, each time with fresh noise, and later statements with
it: of sums of cells, and of tables of which the purchase pays for the missing components alone. A figure is of the
numbers of one statement: the part that is within its bar, and the mean error over its standard error, of the same noise
as shown and as measured (``dpsql.consistent = off``). Errors of one purchase depend on each other, and those of two do
not: so standard errors are of means over purchases.
"""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from random import Random

import duckdb
import numpy as np

from dpsql.proxy import Proxy
from dpsql.reply import Answer
from tests.new_databases import insert
from tests.policies import policy_text

PEOPLE = 2_000
POLICY = policy_text("""
database: duckdb:small.duckdb; ledger: sqlite:{name}.ledger; privacy_unit: person.id
budget: {epsilon: 1000, delta: 1e-6}; statement: {epsilon: {usual}, max_epsilon: 10}
tables:
  person: id, region [N, E, S, W], sex [f, m], smoker, town [A, B], day 2025-01-01..2025-03-31, amount 0..100,
      change -50..50
  visit(person_id -> person.id, max_rows: 3): kind [x, y, z], cost 0..50
""")


def by(keys: str, measure: str = "COUNT(*)", where: str = "", table: str = "person") -> str:
    """A statement of one measure by some keys.

    >>> by("sex", where="amount < 5")
    'SELECT sex, COUNT(*) AS n FROM person WHERE amount < 5 GROUP BY sex'
    """
    shown, grouped = (f"{keys}, ", f" GROUP BY {keys}") if keys else ("", "")
    return f"SELECT {shown}{measure} AS n FROM {table}{f' WHERE {where}' if where else ''}{grouped}"


@dataclass(frozen=True, slots=True)
class World:
    """A workload that is bought at a price, and later statements: those that are paid for, and those that are free
    then. ``usual`` is the price of a later statement."""

    bought: tuple[str, ...]
    paid: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    price: Fraction = Fraction(1, 2)
    usual: Fraction = Fraction(1, 2)

    @property
    def asked(self) -> tuple[str, ...]:
        return (*self.paid, *self.bought, *self.free)


def subtotals(keys: str, sets: str = "ROLLUP", where: str = "") -> str:
    """A statement of counts by all that ROLLUP or CUBE makes of some keys."""
    return by(keys, where=where).replace(f"GROUP BY {keys}", f"GROUP BY {sets} ({keys})")


_OF_SMOKERS = "COUNT(*) FILTER (WHERE smoker)"
_OF_OTHERS = "COUNT(*) FILTER (WHERE NOT smoker)"
_IS_SMOKER = "CASE WHEN smoker THEN 1.0 ELSE 0 END"
_MONTH = "DATE_TRUNC('month', day)"
_WEEK = "DATE_TRUNC('week', day)"
_PAIRS = (by("region, sex"), by("sex, smoker"))
_CELLS = "region, sex, smoker"
_PARTS = (by("region, smoker"), by("region", where="smoker"), by("", where="NOT smoker AND region IN ('N', 'E')"))

WORLDS = {
    "divided numbers": World(
        (
            by(""),
            *(by("", where=f"amount >= {at}") for at in (20, 40, 60, 80)),
            *(by("region", where=f"amount < {at}") for at in (20, 60)),
            by("region"),
        ),
        free=(by("", where="amount BETWEEN 20 AND 59"), by("region", where="amount >= 60")),
    ),
    "divided numbers of rows": World(
        (
            by("", table="visit"),
            *(by("", where=f"cost >= {at}", table="visit") for at in (10, 20, 40)),
            *(by("kind", where=f"cost < {at}", table="visit") for at in (10, 40)),
            by("kind", table="visit"),
        ),
    ),
    "undeclared towns": World((by("town, sex"), by("town"), by("sex"), by("town, region"))),
    "times": World(
        (by(f"{_MONTH}"), by(f"{_MONTH}, sex"), by("sex"), by(""), by("sex", where="day >= DATE '2025-02-01'"))
    ),
    "weeks, thin": World((by(f"{_WEEK}"), by(f"{_WEEK}, sex"), by("region"))),
    "means": World((by("region", "AVG(amount)"), by("sex", "AVG(amount)"), by("region, sex", "AVG(amount)"))),
    "totals with a sign": World((by("region", "SUM(change)"), by("sex", "SUM(change)"), by("region, sex", "SUM(change)"))),
    "subtotals": World(
        (subtotals("region, sex"), subtotals("sex, smoker", "CUBE"), by("region")),
        free=(by("smoker"), subtotals("sex", where="region IN ('N', 'E')"), subtotals("region", where="sex = 'f'")),
    ),
    "shares": World(
        (by("region", f"{_OF_SMOKERS} * 1.0 / COUNT(*)"), by("region, smoker"), by("sex, smoker"), by("region")),
        free=(
            by("sex", f"{_OF_SMOKERS} * 1.0 / COUNT(*)"), by("", f"{_OF_SMOKERS} * 1.0 / COUNT(*) FILTER (WHERE NOT smoker)"),
        ),
    ),
    "differences": World(
        (by("region, smoker"), by("sex, smoker"), by("region"), by("smoker"), by("sex", f"AVG({_IS_SMOKER})")),
        free=(
            by("region", f"{_OF_SMOKERS} - {_OF_OTHERS}"), by("region", f"AVG({_IS_SMOKER})"), by("", f"{_OF_SMOKERS} - {_OF_OTHERS}"),
            by("", f"AVG({_IS_SMOKER})", where="region IN ('N', 'E')"),
        ),
    ),
    "completed": World(_PAIRS, (by(_CELLS),), _PARTS),
    "completed, little noise": World(_PAIRS, (by(_CELLS),), _PARTS, Fraction(2), Fraction(1)),
    "completed, much noise": World(_PAIRS, (by(_CELLS),), _PARTS, Fraction(1, 20), Fraction(1, 40)),
    "completed by a condition": World(
        (by("region, sex"), by("sex")), (by("region, sex", where="smoker"),), (by(_CELLS), by("region", where="NOT smoker"))
    ),
    "completed towns": World((by("region, town"), by("sex")), (by("region, town, sex"),), (by("town, sex"), by("region, sex"))),
    "completed totals": World(
        (by("region, sex", "SUM(change)"), by("smoker", "SUM(change)")), (by(_CELLS, "SUM(change)"),), (by("region, smoker", "SUM(change)"),)
    ),
    "completed totals from 0": World(
        (by("region, sex", "SUM(amount)"), by("smoker", "SUM(amount)")), (by(_CELLS, "SUM(amount)"),), (by("region, smoker", "SUM(amount)"),)
    ),
    "completed means": World((by("region", "AVG(amount)"), by("smoker", "AVG(amount)")), (by("region, smoker", "AVG(amount)"),)),
}  # fmt: skip


def fill(folder: Path) -> None:
    """People of whom nobody is in one cell of region, sex and smoker, and few are in some others."""
    drawn = Random(38)
    start = datetime.date(2025, 1, 1)
    people, visits = list[tuple[object, ...]](), list[tuple[object, ...]]()
    while len(people) < PEOPLE:
        region, sex, smoker = drawn.choice("N" * 12 + "E" * 6 + "SS" + "W"), drawn.choice("fm"), drawn.random() < 0.4
        if (region, sex, smoker) == ("W", "m", True):
            continue
        town, amount = drawn.choice("AAABC"), drawn.randrange(101)
        day = start + datetime.timedelta(days=int(90 * drawn.random() ** 2))
        people.append((len(people), region, sex, smoker, town, day, amount, drawn.randint(-50, 50)))
        visits += [(len(people) - 1, drawn.choice("xxy"), drawn.randint(0, 50)) for _ in range(drawn.randint(0, 3))]
    with duckdb.connect(str(folder / "small.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, region ENUM ('N', 'E', 'S', 'W') NOT NULL,"
            " sex ENUM ('f', 'm') NOT NULL, smoker BOOLEAN NOT NULL, town VARCHAR NOT NULL, day DATE NOT NULL,"
            " amount INTEGER NOT NULL, change INTEGER NOT NULL);"
            "CREATE TABLE visit (person_id INTEGER NOT NULL REFERENCES person, kind ENUM ('x', 'y', 'z') NOT NULL,"
            " cost INTEGER NOT NULL)"
        )
        insert(connection, "person", people)
        insert(connection, "visit", visits)


Errors = list[list[float]]
"""Of each purchase, the errors of all numbers of a statement."""


@dataclass(frozen=True, slots=True)
class Held:
    """Of one statement: the errors of its numbers, the part that was within bars, and how many answers told of a
    bias."""

    sql: str
    errors: Errors
    held: float
    told: int

    @property
    def numbers(self) -> int:
        return sum(map(len, self.errors))

    @property
    def root(self) -> float:
        """The root mean square error."""
        return float(np.sqrt(np.mean(np.square(np.concatenate(self.errors)))))


@dataclass(frozen=True, slots=True)
class Off:
    """A mean of purchases and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, means: Sequence[float]) -> Off:
        return cls(float(np.mean(means)), float(np.std(means, ddof=1)) / len(means) ** 0.5 if len(means) > 1 else 0.0)

    @property
    def errors(self) -> float:
        """The mean in standard errors."""
        return self.mean / self.error if self.error else 0.0


def mean_error(of: Sequence[Held]) -> Off:
    """The mean error of the numbers of several statements, those of each in units of their root mean square."""
    every = [[float(np.mean(own)) / (one.root or 1.0) for own in one.errors] for one in of]
    return Off.of([float(np.mean(one)) for one in zip(*every, strict=True)])


def measured(folder: Path, name: str, world: World, purchases: int) -> tuple[list[Held], list[Held]]:
    """What bars held in so many purchases, of numbers as they are shown and as they were measured."""
    with duckdb.connect(str(folder / "small.duckdb"), read_only=True) as known:
        right = {sql: truth(known.execute(sql).fetchall()) for sql in world.asked}
    found: dict[tuple[str, str], list[tuple[list[float], list[bool], bool]]] = {}
    for number in range(purchases):
        with opened(folder, f"{name} {number}".replace(" ", "_"), world) as proxy:
            session = proxy.session()
            session.buy(world.bought, world.price)
            for consistent in ("on", "off"):
                session.change("dpsql.consistent", consistent)
                for sql in world.asked:
                    answer = session.execute(sql)
                    paid = consistent == "on" and sql in world.paid
                    assert bool(answer.price) == paid, sql
                    if answer.price:
                        assert any("components are known" in one for one in answer.notices), sql
                    found.setdefault((consistent, sql), []).append(compared(answer, right[sql]))
    shown, before = ([_held(sql, found[way, sql]) for sql in world.asked] for way in ("on", "off"))
    return shown, before


def _held(sql: str, purchased: Sequence[tuple[list[float], list[bool], bool]]) -> Held:
    inside = [one for _, inside, _ in purchased for one in inside]
    return Held(sql, [errors for errors, _, _ in purchased], float(np.mean(inside)), sum(one for *_, one in purchased))


Cells = dict[tuple[str, ...], float]


def truth(rows: Iterable[Sequence[object]]) -> Cells:
    return {_key(row): float(row[-1]) for row in rows if row[-1] is not None}  # type: ignore[arg-type]


def _key(row: Sequence[object]) -> tuple[str, ...]:
    """A key as a text: a day is the same as its midnight."""
    return tuple(str(one).removesuffix(" 00:00:00").removesuffix("+00:00") for one in row[:-1])


def compared(answer: Answer, right: Cells) -> tuple[list[float], list[bool], bool]:
    """The errors of an answer's numbers, whether each is within its bar, and whether a notice tells of a bias."""
    rows = [(row, low[-1], high[-1]) for row, low, high in zip(answer.rows, answer.lows, answer.highs, strict=True)]
    rows = [one for one in rows if one[0][-1] is not None]
    true = [right.get(_key(row), 0.0) for row, _, _ in rows]
    errors = [float(row[-1]) - one for (row, _, _), one in zip(rows, true, strict=True)]  # type: ignore[arg-type]
    inside = [low <= one <= high for (_, low, high), one in zip(rows, true, strict=True)]  # type: ignore[operator]
    return errors, inside, any("no sum below 0 is shown" in one for one in answer.notices)


@contextmanager
def opened(folder: Path, name: str, world: World) -> Iterator[Proxy]:
    path = folder / f"{name}.yaml"
    path.write_text(POLICY.format(name=name, usual=float(world.usual)))
    with closing(Proxy.open(path)) as proxy:
        yield proxy


def held(of: Sequence[Held]) -> float:
    """The part of all numbers of some statements that was within bars."""
    return sum(one.numbers * one.held for one in of) / sum(one.numbers for one in of)


def show(names: Sequence[str], purchases: int) -> None:
    """A row of the table for each world, after the figures of its statements."""
    rows = ["| bought | numbers | shown, held | mean error | measured, held |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        fill(folder)
        for name in names:
            both = measured(folder, name, WORLDS[name], purchases)
            for way, every in zip(("as shown", "as measured"), both, strict=True):
                print(f"{name}, {way}: {purchases} purchases")
                for one in every:
                    off = Off.of([float(np.mean(own)) for own in one.errors])
                    mean = f"{off.mean:9.3f} ± {off.error:.3f} ({off.errors:.1f})"
                    told = f"{one.told} told of a bias"
                    print(f"  {one.numbers:6} {one.held:6.1%} {mean:28} {one.root:9.2f}  {told}  {one.sql}", flush=True)
            shown, before = both
            off = mean_error(shown)
            numbers = f"{sum(one.numbers for one in shown):,}"
            rows.append(f"| {name} | {numbers} | {held(shown):.1%} | {off.errors:+.1f} s.e. | {held(before):.1%} |")
            print(rows[-1], flush=True)
    print("\n".join(rows))
