"""Budgets that renew: whatever is read or answered about new rows in a window is charged in that window."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpsql.accounting import PrivacyLoss
from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.errors import BudgetExceeded
from dpsql.mechanisms import AboveThreshold
from dpsql.mechanisms.sampling import ExactSampler, Sampler
from dpsql.opened import compared, load_policy, open_here
from dpsql.proxy import Proxy, Session
from dpsql.reply import Answer
from tests.new_databases import new_database

START = datetime.datetime(2026, 3, 10, 12, tzinfo=datetime.UTC)
DAY, HOUR = datetime.timedelta(days=1), datetime.timedelta(hours=1)
WATCHED = "SELECT COUNT(*) > 100000 FROM patient"


class Hands:
    """A clock that shows what it is told to show."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> datetime.datetime:
        return self.time


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    with new_database(tmp_path / "clinic.duckdb") as connection:
        connection.execute("CREATE TABLE patient (id INTEGER PRIMARY KEY, age INTEGER, weight DOUBLE, ill BOOLEAN)")
        connection.execute("INSERT INTO patient SELECT i, i % 90, 60 + i % 30, i % 3 = 0 FROM range(500) t(i)")
        connection.execute("CREATE TABLE visit (patient_id INTEGER NOT NULL, made TIMESTAMP NOT NULL)")
        connection.execute(
            "INSERT INTO visit SELECT i % 500, TIMESTAMP '2026-03-01 09:00' + to_days((i // 500)::INT)"
            " FROM range(500 * 15) t(i)"
        )
    path = tmp_path / "policy.yaml"
    path.write_text(
        """
database: duckdb:clinic.duckdb
ledger: sqlite:clinic.ledger
privacy_unit: patient.id
budget: {epsilon: 1, delta: 0, per: day}
statement: {epsilon: 0.5, max_epsilon: 1, bounds: 0.2}
refresh: 1 hour
tables:
  patient: {columns: {id: {}, age: {range: [0, 100]}, weight: {}, ill: {}}}
  visit:
    unit: patient_id -> patient.id
    time: made
    closed_after: 1 day
    max_rows: 2 per day
    columns: {patient_id: {}, made: {range: [2026-03-01, now]}}
"""
    )
    return path


def edited(policy: Path, *changes: tuple[str, str]) -> Path:
    text = policy.read_text()
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    policy.write_text(text)
    return policy


def opened(policy: Path, hands: Hands) -> Proxy:
    return Proxy(open_here(compared(load_policy(policy)), read=hands), ExactSampler())


def watch(proxy: Proxy, name: str = "w", analyst: str | None = None) -> Session:
    session = proxy.session(analyst)
    session.execute(f"SET dpsql.watch = '{name}'")
    return session


@pytest.fixture
def thresholds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The noisy thresholds that numbers were compared with, one for each answer."""
    seen: list[int] = []
    above = AboveThreshold.above

    def compared_with(self: AboveThreshold, integer: int, noisy: int, sampler: Sampler) -> bool:
        seen.append(id(noisy) if noisy < 1 << 40 else noisy)
        return above(self, integer, noisy, sampler)

    monkeypatch.setattr(AboveThreshold, "above", compared_with)
    return seen


@pytest.fixture
def numbered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Thresholds that nobody draws twice: so far above everything that each answer is FALSE."""
    drawn: list[int] = []

    def next_one(self: AboveThreshold, threshold: int, sampler: Sampler) -> int:
        drawn.append((1 << 60) + len(drawn))
        return drawn[-1]

    monkeypatch.setattr(AboveThreshold, "noisy", next_one)
    return drawn


# --- watches ---


