"""``dpsql serve``: a policy opened, its shadow started, and the server running between them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from dpsql.answer import Proxy
from dpsql.policy import Policy
from dpsql.server.backend import Backend
from dpsql.server.serve import Certificate, Server
from dpsql.server.shadow import Shadow


def serve(
    policy: str | os.PathLike[str],
    host: str,
    port: int,
    certificate: Path | None,
    key: Path | None,
    tell: Callable[[str], None],
) -> None:
    """Serve a policy until the process is told to end. Raises :class:`dpsql.errors.Error` where it cannot start."""
    proxy = Proxy.open(policy)
    try:
        shadow = Shadow.start(proxy.catalog, analysts(proxy.policy), database_name(proxy.policy))
        try:
            pair = Certificate(certificate, key) if certificate is not None and key is not None else None
            server = Server(Backend(proxy, shadow), host, port, certificate=pair)
            at, number = server.address

            def listening() -> None:
                tell(f"dpsql serves {os.fspath(policy)} on {at} port {number}")
                tell(f"  psql -h {at} -p {number} -U {analysts(proxy.policy)[0]} {shadow.database}")

            server.run(listening)
        finally:
            shadow.close()
    finally:
        proxy.close()


def analysts(policy: Policy) -> tuple[str, ...]:
    """The names that may ask; a policy that names nobody has one, called analyst."""
    return tuple(policy.analysts or ()) or ("analyst",)


def database_name(policy: Policy) -> str:
    """What ``current_database()`` says: the name of the owner's database."""
    path = str(policy.database.path).partition("?")[0].rstrip("/")
    name = Path(path).stem[:63]
    return "dpsql" if name in ("", "template0", "template1") else name
