"""Budgets that renew: one filter for each window and one for all time, whatever clocks, crashes and other proxies do."""

from __future__ import annotations

import datetime
import itertools
import multiprocessing
import os
import random
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpsql.accounting import APPROX, PURE, ZCDP, Accountant
from dpsql.calendar_unit import UNITS, CalendarUnit
from dpsql.errors import BudgetExceeded
from dpsql.ledger.ledger import Due, Ledger, recorded
from dpsql.ledger.postgres_journal import PostgresJournal
from dpsql.ledger.tally import Newer, Newest, Tally
from tests.ledger.losses import cost
from tests.ledger.test_postgres_ledger import Server

MONTH, DAY = CalendarUnit("month", "Europe/Berlin"), CalendarUnit("day", "Europe/Berlin")
_FORK = multiprocessing.get_context("fork")


def pure(epsilon: Fraction | int | str, per: CalendarUnit | None = None) -> Accountant:
    return Accountant(PURE, Fraction(epsilon), Fraction(0), per=per)


def on(month: int, day: int, hour: int = 12) -> datetime.datetime:
    return datetime.datetime(2026, month, day, hour, tzinfo=datetime.UTC)


@dataclass
class Hands:
    """A clock that shows what it is told to show."""

    time: datetime.datetime

    def __call__(self) -> datetime.datetime:
        return self.time


