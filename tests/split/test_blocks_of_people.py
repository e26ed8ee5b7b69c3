"""Sample and aggregate: blocks answer what the engine answers, one person moves one of them, and the secret is fresh."""

from __future__ import annotations

import hashlib
import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from scipy import stats
from sqlglot import exp, parse_one

from dpsql.errors import Error
from dpsql.mechanisms.sampling import BlockKey
from dpsql.proxy import Session
from dpsql.testing import Measurement, measure
from rewriter.declared.contribution import Norm
from rewriter.declared.interval import Interval
from rewriter.declared.sensitivity import Sensitivity
from rewriter.declared.types import DOUBLE
from rewriter.dialects import DUCKDB, SPARK, Dialect
from rewriter.expressions.value_lattice import lattice
from rewriter.plan import BLOCK_KEY
from rewriter.program import rewrite
from rewriter.statement.parser import Select, parse
from tests.golden.pairs import clinic
from tests.new_databases import insert, new_database
from tests.properties.planted import POLICY, case

PEOPLE = 600
BLOCKS = 20
TABLES = """
  person:
    columns:
      id: {}
      sex: {values: [F, M]}
      town: {}
      age: {range: [20, 64]}
      wage: {range: [1, 100]}
  visit: {unit: pid -> person.id, max_rows: 2, columns: {pid: {}, kind: {values: [a, b, c]}, cost: {range: [0, 400]}}}
"""
SETUP = [
    "CREATE TABLE person (id INTEGER PRIMARY KEY, sex TEXT, town TEXT, age INTEGER, wage DOUBLE PRECISION)",
    "INSERT INTO person SELECT i, CASE WHEN i % 3 = 0 THEN 'F' ELSE 'M' END, 'x', 20 + i % 45,"
    f" CASE WHEN i % 40 > 0 THEN 10 + (i * i % 61) + (i % 7) * 2.5 END FROM generate_series(1, {PEOPLE}) AS t(i)",
    "CREATE TABLE visit (pid INTEGER, kind TEXT, cost INTEGER)",
    f"INSERT INTO visit SELECT i, SUBSTR('abc', 1 + (i + j) % 3, 1), 10 * j + i % 13 FROM generate_series(1, {PEOPLE}) AS t(i), generate_series(0, 4) AS u(j)",
]


def block_of(person: int) -> int:
    """The SHA-256 of the secret that tests have, followed by the person's key: 60 bits of it."""
    digits = hashlib.sha256(f"{BlockKey().nearest()}{person}".encode()).hexdigest()[:15]
    return int(digits, 16) % BLOCKS


@pytest.fixture(scope="module")
def blocks() -> list[duckdb.DuckDBPyConnection]:
    """The rows, with the block of each person."""
    connection = duckdb.connect()
    for statement in SETUP:
        connection.execute(statement)
    connection.execute("CREATE TABLE block (id INTEGER, b INTEGER)")
    insert(connection, "block", [(one, block_of(one)) for one in range(1, PEOPLE + 1)])
    return [connection]


def answers(blocks: list[duckdb.DuckDBPyConnection], figure: str, where: str = "TRUE") -> list[float | None]:
    """What DuckDB answers in each block that has a row."""
    sql = f"SELECT {figure} FROM person JOIN block USING (id) WHERE {where} GROUP BY b"
    return [row[0] for row in blocks[0].execute(sql).fetchall()]


def mean_of(found: list[float | None], low: float, high: float) -> float:
    """Clipped answers, the middle for those that are missing."""
    known = [min(max(one, low), high) for one in found if one is not None]
    return (sum(known) + (BLOCKS - len(known)) * (low + high) / 2) / BLOCKS


