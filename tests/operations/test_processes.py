"""The parts of a server of several processes, each by itself."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.core import Metric

from dpsql.accounting import PURE, Accountant
from dpsql.accounting.loss import PrivacyLoss
from dpsql.errors import BudgetExceeded, Error, OperationalError
from dpsql.ledger import Ledger
from dpsql.server.operations import Seats, Turns
from dpsql.server.serving import _quota
from dpsql.server.workers.added_figures import AddedFigures
from dpsql.server.workers.calls import ChargeCall
from dpsql.server.workers.nursery import Nursery
from dpsql.server.workers.remote_calls import RemoteCalls
from dpsql.server.workers.worker import AskingWriter
from dpsql.shared_locks import SharedLocks
from tests.operations.operated import eventually
from tests.operations.several import lives

TOTAL = Accountant(PURE, Fraction(10), Fraction(0))
ONE = PrivacyLoss(epsilon=Fraction(1))


@contextmanager
def line(answer: Any, lost: Any = lambda: None) -> Iterator[tuple[RemoteCalls, socket.socket]]:
    """The end that asks, and the socket of the other one, which answers until the socket is shut down."""
    one, other = socket.socketpair()
    here, there = RemoteCalls(one.detach()), RemoteCalls(os.dup(other.fileno()))
    here.open(lambda question: None, lost)
    there.open(answer, lambda: None)
    with other:
        yield here, other
        other.shutdown(socket.SHUT_RDWR)


def test_answers_come_when_they_are_there_and_errors_as_they_are() -> None:
    later: Future[str] = Future()

    def answer(question: str) -> object:
        if question == "later":
            return later
        if question == "refuse":
            raise BudgetExceeded("no", sqlstate="53400", hint="ask for less")
        if question == "fail":
            raise ZeroDivisionError("with a value in it")
        return question.upper()

    with line(answer) as (here, _):
        slow = here.ask("later")
        assert here.ask("now").result(60) == "NOW", "no question waits for another"
        assert not slow.done()
        with pytest.raises(BudgetExceeded) as refused:
            here.ask("refuse").result(60)
        assert (refused.value.sqlstate, refused.value.hint) == ("53400", "ask for less")
        with pytest.raises(Error) as failed:
            here.ask("fail").result(60)
        assert "value" not in str(failed.value)
        later.set_result("at last")
        assert slow.result(60) == "at last"


def test_what_was_asked_of_a_process_that_has_ended_fails() -> None:
    gone = threading.Event()
    with line(lambda question: Future(), gone.set) as (here, there):
        asked = here.ask("anything")
        there.shutdown(socket.SHUT_RDWR)
        with pytest.raises(OperationalError):
            asked.result(60)
        assert gone.wait(60)
        with pytest.raises(OperationalError):
            here.ask("more")


def test_a_worker_is_charged_when_the_ledger_says_so(tmp_path: Path) -> None:
    """The worker's ledger waits for the foreman's answer, and gets the foreman's refusal."""
    durable: list[Future[None]] = []
    with Ledger.open(tmp_path / "ledger", TOTAL) as ledger:

        def answer(call: ChargeCall) -> Future[None]:
            durable.append(ledger.admit(call.charges))
            return durable[-1]

        with line(answer) as (here, _), Ledger.open(tmp_path / "ledger", TOTAL, writer=AskingWriter(here)) as worker:
            id_ = worker.charge("ana", PrivacyLoss(epsilon=Fraction(9)), "SELECT 1", ("t",))
            assert durable[0].done()
            assert worker.holds(id_)
            assert ledger.charges() == worker.charges()
            with pytest.raises(BudgetExceeded, match=r"is spent \(ε = 9\.0 of"):
                worker.charge("ana", PrivacyLoss(epsilon=Fraction(2)), "SELECT 1", ("t",))
            assert worker.spent() == PrivacyLoss(epsilon=Fraction(9))


def test_a_charge_that_nobody_answers_is_not_made(tmp_path: Path) -> None:
    with (
        line(lambda call: Future()) as (here, _),
        Ledger.open(tmp_path / "ledger", TOTAL, writer=AskingWriter(here)) as one,
    ):
        waiting = one.begin("ana", [due()])
        time.sleep(0.1)
        assert not waiting.done()
        assert one.charges() == ()


def due() -> Any:
    from dpsql.ledger import Due

    return Due(ONE, "SELECT 1", ("t",))


