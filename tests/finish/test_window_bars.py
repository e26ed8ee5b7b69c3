"""Bars of windows over groups hold as often as they say, also beside groups that nobody is in, and at trimmed ends."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

import pytest

from dpsql.mechanisms.sampling.sampler import ExactSampler
from dpsql.prepare import Prepared
from dpsql.proxy import Proxy, Session
from rewriter.front_door import Affine, Other, Quotient
from tests.finish.test_intervals_coverage import Repeated
from tests.new_databases import new_database
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:clinic.duckdb; ledger: sqlite:clinic.ledger; privacy_unit: patient.id
budget: {epsilon: 1000000, delta: 1e-6, accounting: zcdp}; statement: {epsilon: 0.1, max_epsilon: 10}
tables:
  patient: id, day 2026-01-01..2026-01-24, weight 0..200
""")
FIRST, DAYS, EACH, WEIGHT = datetime.date(2026, 1, 1), 24, 20, 70.0
COUNTS = [EACH if 8 <= day < 16 else 0 for day in range(DAYS)]
BY_DAY = "FROM patient GROUP BY day ORDER BY day"
WEEK = "OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW)"
WHOLE = "OVER (ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("clinic")
    with new_database(folder / "clinic.duckdb") as connection:
        connection.execute("CREATE TABLE patient (id INT PRIMARY KEY, day DATE NOT NULL, weight DOUBLE NOT NULL)")
        connection.execute(
            f"INSERT INTO patient SELECT i, DATE '{FIRST}' + (8 + i // {EACH})::INT, {WEIGHT} FROM range({8 * EACH}) t(i)"
        )
    (folder / "policy.yaml").write_text(POLICY)
    proxy = Proxy.open(folder / "policy.yaml")
    yield proxy.session()
    proxy.close()


def weeks(values: Sequence[float]) -> list[float]:
    return [sum(values[max(0, at - 6) : at + 1]) for at in range(len(values))]


def held(session: Session, sql: str, truth: Sequence[float] | None, times: int) -> list[bool]:
    """Whether each interval holds its truth, or what each row's window has of the people of shown days."""
    repeated, sampler = Repeated(session, sql, "0.25"), ExactSampler()
    found: list[bool] = []
    for _ in range(times):
        rows = repeated.answer(sampler).rows
        days = [(row[0] - FIRST).days for row in rows]  # type: ignore[operator]
        for at, (_, value, low, high) in enumerate(rows):
            if value is None:
                continue
            assert low is not None
            assert high is not None
            if truth is None:
                expected = float(COUNTS[days[at]] - COUNTS[days[at - 1]])
            elif days[at] in range(8, 16):
                expected = truth[days[at]]
            else:
                continue
            found.append(float(str(low)) - 1e-6 <= expected <= float(str(high)) + 1e-6)
    return found


@pytest.mark.parametrize(
    ("asked", "truth"),
    [
        (f"AVG(COUNT(*)) {WEEK}", [one / min(at + 1, 7) for at, one in enumerate(weeks(COUNTS))]),
        (f"1 - 3.0 * AVG(COUNT(*)) {WEEK}", [1 - 3 * one / min(at + 1, 7) for at, one in enumerate(weeks(COUNTS))]),
        (f"SUM(SUM(weight)) {WEEK}", [WEIGHT * one for one in weeks(COUNTS)]),
        ("SUM(SUM(weight)) OVER (ORDER BY day)", [WEIGHT * sum(COUNTS[: at + 1]) for at in range(DAYS)]),
    ],
)
def test_windows_that_step_from_nobody_into_people(session: Session, asked: str, truth: list[float]) -> None:
    """Around sums of shown groups, bars of moving averages hold 91 in 100."""
    cells = held(session, f"SELECT day, {asked} AS v {BY_DAY}", truth, 240)
    assert len(cells) > 240 * 6
    assert sum(cells) / len(cells) >= 0.93


def test_changes_from_day_to_day(session: Session) -> None:
    asked = "COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY day)"
    cells = held(session, f"SELECT day, {asked} AS v {BY_DAY}", None, 120)
    assert len(cells) > 120 * 5
    assert sum(cells) / len(cells) >= 0.92


def test_the_last_group_that_is_shown(session: Session) -> None:
    """A day after the last is shown only if its number of rows came out high, and its sum with it."""
    repeated, sampler = Repeated(session, f"SELECT day, SUM(weight), COUNT(*) {BY_DAY}", "0.25"), ExactSampler()
    cells = []
    for _ in range(300):
        *_, (day, _, low, high, *_) = repeated.answer(sampler).rows
        truth = WEIGHT * COUNTS[(day - FIRST).days]  # type: ignore[operator]
        cells.append(float(str(low)) <= truth <= float(str(high)))
    assert sum(cells) / len(cells) >= 0.95


GROUPS = "(SELECT day, COUNT(*) AS n, SUM(weight) AS s FROM patient GROUP BY day) AS g"
LAG = "LAG(n) OVER (ORDER BY day)"


@pytest.mark.parametrize(
    ("asked", "form"),
    [
        (LAG, Affine),
        (f"n - {LAG}", Affine),
        (f"n * 1.0 / {LAG}", Quotient),
        ("LEAD(s, 2) OVER w", Affine),
        (f"NTH_VALUE(n, 2) {WHOLE}", Affine),
        (f"n - FIRST_VALUE(n) {WHOLE}", Affine),
        (f"COALESCE({LAG}, 0)", Other),
        ("LAG(n, 1, 0) OVER (ORDER BY day)", Other),
        ("FIRST_VALUE(n) OVER (ORDER BY n DESC)", Other),
        ("LAG(n) OVER (ORDER BY s)", Other),
    ],
)
def test_rows_that_a_window_picks_are_followed(session: Session, asked: str, form: type) -> None:
    """Where noise picks the row, or a number is of no row, the bar comes from replicates."""
    window = " WINDOW w AS (ORDER BY day)" if " w" in asked else ""
    prepared = session._proxy.prepare(f"SELECT day, {asked} AS v FROM {GROUPS}{window} ORDER BY day", ())
    assert isinstance(prepared, Prepared)
    assert isinstance(prepared.outer.measured[1].form, form)


def test_rows_of_compared_numbers_are_not_followed(session: Session) -> None:
    prepared = session._proxy.prepare(f"SELECT day, {LAG} AS v FROM {GROUPS} WHERE n > 5 ORDER BY day", ())
    assert isinstance(prepared, Prepared)
    assert isinstance(prepared.outer.measured[1].form, Other)


def test_a_number_less_itself_is_exact(session: Session) -> None:
    """The last day's row is picked by its own row, too."""
    session.execute("SET dpsql.intervals = on")
    asked = f"SELECT day, COUNT(*) - LAST_VALUE(COUNT(*)) {WHOLE} AS v {BY_DAY}"
    *rest, (_, value, low, high) = session.execute(asked).rows
    assert (value, low, high) == (0, 0, 0)
    assert all(row[3] > row[2] for row in rest)  # type: ignore[operator]
