"""Tables with totals: a total is the sum of its parts, whatever the noise, in every form that asks for both."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random

import duckdb
import pytest

from dpsql.inference.consistency import infer as inference
from dpsql.inference.consistency.infer import infer_all
from dpsql.interfaces.commands.demo_clinic import POLICY, build
from dpsql.proxy import Proxy, Session
from dpsql.releases.tables import NoisyTable
from tests.doubles import open_without_noise
from tests.policies import policy_text

BUDGET = "budget: {epsilon: 10, delta: 1e-6, accounting: zcdp}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("clinic")
    build(found)
    return found


@pytest.fixture(scope="module", params=["zcdp", "pure", "approx"])
def ana(request: pytest.FixtureRequest, folder: Path) -> Iterator[Session]:
    how = request.param
    delta = "0" if how == "pure" else "1e-6"
    text = (
        (folder / POLICY).read_text().replace(BUDGET, f"budget: {{epsilon: 100000, delta: {delta}, accounting: {how}}}")
    )
    text = text.replace("clinic.ledger", f"{how}.ledger")
    (folder / f"{how}.yaml").write_text(text)
    proxy = Proxy.open(folder / f"{how}.yaml")
    yield proxy.session("ana")
    proxy.close()


@pytest.fixture
def whole(ana: Session) -> Iterator[Session]:
    """Every declared group is shown: those that may be empty are parts of the totals, too."""
    ana.execute("SET dpsql.empty_groups = show")
    yield ana
    ana.execute("SET dpsql.empty_groups = auto")


KEYS = ["sex", "smoker", "region", "FLOOR(height_cm / 60)"]
CLOSED = {"smoker", "region"}
"""Keys whose values are all that rows can have, by proof: booleans and NULL, and what refers to a public table."""
AGGREGATES = [
    "COUNT(*)",
    "COUNT(*) FILTER (WHERE smoker)",
    "COUNT(*) FILTER (WHERE weight_kg > 90)",
    "COUNT(DISTINCT id)",
    "SUM(birth_year)",
    "SUM(weight_kg)",
    "SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END)",
]


def grouping(random: Random, keys: list[str]) -> str:
    listed = ", ".join(keys)
    forms = [f"ROLLUP ({listed})", f"CUBE ({listed})"]
    if len(keys) == 2:
        forms += [f"{keys[0]}, ROLLUP ({', '.join(keys[1:])})", f"GROUPING SETS (({keys[0]}), ({keys[1]}), ())"]
    return random.choice(forms)


def assert_adds_up(rows: tuple[tuple[object, ...], ...], width: int, closed: frozenset[int]) -> int:
    """Every row is the sum of the rows of any finer grouping that lie in it, where the keys at the places ``closed``
    are all that is added up over; elsewhere it is at least as much. Answers how many sums there were."""
    sets: dict[int, list[tuple[object, ...]]] = defaultdict(list)
    for row in rows:
        sets[int(str(row[width]))].append(row)
    sums = 0
    for coarse, totals in sets.items():
        for fine, parts in sets.items():
            if fine == coarse or fine & ~coarse:
                continue
            kept = [place for place in range(width) if not coarse >> (width - 1 - place) & 1]
            for total in totals:
                inside = [part for part in parts if all(part[place] == total[place] for place in kept)]
                for column in range(width + 1, len(total)):
                    expected = sum(Fraction(str(part[column])) for part in inside)
                    if not {place for place in range(width) if place not in kept} <= closed | _summed_away(fine, width):
                        assert float(Fraction(str(total[column])) - expected) >= -1e-6
                        sums += 1
                        continue
                    assert float(Fraction(str(total[column])) - expected) == pytest.approx(0, abs=1e-6)
                    if not isinstance(total[column], float):
                        assert Decimal(str(total[column])) == sum(Decimal(str(part[column])) for part in inside)
                    sums += 1
    return sums


def _summed_away(bits: int, width: int) -> frozenset[int]:
    """The places of keys that a grouping set does not have."""
    return frozenset(place for place in range(width) if bits >> (width - 1 - place) & 1)


@pytest.mark.spread
@pytest.mark.parametrize("seed", range(12))
def test_a_total_is_the_sum_of_its_parts(whole: Session, seed: int) -> None:
    random = Random(seed)
    keys = random.sample(KEYS, random.choice([1, 2, 2, 3]))
    aggregates = random.sample(AGGREGATES, random.choice([1, 2, 3]))
    where = random.choice(["", "", " WHERE birth_year < 1960", " WHERE diagnosis = 'asthma'"])
    whole.execute(f"SET dpsql.epsilon = {random.choice(['0.01', '0.1', '1'])}")
    names = ", ".join(keys)
    sql = f"SELECT {names}, GROUPING({names}), {', '.join(aggregates)} FROM patient{where} GROUP BY {grouping(random, keys)}"
    rows = whole.execute(sql).rows
    closed = frozenset(place for place, key in enumerate(keys) if key in CLOSED)
    assert assert_adds_up(rows, len(keys), closed) > 0
    for place, aggregate in enumerate(aggregates):
        cells = [row[len(keys) + 1 + place] for row in rows]
        assert all(isinstance(cell, int) for cell in cells) or "weight" in aggregate
        if "COUNT" in aggregate or "THEN 1" in aggregate:
            assert min(cells) >= 0  # type: ignore[type-var]


@pytest.mark.parametrize(
    "sets", ["CUBE (region, smoker)", "CUBE (smoker, region)", "GROUPING SETS ((region), (smoker), ())"]
)
def test_where_nobody_can_be_in_any_declared_group_totals_are_measured(ana: Session, sets: str) -> None:
    """WHERE leaves no declared value of one key: the sets with it have no group. Rows with a value that is not declared
    would be in the others."""
    sql = "SELECT COUNT(*), SUM(height_cm), AVG(height_cm) FROM patient WHERE region = 'nowhere'"
    ana.execute("SET dpsql.epsilon = 1")
    for intervals in ("on", "off"):
        ana.execute(f"SET dpsql.intervals = {intervals}")
        rows = ana.execute(f"{sql} GROUP BY {sets}").rows
        assert len(rows) == 4
        assert all(0 <= row[0] < 100 for row in rows)  # type: ignore[operator]


@pytest.mark.quick
def test_the_same_question_has_the_same_answer_whatever_was_released_since(ana: Session) -> None:
    """The first time a total is made of regions; then there is a table by sex too, which it could be made of."""
    ana.execute("SET dpsql.epsilon = 1")
    ana.execute("SELECT region, COUNT(*) FROM patient WHERE birth_year < 1970 GROUP BY region")
    ana.execute("SET dpsql.epsilon = 0.5")
    sql = "SELECT smoker, COUNT(*) AS n FROM patient WHERE birth_year < 1970 GROUP BY ROLLUP (smoker)"
    first = ana.execute(sql)
    ana.execute("SET dpsql.epsilon = 0.9")
    ana.execute("SELECT smoker, COUNT(*) FROM patient WHERE birth_year < 1970 GROUP BY smoker, region")
    ana.execute("SET dpsql.epsilon = 0.5")
    again = ana.execute(sql)
    assert again.rows == first.rows
    assert not again.price
    assert any("derived" in note for note in first.notices)


def test_a_position_or_a_name_may_stand_in_parentheses(folder: Path) -> None:
    proxy = open_without_noise(folder / POLICY)
    try:
        ana = proxy.session("ana")
        query = "SELECT sex || '' AS s, COUNT(*) AS n FROM patient GROUP BY {} ORDER BY {}"
        plain = ana.execute(query.format("GROUPING SETS (s, ())", "n"))
        assert len(plain.rows) == 3
        for sets in ("GROUPING SETS ((1), ())", "ROLLUP ((s))", "GROUPING SETS (((1)), ())"):
            assert ana.execute(query.format(sets, "(n)")).rows == plain.rows, sets
    finally:
        proxy.close()


def test_branches_of_a_union_agree(ana: Session) -> None:
    ana.execute("SET dpsql.epsilon = 0.02")
    sql = (
        "SELECT 'all' AS smoker, COUNT(*) AS n FROM patient UNION ALL "
        "SELECT CAST(smoker AS TEXT), COUNT(*) FROM patient GROUP BY smoker"
    )
    counts = dict(ana.execute(sql).rows)
    everybody = counts.pop("all")
    assert everybody == sum(counts.values())  # type: ignore[arg-type]


DIRTY = """
CREATE TABLE person (id INTEGER PRIMARY KEY, code TEXT, grade INTEGER, kind TEXT);
INSERT INTO person SELECT i, CASE WHEN i < 2000 THEN 'a' WHEN i < 4500 THEN 'b' END, i % 7, 'k' || (i % 3)
FROM range(5000) AS r(i);
CREATE TABLE kind (name TEXT PRIMARY KEY);
INSERT INTO kind VALUES ('k0'), ('k1');
"""
DIRTY_POLICY = policy_text("""
database: duckdb:dirty.duckdb; ledger: sqlite:dirty.ledger; privacy_unit: person.id
budget: {epsilon: 100000, delta: 1e-6, accounting: ACCOUNTING}; statement: {epsilon: 1, max_epsilon: 1}
tables:
  kind: public
  person: id, code [a], grade 0..4, kind <- kind.name
