"""The values that an engine tells of for a quantile: what it leaves out moves no probability, at any price."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from sqlglot import exp

from dpsql.accounting import ZCDP
from dpsql.accounting.loss import PrivacyLoss
from dpsql.calibrate.calibration import calibrate
from dpsql.calibrate.quantile_picks import OneByOne
from dpsql.mechanisms.quantiles.one import Exponential, Quantile, TooFar
from dpsql.opened import open_policy
from dpsql.releases.tables import Key, Rank
from dpsql.testing import Measurement, measured
from rewriter.front_door import Select, parse, rewrite
from rewriter.plan import Choice
from rewriter.statement import row_of_order
from tests.engines.postgres_server import copy_tables, shared_server

PEOPLE = 9_000
HIGH = 100_000
POLICY = """
database: {database}
ledger: sqlite:ledger
privacy_unit: person.id
budget: {{epsilon: 10, delta: 1e-6}}
tables: {{person: {{columns: {{id: {{}}, sex: {{values: [F, M]}}, x: {{range: [0, {high}]}}, small: {{range: [0, 40]}}}}}}}}
"""
# Some values are shared by hundreds of people, and the ends of the range are taken.
FILL = f"""
CREATE TABLE person (id INT PRIMARY KEY, sex TEXT, x INT, small INT);
INSERT INTO person SELECT i, ['F', 'M'][1 + (i % 3 = 0)::INT], CASE i % 7 WHEN 0 THEN 40 WHEN 1 THEN {HIGH} WHEN 2 THEN 0
    ELSE i * 7919 % 99991 END, i * 31 % 41 FROM range({PEOPLE}) AS t(i)
"""
QUESTIONS = (
    "SELECT MEDIAN(x) FROM person",
    "SELECT PERCENTILE_DISC(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY x) FROM person",
    "SELECT sex, PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY x), MEDIAN(x) FROM person GROUP BY sex",
    "SELECT PERCENTILE_DISC(0) WITHIN GROUP (ORDER BY x), PERCENTILE_DISC(1) WITHIN GROUP (ORDER BY x) FROM person",
    "SELECT sex, MEDIAN(small) FROM person GROUP BY sex",
    "SELECT PERCENTILE_DISC(2) WITHIN GROUP (ORDER BY x), PERCENTILE_DISC(4000) WITHIN GROUP (ORDER BY x) FROM person",
    "SELECT sex, PERCENTILE_DISC(500) WITHIN GROUP (ORDER BY x DESC), PERCENTILE_DISC(20000) WITHIN GROUP"
    " (ORDER BY x DESC), PERCENTILE_DISC(5000) WITHIN GROUP (ORDER BY x) FROM person GROUP BY sex",
)
"""A number above 1 stands for a row."""


@pytest.fixture(scope="module")
def people() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(FILL)
    return connection


@pytest.fixture(scope="module", params=["duckdb", "postgresql"])
def policy(
    request: pytest.FixtureRequest, people: duckdb.DuckDBPyConnection, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    if request.param == "duckdb":
        database = "duckdb:people.duckdb"
        with duckdb.connect(str(folder / "people.duckdb")) as connection:
            connection.execute(FILL)
    else:
        server = shared_server()
        name = server.database("CREATE TABLE person (id int PRIMARY KEY, sex text, x int, small int)")
        with server.owner(name) as owner:
            copy_tables(people, owner, ("person",))
        database = server.url(name)
    path = folder / "policy.yaml"
    path.write_text(POLICY.format(database=database, high=HIGH))
    return path


def measure(sql: str, policy: Path) -> tuple[Measurement, ...]:
    """The exact statistics of a statement; of rows that are counted, which no text asks for."""
    statement = parse(sql, ())
    assert isinstance(statement, Select)
    for called in statement.tree.find_all(exp.PercentileDisc):
        if isinstance(called.this, exp.Literal) and Fraction(called.this.name) > 1:
            called.set("this", row_of_order(int(called.this.name)))
    opened = open_policy(policy)
    try:
        norms = (opened.accountant.accounting.norms[0],)
        plans = rewrite(statement.tree, opened.catalog, opened.engine.dialect, norms=norms).plans
        return measured(sql, opened, plans=plans)
    finally:
        opened.close()


def all_ranks(values: Sequence[int], row: int) -> list[Rank]:
    """By the definition: each value, its weight, the weight below it, that of the group."""
    counts, below, found = Counter(values), 0, list[Rank]()
    for value in sorted(counts):
        found.append((value, counts[value] * row, below, len(values) * row))
        below += counts[value] * row
    return found


def ranks_of_group(people: duckdb.DuckDBPyConnection, column: str, group: Key, row: int) -> list[Rank]:
    where = f"WHERE sex = '{group[0]}'" if group else ""
    return all_ranks([value for (value,) in people.execute(f"SELECT {column} FROM person {where}").fetchall()], row)


def distances(quantile: Quantile, ranks: Sequence[Rank]) -> list[int]:
    """The distance of every candidate, NULL's last."""
    return [
        distance for start, count, distance in quantile.stretches(ranks) for _ in range(1 if start is None else count)
    ]


