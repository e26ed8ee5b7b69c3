"""The noise advisor: what it suggests is what comes out when it is done, and it knows nothing of rows."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from dpsql.interfaces.commands import demo_clinic as clinic
from dpsql.opened import engine_of
from dpsql.policy import Policy, Problem, problems
from dpsql.proxy import Proxy
from dpsql.reply import Better
from tests.price.test_series import BY_DAY, Clinic, window


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic")
    clinic.build(folder)
    return folder


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    shutil.copy(built / clinic.DATABASE, tmp_path)
    shutil.copy(built / clinic.POLICY, tmp_path / "policy.yaml")
    return tmp_path


@pytest.fixture
def proxy(folder: Path) -> Iterator[Proxy]:
    found = Proxy.open(folder / "policy.yaml")
    yield found
    found.close()


SUM = "SELECT reason, SUM(cost) AS s FROM visit GROUP BY reason"


def by_change(better: tuple[Better, ...]) -> dict[str, Better]:
    return {one.change: one for one in better}


def test_what_is_suggested_comes_out_when_it_is_done(folder: Path, proxy: Proxy) -> None:
    explained = proxy.session("ana").explain(SUM)
    told = by_change((*explained.better, *explained.to_weigh))
    policy = (folder / "policy.yaml").read_text()
    for change, old, new in (
        ("visit: max_rows: 12, not 24", "max_rows: 24", "max_rows: 12"),
        ("visit: max_rows_per_group: 2", "max_rows: 24", "max_rows: 24\n    max_rows_per_group: 2"),
        ("visit.cost: range: [0, 200], not [0, 400]", "cost: {range: [0, 400]}", "cost: {range: [0, 200]}"),
    ):
        (folder / "other.yaml").write_text(policy.replace(old, new))
        other = Proxy.open(folder / "other.yaml")
        assert other.session("ana").explain(SUM).expected == told[change].errors
        assert told[change].by_owner
        other.close()


def test_a_bound_that_other_keys_may_lose_by_is_no_advice(proxy: Proxy) -> None:
    """What it does to them follows from rows, which no explanation reads: the owner sees it in check --data."""
    for sql in (SUM, "SELECT DATE_TRUNC('month', day), COUNT(*) FROM visit GROUP BY 1"):
        told = proxy.session("ana").explain(sql)
        assert any(one.by_owner for one in told.better)
        assert not any("per_group" in one.change for one in told.better)
        assert [one.change for one in told.to_weigh] == ["visit: max_rows_per_group: 2"]
        (line,) = [line for line in str(told).splitlines() if "per_group" in line]
        assert line.startswith(
            "Note: whether visit: max_rows_per_group: 2 is worth it hangs on questions by other keys"
        )
        assert "per_group" not in told.json


def test_an_analyst_may_pay_more(proxy: Proxy) -> None:
    session = proxy.session("ana")
    dearer = by_change(session.explain(SUM).better)["SET dpsql.epsilon = 0.5"]
    before = session.explain(SUM).price
    session.execute("SET dpsql.epsilon = 0.5")
    after = session.explain(SUM)
    assert after.expected == dearer.errors
    assert after.price.rho == before.rho * dearer.price
    assert not dearer.by_owner
    session.execute("SET dpsql.epsilon = 1")
    assert not any(not one.by_owner for one in session.explain(SUM).better), "not above the owner's cap"


def test_nothing_is_suggested_where_it_is_free_or_makes_no_difference(proxy: Proxy) -> None:
    session = proxy.session("ana")
    assert not session.explain("SELECT name FROM region").better
    told = session.explain("SELECT COUNT(*) FROM patient").better
    assert [one.change for one in told] == ["SET dpsql.epsilon = 0.5"], "one row each: no bound of the owner matters"
    session.execute("SELECT COUNT(*) FROM patient")
    assert not session.explain("SELECT COUNT(*) FROM patient").better, "answered before"


def test_it_is_a_matter_of_text_and_policy(proxy: Proxy) -> None:
    """Whatever the database would answer, it is not asked."""
    engine = proxy.answering.opened.engine
    ran = []
    engine.run = lambda *how, **more: ran.append(how)  # type: ignore[method-assign, assignment]
    session = proxy.session("ana")
    for sql in (SUM, "SELECT MEDIAN(weight_kg) FROM patient", "SELECT AVG(cost), CORR(cost, cost) FROM visit"):
        assert session.explain(sql).better
    assert not ran


def test_explain_begins_with_what_one_gets(proxy: Proxy) -> None:
    lines = [row[0] for row in proxy.session("ana").execute(f"EXPLAIN {SUM}").rows]
    assert str(lines[0]).startswith("column")
    first = [str(line) for line in lines].index
    heads = [first(next(str(one) for one in lines if str(one).startswith(head))) for head in ("Price", "what", "Note")]
    assert heads == sorted(heads)
    assert heads[-1] < first("  Bounded SQL")


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT smoker, COUNT(*) FROM patient GROUP BY 1", "3 declared groups (NULL counted)"),
        ("SELECT smoker, COUNT(*) FROM patient WHERE smoker IS NOT NULL GROUP BY 1", "2 declared groups, "),
        ("SELECT sex, smoker, COUNT(*) FROM patient GROUP BY 1, 2", "6 declared groups (NULL of smoker counted)"),
        ("SELECT sex, COUNT(*) FROM patient GROUP BY 1", "2 declared groups, "),
    ],
)
def test_null_among_the_public_groups_is_told(proxy: Proxy, sql: str, told: str) -> None:
    lines = [str(row[0]) for row in proxy.session("ana").execute(f"EXPLAIN {sql}").rows]
    assert told in next(line for line in lines if line.startswith("Groups by"))


def test_long_statements_get_fewer_suggestions_and_are_remembered_fewer(proxy: Proxy) -> None:
    """Each suggestion is planned as the statement is, and what is planned takes memory by its length."""
    session = proxy.session("ana")
    tried = []
    planned = proxy.planned
    proxy.planned = lambda *how: tried.append(how) or planned(*how)  # type: ignore[func-returns-value, method-assign]
    condition = f"cost NOT IN ({', '.join(map(str, range(2_000)))})"
    assert [one.change for one in session.explain(f"{SUM.replace(' GROUP', f' WHERE {condition} GROUP')}").better] == [
        "SET dpsql.epsilon = 0.5"
    ]
    assert len(tried) == 1, "the statement itself"
    assert any(one.by_owner for one in session.explain(SUM).better)
    assert len(tried) > 4
    opened = proxy.answering.opened
    for number in range(60):
        session.explain(f"SELECT COUNT(*) FROM visit WHERE cost > {number} /* {' ' * 40_000} */")
    assert opened.memories.sizes["prepared statements"] < 30


MONTHS = "SELECT DATE_TRUNC('month', day) AS m, reason, COUNT(*) AS n, AVG(cost) AS a FROM visit GROUP BY 1, 2"


def test_coarser_groups_come_out_as_foretold(proxy: Proxy) -> None:
    session = proxy.session("ana")
    told = by_change(session.explain(MONTHS).better)
    coarser = told["GROUP BY DATE_TRUNC('QUARTER', day)"]
    assert session.explain(MONTHS.replace("month", "quarter")).expected == coarser.errors
    assert coarser.larger == 3
    assert coarser.less[2] == pytest.approx(2 / 3)
    fewer = told["GROUP BY without DATE_TRUNC('MONTH', day)"]
    alone = session.explain("SELECT reason, COUNT(*) AS n, AVG(cost) AS a FROM visit GROUP BY 1").expected
    assert fewer.errors == (None, *alone)
    assert fewer.larger == 12
    assert not coarser.by_owner
    assert not fewer.by_owner


@pytest.mark.parametrize(
    ("sql", "changes"),
    [
        ("SELECT day, COUNT(*) FROM visit GROUP BY day", ["GROUP BY DATE_TRUNC('WEEK', day)"]),
        ("SELECT birth_year, COUNT(*) FROM patient GROUP BY 1 ORDER BY 1", ["GROUP BY birth_year / 10"]),
        ("SELECT birth_year / 5 AS b, COUNT(*) FROM patient GROUP BY b", ["GROUP BY birth_year / 10"]),
        ("SELECT sex, COUNT(*) FROM patient GROUP BY ROLLUP (sex)", []),
        ("SELECT sex, smoker, COUNT(*) FROM patient GROUP BY 1, 2 LIMIT 3", []),
        ("SELECT COUNT(*) FROM visit", []),
    ],
)
def test_which_groups_are_coarser(proxy: Proxy, sql: str, changes: list[str]) -> None:
    better = proxy.session("ana").explain(sql).better
    assert [one.change for one in better if one.larger > 1] == changes


def test_what_a_bound_takes_away_is_its_part_of_the_noise(proxy: Proxy) -> None:
    told = by_change(
        proxy.session("ana").explain("SELECT reason, SUM(cost) AS s, COUNT(*) AS n FROM visit GROUP BY 1").better
    )
    of_range = told["visit.cost: range: [0, 200], not [0, 400]"]
    assert of_range.less[1] == pytest.approx(0.5, abs=0.1)
    assert of_range.less[2] == pytest.approx(0, abs=0.01)
    assert told["visit: max_rows: 12, not 24"].less[2] == pytest.approx(0.5, abs=0.01)


def test_a_range_about_zero_is_halved_about_zero(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "weights.duckdb")) as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, change DOUBLE)")
    (tmp_path / "weights.yaml").write_text("""
