"""One person moves all that a workload measures, taken together, by no more than its one charge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random

import duckdb
import pytest

from dpsql.accounting.loss import ORDERS
from dpsql.audit.neighbour_law import measured
from dpsql.calibrate import Calibration
from dpsql.mechanisms import Gaussian, Laplace
from dpsql.proxy import Proxy
from dpsql.reuse import Completion
from dpsql.settings import Settings
from dpsql.workload import WorkloadPlan
from tests.doubles import opened_policy
from tests.new_databases import insert
from tests.policies import policy_text

PEOPLE = 60
HEAVY = 7
"""A person who has far more rows than anybody may have."""
MOST_ROWS = 4
BEYOND = PEOPLE
"""A person with three rows more than count, all of one group and at the end of each range."""
SOME = (*range(0, PEOPLE, 3), HEAVY, BEYOND)
"""A third of all people, with those who are at an end."""
POLICY = policy_text("""
database: duckdb:people.duckdb; ledger: sqlite:{name}.ledger; privacy_unit: person.id
budget: {epsilon: 1000, {accounting}}; statement: {epsilon: 0.5, max_epsilon: 4}
tables:
  person: id, region [N, E, S, W], plan [free, pro, max], segment [std, vip], day 2025-01-01..2025-01-20,
      amount 0..100, height -20..80, town [A, B]
  visit(person_id -> person.id, max_rows: {most}): ward [a, b, c], kind [x, y], cost 0..50, change -50..20,
      why [u, v], seen 2025-01-10..2025-05-20
