"""One of the processes that answer: its sessions, its engine and its noise; the foreman charges, and counts heads.

Guarantee: nothing is read before the foreman says that it is paid for, durably; and where the foreman has ended this
process ends, too, in the middle of whatever it does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import socket
import struct
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path

from dpsql.engines import WatchedFiles
from dpsql.errors import Error, OperationalError
from dpsql.ledger import Charge
from dpsql.opened import open_beside
from dpsql.policy import Policy
from dpsql.proxy import Proxy
from dpsql.server.door import Counts
from dpsql.server.operations import Seats, Turns, logs
from dpsql.server.serving import Parts, Serving, analysts, database_name, made
from dpsql.server.shadow import Shadow
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
from dpsql.server.workers.remote_calls import RemoteCalls
from dpsql.shared_locks import SharedLocks

NUMBER = struct.Struct("!i")
"""Of a connection that is handed over, beside its socket."""
_PATIENCE = 30.0
"""Seconds for an answer of the foreman, who waits for nobody when it gives one."""


def work(serving: Serving, policy: Policy, descriptors: Sequence[int]) -> None:
    """Be a worker, in a process that was forked for it, until the foreman says that it is over, or ends.

    ``descriptors`` are those of the line, of the socket that connections come through, and of the file of seats.
    """
    log = logs.Log.start(serving.log_format, serving.log_level, engine_errors=serving.log_engine_errors)
    with contextlib.suppress(OSError):
        # Where memory runs out, a worker is ended rather than the foreman, with whom all would end.
        Path("/proc/self/oom_score_adj").write_text("300")
    try:
        Worker(serving, policy, log, *descriptors).run()
    except Exception as problem:
        logs.event(logging.CRITICAL, "a worker fails", error=type(problem).__name__)
        raise
    finally:
        log.close()


class AskingWriter:
    """The writer of a ledger that is charged by the foreman."""

    def __init__(self, line: RemoteCalls) -> None:
        self._line = line

    def submit(self, charges: tuple[Charge, ...]) -> Future[None]:
        return self._line.ask(ChargeCall(charges))

    @property
    def stopped(self) -> bool:
        """The foreman knows."""
        return False

    def close(self) -> None:
        """What was asked is answered, or fails with the line."""


class HandedOver:
    """An entrance through which the foreman hands connections over."""

    def __init__(self, through: socket.socket, line: RemoteCalls) -> None:
        through.setblocking(False)
        self._through = through
        self._line = line

    async def accepted(self, counts: Counts) -> tuple[int, socket.socket]:
        while True:
            try:
                data, descriptors, _, _ = socket.recv_fds(
                    self._through, NUMBER.size, 1, getattr(socket, "MSG_CMSG_CLOEXEC", 0)
                )
            except BlockingIOError:
                await _readable(self._through)
                continue
            if descriptors:
                return NUMBER.unpack(data)[0], socket.socket(fileno=descriptors[0])
            if not data:
                # The foreman hangs up; what that means is the line's to say.
                await asyncio.Event().wait()

    def crowded(self, number: int, analyst: str, own: int) -> bool:
        try:
            return bool(self._line.ask(LoginCall(number, analyst)).result(_PATIENCE))
        except TimeoutError:
            return True  # told to come again

    def cancel(self, number: int, secret: bytes) -> None:
        self._line.tell(CancelCall(number, secret))

    def cancel_own(self, number: int, analyst: str) -> bool:
        try:
            return bool(self._line.ask(CancelOwnCall(number, analyst)).result(_PATIENCE))
        except TimeoutError:
            return False

    def ended(self, number: int) -> None:
        self._line.tell(EndedCall(number))

    def close(self) -> None:
        self._through.close()


async def _readable(one: socket.socket) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(one, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(one)


class Worker:
    """Answers the foreman's calls from a thread of the line, and serves in the main one."""

    def __init__(self, serving: Serving, policy: Policy, log: logs.Log, line: int, through: int, seats: int) -> None:
        self._serving = serving
        self._policy = policy
        self._log = log
        self._line = RemoteCalls(line)
        self._entrance = HandedOver(socket.socket(fileno=through), self._line)
        # A description of its own of the same file: it is the description that holds locks.
        self._seats = SharedLocks(f"/proc/self/fd/{seats}")
        os.close(seats)
        self._calls: queue.SimpleQueue[tuple[StartCall, Future[None]]] = queue.SimpleQueue()
        self._parts: Parts | None = None

    def run(self) -> None:
        self._line.open(self._answer, lambda: os._exit(1))
        call, ready = self._calls.get()
        try:
            with ExitStack() as stack:
                parts = self._parts = self._opened(call, stack)
                parts.server.run(lambda: ready.set_result(None), ends=())
        except Error as problem:
            if ready.done():
                raise
            ready.set_exception(problem)
        self._line.close()

    def _opened(self, call: StartCall, stack: ExitStack) -> Parts:
        serving, policy = self._serving, self._policy
        before = _compared(call, policy)
        replaced, writer = before != call.database, AskingWriter(self._line)
        proxy = Proxy.of(open_beside(policy, call.catalog, writer, serving.workers, replaced=replaced))
        stack.callback(proxy.close)
        if _compared(call, policy) != before:
            raise _REPLACED
        shadow = Shadow(call.shadow, database_name(policy), analysts(policy), processes=serving.workers)
        stack.callback(shadow.close)
        limits = policy.limits
        turns = Turns(limits.statements, limits.statements_per_analyst, limits.wait, seats=Seats(self._seats))
        return made(serving, proxy, shadow, self._log, stack, self._entrance, turns)

    def _answer(self, call: object) -> object:
        parts = self._parts
        match call:
            case StartCall():
                ready: Future[None] = Future()
                self._calls.put((call, ready))
                return ready
            case _ if parts is None:
                return None
            case CancelCall(number, secret):
                parts.server.cancel(number, secret)
            case CancelOwnCall(number, analyst):
                parts.server.cancel_own(number, analyst)
            case HealthCall():
                return parts.server.beat()
            case ReportCall():
                return Report(tuple(parts.metrics.registry.collect()), parts.problems(), parts.watch.turns.running)
            case ReopenCall():
                parts.reopen()
            case StopCall():
                parts.server.stop()
        return None


_Files = tuple[tuple[int, ...], ...] | None
_REPLACED = OperationalError(
    "a file of the database was replaced while it was served", sqlstate="F0000", hint="start dpsql anew"
)


def _compared(call: StartCall, policy: Policy) -> _Files:
    """The files that the database is now. Raises :class:`OperationalError` where it is another database file than the
    foreman's; tables that are files may have been replaced."""
    files = database_files(policy)
    own = 1 if policy.database.address.is_file else 0
    if (call.database or ())[:own] != (files or ())[:own] or (call.database is None) != (files is None):
        raise _REPLACED
    return files


def database_files(policy: Policy) -> _Files:
    """Which files the database is, wherever their names may lead later; None where it is a server.

    A database may be written to before it is opened; a file that is a table may not.
    """
    if policy.database.address.is_server:
        return None
    try:
        found = WatchedFiles.of(policy.files)
        own = os.stat(policy.database.path) if policy.database.address.is_file else None
    except (OSError, Error):
        return None
    listed = tuple(one[:-1] for one in found.fingerprints.values())
    return listed if own is None else ((own.st_dev, own.st_ino), *listed)