@pytest.fixture(scope="module", params=[("zcdp", "duckdb"), ("pure", "duckdb"), ("zcdp", "postgres")], ids="-".join)
def exact(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    accounting, engine = request.param
    with case(tmp_path_factory.mktemp("blocks"), SETUP, TABLES, accounting, engine=engine) as session:
        yield session


# What is answered


@pytest.mark.spread
@pytest.mark.parametrize(
    ("asked", "figure", "low", "high", "off"),
    [
        ("AVG(wage)", "AVG(wage)", 1, 100, 1e-3),
        ("STDDEV(wage)", "STDDEV(wage)", 0, 99 / 2**0.5, 1e-2),
        ("VAR_POP(wage)", "VAR_POP(wage)", 0, 99**2 / 4, 0.1),
        ("CORR(wage, age)", "CORR(wage, age)", -1, 1, 1e-3),
        ("MEDIAN(age)", "MEDIAN(age)", 20, 64, 1e-3),
        ("AVG(wage) / AVG(age), low => 0, high => 2", "AVG(wage) / AVG(age)", 0, 2, 1e-3),
        ("KURTOSIS(wage), low => -2, high => 10", "kurtosis(wage)", -2, 10, 1e-2),
        ("SKEWNESS(wage), low => -3, high => 3", "skewness(wage)", -3, 3, 1e-2),
        ("GEOMETRIC_MEAN(wage)", "geomean(wage)", 1, 100, 1e-2),
        ("ENTROPY(sex)", "entropy(sex)", 0, 1, 1e-3),
        ("COVAR_SAMP(wage, age), low => -500, high => 500", "COVAR_SAMP(wage, age)", -500, 500, 0.05),
        ("REGR_R2(wage, age)", "REGR_R2(wage, age)", 0, 1, 1e-3),
        # What does not hang on how many rows a block has.
        (
            "COUNT(*) FILTER (WHERE sex = 'F') * 1.0 / COUNT(*), low => 0, high => 1",
            "COUNT(*) FILTER (WHERE sex = 'F') * 1.0 / COUNT(*)",
            0,
            1,
            1e-3,
        ),
        (
            "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) / AVG(age) * SUM(wage) / (COUNT(wage) - 1), low => 0, high => 99",
            "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) / AVG(age) * SUM(wage) / (COUNT(wage) - 1)",
            0,
            99,
            1e-2,
        ),
        (
            "CASE WHEN COUNT(*) > 5 THEN SUM(wage) / SUM(age) END, low => 0, high => 2",
            "CASE WHEN COUNT(*) > 5 THEN SUM(wage) / SUM(age) END",
            0,
            2,
            1e-3,
        ),
    ],
)
def test_the_mean_of_what_the_engine_answers_in_each_block(
    exact: Session,
    blocks: list[duckdb.DuckDBPyConnection],
    asked: str,
    figure: str,
    low: float,
    high: float,
    off: float,
) -> None:
    expression, comma, more = asked.partition(", low")
    sql = f"SELECT dpsql.over_blocks({expression}, blocks => {BLOCKS}{comma}{more}) FROM person"
    answer = exact.execute(sql)
    assert answer.columns[0].name == "over_blocks"
    assert answer.rows[0][0] == pytest.approx(mean_of(answers(blocks, figure), low, high), abs=off)


def _close_together(step: float) -> list[str]:
    """Values around 77.7 and 33.3 that are some steps from each other."""
    return [
        "CREATE TABLE person (id INTEGER PRIMARY KEY, x DOUBLE PRECISION, y DOUBLE PRECISION)",
        f"INSERT INTO person SELECT i, 77.7 + {step} * (i % 7), 33.3 + {step} * ((i * i) % 11 + i % 7)"
        " FROM generate_series(1, 1000) AS t(i)",
    ]


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_what_lies_close_together_has_the_figures_of_its_differences_and_constants_have_none(
    tmp_path: Path, engine: str
) -> None:
    tables = "\n  person: {columns: {id: {}, x: {range: [0, 100]}, y: {range: [0, 100]}}}\n"
    asked = [
        *("CORR(y, x)", "REGR_SLOPE(y, x), low => -5, high => 5", "REGR_R2(y, x)"),
        *("KURTOSIS(x), low => -3, high => 10", "SKEWNESS(x), low => -3, high => 10"),
    ]
    sql = f"SELECT {', '.join(f'dpsql.over_blocks({one}, blocks => {BLOCKS})' for one in asked)} FROM person"
    found = {}
    for step in (0, 1e-3, 0.05):
        with case(tmp_path / str(step), _close_together(step), tables, engine=engine) as session:
            found[step] = [float(one) for one in session.execute(sql).rows[0]]  # type: ignore[arg-type]
    i = np.arange(1, 1001)
    x, y, block = i % 7, i * i % 11 + i % 7, np.array([block_of(int(one)) for one in i])
    own = [(x[block == one], y[block == one]) for one in range(BLOCKS)]
    corr = [float(np.corrcoef(*one)[0, 1]) for one in own]
    slope = [float(np.polyfit(*one, 1)[0]) for one in own]
    kurtosis, skewness = ([float(f(one, bias=False)) for one, _ in own] for f in (stats.kurtosis, stats.skew))
    figures = [corr, slope, [one * one for one in corr], kurtosis, skewness]
    means = [statistics.fmean(one) for one in figures]
    middles = [0, 0, 0.5, 3.5, 3.5]
    assert found[0] == pytest.approx(middles, abs=1e-3)
    # Not enough digits are left of a fourth or a third power.
    assert found[1e-3] == pytest.approx([*means[:3], *middles[3:]], abs=5e-3)
    assert found[0.05] == pytest.approx(means, abs=5e-3)


@pytest.mark.parametrize("dialect", [DUCKDB, SPARK], ids=lambda dialect: dialect.name)
def test_a_block_adds_up_more_digits_than_are_released(dialect: Dialect) -> None:
    """Where an engine adds doubles in any order too: there they stand on a lattice, and all digits are computed with."""
    parsed = parse("SELECT dpsql.over_blocks(AVG(weight_kg), blocks => 50) FROM patient")
    assert isinstance(parsed, Select)
    (plan,) = rewrite(parsed.tree, clinic(), dialect).plans
    numbers = {one.this for one in parse_one(plan.sql, read=dialect.name).find_all(exp.Literal) if not one.is_string}
    fine, coarse = (float(lattice(DOUBLE, Interval.of(2, 300), fine=fine)) for fine in (True, False))
    assert fine in {float(one) for one in numbers}
    assert coarse not in {float(one) for one in numbers}


def test_the_median_leaves_blocks_without_an_answer_out(
    exact: Session, blocks: list[duckdb.DuckDBPyConnection]
) -> None:
    sql = f"SELECT dpsql.over_blocks(AVG(wage), blocks => {BLOCKS}, combine => 'median') FILTER (WHERE id % 100 = 1) FROM person"
    ((found,),) = exact.execute(sql).rows
    known = [one for one in answers(blocks, "AVG(wage)", "id % 100 = 1") if one is not None]
    assert len(known) < BLOCKS
    assert min(abs(float(found) - one) for one in known) < 1e-3  # type: ignore[arg-type]
    assert abs(sum(one < float(found) - 1e-3 for one in known) - len(known) / 2) <= 1  # type: ignore[arg-type]


def test_groups_filters_and_counts_of_people_beside_it(exact: Session, blocks: list[duckdb.DuckDBPyConnection]) -> None:
    sql = (
        f"SELECT sex, COUNT(*) AS n, dpsql.over_blocks(AVG(wage), blocks => {BLOCKS}) FILTER (WHERE age < 50) AS w,"
        f" dpsql.over_blocks(AVG(age), blocks => 7) AS a FROM person WHERE id <= 500 GROUP BY sex ORDER BY sex"
    )
    found = exact.execute(sql).rows
    assert [row[:2] for row in found] == [("F", 166), ("M", 334)]
    for sex, _, wage, _ in found:
        where = f"sex = '{sex}' AND id <= 500 AND age < 50"
        assert wage == pytest.approx(mean_of(answers(blocks, "AVG(wage)", where), 1, 100), abs=1e-3)


def test_what_is_said_of_the_answer(exact: Session) -> None:
    answer = exact.execute("SELECT dpsql.over_blocks(AVG(wage)) AS w FROM person")
    told = "\n".join(answer.notices)
    assert "the mean of 100 blocks of people, whose answers are clipped into [1, 100]" in told
    assert "blocks without an answer are taken for 50.5" in told
    assert "a block's answer stands for the whole: error bars cover the noise" in told


def test_rows_that_are_made_of_rows_are_answered_in_blocks(exact: Session) -> None:
    sql = (
        "SELECT dpsql.over_blocks(STDDEV(q), low => 0, high => 200) FROM"
        " (SELECT pid, AVG(cost) AS q FROM visit GROUP BY pid) v"
    )
    ((found,),) = exact.execute(sql).rows
    assert 0 < float(found) < 200  # type: ignore[arg-type]


# What is refused


@pytest.mark.spread
@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT dpsql.over_blocks(COUNT(*)) FROM person", "without blocks"),
        ("SELECT dpsql.over_blocks(MAX(wage) - MIN(wage)) FROM person", "PERCENTILE_CONT(0.95)"),
        ("SELECT dpsql.over_blocks(MAX(wage) / AVG(wage), low => 1, high => 9) FROM person", "PERCENTILE_CONT(0.95)"),
        (
            "SELECT dpsql.over_blocks(PERCENTILE_CONT(1) WITHIN GROUP (ORDER BY age)) FROM person",
            "PERCENTILE_CONT(0.95)",
        ),
        ("SELECT dpsql.over_blocks(COUNT(DISTINCT age) * 1.0 / COUNT(*)) FROM person", "COUNT(DISTINCT x) itself"),
        ("SELECT dpsql.over_blocks(CASE WHEN MAX(age) > 60 THEN AVG(wage) ELSE 0 END) FROM person", "without blocks"),
        ("SELECT dpsql.over_blocks(SUM(wage) + 1, low => 0, high => 9000) FROM person", "or by counts"),
        ("SELECT dpsql.over_blocks(AVG(wage) * COUNT(*), low => 0, high => 9000) FROM person", "or by counts"),
        ("SELECT dpsql.over_blocks(STDDEV(wage) / SQRT(COUNT(*)), low => 0, high => 9) FROM person", "or by counts"),
        ("SELECT dpsql.over_blocks(LN(COUNT(*)), low => 0, high => 9) FROM person", "or by counts"),
        ("SELECT dpsql.over_blocks(KURTOSIS(wage)) FROM person", "low =>"),
        ("SELECT dpsql.over_blocks(AVG(wage), blocks => 1) FROM person", "blocks => 100"),
        ("SELECT dpsql.over_blocks(AVG(wage), low => 5, high => 5) FROM person", "low =>"),
        ("SELECT dpsql.over_blocks(AVG(wage), combine => 'max') FROM person", "median"),
        ("SELECT dpsql.over_blocks(wage) FROM person", "over_blocks"),
        ("SELECT dpsql.over_blocks(dpsql.over_blocks(AVG(wage))) FROM person", "over_blocks"),
        ("SELECT town, dpsql.over_blocks(AVG(wage)) FROM person GROUP BY town", "declare values"),
        ("SELECT sex, dpsql.over_blocks(AVG(wage)) FROM person GROUP BY ROLLUP (sex)", "one GROUP BY"),
        ("SELECT dpsql.over_blocks(MAD(wage)) FROM person", "PERCENTILE_DISC"),
        ("SELECT dpsql.over_blocks(AVG(wage), seed => 3) FROM person", "blocks =>"),
        ("SELECT KURTOSIS(wage) FROM person", "dpsql.over_blocks(KURTOSIS(x)"),
        ("SELECT id, dpsql.over_blocks(AVG(wage)) FROM person GROUP BY id", ""),
    ],
)
def test_what_has_no_meaning_in_blocks_is_refused_with_what_has(exact: Session, sql: str, hint: str) -> None:
    with pytest.raises(Error) as problem:
        exact.execute(sql)
    assert hint in str(problem.value.hint)