""")
ACCOUNTINGS = ("delta: 1e-6, accounting: zcdp", "delta: 0, accounting: pure")
KEYS = {
    "person": ("region", "plan", "segment", "region", "plan", "town", "DATE_TRUNC('week', day)"),
    "visit": ("ward", "kind", "ward", "why", "DATE_TRUNC('month', seen)", "EXTRACT(QUARTER FROM seen)"),
}
FILTERS = {
    "person": (
        "segment = 'vip'", "plan IN ('free', 'pro')", "region = 'N' OR region = 'S'", "region <> 'E'", "amount > 50",
        "amount BETWEEN 20 AND 70", "day < DATE '2025-01-09'", "day >= DATE '2025-01-05' AND day < DATE '2025-01-12'",
        "segment = 'std' AND amount < 10", "town = 'A'", "town <> 'B'", "town IS NULL",
    ),
    "visit": ("kind = 'x'", "ward IN ('a', 'b')", "cost > 25", "why = 'u'", "NOT why = 'u'", "seen >= DATE '2025-02-01'"),
}  # fmt: skip
VALUES = {"person": ("amount", "height", "height"), "visit": ("cost",)}
VISITS_OF = "visit AS v JOIN person AS p ON p.id = v.person_id"
MEASURES = (
    "COUNT(*)", "COUNT(*)", "SUM({0})", "AVG({0})", "COUNT(*), SUM({0})", "COUNT({0}), AVG({0})", "STDDEV({0})",
    "AVG({0}), AVG({1}), COUNT(*)",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made, drawn = tmp_path_factory.mktemp("people"), Random(38)
    with duckdb.connect(str(made / "people.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, region ENUM ('N', 'E', 'S', 'W') NOT NULL,"
            " plan ENUM ('free', 'pro', 'max') NOT NULL, segment ENUM ('std', 'vip') NOT NULL, day DATE, amount INTEGER,"
            " height INTEGER NOT NULL, town VARCHAR);"
            "CREATE TABLE visit (person_id INTEGER NOT NULL REFERENCES person, ward ENUM ('a', 'b', 'c') NOT NULL,"
            " kind ENUM ('x', 'y') NOT NULL, cost INTEGER, change INTEGER NOT NULL,"
            " why VARCHAR NOT NULL, seen DATE)"
        )
        people, visits = list[tuple[object, ...]](), list[tuple[object, ...]]()
        for person in range(PEOPLE):
            values = (drawn.choice("NESW"), drawn.choice(["free", "pro", "max"]), drawn.choice(["std", "vip"]))
            day = drawn.choice(["2025-01-01", "2025-01-08", "2025-01-20", "2031-01-01", None])
            amount = drawn.choice([0, 51, 100, 10**6, -5, None])
            height = drawn.choice([-20, 30, 80, 900, -900])
            other = Random(f"{person} of {height}")
            people.append((person, *values, day, amount, height, other.choice(["A", "B", "C", None])))
            for _ in range(60 if person == HEAVY else drawn.choice([0, 1, 4, 9])):
                visit = (drawn.choice("abc"), drawn.choice("xy"), drawn.choice([0, 50, 900, None]))
                change = Random(f"{person} {visit}").choice([-50, 0, 20, -900])
                seen = other.choice(["2025-01-11", "2025-02-28", "2025-05-25", "2024-12-31", "2031-01-01", None])
                visits.append((person, *visit, change, other.choice(["u", "v", "w"]), seen))
        insert(connection, "person", people)
        insert(connection, "visit", visits)
        connection.execute(f"INSERT INTO person VALUES ({BEYOND}, 'N', 'free', 'std', NULL, NULL, 30, 'C')")
        for _ in range(MOST_ROWS + 3):
            connection.execute(f"INSERT INTO visit VALUES ({BEYOND}, 'a', 'x', 50, -50, 'w', NULL)")
    return made


def statement(random: Random, table: str, measures: Sequence[str]) -> str:
    keys = ", ".join(random.sample(KEYS[table], random.randint(0, 2)))
    where = f" WHERE {random.choice(FILTERS[table])}" if random.random() < 0.4 else ""
    what = random.choice(measures).format(*(random.choice(VALUES[table]) for _ in range(2)))
    if table == "person" and random.random() < 0.15:
        return f"SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) FROM person{where} GROUP BY day"
    shown, grouped = (f"{keys}, ", f" GROUP BY {keys}") if keys else ("", "")
    return f"SELECT {shown}{what} FROM {table}{where}{grouped}"


def workload(random: Random) -> list[str]:
    """Statements of people, of their rows, or of both: counts, sums and means, of which most are joined."""
    tables = random.choice([["person"], ["person"], ["person"], ["visit"], ["person", "visit"]])
    measures = random.choice([MEASURES[:1], MEASURES, *(random.sample(MEASURES[1:], 2) for _ in range(3))])
    asked = [statement(random, random.choice(tables), measures) for _ in range(random.randint(4, 11))]
    if random.random() < 0.4:
        table = random.choice(["visit", VISITS_OF])
        asked += [of_visits(random, table) for _ in range(random.randint(2, 5))]
    if random.random() < 0.5:
        asked += between_cuts(*random.choice([("person", "amount", "plan"), ("visit", "cost", "kind")]))
    return list(dict.fromkeys(asked))


def of_several(random: Random) -> list[str]:
    """Subtotals and pivot tables, beside some tables that they can be made of."""
    table = random.choice(["person", "person", "visit"])
    asked = [statement(random, table, MEASURES[:1]) for _ in range(random.randint(1, 3))]
    for _ in range(random.randint(2, 4)):
        keys = ", ".join(random.sample(sorted(set(KEYS[table])), random.randint(1, 2)))
        where = f" WHERE {random.choice(FILTERS[table])}" if random.random() < 0.3 else ""
        if random.random() < 0.5:
            sets = random.choice(["ROLLUP", "CUBE"])
            asked.append(f"SELECT {keys}, COUNT(*) FROM {table}{where} GROUP BY {sets} ({keys})")
            continue
        counts = [f"COUNT(*) FILTER (WHERE {one})" for one in random.sample(FILTERS[table], random.randint(1, 3))]
        counts += ["COUNT(*)"] if len(counts) == 1 or random.random() < 0.5 else []
        counts += [f"AVG(CASE WHEN {one} THEN 1.0 ELSE 0 END)" for one in FILTERS[table] if random.random() < 0.1]
        counts = counts if random.random() < 0.7 else [" - ".join(counts)]
        named = ", ".join(f"{one} AS n{place}" for place, one in enumerate(counts))
        shown, grouped = (f"{keys}, ", f" GROUP BY {keys}") if random.random() < 0.7 else ("", "")
        asked.append(f"SELECT {shown}{named} FROM {table}{where}{grouped}")
    return list(dict.fromkeys(asked))


CUTS = (0, 10, 20, 30, 40, 50)


def between_cuts(table: str, number: str, key: str) -> list[str]:
    """Rows beyond each of some numbers, in all and by a key: sums of neighbouring intervals."""
    asked = [f"SELECT COUNT(*) FROM {table}", *(f"SELECT COUNT(*) FROM {table} WHERE {number} >= {at}" for at in CUTS)]
    return [*asked, *(f"SELECT {key}, COUNT(*) FROM {table} WHERE {number} < {at} GROUP BY {key}" for at in CUTS[::2])]


def of_visits(random: Random, table: str) -> str:
    """People with visits, or these visits, by what is constant for each person or varies."""
    of_person, of_row = (["p.region", "p.segment"] if table == VISITS_OF else []), ["ward", "kind"]
    keys = ", ".join(
        random.sample(random.choice([of_person, of_person, of_row]), random.choice([0, 0, 1, 1]) if of_person else 0)
    )
    where = random.choice(["", "", "", *FILTERS["visit"], *([" p.segment = 'vip'"] if of_person else [])])
    what = random.choice(["COUNT(*)", "COUNT(DISTINCT person_id)", "COUNT(DISTINCT person_id), COUNT(*)"])
    shown, grouped = (f"{keys}, ", f" GROUP BY {keys}") if keys else ("", "")
    return f"SELECT {shown}{what} FROM {table}{' WHERE ' if where else ''}{where}{grouped}"


def opened(folder: Path, accounting: str, name: str = "") -> AbstractContextManager[Proxy]:
    """With a ledger of its own where it has a ``name``."""
    name = name or accounting.rpartition(" ")[2]
    return opened_policy(folder, POLICY, name=name, accounting=accounting, most=MOST_ROWS)


Table = dict[tuple[object, ...], dict[str, int]]


@cache
def copied(folder: Path) -> duckdb.DuckDBPyConnection:
    """All people, in memory: who is left out of them is a matter of views."""
    connection = duckdb.connect()
    connection.execute(f"ATTACH '{folder / 'people.duckdb'}' AS whole (READ_ONLY)")
    for table in ("person", "visit"):
        connection.execute(f"CREATE TABLE every_{table} AS SELECT * FROM whole.{table}")
    connection.execute("DETACH whole")
    return connection


def exact(folder: Path, plan: WorkloadPlan, drop: int | None) -> list[Table]:
    """The engine's own integers of every release, of all people or of all but one."""
    connection = people_but(folder, drop)
    return [rows_of(connection, release) for release in plan.priced.releases]