def test_watches_of_many_days_are_paid_on_the_day_on_which_they_answer(
    policy: Path, hands: Hands, numbered: list[int], thresholds: list[int]
) -> None:
    """Twenty watches, one bought a day, and all of them asked on one later day, at each of its refreshes."""
    with closing(opened(policy, hands)) as proxy:
        watches = [watch(proxy, f"w{number}") for number in range(20)]
        for session in watches:
            session.execute(WATCHED)
            hands.time += DAY
        hands.time = datetime.datetime(2026, 5, 1, tzinfo=datetime.UTC)
        thresholds.clear()
        refused = 0
        for _ in range(24):
            for session in watches:
                try:
                    assert session.execute(WATCHED).rows == ((False,),)
                except BudgetExceeded:
                    refused += 1
            hands.time += HOUR
        hands.time -= HOUR
        (day,) = proxy.ledger.standings()
        # Each threshold that was asked costs its ε once, however often: two of them are a day's budget.
        assert len(thresholds) == 2 * 24
        assert len(set(thresholds)) * Fraction(3, 8) == day.spent.epsilon == Fraction(3, 4)
        assert refused == 18 * 24
        with pytest.raises(BudgetExceeded):
            proxy.session().execute("SELECT COUNT(*) FROM patient")
        hands.time += DAY
        assert watches[0].execute(WATCHED).price == PrivacyLoss(epsilon=Fraction(3, 8))


def test_no_threshold_answers_in_two_windows(
    policy: Path, hands: Hands, numbered: list[int], thresholds: list[int]
) -> None:
    """What was answered in one window tells something of its threshold: the next window's charge pays for a new one."""
    with closing(opened(policy, hands)) as proxy:
        session, by_day = watch(proxy), dict[datetime.date, set[int]]()
        for _ in range(60):
            thresholds.clear()
            session.execute(WATCHED)
            by_day.setdefault(hands.time.date(), set()).update(thresholds)
            hands.time += 5 * HOUR
        assert [len(one) for one in by_day.values()] == [1] * len(by_day)
        assert len(set().union(*by_day.values())) == len(by_day) == len(proxy.ledger.charges())


def test_an_answer_that_was_given_is_given_again_in_the_next_window(policy: Path, hands: Hands) -> None:
    """The period of a refresh goes on over the end of a window: the same answer tells nothing new."""
    edited(policy, ("refresh: 1 hour", "refresh: 1 day at 02:00"))
    with closing(opened(policy, hands)) as proxy:
        session = watch(proxy)
        first = session.execute(WATCHED)
        assert first.price
        assert first.notices[0] == (
            "watch w: as long as it is FALSE, asking again is free until 2026-03-11 00:00 UTC,"
            " when a window of the budget ends"
        )
        hands.time = START + 13 * HOUR
        again = session.execute(WATCHED)
        assert (again.rows, again.price) == (first.rows, PrivacyLoss())
        assert again.notices[0] == (
            "watch w: it was paid in a window of the budget that is over: who asks after the next refresh pays again"
        )
        hands.time = START + 15 * HOUR
        assert session.execute(WATCHED).price == first.price
        assert proxy.ledger.standings()[0].spent == first.price


SHARES = (
    "tables:",
    "analysts: {ana: {budget: {epsilon: 0.5, per: day}}, bob: {budget: {epsilon: 5}}, cyd: {}}\ntables:",
)


def test_a_watch_is_paid_in_each_window_of_the_share_of_who_asks(policy: Path, hands: Hands) -> None:
    edited(policy, ("budget: {epsilon: 1, delta: 0, per: day}", "budget: {epsilon: 9, delta: 0, per: month}"), SHARES)
    with closing(opened(policy, hands)) as proxy:
        ana, bob, cyd = (watch(proxy, "w", name) for name in ("ana", "bob", "cyd"))

        def paid(session: Session) -> Fraction:
            hands.time += HOUR
            return session.execute(WATCHED).price.epsilon

        each = Fraction(3, 8)
        assert [paid(one) for one in (ana, bob, cyd, ana)] == [each, 0, 0, 0]
        hands.time += DAY
        # The month goes on, and a day of ana's has begun.
        assert [paid(one) for one in (bob, cyd, ana, bob, ana)] == [0, 0, each, 0, 0]
        assert [one.spent.epsilon for one in proxy.ledger.standings("ana")] == [each]
        hands.time = START + 30 * DAY
        assert [paid(one) for one in (bob, ana, cyd)] == [each, 0, 0]
        month, *_ = proxy.ledger.standings()
        assert month.spent.epsilon == each


