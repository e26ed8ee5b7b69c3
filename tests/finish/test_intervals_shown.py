"""What ``dpsql.intervals`` shows: which columns, of which type, on every interface alike, and never for a price."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.errors import DataError
from dpsql.interfaces.commands.demo_clinic import POLICY, build
from dpsql.proxy import Proxy, Session
from dpsql.releases import items_of
from dpsql.reply import Answer
from dpsql.server.session.shown_digits import meaningful
from dpsql.settings import NAMES
from tests.properties.planted import case

COUNTS = "SELECT region, COUNT(*) AS n FROM patient GROUP BY region"


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("clinic")
    build(folder)
    policy = folder / POLICY
    policy.write_text(policy.read_text(encoding="utf-8").replace("epsilon: 10,", "epsilon: 100000,"))
    opened = Proxy.open(policy)
    yield opened
    opened.close()


@pytest.fixture
def ana(proxy: Proxy) -> Session:
    session = proxy.session("ana")
    session.execute("SET dpsql.intervals = on")
    return session


def names(answer: Answer) -> list[str]:
    return [column.name for column in answer.columns]


def cell(answer: Answer, name: str, row: int = 0) -> object:
    return answer.rows[row][names(answer).index(name)]


@pytest.mark.parametrize("intervals", [False, True])
def test_items_of_arrays_have_the_digits_that_mean_something(proxy: Proxy, intervals: bool) -> None:
    session = proxy.session("ana")
    session.execute(f"SET dpsql.intervals = {'on' if intervals else 'off'}")
    session.execute("SET dpsql.epsilon = 1")
    answer = session.execute("SELECT LINREGR(weight_kg, ARRAY[1, height_cm]) AS line, COUNT(*) AS n FROM patient")
    (every,), (few,) = answer.rows, meaningful(answer, intervals=intervals)
    assert every[1 + 2 * intervals :] == few[1 + 2 * intervals :], "counts are whole"
    ((widths,),) = answer.items.values()
    assert list(answer.items) == [0]
    exact, shown = (items_of(str(row[0])) for row in (every, few))
    for one, other, width in zip(exact, shown, widths, strict=True):
        assert one is not None
        assert other is not None
        assert 0 < abs(one - other) <= width / 20
    assert 10 * widths[1] < widths[0], "an intercept has fewer decimals than a slope"
    assert len(str(few[0])) < len(str(every[0])) / 2
    if intervals:
        low, high = (items_of(str(end)) for end in few[1:3])
        ends = [items_of(str(end)) for end in every[1:3]]
        assert all(a <= b for a, b in zip(low, ends[0], strict=True))  # type: ignore[operator]
        assert all(a >= b for a, b in zip(high, ends[1], strict=True))  # type: ignore[operator]


# Each statement, and the columns that get ends. The second statement of a pair, where there is one, asks the same.
WIDENED = [
    (COUNTS, ["n"]),
    (f"SELECT * FROM ({COUNTS}) AS virtual_table LIMIT 1000", ["n"]),
    (f"WITH c AS ({COUNTS}) SELECT * FROM c WHERE n > 100 ORDER BY n DESC", ["n"]),
    (f"WITH c(r, m) AS ({COUNTS}) SELECT c.*, m + 1 AS more FROM c", ["m", "more"]),
    ("SELECT COUNT(*), COUNT(*) FROM patient", ["count", "count"]),
    ("SELECT region, 'x' AS x, 7 AS seven, COUNT(*) > 5 AS many, CAST(COUNT(*) AS TEXT) AS t FROM patient GROUP BY 1", []),
    ("SELECT AVG(height_cm) AS h, ROUND(AVG(height_cm) / 2.54, 1) AS inches, COUNT(*) / 10 AS tens FROM patient",
     ["h", "inches", "tens"]),
    (f"SELECT a.n - b.n AS d FROM ({COUNTS}) AS a JOIN ({COUNTS}) AS b USING (region)", ["d"]),
    (f"SELECT * FROM ({COUNTS}) AS a NATURAL JOIN (SELECT region, COUNT(*) AS m FROM patient GROUP BY 1) AS b",
     ["n", "m"]),
    (f"SELECT SUM(n) AS total, MAX(n) AS most, COUNT(*) AS regions FROM ({COUNTS}) AS t",
     ["total", "most", "regions"]),
    (f"SELECT COUNT(*) AS large FROM ({COUNTS}) AS t WHERE n > 1000", ["large"]),
    ("SELECT region, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*)) AS place FROM patient GROUP BY 1", ["n", "place"]),
    (f"{COUNTS} UNION ALL SELECT 'all', COUNT(*) FROM patient", ["n"]),
    (f"SELECT name, population, n FROM region LEFT JOIN ({COUNTS}) AS t ON region = name", ["n"]),
    ("SELECT sex, COUNT(*) AS n, GROUPING(sex) AS g FROM patient GROUP BY ROLLUP (sex)", ["n"]),
    ("SELECT region FROM patient GROUP BY region", []),
    ("SELECT name, population FROM region", []),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "measured"), WIDENED)
def test_ends_stand_beside_measured_numbers_and_nothing_else(ana: Session, sql: str, measured: list[str]) -> None:
    described = ana.describe(sql)
    answer = ana.execute(sql)
    assert tuple(answer.columns) == tuple(described)
    assert ana.explain(sql).columns == described
    ends = [name for name in names(answer) if name.endswith(("_low", "_high"))]
    assert ends == [f"{name}_{end}" for name in measured for end in ("low", "high")]
    ana.execute("SET dpsql.intervals = off")
    plain = ana.execute(sql)
    assert [name for name in names(answer) if name not in ends] == names(plain)
    kept = [place for place, name in enumerate(names(answer)) if name not in ends]
    assert [tuple(row[place] for place in kept) for row in answer.rows] == list(plain.rows)
    assert not plain.price, "the same numbers, with or without ends"
    for row in answer.rows:
        for place in range(len(row) - 2):
            if answer.columns[place + 1].name == f"{answer.columns[place].name}_low" and row[place] is not None:
                value, low, high = row[place : place + 3]
                assert low is not None
                assert low <= value <= high  # type: ignore[operator]
                assert type(low) is type(high)
                assert answer.columns[place].type == answer.columns[place + 1].type


@pytest.mark.quick
def test_a_column_without_a_simple_rule_has_the_same_error_by_default(ana: Session) -> None:
    sql = (
        "SELECT region, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM patient) AS share, COUNT(*) AS n FROM patient GROUP BY 1"
    )
    found = ana.execute(sql)
    assert all(row[1] is None or row[2] is not None for row in found.rows)
    ana.execute("SET dpsql.intervals = off")
    plain = ana.execute(sql)
    assert [margins[1] for margins in plain.margins] == [margins[1] for margins in found.margins]
    assert all(margin is not None for margins in plain.margins for margin in margins[1:])


def test_the_same_question_shows_the_same_ends(ana: Session, proxy: Proxy) -> None:
    sql = f"SELECT SUM(n) * 2 AS s, MAX(n) AS m FROM ({COUNTS}) AS t"
    first = ana.execute(sql)
    proxy.memories.forget()
    again = ana.execute(sql)
    assert first.rows == again.rows
    assert not again.price
    assert ana.execute(f"SELECT MAX(n) AS m FROM ({COUNTS}) AS t").rows[0][0] == first.rows[0][3]


def test_what_cancels_is_certain(ana: Session) -> None:
    answer = ana.execute(f"WITH c AS ({COUNTS}) SELECT a.n - b.n AS none, a.n + b.n AS twice, a.n AS n FROM c AS a JOIN c "
                         "AS b USING (region)")  # fmt: skip
    for row in range(len(answer.rows)):
        assert (cell(answer, "none_low", row), cell(answer, "none_high", row)) == (0, 0)
        single = cell(answer, "n_high", row) - cell(answer, "n", row)  # type: ignore[operator]
        assert cell(answer, "twice_high", row) - cell(answer, "twice", row) == 2 * single  # type: ignore[operator]


def test_a_share_knows_that_both_sides_are_of_the_same_rows(ana: Session) -> None:
    """A part and its whole: the error of the quotient is far below that of two independent counts."""
    answer = ana.execute("SELECT COUNT(*) FILTER (WHERE sex = 'F') * 1.0 / COUNT(*) AS part, "
                         "COUNT(*) FILTER (WHERE sex = 'F') * 1.0 / (COUNT(*) FILTER (WHERE sex = 'F') + 0) AS one "
                         "FROM patient")  # fmt: skip
    assert (cell(answer, "one_low"), cell(answer, "one_high")) == pytest.approx((1, 1), abs=1e-12)
    assert 0 < cell(answer, "part_high") - cell(answer, "part_low") < 0.02  # type: ignore[operator]


def test_what_is_tried_agrees_with_what_is_exact(ana: Session) -> None:
    """Through DISTINCT, nothing exact is known: replicates find the same width, to their own error of 5 %."""
    exact = ana.execute("SELECT COUNT(*) AS n, SUM(weight_kg) AS s, AVG(weight_kg) AS a FROM patient")
    tried = ana.execute("SELECT DISTINCT COUNT(*) AS n, SUM(weight_kg) AS s, AVG(weight_kg) AS a FROM patient")
    for name in ("n", "s", "a"):
        widths = [
            float(cell(answer, f"{name}_high")) - float(cell(answer, f"{name}_low"))  # type: ignore[arg-type]
            for answer in (exact, tried)
        ]
        assert 0.68 < widths[1] / widths[0] < 1.35, "six deviations"


def test_an_answer_that_cannot_be_asked_all_at_once_is_asked_one_by_one(ana: Session) -> None:
    answer = ana.execute(f"SELECT n, SUM(n) OVER (ORDER BY n) AS running FROM ({COUNTS}) AS t UNION ALL "
                         "SELECT 1, 2 UNION ALL SELECT 1, 2")  # fmt: skip
    assert names(answer) == ["n", "n_low", "n_high", "running", "running_low", "running_high"]
    assert len(answer.rows) == 8


def test_nothing_is_known_of_a_quotient_by_what_may_be_nobody(ana: Session) -> None:
    """Nobody looks like somebody, by two deviations, once in forty times; six times running in 10⁹."""
    ana.execute("SET dpsql.reuse = off")

    def is_unknown() -> bool:
        answer = ana.execute("SELECT COUNT(*) * 1.0 / COUNT(*) FILTER (WHERE weight_kg > 199.9 AND height_cm < 45) AS q "
                             "FROM patient")  # fmt: skip
        shown = cell(answer, "q") is not None and cell(answer, "q_high") is not None
        assert shown == (answer.margins[0][0] not in (None, math.inf))
        return not shown

    assert any(is_unknown() for _ in range(6))


def test_margins_are_there_without_the_setting(ana: Session) -> None:
    ana.execute("SET dpsql.intervals = off")
    answer = ana.execute(f"SELECT region, n, n * 2 AS twice, n * 100.0 / 7 AS p FROM ({COUNTS}) AS t")
    for _, n, twice, p in answer.margins:
        assert n is not None
        assert twice == 2 * n
        assert p is not None
        assert math.isclose(p, n * 100 / 7)


def test_ends_are_not_moved_inwards_by_their_type(ana: Session) -> None:
    answer = ana.execute("SELECT SUM(cost) AS s FROM visit")
    assert all(isinstance(value, Decimal) for value in answer.rows[0])
    margin, (value, low, high) = answer.margins[0][0], answer.rows[0]
    assert margin is not None
    assert Fraction(high) - Fraction(value) >= Fraction(margin) * Fraction(999, 1000)  # type: ignore[arg-type]
    assert Fraction(value) - Fraction(low) >= Fraction(margin) * Fraction(999, 1000)  # type: ignore[arg-type]


def test_clipping_is_disclosed(ana: Session) -> None:
    told = "error bars do not cover what such bounds cut off"
    assert told in ana.execute("SELECT SUM(weight_kg) FROM patient").notices
    assert told in ana.explain("SELECT COUNT(*) FROM visit").notices
    assert told not in ana.execute("SELECT COUNT(*) FROM patient").notices, "one row each: nothing is cut"


# Settings


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_is_shown_set_and_reset(proxy: Proxy, name: str) -> None:
    session = proxy.session("ana")
    before = session.execute(f"SHOW {name}").rows[0][0]
    others = {"dpsql.epsilon": "0.125", "dpsql.target_error": "7%", "dpsql.empty_groups": "show", "dpsql.digits": "all"}
    others |= {"dpsql.stale": "allow", "dpsql.watch_every": "6 hours"}
    other = others.get(name, "off" if before == "on" else "on")
    session.execute(f"SET {name} = '{other}'")
    assert session.execute(f"SHOW {name}").rows[0][0] == other
    session.execute(f"RESET {name}")
    assert session.execute(f"SHOW {name}").rows[0][0] == before


# Accuracy first

PRICED = [
    "SELECT COUNT(*) FROM patient",
    COUNTS,
    "SELECT COUNT(*) - COUNT(*) FILTER (WHERE smoker) AS d, COUNT(*) * 3 AS thrice FROM patient",
    "SELECT sex, region, COUNT(*) FROM patient GROUP BY ROLLUP (sex, region)",
    f"SELECT a.n - b.n AS d FROM ({COUNTS}) AS a, (SELECT COUNT(*) AS n FROM visit) AS b",
]


@pytest.mark.parametrize("width", [40, 300])
@pytest.mark.parametrize("sql", PRICED)
def test_a_price_buys_the_error_and_hardly_more(proxy: Proxy, sql: str, width: int) -> None:
    session = proxy.session("ana")
    session.execute("SET dpsql.reuse = off")
    cap = proxy.policy.statement.max_epsilon
    session.execute(f"SET dpsql.epsilon = {float(cap)}")
    best = max(error for error in session.explain(sql).expected if error is not None)
    session.execute(f"SET dpsql.target_error = '{width}'")
    if best > width:
        with pytest.raises(DataError) as refused:
            session.explain(sql)
        assert refused.value.sqlstate == "22023"
        affordable = float((refused.value.hint or "").split("'")[1])
        session.execute(f"SET dpsql.target_error = '{affordable}'")
        width = math.ceil(affordable)
    told = session.explain(sql)
    widest = max(error for error in told.expected if error is not None)
    assert widest <= width
    assert any(f"ε = {float(told.epsilon):g}" in note for note in told.notices)
    cheaper = Fraction(told.epsilon) * Fraction(93, 100)
    session.execute(f"SET dpsql.epsilon = {float(cheaper):.12f}")
    assert max(error for error in session.explain(sql).expected if error is not None) > width * 0.97
    answer = session.execute(sql)
    assert math.isclose(float(answer.epsilon), float(cheaper), rel_tol=1e-9)


def test_the_later_of_price_and_error_wins(proxy: Proxy) -> None:
    session = proxy.session("ana")
    session.execute("SET dpsql.reuse = off")
    sql = "SELECT COUNT(*) FROM patient"
    session.execute("SET dpsql.target_error = '100'")
    by_error = session.execute(sql)
    session.execute("SET dpsql.epsilon = 0.5")
    assert session.execute("SHOW dpsql.target_error").rows == (("off",),)
    by_price = session.execute(sql)
    assert by_error.epsilon < by_price.epsilon == Fraction(1, 2)
    assert by_error.margins[0][0] <= 100  # type: ignore[operator]
    session.execute("SET dpsql.target_error = '100'")
    assert session.execute(sql).price == by_error.price
    session.execute("RESET dpsql.target_error")
    assert session.execute(sql).price == by_price.price


def test_a_relative_error_settles(proxy: Proxy) -> None:
    """It is a part of a nominal group first, then of what was released; asking again soon costs nothing."""
    session = proxy.session("ana")
    session.execute("SET dpsql.target_error = '2%'")
    sql = "SELECT smoker, COUNT(*) FROM patient WHERE birth_year > 1950 GROUP BY smoker"
    paid = [session.execute(sql).price for _ in range(5)]
    assert paid[0]
    assert not any(paid[3:])


@pytest.mark.parametrize("value", ["0", "-5", "5%%", "many", "1e3", "", "nan", "0%", "9" * 30])
def test_what_is_no_error_is_refused(proxy: Proxy, value: str) -> None:
    session = proxy.session("ana")
    with pytest.raises(DataError) as refused:
        session.execute(f"SET dpsql.target_error = '{value}'")
    assert refused.value.sqlstate == "22023"


@pytest.mark.parametrize("seed", range(3))
def test_ends_of_means_are_in_the_range_to_the_last_digit(tmp_path: Path, seed: int) -> None:
    """7 of 10 is 0.7, and 0.7 less the distance to 0 was below it by a digit that doubles lack."""
    setup = [
        "CREATE TABLE person (id INTEGER PRIMARY KEY, g INTEGER, x DOUBLE)",
        f"INSERT INTO person SELECT i, i % 40, (i * {7 + seed}) % 10 / 10.0 FROM generate_series(1, 400) AS t(i)",
    ]
    tables = "  person: {columns: {id: {}, g: {range: [0, 39]}, x: {range: [0.125, 0.875]}}}\n"
    with case(tmp_path, setup, tables, epsilon=0.3, noise=True) as session:
        session.execute("SET dpsql.intervals = on")
        session.execute("SET dpsql.empty_groups = show")
        shown = "AVG(CASE WHEN x > 0.25 THEN 1 ELSE 0 END), AVG(x), VAR_POP(x)"
        for _, share, low, high, mean, least, most, spread, below, _ in session.execute(
            f"SELECT g, {shown} FROM person GROUP BY g"
        ).rows:
            assert share is None or 0 <= low <= share <= high <= 1  # type: ignore[operator]
            assert mean is None or 0.125 <= least <= mean <= most <= 0.875  # type: ignore[operator]
            assert spread is None or 0 <= below <= spread  # type: ignore[operator]
