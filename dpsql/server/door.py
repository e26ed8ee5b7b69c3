"""Where connections come from: a socket that is listened on, and how many may be open at once.

Connections are accepted at a pace. Beyond the limits a connection is told so, and closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import itertools
import logging
import socket
from collections.abc import Callable
from typing import Protocol

from dpsql.errors import OperationalError
from dpsql.policy import LimitsSection
from dpsql.server.operations import Pace, logs
from dpsql.server.wire import error

MAX_STRANGERS = 200
"""Connections that have not logged in yet."""

Counts = Callable[[], tuple[int, int]]
"""How many connections have logged in, and how many have not yet."""


class Entrance(Protocol):
    """What a server asks of the place that its connections come from."""

    async def accepted(self, counts: Counts) -> tuple[int, socket.socket]:
        """The next connection, and its number, which no other one of the same server has."""

    def crowded(self, number: int, analyst: str, own: int) -> bool:
        """Whether an analyst, who has ``own`` other connections here, may not have this one too."""

    def cancel(self, number: int, secret: bytes) -> None:
        """Cancel what runs on a connection that is not here."""

    def cancel_own(self, number: int, analyst: str) -> bool:
        """The same, for the analyst whose connection it is; whether it is."""

    def ended(self, number: int) -> None:
        """A connection is over."""

    def close(self) -> None:
        """Nobody else comes in."""


class Door:
    """A listening socket."""

    def __init__(self, host: str, port: int, limits: LimitsSection | None = None) -> None:
        """Raises :class:`OperationalError` where it cannot be listened on."""
        self._limits = limits or LimitsSection()
        self._listener = _listen(host, port)
        self.address: tuple[str, int] = self._listener.getsockname()[:2]
        self._numbers = itertools.count(1)
        self._pace = Pace()
        self._pause = 0.0

    async def accepted(self, counts: Counts) -> tuple[int, socket.socket]:
        loop = asyncio.get_running_loop()
        while True:
            # Those who wait to be accepted do not hold up those who were.
            await asyncio.sleep(self._pause)
            try:
                accepted, _ = await loop.sock_accept(self._listener)
            except OSError as problem:
                # Out of file descriptors: those who are connected go on.
                logs.event(logging.ERROR, "a connection could not be accepted", error=type(problem).__name__)
                await asyncio.sleep(0.1)
                continue
            self._pause = self._pace.wait(loop.time())
            inside, strangers = counts()
            if inside + strangers < self._limits.connections and strangers < MAX_STRANGERS:
                return next(self._numbers) & 0x7FFFFFFF, accepted
            turn_away(accepted)

    def crowded(self, number: int, analyst: str, own: int) -> bool:
        return own >= self._limits.connections_per_analyst

    def cancel(self, number: int, secret: bytes) -> None:
        """All connections are here."""

    def cancel_own(self, number: int, analyst: str) -> bool:
        return False

    def ended(self, number: int) -> None:
        """Who counts them knows."""

    def close(self) -> None:
        # So that nobody waits in its queue for a server that will never come.
        self._listener.close()


def turn_away(accepted: socket.socket) -> None:
    with contextlib.suppress(OSError):
        accepted.send(error("FATAL", "53300", "sorry, too many clients already"))
    accepted.close()


def is_loopback(address: str) -> bool:
    """Whether an IP address is this machine's own, for itself.

    >>> is_loopback("127.0.0.9"), is_loopback("::ffff:127.0.0.1"), is_loopback("0.0.0.0"), is_loopback("10.0.0.1")
    (True, True, False, False)
    """
    found = ipaddress.ip_address(address)
    mapped = getattr(found, "ipv4_mapped", None)
    return bool((mapped or found).is_loopback)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, number)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1024)
        listener.setblocking(False)
    except OSError as problem:
        raise OperationalError(
            f"cannot listen on {host} port {port}: {problem.strerror or problem}",
            sqlstate="58030",
            hint="choose another --port",
        ) from None
    return listener
