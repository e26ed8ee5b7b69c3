"""Moments: one row is one unit in every vector, answers without noise are the engine's, and with it they are possible."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from dpsql.accounting import PURE, ZCDP
from dpsql.errors import Error
from dpsql.finish.replicates import drawn
from dpsql.inference.estimates.moment_figures import moment_ends, moment_values
from dpsql.mechanisms import NOISES, Laplace
from dpsql.proxy import Proxy
from dpsql.testing import measure
from rewriter.declared.contribution import Norm
from rewriter.measure.moments import MIDDLE
from rewriter.plan import Axis, Figure, Moment
from tests.bench.moments import People, compare
from tests.default_run import thinned
from tests.doubles import open_without_noise
from tests.policies import policy_text

ODD = (math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308, None)
ONE = ["VAR_POP", "VAR_SAMP", "VARIANCE", "STDDEV", "STDDEV_POP", "STDDEV_SAMP"]
TWO = ["COVAR_POP", "COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2", "REGR_COUNT", "REGR_AVGX",
       "REGR_AVGY", "REGR_SXX", "REGR_SYY", "REGR_SXY"]  # fmt: skip
POLICY = policy_text("""
database: duckdb:people.duckdb; ledger: sqlite:{how}.ledger; privacy_unit: person.id
budget: {epsilon: 1000000, delta: {delta}, accounting: {how}}; statement: {epsilon: 1, max_epsilon: 1000}
tables:
  person: id, g [a, b, none], i -20..30, d 0..5000, x -3.5..96.1, k 0..4000000000, free
  visit(person_id -> person.id, max_rows: 20): id, cost 0..50, time 0..10
