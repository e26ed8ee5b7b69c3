"""Ledgers of curves, in a file and in a server: what they admit, through crashes, and when they were begun without."""

from __future__ import annotations

import contextlib
import datetime
import multiprocessing
import os
import random
import signal
import sqlite3
from fractions import Fraction
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import psycopg
import pytest

from dpsql.accounting import PURE, RDP, Accountant, PrivacyLoss
from dpsql.calendar_unit import CalendarUnit
from dpsql.errors import BudgetExceeded, OperationalError
from dpsql.ledger.ledger import Due, Ledger, recorded
from dpsql.mechanisms import AboveThreshold
from tests.ledger.test_postgres_ledger import Server

DELTA = Fraction(1, 10**6)
MONTH = CalendarUnit("month", "Europe/Berlin")
_FORK = multiprocessing.get_context("fork")


def renyi(epsilon: Fraction | int | str, per: CalendarUnit | None = None) -> Accountant:
    return Accountant(RDP, Fraction(epsilon), DELTA, per=per)


watched = partial(AboveThreshold.price, RDP)


def noise(epsilon: Fraction | int | str, delta: Fraction = Fraction(0)) -> PrivacyLoss:
    return RDP.price(Fraction(epsilon), delta)


@pytest.fixture(params=["file", "server"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return f"sqlite:{tmp_path / 'ledger'}"
    started: Server = request.getfixturevalue("server")
    return started.process.url(started.database())


def test_it_admits_what_a_list_and_the_filters_admit(place: str) -> None:
    """Of all time, of a month and of an analyst; noise, watches and key selection, mixed."""
    chance = random.Random(18)
    hands = [datetime.datetime(2026, 1, 30, tzinfo=datetime.UTC)]
    total, shares = (renyi(2, MONTH), renyi(3)), {"ana": renyi(1)}
    model: list[tuple[str, int, PrivacyLoss]] = []
    refused = 0

    def fits(filter_: Accountant, who: str | None, loss: PrivacyLoss) -> bool:
        mine = (
            one
            for name, month, one in model
            if who in (None, name) and (filter_.per is None or month == hands[0].month)
        )
        return filter_.fits(sum(mine, PrivacyLoss()), loss)

    with Ledger.open(place, total, shares, clock=lambda: hands[0]) as ledger:
        for number in range(70):
            if number == 35:
                hands[0] = hands[0].replace(month=2, day=3)
            who = chance.choice(["ana", "bob"])
            loss = recorded(
                chance.choice(
                    [
                        noise("1/7"),
                        noise("1/20", DELTA / 80),
                        watched(Fraction(chance.randint(1, 12), 10), one_way=chance.random() < 0.5),
                    ]
                )
            )
            admitted = all(fits(one, None, loss) for one in total) and (
                who != "ana" or fits(shares["ana"], "ana", loss)
            )
            try:
                ledger.charge(who, loss, "q")
            except BudgetExceeded as problem:
                assert not admitted
                assert "0.000" not in str(problem)
                refused += 1
            else:
                assert admitted
                model.append((who, hands[0].month, loss))
        for name in (None, "ana", "bob"):
            assert ledger.spent(name) == sum((one for who, _, one in model if name in (None, who)), PrivacyLoss())
        assert [one.loss for one in reversed(ledger.charges())] == [loss for *_, loss in model]
        window, ever = ledger.standings()
        assert window.spent == sum((one for _, month, one in model if month == 2), PrivacyLoss())
        assert ever.spent == ledger.spent()
    assert 5 < refused < 60
    with Ledger.open(place, total, shares) as again:
        assert again.extent()[1] == len(model)


def test_charges_that_wait_together_are_decided_as_one_after_the_other(place: str) -> None:
    with Ledger.open(place, renyi(1)) as ledger:
        futures = [ledger.begin("ana", [Due(noise("1/15"), "q"), Due(noise("1/30"), "q")]) for _ in range(12)]
        admitted = sum(future.exception() is None for future in futures)
        each = recorded(noise("1/15")) + recorded(noise("1/30"))
        assert admitted == renyi(1).statements_left(PrivacyLoss(), each) < 12
        assert ledger.spent() == each * admitted


def _charging(place: str, told: Connection) -> None:
    with Ledger.open(place, renyi(5)) as ledger:
        while True:
            told.send(ledger.charge("ana", noise("1/50", DELTA / 10**4), "q"))


def test_what_was_charged_survives_its_proxy(place: str) -> None:
    """Killed while it charges, three times: all that was reported is there, and totals are their sums."""
    reported: list[str] = []
    for strikes in (7, 3, 5):
        mine, theirs = _FORK.Pipe()
        process = _FORK.Process(target=_charging, args=(place, theirs))
        process.start()
        theirs.close()
        reported += [mine.recv() for _ in range(strikes)]
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        with contextlib.suppress(EOFError, OSError):
            while mine.poll():
                reported.append(mine.recv())
        with Ledger.open(place, renyi(5)) as ledger:
            assert all(ledger.holds(one) for one in reported)
            charges = ledger.charges()
            assert len(reported) <= len(charges) <= len(reported) + 3
            assert ledger.spent() == sum((one.loss for one in charges), PrivacyLoss())


def _changed(place: str, *statements: str) -> None:
    if place.startswith("sqlite:"):
        with contextlib.closing(sqlite3.connect(place.removeprefix("sqlite:"), isolation_level=None)) as tool:
            for statement in statements:
                tool.execute(statement)
    else:
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute("SET search_path = dpsql_ledger")
            for statement in statements:
                connection.execute(statement)  # type: ignore[call-overload]


def test_a_ledger_that_was_begun_without_curves_goes_on(place: str) -> None:
    pure, price = Accountant(PURE, Fraction(1), Fraction(0)), PrivacyLoss(epsilon=Fraction(2, 5))
    with Ledger.open(place, pure) as ledger:
        ledger.charge("ana", price, "q")
    _changed(place, "ALTER TABLE charge DROP COLUMN curve", "ALTER TABLE total DROP COLUMN curve")
    with Ledger.open(place, pure) as ledger:
        assert ledger.spent() == price
        ledger.charge("ana", price, "q")
        with pytest.raises(BudgetExceeded):
            ledger.charge("ana", price, "q")
        assert [one.loss for one in ledger.charges()] == [price, price]
    with Ledger.open(place, pure) as ledger:
        assert ledger.spent() == price * 2


def test_totals_that_are_not_the_sums_of_curves_are_noticed(place: str) -> None:
    with Ledger.open(place, renyi(1)) as ledger:
        ledger.charge("ana", noise("1/10"), "q")
    less = (
        " ".join(["0.001"] * len(noise(1).curve))
        if place.startswith("sqlite:")
        else "{" + ",".join(["0.001"] * len(noise(1).curve)) + "}"
    )
    _changed(place, f"UPDATE total SET curve = '{less}'")
    with pytest.raises(OperationalError, match="not the sums"):
        Ledger.open(place, renyi(1))