""")


@pytest.mark.spread
@pytest.mark.parametrize("accounting", ["zcdp", "pure"])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT {0}, COUNT(*), GROUPING({0}) FROM person GROUP BY ROLLUP ({0})",
        "SELECT {0}, COUNT(*), 0 FROM person GROUP BY {0} UNION ALL SELECT NULL, COUNT(*), 1 FROM person",
        "SELECT {0}, n, g FROM (SELECT {0}, {1}, COUNT(*) AS n, GROUPING({0}) AS g, GROUPING({1}) AS h FROM person"
        " GROUP BY CUBE ({0}, {1})) AS t WHERE h = 1",
        "SELECT {0}, COUNT(*), GROUPING({0}) FROM person GROUP BY GROUPING SETS (({0}), ({1}), ()) HAVING GROUPING({1}) = 1",
    ],
)
@pytest.mark.parametrize("keys", [("code", "grade"), ("grade", "kind"), ("kind", "code")])
def test_rows_with_undeclared_values_are_in_totals_and_move_no_group(
    tmp_path: Path, sql: str, keys: tuple[str, str], accounting: str
) -> None:
    """500 people without a code, 2,500 of a code that is not declared: the total has them, and the groups have not."""
    _check_dirty_totals(tmp_path, sql, keys, accounting, epsilon="1", tolerance=60)


@pytest.mark.parametrize("accounting", ["zcdp", "pure"])
def test_rows_with_undeclared_values_move_no_group_where_noise_might_explain_them(
    tmp_path: Path, accounting: str
) -> None:
    """Where the noise is larger, the disagreement is no longer so plain that it is left as it was measured."""
    sql = "SELECT {0}, COUNT(*), GROUPING({0}) FROM person GROUP BY ROLLUP ({0})"
    _check_dirty_totals(tmp_path, sql, ("grade", "code"), accounting, epsilon="0.05", tolerance=350)


def _check_dirty_totals(
    tmp_path: Path, sql: str, keys: tuple[str, str], accounting: str, epsilon: str, tolerance: float
) -> None:
    connection = duckdb.connect(str(tmp_path / "dirty.duckdb"))
    connection.execute(DIRTY)
    truth: dict[object, int] = dict(
        connection.execute(f"SELECT {keys[0]}, COUNT(*) FROM person GROUP BY 1").fetchall()  # type: ignore[arg-type]
    )
    connection.close()
    policy = DIRTY_POLICY.replace("ACCOUNTING", accounting)
    (tmp_path / "dirty.yaml").write_text(policy if accounting == "zcdp" else policy.replace("1e-6", "0"))
    proxy = Proxy.open(tmp_path / "dirty.yaml")
    try:
        session = proxy.session()
        session.execute(f"SET dpsql.epsilon = {epsilon}")
        rows = session.execute(sql.format(*keys)).rows
    finally:
        proxy.close()
    groups = {row[0]: row[1] for row in rows if not row[2]}
    totals = [row[1] for row in rows if row[2]]
    assert "a" in groups or 3 in groups or "k1" in groups
    for key, count in groups.items():
        assert abs(float(str(count)) - truth.get(key, 0)) < tolerance
    assert [abs(float(str(total)) - 5000) < tolerance for total in totals] == [True]


def test_a_sum_over_many_empty_groups_is_not_inflated(ana: Session) -> None:
    """What is cut off below 0 in one group is taken from the others: clamping first would add up noise."""
    ana.execute("SET dpsql.epsilon = 0.05")
    ana.execute("SET dpsql.reuse = off")
    sql = "SELECT SUM(n) FROM (SELECT birth_year, height_cm::int AS h, COUNT(*) AS n FROM patient WHERE id < 0 GROUP BY 1, 2) t"
    errors = [float(str(ana.execute(sql).rows[0][0])) for _ in range(3)]
    ana.execute("SET dpsql.reuse = on")
    cells = 106 * 181
    noise = 28 if ana.execute("SHOW dpsql.epsilon") and "pure" in str(ana._opened.accountant.accounting) else 32
    assert min(errors) < 4 * noise * cells**0.5, "clamped groups would add up to 0.4 of the noise of every group"


def test_consistent_off_gives_the_measurements(whole: Session) -> None:
    """The noise of the total spans 10⁸: it is that of its parts by chance once in 10⁸ runs."""
    whole.execute("SET dpsql.epsilon = 0.0000001")
    sql = "SELECT birth_year, GROUPING(birth_year), COUNT(*) FROM patient WHERE height_cm > 195 GROUP BY ROLLUP (birth_year)"
    consistent = whole.execute(sql).rows
    whole.execute("SET dpsql.consistent = off")
    raw = whole.execute(sql)
    whole.execute("SET dpsql.consistent = on")
    assert not raw.price, "the same measurements"
    counts = [row[2] for row in raw.rows]
    assert min(counts) < 0, "noise around empty groups is on both sides of 0"  # type: ignore[operator]
    assert counts[-1] != sum(counts[:-1]) or counts[-1] < 0  # type: ignore[arg-type, operator]
    assert [row[:2] for row in raw.rows] == [row[:2] for row in consistent]


def test_inference_is_a_function_of_released_numbers(ana: Session) -> None:
    """Frozen noise: a neighbour's tables differ from these in the changed cells alone, and so far as they do."""
    sql = "SELECT sex, region, COUNT(*) FROM patient GROUP BY ROLLUP (sex, region)"
    prepared = ana._proxy.prepare(sql, ())
    plans = list(prepared.program.plans)  # type: ignore[union-attr]
    random = Random(5)
    keys: list[tuple[tuple[str, ...], ...]] = [
        tuple((sex, region) for sex in "FM" for region in "abc"),
        (("F",), ("M",)),
        ((),),
    ]
    calibrations = ana._proxy.answering.pricing.calibrations(
        prepared, ana._opened.accountant.price(Fraction(1), Fraction(0))
    )  # type: ignore[arg-type]
    noise = {plan.statistics[0].name: one.noise for plan, one in zip(plans, calibrations, strict=True)}
    tables = [
        NoisyTable(key, {"s0": tuple(random.randrange(50, 90) for _ in key)}, noise[plan.statistics[0].name])
        for key, plan in zip(keys, plans, strict=True)
    ]

    def moved(by: int) -> list[NoisyTable]:
        """One person more in (F, a), in every table."""
        return [
            NoisyTable(t.keys, {"s0": (t.statistics["s0"][0] + by, *t.statistics["s0"][1:])}, t.noise) for t in tables
        ]

    def answers(found: list[NoisyTable]) -> dict[tuple[object, ...], int]:
        table = infer_all(found, plans, prepared.program.families, prepared.program.shapes, consistent=True)[
            "dpsql_release_0"
        ]  # type: ignore[union-attr]
        columns = {column.name: column.values for column in table.columns}
        return dict(zip(zip(columns["k0"], columns["k1"], strict=True), columns["a0"], strict=True))  # type: ignore[arg-type]

    here, there = answers(moved(0)), answers(moved(1))
    assert answers(moved(0)) == here
    assert sum(abs(here[key] - there[key]) for key in here) <= 6, "one cell of each set moved by one"
    assert there[(None, None)] - here[(None, None)] in (0, 1)


