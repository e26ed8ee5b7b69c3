"""Sockets, TLS and threads: what becomes of a connection once it is accepted.

Each connection is a coroutine that reads bytes, has them answered in a thread, and writes what comes back, a chunk at a
time: a client that does not read holds up itself alone, and no statement holds up the loop. A client that hangs up is
noticed meanwhile: what it has not paid for does not run.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import signal
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from dpsql.errors import Error
from dpsql.server.certificate import Certificate
from dpsql.server.collector import settled
from dpsql.server.door import Entrance, is_loopback
from dpsql.server.operations import WAITING, LoggedOut, logs, short_turns
from dpsql.server.run_until_told import RunUntilTold
from dpsql.server.session import Backend, Gate, Peer, Protocol, Upgrade, Watch

LOGIN_SECONDS = 10.0
GRACE_SECONDS = 5.0
SPARE = 16
"""Threads beside those of statements that run or wait for a turn: they say no, and let others in."""
MOST_THREADS = 1024
"""A policy with very many analysts has no more."""
_READ = 64 * 1024
_TLS_HELLO = 0x16


class Server(RunUntilTold):
    """A proxy and its connections. ``run`` serves until ``stop`` is called or the process is told to end."""

    def __init__(
        self,
        backend: Backend,
        entrance: Entrance,
        *,
        certificate: Certificate | None = None,
        watch: Watch | None = None,
        grace: float = GRACE_SECONDS,
        encrypted: bool = False,
    ) -> None:
        """``encrypted`` asks everybody who is not on this machine for TLS; ``grace`` is how many seconds statements
        that run have to end when the server is stopped.
        """
        self._backend = backend
        self._entrance = entrance
        self._watch = watch or Watch()
        self._gate = Gate(backend.proxy.policy, encrypted=encrypted)
        self._grace = grace
        self._context = certificate.context() if certificate is not None else None
        self._der = certificate.der() if certificate is not None else None
        turns, analysts = self._watch.turns, len(backend.proxy.policy.analysts or ()) or 1
        most = min(turns.all + SPARE + analysts * WAITING, max(MOST_THREADS, turns.all + SPARE))
        self._threads = ThreadPoolExecutor(most, thread_name_prefix="dpsql-session")
        self._rows: dict[str, asyncio.Semaphore] = {}
        """By analyst: one whose statements fill many threads takes none from the others."""
        self._protocols: dict[int, Protocol] = {}
        self._connections: dict[int, asyncio.Task[None]] = {}
        self._busy: set[int] = set()
        self._door = asyncio.Lock()
        self._hurry: asyncio.Event | None = None

    @property
    def connections(self) -> tuple[int, int]:
        """How many have logged in, and how many have not yet."""
        protocols = list(self._protocols.values())
        inside = sum(protocol.ready for protocol in protocols)
        return inside, len(protocols) - inside

    def beat(self) -> Future[bool]:
        """Done when the loop that all connections wait for has gone round. Raises RuntimeError where there is none."""
        if self._loop is None:
            raise RuntimeError("the server does not run")
        return asyncio.run_coroutine_threadsafe(asyncio.sleep(0, True), self._loop)

    def alive(self) -> bool:
        """Whether the loop goes round within two seconds. Not for the loop's thread."""
        try:
            return self.beat().result(2)
        except (TimeoutError, RuntimeError):
            return False

    def run(
        self,
        listening: Callable[[], None] = lambda: None,
        *,
        hang_up: Callable[[], None] | None = None,
        ends: Sequence[signal.Signals] = (signal.SIGINT, signal.SIGTERM),
    ) -> None:
        """Serve; returns when all is stopped. ``listening`` is called once connections are accepted, ``hang_up`` at
        each SIGHUP; ``ends`` are the signals that stop it.
        """
        try:
            with settled(), short_turns():
                asyncio.run(self._run(listening, hang_up, ends))
        finally:
            self._entrance.close()
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(
        self, listening: Callable[[], None], hang_up: Callable[[], None] | None, ends: Sequence[signal.Signals]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping, self._hurry = asyncio.Event(), asyncio.Event()
        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
            for number in ends:
                self._loop.add_signal_handler(number, self._told_to_stop)
            if hang_up is not None:
                self._loop.add_signal_handler(signal.SIGHUP, hang_up)
        accepting = asyncio.create_task(self._accept())
        listening()
        await self._stopping.wait()
        logs.event(logging.INFO, "stopping", running=len(self._busy), grace=self._grace)
        accepting.cancel()
        await asyncio.wait([accepting])
        self._entrance.close()
        await self._farewell(self._hurry)
        logs.event(logging.INFO, "stopped")

    def _told_to_stop(self) -> None:
        if self._stopping is not None and self._hurry is not None:
            (self._hurry if self._stopping.is_set() else self._stopping).set()

    async def _farewell(self, hurry: asyncio.Event) -> None:
        """Those who wait are sent away now, those whose statements run when these have ended or the grace is over."""
        for number in set(self._connections) - self._busy:
            self._connections[number].cancel()
        running = [task for number, task in self._connections.items() if number in self._busy]
        if running:
            hurried = asyncio.create_task(hurry.wait())
            ended = asyncio.create_task(_all_done(running))
            await asyncio.wait([ended, hurried], timeout=self._grace, return_when=asyncio.FIRST_COMPLETED)
            hurried.cancel()
            ended.cancel()
        for protocol in list(self._protocols.values()):
            protocol.abandon()
        left = list(self._connections.values())
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=GRACE_SECONDS)

    # Connections

    async def _accept(self) -> None:
        while True:
            number, accepted = await self._entrance.accepted(lambda: self.connections)
            self._protocols[number] = self._protocol(number, accepted)
            self._connections[number] = asyncio.create_task(self._connection(number, accepted))

    def _protocol(self, number: int, accepted: socket.socket) -> Protocol:
        return Protocol(
            self._backend,
            self._gate,
            _peer(accepted),
            tls=self._context is not None,
            key=(number, secrets.token_bytes(4)),
            cancel=self._cancel,
            cancel_own=self._cancel_own,
            watch=self._watch,
            crowded=lambda analyst: self._crowded(number, analyst),
        )

    def _crowded(self, number: int, analyst: str) -> bool:
        """Whether an analyst has as many connections as one may have."""
        protocols = list(self._protocols.values())
        own = sum(one.session is not None and one.session.analyst == analyst for one in protocols)
        return self._entrance.crowded(number, analyst, own)

    async def _connection(self, number: int, accepted: socket.socket) -> None:
        protocol = self._protocols[number]
        streams: _Streams | None = None
        try:
            accepted.setblocking(False)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # A machine that vanished is noticed.
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            async with asyncio.timeout(LOGIN_SECONDS):
                streams = await self._open(accepted, protocol)
                while not (protocol.ready or protocol.closed):
                    streams = await self._turn(number, protocol, streams)
            while not protocol.closed:
                if not self.serving:
                    raise asyncio.CancelledError
                streams = await self._turn(number, protocol, streams)
        except asyncio.CancelledError:
            if streams is not None:
                streams.writer.write(protocol.goodbye())
        except (OSError, EOFError, TimeoutError):
            pass
        except Exception as unforeseen:
            logs.event(logging.ERROR, "a connection failed", error=type(unforeseen).__name__)
        finally:
            self._protocols.pop(number, None)
            self._connections.pop(number, None)
            self._entrance.ended(number)
            protocol.abandon()
            if protocol.session is not None:
                with contextlib.suppress(Error):
                    self._watch.tell(LoggedOut(protocol.session.client))
            with contextlib.suppress(OSError, RuntimeError):
                if streams is not None:
                    streams.writer.close()
                else:
                    accepted.close()

    async def _open(self, accepted: socket.socket, protocol: Protocol) -> _Streams:
        """Streams of a connection; one that begins with TLS is encrypted from its first byte on."""
        loop = asyncio.get_running_loop()
        first = await _peek(accepted)
        direct = first == bytes([_TLS_HELLO]) and self._context is not None
        reader, streams = _reader(protocol.hung_up)
        transport, _ = await loop.connect_accepted_socket(
            lambda: streams, accepted, ssl=self._context if direct else None
        )
        writer = asyncio.StreamWriter(transport, streams, reader, loop)
        if direct:
            tls = writer.get_extra_info("ssl_object")
            if tls is None or tls.selected_alpn_protocol() != "postgresql":
                raise EOFError
            protocol.peer = replace(protocol.peer, certificate=self._der)
        return _Streams(reader, writer)

    async def _turn(self, number: int, protocol: Protocol, streams: _Streams) -> _Streams:
        """Read once, and answer all that is whole."""
        data = await streams.reader.read(_READ)
        if not data:
            raise EOFError
        protocol.feed(data)
        if not protocol.asked:
            # Who sends a byte now and then takes no thread from those who ask.
            return streams
        self._busy.add(number)
        try:
            # What is written before the thread ends goes out before what it answers: both are calls of the loop.
            loop, writer = asyncio.get_running_loop(), streams.writer
            protocol.aside = lambda data: _written(loop, writer, data)
            answers = protocol.respond()
            while (chunk := await self._next(protocol, answers)) is not None:
                if protocol.upgrade is Upgrade.TLS:
                    # What comes after our answer belongs to the handshake.
                    streams.writer.transport.pause_reading()  # type: ignore[attr-defined]
                streams.writer.write(chunk)
                await streams.writer.drain()
        finally:
            self._busy.discard(number)
        if protocol.upgrade is Upgrade.TLS and self._context is not None:
            return await self._encrypted(protocol, streams, self._context)
        return streams

    async def _next(self, protocol: Protocol, answers: Iterator[bytes]) -> bytes | None:
        """What is to be written next. Strangers are answered one after the other: however many knock at once, those who
        have logged in wait for one of them. Those who have wait behind others of the same analyst alone."""
        async with self._door if protocol.session is None else self._row(protocol.session.analyst):
            return await asyncio.get_running_loop().run_in_executor(self._threads, _gathered, answers)

    def _row(self, analyst: str) -> asyncio.Semaphore:
        if analyst not in self._rows:
            self._rows[analyst] = asyncio.Semaphore(self._watch.turns.each + WAITING)
        return self._rows[analyst]

    async def _encrypted(self, protocol: Protocol, streams: _Streams, context: ssl.SSLContext) -> _Streams:
        """The same connection with TLS. What was sent in clear before the handshake is not read as if it had come
        through it (CVE-2021-23214): there is a new reader.
        """
        if protocol.buffered:
            raise EOFError
        loop = asyncio.get_running_loop()
        reader, fresh = _reader(protocol.hung_up)
        transport = await loop.start_tls(streams.writer.transport, fresh, context, server_side=True)
        if transport is None:
            raise EOFError
        fresh.connection_made(transport)
        protocol.upgrade = Upgrade.NONE
        protocol.peer = replace(protocol.peer, certificate=self._der)
        return _Streams(reader, asyncio.StreamWriter(transport, fresh, reader, loop), streams)

    def _cancel(self, pid: int, secret: bytes) -> None:
        if pid in self._protocols:
            self.cancel(pid, secret)
        else:
            self._entrance.cancel(pid, secret)

    def _cancel_own(self, pid: int, analyst: str) -> bool:
        if pid in self._protocols:
            return self.cancel_own(pid, analyst)
        return self._entrance.cancel_own(pid, analyst)

    def cancel_own(self, pid: int, analyst: str) -> bool:
        """Cancel what runs on a connection of this server, for the analyst whose it is; whether it is. From any
        thread."""
        found = self._protocols.get(pid)
        if found is None or found.session is None or found.session.analyst != analyst:
            return False
        found.cancel()
        return True

    def cancel(self, pid: int, secret: bytes) -> None:
        """Cancel what runs on a connection of this server, for who knows its secret. From any thread."""
        found = self._protocols.get(pid)
        if found is not None and secrets.compare_digest(found.key[1], secret):
            found.cancel()


