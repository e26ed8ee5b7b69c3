"""Orders of an owner: durable, kept by every process that has the ledger open, and no way around the total."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.accounting import PURE, RDP, ZCDP, Accountant, Accounting, PrivacyLoss
from dpsql.calendar_unit import CalendarUnit
from dpsql.errors import BudgetExceeded, DataError, Error, InternalError
from dpsql.ledger import Charge, Ledger, Order
from dpsql.ledger.group_commit import GroupCommit
from tests.engines.postgres_server import Server

HALF = Fraction(1, 2)
PAUSE, RESUME = Order("olga", "pause"), Order("olga", "resume")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'ledger'}"
    server: Server = request.getfixturevalue("server")
    return server.process.url(server.database())


def total(accounting: Accounting = PURE, epsilon: Fraction | int = 1, per: CalendarUnit | None = None) -> Accountant:
    return Accountant(accounting, Fraction(epsilon), Fraction(0 if accounting is PURE else Fraction(1, 10**6)), per=per)


def pay(ledger: Ledger, who: str, epsilon: Fraction) -> str:
    loss = ledger.limits[""][0].accounting.price(epsilon, Fraction(0))
    return ledger.charge(who, loss, f"SELECT {epsilon}")


@pytest.mark.parametrize("accounting", [PURE, ZCDP, RDP])
@pytest.mark.parametrize("per", [None, CalendarUnit("month")])
def test_who_is_paused_pays_nothing_until_resumed_and_others_go_on(
    place: str, accounting: Accounting, per: CalendarUnit | None
) -> None:
    limit = total(accounting, per=per)
    with Ledger.open(place, limit) as ledger, Ledger.open(place, limit) as served:
        pay(served, "ana", Fraction(1, 10))
        ledger.order("ana", PAUSE)
        before = served.spent()
        with pytest.raises(Error, match="the owner has paused") as refused:
            pay(served, "ana", Fraction(1, 10))
        assert refused.value.sqlstate == "42501"
        assert not isinstance(refused.value, BudgetExceeded)
        with pytest.raises(Error, match="has paused"):
            served.check_paused("ana")
        served.check_paused("bob")
        assert served.spent() == before
        pay(served, "bob", Fraction(1, 10))
    with Ledger.open(place, limit) as anew:
        with pytest.raises(Error, match="has paused"):
            pay(anew, "ana", Fraction(1, 10))
        anew.order("ana", RESUME)
        pay(anew, "ana", Fraction(1, 10))
        assert [one.statement for one in anew.charges("ana")][1:3] == ["owner olga: resume", "owner olga: pause"]
        assert not any(one.loss for one in anew.charges("ana")[1:3])


def test_a_share_is_changed_for_all_who_have_the_ledger_open_and_the_total_stays(place: str) -> None:
    declared = {"ana": total(epsilon=Fraction(1, 10))}
    with Ledger.open(place, total(), declared) as ledger, Ledger.open(place, total(), declared) as served:
        with pytest.raises(BudgetExceeded, match="this analyst's share"):
            pay(served, "ana", HALF)
        ledger.order("ana", Order("olga", "share", HALF))
        pay(served, "ana", HALF)
        assert [one.accountant.epsilon for one in served.standings("ana")] == [HALF]
        ledger.order("bob", Order("olga", "share", Fraction(1, 4)))
        with pytest.raises(BudgetExceeded, match="this analyst's share"):
            pay(served, "bob", Fraction(3, 10))
        ledger.order("bob", Order("olga", "share"))
        assert served.standings("bob") == ()
        ledger.order("cy", Order("olga", "share", Fraction(1)))
        with pytest.raises(BudgetExceeded, match="the privacy budget"):
            pay(served, "cy", Fraction(6, 10))
        ledger.order("ana", Order("olga", "share"))
        assert [one.accountant.epsilon for one in served.standings("ana")] == [Fraction(1, 10)]


def test_orders_are_taken_where_everything_is_spent(place: str) -> None:
    with Ledger.open(place, total()) as ledger:
        pay(ledger, "ana", Fraction(1))
    with Ledger.open(place, total(epsilon=HALF)) as ledger:
        ledger.order("ana", PAUSE)
        ledger.order("ana", Order("olga", "share", Fraction(1, 4)))
        assert ledger.extent()[1] == 3


@pytest.mark.parametrize("share", [Fraction(0), Fraction(-1), Fraction(2)])
def test_a_share_is_a_part_of_the_total(tmp_path: Path, share: Fraction) -> None:
    with Ledger.open(f"sqlite:{tmp_path / 'ledger'}", total()) as ledger:
        with pytest.raises(DataError, match="cannot be"):
            ledger.order("ana", Order("olga", "share", share))
        assert ledger.extent()[1] == 0


def test_no_statement_of_an_analyst_is_an_order(place: str) -> None:
    with Ledger.open(place, total()) as ledger:
        forged = Order("olga", "share", Fraction(1)).statement
        ledger.charge("ana", PrivacyLoss(epsilon=Fraction(1, 10)), forged)
        ledger.charge("ana", PrivacyLoss(epsilon=Fraction(1, 10**39)), PAUSE.statement)
        assert ledger.charge("ana", PrivacyLoss(), PAUSE.statement) == "", "what costs nothing is not written"
        nothing = Charge("x", datetime.now(UTC), "ana", PrivacyLoss(), RESUME.statement, ())
        with pytest.raises(InternalError, match="gives no orders"):
            ledger.admit((nothing,))
        assert not ledger.orders().paused
        assert not ledger.orders().shares


@pytest.mark.parametrize("owner", ["olga", "o: pause", "\n", "", "owner x: share 1", "Ω"])
@pytest.mark.parametrize("made", [("pause", None), ("share", HALF), ("share", None), ("share", Fraction(3))])
def test_an_order_reads_back(owner: str, made: tuple[str, Fraction | None]) -> None:
    order = Order(owner, *made)  # type: ignore[arg-type]
    assert Order.of(order.statement) == order


def test_what_waits_together_is_decided_one_by_one_where_somebody_is_paused(place: str) -> None:
    with Ledger.open(place, total()) as ledger:
        ledger.order("ana", PAUSE)
        assert isinstance(ledger._writer, GroupCommit)
        price = PrivacyLoss(epsilon=Fraction(1, 10))
        groups = [(Charge(os.urandom(8).hex(), datetime.now(UTC), who, price, "q", ()),) for who in ("ana", "bob", "ana", "cy")]  # fmt: skip
        told = ledger._journal.append(groups)
        assert [one is None for one in told] == [False, True, False, True]