""")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("people")
    random = Random(3)
    people = []
    for n in range(400):
        i = random.randint(-20, 30)
        x = round(random.uniform(0, 40) + i * 0.9, 3)
        people.append(
            (n, "ab"[n % 3 > 0], i, None if n % 7 == 0 else f"{random.uniform(0, 5000):.2f}",
             None if n % 11 == 0 else min(max(x, -3.5), 96.1), random.randrange(4 * 10**9))
        )  # fmt: skip
    visits = [(n, random.randrange(400), random.uniform(0, 50), random.uniform(0, 10)) for n in range(1500)]
    with duckdb.connect(str(found / "people.duckdb")) as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, g TEXT NOT NULL, i INTEGER NOT NULL, "
                           "d DECIMAL(8, 2), x DOUBLE, k BIGINT NOT NULL, free INTEGER DEFAULT 1)")  # fmt: skip
        connection.execute("CREATE TABLE visit (id INTEGER PRIMARY KEY, person_id INTEGER REFERENCES person (id), "
                           "cost DOUBLE NOT NULL, time DOUBLE NOT NULL)")  # fmt: skip
        insert(connection, "person", people)
        insert(connection, "visit", visits)
    shutil.copy(found / "people.duckdb", found / "copy.duckdb")
    for how, delta in (("zcdp", "1e-6"), ("pure", "0")):
        (found / f"{how}.yaml").write_text(POLICY.format(how=how, delta=delta))
    return found


@pytest.fixture(scope="module", params=["zcdp", "pure"])
def exact(request: pytest.FixtureRequest, folder: Path) -> Iterator[Proxy]:
    proxy = open_without_noise(folder / f"{request.param}.yaml")
    yield proxy
    proxy.close()


def insert(connection: duckdb.DuckDBPyConnection, name: str, rows: list[tuple[object, ...]]) -> None:
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    names = ["id", "g", "i", "d", "x", "k"] if name == "person" else ["id", "person_id", "cost", "time"]
    connection.register("rows", pa.table(dict(zip(names, columns, strict=True))))
    connection.execute(f"INSERT INTO {name} ({', '.join(names)}) SELECT * FROM rows")


def engine(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(folder / "copy.duckdb")) as connection:
        return connection.execute(sql).fetchall()


# One row is one unit


@pytest.mark.spread
@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize(
    "asked",
    ["VAR_POP(x)", "VAR_POP(d)", "STDDEV(i)", "STDDEV(k)", "CORR(x, i)", "COVAR_POP(x, d)", "REGR_SLOPE(d, x)",
     "CORR(k, x)", "CORR(x, x)", "REGR_SLOPE(i, i)"],
)  # fmt: skip
def test_a_row_adds_exactly_one_unit_whatever_it_holds(asked: str, norm: Norm, tmp_path: Path) -> None:
    random = Random(5)
    rows = [
        (n, "ab"[n % 2], random.choice([-(2**31), 2**31 - 1, -20, 30, 7, random.randint(-20, 30)]),
         random.choice(["0", "5000", "999999.99", "-0.01", f"{random.uniform(0, 5000):.2f}"]),
         random.choice([*ODD, -3.5, 96.1, random.uniform(-3.5, 96.1), random.uniform(-3.5, 96.1)]),
         random.choice([-(2**63), 2**63 - 1, 0, 4 * 10**9, random.randrange(4 * 10**9)]))
        for n in range(300)
    ]  # fmt: skip
    (tmp_path / "policy.yaml").write_text(POLICY.format(how="zcdp", delta="1e-6"))
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, g TEXT NOT NULL, i INTEGER NOT NULL, "
                           "d DECIMAL(8, 2), x DOUBLE, k BIGINT NOT NULL, free INTEGER DEFAULT 1)")  # fmt: skip
        connection.execute("CREATE TABLE visit (id INTEGER PRIMARY KEY, person_id INTEGER REFERENCES person (id), "
                           "cost DOUBLE, time DOUBLE)")  # fmt: skip
        insert(connection, "person", rows)
    (one,) = measure(f"SELECT id % 300 AS row, {asked} FROM person GROUP BY 1", tmp_path / "policy.yaml", norm=norm)
    (block,) = one.blocks
    granularity, largest = one.granularity, 0
    for cells in one.groups.values():
        total = sum(granularity[name] * cells[name] for name in block[0])
        assert total in (0, 1)
        assert all(cells[name] >= 0 for name in block[0])
        squares = sum(cells[name] ** 2 for name in block[0])
        assert squares <= block[1].l2_squared
        if norm is Norm.L1:
            assert block[1].l1 is not None
            assert sum(cells[name] for name in block[0]) <= block[1].l1
        largest = max(largest, squares)
    assert largest > 0.99 * block[1].l2_squared, "a row at the ends of the ranges reaches the bound"


def test_the_middle_of_the_range_may_be_counted_more_finely_and_no_more_than_that() -> None:
    t = [Fraction(n, 1000) for n in range(1001)]

    def largest(weight: Fraction) -> Fraction:
        return max((1 - u) ** 4 + (weight * 2 * u * (1 - u)) ** 2 + u**4 for u in t)

    assert largest(MIDDLE) == 1
    assert largest(MIDDLE * Fraction(101, 100)) > 1


def test_moments_of_the_same_rows_are_one_vector(folder: Path) -> None:
    together = [
        ("STDDEV(x), VARIANCE(x), AVG(x), SUM(x), COUNT(x)", 1),
        ("CORR(x, i), STDDEV(x), REGR_SLOPE(i, x), REGR_COUNT(x, i), REGR_AVGX(x, i), COVAR_POP(i, x)", 1),
        ("STDDEV(i), COUNT(*), AVG(i), CORR(k, i), AVG(k)", 1),
        # Rows without an x have a cell of their own beside those of the moments.
        ("STDDEV(x), COUNT(*)", 1),
        ("STDDEV(x), STDDEV(d)", 2),
        ("STDDEV(x), STDDEV(x) FILTER (WHERE i > 0)", 2),
        ("STDDEV(CASE WHEN i > 0 THEN x END), STDDEV(x) FILTER (WHERE i > 0)", 1),
        ("REGR_COUNT(x, i)", 1),
        ("REGR_SXX(x, i), REGR_AVGX(x, i), REGR_COUNT(x, i)", 1),
    ]
    for asked, blocks in together:
        (one,) = measure(f"SELECT {asked} FROM person", folder / "pure.yaml")
        assert len(one.blocks) == blocks, asked
    (smallest,) = measure("SELECT COVAR_SAMP(x, i) FROM person", folder / "pure.yaml")
    assert len(smallest.plan.statistics) == 4


# Without noise


def near(mine: object, theirs: object, tolerance: float = 2e-5) -> bool:
    if theirs is None or (isinstance(theirs, float) and math.isnan(theirs)):
        return mine is None
    assert isinstance(mine, int | float)
    assert isinstance(theirs, int | float)
    return abs(mine - theirs) <= tolerance * max(1.0, abs(theirs))


@pytest.mark.spread
@pytest.mark.parametrize("x", ["i", "d", "x", "k", "i + 2 * i", "CASE WHEN g = 'a' THEN x END"])
def test_figures_of_one_variable_are_the_engines(x: str, exact: Proxy, folder: Path) -> None:
    items = ", ".join(f"{function}({x})" for function in ONE)
    for sql in (f"SELECT {items} FROM person", f"SELECT {items} FROM person WHERE i BETWEEN 3 AND 17"):
        (mine,), (theirs,) = exact.session().execute(sql).rows, engine(folder, sql)
        assert all(near(one, other) for one, other in zip(mine, theirs, strict=True)), (mine, theirs)


@pytest.mark.parametrize(
    ("y", "x"), thinned([("i", "x"), ("x", "i"), ("d", "x"), ("x", "d"), ("k", "i"), ("i", "i")], 2)
)
def test_figures_of_two_variables_are_the_engines(y: str, x: str, exact: Proxy, folder: Path) -> None:
    for function in TWO:
        sql = f"SELECT g, {function}({y}, {x}), {function}({y}, {x}) FILTER (WHERE i > -5) FROM person GROUP BY g"
        mine = {row[0]: row[1:] for row in exact.session().execute(sql).rows}
        for group, *theirs in engine(folder, sql):
            pairs = zip(mine[group], theirs, strict=True)
            assert all(near(one, other, 2e-3) for one, other in pairs), (function, mine[group], theirs)
        assert mine["none"] == ((0, 0) if function == "REGR_COUNT" else (None, None))


@pytest.mark.quick
def test_asked_together_they_are_the_same(exact: Proxy, folder: Path) -> None:
    """A vector of several moments has higher degrees than one of them needs, and other axes first."""
    items = [*(f"{function}(x, i)" for function in TWO), *(f"{function}(i, x)" for function in TWO)]
    items += ["STDDEV(i) FILTER (WHERE x IS NOT NULL)", "AVG(x)", "SUM(i) FILTER (WHERE x IS NOT NULL)"]
    sql = f"SELECT {', '.join(items)} FROM person"
    assert len(exact.session().explain(sql).releases[0].plan.blocks) == 2, "AVG(x) is of all rows with x, and so is SUM"
    (mine,), (theirs,) = exact.session().execute(sql).rows, engine(folder, sql)
    assert all(near(float(one), float(other), 2e-3) for one, other in zip(mine, theirs, strict=True)), (mine, theirs)


def test_those_of_other_columns_are_not_made_to_agree_with_them(exact: Proxy, folder: Path) -> None:
    session = exact.session()
    for figure in ("CORR(x, {})", "COVAR_POP(x, {})", "COUNT(DISTINCT (g, {}))"):
        sql = " UNION ALL ".join(f"SELECT {figure.format(other)} AS r FROM person" for other in ("i", "d", "k"))
        answer = session.execute(sql)
        assert all(
            near(mine[0], theirs[0], 2e-3) for mine, theirs in zip(answer.rows, engine(folder, sql), strict=True)
        )
        assert not any("agree" in note for note in answer.notices)


@pytest.mark.parametrize("other", ["i", "k"])
def test_parts_agree_with_totals_of_the_same_columns_alone(exact: Proxy, other: str) -> None:
    parts = "SELECT CASE WHEN k > 2000000000 THEN 'p' ELSE 'q' END AS half, CORR(x, i) AS r FROM person GROUP BY 1"
    answer = exact.session().execute(f"{parts} UNION ALL SELECT NULL, CORR(x, {other}) FROM person")
    assert any("agree" in note for note in answer.notices) is (other == "i")


def test_distinct_counts_beside_them_are_not_numbers_of_rows(exact: Proxy) -> None:
    sql = "SELECT COUNT(DISTINCT person_id), COUNT(DISTINCT FLOOR(cost / 10)), VAR_POP(cost), COUNT(*) FROM visit"
    alone = "SELECT COUNT(DISTINCT person_id), COUNT(DISTINCT FLOOR(cost / 10)) FROM visit"
    session = exact.session()
    together = session.execute(sql).rows[0]
    assert together[:2] == session.execute(alone).rows[0]
    assert together[:2] != (together[3], together[3])


def test_what_stands_around_them_is_answered(exact: Proxy, folder: Path) -> None:
    session = exact.session()
    for sql in (
        "SELECT STDDEV(x) / AVG(x), ROUND(CORR(x, i)::numeric, 2) FROM person",
        "SELECT STDDEV(v.cost), CORR(v.cost, p.i) FROM visit v JOIN person p ON p.id = v.person_id",
        "SELECT STDDEV(total), AVG(total) FROM (SELECT person_id, SUM(cost) total FROM visit GROUP BY person_id) t",
    ):
        (mine,), (theirs,) = session.execute(sql).rows, engine(folder, sql)
        assert all(near(float(one), float(other), 1e-2) for one, other in zip(mine, theirs, strict=True)), (
            mine,
            theirs,
        )
    rolled = "SELECT g, STDDEV(i), CORR(x, i), COUNT(*) FROM person GROUP BY ROLLUP (g) ORDER BY g"
    mine_of = {row[0]: row[1:] for row in session.execute(rolled).rows}
    for group, *cells in engine(folder, rolled):
        assert all(near(one, other, 2e-3) for one, other in zip(mine_of[group], cells, strict=True))
    having = "SELECT g FROM person GROUP BY g HAVING STDDEV(i) > 1 ORDER BY CORR(x, i)"
    assert {row[0] for row in session.execute(having).rows} == {"a", "b"}


def test_a_sample_of_one_has_no_variance(exact: Proxy) -> None:
    session = exact.session()
    assert session.execute("SELECT VAR_POP(i), VAR_SAMP(i), STDDEV(i) FROM person WHERE id = 1").rows == (
        (0.0, None, None),
    )
    assert session.execute("SELECT VAR_POP(i), CORR(x, i), AVG(i) FROM person WHERE id < 0").rows == ((None,) * 3,)
    assert session.execute("SELECT CORR(x, i), REGR_SLOPE(x, i) FROM person WHERE i = 3").rows == ((None, None),)


def test_what_cannot_be_answered_is_refused_with_a_hint(exact: Proxy) -> None:
    for sql in (
        "SELECT VARIANCE(g) FROM person",
        "SELECT VARIANCE(DISTINCT i) FROM person",
        "SELECT CORR(i) FROM person",
        "SELECT CORR(i, g) FROM person",
        "SELECT CORR(x, free) FROM person",
        "SELECT STDDEV(free) FROM person",
        "SELECT SUM(s) FROM (SELECT person_id, STDDEV(cost) s FROM visit GROUP BY person_id) t",
    ):
        with pytest.raises(Error) as refused:
            exact.session().execute(sql)
        assert refused.value.hint, sql


# With noise


def test_answers_are_possible_whatever_the_noise(folder: Path) -> None:
    seen = []
    for how in ("zcdp", "pure"):
        proxy = Proxy.open(folder / f"{how}.yaml")
        session = proxy.session()
        session.execute("SET dpsql.epsilon = 0.01")
        session.execute("SET dpsql.reuse = off")
        # Moments of nobody are the most extreme: they are shown, too.
        session.execute("SET dpsql.empty_groups = show")
        items = "VAR_POP(x), STDDEV(x), CORR(x, d), REGR_R2(x, d), REGR_SXX(x, d), COVAR_POP(x, d), AVG(x)"
        for _ in range(6):
            for _, *cells in session.execute(f"SELECT FLOOR(i / 10), {items} FROM person GROUP BY 1").rows:
                variance, deviation, corr, r2, squares, covariance, mean = cells
                for one, low, high in (
                    (variance, 0, 49.8**2), (deviation, 0, math.inf), (corr, -1, 1), (r2, 0, 1),
                    (squares, 0, math.inf), (covariance, -49.8 * 2500, 49.8 * 2500), (mean, -3.5, 96.1),
                ):  # fmt: skip
                    assert one is None or low - 1e-3 <= one <= high + 1e-3
                seen += cells
        proxy.close()
    assert any(one is None for one in seen)
    assert sum(one is not None for one in seen) > 100


@pytest.mark.spread
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("figure", list(Figure))
@pytest.mark.parametrize("scale", [1, 3])
def test_intervals_hold_the_truth_as_often_as_they_say(figure: Figure, scale: int, kind: str) -> None:
    random = np.random.default_rng(7)
    x, y = Axis(Fraction(-5), Fraction(20), figure.degrees[0]), Axis(Fraction(2), Fraction(4), figure.degrees[1])
    t, s = random.beta(2, 4, 600), random.random(600)
    s = 0.6 * t + 0.4 * s
    bernstein = {0: lambda u: [u**0], 1: lambda u: [1 - u, u], 2: lambda u: [(1 - u) ** 2, 2 * u * (1 - u), u * u]}
    sums = [(a * b).sum() for a in bernstein[x.degree](t) for b in bernstein[y.degree](s)]
    step = Fraction(1, 1000)
    noise = NOISES[kind](Fraction(1000 * scale))  # type: ignore[arg-type]
    exact = [round(total / float(step)) for total in sums]
    moment = Moment(figure, x, y, tuple((f"s{n}", step) for n in range(len(sums))))
    truth = moment_values(moment, [[n] for n in exact])[0]
    assert truth is not None
    cells = [(n + drawn(noise, 4000, random)).tolist() for n in exact]
    low, high = moment_ends(moment, cells, [noise] * len(cells))
    held = float(((low <= truth) & (truth <= high)).mean())
    assert 0.935 <= held <= 0.975, held


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("figure", [Figure.CORRELATION, Figure.DETERMINATION])
def test_a_correlation_that_noise_took_beyond_1_is_not_certain(figure: Figure, sign: int) -> None:
    """Half of the rows in either corner, and noise that makes products larger than variances allow."""
    corners = [0, 8] if sign > 0 else [2, 6]
    axis = Axis(Fraction(0), Fraction(1), 2)
    moment = Moment(figure, axis, axis, tuple((f"s{n}", Fraction(1)) for n in range(9)))
    cells = [[100] if n in corners else [0] for n in range(9)]
    for away in set(range(0, 9, 2)) - {*corners, 4}:
        cells[away] = [-30]
    (low,), (high,) = moment_ends(moment, cells, [Laplace(Fraction(5))] * 9)
    (value,) = moment_values(moment, cells)
    assert value == (sign if figure is Figure.CORRELATION else 1)
    assert low <= value <= high
    assert high - low > 0.02


def noisy_cells(figure: Figure, t: np.ndarray, s: np.ndarray, scale: int) -> tuple[Moment, list[int], list[list[int]]]:
    """A figure of points in the unit square, its exact cells, and 4,000 noisy ones with Gaussian noise of this scale."""
    x, y = Axis(Fraction(0), Fraction(1), figure.degrees[0]), Axis(Fraction(0), Fraction(1), figure.degrees[1])
    bernstein = {0: lambda u: [u**0], 1: lambda u: [1 - u, u], 2: lambda u: [(1 - u) ** 2, 2 * u * (1 - u), u * u]}
    exact = [round(1000 * (a * b).sum()) for a in bernstein[x.degree](t) for b in bernstein[y.degree](s)]
    moment = Moment(figure, x, y, tuple((f"s{n}", Fraction(1, 1000)) for n in range(len(exact))))
    random, noise = np.random.default_rng(11), NOISES["gaussian"](Fraction(1000 * scale))
    return moment, exact, [(n + drawn(noise, 4000, random)).tolist() for n in exact]


@pytest.mark.parametrize(("figure", "least"), [(Figure.CORRELATION, 0.3), (Figure.SLOPE, 0.5)])
def test_where_noise_hides_a_spread_the_sign_is_told(figure: Figure, least: float) -> None:
    """Nearly a line, whose slope has no end in sight. Of 4,000, fewer than 3,745 would come once in 10⁴ times."""
    random = np.random.default_rng(5)
    t = random.normal(0.5, 0.15, 300)
    moment, exact, cells = noisy_cells(figure, t, 0.9 * t + random.normal(0, 0.03, 300), 5)
    truth, found = moment_values(moment, [[n] for n in exact])[0], moment_values(moment, cells)
    low, high = moment_ends(moment, cells, [NOISES["gaussian"](Fraction(5000))] * len(cells))
    shown = np.array([one is not None for one in found])
    assert truth is not None
    assert ((low <= truth) & (truth <= high))[shown].mean() >= 0.936
    open_ended = shown & (high >= (1 if figure is Figure.CORRELATION else math.inf))
    assert open_ended.mean() > 0.1
    assert (low > 0)[open_ended].mean() > least


@pytest.mark.parametrize("spread", [0.0, 0.01])
def test_a_ray_is_left_out_no_more_often_than_it_says(spread: float) -> None:
    """Where there is no spread at all, or next to none, either ray may be the true one."""
    random = np.random.default_rng(6)
    t = 0.5 + spread * random.normal(0, 1, 300)
    moment, exact, cells = noisy_cells(Figure.SLOPE, t, 0.5 + 3 * (t - 0.5) + random.normal(0, 0.1, 300), 2)
    low, high = moment_ends(moment, cells, [NOISES["gaussian"](Fraction(2000))] * len(cells))
    truth = moment_values(moment, [[n] for n in exact])[0] if spread else 0.0
    assert truth is not None
    assert ((low <= truth) & (truth <= high)).mean() >= 0.94
    assert (np.isfinite(low) | np.isfinite(high)).any()


def test_a_sample_deviation_ends_where_that_of_two_rows_does() -> None:
    """Noise hides how many there are; of two rows, one at either end, the deviation is the largest there is."""
    axis, none = Axis(Fraction(0), Fraction(10), 2), Axis(Fraction(0), Fraction(1), 0)
    moment = Moment(Figure.DEVIATION_SAMP, axis, none, tuple((f"s{n}", Fraction(1)) for n in range(3)))
    cells = [[1], [0], [1]]
    _, (high,) = moment_ends(moment, cells, [Laplace(Fraction(20))] * 3)
    assert moment_values(moment, cells)[0] == pytest.approx(high) == pytest.approx(10 / math.sqrt(2))


def test_a_spread_that_noise_took_below_0_is_not_certain() -> None:
    axis, none = Axis(Fraction(0), Fraction(10), 2), Axis(Fraction(0), Fraction(1), 0)
    moment = Moment(Figure.DEVIATION_POP, axis, none, tuple((f"s{n}", Fraction(1)) for n in range(3)))
    cells = [[40], [160], [0]]
    (low,), (high,) = moment_ends(moment, cells, [Laplace(Fraction(4))] * 3)
    assert moment_values(moment, cells) == [0.0]
    assert low == 0
    assert 1 < high < 5


def test_they_are_as_accurate_as_was_said() -> None:
    people = People(2000, (15, 10), (7, 6), 0.5)
    assert compare(people, "STDDEV_POP(x)", PURE, Fraction(1), 1000).factor > 3
    assert compare(people, "CORR(y, x)", PURE, Fraction(1), 1000).factor > 2.5
    assert compare(people, "CORR(y, x)", ZCDP, Fraction(1), 1000).factor > 2.5
    middle = People(2000, (50, 50), (15, 15), 0.5)
    assert compare(middle, "STDDEV_POP(x)", ZCDP, Fraction(1), 1000).factor > 3
