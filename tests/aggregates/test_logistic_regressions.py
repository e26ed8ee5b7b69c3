"""Logistic regressions: rows stay in their norms wherever a step is asked, answers are those of most likelihood."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from dpsql.accounting import PrivacyLoss
from dpsql.engines import Cancellation
from dpsql.engines.duckdb import DuckDBEngine
from dpsql.errors import Error
from dpsql.mechanisms.mechanism import Draws
from dpsql.proxy import Session
from dpsql.releases import ExactTable, IntegerColumn
from dpsql.testing import measure
from rewriter.declared.contribution import Norm
from rewriter.measure.logistic_steps import STEPS
from rewriter.plan import Plan
from tests.properties.planted import POLICY, case

PEOPLE = 3000
ODD = (math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308, None)
TABLES = """
  person:
    columns:
      id: {}
      sex: {values: [F, M]}
      age: {range: [20, 64]}
      years: {range: [0, 20]}
      ill: {values: [true, false]}
  visit: {unit: pid -> person.id, max_rows: 3, columns: {pid: {}, x: {range: [90, 130]}, late: {range: [0, 1]}}}
"""
_ILL = "i * 7919 % 101 < 15 + i % 45 + 2 * (i % 17)"
SETUP = [
    "CREATE TABLE person (id INTEGER PRIMARY KEY, sex TEXT, age INTEGER, years INTEGER, ill BOOLEAN)",
    "INSERT INTO person SELECT i, CASE WHEN i % 3 = 0 THEN 'F' ELSE 'M' END, 20 + i % 45, CASE WHEN i % 50 > 0 THEN i % 17 END,"
    f" {_ILL} FROM generate_series(1, {PEOPLE}) AS t(i)",
    "CREATE TABLE visit (pid INTEGER, x INTEGER, late INTEGER)",
    f"INSERT INTO visit SELECT i, 91 + 2 * j + i % 7, CASE WHEN i * 31 % 40 < 2 * j + i % 5 THEN 1 ELSE 0 END FROM generate_series(1, {PEOPLE}) AS t(i), generate_series(0, 9) AS u(j)",
]
FULL = "LOGREGR(ill, ARRAY[1, age, years])"


def people(*, woman: bool | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The constant, ages and years of those who have years; and who is ill."""
    i = np.arange(1, PEOPLE + 1)
    own = (i % 50 > 0) & (True if woman is None else (i % 3 == 0) == woman)
    ill = i * 7919 % 101 < 15 + i % 45 + 2 * (i % 17)
    return np.c_[np.ones(len(i)), 20 + i % 45, i % 17][own], ill[own].astype(float)


