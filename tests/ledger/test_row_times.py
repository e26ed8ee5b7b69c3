"""Budgets of rows: each charge counts at the times of its rows, and no time is ever charged beyond the limit."""

from __future__ import annotations

import datetime
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting import PURE, ZCDP, Accountant, PrivacyLoss
from dpsql.calendar_unit import CalendarUnit
from dpsql.errors import BudgetExceeded, InternalError
from dpsql.ledger import EVER, Due, Ledger, Receipt, Span, most_of
from dpsql.ledger.postgres_journal import PostgresJournal
from dpsql.ledger.row_times import RowTimeSums
from tests.ledger.losses import cost
from tests.ledger.test_postgres_ledger import Server

MONTH = CalendarUnit("month")
BEGINS = [datetime.datetime(2026, 1 + place, 1, tzinfo=datetime.UTC) for place in range(7)]
SPANS = [Span(begin, end) for at, begin in enumerate(BEGINS) for end in BEGINS[at + 1 :]]
SPANS += [EVER, Span(end=BEGINS[2]), Span(begin=BEGINS[4])]
PROBES = [begin + datetime.timedelta(days=3) for begin in [BEGINS[0] - datetime.timedelta(days=9), *BEGINS]]


def of_rows(epsilon: Fraction | int) -> Accountant:
    return Accountant(PURE, Fraction(epsilon), Fraction(0), per=MONTH, of_rows=True)


def charged(span: Span, epsilon: Fraction) -> Fraction:
    """By the definition: twice where rows of several months are read."""
    inside = [at for at in BEGINS if span.begin < at < span.end]
    return 2 * epsilon if inside or EVER.begin == span.begin or EVER.end == span.end else epsilon


@pytest.fixture(params=["file", "server"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Accountant], Ledger]:
    if request.param == "file":
        return lambda total: Ledger.open(tmp_path / "a.ledger", total, {"ben": of_rows(1)})
    server = request.getfixturevalue("server")
    url = str(server.process.url(server.database()))
    return lambda total: Ledger.open(url, total, {"ben": of_rows(1)})


def test_what_is_admitted_is_what_every_time_has_room_for(opened: Callable[[Accountant], Ledger]) -> None:
    """Random charges of two analysts through two proxies, beside a list of all of them that is added up time by time."""
    draw = random.Random(20)
    known: list[tuple[str, Span, Fraction]] = []
    answers = set()
    with closing(opened(of_rows(3))) as one, closing(opened(of_rows(3))) as other:
        for number in range(120):
            if number == 60:
                one.close()
                one = opened(of_rows(3))
            who = draw.choice(["ana", "ben"])
            dues = [(draw.choice(SPANS), Fraction(draw.randint(1, 9), 40)) for _ in range(draw.choice([1, 1, 3]))]
            after = [*known, *((who, span, charged(span, epsilon)) for span, epsilon in dues)]
            fits = all(
                sum(loss for name, span, loss in after if name in names and span.begin <= at < span.end) <= limit
                for at in PROBES
                for names, limit in ((("ana", "ben"), 3), (("ben",), 1))
            )
            ledger, receipt = draw.choice([one, other]), Receipt()
            try:
                ledger.charge_together(who, [Due(cost(loss), "x", (), span) for span, loss in dues], receipt)
            except BudgetExceeded as refused:
                assert not fits, f"{number}: {refused}"
                assert " of the rows from " in str(refused)
            else:
                assert fits, number
                known = after
                paid = most_of((span, cost(charged(span, loss))) for span, loss in dues)
                assert receipt.loss == paid
            answers.add(fits)
        spent = {span: loss.epsilon for span, loss in other.row_times()}
    assert answers == {True, False}
    for at in PROBES:
        (found,) = (loss for span, loss in spent.items() if span.begin <= at < span.end)
        assert found == sum(loss for _, span, loss in known if span.begin <= at < span.end)


def test_a_proxy_on_a_server_counts_what_others_charged_meanwhile(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another proxy charges between a look at the ledger and a charge is counted by the server, where it is."""
    url = str(server.process.url(server.database()))
    with closing(Ledger.open(url, of_rows(1))) as one, closing(Ledger.open(url, of_rows(1))) as other:
        for span in SPANS[:2]:
            one.charge_together("ana", [Due(cost("1/10"), "x", (), span)])
        for span in (SPANS[0], Span(BEGINS[1], BEGINS[2])):
            other.charge_together("ben", [Due(cost("3/5"), "x", (), span)])
        monkeypatch.setattr(PostgresJournal, "_follow", lambda self: None)
        march = Span(BEGINS[2], BEGINS[3])
        one.charge_together("ana", [Due(cost("9/10"), "x", (), march)])
        for span in (SPANS[0], Span(BEGINS[1], BEGINS[2]), EVER):
            with pytest.raises(BudgetExceeded):
                one.charge_together("ana", [Due(cost("3/10"), "x", (), span)])


@given(st.lists(st.tuples(st.sampled_from(SPANS), st.integers(0, 5)), max_size=12), st.sampled_from(SPANS))
def test_sums_are_those_of_each_time(charges: list[tuple[Span, int]], asked: Span) -> None:
    sums = RowTimeSums()
    for span, loss in charges:
        sums.add("", span, cost(loss))
    at_each = {at: sum(loss for span, loss in charges if span.begin <= at < span.end) for at in PROBES}
    inside = [spent for at, spent in at_each.items() if asked.begin <= at < asked.end]
    assert sums.most("", asked).epsilon == max(inside)
    assert sums.least("").epsilon == min(at_each.values())
    parts = [*sums.parts("", asked)]
    assert (parts[0][0].begin, parts[-1][0].end) == (asked.begin, asked.end)
    assert all(one.end == other.begin for (one, _), (other, _) in pairwise(parts))


@given(st.sampled_from(SPANS))
def test_a_span_is_written_and_read(span: Span) -> None:
    assert Span.of_text(str(span)) == span


@pytest.mark.parametrize("text", ["/", "x", "2026-01-01/", "2026-01-01T00:00:00+00:00/2026-01-01T00:00:00+00:00"])
def test_no_other_text_is_a_span(text: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        Span.of_text(text)


def test_a_ledger_from_before_there_were_spans_is_of_all_times(tmp_path: Path) -> None:
    path = tmp_path / "old.ledger"
    with Ledger.open(path, of_rows(3)) as ledger:
        ledger.charge("ana", cost(1), "x")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE charge DROP COLUMN span")
    with Ledger.open(path, of_rows(3)) as ledger:
        assert [(span, loss.epsilon) for span, loss in ledger.row_times()] == [(EVER, 2)]
        assert ledger.charges()[0].span == EVER


def test_delta_has_no_price_of_several_periods(tmp_path: Path) -> None:
    """Selecting groups of rows of several months is refused before; if ever it were not, nothing is charged nor read."""
    total = Accountant(ZCDP, Fraction(1), Fraction(1, 10**6), per=MONTH, of_rows=True)
    selecting = PrivacyLoss(rho=Fraction(1, 200), delta=Fraction(1, 10**9))
    with Ledger.open(tmp_path / "a.ledger", total) as ledger:
        with pytest.raises(InternalError):
            ledger.charge("ana", selecting, "x")
        ledger.charge_together("ana", [Due(selecting, "x", (), SPANS[0])])
        ledger.charge("ana", PrivacyLoss(rho=Fraction(1, 400)), "x")
        assert ledger.spent().rho == Fraction(1, 200) + Fraction(4, 400)