def test_plans_with_the_same_measurements_keep_their_own_columns(ana: Session) -> None:
    """AVG, and AVG with SUM and COUNT, measure the same; each is finished as it was asked."""
    ana.execute("SET dpsql.epsilon = 0.5")
    first = ana.execute("SELECT AVG(weight_kg) FROM patient")
    second = ana.execute("SELECT AVG(weight_kg), SUM(weight_kg), COUNT(weight_kg) FROM patient")
    assert not second.price
    assert second.rows[0][0] == first.rows[0][0]
    assert len(second.rows[0]) == 3


def test_parts_never_exceed_what_they_are_parts_of(ana: Session) -> None:
    """Conditional counts of one group agree with each other after rounding, too."""
    sql = (
        "SELECT region, COUNT(*), COUNT(*) FILTER (WHERE smoker), COUNT(*) FILTER (WHERE NOT smoker OR smoker IS NULL) "
        "FROM patient WHERE height_cm > 199 GROUP BY ROLLUP (region)"
    )
    ana.execute("SET dpsql.epsilon = 0.05")
    for _, everybody, some, others in ana.execute(sql).rows:
        assert everybody == some + others  # type: ignore[operator]
        assert min(some, others) >= 0  # type: ignore[type-var]


@pytest.mark.spread
@pytest.mark.parametrize("seed", range(10))
def test_crossing_tables_that_agree_stay_as_they_are(ana: Session, seed: int) -> None:
    """Groups of nobody come out of least squares a hair below 0: that alone moves nobody to another group."""
    sql = "SELECT sex, region, COUNT(*) FROM patient GROUP BY GROUPING SETS (sex, region)"
    prepared = ana._proxy.prepare(sql, ())
    plans = list(prepared.program.plans)  # type: ignore[union-attr]
    calibrations = ana._proxy.answering.pricing.calibrations(
        prepared, ana._opened.accountant.price(Fraction(1), Fraction(0))
    )  # type: ignore[arg-type]
    random = Random(seed)
    cells = {(sex, region): random.choice([0, 0, random.randrange(40)]) for sex in "FMX" for region in "abcdefg"}
    tables = []
    for place, (plan, calibration) in enumerate(zip(plans, calibrations, strict=True)):
        sums: dict[str, int] = defaultdict(int)
        for key, count in cells.items():
            sums[key[place]] += count
        (statistic,) = plan.statistics
        column = tuple(int(count / statistic.granularity) for count in sums.values())
        tables.append(NoisyTable(tuple((key,) for key in sums), {statistic.name: column}, calibration.noise))
    table = infer_all(tables, plans, prepared.program.families, prepared.program.shapes, consistent=True)[
        "dpsql_release_0"
    ]  # type: ignore[union-attr]
    columns = {column.name: column.values for column in table.columns}
    for sex, region, count in zip(columns["k0"], columns["k1"], columns["a0"], strict=True):
        assert count == sum(n for key, n in cells.items() if sex in (None, key[0]) and region in (None, key[1]))


