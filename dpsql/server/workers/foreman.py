"""The process that analysts never reach: it holds the door, the ledger and the shadow, and has workers answer.

It hands each connection to the worker that has the fewest, charges for all of them with one writer, counts an analyst's
connections, and carries a cancellation to the worker that it is meant for. A worker that ends is replaced; the others
go on. Where the foreman itself ends, in whatever way, its workers end with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpsql.errors import Error, OperationalError
from dpsql.ledger import Ledger
from dpsql.policy import LimitsSection
from dpsql.server.door import Door, turn_away
from dpsql.server.operations import logs, short_turns
from dpsql.server.run_until_told import RunUntilTold
from dpsql.server.workers.calls import (
    CancelCall,
    CancelOwnCall,
    ChargeCall,
    EndedCall,
    HealthCall,
    LoginCall,
    ReopenCall,
    Report,
    ReportCall,
    StartCall,
    StopCall,
)
from dpsql.server.workers.nursery import Nursery
from dpsql.server.workers.remote_calls import RemoteCalls
from dpsql.server.workers.worker import NUMBER

if TYPE_CHECKING:
    from prometheus_client.core import Metric

PATIENCE = 2.0
"""Seconds in which a worker says how it is."""
FAREWELL = 7.0
"""Seconds beyond the grace in which workers end by themselves."""
BEGINNING = 600.0
"""Seconds in which a worker opens the policy; then another one is tried."""
PAUSE, LONGEST_PAUSE = 0.1, 30.0
"""Seconds before a worker is replaced: twice as many each time that one does not come to serve."""


@dataclass(slots=True, eq=False)
class _Hand:
    """A worker, as the foreman has it. ``gone`` is when it has ended."""

    process: int
    line: RemoteCalls
    through: socket.socket
    serves: bool = False
    gone: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class _Guest:
    """A connection: who has it, and which analyst came in by it."""

    hand: _Hand
    analyst: str | None = None


class Foreman(RunUntilTold):
    """Serves with ``count`` workers. ``run`` serves until ``stop`` is called or the process is told to end."""

    def __init__(
        self,
        nursery: Nursery,
        door: Door,
        ledger: Ledger,
        limits: LimitsSection,
        start: StartCall,
        count: int,
        grace: float,
    ) -> None:
        self._nursery = nursery
        self._door = door
        self._ledger = ledger
        self._limits = limits
        self._start = start
        self._count = count
        self._grace = grace
        self._seats = os.memfd_create("dpsql seats")
        self._hands: list[_Hand] = []
        self._guests: dict[int, _Guest] = {}
        self._lock = threading.Lock()
        self._told = 0
        self._broken: Error | None = None

    @property
    def connections(self) -> tuple[int, int]:
        """How many have logged in, and how many have not yet."""
        with self._lock:
            inside = sum(guest.analyst is not None for guest in self._guests.values())
            return inside, len(self._guests) - inside

    @property
    def workers(self) -> tuple[int, ...]:
        """The processes that answer."""
        return tuple(hand.process for hand in self._hands if hand.serves)

    def alive(self) -> bool:
        """Whether the foreman's loop and those of all workers go round. Not for the loop's thread."""
        if self._loop is None:
            return False
        try:
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self._loop).result(PATIENCE)
        except (TimeoutError, RuntimeError):
            return False
        beats = self._asked(HealthCall())
        return bool(beats) and all(beat is True for beat in beats.values())

    def reports(self) -> Mapping[int, Report]:
        """How each worker is, by its process; one that does not say so in time is left out."""
        return {process: one for process, one in self._asked(ReportCall()).items() if isinstance(one, Report)}

    def figures(self) -> Mapping[int, Sequence[Metric]]:
        return {process: report.figures for process, report in self.reports().items()}

    def problems(self) -> tuple[str, ...]:
        """Why an analyst might not be answered now."""
        reports, found = self.reports(), []
        if not self.serving:
            found.append("not accepting connections")
        if len(reports) < self._count:
            found.append("a worker is missing")
        if sum(report.running for report in reports.values()) >= self._limits.statements:
            found.append("too many statements run")
        return tuple(dict.fromkeys([*found, *(one for report in reports.values() for one in report.problems)]))

    def run(self, listening: Callable[[], None] = lambda: None) -> None:
        """Serve; returns when all is stopped. ``listening`` is called once connections are accepted.

        Raises :class:`Error` where no worker can serve.
        """
        try:
            with short_turns():
                asyncio.run(self._run(listening))
        finally:
            self._door.close()
            os.close(self._seats)
        if self._broken is not None:
            raise self._broken

    async def _run(self, listening: Callable[[], None]) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        self._nursery.watch(self._told_of_an_end, self._lost_the_nursery)
        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
            for number in (signal.SIGINT, signal.SIGTERM):
                self._loop.add_signal_handler(number, self._told_to_stop)
            self._loop.add_signal_handler(signal.SIGHUP, self._reopen)
        keeping: list[asyncio.Task[None]] = []
        try:
            await asyncio.gather(*(self._hired() for _ in range(self._count)))
        except Error as problem:
            self._broken = problem
            self._stopping.set()
        else:
            keeping = [asyncio.create_task(self._kept(hand)) for hand in list(self._hands)]
            keeping.append(asyncio.create_task(self._accept()))
            listening()
        await self._stopping.wait()
        logs.event(logging.INFO, "stopping", connections=len(self._guests), grace=self._grace)
        for task in keeping:
            task.cancel()
        await asyncio.wait([*keeping, asyncio.create_task(asyncio.sleep(0))])
        self._door.close()
        await self._farewell()
        logs.event(logging.INFO, "stopped")

    # Workers

    async def _hired(self) -> _Hand:
        """One more worker, once it serves. Raises :class:`Error`."""
        line, its_line = socket.socketpair()
        through, its_through = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        through.setblocking(False)
        its = [its_line.detach(), its_through.detach()]
        loop = asyncio.get_running_loop()
        try:
            process = await loop.run_in_executor(None, self._nursery.fork, [*its, self._seats])
        except OSError as problem:
            raise OperationalError(f"no worker can be started: {problem}", sqlstate="58000") from None
        finally:
            for one in its:
                os.close(one)
        hand = _Hand(process, RemoteCalls(line.detach()), through)
        self._hands.append(hand)
        hand.line.open(lambda call: self._answer(hand, call), lambda: _soon(loop, self._gone, hand))
        try:
            await asyncio.wait_for(asyncio.wrap_future(hand.line.ask(self._start)), BEGINNING)
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            raise OperationalError(
                f"a worker did not come to serve within {BEGINNING:g} seconds", sqlstate="58000"
            ) from None
        hand.serves = True
        return hand

    async def _kept(self, hand: _Hand) -> None:
        """Wait until a worker ends, and replace it, for ever."""
        pause = PAUSE
        while True:
            await hand.gone.wait()
            while True:
                began = time.monotonic()
                try:
                    hand = await self._hired()
                    break
                except Error as problem:
                    logs.event(
                        logging.ERROR, "a worker cannot serve", sqlstate=problem.sqlstate, reason=problem.message
                    )
                    await asyncio.sleep(max(0.0, pause - (time.monotonic() - began)))
                    pause = min(2 * pause, LONGEST_PAUSE)
            pause = PAUSE
            logs.event(logging.INFO, "a worker was replaced", process=hand.process)

    def _gone(self, hand: _Hand) -> None:
        """Its connections ended with it; what it was charged stays charged."""
        if hand in self._hands:
            self._hands.remove(hand)
        hand.serves = False
        hand.through.close()
        with self._lock:
            for number in [number for number, guest in self._guests.items() if guest.hand is hand]:
                del self._guests[number]
        hand.line.close()
        hand.gone.set()

    def _told_of_an_end(self, process: int, status: int) -> None:
        code = os.waitstatus_to_exitcode(status)
        if self.serving or code:
            logs.event(logging.ERROR, "a worker has ended", process=process, status=code)

    def _lost_the_nursery(self) -> None:
        if self.serving:
            self._broken = OperationalError("the process that workers are forked from has ended", sqlstate="58000")
            self.stop()

    def _asked(self, call: object) -> dict[int, object]:
        """The answers of all workers that serve, in time; None for one that gives none."""
        end = time.monotonic() + PATIENCE
        asked: dict[int, Future[Any]] = {}
        for hand in list(self._hands):
            if hand.serves:
                with contextlib.suppress(Error):
                    asked[hand.process] = hand.line.ask(call)
        answers: dict[int, object] = {}
        for process, answer in asked.items():
            try:
                answers[process] = answer.result(max(0.0, end - time.monotonic()))
            except (TimeoutError, Error):
                answers[process] = None
        return answers

    # Calls of workers, in the thread of a line

    def _answer(self, hand: _Hand, call: object) -> object:
        match call:
            case ChargeCall(charges):
                return self._ledger.admit(charges)
            case LoginCall(number, analyst):
                return self._crowded(number, analyst)
            case EndedCall(number):
                with self._lock:
                    self._guests.pop(number, None)
            case CancelCall(number, _):
                guest = self._guests.get(number)
                if guest is not None and guest.hand is not hand:
                    guest.hand.line.tell(call)
            case CancelOwnCall(number, analyst):
                guest = self._guests.get(number)
                if guest is None or guest.hand is hand or guest.analyst != analyst:
                    return False
                guest.hand.line.tell(call)
                return True
        return None

    def _crowded(self, number: int, analyst: str) -> bool:
        """Whether an analyst has as many connections as one may have; if not, this is one of them."""
        with self._lock:
            own = sum(guest.analyst == analyst for guest in self._guests.values())
            guest = self._guests.get(number)
            if guest is None or self._door.crowded(number, analyst, own):
                return True
            guest.analyst = analyst
        return False

    # Connections

    async def _accept(self) -> None:
        while True:
            number, accepted = await self._door.accepted(lambda: self.connections)
            with contextlib.suppress(OSError):
                self._hand_over(number, accepted)
            accepted.close()

    def _hand_over(self, number: int, accepted: socket.socket) -> None:
        """Give a connection to the worker that has the fewest."""
        with self._lock:
            many = {hand: 0 for hand in self._hands if hand.serves}
            for guest in self._guests.values():
                if guest.hand in many:
                    many[guest.hand] += 1
            for hand in sorted(many, key=lambda hand: many[hand]):
                # Before it is sent: the worker may be done with it at once.
                self._guests[number] = _Guest(hand)
                try:
                    socket.send_fds(hand.through, [NUMBER.pack(number)], [accepted.fileno()])
                    return
                except OSError:
                    # It has ended, or does not look: the next one may.
                    del self._guests[number]
        turn_away(accepted)

    # The end

    def _told_to_stop(self) -> None:
        self._told += 1
        if self._stopping is not None:
            self._stopping.set()
        if self._told > 1:
            self._tell(StopCall())

    def _reopen(self) -> None:
        self._tell(ReopenCall())

    def _tell(self, news: object) -> None:
        for hand in list(self._hands):
            hand.line.tell(news)

    async def _farewell(self) -> None:
        """Workers end when what they run has ended or the grace is over; those that do not are killed."""
        self._tell(StopCall())
        if self._told > 1:
            self._tell(StopCall())
        left = [asyncio.create_task(hand.gone.wait()) for hand in self._hands if hand.serves]
        if left:
            await asyncio.wait(left, timeout=self._grace + FAREWELL)
        for hand in list(self._hands):
            with contextlib.suppress(ProcessLookupError):
                os.kill(hand.process, signal.SIGKILL)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(hand.gone.wait(), PATIENCE)


def _soon(loop: asyncio.AbstractEventLoop, act: Callable[[_Hand], None], hand: _Hand) -> None:
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(act, hand)
