"""Watches: paid once, FALSE for free, the first TRUE ends them, whatever proxies, crashes and races do."""

from __future__ import annotations

import datetime
import math
import shutil
import sqlite3
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import psycopg
import pytest

from dpsql.accounting import ORDERS, RDP, ZCDP, Accounting
from dpsql.accounting.curves import line
from dpsql.errors import Error
from dpsql.ledger.watch_states import FileStates, ServerStates, WatchState, WatchStates
from dpsql.mechanisms import AboveThreshold
from dpsql.mechanisms.sampling import ExactSampler, Sampler
from dpsql.opened import compared, load_policy, open_here
from dpsql.postgresql.binaries import find_binaries
from dpsql.proxy import Proxy, Session
from tests.doubles import NoNoise
from tests.engines.postgres_server import Server
from tests.ledger.test_postgres_ledger import durable_server

START = datetime.datetime(2026, 3, 10, 12, tzinfo=datetime.UTC)
FEW, MANY = "SELECT COUNT(*) > 900 FROM patient", "SELECT COUNT(*) > 100 AS many FROM patient"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE patient (id INTEGER PRIMARY KEY, age INTEGER)")
        connection.execute("INSERT INTO patient SELECT i, i % 90 FROM range(500) t(i)")
    path = tmp_path / "policy.yaml"
    path.write_text(
        """
database: duckdb:clinic.duckdb
ledger: sqlite:clinic.ledger
privacy_unit: patient.id
budget: {epsilon: 10, delta: 1e-6}
statement: {epsilon: 0.5}
refresh: 1 hour
tables: {patient: {columns: {id: {}, age: {range: [0, 100]}}}}
"""
    )
    return path


@pytest.fixture
def hands() -> list[datetime.datetime]:
    return [START]


def opened(policy: Path, hands: list[datetime.datetime], sampler: Sampler | None = None) -> Proxy:
    return Proxy(open_here(compared(load_policy(policy)), read=lambda: hands[0]), sampler or ExactSampler())


@pytest.fixture
def proxy(policy: Path, hands: list[datetime.datetime]) -> Iterator[Proxy]:
    with closing(opened(policy, hands)) as found:
        yield found


def watch(proxy: Proxy, name: str = "w") -> Session:
    session = proxy.session()
    session.execute(f"SET dpsql.watch = '{name}'")
    return session


def told(session: Session, sql: str) -> tuple[object, bool]:
    answer = session.execute(sql)
    ((value,),) = answer.rows
    return value, bool(answer.price)


def test_false_is_free_for_years(proxy: Proxy, hands: list[datetime.datetime]) -> None:
    session = watch(proxy)
    answers = []
    for _ in range(200):
        answers.append(told(session, FEW))
        assert told(session, FEW) == (False, False)
        hands[0] += datetime.timedelta(hours=37)
    assert answers == [(False, True)] + [(False, False)] * 199
    assert len(proxy.ledger.charges()) == 1
    assert session.execute(MANY).columns[0].name == "many"


def test_the_first_true_ends_it(proxy: Proxy, hands: list[datetime.datetime]) -> None:
    session = watch(proxy)
    assert told(session, MANY) == (True, True)
    assert told(watch(proxy), MANY) == (True, False), "it stands for its period, for everybody"
    hands[0] += datetime.timedelta(hours=1)
    assert told(session, MANY) == (True, True)
    assert len(proxy.ledger.charges()) == 2


def test_an_alarm_that_lasts_is_paid_once_in_each_interval(proxy: Proxy, hands: list[datetime.datetime]) -> None:
    """Hourly refreshes from noon to the noon after the next, told once a day; a FALSE is looked at each hour."""
    session = watch(proxy)
    session.execute("SET dpsql.watch_every = '1 day'")
    paid = []
    for hour in range(48):
        value, bought = told(session, MANY)
        assert value is True
        paid += [hour] if bought else []
        assert told(session, FEW)[0] is False
        hands[0] += datetime.timedelta(hours=1)
    assert paid == [0, 12, 36]
    assert len(proxy.ledger.charges()) == 4
    other = watch(proxy)
    assert told(other, MANY) == (True, True), "who wants to be told at each refresh has a watch of their own"
    hands[0] += datetime.timedelta(hours=1)
    assert told(other, MANY) == (True, True)
    assert "is said to be so until 2026-03-13 00:00 UTC" in session.execute(MANY).notices[0]


def daily(policy: Path, budget: str, more: str = "") -> Path:
    policy.write_text(policy.read_text().replace("budget: {epsilon: 10, delta: 1e-6}", f"budget: {budget}") + more)
    return policy


@pytest.mark.quick
def test_a_watch_is_paid_in_each_window_in_which_it_answers(policy: Path, hands: list[datetime.datetime]) -> None:
    """Bought one a day, and all of them asked on a later day: that day's answers are paid out of that day's budget."""
    daily(policy, "{epsilon: 3, delta: 0, per: day}")
    with closing(opened(policy, hands)) as proxy:
        for number in range(9):
            assert told(watch(proxy, str(number)), FEW) == (False, True)
            assert told(watch(proxy, str(number)), FEW) == (False, False)
            hands[0] += datetime.timedelta(days=1)
        answered = 0
        for number in range(9):
            try:
                assert told(watch(proxy, str(number)), FEW) == (False, True)
                answered += 1
            except Error as error:
                assert error.sqlstate == "53400"
        assert answered == 8, "no day has more than its ε"
        days = Counter(charge.time.date() for charge in proxy.ledger.charges())
        assert days[hands[0].date()] == 8