def people_but(folder: Path, drop: int | None) -> duckdb.DuckDBPyConnection:
    """The database of all people, or of all but one."""
    connection = copied(folder)
    for table, key in (("person", "id"), ("visit", "person_id")):
        kept = "" if drop is None else f" WHERE {key} <> {drop}"
        connection.execute(f"CREATE OR REPLACE VIEW {table} AS SELECT * FROM every_{table}{kept}")
    return connection


def told(plan: WorkloadPlan, here: Sequence[Table], there: Sequence[Table]) -> Fraction:
    """What two databases are told apart by: Σ Δ²/2σ² of Gaussian noise, Σ |Δ|/b of Laplace noise."""
    loss = Fraction(0)
    for release, one, other in zip(plan.priced.releases, here, there, strict=True):
        for statistic, noise in release.noise.items():
            for group in {*one, *other}:
                moved = one.get(group, {}).get(statistic, 0) - other.get(group, {}).get(statistic, 0)
                if isinstance(noise, Gaussian):
                    loss += Fraction(moved) ** 2 / (2 * noise.square)
                else:
                    assert isinstance(noise, Laplace)
                    loss += abs(moved) / noise.scale
    return loss


def law(
    folder: Path, accounting: str, seeds: Sequence[int], drawn: Callable[[Random], list[str]] = workload
) -> tuple[float, int, int, int]:
    """The nearest that a person came to a charge, how many workloads joined several statements, how many joined
    several statistics in one table, and how many measured blocks of intervals."""
    nearest, joined, vectors, blocks = 0.0, 0, 0, 0
    with opened(folder, accounting) as proxy:
        for seed in seeds:
            random = Random(f"{accounting} {seed}")
            statements = drawn(random)
            plan = proxy.session().workload(statements, Fraction(random.choice(["1/8", "1", "4"])))
            assert all(one.far <= 1.01 for one in plan.statements), "nothing joined is farther off than alone"
            charged = plan.loss.rho or plan.loss.epsilon
            whole = exact(folder, plan, None)
            for person in (HEAVY, *random.sample(range(PEOPLE), 3)):
                moved = told(plan, whole, exact(folder, plan, person))
                assert moved <= charged, (seed, person, statements)
                nearest = max(nearest, float(moved / charged))
            joined += sum(one.joined for one in plan.statements) > 1
            together = [facts.together for _, facts, _ in plan.kept]
            vectors += any(one is not None and len(one.statistics) > 1 for one in together)
            blocks += any(one is not None and bool(one.merged) for one in together)
    return nearest, joined, vectors, blocks