def test_a_watch_without_windows_is_paid_once(policy: Path, hands: Hands) -> None:
    edited(policy, (", per: day}", "}"))
    with closing(opened(policy, hands)) as proxy:
        paid = 0
        for _ in range(40):
            paid += bool(watch(proxy).execute(WATCHED).price)
            hands.time += 11 * HOUR
        assert paid == 1


# --- a window that ends between a charge and its read ---


def reads(monkeypatch: pytest.MonkeyPatch, told: Callable[[], None]) -> None:
    """Tell of each read of people's rows, right before it is made."""
    run, together = DuckDBEngine.run, DuckDBEngine.run_together

    def alone(self: DuckDBEngine, plan: Any, *arguments: Any) -> Any:
        if plan.statistics or plan.choices:
            told()
        return run(self, plan, *arguments)

    def several(self: DuckDBEngine, scan: Any, *arguments: Any) -> Any:
        told()
        return together(self, scan, *arguments)

    monkeypatch.setattr(DuckDBEngine, "run", alone)
    monkeypatch.setattr(DuckDBEngine, "run_together", several)


FORMS = {
    "count": "SELECT COUNT(*) FROM patient",
    "scans": "SELECT (SELECT COUNT(*) FROM patient), (SELECT COUNT(*) FROM visit WHERE made < '2026-03-05')",
    "stages": "SELECT COUNT(*) FROM patient WHERE age > (SELECT AVG(age) FROM patient)",
    "bounds": "SELECT SUM(weight) FROM patient",
    "steps": "SELECT LOGREGR(ill, ARRAY[1, age]) FROM patient",
    "series": "SELECT made::date, COUNT(*) FROM visit WHERE made < '2026-03-05' GROUP BY 1",
    "blocks": "SELECT dpsql.over_blocks(AVG(age), blocks => 20) FROM patient",
}


@pytest.fixture(params=list(FORMS))
def form(request: pytest.FixtureRequest) -> str:
    return FORMS[request.param]


@pytest.mark.spread
@pytest.mark.parametrize("hours", [0, 5, 13, 25])
def test_what_is_read_in_a_window_is_paid_in_it(
    policy: Path, hands: Hands, monkeypatch: pytest.MonkeyPatch, form: str, hours: int
) -> None:
    """Hours pass after each charge and each read: no read is in a window in which its statement was not charged, and
    each time with all of its price."""
    edited(policy, ("epsilon: 1, delta: 0", "epsilon: 1000, delta: 0"))
    with closing(opened(policy, hands)) as proxy:
        session, days = proxy.session(), list[datetime.date]()

        def read() -> None:
            days.append(hands.time.date())
            hands.time += hours * HOUR

        reads(monkeypatch, read)
        answer = session.execute(form)
        charged: dict[datetime.date, Fraction] = {}
        for one in proxy.ledger.charges():
            charged[one.time.date()] = charged.get(one.time.date(), Fraction(0)) + one.loss.epsilon
        assert days
        assert set(days) == set(charged)
        assert answer.price.epsilon == sum(charged.values())
        again = "a window of the budget ended before all was read: it is paid in the next one, too"
        if "(SELECT AVG" not in form:
            assert set(charged.values()) == {Fraction(1, 2)}
            assert (again in answer.notices) == (len(set(days)) > 1)


def test_a_statement_that_is_charged_at_midnight_is_paid_on_both_days(policy: Path, hands: Hands) -> None:
    with closing(opened(policy, hands)) as proxy:
        hands.time = datetime.datetime(2026, 3, 10, 23, 59, 59, tzinfo=datetime.UTC)
        _passes(proxy, hands, datetime.timedelta(seconds=2))
        answer = proxy.session().execute("SELECT COUNT(*) FROM patient")
        assert [charge.time.day for charge in proxy.ledger.charges()] == [11, 10]
        assert answer.price == PrivacyLoss(epsilon=Fraction(1))
        assert proxy.ledger.standings()[0].spent == PrivacyLoss(epsilon=Fraction(1, 2))