@pytest.mark.parametrize("budget", ["{epsilon: 10, delta: 0}", "{epsilon: 10, delta: 0, per: month}"])
def test_a_watch_is_paid_in_each_window_of_a_share(policy: Path, hands: list[datetime.datetime], budget: str) -> None:
    daily(policy, budget, "analysts: {ana: {budget: {epsilon: 1, per: day}}, bob: {}}\n")
    with closing(opened(policy, hands)) as proxy:
        for _ in range(3):
            session = proxy.session("ana")
            session.execute("SET dpsql.watch = 'w'")
            assert told(session, FEW) == (False, True)
            assert told(session, FEW) == (False, False)
            hands[0] += datetime.timedelta(days=1)
        assert len(proxy.ledger.charges()) == 3


def test_a_restored_ledger_does_not_revive_a_watch(policy: Path, hands: list[datetime.datetime]) -> None:
    """Its secret threshold has answered since: a second TRUE by the same one would be for nothing."""
    with closing(opened(policy, hands, NoNoise())) as proxy:
        assert told(watch(proxy), FEW) == (False, True)
        place = Path(proxy.ledger.place)
    before = place.read_bytes()
    with duckdb.connect(str(policy.parent / "clinic.duckdb")) as connection:
        connection.execute("INSERT INTO patient SELECT i, 1 FROM range(500, 1500) t(i)")
    hands[0] += datetime.timedelta(hours=1)
    with closing(opened(policy, hands, NoNoise())) as proxy:
        assert told(watch(proxy), FEW) == (True, False)
    for _ in range(3):
        place.write_bytes(before)
        hands[0] += datetime.timedelta(hours=1)
        with closing(opened(policy, hands, NoNoise())) as proxy:
            assert told(watch(proxy), FEW) == (True, True)


def test_a_threshold_is_drawn_once(proxy: Proxy, hands: list[datetime.datetime]) -> None:
    session = watch(proxy)
    session.execute(FEW)
    seen = set()
    for _ in range(20):
        with closing(opened(proxy.policy.path or Path(), hands)) as another:
            hands[0] += datetime.timedelta(hours=1)
            told(watch(another), FEW)
        seen.add(_states(proxy)[0].threshold)
    assert len(seen) == 1
    assert _states(proxy)[0].asked == 21


def test_the_threshold_that_is_kept_is_the_one_that_answers(proxy: Proxy, hands: list[datetime.datetime]) -> None:
    """Moved so far up that no fresh one could say FALSE of this number."""
    session = watch(proxy)
    told(session, MANY)
    hands[0] += datetime.timedelta(hours=1)
    proxy.ledger.watches = _Raised(proxy.ledger.watches)
    assert told(session, MANY) == (False, True)
    hands[0] += datetime.timedelta(hours=1)
    assert told(session, MANY) == (False, False)


class _Raised:
    """States whose thresholds come to be far above what was drawn."""

    def __init__(self, states: WatchStates) -> None:
        self._states = states

    def read(self, key: str) -> WatchState | None:
        return self._states.read(key)

    def change(self, key: str, before: WatchState | None, after: WatchState) -> bool:
        raised = replace(after, threshold=10**9) if after.answer is None else after
        done = self._states.change(key, before, raised)
        if done and raised is not after:
            object.__setattr__(after, "threshold", 10**9)
        return done


def _states(proxy: Proxy) -> list[WatchState]:
    return [state for key in _keys(proxy) if (state := proxy.ledger.watches.read(key)) is not None]


def _keys(proxy: Proxy) -> list[str]:
    with closing(sqlite3.connect(proxy.ledger.place)) as reader:
        return [row[0] for row in reader.execute("SELECT key FROM watch")]


def test_another_name_comparison_or_price_is_another_watch(proxy: Proxy) -> None:
    assert told(watch(proxy), FEW)[1]
    assert told(watch(proxy, "another"), FEW)[1]
    assert told(watch(proxy), "SELECT COUNT(*) > 901 FROM patient")[1]
    cheaper = watch(proxy)
    cheaper.execute("SET dpsql.epsilon = 0.4")
    assert told(cheaper, FEW)[1]
    assert not told(watch(proxy), "SELECT 900 < COUNT(*) FROM patient")[1]


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """A visit of each of 500 people every other day of March."""
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as connection:
        connection.execute("CREATE TABLE patient (id INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO patient SELECT i FROM range(500) t(i)")
        connection.execute("CREATE TABLE visit (patient_id INTEGER NOT NULL, made TIMESTAMP NOT NULL)")
        connection.execute(
            "INSERT INTO visit SELECT i % 500, TIMESTAMP '2026-03-01 09:00' + to_days((2 * (i // 500))::INT)"
            " FROM range(500 * 15) t(i)"
        )
    path = tmp_path / "policy.yaml"
    path.write_text(
        """
database: duckdb:visits.duckdb
ledger: sqlite:visits.ledger
privacy_unit: patient.id
budget: {epsilon: 10, delta: 1e-6}
statement: {epsilon: 0.5}
refresh: 1 hour
tables:
  patient: {columns: {id: {}}}
  visit:
    unit: patient_id -> patient.id
    time: made
    max_rows: 20 per month
    columns: {patient_id: {}, made: {range: [2026-01-01, now]}}
"""
    )
    return path


WINDOWS = (
    "SELECT COUNT(*) > {} FROM visit WHERE made >= now() - INTERVAL '1 day' AND made < now()",
    "SELECT COUNT(*) > {} FROM visit WHERE made >= CURRENT_DATE - 1 AND made < CURRENT_DATE",
    "SELECT COUNT(*) > {} FROM visit WHERE made BETWEEN '{:%Y-%m-%dT%H:%M:%SZ}' AND '{:%Y-%m-%dT%H:%M:%SZ}'",
)