QUICK = dict(zip(ACCOUNTINGS, ((0, 1, 2, 3, 6, 7, 13), (0, 2, 3, 4, 6, 8, 10, 15)), strict=True))
"""Seeds of workloads that are planned within three seconds each; campaigns have many others."""


@pytest.mark.parametrize("accounting", ACCOUNTINGS)
def test_one_person_moves_a_workload_by_no_more_than_its_charge(folder: Path, accounting: str) -> None:
    nearest, joined, vectors, blocks = law(folder, accounting, QUICK[accounting])
    assert nearest > 0.9, "a person comes near to the charge: it is no larger than it must be"
    assert joined >= 5
    assert vectors >= 3, "means and sums are joined, too"
    assert blocks >= 2 or "pure" in accounting, "intervals are measured in blocks, too"


@pytest.mark.parametrize("accounting", ACCOUNTINGS)
def test_one_person_moves_subtotals_and_pivot_tables_by_no_more_than_their_charge(
    folder: Path, accounting: str
) -> None:
    nearest, joined, *_ = law(folder, accounting, range(4), of_several)
    assert nearest > 0.9
    assert joined >= 2


@pytest.mark.parametrize("table", ["person", "visit"])
def test_all_blocks_of_intervals_are_charged(folder: Path, table: str) -> None:
    """Rows of a person are in one block of each table each, whatever its number is, and without one: a person moves all
    tables together by what is charged."""
    asked = between_cuts(table, *(("amount", "plan") if table == "person" else ("cost", "kind")))
    with opened(folder, ACCOUNTINGS[0]) as proxy:
        plan = proxy.session().workload(asked, Fraction(1))
        assert all(one.joined for one in plan.statements)
        merged = [one.together.merged for _, one, _ in plan.kept if one.together is not None and one.together.merged]
        assert [len(some) > 2 for some in merged] == [True]
        charged = plan.loss.rho
        whole = exact(folder, plan, None)
        moved = [told(plan, whole, exact(folder, plan, person)) for person in SOME]
    assert max(moved) <= charged
    assert moved[-1] > 0.97 * charged


SEVERAL = ("AVG(amount), AVG(height), STDDEV(amount)", "COUNT(*), SUM(amount), SUM(height)")


@pytest.mark.spread
@pytest.mark.parametrize("measures", SEVERAL)
@pytest.mark.parametrize("accounting", ACCOUNTINGS)
def test_all_vectors_that_are_measured_together_are_charged(folder: Path, accounting: str, measures: str) -> None:
    """Two and more vectors in each table, and a person at the ends of all of them: who moves as much as is charged."""
    keys = ("region", "plan", "region, plan")
    with opened(folder, accounting) as proxy:
        plan = proxy.session().workload([f"SELECT {k}, {measures} FROM person GROUP BY {k}" for k in keys], Fraction(1))
        assert all(one.joined for one in plan.statements)
        assert all(len(one.measured) > 1 for one in plan.priced.calibrations)
        charged = plan.loss.rho or plan.loss.epsilon
        whole = exact(folder, plan, None)
        moved = [told(plan, whole, exact(folder, plan, person)) for person in range(PEOPLE)]
    assert 0.99 * charged < max(moved) <= charged