@pytest.fixture(params=["file", "server"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return str(tmp_path / "ledger")
    server = request.getfixturevalue("server")
    return str(server.process.url(server.database()))


TOTAL = (pure(1, MONTH), pure("2.5"))


def charged(ledger: Ledger, price: str, who: str = "ana") -> bool:
    try:
        ledger.charge(who, cost(price), "q")
    except BudgetExceeded:
        return False
    return True


# --- periods ---


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Beirut", "Pacific/Apia"])
@pytest.mark.parametrize("unit", UNITS)
def test_periods_follow_each_other_without_a_gap(unit: str, zone: str) -> None:
    """Also over days without a midnight, days that are left out, and hours that come twice."""
    period, chance = CalendarUnit(unit, zone), random.Random(unit + zone)
    for _ in range(300):
        instant = datetime.datetime(2009, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(
            seconds=chance.randrange(20 * 365 * 86_400)
        )
        began, ends = period.begin(instant), period.end(instant)
        assert began <= instant < ends
        assert period.begin(began) == began
        assert period.begin(ends) == ends
        assert period.end(began) == ends
        assert period.begin(ends - datetime.timedelta(microseconds=1)) == began


def test_the_ends_of_the_calendar_are_in_a_period() -> None:
    for unit in UNITS:
        for end in (datetime.datetime.min, datetime.datetime.max):
            instant = end.replace(tzinfo=datetime.UTC)
            assert (
                CalendarUnit(unit, "Asia/Tokyo").begin(instant)
                <= instant
                <= CalendarUnit(unit, "America/Lima").end(instant)
            )


# --- what is admitted ---


def test_a_window_renews_and_all_time_does_not(place: str) -> None:
    clock = Hands(on(1, 31))
    with Ledger.open(place, TOTAL, clock=clock) as ledger:
        assert charged(ledger, "0.9")
        with pytest.raises(BudgetExceeded) as raised:
            ledger.charge("ana", cost("0.2"), "q")
        assert raised.value.message == (
            "this statement does not fit into the privacy budget of this month: 90 % of it is spent (ε = 0.9 of 1)"
        )
        assert raised.value.hint == (
            "the largest price that still fits is 10 % of it (ε = 0.1); it renews on 2026-02-01 00:00 Europe/Berlin"
        )
        clock.time = on(1, 31, 23)  # which is February in Berlin
        assert [charged(ledger, "0.9"), charged(ledger, "0.2")] == [True, False]
        clock.time = on(3, 5)
        assert charged(ledger, "0.6")
        with pytest.raises(
            BudgetExceeded, match=r"into the privacy budget: 96 % of it is spent \(ε = 2\.4 of 2\.5\)"
        ) as raised:
            ledger.charge("ana", cost("0.2"), "q")
        assert raised.value.hint == "the largest price that still fits is 4 % of it (ε = 0.1)"
        assert ledger.spent() == cost("2.4")
        month, ever = ledger.standings()
        assert (month.spent, ever.spent) == (cost("0.6"), cost("2.4"))
        assert (month.renews, ever.renews) == (MONTH.begin(on(4, 1)), None)


def test_a_clock_that_goes_back_opens_no_window_twice(place: str) -> None:
    clock = Hands(on(2, 10))
    with Ledger.open(place, TOTAL, clock=clock) as ledger:
        assert charged(ledger, "0.9")
        clock.time = on(3, 10)
        assert charged(ledger, "0.7")
        for time in (on(2, 10), on(1, 10), on(3, 9)):
            clock.time = time
            assert not charged(ledger, "0.4"), "March is open, and has 0.3"
            assert ledger.standings()[0].spent == cost("0.7")
    clock.time = on(1, 1)
    with Ledger.open(place, TOTAL, clock=clock) as again:
        assert not charged(again, "0.4")
        assert charged(again, "0.3")
        times = [charge.time for charge in reversed(again.charges())]
        assert times == sorted(times)


def test_shares_have_windows_of_their_own(place: str) -> None:
    clock = Hands(on(5, 1))
    shares = {"ana": (pure("0.2", DAY), pure("0.5"))}
    with Ledger.open(place, TOTAL, shares, clock=clock) as ledger:
        for day, fits in ((1, 2), (2, 2), (3, 1)):
            clock.time = on(5, day)
            assert [charged(ledger, "0.1") for _ in range(3)] == [True] * fits + [False] * (3 - fits)
        assert charged(ledger, "0.5", "bob")
        assert not charged(ledger, "0.1", "bob"), "the month's"
        assert [float(one.spent.epsilon) for one in ledger.standings("ana")] == [0.1, 0.5]
        assert ledger.standings("bob") == ()
        clock.time = on(6, 1)
        assert not charged(ledger, "0.1")


def test_a_charge_pays_in_the_windows_in_which_it_was_made(place: str) -> None:
    """In those of everybody, and of the share of who asks; by the time of the ledger, which another proxy may set."""
    here, there = Hands(on(5, 30, 21)), Hands(on(5, 30, 21))
    shares = {"ana": (pure("0.9", DAY),), "bob": pure("0.9")}
    with (
        Ledger.open(place, TOTAL, shares, clock=here) as one,
        Ledger.open(place, TOTAL, shares, clock=there) as other,
    ):
        charge = one.charge("ana", cost("0.1"), "q")

        def paying() -> list[bool]:
            return [ledger.pays_now([charge], who) for ledger in (one, other) for who in ("ana", "bob", "cyd")]

        assert paying() == [True] * 6
        assert not one.pays_now([charge, "another"], "bob")
        here.time = there.time = on(5, 30, 22)  # the last of May, in Berlin
        assert paying() == [False, True, True] * 2
        there.time = on(6, 1)
        assert paying() == [False, True, True, False, False, False]
        later = other.charge("bob", cost("0.1"), "q")
        # Since then it is June for everybody, whatever a clock shows.
        assert paying() == [False] * 6
        assert one.pays_now([later], "ana")
        assert not one.pays_now([charge, later], "ana")
    with Ledger.open(place, pure(5), shares={"bob": pure(1)}, clock=here) as ever:
        assert ever.pays_now([charge], "bob")


def test_windows_begin_with_what_is_in_the_ledger(place: str) -> None:
    """A policy that declares windows later counts what was charged in the one that is open."""
    clock = Hands(on(2, 27))
    with Ledger.open(place, pure(5), clock=clock) as ledger:
        assert charged(ledger, "0.8")
        clock.time = on(3, 1)
        assert charged(ledger, "0.6")
    with Ledger.open(place, TOTAL, clock=clock) as ledger:
        assert ledger.standings()[0].spent == cost("0.6")
        assert [charged(ledger, "0.5"), charged(ledger, "0.4")] == [False, True]
    with Ledger.open(place, (pure(2, CalendarUnit("year")),), clock=clock) as ledger:
        assert ledger.standings()[0].spent == cost("1.8")


@pytest.mark.spread
@pytest.mark.parametrize("accounting", [PURE, ZCDP, APPROX])
def test_every_accounting_has_windows(place: str, accounting: object) -> None:
    delta = Fraction(0) if accounting is PURE else Fraction(1, 10**6)
    month = Accountant(accounting, Fraction(1), delta, per=MONTH)  # type: ignore[arg-type]
    clock = Hands(on(1, 1))
    with Ledger.open(place, month, clock=clock) as ledger:
        for number in range(1, 4):
            clock.time = on(number, 1)
            ledger.charge("ana", recorded(month.limit / 2), "q")
            ledger.charge("ana", month.limit.left_after(ledger.standings()[0].spent), "q")
            with pytest.raises(BudgetExceeded):
                ledger.charge("ana", month.price(Fraction(1, 10**6), Fraction(0)), "q")
        assert month.epsilon_of(ledger.standings()[0].spent) == 1


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ana", "bob"]),
            st.sampled_from(["0.1", "0.3", "1/7"]),
            st.integers(-3, 20),
            st.booleans(),
        ),
        max_size=30,
    )
)
def test_it_admits_what_a_list_and_sums_admit(
    tmp_path_factory: pytest.TempPathFactory, questions: list[tuple[str, str, int, bool]]
) -> None:
    path = tmp_path_factory.mktemp("model") / "ledger"
    shares = {"ana": (pure("0.5", DAY), pure(2))}
    total = (pure(1, MONTH), pure(4))
    clock = Hands(on(6, 1))
    model: list[tuple[str, Fraction, datetime.datetime]] = []
    ledger = Ledger.open(path, total, shares, clock=clock)
    for who, price, days, reopen in questions:
        clock.time += datetime.timedelta(days=days)
        at = max([clock.time, *(time for _, _, time in model)])
        exact = recorded(cost(price)).epsilon
        filters = [("", one) for one in total] + [("ana", one) for one in shares["ana"] if who == "ana"]
        fits = all(
            sum(
                (
                    p
                    for w, p, t in model
                    if whose in ("", w) and (one.per is None or one.per.begin(t) == one.per.begin(at))
                ),
                exact,
            )
            <= one.epsilon
            for whose, one in filters
        )
        assert charged(ledger, price, who) is fits
        model += [(who, exact, at)] if fits else []
        if reopen:
            ledger.close()
            ledger = Ledger.open(path, total, shares, clock=clock)
    assert [(one.analyst, one.loss.epsilon, one.time) for one in reversed(ledger.charges())] == model
    ledger.close()