@pytest.mark.parametrize("sql", WINDOWS)
def test_a_window_that_moves_is_one_watch(visits: Path, hands: list[datetime.datetime], sql: str) -> None:
    """Each window is asked of itself: no answer is that of another one. The times of a dashboard are in its text."""
    with closing(opened(visits, hands, NoNoise())) as proxy:
        session, answers, paid = watch(proxy), [], 0
        for day in range(4, 12):
            hands[0] = START.replace(day=day)
            found = told(session, sql.format(600, hands[0] - datetime.timedelta(days=1), hands[0]))
            answers.append(found[0])
            paid += found[1]
        assert answers == [False] * 8
        assert paid == len(proxy.ledger.charges()) == 1
        hands[0] = START.replace(day=12)
        tuesday = told(session, sql.format(400, hands[0] - datetime.timedelta(days=1), hands[0]))
        hands[0] = START.replace(day=13)
        assert {told(session, sql.format(400, hands[0] - datetime.timedelta(days=1), hands[0]))[0], tuesday[0]} == {
            True,
            False,
        }


def test_no_answer_is_that_of_another_window(visits: Path, hands: list[datetime.datetime]) -> None:
    """The table has no refresh: the window alone says what is asked. Nobody comes on the even days of March."""
    visits.write_text(visits.read_text().replace("refresh: 1 hour\n", ""))
    with closing(opened(visits, hands, NoNoise())) as proxy:
        session, hands[0] = watch(proxy), START.replace(month=4)
        window = "SELECT COUNT(*) > 400 FROM visit WHERE made >= '2026-03-{:02}' AND made < '2026-03-{:02}'"
        assert [told(session, window.format(day, day + 1)) for day in (4, 6, 4, 5)] == [
            (False, True), (False, False), (False, False), (True, False)
        ]  # fmt: skip


def test_a_window_that_touches_more_is_another_watch(visits: Path, hands: list[datetime.datetime]) -> None:
    with closing(opened(visits, hands)) as proxy:
        session = watch(proxy)
        paid = []
        for month, day in ((3, 1), (3, 2), (3, 9), (4, 1)):
            # A day touches one month, where a person has 20 rows; the first of March and the last of February, 40.
            hands[0] = START.replace(month=month, day=day)
            paid.append(told(session, WINDOWS[2].format(100_000, hands[0] - datetime.timedelta(days=1), hands[0]))[1])
        assert paid == [True, True, False, False]


@pytest.mark.parametrize("accounting", ["zcdp", "pure", "approx"])
def test_the_price_is_below_that_of_a_statement(policy: Path, hands: list[datetime.datetime], accounting: str) -> None:
    """At ε = 1/2, of a count: ρ = ε²/8, or three quarters of ε."""
    delta = "0" if accounting == "pure" else "1e-6"
    policy.write_text(policy.read_text().replace("delta: 1e-6", f"delta: {delta}, accounting: {accounting}"))
    with closing(opened(policy, hands)) as proxy:
        answer = watch(proxy).execute(FEW)
        (charge,) = proxy.ledger.charges()
        assert charge.loss == answer.price
        assert (charge.loss.rho, charge.loss.epsilon) in {(Fraction(1, 32), 0), (0, Fraction(3, 8))}
        assert bool(charge.loss.rho) is (accounting == "zcdp")


SHARED = """
tables:
  customer: {columns: {id: {}}}
  sale:
    unit: buyer -> customer.id
    max_rows: 1
    columns: {ticket: {}, buyer: {}, price: {range: [0, 100]}, gain: {range: [-5, 100]}}
  refund: {unit: who -> customer.id, max_rows: 1, columns: {ticket: {}, who: {}}}
"""


@pytest.mark.parametrize(
    ("asked", "one_way"),
    [
        ("COUNT(*) > 100 FROM sale", True),
        ("COUNT(*) < 100 FROM sale", True),
        ("COUNT(DISTINCT buyer) > 100 FROM sale", True),
        ("COUNT(DISTINCT ticket) > 100 FROM sale", True),
        ("COUNT(*) FILTER (WHERE gain < 0) > 100 FROM sale", True),
        ("SUM(price) < 100 FROM sale", True),
        ("SUM(gain) > 100 FROM sale", False),
        ("SUM(-price) > 100 FROM sale", False),
        ("COUNT(*) BETWEEN 10 AND 100 FROM sale", False),
        ("AVG(price) > 50 FROM sale", False),
        ("SUM(gain) > 100 FROM sale WHERE gain > 0", True),
        ("SUM(CASE WHEN gain > 9 THEN price ELSE -1 END) > 100 FROM sale", False),
        ("COUNT(*) > 100 FROM sale s LEFT JOIN refund r USING (ticket) WHERE r.ticket IS NULL", False),
        ("COUNT(*) > 100 FROM sale s JOIN refund r USING (ticket)", False),
    ],
)
def test_only_what_goes_one_way_costs_less(tmp_path: Path, asked: str, one_way: bool) -> None:
    """A sum with a sign goes both ways; a row without a match goes when another person's refund comes."""
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY)")
        connection.execute("CREATE TABLE sale (ticket INTEGER PRIMARY KEY, buyer INTEGER, price INTEGER, gain INTEGER)")
        connection.execute("CREATE TABLE refund (ticket INTEGER PRIMARY KEY, who INTEGER)")
    path = tmp_path / "policy.yaml"
    path.write_text(
        "database: duckdb:shop.duckdb\nledger: sqlite:shop.ledger\nprivacy_unit: customer.id\n"
        f"budget: {{epsilon: 10, delta: 1e-6}}\nstatement: {{epsilon: 0.5}}\n{SHARED}"
    )
    with closing(Proxy.open(path)) as proxy:
        paid = watch(proxy).execute(f"SELECT {asked}").price.rho
        assert paid == (Fraction(1, 32) if one_way else pytest.approx(0.5 * math.tanh(0.25), rel=1e-12))


