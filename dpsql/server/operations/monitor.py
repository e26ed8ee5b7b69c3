"""A small HTTP server for the operator's tools, on this machine alone: ``/metrics``, ``/health`` and ``/ready``.

``/health`` says that the process lives and serves: where it does not, start it anew. ``/ready`` says that an analyst
would be answered now; where not, why. Neither costs anything nor reads a row.

Whoever is on this machine reaches it, an analyst too, who may not see how long the statements of others take and which
of them fail. So ``/metrics`` asks for a password (HTTP Basic, any name) where there is one.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from dpsql.errors import OperationalError

HOST = "127.0.0.1"
_PATIENCE = 5.0


class Monitor:
    """Serves from ``start`` until ``close``, in threads of its own."""

    def __init__(
        self,
        port: int,
        registry: CollectorRegistry,
        alive: Callable[[], bool],
        problems: Callable[[], tuple[str, ...]],
        password: str | None = None,
    ) -> None:
        """``problems`` are why no analyst is answered now. Raises :class:`OperationalError`."""

        class Handler(_Handler):
            pages = {  # noqa: RUF012
                "/metrics": lambda handler: handler.metrics(registry, password),
                "/health": lambda handler: handler.state("alive", () if alive() else ("the server hangs",)),
                "/ready": lambda handler: handler.state("ready", problems()),
            }

        try:
            self._server = ThreadingHTTPServer((HOST, port), Handler)
        except OSError as problem:
            raise OperationalError(
                f"cannot listen on {HOST} port {port}: {problem.strerror}", sqlstate="58030", hint="--metrics-port N"
            ) from None
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="dpsql monitor", daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """One request. Its words never reach a log."""

    pages: dict[str, Callable[[_Handler], None]]
    timeout = _PATIENCE
    server_version = "dpsql"
    sys_version = ""

    def do_GET(self) -> None:
        page = self.pages.get(self.path.partition("?")[0])
        if not _is_ours(self.headers.get("Host", "")):
            # A page from elsewhere whose name was made to mean this machine.
            self._send(403, "text/plain", b"ask by the name of this machine\n")
        elif page is None:
            self._send(404, "text/plain", b"/metrics, /health, /ready\n")
        else:
            page(self)

    def metrics(self, registry: CollectorRegistry, password: str | None) -> None:
        if password is not None and not _has(self.headers.get("Authorization", ""), password):
            self._send(401, "text/plain", b"the password of the metrics is asked for\n")
            return
        encoder, kind = choose_encoder(self.headers.get("Accept", ""))
        self._send(200, kind, encoder(registry))

    def state(self, word: str, problems: tuple[str, ...]) -> None:
        body = json.dumps({word: not problems, "problems": list(problems)}) + "\n"
        self._send(503 if problems else 200, "application/json", body.encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="dpsql", charset="UTF-8"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing: what is asked here is no news."""


def _has(authorization: str, password: str) -> bool:
    """Whether a header has the password, under any name.

    >>> _has("Basic " + base64.b64encode(b"prometheus:open sesame").decode(), "open sesame"), _has("", "open sesame")
    (True, False)
    """
    scheme, _, value = authorization.partition(" ")
    try:
        given = base64.b64decode(value.strip(), validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return False
    return scheme.lower() == "basic" and hmac.compare_digest(given, password.encode())


def _is_ours(host: str) -> bool:
    """Whether a Host header names this machine.

    >>> _is_ours("127.0.0.1:9187"), _is_ours("localhost"), _is_ours("[::1]:80"), _is_ours("evil.example:9187")
    (True, True, True, False)
    """
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    if name.lower() in ("localhost", ""):
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