# How far one person moves it


def _measured(folder: Path, sql: str, without: int | None, norm: Norm) -> Measurement:
    folder.mkdir(exist_ok=True)
    with new_database(folder / "case.duckdb") as connection:
        for statement in SETUP:
            connection.execute(statement)
        if without is not None:
            connection.execute(f"DELETE FROM visit WHERE pid = {without}")
            connection.execute(f"DELETE FROM person WHERE id = {without}")
    policy = POLICY.format(database="duckdb:case.duckdb", delta=", delta: 1e-3", accounting="zcdp", epsilon=1)
    (folder / "policy.yaml").write_text(policy + TABLES)
    (one,) = measure(sql, folder / "policy.yaml", norm=norm)
    return one


@pytest.mark.parametrize(
    ("sql", "l1", "l2_squared"),
    [
        ("SELECT dpsql.over_blocks(AVG(wage), blocks => 590) FROM person", 1, 1),
        ("SELECT sex, dpsql.over_blocks(AVG(wage), blocks => 590) FROM person GROUP BY sex", 1, 1),
        ("SELECT kind, dpsql.over_blocks(AVG(cost), blocks => 590) FROM visit GROUP BY kind", 4, 4),
    ],
)
@pytest.mark.parametrize("norm", list(Norm))
def test_one_person_moves_one_block(tmp_path: Path, sql: str, l1: int, l2_squared: int, norm: Norm) -> None:
    # max_rows is 2, and people have 5 visits: nothing clips their rows, and nothing relies on it.
    whole = _measured(tmp_path / "whole", sql, None, norm)
    ((names, sensitivity), *_) = whole.blocks
    width = 2 * max(abs(whole.bounds[name]) for name in names) // 2
    if len(names) == 1:
        assert sensitivity == Sensitivity(l1=l1 * width, l2_squared=l2_squared * width * width)
    for person in (40, 77):
        less = _measured(tmp_path / f"less{person}", sql, person, norm)
        assert less.plan.identity == whole.plan.identity
        moved = [abs(cells[name] - less.groups[key][name]) for key, cells in whole.groups.items() for name in names]
        assert sum(moved) <= (sensitivity.l1 or 0)
        assert sum(one * one for one in moved) <= sensitivity.l2_squared
        assert all(one <= whole.bounds[name] for one, name in zip(moved, names * len(whole.groups), strict=True))