WEIGHED = {
    "a count and a total": ("COUNT(*)", "SUM(height)"),
    "a count and a mean": ("COUNT(*)", "AVG(height)"),
    "a count and a mean of what may be missing": ("COUNT(*)", "AVG(amount)"),
}


@pytest.mark.parametrize("measures", WEIGHED.values(), ids=WEIGHED)
def test_rows_and_their_values_in_one_vector_are_charged(folder: Path, measures: tuple[str, ...]) -> None:
    """The number of rows and the difference beside it have weights: a person at an end of the range moves both."""
    keys = ("region", "plan", "region, plan")
    with opened(folder, ACCOUNTINGS[0]) as proxy:
        asked = [f"SELECT {k}, {one} FROM person GROUP BY {k}" for one in measures for k in keys]
        plan = proxy.session().workload(asked, Fraction(1))
        assert all(one.joined for one in plan.statements)
        texts = {text.text for one in plan.priced.calibrations for text in one.plan.statistics}
        assert any(text.startswith("rows") for text in texts), texts
        whole = exact(folder, plan, None)
        moved = [told(plan, whole, exact(folder, plan, person)) for person in range(PEOPLE)]
    assert 0.97 * plan.loss.rho < max(moved) <= plan.loss.rho


OF_ROWS = {
    "counts": ("COUNT(*)",),
    "sums": ("SUM(cost)",),
    "sums with a sign": ("SUM(change)",),
    "counts and sums": ("COUNT(*)", "SUM(change)"),
    "counts beside sums": ("COUNT(*), SUM(cost)",),
}


@pytest.mark.spread
@pytest.mark.parametrize("measures", OF_ROWS.values(), ids=OF_ROWS)
@pytest.mark.parametrize("accounting", [*ACCOUNTINGS, "delta: 1e-6, accounting: approx"])
def test_a_person_with_more_rows_than_count_moves_the_joint_vector_by_what_is_charged(
    folder: Path, accounting: str, measures: tuple[str, ...]
) -> None:
    """Several rows of a person are in several cells of each table, or in one: by at most so many as may count."""
    keys = ("", "ward", "kind", "ward, kind")
    with opened(folder, accounting) as proxy:
        asked = [f"SELECT {one} FROM visit" + (f" GROUP BY {k}" if k else "") for one in measures for k in keys]
        plan = proxy.session().workload(asked, Fraction(1))
        assert sum(one.joined for one in plan.statements) >= 3
        charged = plan.loss.rho or plan.loss.epsilon
        whole = exact(folder, plan, None)
        moved = [told(plan, whole, exact(folder, plan, person)) for person in SOME]
    assert 0.97 * charged < moved[-1] <= charged
    assert max(moved) <= charged


OF_SOME_ROWS = {**OF_ROWS, "deviations": ("STDDEV(cost)",), "deviations and means": ("STDDEV(cost)", "AVG(cost)")}


@pytest.mark.spread
@pytest.mark.parametrize("measures", OF_SOME_ROWS.values(), ids=OF_SOME_ROWS)
@pytest.mark.parametrize("accounting", [*ACCOUNTINGS, "delta: 1e-6, accounting: approx"])
def test_conditions_that_vary_within_a_person_are_charged_for_all_rows(
    folder: Path, accounting: str, measures: tuple[str, ...]
) -> None:
    """Rows of a person fall on both sides of a condition: they move the cells of both by at most what is charged."""
    charged_for_all_rows(folder, accounting, measures, ("", " WHERE kind = 'x'", " WHERE ward IN ('a', 'b')"))


@pytest.mark.spread
@pytest.mark.parametrize("measures", OF_ROWS.values(), ids=OF_ROWS)
@pytest.mark.parametrize("accounting", [*ACCOUNTINGS, "delta: 1e-6, accounting: approx"])
def test_all_intervals_of_a_number_are_charged(folder: Path, accounting: str, measures: tuple[str, ...]) -> None:
    """Rows of a person fall into several intervals between the cuts of all statements, below the range, beyond it and
    without a value: they move the cells of all of them by at most what is charged."""
    charged_for_all_rows(folder, accounting, measures, ("", " WHERE cost >= 50", " WHERE cost < 50"))