# --- several proxies, and crashes ---


def test_two_proxies_share_a_window_also_where_one_of_them_is_behind(place: str) -> None:
    here, there = Hands(on(1, 31, 22)), Hands(on(1, 31, 22))
    with Ledger.open(place, TOTAL, clock=here) as one, Ledger.open(place, TOTAL, clock=there) as other:
        assert charged(one, "0.5")
        assert [charged(other, "0.6"), charged(other, "0.5")] == [False, True]
        here.time = on(1, 31, 23)
        assert charged(one, "0.7")
        # The other's clock shows January, which nobody can charge any more.
        assert [charged(other, "0.4"), charged(other, "0.3"), charged(one, "0.1")] == [False, True, False]
        assert other.standings()[0].spent == cost(1)
        there.time = here.time = on(2, 20)
        assert not charged(other, "0.1")


@pytest.mark.parametrize("shared", [False, True], ids=["the one who charges", "the one who looks"])
def test_a_charge_between_two_questions_is_counted_once(
    place: str, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another proxy charges between the question for the newest charge and the one for all that are new."""
    clock = Hands(on(1, 31))
    with Ledger.open(place, (pure(50, MONTH),), clock=clock) as one, Ledger.open(place, pure(50, MONTH)) as other:
        other._now = clock
        follow, paid = Tally.follow, itertools.count(1)
        mine = one._tally if shared else one._journal._tally  # type: ignore[attr-defined]

        def followed(tally: Tally, newest: Newest, newer: Newer) -> None:
            def crossed(number: int) -> tuple[int, datetime.datetime] | None:
                found = newest(number)
                # A file has its writer's lock while it charges: nobody comes between there.
                if tally is mine and (shared or not place.startswith("/")):
                    assert charged(other, "0.25")
                    next(paid)
                return found

            follow(tally, crossed, newer)

        monkeypatch.setattr(Tally, "follow", followed)
        for _ in range(20):
            if shared:
                one.standings()
            assert charged(one, "0.25")
            next(paid)
        count = next(paid) - 1
        assert one.spent().epsilon == Fraction(count, 4)
        monkeypatch.setattr(Tally, "follow", follow)
        for tally in (one._tally, mine):
            reader = one._journal
            tally.follow(reader.read_newest, reader.read_newer)
            if tally.number:
                assert tally.number == count
                tally.count(count, on(1, 31), "ana", cost("0.25"))
                assert tally.spent(MONTH, "", on(1, 31)) == cost(Fraction(count, 4)), "it was counted before"
        assert one.standings()[0].spent == cost(Fraction(count, 4))


def test_a_charge_is_decided_in_the_window_that_is_open_when_it_arrives(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another proxy opens a window after this one has counted, and before its charge is there."""
    place = str(server.process.url(server.database()))
    here, there = Hands(on(1, 31)), Hands(on(1, 31))
    follow = PostgresJournal._follow
    with Ledger.open(place, TOTAL, clock=here) as one, Ledger.open(place, TOTAL, clock=there) as other:
        assert charged(other, "0.9")
        crossed: list[bool] = []

        def counted(journal: PostgresJournal) -> None:
            follow(journal)
            if journal is other._journal and not crossed:
                crossed.append(True)
                here.time = on(2, 1)
                assert charged(one, "0.1")

        monkeypatch.setattr(PostgresJournal, "_follow", counted)
        assert charged(other, "0.5")
        assert crossed
        assert one.standings()[0].spent == cost("0.6")


def test_charges_that_wait_together_are_held_to_their_window(place: str) -> None:
    clock = Hands(on(4, 4))
    with Ledger.open(place, TOTAL, {"ana": pure("0.3", DAY)}, clock=clock) as ledger:
        futures = [ledger.begin("ana" if i % 2 else "bob", [Due(cost("0.1"), "q")]) for i in range(40)]
        paid = sum(future.exception() is None for future in futures)
        assert paid == 10
        assert ledger.standings("ana")[0].spent.epsilon <= Fraction("0.3")
        assert ledger.standings()[0].spent == cost(1)


def _spend(place: str, said: Path, start: datetime.datetime) -> None:
    os.closerange(3, 256)
    out = os.open(said, os.O_WRONLY | os.O_APPEND)
    steps = itertools.count()

    def clock() -> datetime.datetime:
        return start + datetime.timedelta(hours=2 * next(steps))

    with Ledger.open(place, (pure(1, DAY), pure(1000)), clock=clock, timeout=60) as ledger:
        while True:
            try:
                charge = ledger.charge("ana", cost("1/7"), "q")
            except BudgetExceeded:
                continue
            os.write(out, f"{charge}\n".encode())


def test_windows_hold_when_proxies_are_killed_at_their_ends(place: str, tmp_path: Path) -> None:
    """Four proxies whose clocks run and differ are killed again and again: no day has more than it may."""
    said = tmp_path / "said"
    said.touch()
    chance = random.Random(7)
    start = on(1, 1)
    for strike in range(4):
        running = [
            _FORK.Process(target=_spend, args=(place, said, start + datetime.timedelta(hours=20 * (strike + ahead))))
            for ahead in range(3)
        ]
        for one in running:
            one.start()
        # A busy machine starts them slowly: none is killed before some of them have charged.
        before, end = said.read_text().count("\n"), time.monotonic() + 30
        while said.read_text().count("\n") < before + 8 and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(chance.uniform(0.1, 0.4))
        for one in running:
            one.kill()
            one.join()
    with Ledger.open(place, (pure(1, DAY), pure(1000)), clock=Hands(start)) as ledger:
        charges = ledger.charges(limit=10**6)
        days: dict[datetime.datetime, Fraction] = {}
        for charge in charges:
            days[DAY.begin(charge.time)] = days.get(DAY.begin(charge.time), Fraction(0)) + charge.loss.epsilon
        assert len(days) > 3
        assert max(days.values()) <= 1
        released = said.read_text().split("\n")[:-1]
        assert len(released) > 20
        assert set(released) <= {charge.id for charge in charges}
        assert [one.time for one in charges] == sorted((one.time for one in charges), reverse=True)
        newest = DAY.begin(charges[0].time)
        assert ledger.standings()[0].spent.epsilon == days[newest]
