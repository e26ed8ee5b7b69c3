"""Groups of few people end to end: all are shown, none is too high, and what is left out is told."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pytest

from dpsql.proxy import Proxy, Session
from tests.policies import policy_text

DAYS, EACH = 365, 20
POLICY = policy_text("""
database: duckdb:visits.duckdb; ledger: sqlite:{accounting}.ledger; privacy_unit: visit.id
budget: {epsilon: 1000000, {delta}accounting: {accounting}}; statement: {epsilon: 0.1, max_epsilon: 10}
limits: {rows: 400}
tables:
  visit: id, day 2024-01-01..2024-12-30, late 2020-01-01..2027-12-31, zip [{zips}], sex [F, M]
""")
PER_DAY = "SELECT day, COUNT(*) AS n FROM visit GROUP BY day"
PER_LATE = "SELECT late, COUNT(*) AS n FROM visit GROUP BY late"

_TRIMMED = re.compile("at its ends are left out|at an end is left out")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 visits on each of 365 days; ``late`` declares years before and after that; 20 of 1,000 zips are lived in."""
    found = tmp_path_factory.mktemp("visits")
    with duckdb.connect(str(found / "visits.duckdb")) as connection:
        connection.execute("CREATE TABLE visit (id INTEGER PRIMARY KEY, day DATE NOT NULL, late DATE NOT NULL,"
                           " zip TEXT NOT NULL, sex TEXT NOT NULL)")  # fmt: skip
        connection.execute(f"""
            INSERT INTO visit SELECT i, DATE '2024-01-01' + (i // {EACH})::INTEGER,
                DATE '2024-01-01' + (i // {EACH})::INTEGER, 'z' || (i % 20), CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END
            FROM range({DAYS * EACH}) AS t(i)""")
    return found


@pytest.fixture(scope="module", params=["zcdp", "pure"])
def visits(request: pytest.FixtureRequest, folder: Path) -> Iterator[Session]:
    delta = "" if request.param == "pure" else "delta: 1e-6, "
    zips = ", ".join(f"z{number}" for number in range(1_000))
    path = folder / f"{request.param}.yaml"
    path.write_text(POLICY.format(accounting=request.param, delta=delta, zips=zips))
    proxy = Proxy.open(path)
    session = proxy.session()
    session.execute("SET dpsql.reuse = off")
    session.execute("SET dpsql.intervals = on")
    yield session
    proxy.close()


def test_each_of_many_small_groups_is_shown_and_none_is_too_high(visits: Session) -> None:
    """Numbers below 0 are shown as 0 otherwise, which moves the mean by itself; here none is moved."""
    errors: list[float] = []
    held = shown = 0
    for _ in range(8):
        visits.execute("SET dpsql.consistent = off")
        rows = visits.execute(PER_DAY).rows
        visits.execute("RESET dpsql.consistent")
        assert len(rows) >= 0.94 * DAYS
        shown += len(rows)
        held += sum(low <= EACH <= high for _, _, low, high in rows)  # type: ignore[operator]
        errors += [float(str(n)) - EACH for _, n, *_ in rows]
    assert held / shown >= 0.93
    # Three standard errors: two would fail one run in twenty.
    assert abs(float(np.mean(errors))) <= 3 * float(np.std(errors)) / len(errors) ** 0.5