database: duckdb:weights.duckdb
ledger: sqlite:weights.ledger
privacy_unit: person.id
budget: {epsilon: 3, delta: 1e-6}
tables: {person: {columns: {id: {}, change: {range: [-30, 25]}}}}
""")
    weights = Proxy.open(tmp_path / "weights.yaml")
    told = by_change(weights.session().explain("SELECT AVG(change) AS c FROM person").better)
    weights.close()
    assert "person.change: range: [-15, 12.5], not [-30, 25]" in told


def test_a_key_is_suggested_where_nothing_says_that_a_person_has_one_row(folder: Path) -> None:
    with duckdb.connect(str(folder / "loose.duckdb")) as connection:
        connection.execute("CREATE TABLE person (id INTEGER, age INTEGER)")
    policy = """
database: duckdb:loose.duckdb
ledger: sqlite:loose.ledger
privacy_unit: person.id
budget: {epsilon: 3, delta: 1e-6}
tables:
  person: {max_rows: 4, columns: {id: {}, age: {range: [0, 100]}}}
"""
    sql = "SELECT SUM(age) AS s FROM person"
    (folder / "loose.yaml").write_text(policy)
    loose = Proxy.open(folder / "loose.yaml")
    told = by_change(loose.session().explain(sql).better)["person, if a person has one row alone: key: [id]"]
    loose.close()
    (folder / "loose.yaml").write_text(policy.replace("max_rows: 4", "max_rows: 4, key: [id]"))
    keyed = Proxy.open(folder / "loose.yaml")
    assert keyed.session().explain(sql).expected == told.errors
    keyed.close()
    assert told.less[0] is not None
    assert told.less[0] > 0.7


def test_a_bound_of_each_day_is_named_where_a_series_by_day_pays_for_a_month_a_day(tmp_path: Path) -> None:
    """What is suggested comes out when it is done; who has the bound already is not told of it."""
    asked, found = BY_DAY.format(window("02-08", "03-10")), []
    for most in ("10 per month", "10 per month, 2 per day"):
        (tmp_path / most).mkdir()
        with Clinic(tmp_path / most, most=most).session() as session:
            explained = session.explain(asked)
            found.append((explained.expected[1], explained.better))
    (before, changes), (after, others) = found
    told = by_change(changes)["visit: max_rows: 10 per month, 2 per day"]
    assert told.by_owner
    assert told.errors == (None, after)
    assert before is not None
    assert after is not None
    assert after * 4 < before
    assert not any("per day" in one.change for one in others)


def test_what_check_says_of_days_makes_the_error_of_days_fall(tmp_path: Path) -> None:
    """The bound is read off the finding, and declared; a table that is done has no finding."""
    found = problems_of(Clinic(tmp_path, most="10 per month"))
    (told,) = [one for one in found if one.path == "tables.visit.max_rows"]
    advised = re.search(r"in each day: (.+?) would be less noise", told.message)
    assert advised is not None
    errors = []
    for number, most in enumerate(("10 per month", advised[1])):
        (folder := tmp_path / str(number)).mkdir()
        with (changed := Clinic(folder, most=most)).session() as session:
            errors.append(session.explain(BY_DAY.format(window("02-08", "03-10"))).expected[1])
    assert errors[0] is not None
    assert errors[1] is not None
    assert errors[1] * 4 < errors[0]
    assert not [one for one in problems_of(changed) if one.path == "tables.visit.max_rows"]
    (folder := tmp_path / "open").mkdir()
    assert not [one for one in problems_of(Clinic(folder, most="10 per month", closed="")) if "per day" in one.message]


def test_check_says_that_a_time_may_be_null(tmp_path: Path) -> None:
    clinic = Clinic(tmp_path)
    assert not [one for one in problems_of(clinic) if one.path == "tables.visit.time"]
    path = tmp_path / "policy.yaml"
    text = (
        path.read_text()
        .replace("time: made", "time: late")
        .replace("late: {}", "late: {range: [2026-02-01, 2026-03-10]}")
    )
    path.write_text(text)
    (told,) = [one for one in problems_of(clinic) if one.path == "tables.visit.time"]
    assert "late may be NULL" in told.message
    assert told.severity == "info"


def problems_of(clinic: Clinic) -> list[Problem]:
    policy = Policy.load(clinic.folder / "policy.yaml")
    with closing(engine_of(policy)) as engine:
        return problems(policy, engine.schema())


@pytest.mark.parametrize(
    ("sql", "cut"),
    [
        ("SELECT COUNT(DISTINCT patient_id) FROM visit", False),
        (
            "SELECT sex, COUNT(DISTINCT patient_id) FROM visit JOIN patient ON patient.id = patient_id GROUP BY sex",
            False,
        ),
        ("SELECT COUNT(DISTINCT patient_id), COUNT(*) FROM visit", True),
        ("SELECT day, COUNT(DISTINCT patient_id) FROM visit GROUP BY day", True),
    ],
)
def test_what_counts_each_person_once_says_nothing_of_rows_that_are_cut_off(proxy: Proxy, sql: str, cut: bool) -> None:
    notices = proxy.session("ana").explain(sql).notices
    assert any("each person counts with at most" in one for one in notices) is cut
    assert ("error bars do not cover what such bounds cut off" in notices) is cut