# -- by group ---------------------------------------------------------------------------------------------------------

WARDS = [(ward, beds) for ward, beds in zip("abcde", (10, 50, 100, 0, 340), strict=True)]
BY_WARD = "SELECT ward, COUNT(*) > 90 AS full FROM stay GROUP BY ward"


@pytest.fixture
def wards(tmp_path: Path) -> Path:
    """Stays of 100 people on five wards, of which nobody is on one."""
    with duckdb.connect(str(tmp_path / "wards.duckdb")) as connection:
        connection.execute("CREATE TABLE patient (id INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO patient SELECT range FROM range(100)")
        connection.execute(
            "CREATE TABLE stay (patient_id INTEGER, ward VARCHAR NOT NULL, urgent BOOLEAN NOT NULL, days INTEGER)"
        )
        for ward, beds in WARDS:
            connection.execute(
                f"INSERT INTO stay SELECT i % 100, '{ward}', i % 2 = 0, i % 10 FROM range({beds}) AS t(i)"
            )
    path = tmp_path / "policy.yaml"
    path.write_text(
        """
database: duckdb:wards.duckdb
ledger: sqlite:wards.ledger
privacy_unit: patient.id
budget: {epsilon: 100, delta: 1e-6}
statement: {epsilon: 0.5}
refresh: 1 hour
tables:
  patient: {columns: {id: {}}}
  stay:
    unit: patient_id -> patient.id
    max_rows: 10
    columns:
      patient_id: {}
      ward: {values: [a, b, c, d, e]}
      urgent: {values: [true, false]}
      days: {range: [0, 10]}
"""
    )
    return path


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        (BY_WARD, [("a", False), ("b", False), ("c", True), ("d", False), ("e", True)]),
        ("SELECT COUNT(*) > 90 AS full, ward FROM stay GROUP BY 2", [(False, "a"), (False, "b"), (True, "c"), (False, "d"), (True, "e")]),
        ("SELECT ward AS w, COUNT(*) < 20 FROM stay GROUP BY w", [("a", True), ("b", False), ("c", False), ("d", True), ("e", False)]),
        ("SELECT s.ward FROM stay s GROUP BY s.ward HAVING COUNT(*) > 90", [("c",), ("e",)]),
        ("SELECT ward FROM stay GROUP BY stay.ward HAVING COUNT(*) NOT BETWEEN 5 AND 110", [("d",), ("e",)]),
        ("SELECT urgent, AVG(days) > 4.5 FROM stay GROUP BY urgent", [(False, True), (True, False)]),
        ("SELECT urgent, ward FROM stay GROUP BY ward, urgent HAVING COUNT(*) >= 50", [(False, "c"), (True, "c"), (False, "e"), (True, "e")]),
        ("SELECT ward, urgent, SUM(days) > 200 FROM stay WHERE ward IN ('c', 'e') GROUP BY 1, urgent", [("c", False, True), ("c", True, False), ("e", False, True), ("e", True, True)]),
    ],
)  # fmt: skip
def test_each_declared_group_is_watched(
    wards: Path, hands: list[datetime.datetime], sql: str, rows: list[tuple[object, ...]]
) -> None:
    """All declared groups, in the order of their keys; the same comparison of each alone says the same."""
    with closing(opened(wards, hands, NoNoise())) as proxy:
        assert list(watch(proxy).execute(sql).rows) == rows
        counts = {
            ward: watch(proxy, "alone").execute(f"SELECT COUNT(*) > 90 FROM stay WHERE ward = '{ward}'").rows
            for ward, _ in WARDS
        }
    assert counts == {ward: ((beds > 90,),) for ward, beds in WARDS}


@pytest.mark.parametrize("asked", ["COUNT(*) > 0", "SUM(days) > 0", "AVG(days) > 0"])
def test_a_group_of_null_that_no_owner_listed_is_watched_too(
    wards: Path, hands: list[datetime.datetime], asked: str
) -> None:
    with duckdb.connect(str(wards.parent / "wards.duckdb")) as connection:
        connection.execute("ALTER TABLE stay ALTER urgent DROP NOT NULL")
    with closing(opened(wards, hands, NoNoise())) as proxy:
        rows = watch(proxy).execute(f"SELECT urgent, {asked} FROM stay GROUP BY urgent").rows
    assert rows == ((False, True), (True, True), (None, False))


def test_a_group_that_is_true_ends_alone(wards: Path, hands: list[datetime.datetime]) -> None:
    """FALSE of a group is free for years; a TRUE stands for its refresh and is paid again by its own share."""
    with closing(opened(wards, hands, NoNoise())) as proxy:
        session = watch(proxy)
        first = session.execute(BY_WARD)
        assert first.price.rho > 0
        assert "it is TRUE of 2 of 5 groups, and ends there" in first.notices[0]
        assert not session.execute(BY_WARD).price
        again = []
        for _ in range(20):
            hands[0] += datetime.timedelta(hours=1)
            found = session.execute(BY_WARD)
            again.append((found.price.rho / first.price.rho, found.rows == first.rows))
        assert again == [(Fraction(2, 5), True)] * 20
        quiet = watch(proxy, "quiet")
        assert quiet.execute(BY_WARD.replace("90", "900")).price.rho == first.price.rho
        for _ in range(20):
            hands[0] += datetime.timedelta(hours=37)
            assert not quiet.execute(BY_WARD.replace("90", "900")).price


