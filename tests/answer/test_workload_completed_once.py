"""Who pays for missing components: one of two at once. A purchase that is not kept is lost, and counts for nothing."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.accounting import PrivacyLoss
from dpsql.proxy import Proxy
from dpsql.reuse.offers import Reuse
from tests.answer import test_workload_completed as completed
from tests.answer.test_workload_completed import ALL, NOTICE, PARTS, WORKLOAD, Right, opened

folder, right = completed.folder, completed.right


def charges(proxy: Proxy) -> int:
    return len(proxy.ledger.charges(limit=100))


@pytest.mark.parametrize("second", [ALL, "SELECT smoker, sex, region, COUNT(*) AS n FROM person GROUP BY 3, 2, 1"])
def test_two_who_complete_the_same_table_at_once_pay_once(folder: Path, second: str) -> None:
    """Both begin at the same moment; who comes second finds all components in the store."""
    with opened(folder) as proxy:
        proxy.session().buy(WORKLOAD, Fraction(1))
        before, wait = charges(proxy), threading.Barrier(2)
        told: dict[int, tuple[PrivacyLoss, Mapping[frozenset[str], object]]] = {}

        def ask(place: int, sql: str) -> None:
            session = proxy.session()
            wait.wait()
            answer = session.execute(sql)
            told[place] = answer.price, {frozenset(map(str, row[:-1])): row[-1] for row in answer.rows}

        threads = [threading.Thread(target=ask, args=one) for one in enumerate((ALL, second))]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert sorted(bool(price) for price, _ in told.values()) == [False, True]
        assert charges(proxy) == before + 1
        assert told[0][1] == told[1][1]


def test_a_crash_before_the_components_are_marked_loses_the_purchase_alone(
    folder: Path, right: Right, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stored without its mark is no table of counts: nothing is made of it, and the next one pays."""

    class Crash(BaseException):
        """The process ends."""

    def crash(*_: object) -> None:
        raise Crash

    with opened(folder, silent=True) as proxy:
        session = proxy.session()
        session.buy(WORKLOAD, Fraction(1))
        before = charges(proxy)
        with monkeypatch.context() as patched:
            patched.setattr(Reuse, "keep", crash)
            with pytest.raises(Crash):
                session.execute(ALL)
        assert charges(proxy) == before + 1, "it was charged before it was read"
        for number, sql in enumerate((ALL, ALL, *PARTS)):
            answer = session.execute(sql)
            assert bool(answer.price) == (number == 0), sql
            assert (NOTICE in answer.notices) == (number == 0)
            shown = {tuple(map(str, row[:-1])): row[-1] for row in answer.rows}
            assert {key: one for key, one in shown.items() if one} == right[sql], sql
        assert charges(proxy) == before + 2


@pytest.mark.parametrize("sql", [ALL, *PARTS])
def test_what_is_stored_without_its_mark_is_no_source(folder: Path, right: Right, sql: str) -> None:
    """Components alone add up to nothing: whatever is asked after a crash is measured with what the workload knows."""
    with opened(folder, silent=True) as proxy:
        session = proxy.session()
        session.buy(WORKLOAD, Fraction(1))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Reuse, "keep", lambda *_: None)
            session.execute(ALL)
        answer = session.execute(sql)
        shown = {tuple(map(str, row[:-1])): row[-1] for row in answer.rows}
        assert answer.price
        assert {key: one for key, one in shown.items() if one} == right[sql], sql