def test_empty_ends_are_left_out_and_told(visits: Session) -> None:
    """2,922 declared days, of which 365 have people. A block far away speaks by chance in one of a hundred answers."""
    answer = sorted((visits.execute(PER_LATE) for _ in range(3)), key=lambda one: len(one.rows))[1]
    days = [str(row[0]) for row in answer.rows]
    assert sum("2024-01-01" <= day <= "2024-12-30" for day in days) >= 0.9 * DAYS
    assert len(days) <= 1.3 * DAYS
    (note,) = (one for one in answer.notices if _TRIMMED.search(one))
    (count,) = re.findall(r"([\d,]+) values", note)
    assert int(count.replace(",", "")) == 2_922 - len(days)
    left_out = DAYS * EACH - EACH * sum("2024-01-01" <= day <= "2024-12-30" for day in days)
    measured, most = re.search(r"([\d,]+) ± ([\d,]+) rows", note), re.search(r"between 0 and ([\d,]+) rows", note)
    if measured is not None:
        total, bar = (int(one.replace(",", "")) for one in measured.groups())
        assert abs(total - left_out) <= 2 * bar
    else:  # nobody may be there
        assert most is not None
        assert left_out <= 2 * int(most[1].replace(",", ""))


@pytest.mark.spread
@pytest.mark.parametrize(
    ("form", "months", "all_months"),
    [("YYYY-MM", 12, 96), ('IYYY-"W"IW', 53, 418), ("MM/YYYY", 12, 96)],
)
def test_ends_of_texts_of_times_are_left_out(visits: Session, form: str, months: int, all_months: int) -> None:
    """Months as texts have the neighbours that months have, whatever order their texts sort in.

    A block far away speaks by chance in one of a hundred answers: the middle one of three is looked at.
    """
    sql = f"SELECT TO_CHAR(late, '{form}') AS m, COUNT(*) AS n FROM visit GROUP BY 1 ORDER BY 1"
    answer = sorted((visits.execute(sql) for _ in range(3)), key=lambda one: len(one.rows))[1]
    texts = [row[0] for row in answer.rows]
    assert months - 1 <= len(texts) <= min(months + 12, all_months)
    assert any(map(_TRIMMED.search, answer.notices)) == (len(texts) < all_months)


_RUNNING = "SUM({n}) OVER (ORDER BY {day})"
_MOVING = "AVG({n}) OVER (ORDER BY {day} ROWS BETWEEN 6 PRECEDING AND CURRENT ROW)"


@pytest.mark.spread
@pytest.mark.parametrize("window", [_RUNNING, _MOVING])
@pytest.mark.parametrize("above", [False, True])
def test_the_latest_beside_running_sums_is_a_day_in_which_somebody_is(
    visits: Session, window: str, above: bool
) -> None:
    """It was the last declared day, three years after the last visit. A block far away speaks by chance in one of a
    hundred answers: the middle one of three is looked at. Sums are those of all days all the same."""
    written = window.format(n="n", day="late") if above else window.format(n="COUNT(*)", day="late")
    sql = f"SELECT late, {written} AS r FROM visit GROUP BY late ORDER BY late DESC LIMIT 1"
    if above:
        sql = f"WITH daily AS ({PER_LATE}) SELECT late, {written} AS r FROM daily ORDER BY late DESC LIMIT 1"
    rows = sorted(visits.execute(sql).rows[0] for _ in range(3))
    latest, total, low, high = rows[1]
    assert abs((latest - datetime.date(2024, 12, 30)).days) <= 40  # type: ignore[operator]
    if window is _RUNNING:
        assert low <= DAYS * EACH <= high or abs(float(str(total)) - DAYS * EACH) <= 200  # type: ignore[operator]
    assert "dpsql_shown" in visits.explain(sql).outer_sql


def test_days_beside_running_sums_end_where_the_data_do(visits: Session) -> None:
    sql = "SELECT late, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY late) AS r FROM visit GROUP BY late ORDER BY late"
    answer = sorted((visits.execute(sql) for _ in range(3)), key=lambda one: len(one.rows))[1]
    assert 0.9 * DAYS <= len(answer.rows) <= 1.3 * DAYS
    assert any(_TRIMMED.search(note) for note in answer.notices)
    assert not any("windows have a row for each group" in note for note in answer.notices)
    try:
        visits.execute("SET dpsql.empty_groups = show")
        answer = visits.execute(sql)
        assert len(answer.rows) == 2_922
        assert any("windows have a row for each group" in note for note in answer.notices)
    finally:
        visits.execute("RESET dpsql.empty_groups")