@pytest.mark.parametrize("accounting", ["pure", "zcdp", "rdp", "approx"])
def test_groups_cost_together_what_all_rows_do(
    wards: Path, hands: list[datetime.datetime], accounting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The noise of each group is one whose loss, so many times, is what is paid: a person may be in all of them."""
    delta = "" if accounting == "pure" else "delta: 1e-6, "
    wards.write_text(
        wards.read_text().replace("delta: 1e-6}", f"{delta}accounting: {accounting}}}").replace(", , ", ", ")
    )
    made: list[tuple[int, Fraction]] = []
    of = AboveThreshold.of

    def seen(sensitivity: int, epsilon: Fraction) -> AboveThreshold:
        made.append((sensitivity, epsilon))
        return of(sensitivity, epsilon)

    monkeypatch.setattr(AboveThreshold, "of", seen)
    with closing(opened(wards, hands)) as proxy:
        accounts = proxy.ledger.standings()[0].accountant.accounting
        alone = watch(proxy).execute("SELECT COUNT(*) > 900 FROM stay")
        grouped = watch(proxy).execute(BY_WARD.replace("90", "900"))
    (_, whole), (_, share) = made
    assert whole == Fraction(1, 2)
    paid = AboveThreshold.price(accounts, share, one_way=True) * 5
    assert grouped.price == paid
    assert paid.fits_within(alone.price)
    slightly_more = AboveThreshold.price(accounts, share + Fraction(1, 10**6), one_way=True) * 5
    assert not slightly_more.fits_within(alone.price)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT days, COUNT(*) > 5 FROM stay GROUP BY days", None),
        ("SELECT patient_id % 7, COUNT(*) > 5 FROM stay GROUP BY 1", "are not declared"),
        ("SELECT ward, COUNT(*) > 5, COUNT(*) < 9 FROM stay GROUP BY ward", "cannot be watched"),
        ("SELECT ward, COUNT(*) FROM stay GROUP BY ward", "cannot be watched"),
        ("SELECT ward, COUNT(*) > 5 FROM stay GROUP BY ward HAVING COUNT(*) > 5", "cannot be watched"),
        ("SELECT ward, COUNT(*) > 5 FROM stay GROUP BY ROLLUP (ward)", "cannot be watched"),
        ("SELECT ward, COUNT(*) > 5 FROM stay GROUP BY ward ORDER BY 2", "cannot be watched"),
        ("SELECT ward || 'x' AS urgent, COUNT(*) > 5 FROM stay GROUP BY ward, urgent", "cannot be watched"),
        ("SELECT ward, urgent, days, COUNT(*) > 5 FROM stay GROUP BY 1, 2, 3", "at most 100"),
    ],
)
def test_what_is_no_watch_by_group_is_refused_and_costs_nothing(
    wards: Path, hands: list[datetime.datetime], sql: str, said: str | None
) -> None:
    with closing(opened(wards, hands)) as proxy:
        if said is None:
            watch(proxy).execute(sql)  # whole numbers of a declared range are eleven groups
            return
        with pytest.raises(Error, match=said) as caught:
            watch(proxy).execute(sql)
        assert caught.value.sqlstate == "0A000"
        assert not proxy.ledger.charges()


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("COUNT(*) > 499", True),
        ("COUNT(*) > 500", False),
        ("COUNT(*) >= 500", True),
        ("COUNT(*) < 500", False),
        ("COUNT(*) <= 500", True),
        ("500 <= (COUNT(*))", True),
        ("500.5 < COUNT(*)", False),
        ("COUNT(*) > -1", True),
        ("SUM(age) > 22000", False),
        ("SUM(age) < 22000", True),
        ("COUNT(*) FILTER (WHERE age < 45) > 200", True),
        ("SUM(age) >= 1e30", False),
        ("AVG(age) > 42.4", True),
        ("AVG(age) > 42.5", False),
        ("AVG(age) >= 42.5", True),
        ("43 > AVG(age)", True),
        ("AVG(age) < -3", False),
        ("AVG(age) FILTER (WHERE age < 45) < 22.5", True),
        ("COUNT(*) BETWEEN 500 AND 510", True),
        ("COUNT(*) BETWEEN 490 AND 499.9", False),
        ("COUNT(*) BETWEEN 510 AND 490", False),
        ("COUNT(*) NOT BETWEEN 490 AND 510", False),
        ("COUNT(*) NOT BETWEEN 490 AND 499", True),
        ("NOT (SUM(age) BETWEEN 21250.5 AND 30000)", True),
    ],
)
def test_it_says_what_the_comparison_says(
    policy: Path, hands: list[datetime.datetime], condition: str, value: bool
) -> None:
    with closing(opened(policy, hands, NoNoise())) as proxy:
        session = proxy.session()
        session.execute("SET dpsql.reuse = off")
        assert session.execute(f"SELECT {condition} FROM patient").rows == ((value,),)
        watched = watch(proxy).execute(f"SELECT {condition} FROM patient")
        assert watched.rows == ((value,),)
        assert any("of no rows is NULL in SQL" in one for one in watched.notices) == ("COUNT" not in condition)


def test_of_a_mean_the_distance_is_told_in_its_own_units(policy: Path, hands: list[datetime.datetime]) -> None:
    """The watch compares a sum: of n rows a mean is off by the n-th part of it."""
    with closing(opened(policy, hands, NoNoise())) as proxy:
        (of_sum,) = (one for one in watch(proxy).execute("SELECT SUM(age) > 9 FROM patient").notices if "95 of" in one)
        (told,) = (one for one in watch(proxy).execute("SELECT AVG(age) > 0 FROM patient").notices if "95 of" in one)
    width = float(of_sum.split("numbers ")[1].split()[0])
    mean, of_one = float(told.split("means ")[1].split()[0]), float(told.split("; ")[1].split(" / n")[0])
    assert of_one == pytest.approx(width)
    assert mean == pytest.approx(width / 10_000, rel=0.1)


@pytest.mark.parametrize(
    ("condition", "value"), [("SUM(age) > -1", True), ("AVG(age) >= 40", True), ("AVG(age) > 40", False)]
)
def test_of_no_rows_it_says_what_it_compares(
    policy: Path, hands: list[datetime.datetime], condition: str, value: bool
) -> None:
    with closing(opened(policy, hands, NoNoise())) as proxy:
        watched = watch(proxy).execute(f"SELECT {condition} FROM patient WHERE age > 1000")
    assert watched.rows == ((value,),)
    word = condition[:3]
    assert any(one.startswith(f"the {word} of no rows is NULL in SQL") for one in watched.notices)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM patient",
        "SELECT COUNT(*) > 5, COUNT(*) > 6 FROM patient",
        "SELECT AVG(DISTINCT age) > 5 FROM patient",
        "SELECT AVG(age) BETWEEN 5 AND 60 FROM patient",
        "SELECT COUNT(*) BETWEEN 5 AND COUNT(age) FROM patient",
        "SELECT COUNT(*) > COUNT(age) FROM patient",
        "SELECT age > 5, COUNT(*) FROM patient GROUP BY 1",
        "SELECT COUNT(*) > 5 FROM patient GROUP BY age",
        "SELECT COUNT(*) > 5 FROM patient HAVING COUNT(*) > 7",
        "SELECT COUNT(*) > 5 FROM patient LIMIT 1",
        "SELECT COUNT(*) > '5' FROM patient",
        "SELECT COUNT(*) = 5 FROM patient",
        "SELECT (SELECT COUNT(*) FROM patient) > 5 FROM patient",
        "WITH p AS (SELECT * FROM patient) SELECT COUNT(*) > 5 FROM p",
    ],
)
def test_what_is_no_watch_is_refused_and_costs_nothing(proxy: Proxy, sql: str) -> None:
    with pytest.raises(Error):
        watch(proxy).execute(sql)
    assert proxy.ledger.charges() == ()


def test_public_statements_and_settings_are_not_watched(proxy: Proxy) -> None:
    session = watch(proxy)
    assert session.execute("SELECT 1").rows == ((1,),)
    assert session.execute("SHOW dpsql.watch").rows == (("w",),)
    session.execute("RESET dpsql.watch")
    assert session.execute("SELECT COUNT(*) FROM patient").price


def test_what_cannot_be_paid_is_not_watched(policy: Path, hands: list[datetime.datetime]) -> None:
    policy.write_text(policy.read_text().replace("epsilon: 10", "epsilon: 1.2"))
    with closing(opened(policy, hands)) as proxy:
        paid = 0
        for number in range(10):
            try:
                paid += told(watch(proxy, str(number)), FEW)[1]
            except Error as error:
                assert error.sqlstate == "53400"
        assert paid == len(proxy.ledger.charges()) < 10


def test_twenty_who_ask_at_once_pay_once(proxy: Proxy) -> None:
    answers: list[tuple[object, bool]] = []
    threads = [threading.Thread(target=lambda: answers.append(told(watch(proxy), FEW))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(paid for _, paid in answers) == {True: 1, False: 19}


def test_an_answer_that_came_late_is_thrown_away(
    proxy: Proxy, hands: list[datetime.datetime], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another proxy says TRUE while this one compares: nothing is told of the ended threshold."""
    session = watch(proxy)
    told(session, FEW)
    hands[0] += datetime.timedelta(hours=1)
    states = proxy.ledger.watches
    change, crossed = states.change, []

    def late(key: str, before: WatchState | None, after: WatchState) -> bool:
        if before is not None and not crossed:
            crossed.append(True)
            now = WatchState(before.charge, before.threshold, before.asked + 1, after.version, True)
            assert change(key, before, now)
        return change(key, before, after)

    monkeypatch.setattr(states, "change", late)
    assert told(session, FEW) == (True, False), "what the other one said stands"
    assert crossed


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with durable_server() as started:
        yield started


@pytest.fixture
def url(server: Server) -> str:
    return str(server.process.url(server.database()))


@pytest.fixture(params=["file", "server"])
def states(request: pytest.FixtureRequest, tmp_path: Path) -> WatchStates:
    from dpsql.accounting import PURE, Accountant
    from dpsql.ledger import Ledger

    place = str(tmp_path / "ledger") if request.param == "file" else request.getfixturevalue("url")
    Ledger.open(place, Accountant(PURE, Fraction(1), Fraction(0))).close()
    return FileStates(place) if request.param == "file" else ServerStates(place)


def test_a_state_changes_from_the_one_that_was_seen(states: WatchStates) -> None:
    first, other = WatchState("c1", 10**30), WatchState("c2", -7)
    assert states.read("k") is None
    assert states.change("k", None, first)
    assert not states.change("k", None, other)
    assert states.read("k") == first
    said = WatchState("c1", 10**30, 1, "v", False)
    assert states.change("k", first, said)
    assert not states.change("k", first, other)
    ended = WatchState("c1", 10**30, 2, "v", True)
    assert states.change("k", said, ended)
    assert not states.change("k", said, said)
    assert states.read("k") == ended
    assert "10" not in repr(first)


def test_a_restored_ledger_has_no_watch(proxy: Proxy, hands: list[datetime.datetime], policy: Path) -> None:
    """Its watch has ended since the backup was made: who asks for it again pays again, at a new threshold."""
    place, backup = policy.with_name("clinic.ledger"), policy.with_name("backup")
    told(watch(proxy), FEW)
    (first,) = [state.charge for state in _states(proxy)]
    with closing(sqlite3.connect(place)) as tool, closing(sqlite3.connect(backup)) as copy:
        tool.backup(copy)
    hands[0] += datetime.timedelta(hours=1)
    states = proxy.ledger.watches
    (key,) = _keys(proxy)
    before = states.read(key)
    assert before is not None
    assert states.change(key, before, replace(before, asked=2, version="v", answer=True))
    proxy.close()
    for left in policy.parent.glob("clinic.ledger*"):
        if left.name not in ("clinic.ledger-lock", "clinic.ledger-releases"):
            left.unlink()
    shutil.copy(backup, place)
    with closing(opened(policy, hands)) as restored:
        assert told(watch(restored), FEW) == (False, True)
        assert [state.charge for state in _states(restored)] != [first]
        assert told(watch(restored), FEW) == (False, False)
        hands[0] += datetime.timedelta(hours=1)
        assert told(watch(restored), FEW) == (False, False)


@pytest.mark.parametrize("way", ["whole", "rows alone"])
def test_a_ledger_that_pg_restore_wrote_has_no_watch(
    policy: Path, hands: list[datetime.datetime], url: str, tmp_path: Path, way: str
) -> None:
    """A dump is older than the watch's TRUE: its secret threshold has answered since."""
    programs, dump = find_binaries().folder, tmp_path / "dump"
    policy.write_text(policy.read_text().replace("sqlite:clinic.ledger", url))
    with closing(opened(policy, hands, NoNoise())) as proxy:
        assert told(watch(proxy), FEW) == (False, True)
    subprocess.run(
        [programs / "pg_dump", "--format=custom", "--schema=dpsql_ledger", f"--file={dump}", url], check=True
    )
    with duckdb.connect(str(policy.parent / "clinic.duckdb")) as connection:
        connection.execute("INSERT INTO patient SELECT i, 1 FROM range(500, 1500) t(i)")
    hands[0] += datetime.timedelta(hours=1)
    with closing(opened(policy, hands, NoNoise())) as proxy:
        assert told(watch(proxy), FEW) == (True, False)
    for _ in range(2):
        if way == "whole":
            restore = ["--clean", "--if-exists"]
        else:
            restore = ["--data-only", "--disable-triggers", "--table=watched"]
            with psycopg.connect(url, autocommit=True) as owner:
                owner.execute("DELETE FROM dpsql_ledger.watched")
        subprocess.run([programs / "pg_restore", *restore, f"--dbname={url}", dump], check=True)
        hands[0] += datetime.timedelta(hours=1)
        with closing(opened(policy, hands, NoNoise())) as proxy:
            assert told(watch(proxy), FEW) == (True, True)


def test_a_ledger_whose_lock_file_is_gone_has_no_watch(
    proxy: Proxy, hands: list[datetime.datetime], policy: Path
) -> None:
    """What a ledger was like is not known where the mark is not there, or the ledger is of an earlier version."""
    told(watch(proxy), FEW)
    assert told(watch(proxy), FEW) == (False, False)
    proxy.close()
    policy.with_name("clinic.ledger-lock").unlink()
    with closing(opened(policy, hands)) as moved:
        assert told(watch(moved), FEW) == (False, True)
        assert told(watch(moved), FEW) == (False, False)
    with closing(sqlite3.connect(policy.with_name("clinic.ledger"))) as tool, tool:
        tool.execute("DELETE FROM ledger WHERE fact = 'watches'")
    policy.with_name("clinic.ledger-lock").write_bytes(b"")
    with closing(opened(policy, hands)) as earlier:
        assert told(watch(earlier), FEW) == (False, True)


def test_a_crash_between_the_mark_and_the_commit_drops_the_watch(states: WatchStates) -> None:
    if not isinstance(states, FileStates):
        pytest.skip("a server has no mark beside it")
    assert states.change("k", None, WatchState("c", 1))
    Path(f"{states._path}-lock").write_bytes(b"0" * 32)
    assert states.read("k") is None
    assert not states.change("k", WatchState("c", 1), WatchState("c", 1, 1, "v", True))


def test_states_that_are_loaded_from_a_dump_are_dropped(url: str) -> None:
    """The rows are as they were, in the same table of the same server, and another transaction has written them."""
    from dpsql.accounting import PURE, Accountant
    from dpsql.ledger import Ledger

    Ledger.open(url, Accountant(PURE, Fraction(1), Fraction(0))).close()
    states, first = ServerStates(url), WatchState("c", 7)
    assert states.change("dumped", None, first)
    assert states.change("other", None, first)
    said = WatchState("c", 7, 1, "v", False)
    assert states.change("other", first, said), "what is changed is as it was written, too"
    assert states.read("other") == said
    with psycopg.connect(url) as owner:
        rows = owner.execute("SELECT * FROM dpsql_ledger.watched WHERE key = 'dumped'").fetchall()
        owner.execute("DELETE FROM dpsql_ledger.watched WHERE key = 'dumped'")
        owner.execute("INSERT INTO dpsql_ledger.watched VALUES (%s, %s, %s, %s, %s, %s, %s)", rows[0])
    assert states.read("dumped") is None
    assert states.read("other") == said
    assert not states.change("dumped", first, said)


@pytest.mark.parametrize("part", [0, 1], ids=["another server", "another timeline"])
def test_states_of_a_server_that_was_recovered_are_dropped(url: str, part: int) -> None:
    from dpsql.accounting import PURE, Accountant
    from dpsql.ledger import Ledger

    Ledger.open(url, Accountant(PURE, Fraction(1), Fraction(0))).close()
    states = ServerStates(url)
    with psycopg.connect(url) as owner:
        states.change("recovered", None, WatchState("c", 7))
        ((writer,),) = owner.execute("SELECT writer FROM dpsql_ledger.watched WHERE key = 'recovered'").fetchall()
        parts = writer.split()
        server = (
            "SELECT system_identifier::text, left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM pg_control_system()"
        )
        assert [tuple(parts[:2])] == owner.execute(server).fetchall()
        parts[part] = "00000009"
        owner.execute("DELETE FROM dpsql_ledger.watched WHERE key = 'recovered'")
        owner.execute(
            "INSERT INTO dpsql_ledger.watched VALUES ('recovered', 'c', '7', 0, '', NULL, %s"
            " || ' ' || mod(pg_current_xact_id()::text::numeric, 4294967296))",
            (" ".join(parts[:2]),),
        )
    assert states.read("recovered") is None


def test_the_noise_is_that_of_the_proof() -> None:
    """All the answers of neighbours have chances that differ by exp(ε) at most: exactly, for small cases."""
    epsilon = Fraction(1)
    mechanism = AboveThreshold.of(1, epsilon)
    assert mechanism.loss(1, one_way=False).epsilon <= epsilon
    assert mechanism.loss(3, one_way=False).epsilon > epsilon
    chances = partial(chances_of, mechanism)
    for one, other in (([2, 2, 2, 2], [3, 3, 3, 3]), ([0, 4, 1, 2], [1, 3, 2, 1]), ([9, 9], [8, 8])):
        for here, there in zip(chances(one), chances(other), strict=True):
            assert abs(math.log(here / there)) <= float(epsilon) + 1e-3


def chances_of(mechanism: AboveThreshold, numbers: list[int]) -> list[float]:
    """Of each place of the first TRUE, and of none: of numbers that are compared with 3."""
    b, c = float(mechanism.threshold.scale), float(mechanism.query.scale)
    p, q = math.exp(-1 / b), math.exp(-1 / c)

    def reached(far: int) -> float:
        """P(N ≥ far) of the noise of an answer."""
        return q**far / (1 + q) if far > 0 else 1 - q ** (1 - far) / (1 + q)

    found = [0.0] * (len(numbers) + 1)
    for moved in range(-math.ceil(45 * b), math.ceil(45 * b) + 1):
        left = (1 - p) / (1 + p) * p ** abs(moved)
        for place, number in enumerate(numbers):
            above = reached(3 + moved - number)
            found[place] += left * above
            left *= 1 - above
        found[-1] += left
    return found


STEPS_UP = [
    ([2, 2, 2, 2], [3, 3, 3, 3]),
    ([0, 4, 1, 2], [1, 5, 2, 3]),
    ([3, 3, 3], [3, 3, 4]),
    ([3, 3, 3], [4, 4, 3]),
    ([-9, 3, -9, 3], [-8, 3, -8, 3]),
    ([-9, 3, -9, 3], [-9, 4, -9, 4]),
    ([9, 9], [10, 9]),
    ([-9] * 40, [-8] * 40),
    ([0] * 60, [1] * 59 + [0]),
]


@pytest.mark.spread
@pytest.mark.parametrize("accounting", [ZCDP, RDP])
@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("one_way", [True, False])
def test_the_price_covers_every_divergence_of_all_the_answers(
    epsilon: Fraction, one_way: bool, accounting: Accounting
) -> None:
    """Exactly, for small cases, in both directions; for numbers that go one way, their log-ratios are ε apart at most."""
    mechanism = AboveThreshold.of(1, epsilon)
    price = AboveThreshold.price(accounting, epsilon, one_way=one_way)
    curve = price.curve or line(price.rho)
    far = math.ceil(8 * mechanism.query.scale)
    worst = [0] * 60 + [far] * 60, [-1] * 59 + [1] + [far + 1] * 59 + [far - 1]
    cases = STEPS_UP if one_way else [*STEPS_UP, worst]
    widest = 0.0
    for one, other in cases:
        here, there = chances_of(mechanism, one), chances_of(mechanism, other)
        assert sum(here) == pytest.approx(1, abs=1e-12)
        ratios = [math.log(a / b) for a, b in zip(here, there, strict=True)]
        widest = max(widest, *ratios, *(-ratio for ratio in ratios), max(ratios) - min(ratios))
        lost = mechanism.loss(1, one_way=one_way).epsilon
        assert max(map(abs, ratios)) <= lost + Fraction(1, 10**9)
        if one_way:
            assert max(ratios) - min(ratios) <= epsilon + Fraction(1, 10**9)
        for p, q in (np.log([here, there]), np.log([there, here])):
            for order, paid in zip(map(float, ORDERS), curve, strict=True):
                found = np.logaddexp.reduce(order * p + (1 - order) * q)
                assert found <= (order - 1) * float(paid) * (1 + 1e-9)
    # The claims are nearly reached: what goes both ways would be underpaid as one that rises.
    assert widest > (0.9 if one_way else 1.7) * epsilon


def test_noise_that_is_too_wide_is_refused_before_the_charge(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "wide.duckdb")) as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, d NUMERIC(20, 2))")
    (tmp_path / "wide.yaml").write_text(
        "database: duckdb:wide.duckdb\nledger: sqlite:wide.ledger\nprivacy_unit: person.id\n"
        "budget: {epsilon: 10, delta: 1e-6}\n"
        "tables: {person: {columns: {id: {}, d: {range: [-1e15, 1e15]}}}}\n"
    )
    with closing(Proxy.open(tmp_path / "wide.yaml")) as wide:
        session = watch(wide)
        before = wide.ledger.spent()
        for epsilon in ("0.000001", "0.000000001"):
            session.execute(f"SET dpsql.epsilon = {epsilon}")
            for comparison in (">", ">=", "<", "<="):
                with pytest.raises(Error) as refused:
                    session.execute(f"SELECT SUM(d) {comparison} 5 FROM person")
                assert refused.value.sqlstate == "22023"
        assert wide.ledger.spent() == before
        session.execute("SET dpsql.epsilon = 0.1")
        assert told(session, "SELECT SUM(d) > 1e29 FROM person") == (False, True)