def charged_for_all_rows(folder: Path, accounting: str, measures: Sequence[str], tests: Sequence[str]) -> None:
    keys = ("", "ward", "kind")
    with opened(folder, accounting) as proxy:
        asked = [
            f"SELECT {one} FROM visit{test}" + (f" GROUP BY {k}" if k else "")
            for one in measures
            for k in keys
            for test in tests
            if not k or k not in test
        ]
        plan = proxy.session().workload(asked, Fraction(1))
        assert all(one.joined for one in plan.statements)
        charged = plan.loss.rho or plan.loss.epsilon
        whole = exact(folder, plan, None)
        moved = [told(plan, whole, exact(folder, plan, person)) for person in SOME]
    assert 0.97 * charged < moved[-1] <= charged
    assert max(moved) <= charged


PEOPLE_AND_ROWS = {
    "in all": ("visit AS v", ("",), ("",)),
    "with a condition that varies": ("visit AS v", ("",), (" WHERE v.ward = 'a'",)),
    "by what is constant": (VISITS_OF, ("", "p.segment", "p.segment, p.region"), ("",)),
    "with a condition on the person": (VISITS_OF, ("", "p.region"), ("", " WHERE p.segment = 'std'")),
}


@pytest.mark.spread
@pytest.mark.parametrize(("rows", "keys", "tests"), PEOPLE_AND_ROWS.values(), ids=PEOPLE_AND_ROWS)
@pytest.mark.parametrize("accounting", [*ACCOUNTINGS, "delta: 1e-6, accounting: approx"])
def test_people_and_their_rows_in_one_vector_are_charged(
    folder: Path, accounting: str, rows: str, keys: Sequence[str], tests: Sequence[str]
) -> None:
    """Who has one row, as many as count, or far more: one person in one group of each table."""
    with opened(folder, accounting) as proxy:
        asked = [
            f"SELECT {k}{', ' if k else ''}{one} FROM {rows}{test}" + (f" GROUP BY {k}" if k else "")
            for one in ("COUNT(*)", "COUNT(DISTINCT v.person_id)")
            for k in keys
            for test in tests
        ]
        plan = proxy.session().workload(asked, Fraction(1))
        assert all(one.joined and one.far <= 1.01 for one in plan.statements)
        texts = [{statistic.text for statistic in one.plan.statistics} for one in plan.priced.calibrations]
        assert all(one == {"people", "rows"} for one in texts)
        charged = plan.loss.rho or plan.loss.epsilon
        whole = exact(folder, plan, None)
        moved = [told(plan, whole, exact(folder, plan, person)) for person in SOME]
    assert 0.97 * charged < moved[-1] <= charged
    assert max(moved) <= charged


OF_A_PERSON = (" WHERE amount >= 51", " WHERE amount < 51", " WHERE amount BETWEEN 1 AND 50")


@pytest.mark.parametrize("accounting", ACCOUNTINGS)
def test_a_person_is_in_one_interval_of_a_number_and_moves_all_tables(folder: Path, accounting: str) -> None:
    """Whatever the number is, beyond its range or missing: who comes or goes moves one cell of every table."""
    with opened(folder, accounting) as proxy:
        asked = ["SELECT COUNT(*) FROM person", "SELECT region, COUNT(*) FROM person GROUP BY region"]
        asked += [f"SELECT COUNT(*) FROM person{test}" for test in OF_A_PERSON]
        asked += [f"SELECT region, COUNT(*) FROM person{test} GROUP BY region" for test in OF_A_PERSON]
        plan = proxy.session().workload(asked, Fraction(1))
        assert all(one.joined for one in plan.statements)
        assert any("amount: >= 1, >= 51" in key.text for one in plan.priced.releases for key in one.plan.keys)
        charged = plan.loss.rho or plan.loss.epsilon
        whole = exact(folder, plan, None)
        for person in SOME:
            moved = told(plan, whole, exact(folder, plan, person))
            assert 0.99 * charged < moved <= charged, person


COMPLETED: dict[str, tuple[tuple[str, ...], str, str]] = {
    "counts of people": (("region, plan", "plan, segment"), "COUNT(*)", "region, plan, segment"),
    "totals of people": (("region, plan", "plan, segment"), "SUM(height)", "region, plan, segment"),
    "means of people": (("region", "plan"), "AVG(height)", "region, plan"),
    "with undeclared values": (("region, town", "plan"), "COUNT(*)", "region, town, plan"),
}
"""Keys of a workload, what it measures of people, and the keys of a later table."""