def test_seats_are_shared_and_those_of_the_dead_are_free(tmp_path: Path) -> None:
    def turns() -> Turns:
        return Turns(all=3, each=2, patience=0.05, seats=Seats(SharedLocks(tmp_path / "seats")))

    one, other = turns(), turns()
    with one.taken("ana"), other.taken("ana"):
        for whose in (one, other):
            with pytest.raises(OperationalError, match="of this analyst"), whose.taken("ana"):
                pass
        with one.taken("bob"), pytest.raises(OperationalError, match="too many statements run"), other.taken("cyd"):
            pass
    with other.taken("ana"), other.taken("ana"):
        pass
    process = os.fork()
    if not process:
        dead = turns()
        with dead.taken("ana"), dead.taken("ana"):
            (tmp_path / "sits").touch()
            time.sleep(600)
        os._exit(0)
    eventually((tmp_path / "sits").exists)
    with pytest.raises(OperationalError), one.taken("ana"):
        pass
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    with one.taken("ana"), one.taken("ana"):
        pass


def test_who_waits_for_a_seat_gets_it_from_another_process(tmp_path: Path) -> None:
    one, other = (Turns(all=1, each=1, patience=60, seats=Seats(SharedLocks(tmp_path / "seats"))) for _ in range(2))
    got = threading.Event()

    def wait() -> None:
        with other.taken("ana"):
            got.set()

    with one.taken("ana"):
        waiting = threading.Thread(target=wait)
        waiting.start()
        eventually(lambda: other.waiting == 1)
        assert not got.is_set()
    waiting.join(60)
    assert got.is_set()


def test_no_process_keeps_seats_from_those_who_wait_in_another(tmp_path: Path) -> None:
    """Three of one process ask again and again for the only seat; one of another waits for it, and gets it."""
    one, other = (Turns(all=1, each=1, patience=60, seats=Seats(SharedLocks(tmp_path / "seats"))) for _ in range(2))
    enough, served = threading.Event(), []

    def again() -> None:
        while not enough.is_set():
            with one.taken("ana"):
                served.append("ana")

    threads = [threading.Thread(target=again) for _ in range(3)]
    for thread in threads:
        thread.start()
    eventually(lambda: len(served) > 3)
    try:
        for _ in range(5):
            with other.taken("bob"):
                served.append("bob")
    finally:
        enough.set()
        for thread in threads:
            thread.join()
    assert served.count("bob") == 5
    assert (one.running, one.waiting, other.running, other.waiting) == (0, 0, 0, 0)


@pytest.mark.parametrize(("said", "cores"), [("max 100000", 4), ("50000 100000", 1), ("150000 100000", 2), ("", 4)])
def test_a_container_has_as_many_workers_as_it_has_cores(tmp_path: Path, said: str, cores: int) -> None:
    (tmp_path / "cpu.max").write_text(said + "\n")
    assert _quota(tmp_path / "cpu.max") == cores


def test_a_counter_never_goes_down() -> None:
    def reported(count: float, running: float) -> list[Metric]:
        counted, gauge = Metric("asked", "Asked.", "counter"), Metric("running", "Running.", "gauge")
        counted.add_sample("asked_total", {}, count)
        gauge.add_sample("running", {}, running)
        return [counted, gauge]

    reports = {1: reported(5, 2), 2: reported(7, 1)}
    figures = AddedFigures(lambda: reports)

    def now(name: str) -> float:
        return sum(sample.value for metric in figures.collect() for sample in metric.samples if sample.name == name)

    assert (now("asked_total"), now("running"), now("dpsql_workers")) == (12, 3, 2)
    del reports[1]
    assert (now("asked_total"), now("running"), now("dpsql_workers")) == (12, 1, 1)
    reports[3] = reported(1, 0)
    assert (now("asked_total"), now("running"), now("dpsql_workers")) == (13, 1, 2)


def test_a_nursery_forks_and_tells_of_ends_and_ends_with_its_owner() -> None:
    ended: list[tuple[int, int]] = []

    def work(descriptors: Any) -> None:
        while os.read(descriptors[0], 1) == b"x":
            pass

    nursery = Nursery(work)
    nursery.watch(lambda process, status: ended.append((process, status)), lambda: None)
    reading, writing = os.pipe()
    first, second = nursery.fork([reading]), nursery.fork([reading])
    os.close(reading)
    assert lives(first)
    os.kill(first, signal.SIGKILL)
    eventually(lambda: ended == [(first, 9)])
    os.close(writing)
    eventually(lambda: ended == [(first, 9), (second, 0)])
    nursery.close()
    assert not lives(nursery._process)