def most_likely(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of most likelihood, by Newton's steps, and their standard errors."""
    scale = np.abs(x).max(axis=0)
    z, found = x / scale, np.zeros(x.shape[1])
    for _ in range(40):
        p = 1 / (1 + np.exp(-z @ found))
        bent = (z * (p * (1 - p))[:, None]).T @ z
        found = found + np.linalg.solve(bent, z.T @ (y - p))
    return found / scale, np.sqrt(np.diag(np.linalg.inv(bent))) / scale


def listed(text: object) -> list[float]:
    return [float(one) for one in str(text).strip("{}").split(",")]


@pytest.fixture(scope="module", params=[("zcdp", "duckdb"), ("pure", "duckdb"), ("zcdp", "postgres")], ids="-".join)
def exact(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    accounting, engine = request.param
    with case(tmp_path_factory.mktemp("exact"), SETUP, TABLES, accounting, engine=engine) as session:
        yield session


# Without noise


def test_coefficients_are_those_of_most_likelihood(exact: Session) -> None:
    answer = exact.execute(
        f"SELECT {FULL}, ({FULL}).coef[2] AS age, ({FULL}).odds_ratios, ({FULL}).std_err FROM person"
    )
    assert [column.name for column in answer.columns] == ["logregr", "age", "odds_ratios", "std_err"]
    ((coefficients, age, odds, errors),) = answer.rows
    truth, deviations = most_likely(*people())
    assert listed(coefficients) == pytest.approx(truth, rel=3e-3)
    assert float(age) == pytest.approx(truth[1], rel=3e-3)  # type: ignore[arg-type]
    assert listed(odds) == pytest.approx(np.exp(truth), rel=0.02)
    assert listed(errors) == pytest.approx(deviations, rel=0.02)
    assert any("steps" in note for note in answer.notices)


def test_groups_filters_and_regressions_through_the_origin(exact: Session) -> None:
    sql = (
        "SELECT sex, (LOGREGR(ill, ARRAY[age, years]) FILTER (WHERE id > 0)).coef FROM person GROUP BY sex ORDER BY sex"
    )
    for (_, found), woman in zip(exact.execute(sql).rows, (True, False), strict=True):
        x, y = people(woman=woman)
        assert listed(found) == pytest.approx(most_likely(x[:, 1:], y)[0], rel=5e-3)


def test_where_no_group_is_left_there_is_no_row(exact: Session) -> None:
    """The price is paid before it is known, so that every step has to be read."""
    answer = exact.execute(f"SELECT sex, {FULL} FROM person WHERE sex LIKE 'zzz%' GROUP BY sex")
    assert answer.rows == ()
    assert answer.price


def test_a_prediction_is_a_chance_and_two_regressions_take_their_steps_together(exact: Session) -> None:
    ((found, computed, woman),) = exact.execute(
        f"SELECT dpsql.predict({FULL}, ARRAY[1, 40, 10.5]), dpsql.predict({FULL}, ARRAY[1, 39 + 1, 0.5 + 10]),"
        f" ({FULL} FILTER (WHERE sex = 'F')).coef[3] FROM person"
    ).rows
    chance = 1 / (1 + math.exp(-(most_likely(*people())[0] @ [1, 40, 10.5])))
    assert float(found) == pytest.approx(chance, rel=2e-3)  # type: ignore[arg-type]
    assert found == pytest.approx(computed, rel=1e-9)
    assert float(woman) == pytest.approx(most_likely(*people(woman=True))[0][2], rel=5e-3)  # type: ignore[arg-type]


def test_who_has_too_many_rows_counts_with_less_and_bends_nothing(exact: Session) -> None:
    """Ten rows each, three of which count."""
    i, j = (one.ravel() for one in np.meshgrid(np.arange(1, PEOPLE + 1), np.arange(10)))
    x, late = 91 + 2 * j + i % 7, (i * 31 % 40 < 2 * j + i % 5).astype(float)
    truth, _ = most_likely(np.c_[np.ones(len(x)), x], late)
    for y in ("late", "late > 0", "1.0 * late") if _first(exact) else ("late > 0",):
        found = listed(exact.execute(f"SELECT LOGREGR({y}, ARRAY[1, x]) FROM visit").rows[0][0])
        assert found == pytest.approx(truth, rel=0.01)


def _first(session: Session) -> bool:
    """Of the sessions that are asked the same, the one that is asked all of it."""
    return str(session.budget().accounting) == "zcdp" and isinstance(session._opened.engine, DuckDBEngine)


def test_nobody_and_who_all_are_alike(exact: Session) -> None:
    call = "LOGREGR(ill, ARRAY[1, age])"
    sql = (
        f"SELECT ({call} FILTER (WHERE age > 63 AND age < 64)).coef[1], ({call} FILTER (WHERE ill)).coef[1] FROM person"
    )
    ((nobody, certain),) = exact.execute(sql).rows
    assert nobody is None
    assert 2 < float(certain) < 130  # type: ignore[arg-type]


@pytest.mark.spread
@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT LOGREGR(ill, age) FROM person", "LOGREGR takes a number and an array"),
        ("SELECT LOGREGR(age, ARRAY[1, years]) FROM person", "true or false"),
        ("SELECT LOGREGR(ill, ARRAY[1]) FROM person", "constant"),
        ("SELECT LOGREGR(true, ARRAY[1, age]) FROM person", "no explanation"),
        ("SELECT LOGREGR(sex, ARRAY[1, age]) FROM person", "number"),
        ("SELECT LOGREGR(ill, ARRAY[1, ill]) FROM person", "number"),
        ("SELECT (LOGREGR(ill, ARRAY[1, age])).r2 FROM person", "no r2"),
        ("SELECT (LINREGR(age, ARRAY[1, years])).odds_ratios FROM person", "no odds_ratios"),
        ("SELECT id, LOGREGR(ill, ARRAY[1, age]) FROM person GROUP BY id", "one person"),
        ("SELECT age, years, LOGREGR(ill, ARRAY[1, age]) FROM person GROUP BY age, years", "100 groups"),
        ("SELECT dpsql.over_blocks((LOGREGR(ill, ARRAY[1, age])).coef[2], low => 0, high => 1) FROM person", ""),
    ],
)  # fmt: skip
def test_what_is_refused_says_what_would_work(exact: Session, sql: str, said: str) -> None:
    with pytest.raises(Error) as found:
        exact.execute(sql)
    assert said in str(found.value)
    assert found.value.hint


