"""Workloads of conditional aggregates: no combination of conditions is lost, and every strategy is exact and priced."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import duckdb
import numpy as np
import pytest

from dpsql.accounting import PURE, ZCDP, Accounting
from dpsql.accounting.loss import PrivacyLoss
from dpsql.calibrate.calibration import calibrate
from rewriter.columns import regions
from rewriter.declared.catalog import Catalog
from rewriter.declared.contribution import Norm
from rewriter.dialects.duckdb import DUCKDB
from rewriter.expressions.value import Value
from rewriter.measure import overlapping_counts as family
from rewriter.measure import pair_cells
from rewriter.measure.conditions import signatures
from rewriter.plan import Block, Linear, Plan
from rewriter.planner.plan_release import plan
from rewriter.release import Query
from rewriter.split.splitter import split
from rewriter.statement.parser import Select, parse
from rewriter.strategies.conditional_sums import Row, _candidates, choose
from tests.golden.pairs import clinic
from tests.properties.campaign import Tally, campaign

COLUMNS = {
    "i": "INTEGER",
    "s": "SMALLINT",
    "k": "BIGINT NOT NULL",
    "x": "DOUBLE",
    "m": "DECIMAL(8, 2)",
    "t": "VARCHAR",
    "b": "BOOLEAN",
    "day": "DATE",
    "at": "TIMESTAMP",
}
VALUES: dict[str, tuple[object, ...]] = {
    "i": (-3, 0, 1, 2, 3, 4, 5, 6, 7, 100, 2**31 - 1, None),
    "s": (-3, 0, 1, 2, 5, 6, 32767, None),
    "k": (-3, 0, 1, 2, 3, 5, 2**53, 2**53 + 1, 2**63 - 1),
    "x": (-3.0, 0.0, -0.0, 0.1, 0.30000000000000004, 1.0, 2.5, 2.6, 3.0, 1e300, float("nan"), float("inf"), None),
    "m": (-3, 0, "0.10", "1.00", "2.50", "2.51", "2.55", 3, 100, None),
    "t": ("a", "b", "", "A", "a ", "?", "b?", "zz", None),
    "b": (True, False, None),
    "day": ("2020-01-01", "2020-01-14", "2020-01-15", "2020-01-16", "2020-02-10", None),
    "at": ("2020-01-15 00:00:00", "2020-01-15 00:00:00.000001", "2020-01-14 23:59:59.999999", "2021-01-01", None),
}
LITERALS = {
    "i": ("-3", "0", "1", "2", "5", "2.5", "2.0", "1e0", "0.1::double precision", "NULL"),
    "s": ("0", "1", "2.5", "5", "40000"),
    "k": ("0", "1", "2.5", "9007199254740992", "9007199254740992::double precision", "9007199254740993"),
    "x": ("0", "0.1", "0.3", "2.5", "3", "1e300", "0.1 + 0.2", "NULL"),
    "m": ("0", "0.1", "2.5", "2.505", "2.55", "3", "2.55::double precision", "100"),
    "t": ("'a'", "'b'", "''", "'?'", "'b?'", "'zz'"),
    "b": ("TRUE", "FALSE"),
    "day": ("DATE '2020-01-15'", "DATE '2020-01-01'", "'2020-01-16'", "TIMESTAMP '2020-01-15 00:00:00.000001'"),
    "at": ("TIMESTAMP '2020-01-15 00:00:00'", "DATE '2020-01-15'", "'2020-06-01'"),
}


def condition(random: Random, depth: int = 2) -> str:
    """A random condition over the columns: comparisons in all spellings, and things that no rule reads."""
    if depth and random.random() < 0.4:
        one, other = condition(random, depth - 1), condition(random, depth - 1)
        forms = ["({} AND {})", "({} OR {})", "({} AND NOT {})", "NOT ({} OR {})", "COALESCE({}, {})"]
        return random.choice(forms).format(one, other)
    name = random.choice(list(COLUMNS))
    one, other = (random.choice(LITERALS[name]) for _ in range(2))
    sign = random.choice(["<", "<=", ">", ">=", "=", "<>"])
    forms = [
        f"{name} {sign} {one}",
        f"{one} {sign} {name}",
        f"{name} BETWEEN {one} AND {other}",
        f"{name} NOT BETWEEN {one} AND {other}",
        f"{name} IN ({one}, {other})",
        f"{name} NOT IN ({one}, {other})",
        f"{name} IS NULL",
        f"{name} IS NOT NULL",
        f"{name} IS DISTINCT FROM {one}",
        f"{name} IS NOT DISTINCT FROM {one}",
        f"({name} {sign} {one}) IS TRUE",
        f"({name} {sign} {one}) IS NOT FALSE",
        f"({name} {sign} {one}) IS NULL",
        f"({name} = {one}) = ({name} = {other})",
    ]
    if name == "t":
        forms += ["t LIKE 'a%'", "LENGTH(t) > 1", "UPPER(t) = 'A'", "COALESCE(t, 'a') = 'a'"]
    if name == "b":
        forms = ["b", "NOT b", "b IS TRUE", "b IS NOT FALSE", "b = TRUE", "b <> TRUE", "b IS NULL", "b = FALSE"]
    if name in ("i", "s", "k"):
        forms += [f"{name} + 1 > {one}", f"{name} > x", f"ABS({name}) < {one}", f"{name}::numeric(20, 1) > {one}"]
    if name == "i":
        forms += ["i::smallint > 2", "i::double precision < 2.5", "i::bigint = 5", "-i < 2", "i::decimal(12, 2) = 2.50"]
    if name == "m":
        forms += ["m::numeric(12, 3) < 2.505", "m::integer = 3", "m::numeric(8, 1) = 2.5", "m::double precision = 2.55"]
    if name == "x":
        forms += ["x::integer = 3", "x / 2 < 1", "x::numeric(10, 1) > 2.5"]
    return random.choice(forms)


def place(random: Random) -> tuple[duckdb.DuckDBPyConnection, Catalog]:
    """A table of rows with values at and beside all literals."""
    from dpsql.engines.duckdb.duckdb_schema import read_schema
    from dpsql.policy.declared_catalog import catalog
    from dpsql.policy.policy import Policy

    connection = duckdb.connect(":memory:")
    columns = ", ".join(f'"{name}" {kind}' for name, kind in COLUMNS.items())
    connection.execute(f"CREATE TABLE r (id INTEGER PRIMARY KEY, {columns})")
    rows = [[number, *(random.choice(VALUES[name]) for name in COLUMNS)] for number in range(400)]
    marks = f"({', '.join('?' * (len(COLUMNS) + 1))})"
    connection.execute(
        f"INSERT INTO r VALUES {', '.join([marks] * len(rows))}", [value for row in rows for value in row]
    )
    # What is declared is broken by the rows: it must not be believed.
    policy = Policy.parse(
        "database: duckdb:x.duckdb\nledger: sqlite:x.ledger\nprivacy_unit: r.id\nbudget: {epsilon: 1}\n"
        "tables: {r: {columns: {id: {}, i: {range: [1, 2]}, s: {range: [0, 1]}, k: {range: [0, 1]}, x: {range: [0, 1]},"
        " m: {range: [0, 1]}, t: {values: [a]}, b: {values: [true]}, day: {range: [2020-01-01, 2020-01-15]}, at: {}}}}"
    )
    return connection, catalog(policy, read_schema(connection), {})


def asked(tests: list[str], where: str, known: Catalog) -> Query:
    counts = ", ".join(f"COUNT(*) FILTER (WHERE {test})" for test in tests)
    statement = parse(f"SELECT {counts} FROM r{where}")
    assert isinstance(statement, Select)
    (query,) = split(statement.tree, known, DUCKDB).releases
    return query


def observed(query: Query, tests: list[Value], connection: duckdb.DuckDBPyConnection) -> set[int]:
    """The signatures that rows have."""
    rows = query.rows.copy()
    rows.set("expressions", [test.sql.copy() for test in tests])
    found = connection.execute(rows.sql("duckdb")).fetchall()
    return {sum(1 << number for number, cell in enumerate(row) if cell is True) for row in found}


def lost(seed: int, queries: int) -> tuple[int, int, str]:
    """How many queries were understood and how many signatures found, and the first that misses one of a row."""
    random = Random(seed)
    connection, known = place(random)
    understood = found = 0
    for _ in range(queries):
        tests = [condition(random) for _ in range(random.choice([1, 2, 3, 4]))]
        where = random.choice(
            ["", "", f" WHERE {condition(random)}", f" WHERE {condition(random)} AND {condition(random)}"]
        )
        query = asked(tests, where, known)
        values = [aggregate.condition for aggregate in query.aggregates if aggregate.condition is not None]
        combinations = signatures(values, query.filters)
        if combinations is None:
            continue
        understood, found = understood + 1, found + len(combinations)
        missing = observed(query, values, connection) - set(combinations)
        if missing:
            return understood, found, f"{tests}{where}: {[f'{one:b}' for one in missing]} not in {combinations}"
    return understood, found, ""


@pytest.mark.parametrize("seed", range(2))
def test_no_combination_of_conditions_that_a_row_has_is_lost(seed: int) -> None:
    understood, found, problem = lost(seed, 80)
    assert not problem, problem
    assert understood > 60
    assert found > 2 * understood


def test_a_logic_that_believes_declarations_or_forgets_a_region_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    probes = regions.Subject.probes
    for forgetful in (
        lambda subject: probes(subject)[:-1],  # no NULL
        lambda subject: [*probes(subject)[1:-1], None],  # nothing below the first literal
        lambda subject: [p for p in probes(subject) if p not in subject.numbers],  # no points
        lambda subject: [p for p in probes(subject) if not subject.texts or p in subject.texts or p is None],
    ):
        monkeypatch.setattr(regions.Subject, "probes", forgetful)
        assert any(lost(seed, 60)[2] for seed in range(4))


@pytest.mark.parametrize(
    ("tests", "combinations"),
    [
        ([f"i < {limit}" for limit in range(20)], 21),
        ([f"i = {value}" for value in range(30)], 31),
        (["i > 2", "i >= 3"], 2),  # the same of whole numbers
        (["x > 2", "x >= 3"], 3),
        (["m > 2.50", "m >= 2.51"], 2),
        (["day > DATE '2020-01-01'", "day >= DATE '2020-01-02'", "day < TIMESTAMP '2020-01-01 12:00:00'"], 3),
        (["i < 1", "i::double precision < 1.5", "i::numeric(12, 1) <= 2.5"], 4),
        (["t = 'a'", "t = 'b'", "t IN ('a', 'c')", "t <> 'b'"], 5),
        (["b", "NOT b", "b IS NULL"], 3),
        (["i < 2", "NOT i < 2", "i IS NULL"], 3),
        (["k < 2", "NOT k < 2"], 2),  # k is never NULL
        (["i < 2 AND t = 'a'", "i < 2", "t = 'a'"], 4),
        (["t LIKE 'a%'", "t LIKE 'a%' AND i < 3", "NOT t LIKE 'a%'"], 4),
        (["i < 1 AND i > 1"], 1),
        (["i IN (1, 2, 3)", "i BETWEEN 1 AND 3", "i >= 1 AND i <= 3"], 2),
    ],
)
def test_no_more_combinations_than_rows_can_have(tests: list[str], combinations: int) -> None:
    query = asked(tests, "", place(Random(0))[1])
    found = signatures([aggregate.condition for aggregate in query.aggregates])
    assert found is not None
    assert len(found) == combinations


def test_a_filter_excludes_what_it_must() -> None:
    known = place(Random(0))[1]
    query = asked(["i < 3", "i < 5", "i > 7"], " WHERE i < 5 AND t LIKE 'a%'", known)
    assert signatures([one.condition for one in query.aggregates], query.filters) == (0b011, 0b010)


# Strategies


def random_workload(random: Random, outputs: int, atoms: int) -> tuple[Row, ...]:
    columns = {tuple(random.randint(0, 1) for _ in range(outputs)) for _ in range(atoms)} - {(0,) * outputs}
    rows = dict.fromkeys(zip(*sorted(columns), strict=True))
    return tuple(row for row in rows if any(row)) or ((1,),)


def nested(size: int) -> tuple[Row, ...]:
    return tuple(tuple(int(atom <= row) for atom in range(size)) for row in range(size))


def times(weights: tuple[tuple[Fraction, ...], ...], cells: tuple[Row, ...]) -> list[list[Fraction]]:
    columns = list(zip(*cells, strict=True))
    return [
        [sum((w * c for w, c in zip(row, column, strict=True)), Fraction(0)) for column in columns] for row in weights
    ]


def distinct(workload: tuple[Row, ...]) -> bool:
    columns = list(zip(*workload, strict=True))
    return len(set(columns)) == len(columns) and all(map(any, columns))


@pytest.mark.parametrize("seed", range(60))
def test_every_strategy_gives_the_outputs_exactly(seed: int) -> None:
    random = Random(seed)
    workload = random_workload(random, random.randint(1, 8), random.randint(1, 14))
    workload = nested(random.randint(21, 24)) if seed % 20 == 0 else workload
    if not distinct(workload):
        return
    for norm in Norm:
        for strategy in _candidates(workload, norm, True):
            assert times(strategy.outputs, strategy.cells) == [list(row) for row in workload], strategy.name
            if strategy.atoms is not None:
                assert times(strategy.atoms, strategy.cells) == [
                    [int(one == other) for other in range(len(workload[0]))] for one in range(len(workload[0]))
                ]
            l1 = max(sum(abs(row[atom]) for row in strategy.cells) for atom in range(len(workload[0])))
            assert (strategy.l1, strategy.l2_squared >= Fraction(l1 * l1, len(strategy.cells))) == (l1, True)
            assert choose(workload, norm).variance <= strategy.price(norm) / 0.97


@pytest.mark.parametrize(
    ("workload", "norm", "name", "most"),
    [
        (((1, 1, 0, 0), (0, 1, 0, 0), (0, 0, 1, 1), (0, 0, 0, 1)), Norm.L1, "atoms", 6),
        (((1, 1, 0, 0), (0, 1, 0, 0), (0, 0, 1, 1), (0, 0, 0, 1)), Norm.L2, "weighted", 5.25),  # optimum 5.236
        (nested(5), Norm.L1, "atoms", 15),
        (nested(5), Norm.L2, "weighted", 9.38),  # optimum 9.362
        (nested(12), Norm.L2, "weighted", 31.4),
        (nested(20), Norm.L2, "prefix", 63.2),  # optimum 61.53; direct 400
        (nested(32), Norm.L2, "prefix", 118),
        (((1, 0, 0), (0, 1, 0), (0, 0, 1)), Norm.L2, "atoms", 3),
        (((1, 0), (1, 1)), Norm.L1, "atoms", 3),
    ],
)
def test_what_is_chosen_and_how_good_it_is(workload: tuple[Row, ...], norm: Norm, name: str, most: float) -> None:
    choice = choose(workload, norm)
    assert (choice.name, choice.variance <= most) == (name, True), choice.variance


def least_variance(workload: tuple[Row, ...]) -> float:
    """What no strategy for Gaussian noise is better than: by duality (tr S)²/Σλ for S² = Λ½WᵀWΛ½, for any λ."""
    gram = np.array(workload, float).T @ np.array(workload, float)
    shares, best = np.ones(len(gram)), 0.0
    for _ in range(300):
        values, vectors = np.linalg.eigh(gram * np.sqrt(np.outer(shares, shares)))
        root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        best = max(best, float(np.trace(root) ** 2 / shares.sum()))
        shares = np.maximum(np.diag(root), 1e-12)
    return best


def test_what_is_chosen_for_gaussian_noise_is_near_the_optimum() -> None:
    shares = [
        choose(workload, Norm.L2).variance / least_variance(workload)
        for workload in (random_workload(Random(seed), 5, 12) for seed in range(40))
    ]
    assert min(shares) > 0.999
    assert sum(shares) / len(shares) < 1.04
    assert max(shares) < 1.15


# Plans


def planned(select: str, norm: Norm) -> Plan:
    statement = parse(select)
    assert isinstance(statement, Select)
    (query,) = split(statement.tree, clinic(), DUCKDB).releases
    return plan(query, norm, DUCKDB)


def thresholds(count: int, call: str = "COUNT(*)") -> str:
    return ", ".join(f"{call} FILTER (WHERE height_cm < {100 + 5 * step})" for step in range(count))


@pytest.mark.quick
@pytest.mark.parametrize("norm", Norm)
def test_outputs_are_the_sums_of_their_parts(norm: Norm) -> None:
    for select in (
        f"SELECT {thresholds(20)} FROM patient",
        f"SELECT {thresholds(4, 'SUM(birth_year)')}, COUNT(*), {thresholds(2)} FROM patient",
        "SELECT COUNT(*), COUNT(*) FILTER (WHERE smoker), COUNT(*) FILTER (WHERE sex = 'F'), COUNT(height_cm) FROM patient",
        "SELECT SUM(cost), SUM(cost) FILTER (WHERE reason = 'acute'), COUNT(*) FILTER (WHERE cost > 7) FROM visit",
    ):
        made = planned(select, norm)
        for output in made.outputs:
            assert isinstance(output.estimator, Linear)
            total: dict[str, Fraction] = {}
            for part in output.parts:
                for name, weight in made.parts[part].estimator.terms:
                    total[name] = total.get(name, Fraction(0)) + weight
            assert {n: w for n, w in total.items() if w} == dict(output.estimator.terms), output.text


def test_twenty_nested_filters_have_twenty_atoms() -> None:
    made = planned(f"SELECT {thresholds(20)} FROM patient", Norm.L1)
    assert [len(block.statistics) for block in made.blocks] == [20]
    assert made.blocks[0].sensitivity.l1 == 1
    assert made.notes == (
        "20 counts are measured together, which takes less noise: as 20 parts that share no rows, added up",
    )


def test_conditions_without_relation_are_not_multiplied_out() -> None:
    """Twelve free conditions would have 3¹² regions: the total and the differences from it are measured."""
    free = ", ".join(f"COUNT(*) FILTER (WHERE diagnosis LIKE '{letter}%')" for letter in "abcdefghijkl")
    made = planned(f"SELECT COUNT(*), {free} FROM patient", Norm.L2)
    assert made.blocks[0].sensitivity.l2_squared == 13
    assert made.notes == (
        "13 counts are measured together, which takes less noise: as their total and how far each is from it",
    )
    assert len(made.orders) == 12


def reach(block: Block) -> Fraction:
    """The square of what one person can move, in what statistics stand for."""
    return block.sensitivity.l2_squared * block.statistics[0].granularity ** 2


def test_sums_by_case_and_by_filter_are_one_family() -> None:
    case = "SUM(CASE WHEN reason = 'acute' THEN cost ELSE 0 END), SUM(CASE WHEN reason = 'chronic' THEN cost END)"
    where = "SUM(cost) FILTER (WHERE reason = 'acute'), SUM(cost) FILTER (WHERE reason = 'chronic')"
    one, other = (planned(f"SELECT {sums} FROM visit", Norm.L2) for sums in (case, where))
    assert one.sql == other.sql
    (block,) = one.blocks
    (alone,) = planned("SELECT SUM(cost) FROM visit", Norm.L2).blocks
    assert reach(block) == reach(alone)


@pytest.mark.parametrize(
    ("norm", "accounting", "price"),
    [
        (Norm.L1, PURE, PrivacyLoss(epsilon=Fraction(1, 7))),
        (Norm.L2, ZCDP, PrivacyLoss(rho=Fraction(1, 200))),
    ],
)
def test_a_family_has_a_share_of_the_price_by_its_variance(
    norm: Norm, accounting: Accounting, price: PrivacyLoss
) -> None:
    made = planned(f"SELECT SUM(birth_year), {thresholds(5)} FROM patient", norm)
    total = choose(nested(5), norm).variance
    assert [float(block.weight) for block in made.blocks] == [
        1,
        pytest.approx(total ** (1 / norm_power(norm)), rel=0.02),
    ]
    calibration = calibrate(made, accounting, price)
    assert calibration.loss == price

    def predicted(share: float) -> float:
        """The sum of all variances, each in units of one row's reach, if the sum had this share of the price."""
        power = norm_power(norm) - 1
        return share**-power + total * (1 - share) ** -power

    ours = float(1 / (1 + made.blocks[1].weight))
    assert predicted(ours) <= min(predicted(place / 100) for place in range(1, 100)) * 1.001