def test_error_bars_count_what_rounding_moved(ana: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole numbers that are heaped on one group are far from most estimates, and each bar says how far."""
    prepared = ana._proxy.prepare("SELECT sex, region, COUNT(*) FROM patient GROUP BY GROUPING SETS (sex, region)", ())
    program = prepared.program
    plans = [replace(plan, exhaustive=True) for plan in program.plans]  # type: ignore[union-attr]
    price = ana._opened.accountant.price(Fraction(1, 20), Fraction(0))  # type: ignore[arg-type]
    tables = []
    for plan, calibration, keys in zip(
        plans, ana._proxy.answering.pricing.calibrations(prepared, price), ("FMX", "abcdefg"), strict=True
    ):
        (statistic,) = plan.statistics
        column = tuple(int((17 + 3 * place) / statistic.granularity) for place in range(len(keys)))
        tables.append(NoisyTable(tuple((key,) for key in keys), {statistic.name: column}, calibration.noise))

    def shown() -> tuple[list[int], list[float]]:
        found = infer_all(tables, plans, program.families, program.shapes, consistent=True)["dpsql_release_0"]  # type: ignore[union-attr]
        column = next(one for one in found.columns if one.name == "a0")
        return list(column.values), list(column.margins or ())  # type: ignore[arg-type]

    near, bars = shown()
    heap = lambda _, finest: [round(finest.sum()), *[0] * (len(finest) - 1)]  # noqa: E731
    monkeypatch.setattr(inference, "round_lattice", heap)
    heaped, wider = shown()
    moved = [abs(one - other) for one, other in zip(near, heaped, strict=True)]
    assert max(moved) > 10
    for far, before, after in zip(moved, bars, wider, strict=True):
        assert after >= math.hypot(before, 1.9 * max(far - 1, 0)) - 1e-9
        assert after <= math.hypot(before, 2.2 * (far + 1)) + 1e-9, "no wider than that"