def test_sessions_may_ask_for_all_groups_or_for_none_without_rows(visits: Session) -> None:
    try:
        visits.execute("SET dpsql.empty_groups = show")
        assert len(visits.execute(PER_LATE).rows) == 2_922
        visits.execute("SET dpsql.empty_groups = hide")
        assert len(visits.execute(PER_LATE).rows) < 200
    finally:
        visits.execute("RESET dpsql.empty_groups")


def test_explain_does_not_say_both_that_groups_are_shown_and_left_out(visits: Session) -> None:
    cut, whole = (visits.explain(sql) for sql in (PER_LATE, "SELECT sex, COUNT(*) FROM visit GROUP BY sex"))
    assert "shown whether or not anybody is in them" not in str(cut)
    assert any("are left out" in note for note in cut.notices)
    assert "shown whether or not anybody is in them" in str(whole)
    assert not any("are left out" in note for note in whole.notices)


def test_a_select_above_small_groups_reads_all_of_them(visits: Session) -> None:
    """Averages over days are those of all days, not of the days whose noise was high."""
    for _ in range(3):
        mean = visits.execute(f"SELECT AVG(n) FROM ({PER_DAY}) AS t").rows[0][0]
        assert abs(float(str(mean)) - EACH) <= 8
        first = visits.execute(f"SELECT day, n FROM ({PER_DAY}) AS t ORDER BY day LIMIT 30")
        assert len(first.rows) == 30


def test_of_a_list_longer_than_an_answer_those_are_shown_that_surely_have_people(visits: Session) -> None:
    """20 of 1,000 zips have 365 people each; an answer shows 400 groups."""
    answer = visits.execute("SELECT zip, COUNT(*) AS n FROM visit GROUP BY zip")
    names = {row[0] for row in answer.rows}
    assert {f"z{number}" for number in range(20)} <= names
    assert len(names) <= 26
    assert any(re.match(r"9[78]\d of 1,000 values of zip are left out", note) for note in answer.notices)


def test_a_short_list_is_shown_whole_and_buys_no_number_of_rows(visits: Session) -> None:
    answer = visits.execute("SELECT sex, COUNT(DISTINCT zip) FROM visit WHERE zip = 'z999' GROUP BY sex")
    assert [row[0] for row in answer.rows] == ["F", "M"]
    assert not any("measured too" in note or "left out" in note for note in answer.notices)


@pytest.mark.parametrize("where", ["", " WHERE seen IS NOT NULL", " WHERE seen > DATE '2024-03-01'"])
def test_a_row_of_null_of_times_is_told_where_there_may_be_one(tmp_path: Path, where: str) -> None:
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as connection:
        connection.execute("CREATE TABLE visit (id INTEGER PRIMARY KEY, seen DATE)")
        connection.execute(
            "INSERT INTO visit SELECT i, CASE WHEN i % 4 > 0 THEN DATE '2024-01-01' + (i % 360)::INTEGER END"
            " FROM range(4000) AS t(i)"
        )
    (tmp_path / "policy.yaml").write_text(
        "database: duckdb:visits.duckdb\nledger: sqlite:ledger\nprivacy_unit: visit.id\n"
        "budget: {epsilon: 100, delta: 1e-6}\n"
        "tables: {visit: {columns: {id: {}, seen: {range: [2024-01-01, 2024-12-31]}}}}\n"
    )
    proxy = Proxy.open(tmp_path / "policy.yaml")
    answer = proxy.session().execute(f"SELECT DATE_TRUNC('month', seen), COUNT(*) FROM visit{where} GROUP BY 1")
    proxy.close()
    said = [
        one for one in answer.notices if "NULL of DATE_TRUNC('MONTH', seen) is shown only if its noisy number" in one
    ]
    assert bool(said) == (not where) == any(key is None for key, _ in answer.rows)