def test_a_median_s_weights_move_by_two_at_most(tmp_path: Path) -> None:
    sql = "SELECT kind, dpsql.over_blocks(AVG(cost), blocks => 590, combine => 'median') FROM visit GROUP BY kind"
    one = _measured(tmp_path / "whole", sql, None, Norm.L1)
    (choice,) = one.plan.choices
    assert choice.row == 1
    assert choice.sensitivity == Sensitivity(l1=8, l2_squared=16)


# The secret


def test_a_secret_is_drawn_for_each_reading_and_nobody_sees_it(tmp_path: Path) -> None:
    seen: list[str] = []
    with case(tmp_path, SETUP, TABLES, noise=True) as session:
        engine: Any = session._opened.engine
        run = engine.run

        def watched(plan: Any, *more: Any) -> Any:
            seen.append(plan.sql)
            return run(plan, *more)

        engine.run = watched
        sql = f"SELECT dpsql.over_blocks(AVG(wage), blocks => {BLOCKS}) AS w FROM person"
        told = [str(session.execute(f"{sql} WHERE id <> {place}").notices) for place in range(3)]
    assert len(set(seen)) == len(seen) == 3
    assert not any(BLOCK_KEY in one for one in seen)
    secrets = [one.split("SHA256('")[1][:32] for one in seen]
    assert len(set(secrets)) == 3
    assert not any(secret in one for secret in secrets for one in told)


