"""Answers over columns that people randomized themselves: unbiased, with the exact variance, and sensitive as declared.

Each world is a group of a few people who reported in one way; all ways there are have their exact probability. So means
and variances over what people reported are computed, and not drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path
from shutil import copyfile

import duckdb
import numpy as np
import pytest

from dpsql.audit.neighbour_law import MovedTooFar, compare
from dpsql.inference.estimates.debiased_figures import _sides, debiased_numbers
from dpsql.mechanisms import Laplace
from dpsql.opened import Opened, open_policy
from rewriter.debiased import Debiased
from rewriter.declared.contribution import Norm
from rewriter.declared.randomization import Randomization, Rappor, Response
from rewriter.front_door import Select, parse, rewrite
from rewriter.plan import Plan
from tests.new_databases import insert

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
SMOKES = Response(("yes", "no"), Fraction("1.1"))
DRINK = Response((1, 2, 3), Fraction(2))
SITE = Rappor(("a", "b"), 3, 2, HALF, QUARTER, 3 * QUARTER, 2)
NONE = Laplace(Fraction(0))


@dataclass(frozen=True)
class Person:
    smokes: str
    drink: int
    site: str
    age: int
    rows: int = 1


PEOPLE = (Person("yes", 1, "a", 20), Person("no", 3, "b", 45, 3), Person("yes", 2, "b", 70, 2))


def _like(text: object, pattern: str) -> bool:
    return all(wanted in ("_", own) for own, wanted in zip(str(text), pattern, strict=True))


def _reports(law: Randomization, truth: object) -> list[tuple[object, Fraction]]:
    """Every report of a person, with its probability; of RAPPOR, from its parameters."""
    if isinstance(law, Response):
        return [(value, law.keep if value == truth else law.other) for value in law.values]
    assert isinstance(law, Rappor)
    found: list[tuple[object, Fraction]] = []
    for cohort, bits in product(range(law.cohorts), product((False, True), repeat=law.bits)):
        own = law.bloom(cohort, law.values.index(str(truth)))
        ones = [law.one if at in own else law.zero for at in range(law.bits)]
        share = prod((p if bit else 1 - p for p, bit in zip(ones, bits, strict=True)), start=Fraction(1, law.cohorts))
        found.append((law.spelt(cohort, bits), share))
    return found


@dataclass(frozen=True)
class Worlds:
    """All ways in which people may report one column; the others are as they truly are."""

    folder: Path
    column: str
    opened: Opened
    shares: tuple[Fraction, ...]

    @classmethod
    def of(cls, folder: Path, column: str, law: Randomization, people: tuple[Person, ...] = PEOPLE) -> Worlds:
        ways = list(product(*(_reports(law, getattr(one, column)) for one in people)))
        folder.mkdir()
        connection = duckdb.connect(str(folder / "people.duckdb"))
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, world INTEGER NOT NULL, smokes VARCHAR NOT NULL,"
            " drink INTEGER NOT NULL, site VARCHAR NOT NULL, age INTEGER NOT NULL)"
        )
        connection.execute("CREATE TABLE visit (person INTEGER NOT NULL REFERENCES person (id), cost INTEGER NOT NULL)")
        rows, visits = [], []
        for world, way in enumerate(ways):
            for one, (said, _) in zip(people, way, strict=True):
                told = {"smokes": one.smokes, "drink": one.drink, "site": one.site, column: said}
                rows.append((len(rows), world, told["smokes"], told["drink"], told["site"], one.age))
                visits += [(len(rows) - 1, 10 * number + 5) for number in range(one.rows)]
        insert(connection, "person", rows)
        insert(connection, "visit", visits)
        connection.close()
        (folder / "policy.yaml").write_text(_policy(folder, len(ways), column))
        shares = tuple(prod((share for _, share in way), start=Fraction(1)) for way in ways)
        return cls(folder, column, open_policy(folder / "policy.yaml"), shares)

    def plans(self, sql: str, norm: Norm = Norm.L2) -> tuple[Plan, ...]:
        statement = parse(sql)
        assert isinstance(statement, Select)
        return rewrite(statement.tree, self.opened.catalog, self.opened.engine.dialect, norms=(norm,)).plans

    def numbers(self, sql: str) -> Iterator[tuple[Debiased, np.ndarray, np.ndarray]]:
        """Of each debiased column the values of all worlds, and the variance that is estimated of each."""
        (plan,) = self.plans(sql)
        exact = self.opened.engine.run(plan)
        assert [key[0] for key in exact.keys] == list(range(len(self.shares)))
        for output in plan.outputs:
            how = output.estimator
            if isinstance(how, Debiased):
                sums = {name: np.asarray(exact.statistics[name], dtype=float) for name in how.statistics}
                found = debiased_numbers(how, sums, dict.fromkeys(how.statistics, NONE))
                spread = np.zeros(len(self.shares))
                for side in (side for part in how.parts for side in _sides(part)):
                    spread += side.end**2 * (side.spread @ side.numbers(sums))
                together = any(len(places) > 1 for places in how.clusters)
                yield how, found.values, found.reports if together else how.rows * spread

    def mean(self, values: np.ndarray) -> float:
        return float(sum(float(share) * value for share, value in zip(self.shares, values, strict=True)))


def _policy(folder: Path, worlds: int, column: str) -> str:
    laws = {
        "smokes": "values: ['yes', 'no'], randomized: {response: 1.1}",
        "drink": "values: [1, 2, 3], randomized: {response: 2}",
        "site": "values: [a, b], randomized: {rappor: {bits: 3, hashes: 2, cohorts: 2}}",
    }
    plain = {"smokes": "values: ['yes', 'no']", "drink": "values: [1, 2, 3]", "site": ""}
    said = "".join(f"      {name}: {{{laws[name] if name == column else plain[name]}}}\n" for name in laws)
    return (
        f"database: duckdb:{folder}/people.duckdb\nledger: sqlite:{folder}/ledger\nprivacy_unit: person.id\n"
        "budget: {epsilon: 10, delta: 1e-6}\nstatement: {epsilon: 1, max_epsilon: 2}\ntables:\n  person:\n    columns:\n"
        f"      id: {{}}\n      world: {{values: [{', '.join(map(str, range(worlds)))}]}}\n      age: {{range: [0, 100]}}\n"
        f"{said}  visit:\n    unit: person -> person.id\n    max_rows: 3\n    columns: {{person: {{}}, cost: {{range: [0, 50]}}}}\n"
    )


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Worlds]]:
    folder = tmp_path_factory.mktemp("worlds")
    laws = {"smokes": SMOKES, "drink": DRINK}
    found = {name: Worlds.of(folder / name, name, law) for name, law in laws.items()}
    found["site"] = Worlds.of(folder / "site", "site", SITE, PEOPLE[:2])
    yield found
    for one in found.values():
        one.opened.close()


COUNTS = [
    ("smokes", "COUNT(*) FILTER (WHERE smokes = 'yes')", 2),
    ("smokes", "COUNT(*) FILTER (WHERE smokes <> 'yes')", 1),
    ("smokes", "COUNT(*) FILTER (WHERE smokes = 'yes' AND age > 30)", 1),
    ("smokes", "COUNT(CASE WHEN smokes = 'no' THEN 1 END)", 1),
    ("smokes", "COUNT(DISTINCT id) FILTER (WHERE smokes = 'yes')", 2),
    ("drink", "COUNT(*) FILTER (WHERE drink IN (1, 3))", 2),
    ("drink", "COUNT(*) FILTER (WHERE drink >= 2 AND NOT drink = 3)", 1),
    ("smokes", "COUNT(*) FILTER (WHERE smokes LIKE 'y%')", 2),
    ("smokes", "COUNT(*) FILTER (WHERE smokes LIKE 'y_' OR smokes LIKE 'no')", 1),
    ("smokes", "COUNT(NULLIF(smokes, 'no'))", 2),
    ("drink", "COUNT(drink)", 3),
    ("drink", "COUNT(*) FILTER (WHERE drink * 10 + 1 > 11)", 2),
    ("site", "COUNT(*) FILTER (WHERE site = 'a')", 1),
    ("site", "COUNT(*) FILTER (WHERE site = 'b' OR site IS NULL)", 1),
]
SUMS = [
    ("smokes", "SUM(age) FILTER (WHERE smokes = 'yes')", 90),
    ("smokes", "SUM(CASE WHEN smokes = 'yes' THEN age ELSE 1 END)", 91),
    ("smokes", "SUM(age - 50) FILTER (WHERE smokes = 'no')", -5),
    ("smokes", "COUNT(*) FILTER (WHERE smokes = 'yes' OR age > 40)", 3),
    ("smokes", "COUNT(*) FILTER (WHERE LENGTH(smokes) = 3)", 2),
    ("drink", "SUM(drink)", 6),
    ("drink", "SUM(CASE drink WHEN 1 THEN 10 WHEN 2 THEN 0 ELSE -5 END)", 5),
    ("site", "SUM(age) FILTER (WHERE site = 'b')", 45),
]


@pytest.mark.parametrize(("column", "aggregate", "truth"), COUNTS)
def test_a_count_is_unbiased_and_its_variance_exact(
    worlds: dict[str, Worlds], column: str, aggregate: str, truth: int
) -> None:
    here = worlds[column]
    ((_, values, spread),) = here.numbers(f"SELECT world, {aggregate} FROM person GROUP BY world")
    assert here.mean(values) == pytest.approx(truth, abs=1e-6)
    assert here.mean((values - truth) ** 2) == pytest.approx(here.mean(spread), abs=1e-6)


def test_sums_of_randomized_numbers_have_one_variance(worlds: dict[str, Worlds]) -> None:
    """All values of a column are of the same reports: their errors are no more than they are."""
    here = worlds["drink"]
    for aggregate, truth in (("SUM(drink)", 6), ("SUM(CASE drink WHEN 1 THEN 10 WHEN 2 THEN 0 ELSE -5 END)", 5)):
        ((how, values, spread),) = here.numbers(f"SELECT world, {aggregate} FROM person GROUP BY world")
        assert len(how.clusters) == 1
        assert how.rows == 1
        told = here.mean(spread)
        really = here.mean((values - truth) ** 2)
        assert really - 1e-6 <= told <= 1.1 * really


@pytest.mark.parametrize(("column", "aggregate", "truth"), SUMS)
def test_a_sum_is_unbiased_and_its_variance_bounded(
    worlds: dict[str, Worlds], column: str, aggregate: str, truth: int
) -> None:
    here = worlds[column]
    ((_, values, spread),) = here.numbers(f"SELECT world, {aggregate} FROM person GROUP BY world")
    assert here.mean(values) == pytest.approx(truth, abs=1e-3)
    assert here.mean((values - truth) ** 2) <= here.mean(spread) + 1e-6


def test_rows_of_a_person_share_the_report(worlds: dict[str, Worlds]) -> None:
    sql = "SELECT p.world, COUNT(*) FILTER (WHERE p.smokes = 'yes'), SUM(v.cost) FILTER (WHERE p.smokes = 'no')"
    found = list(worlds["smokes"].numbers(f"{sql} FROM visit v JOIN person p ON p.id = v.person GROUP BY p.world"))
    for (how, values, spread), truth in zip(found, (3, 45), strict=True):
        assert how.rows == 3
        assert worlds["smokes"].mean(values) == pytest.approx(truth, abs=1e-3)
        assert worlds["smokes"].mean((values - truth) ** 2) <= worlds["smokes"].mean(spread) + 1e-6


def test_values_of_a_key_add_up_to_all_people(worlds: dict[str, Worlds]) -> None:
    for column, (_, _, _) in (("smokes", SUMS[0]), ("drink", SUMS[0])):
        found = list(worlds[column].numbers(f"SELECT world, {column}, COUNT(*) FROM person GROUP BY world, {column}"))
        assert np.allclose(sum(values for _, values, _ in found), len(PEOPLE))


STATEMENTS = [
    ("smokes", "SELECT smokes, COUNT(*), AVG(age) FROM person GROUP BY smokes"),
    ("drink", "SELECT COUNT(*), SUM(age) FROM person WHERE drink <> 2 AND age < 60"),
    ("smokes", "SELECT p.smokes, COUNT(*), SUM(v.cost) FROM visit v JOIN person p ON p.id = v.person GROUP BY 1"),
    ("site", "SELECT site, COUNT(*) FROM person GROUP BY site"),
    ("drink", "SELECT age > 30, AVG(CASE WHEN drink = 1 THEN 1 ELSE 0 END) FROM person GROUP BY 1"),
]


@pytest.mark.parametrize("norm", [Norm.L1, Norm.L2])
@pytest.mark.parametrize(("column", "sql"), STATEMENTS)
def test_a_person_moves_no_release_by_more_than_it_declares(
    worlds: dict[str, Worlds], column: str, sql: str, norm: Norm
) -> None:
    here = worlds[column]
    copied = here.folder / f"copy_{norm}_{len(sql)}" / "people.duckdb"
    copied.parent.mkdir()
    copyfile(here.folder / "people.duckdb", copied)
    connection = duckdb.connect(str(copied))
    connection.execute("ATTACH ':memory:' AS fewer")
    used, people = 0.0, len(here.shares) * (2 if column == "site" else len(PEOPLE))
    for plan in here.plans(sql, norm):
        whole = _groups(plan, connection, "people")
        for person in range(0, people, people // 6):
            for table, key in (("person", "id"), ("visit", "person")):
                rows = f'SELECT * FROM people."{table}" WHERE {key} <> {person}'
                connection.execute(f'CREATE OR REPLACE TABLE fewer.main."{table}" AS {rows}')
            used = max(used, compare(plan, whole, _groups(plan, connection, "fewer")))
    assert 0 < used <= 1
    connection.close()


def _groups(
    plan: Plan, connection: duckdb.DuckDBPyConnection, database: str
) -> dict[tuple[object, ...], dict[str, int]]:
    connection.execute(f"USE {database}")
    width, names = len(plan.keys), plan.columns
    rows = connection.execute(plan.sql).fetchall()
    return {tuple(row[:width]): dict(zip(names, row[width:], strict=True)) for row in rows}


def test_a_neighbour_that_moves_too_far_is_seen(worlds: dict[str, Worlds]) -> None:
    (plan,) = worlds["smokes"].plans("SELECT smokes, COUNT(*) FROM person GROUP BY smokes")
    here, there = ({(): dict.fromkeys(plan.columns, number)} for number in (5, 0))
    with pytest.raises(MovedTooFar):
        compare(plan, here, there)
