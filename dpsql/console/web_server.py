"""The console's own server: HTTP or HTTPS in a thread beside the server that it asks."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable

import uvicorn

from dpsql.console.pages import ConsoleFacts, Pages
from dpsql.console.questions import ServerAddress
from dpsql.errors import OperationalError
from dpsql.server.certificate import Certificate
from dpsql.server.door import is_loopback
from dpsql.server.start import Listening

_PATIENCE = 5.0


def console_beside(host: str, port: int, *, what_if: bool = False) -> Callable[[Listening], Console]:
    """What starts a console beside a server that listens. ``what_if``: owners on this machine may try bounds."""

    def start(listening: Listening) -> Console:
        loopback = _is_loopback(host)
        if not loopback:
            _check_exposed(host, listening, what_if)
        asked = "127.0.0.1" if listening.host == "0.0.0.0" else "::1" if listening.host == "::" else listening.host  # noqa: S104
        encrypted = listening.certificate is not None
        facts = ConsoleFacts(
            listening.policy,
            listening.ledger,
            ServerAddress(asked, listening.port, listening.database, encrypted),
            loopback=loopback,
            encrypted=encrypted,
            problems=listening.problems,
            warnings=listening.warnings,
            what_if=what_if,
        )
        console = Console(facts, host, port, listening.certificate)
        console.start()
        return console

    return start


def _check_exposed(host: str, listening: Listening, what_if: bool) -> None:
    """Raise :class:`OperationalError` where others could read along, or nobody could come in."""
    if what_if:
        raise OperationalError(
            "--what-if shows true numbers, and a console that others reach must not",
            sqlstate="F0000",
            hint="leave --console-host at 127.0.0.1, or serve a second console for the owner",
        )
    if listening.certificate is None:
        raise OperationalError(
            f"a console on {host or 'all addresses'} would send passwords in clear",
            sqlstate="F0000",
            hint="give --tls-certificate FILE --tls-key FILE, or leave --console-host at 127.0.0.1",
        )
    analysts = listening.policy.analysts or {}
    if not any(one.password for one in analysts.values()) and not listening.policy.owners:
        raise OperationalError(
            "nobody has a password for the console", sqlstate="F0000", hint="make verifiers with dpsql passwd NAME"
        )


def _is_loopback(host: str) -> bool:
    try:
        found = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as problem:
        raise OperationalError(f"there is no address {host}: {problem.strerror}", sqlstate="58030") from None
    return all(is_loopback(str(address[0]).partition("%")[0]) for *_, address in found)


class Console:
    """Serves from ``start`` until ``close``, in a thread of its own."""

    def __init__(self, facts: ConsoleFacts, host: str, port: int, certificate: Certificate | None) -> None:
        """Raises :class:`OperationalError` where the port is taken."""
        self._pages = Pages(facts)
        self._socket = _listening(host, port)
        self.address: tuple[str, int] = self._socket.getsockname()[:2]
        self.encrypted = certificate is not None
        config = uvicorn.Config(
            self._pages.app, log_config=None, log_level=logging.CRITICAL, access_log=False, server_header=False,
            date_header=False, lifespan="off", ws="none", timeout_keep_alive=5, timeout_graceful_shutdown=2,
            limit_concurrency=200, h11_max_incomplete_event_size=64 * 1024, proxy_headers=False,
            ssl_certfile=None if certificate is None else str(certificate.certificate),
            ssl_keyfile=None if certificate is None else str(certificate.key),
        )  # fmt: skip
        # Signals are the other server's matter: this one does not run in the main thread.
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="dpsql console", daemon=True
        )

    @property
    def url(self) -> str:
        host, port = self.address
        shown = f"[{host}]" if ":" in host else host
        return f"{'https' if self.encrypted else 'http'}://{shown}:{port}/"

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(_PATIENCE)
        self._socket.close()
        self._pages.sessions.close()


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, number)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except OSError as problem:
        raise OperationalError(
            f"cannot listen on {host} port {port}: {problem.strerror}", sqlstate="58030", hint="--console-port N"
        ) from None
    return found