# Norms


@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize("asked", ["p, ARRAY[1, x]", *(pytest.param(one, marks=pytest.mark.campaign) for one in ("x > 5, ARRAY[1, x]", "p, ARRAY[x, k, i]", "b, ARRAY[1, i, k, d, i * 2, x + 1]"))])  # fmt: skip
def test_no_row_leaves_its_norms_wherever_a_step_is_asked(asked: str, norm: Norm, tmp_path: Path) -> None:
    random = Random(5)
    ends = {"i": (-20, 30), "k": (0, 4 * 10**9)}
    rows = [
        (n, n % 60, random.choice([-(2**31), 2**31 - 1, *ends["i"], 5]), random.choice([0.0, 5000.0, 999999.99, -0.01, 2500.0]),
         random.choice([*ODD, -3.5, 96.1, 46.3, 1e300, -1e300]), random.choice([-(2**63), 2**63 - 1, *ends["k"], 2 * 10**9]),
         random.choice([True, False, None]), random.choice([*ODD, 0.0, 1.0, 0.3, 7.0, -2.0]))
        for n in range(120)
    ]  # fmt: skip
    with duckdb.connect(str(tmp_path / "case.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, g INTEGER, i INTEGER, d DECIMAL(8, 2), x DOUBLE, k BIGINT, b BOOLEAN, p DOUBLE)"
        )
        columns = [pa.array(column) for column in zip(*rows, strict=True)]
        connection.register(
            "rows", pa.table(dict(zip(["id", "g", "i", "d", "x", "k", "b", "p"], columns, strict=True)))
        )
        connection.execute("INSERT INTO person SELECT * FROM rows")
    tables = (
        "  person: {columns: {id: {}, g: {range: [0, 59]}, i: {range: [-20, 30]}, d: {range: [0, 5000]}, x: {range: [-3.5, 96.1]},"
        " k: {range: [0, 4000000000]}, b: {values: [true, false]}, p: {range: [0, 1]}}}\n"
    )
    policy = POLICY.format(database="duckdb:case.duckdb", delta=", delta: 1e-3", accounting="zcdp", epsilon=1)
    (tmp_path / "policy.yaml").write_text(policy + tables)
    for rest in range(2):
        # One person a group, in two statements: a step has numbers for each of at most a hundred groups.
        own = f"id BETWEEN {60 * rest} AND {60 * rest + 59}"
        sql = f"SELECT g, (LOGREGR({asked})).coef[1] FROM person WHERE {own} GROUP BY g"
        (one,) = measure(sql, tmp_path / "policy.yaml", norm=norm)
        assert len(one.plan.steps) == STEPS
        reached = 0.0
        for cells in one.groups.values():
            for names, sensitivity in one.blocks:
                size = sum(abs(cells[name]) for name in names)
                square = sum(cells[name] ** 2 for name in names)
                if norm is Norm.L1:
                    assert sensitivity.l1 is not None
                    assert size <= sensitivity.l1
                else:
                    assert square <= sensitivity.l2_squared
                reached = max(reached, math.sqrt(square / sensitivity.l2_squared))
            assert all(abs(cells[name]) <= one.bounds[name] for name in cells)
        assert reached > 0.5, "a row at the ends of its ranges comes near the bound"


@pytest.mark.parametrize("norm", list(Norm))
def test_a_person_of_many_rows_moves_every_step_no_further_than_its_sensitivity(norm: Norm, tmp_path: Path) -> None:
    """Neighbours with and without a person who has forty rows where three count, at the same coefficients."""
    rows = "generate_series(1, 20) AS t(i), generate_series(0, 39) AS u(j)"
    setup = [
        *SETUP[:1],
        "INSERT INTO person SELECT i, 'F', 20 + i, i, TRUE FROM generate_series(1, 20) AS t(i)",
        SETUP[2],
        f"INSERT INTO visit SELECT i, CASE WHEN i % 2 = 0 THEN 130 ELSE 90 END, i % 2 FROM {rows}",
    ]
    sql = "SELECT LOGREGR(late, ARRAY[1, x]), LOGREGR(late > 0, ARRAY[x]) FILTER (WHERE x > 100) FROM visit"
    with case(tmp_path, setup, TABLES):
        pass
    (whole,) = measure(sql, tmp_path / "policy.yaml", norm=norm)
    with duckdb.connect(str(tmp_path / "case.duckdb")) as connection:
        connection.execute("DELETE FROM visit WHERE pid = 4")
    (rest,) = measure(sql, tmp_path / "policy.yaml", norm=norm)
    moved_at_all = 0
    for names, sensitivity in whole.blocks:
        moved = [whole.groups[()][name] - rest.groups[()][name] for name in names]
        moved_at_all += any(moved)
        if norm is Norm.L1:
            assert sensitivity.l1 is not None
            assert sum(map(abs, moved)) <= sensitivity.l1
        else:
            assert sum(one * one for one in moved) <= sensitivity.l2_squared
    assert moved_at_all > 2 * STEPS


# Steps


def test_all_steps_are_charged_before_the_first_and_nothing_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that fails in the third read, and one that is cancelled there."""
    read, runs = DuckDBEngine.run, 0
    cancellation = Cancellation()
    with case(tmp_path, SETUP, TABLES, noise=True) as session:
        whole, ledger = session.explain(f"SELECT {FULL} FROM person").price, session._opened.ledger
        assert whole.rho == Fraction(100) ** 2 / 2
        charges: list[PrivacyLoss] = []

        def fails_third(engine: DuckDBEngine, plan: Plan, *rest: object) -> ExactTable:
            nonlocal runs
            runs += 1
            charges.append(sum((one.loss for one in ledger.charges()), PrivacyLoss()))
            if runs == 3:
                raise RuntimeError("a crash")
            if runs == 6:
                cancellation.cancel()
            return read(engine, plan, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(DuckDBEngine, "run", fails_third)
        with pytest.raises(Error):
            session.execute(f"SELECT {FULL} FROM person")
        assert runs == 3
        with pytest.raises(Error, match="cancel"):
            session.execute(f"SELECT {FULL} FROM person", (), cancellation)
        assert runs == 6
        session.execute(f"SELECT {FULL} FROM person")
        assert runs == 6 + 1 + STEPS
        assert charges[0] == charges[2] == whole
        assert charges[3] == charges[5] == whole + whole
        assert charges[6] == charges[-1] == whole + whole + whole
        assert len(ledger.charges()) == 3
        session.execute(f"SELECT ({FULL}).coef[2] FROM person")
        assert runs == 6 + 1 + STEPS, "the same steps are free"


def test_each_step_has_noise_of_its_own_and_reads_released_numbers_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SQL of a step is that of its plan with whole numbers in it: those follow from the released table."""
    from dpsql.inference.estimates import points_after

    asked: list[Plan] = []
    drawn: list[int] = []
    exact: list[ExactTable] = []
    read, draw = DuckDBEngine.run, Draws.draw

    def spy(engine: DuckDBEngine, plan: Plan, *rest: object) -> ExactTable:
        asked.append(plan)
        exact.append(read(engine, plan, *rest))  # type: ignore[arg-type]
        return exact[-1]

    def count(law: Draws) -> IntegerColumn:
        drawn.append(law.count)
        return draw(law)

    monkeypatch.setattr(DuckDBEngine, "run", spy)
    monkeypatch.setattr(Draws, "draw", count)
    with case(tmp_path, SETUP, TABLES, noise=True) as session:
        session.execute(f"SELECT {FULL} FROM person")
        (whole,) = session.explain(f"SELECT {FULL} FROM person").releases
        plan = whole.plan
        opened = session._opened
        noisy = opened.store.get(plan.identity, opened.version(plan), {})
    assert [len(one.blocks) for one in asked] == [1, 1, 1, 2, 1, 1, 1]
    assert drawn == [len(block.statistics) for block in plan.blocks]
    assert noisy is not None
    for number, (step, one) in enumerate(zip(plan.steps, asked[1:], strict=True)):
        points = points_after(plan, number, noisy)
        assert {*points} == {*re.findall(r"dpsql_point_\d+", step.sql)}
        assert one.sql == step.at(noisy.keys, points)
    noises = [[noisy.statistics[name][0] - column[0] for name, column in one.statistics.items()] for one in exact]
    assert len({one for some in noises for one in some}) == sum(map(len, noises)) == sum(drawn)


def test_a_step_takes_whole_numbers_within_their_limit_alone(tmp_path: Path) -> None:
    with case(tmp_path, SETUP, TABLES) as session:
        (release,) = session.explain(f"SELECT {FULL} FROM person").releases
    step = release.plan.steps[0]
    names = sorted(set(re.findall(r"dpsql_point_\d+", step.sql)))
    assert "dpsql_point" not in step.at([()], {name: [-7] for name in names})
    for wrong in (1 << 40, True, 0.5):
        with pytest.raises(ValueError, match="whole"):
            step.at([()], {name: [wrong] for name in names})  # type: ignore[list-item]


# With noise


def _covered(session: Session, repeats: int) -> np.ndarray:
    truth, _ = most_likely(*people())
    chance = 1 / (1 + math.exp(-(truth @ [1, 40, 10])))
    held = np.zeros(4)
    session.execute("SET dpsql.intervals = on")
    session.execute("SET dpsql.reuse = off")
    asked = ", ".join(f"({FULL}).coef[{place}]" for place in (1, 2, 3))
    for _ in range(repeats):
        (row,) = session.execute(f"SELECT {asked}, dpsql.predict({FULL}, ARRAY[1, 40, 10]) FROM person").rows
        ends = [(float(row[3 * at + 1]), float(row[3 * at + 2])) for at in range(4)]  # type: ignore[arg-type]
        held += [low <= one <= high for one, (low, high) in zip([*truth, chance], ends, strict=True)]
    return held / repeats


def test_intervals_cover(tmp_path: Path) -> None:
    """Of 12 answers; 5 or fewer, where 95 % hold, would come once in 10⁶ times."""
    with case(tmp_path, SETUP, TABLES, "zcdp", epsilon=2, noise=True) as session:
        assert (_covered(session, 12) > 5 / 12).all()


@pytest.mark.campaign
@pytest.mark.parametrize(("accounting", "epsilon"), [("zcdp", 1.0), ("pure", 20.0)])
def test_intervals_cover_as_often_as_they_say(tmp_path: Path, accounting: str, epsilon: float) -> None:
    with case(tmp_path, SETUP, TABLES, accounting, epsilon=epsilon, noise=True) as session:
        held = _covered(session, 300)
    assert (held >= 0.9).all(), held


def test_where_noise_is_larger_than_the_spread_there_is_no_interval(tmp_path: Path) -> None:
    with case(tmp_path, SETUP, TABLES, epsilon=0.2, noise=True) as session:
        session.execute("SET dpsql.intervals = on")
        session.execute("SET dpsql.reuse = off")
        for _ in range(4):
            ((value, low, high),) = session.execute(f"SELECT ({FULL}).coef[2] FROM person WHERE id < 300").rows
            assert (low, high) == (None, None)
            assert value is None or abs(float(value)) < 10  # type: ignore[arg-type]


def test_an_answer_is_as_far_off_as_was_foretold_of_usual_regressors(tmp_path: Path) -> None:
    """Of 1,000 people whose regressors have the spread that is assumed before anything is released."""
    tables = """
  person: {columns: {id: {}, a: {range: [0, 80]}, b: {range: [-4, 4]}, y: {range: [0, 1]}, ill: {values: [true, false]}}}
"""
    drawn = np.random.default_rng(5).normal(size=(1000, 2)).clip(-3.9, 3.9) @ np.diag([10, 1]) + [40, 0]
    rows = [f"({i}, {a}, {b}, {i % 97 / 97}, {i * 7919 % 101 < 50})" for i, (a, b) in enumerate(drawn)]
    setup = [
        "CREATE TABLE person (id INTEGER PRIMARY KEY, a DOUBLE, b DOUBLE, y DOUBLE, ill BOOLEAN)",
        f"INSERT INTO person VALUES {', '.join(rows)}",
    ]
    linear, logistic = "LINREGR(y, ARRAY[1, a, b])", "LOGREGR(ill, ARRAY[1, a, b])"
    with case(tmp_path, setup, tables, epsilon=4, noise=True) as session:
        session.execute("SET dpsql.reuse = off")
        for call in (linear, logistic):
            sql = f"SELECT {call} FROM person"
            (foretold,) = session.explain(sql).expected_items
            answers = np.array([listed(session.execute(sql).rows[0][0]) for _ in range(40)])
            far = 1.96 * answers.std(axis=0)
            quotients = [measured / (one or math.inf) for one, measured in zip(foretold, far, strict=True)]
            assert len(quotients) == 3
            assert all(0.5 < one < 1.3 for one in quotients), quotients


def test_an_explanation_says_which_steps_there_are_and_which_error_to_expect(exact: Session) -> None:
    explained = exact.explain(f"SELECT ({FULL}).coef[2], dpsql.predict({FULL}, ARRAY[1, 40, 10]) FROM person")
    assert all(one is not None and 0 < one < 1 for one in explained.expected)
    assert f"Step 1 of {STEPS}" in str(explained)
    assert "LOGREGR(ill, ARRAY[1, age, years])" in str(explained)
    assert isinstance(explained.releases[0].plan.blocks[0].weight, Fraction)