def cheapest(choice: Choice, fraction: Fraction, concentrated: bool) -> list[Quantile]:
    """Quantiles at prices down to the lowest that is answered, where the most values are near."""
    found: list[Quantile] = []
    for power in range(40):
        try:
            found.append(Quantile(choice, fraction, Exponential(Fraction(8) / Fraction(5, 4) ** power, concentrated)))
        except TooFar:
            break
    assert len(found) > 3
    return [found[0], found[-2], found[-1]]


@pytest.mark.parametrize("sql", QUESTIONS)
def test_what_the_engine_leaves_out_moves_no_distance(
    policy: Path, people: duckdb.DuckDBPyConnection, sql: str
) -> None:
    (found,) = measure(sql, policy)
    opened = open_policy(policy)
    try:
        exact = opened.engine.run(found.plan)
    finally:
        opened.close()
    left_out = 0
    for choice in found.plan.choices:
        column = "small" if "small" in choice.text else "x"
        groups: list[Key] = [("F",), ("M",)] if found.plan.keys else [()]
        for group in groups:
            whole, told = ranks_of_group(people, column, group, choice.row), exact.ranks[choice.name][group]
            left_out += len(whole) - len(told)
            for fraction in choice.fractions:
                for quantile in cheapest(choice, fraction, concentrated=True):
                    assert distances(quantile, told) == distances(quantile, whole), (fraction, quantile.mechanism)
    assert left_out > 50 or "small" in sql, "the engine told of everything: nothing was tested"


@pytest.mark.parametrize("sql", QUESTIONS)
def test_what_is_not_asked_for_at_a_price_moves_no_distance(
    policy: Path, people: duckdb.DuckDBPyConnection, sql: str
) -> None:
    """A dear pick looks at few values, and no others are read for it."""
    (found,) = measure(sql, policy)
    read: list[int] = []
    opened = open_policy(policy)
    try:
        for rho in (Fraction(10), Fraction(1, 2), Fraction(1, 50)):
            calibration = calibrate(found.plan, ZCDP, PrivacyLoss(rho=rho))
            exact = opened.engine.run(calibration.read)
            read.append(sum(map(len, exact.ranks["q0"].values())))
            for one in calibration.picked:
                if not isinstance(one, OneByOne):
                    continue
                column = "small" if "small" in one.choice.text else "x"
                ends = [end for pair in one.ends for end in pair or ()]
                for group, told in exact.ranks[one.choice.name].items():
                    whole = ranks_of_group(people, column, group, one.choice.row)
                    for quantile in (*one.quantiles, *ends):
                        assert distances(quantile, told) == distances(quantile, whole), (rho, quantile)
    finally:
        opened.close()
    assert read == sorted(read)