@dataclass(frozen=True, slots=True)
class _Streams:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    beneath: _Streams | None = None
    """Those in clear, which TLS runs over: a writer that nobody holds closes its transport."""


class _Line(asyncio.StreamReaderProtocol):
    """Tells that a client has hung up when it does, even while nobody reads since a statement runs or waits."""

    def __init__(self, reader: asyncio.StreamReader, hung_up: Callable[[], None]) -> None:
        super().__init__(reader)
        self._hung_up = hung_up

    def eof_received(self) -> bool | None:
        self._hung_up()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._hung_up()
        super().connection_lost(exc)


def _reader(hung_up: Callable[[], None]) -> tuple[asyncio.StreamReader, _Line]:
    reader = asyncio.StreamReader(limit=_READ)
    return reader, _Line(reader, hung_up)


def _written(loop: asyncio.AbstractEventLoop, writer: asyncio.StreamWriter, data: bytes) -> None:
    """From another thread; of a client that is gone, nothing."""

    def write() -> None:
        if not writer.is_closing():
            writer.write(data)

    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(write)


def _gathered(answers: Iterator[bytes]) -> bytes | None:
    """The next bytes to write: small answers together, large ones a chunk at a time. None at the end."""
    parts: list[bytes] = []
    size = 0
    for part in answers:
        parts.append(part)
        size += len(part)
        if size >= _READ:
            break
    return b"".join(parts) if parts else None


async def _all_done(tasks: list[asyncio.Task[None]]) -> bool:
    await asyncio.wait(tasks)
    return True


async def _peek(accepted: socket.socket) -> bytes:
    """The first byte, left where it is."""
    loop = asyncio.get_running_loop()
    readable = loop.create_future()

    def wake() -> None:
        if not readable.done():
            readable.set_result(None)

    loop.add_reader(accepted, wake)
    try:
        await readable
    finally:
        loop.remove_reader(accepted)
    return accepted.recv(1, socket.MSG_PEEK)


def _peer(accepted: socket.socket) -> Peer:
    try:
        address = accepted.getpeername()[0].partition("%")[0]
    except OSError:
        # It has gone already.
        return Peer(loopback=False)
    return Peer(is_loopback(address), address=address)
