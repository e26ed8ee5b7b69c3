"""``dpsql serve``: a policy opened, its shadow started, and a server or several running between them."""

from __future__ import annotations

import logging
import os
import resource
import socket
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from dpsql.engines import Concern
from dpsql.errors import Error, OperationalError
from dpsql.ledger import Ledger
from dpsql.opened import compared, load_policy, open_here, open_ledger
from dpsql.policy import METRICS, Policy, secret
from dpsql.proxy import Proxy
from dpsql.server.door import Door, is_loopback
from dpsql.server.operations import logs
from dpsql.server.serving import (
    SEVERAL,
    Beside,
    Listening,
    Serving,
    analysts,
    database_name,
    made,
    unmet,
    usual_workers,
)
from dpsql.server.shadow import Shadow

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from dpsql.server.operations import Monitor

__all__ = [
    "Beside",
    "Listening",
    "Serving",
    "all_problems",
    "analysts",
    "check_exposure",
    "database_name",
    "made",
    "monitor_of",
    "serve",
    "usual_workers",
]

REFUSED = "F0000"


def serve(serving: Serving) -> None:
    """Serve a policy until the process is told to end. Raises :class:`dpsql.errors.Error` where it cannot start."""
    # What this process and the others hold in memory is not left on a disk when they die.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    policy = load_policy(serving.policy)
    check_exposure(serving, policy)
    if serving.metrics_port is not None:
        metrics_password(policy)
    if serving.workers > 1 and not SEVERAL:
        raise OperationalError("several workers need Linux", sqlstate=REFUSED, hint="--workers 1")
    (_serve_alone if serving.workers == 1 else _serve_with_workers)(serving, policy)


def _serve_alone(serving: Serving, policy: Policy) -> None:
    with ExitStack() as stack:
        log = _logging(serving, stack)
        proxy = Proxy.of(open_here(compared(policy)))
        stack.callback(proxy.close)
        shadow = Shadow.start(proxy.catalog, analysts(policy), database_name(policy))
        stack.callback(shadow.close)
        _warn(serving, proxy.concerns())
        door = Door(serving.host, serving.port, policy.limits)
        parts = made(serving, proxy, shadow, log, stack, door)
        problems = all_problems(parts.problems, proxy.ledger, shadow)
        monitor = monitor_of(serving, proxy.ledger, policy, parts.metrics.registry, parts.server.alive, problems, stack)
        beside = _beside(serving, policy, proxy.ledger, door, shadow, problems, proxy.concerns(), stack)
        parts.server.run(
            lambda: _announce(serving, policy, shadow.database, door, monitor, log, beside), hang_up=parts.reopen
        )


def _serve_with_workers(serving: Serving, policy: Policy) -> None:
    """The ledger and the shadow are this process's; sessions, engines and noise are the workers'."""
    from dpsql.server.workers import AddedFigures, Foreman, Nursery, StartCall, database_files, work

    # First, while this process has one thread.
    nursery = Nursery(partial(work, serving, policy))
    with ExitStack() as stack:
        stack.callback(nursery.close)
        log = _logging(serving, stack)
        database = database_files(policy)
        found = compared(policy)
        # Open until the end: nobody writes to the file of a database while it is served.
        stack.callback(found.engine.close)
        ledger = open_ledger(policy)
        stack.callback(ledger.close)
        shadow = Shadow.start(found.catalog, analysts(policy), database_name(policy))
        stack.callback(shadow.close)
        _warn(serving, found.engine.concerns())
        door = Door(serving.host, serving.port, policy.limits)
        start = StartCall(found.catalog, database, shadow.address)
        foreman = Foreman(nursery, door, ledger, policy.limits, start, serving.workers, serving.grace)
        problems = all_problems(foreman.problems, ledger, shadow)
        monitor = None
        if serving.metrics_port is not None:
            registry = AddedFigures(foreman.figures).registry
            monitor = monitor_of(serving, ledger, policy, registry, foreman.alive, problems, stack)
        beside = _beside(serving, policy, ledger, door, shadow, problems, found.engine.concerns(), stack)
        foreman.run(lambda: _announce(serving, policy, shadow.database, door, monitor, log, beside))