def test_blocks_are_about_as_large_as_each_other_under_any_secret() -> None:
    for _ in range(20):
        secret = BlockKey().draw()
        counts = np.bincount(
            [int(hashlib.sha256(f"{secret}{one}".encode()).hexdigest()[:15], 16) % 10 for one in range(5000)],
            minlength=10,
        )
        # χ² with 9 degrees of freedom is beyond 60 less than once in 10⁹.
        assert float(((counts - 500) ** 2 / 500).sum()) < 60


# Noise and its error bar


def test_error_bars_cover_what_they_say(tmp_path: Path) -> None:
    with case(tmp_path, SETUP, TABLES, epsilon=1, noise=True) as session:
        sql = "SELECT dpsql.over_blocks(AVG(age), blocks => 100) AS a FROM person WHERE id <> {}"
        found = [session.execute(sql.format(place)) for place in range(30)]
    margins = [answer.margins[0][0] for answer in found]
    # Sensitivity 44 of a sum over 100 blocks, ρ = 1/2: σ = 0.44, and 1.96 σ around the mean of the blocks.
    assert margins == pytest.approx([0.44 * 1.96] * 30, rel=0.02)
    spread = statistics.pstdev(float(answer.rows[0][0]) for answer in found)  # type: ignore[arg-type]
    # Six of 30 draws' standard errors on either side, with the little that partitions add.
    assert 0.44 * (1 - 6 / 60**0.5) < spread < 1.2 * (1 + 6 / 60**0.5)


@pytest.mark.parametrize(
    ("sql", "column"),
    [
        ("SELECT {}(wage) FROM person", "KURTOSIS wage"),
        ("SELECT {}(wage) FROM person", "SKEWNESS wage"),
        ("SELECT sex, {}(wage) FROM person GROUP BY sex", "MAD wage"),
        ("SELECT {}(wage) FILTER (WHERE sex = 'F') FROM person", "mad wage"),
        ("SELECT {}(sex) FROM person HAVING COUNT(*) > 3", "ENTROPY sex"),
        ("SELECT LN({}(wage)) FROM person", "GEOMETRIC_MEAN wage"),
        ("SELECT AVG(g) FROM (SELECT pid, {}(cost) AS g FROM visit GROUP BY pid) AS t", "geomean cost"),
    ],
)
def test_a_figure_that_is_not_answered_names_one_that_is(exact: Session, sql: str, column: str) -> None:
    figure, name = column.split()
    with pytest.raises(Error) as problem:
        exact.execute(sql.format(figure))
    assert figure.upper() in problem.value.message
    instead = re.sub(r"\bx\b", name, problem.value.hint.partition(": ")[2])
    table = "visit" if name == "cost" else "person"
    where = "WHERE cost > 0" if name == "cost" else ""
    [[value]] = exact.execute(f"SELECT {instead} FROM {table} {where}").rows
    assert value is not None