def norm_power(norm: Norm) -> int:
    return 3 if norm is Norm.L1 else 2


def test_means_over_different_rows_share_one_price() -> None:
    mean = "AVG(cost) FILTER (WHERE reason = 'acute')"
    both = planned(f"SELECT {mean}, AVG(cost) FILTER (WHERE reason = 'chronic') FROM visit", Norm.L1)
    assert len(both.blocks) == 1
    assert both.blocks[0].sensitivity == planned(f"SELECT {mean} FROM visit", Norm.L1).blocks[0].sensitivity
    overlapping = planned(f"SELECT {mean}, AVG(cost) FILTER (WHERE cost > 7) FROM visit", Norm.L1)
    assert len(overlapping.blocks) == 2


def test_no_sensitivity_rests_on_the_logic_of_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were combinations overlooked, rows would be counted wrongly; one more person would still move no cell further."""

    def careless(tests: Sequence[Value | None], filters: Sequence[Value] = ()) -> tuple[int, ...] | None:
        found = signatures(tests, filters)
        return found if found is None else tuple(one for one in found if one % 3 != 1)

    monkeypatch.setattr(family, "signatures", careless)
    monkeypatch.setattr(pair_cells, "signatures", careless)
    tally = campaign(range(1), questions=25, neighbours=1, tally=Tally())
    assert not tally.leaks, tally.leaks[0]
    assert tally.features["family of counts"] + tally.features["family of sums"] > 0


def test_a_case_per_person_keeps_its_zero() -> None:
    """SUM(CASE … ELSE 0 END) of one person without such rows is 0, and SUM … FILTER is NULL."""
    inner = "SELECT patient_id, SUM(CASE WHEN cost > 7 THEN cost ELSE 0 END) AS s FROM visit GROUP BY patient_id"
    made = planned(f"SELECT COUNT(s) FROM ({inner}) AS t", Norm.L2)
    assert "ELSE" in made.sql.split("SUM(")[1]