@pytest.mark.parametrize(("before", "measure", "keys"), COMPLETED.values(), ids=COMPLETED)
def test_missing_components_are_charged(folder: Path, before: Sequence[str], measure: str, keys: str) -> None:
    """A person moves the missing components of all cells together by at most what is charged for them."""
    with opened(folder, ACCOUNTINGS[0]) as proxy:
        session = proxy.session()
        session.buy([f"SELECT {k}, {measure} FROM person GROUP BY {k}" for k in before], Fraction(4))
        prepared = proxy.questions([f"SELECT {keys}, {measure} FROM person GROUP BY {keys}"])[0]
        priced = proxy.answering.pricing.price(prepared, Settings(epsilon=Fraction(1, 2)))
        (found,) = priced.offers.values()
        assert isinstance(found, Completion)
        assert found.loss == priced.loss
        whole = read(folder, found.fresh, None)
        moved = [parted(found.fresh, whole, read(folder, found.fresh, person)) for person in SOME]
    assert 0.97 * found.loss.rho < max(moved) <= found.loss.rho


@pytest.mark.parametrize("measure", ["COUNT(*)", "SUM(change)"])
def test_who_has_several_rows_is_clipped_as_in_a_release_of_its_own(folder: Path, measure: str) -> None:
    """A workload clips people by one factor in all groupings; a statement that is paid for keeps more of their rows."""
    with opened(folder, ACCOUNTINGS[0]) as proxy:
        proxy.session().buy([f"SELECT {k}, {measure} FROM visit GROUP BY {k}" for k in ("ward", "kind")], Fraction(4))
        prepared = proxy.questions([f"SELECT ward, kind, {measure} FROM visit GROUP BY ward, kind"])[0]
        priced = proxy.answering.pricing.price(prepared, Settings(epsilon=Fraction(1, 2)))
        assert priced.loss
        assert not any(isinstance(one, Completion) for one in priced.offers.values())


CONCENTRATED = ("delta: 1e-6, accounting: zcdp", "delta: 1e-6, accounting: rdp")
PARTIAL = {
    "person": ("region", "plan", "segment", "town", "DATE_TRUNC('week', day)"),
    "visit": ("ward", "kind", "why"),
}
NEW = {
    "person": ("segment = 'vip'", "plan IN ('free', 'pro')", "region <> 'E'", "town = 'A'", "town IS NULL"),
    "visit": ("kind = 'x'", "ward IN ('a', 'b')"),
}
"""Conditions on an attribute, which a workload may not have as a key."""
LATER = ("COUNT(*)", "SUM({0})", "AVG({0})")


def later(random: Random, table: str, what: str) -> tuple[list[str], list[str]]:
    """A workload of few tables of one measure, and later statements: of more keys than any of its tables, or with a
    condition."""
    numbers = {"person": "height", "visit": "change"}
    measure = what.format(numbers[table])
    keys = random.sample(PARTIAL[table], 3)
    before = [random.sample(keys, random.choice([1, 2, 2])) for _ in range(random.randint(1, 3))]
    asked = [by(one, measure, table) for one in before]
    follow = [by(random.sample(keys, random.choice([2, 3])), measure, table) for _ in range(2)]
    follow += [by(random.choice(before), measure, table, random.choice(NEW[table])) for _ in range(2)]
    return list(dict.fromkeys(asked)), list(dict.fromkeys(follow))


def by(keys: Sequence[str], measure: str, table: str, where: str = "") -> str:
    keyed = ", ".join(keys)
    return f"SELECT {keyed}, {measure} FROM {table}{f' WHERE {where}' if where else ''} GROUP BY {keyed}"


def completions(proxy: Proxy, statements: Sequence[str], epsilon: Fraction) -> Iterator[tuple[str, Completion]]:
    """Those of later statements of which the missing components would be measured."""
    for sql in statements:
        priced = proxy.answering.pricing.price(proxy.questions([sql])[0], Settings(epsilon=epsilon))
        yield from ((sql, one) for one in priced.offers.values() if isinstance(one, Completion))