def _beside(
    serving: Serving,
    policy: Policy,
    ledger: Ledger,
    door: Door,
    shadow: Shadow,
    problems: Callable[[], tuple[str, ...]],
    concerns: Iterable[Concern],
    stack: ExitStack,
) -> Beside | None:
    if serving.beside is None:
        return None
    host, port = door.address
    found = serving.beside(
        Listening(
            policy,
            ledger,
            host,
            port,
            shadow.database,
            serving.certificate,
            problems,
            tuple(f"{one.table}: {one.text}" if one.table else one.text for one in concerns),
        )
    )
    stack.callback(found.close)
    return found


def _logging(serving: Serving, stack: ExitStack) -> logs.Log:
    log = logs.Log.start(serving.log_format, serving.log_level, engine_errors=serving.log_engine_errors)
    stack.callback(log.close)
    return log


def _warn(serving: Serving, concerns: Iterable[Concern]) -> None:
    for concern in concerns:
        logs.event(logging.WARNING, concern.text, table=concern.table)
    if serving.certificate is not None and serving.certificate.open_to_others:
        logs.event(logging.WARNING, "other users of this machine may read the key of the certificate")


def monitor_of(
    serving: Serving,
    ledger: Ledger,
    policy: Policy,
    registry: CollectorRegistry,
    alive: Callable[[], bool],
    problems: Callable[[], tuple[str, ...]],
    stack: ExitStack,
) -> Monitor | None:
    """The monitor of a server, which runs until ``stack`` closes it. None where nobody asked for one."""
    if serving.metrics_port is None:
        return None
    from dpsql.server.operations import BudgetFigures, Monitor

    registry.register(BudgetFigures(ledger, policy.analysts or ()))

    monitor = Monitor(serving.metrics_port, registry, alive, problems, metrics_password(policy))
    stack.callback(monitor.close)
    monitor.start()
    return monitor


def metrics_password(policy: Policy) -> str | None:
    """What ``/metrics`` asks for. Raises :class:`OperationalError` where analysts have passwords and it has none.

    Where nobody has one, whoever is on this machine may ask statements already.
    """
    password = secret(METRICS)
    if password == "" or (password is None and any(one.password for one in (policy.analysts or {}).values())):
        raise OperationalError(
            "analysts have passwords, and the metrics have none: whoever is on this machine would read them",
            sqlstate=REFUSED,
            hint=f"put one into {METRICS}, or into a file that {METRICS}_FILE names",
        )
    return password


def all_problems(own: Callable[[], tuple[str, ...]], ledger: Ledger, shadow: Shadow) -> Callable[[], tuple[str, ...]]:
    """Why no analyst is answered now: ``own`` problems, and those of the ledger and the catalog."""
    shared = {
        "the ledger cannot be used": lambda: _works(ledger),
        "the catalog is gone": lambda: shadow.running,
    }
    return lambda: (*own(), *unmet(shared))


def _works(ledger: Ledger) -> bool:
    try:
        ledger.spent()
    except Error:
        return False
    return not ledger.stopped


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


def _announce(
    serving: Serving,
    policy: Policy,
    database: str,
    door: Door,
    monitor: Monitor | None,
    log: logs.Log,
    beside: Beside | None = None,
) -> None:
    host, port = door.address
    if serving.log_format == "json":
        fields: dict[str, object] = {"host": host, "port": port, "tls": serving.certificate is not None}
        if monitor is not None:
            fields["metrics_port"] = monitor.port
        if serving.workers > 1:
            fields["workers"] = serving.workers
        if beside is not None:
            fields["console"] = beside.url
        logs.event(logging.INFO, "listening", **fields)
        return
    log.put(f"dpsql serves {os.fspath(serving.policy)} on {host} port {port}")
    log.put(f"  psql -h {host} -p {port} -U {analysts(policy)[0]} {database}")
    if monitor is not None:
        log.put(f"  http://127.0.0.1:{monitor.port}/metrics, /health, /ready")
    if beside is not None:
        log.put(f"  {beside.url} is the console")