def test_a_watch_that_is_charged_at_midnight_is_paid_on_both_days(
    policy: Path, hands: Hands, numbered: list[int], thresholds: list[int]
) -> None:
    with closing(opened(policy, hands)) as proxy:
        hands.time = datetime.datetime(2026, 3, 10, 23, 59, 59, tzinfo=datetime.UTC)
        _passes(proxy, hands, datetime.timedelta(seconds=2))
        answer = watch(proxy).execute(WATCHED)
        assert [charge.time.day for charge in proxy.ledger.charges()] == [11, 10]
        assert answer.price == PrivacyLoss(epsilon=Fraction(3, 4))
        assert "a window of the budget ended before all was read: it is paid in the next one, too" in answer.notices
        assert thresholds == numbered[1:], "the first one answered nothing"


@pytest.mark.parametrize("watched", [False, True])
def test_what_does_not_fit_into_the_next_window_reads_nothing(
    policy: Path, hands: Hands, monkeypatch: pytest.MonkeyPatch, watched: bool
) -> None:
    """Another proxy, whose clock is ahead, has spent the next day's budget before the read begins."""
    there = Hands()
    with closing(opened(policy, hands)) as proxy, closing(opened(policy, there)) as other:
        there.time = hands.time + DAY
        session, elsewhere, read = (watch(proxy) if watched else proxy.session()), other.session(), list[int]()
        elsewhere.execute("SET dpsql.epsilon = 1")
        done: list[Answer] = []

        def charged(*_: object) -> None:
            if not done:
                done.append(elsewhere.execute("SELECT SUM(age) FROM patient"))

        proxy.ledger.on_charge = charged
        reads(monkeypatch, lambda: read.append(1))
        with pytest.raises(BudgetExceeded):
            session.execute(WATCHED if watched else "SELECT COUNT(*) FROM patient")
        assert done
        assert len(read) == 1, "the other one's"
        assert [charge.time.day for charge in proxy.ledger.charges()] == [11, 10]


def _passes(proxy: Proxy, hands: Hands, time: datetime.timedelta) -> None:
    """So much time passes while the first charge becomes durable."""

    def charged(*_: object) -> None:
        hands.time += time
        proxy.ledger.on_charge = None

    proxy.ledger.on_charge = charged


# --- everything else that answers about rows that grow ---


@pytest.fixture
def growing(policy: Path, hands: Hands) -> Iterator[Proxy]:
    edited(policy, ("epsilon: 1, delta: 0", "epsilon: 100, delta: 0"))
    with closing(opened(policy, hands)) as proxy:
        yield proxy


@pytest.mark.parametrize(
    "statements",
    [
        pytest.param(("SELECT SUM(weight) FROM patient", "SELECT AVG(weight) FROM patient"), id="learned bounds"),
        pytest.param(
            (FORMS["series"], FORMS["series"].replace("GROUP BY", "AND made > '2026-03-02' GROUP BY")), id="series"
        ),
        pytest.param(("SELECT COUNT(*) FROM visit WHERE made >= now() - INTERVAL '1 day'",), id="moving"),
        pytest.param(("SELECT ill, COUNT(*) FROM patient GROUP BY 1", "SELECT COUNT(*) FROM patient"), id="derived"),
        pytest.param(
            ("SELECT COUNT(*) FROM patient", "SET dpsql.epsilon = 0.9", "SELECT COUNT(*) FROM patient"), id="topped up"
        ),
        pytest.param((FORMS["stages"],), id="stages"),
        pytest.param((WATCHED,), id="watches"),
    ],
)
def test_nothing_is_read_in_a_window_that_is_not_charged_in_it(
    growing: Proxy, hands: Hands, monkeypatch: pytest.MonkeyPatch, statements: tuple[str, ...]
) -> None:
    """The same again for days: what is free was released before, and is read from the store alone."""
    read: list[int] = []
    reads(monkeypatch, lambda: read.append(1))
    for _ in range(30):
        session = watch(growing) if statements == (WATCHED,) else growing.session()
        for sql in statements:
            read.clear()
            day = growing.ledger.standings()[0].spent
            answer = session.execute(sql)
            assert growing.ledger.standings()[0].spent == day + answer.price
            if statements == (WATCHED,):
                assert growing.ledger.standings()[0].spent.epsilon == Fraction(3, 8)
            else:
                assert bool(answer.price) == bool(read), sql
            read.clear()
            assert not session.execute(sql).price
            assert not read
        hands.time += 7 * HOUR