def law_of_components(folder: Path, accounting: str, seeds: Sequence[int]) -> tuple[float, int, set[str]]:
    """The nearest that a person came to a charge for missing components, how many statements completed some, and what
    these measured."""
    nearest, many, measures = 0.0, 0, set[str]()
    for seed in seeds:
        random = Random(f"components {accounting} {seed}")
        what = LATER[seed % len(LATER)]
        bought, follow = later(random, "person", what)
        with opened(folder, accounting, f"components{accounting[-4:]}{seed}") as proxy:
            session = proxy.session()
            session.buy(bought, Fraction(random.choice(["1", "4"])))
            for sql in follow:
                for _, found in completions(proxy, [sql], Fraction(random.choice(["1/4", "1/2"]))):
                    charged = rho(found)
                    whole = read(folder, found.fresh, None)
                    for person in (BEYOND, *random.sample(range(PEOPLE), 5)):
                        moved = parted(found.fresh, whole, read(folder, found.fresh, person))
                        assert moved <= charged, (seed, person, bought, sql)
                        nearest = max(nearest, float(moved / charged))
                    many += 1
                    measures.add(what)
                # What is bought completes what the next one knows.
                session.execute(sql)
    return nearest, many, measures


def rho(found: Completion) -> Fraction:
    """What is charged for missing components, as ρ: of a curve, the least over its orders α, since Gaussian noise
    loses αρ there."""
    curve = (loss / order for loss, order in zip(found.loss.curve, ORDERS, strict=False))
    return found.loss.rho or min(curve)


@pytest.mark.parametrize("accounting", CONCENTRATED)
def test_random_later_tables_are_charged_for_what_they_measure(folder: Path, accounting: str) -> None:
    nearest, many, measures = law_of_components(folder, accounting, range(6))
    assert nearest > 0.9, "a person comes near to the charge: it is no larger than it must be"
    assert many >= 3
    assert measures >= {"COUNT(*)", "SUM({0})"}


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("accounting", CONCENTRATED)
def test_random_later_tables_are_charged_at_length(folder: Path, accounting: str, part: int) -> None:
    law_of_components(folder, accounting, range(1_000 * part, 1_000 * part + 60))


@pytest.mark.parametrize(("accounting", "table"), [(CONCENTRATED[0], "visit"), (ACCOUNTINGS[1], "person")])
def test_no_components_are_measured_of_several_rows_or_without_concentration(
    folder: Path, accounting: str, table: str
) -> None:
    """Who may have several rows is clipped otherwise in a workload, and pure losses of components would be larger."""
    for seed in range(8):
        bought, follow = later(Random(seed), table, LATER[seed % 2])
        with opened(folder, accounting, f"off{table}{seed}") as proxy:
            proxy.session().buy(bought, Fraction(4))
            assert not list(completions(proxy, follow, Fraction(1, 2))), (bought, follow)


def read(folder: Path, release: Calibration, drop: int | None) -> Table:
    """The engine's own integers of a release, of all people or of all but one."""
    return rows_of(people_but(folder, drop), release)


def rows_of(connection: duckdb.DuckDBPyConnection, release: Calibration) -> Table:
    found = connection.execute(release.plan.sql)
    names, keys = [one[0] for one in found.description or ()], [key.name for key in release.plan.keys]
    rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    return {tuple(row[key] for key in keys): row for row in rows}


def parted(release: Calibration, here: Table, there: Table) -> Fraction:
    """What two databases are told apart by in what is measured in the groups' place."""
    loss = Fraction(0)
    for block, noise in ((one.block, one.mechanism) for one in release.measured):
        names = [one.name for one in block.statistics]
        one, other = measured(block, names, here), measured(block, names, there)
        squares = sum((one[place][name] - other[place][name]) ** 2 for place in one for name in names)
        loss += Fraction(squares) / (2 * noise.square)
    return loss


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("accounting", ACCOUNTINGS)
def test_one_person_moves_a_workload_by_no_more_than_its_charge_at_length(
    folder: Path, accounting: str, part: int
) -> None:
    law(folder, accounting, range(1_000 * part, 1_000 * part + 250))
