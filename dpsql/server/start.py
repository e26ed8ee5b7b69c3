"""``dpsql serve``: a policy opened, its shadow started, and the server running between them."""

from __future__ import annotations

import logging
import os
import resource
import socket
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpsql.errors import Error, OperationalError
from dpsql.policy import Policy
from dpsql.proxy import Proxy
from dpsql.server.operations import Audit, Observer, Turns, logs
from dpsql.server.serve import GRACE_SECONDS, Certificate, Server, is_loopback
from dpsql.server.session import Backend, Watch
from dpsql.server.shadow import Shadow

if TYPE_CHECKING:
    from dpsql.server.operations import Monitor

REFUSED = "F0000"


@dataclass(frozen=True, slots=True)
class Serving:
    """How a policy is served."""

    policy: Path
    host: str = "127.0.0.1"
    port: int = 5433
    certificate: Certificate | None = None
    without_tls: bool = False
    without_passwords: bool = False
    audit: Path | None = None
    metrics_port: int | None = None
    log_format: str = "text"
    log_level: str = "info"
    log_engine_errors: bool = False
    grace: float = GRACE_SECONDS


def serve(serving: Serving) -> None:
    """Serve a policy until the process is told to end. Raises :class:`dpsql.errors.Error` where it cannot start."""
    log = logs.Log.start(serving.log_format, serving.log_level, engine_errors=serving.log_engine_errors)
    # What this process and the shadow hold in memory is not left on a disk when they die.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with ExitStack() as stack:
        stack.callback(log.close)
        proxy = Proxy.open(serving.policy)
        stack.callback(proxy.close)
        check_exposure(serving, proxy.policy)
        shadow = Shadow.start(proxy.catalog, analysts(proxy.policy), database_name(proxy.policy))
        stack.callback(shadow.close)
        for concern in proxy.concerns():
            logs.event(logging.WARNING, concern.text, table=concern.table)
        if serving.certificate is not None and serving.certificate.open_to_others:
            logs.event(logging.WARNING, "other users of this machine may read the key of the certificate")
        parts = made(serving, proxy, shadow, log, stack)

        def listening() -> None:
            _announce(serving, proxy.policy, shadow.database, parts, log)

        parts.server.run(listening, hang_up=parts.audit.reopen if parts.audit is not None else None)


@dataclass(frozen=True, slots=True)
class Parts:
    """A server that does not run yet, and what observes it."""

    server: Server
    audit: Audit | None
    monitor: Monitor | None


def made(serving: Serving, proxy: Proxy, shadow: Shadow, log: logs.Log, stack: ExitStack) -> Parts:
    """A server, and all that observes it; ``stack`` closes what has to be closed."""
    limits = proxy.policy.limits
    audit = Audit(serving.audit) if serving.audit is not None else None
    observers: list[Observer] = [logs.LogObserver()]
    if audit is not None:
        stack.callback(audit.close)
        observers.append(audit)
    watch = Watch(Turns(limits.statements, limits.statements_per_analyst), observers)
    proxy.ledger.on_charge = watch.charged
    server = Server(
        Backend(proxy, shadow),
        serving.host,
        serving.port,
        certificate=serving.certificate,
        watch=watch,
        grace=serving.grace,
        encrypted=not serving.without_tls,
    )
    monitor = _monitor(serving, proxy, shadow, log, audit, server, watch)
    if monitor is not None:
        stack.callback(monitor.close)
        monitor.start()
    return Parts(server, audit, monitor)


def _monitor(
    serving: Serving,
    proxy: Proxy,
    shadow: Shadow,
    log: logs.Log,
    audit: Audit | None,
    server: Server,
    watch: Watch,
) -> Monitor | None:
    if serving.metrics_port is None:
        return None
    from dpsql.server.operations import Metrics, Monitor, State

    def auditing() -> bool:
        return audit is None or not audit.broken

    metrics = Metrics(State(proxy, watch.turns, lambda: server.connections, lambda: log.lost, auditing))
    watch.add(metrics)
    turns = watch.turns
    problems: dict[str, Callable[[], bool]] = {
        "not accepting connections": lambda: server.serving,
        "the ledger cannot be used": lambda: _ledger_works(proxy),
        "the audit log cannot be written": auditing,
        "the catalog is gone": lambda: shadow.process.running,
        "too many statements run": lambda: turns.running < turns.all,
    }
    return Monitor(
        serving.metrics_port,
        metrics.registry,
        server.alive,
        lambda: tuple(problem for problem, fine in problems.items() if not fine()),
    )


def _ledger_works(proxy: Proxy) -> bool:
    try:
        proxy.ledger.spent()
    except Error:
        return False
    return not proxy.ledger.stopped


def check_exposure(serving: Serving, policy: Policy) -> None:
    """Raise :class:`OperationalError` where others than this machine could read along, or come in without a password.

    What is not said on the command line is not done: a policy that was tried out on loopback does not become public by
    another ``--host``.
    """
    if all(is_loopback(address) for address in _addresses(serving.host)):
        return
    if serving.certificate is None and not serving.without_tls:
        raise OperationalError(
            f"on {serving.host or 'all addresses'}, statements and answers would cross the network in clear",
            sqlstate=REFUSED,
            hint="give --tls-certificate FILE --tls-key FILE, or say --without-tls where the network is encrypted",
        )
    open_to = [name for name, analyst in (policy.analysts or {}).items() if analyst.password is None]
    if serving.without_passwords or (policy.analysts and not open_to):
        return
    who = f"analysts without a password: {', '.join(sorted(open_to)[:5])}" if open_to else "no analysts with passwords"
    raise OperationalError(
        f"on {serving.host or 'all addresses'}, the policy names {who}",
        sqlstate=REFUSED,
        hint="make verifiers with dpsql passwd NAME, or say --without-passwords: who has none may connect from this "
        "machine only",
    )


def _addresses(host: str) -> set[str]:
    try:
        found = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as problem:
        raise OperationalError(f"there is no address {host}: {problem.strerror}", sqlstate="58030") from None
    return {str(address[0]).partition("%")[0] for *_, address in found}


def _announce(serving: Serving, policy: Policy, database: str, parts: Parts, log: logs.Log) -> None:
    host, port = parts.server.address
    monitor = parts.monitor
    if serving.log_format == "json":
        fields: dict[str, object] = {"host": host, "port": port, "tls": serving.certificate is not None}
        if monitor is not None:
            fields["metrics_port"] = monitor.port
        logs.event(logging.INFO, "listening", **fields)
        return
    log.put(f"dpsql serves {os.fspath(serving.policy)} on {host} port {port}")
    log.put(f"  psql -h {host} -p {port} -U {analysts(policy)[0]} {database}")
    if monitor is not None:
        log.put(f"  http://127.0.0.1:{monitor.port}/metrics, /health, /ready")


def analysts(policy: Policy) -> tuple[str, ...]:
    """The names that may ask; a policy that names nobody has one, called analyst."""
    return tuple(policy.analysts or ()) or ("analyst",)


def database_name(policy: Policy) -> str:
    """What ``current_database()`` says: the name of the owner's database."""
    path = str(policy.database.path).partition("?")[0].rstrip("/")
    name = Path(path).stem[:63]
    return "dpsql" if name in ("", "template0", "template1") else name
