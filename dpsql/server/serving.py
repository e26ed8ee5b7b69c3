"""A server's parts, put together: what one process needs to answer analysts, and to tell its owner."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dpsql.ledger import Ledger
from dpsql.policy import Policy
from dpsql.proxy import Proxy
from dpsql.server.certificate import Certificate
from dpsql.server.door import Entrance
from dpsql.server.operations import Audit, Metrics, Observer, State, Turns, logs
from dpsql.server.serve import GRACE_SECONDS, Server
from dpsql.server.session import Backend, Watch
from dpsql.server.shadow import Shadow
from dpsql.shared_locks import SHARED

MOST_WORKERS = 4
"""That are started by themselves."""


_CGROUP = Path("/sys/fs/cgroup/cpu.max")
SEVERAL = SHARED and hasattr(os, "memfd_create")
"""Whether this system lets several processes serve together."""


def usual_workers() -> int:
    """One for each core that this process may use, up to four."""
    if not SEVERAL:
        return 1
    return min(len(os.sched_getaffinity(0)), _quota(_CGROUP), MOST_WORKERS)


def _quota(of: Path) -> int:
    """The cores of a container that may use a part of the machine's only, rounded up.

    >>> _quota(Path("/nowhere")) == MOST_WORKERS
    True
    """
    try:
        quota, period = of.read_text().split()
        return max(1, -(-int(quota) // int(period)))
    except (OSError, ValueError):
        # There is none, or it says max.
        return MOST_WORKERS


class Beside(Protocol):
    """What runs beside a server, in the process that holds its ledger."""

    @property
    def url(self) -> str: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Listening:
    """A server that listens: where, and what its owner may look at. ``problems`` are why no analyst is answered now,
    ``warnings`` what was said of the database and the policy at the start."""

    policy: Policy
    ledger: Ledger
    host: str
    port: int
    database: str
    certificate: Certificate | None
    problems: Callable[[], tuple[str, ...]]
    warnings: tuple[str, ...]


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
    workers: int = 1
    """Processes that answer."""
    beside: Callable[[Listening], Beside] | None = None
    """What is started when the server listens, such as its console."""


@dataclass(frozen=True, slots=True)
class Parts:
    """A server that does not run yet, and what observes it."""

    server: Server
    watch: Watch
    audit: Audit | None
    metrics: Metrics

    def problems(self) -> tuple[str, ...]:
        """Why no analyst is answered in this process now."""
        turns = self.watch.turns
        return unmet(
            {
                "not accepting connections": lambda: self.server.serving,
                "the audit log cannot be written": lambda: self.audit is None or not self.audit.broken,
                "too many statements run": lambda: turns.running < turns.all,
            }
        )

    def reopen(self) -> None:
        """Go on with the audit in a file of the same name."""
        if self.audit is not None:
            self.audit.reopen()


def unmet(conditions: Mapping[str, Callable[[], bool]]) -> tuple[str, ...]:
    """The problems whose conditions do not hold."""
    return tuple(problem for problem, fine in conditions.items() if not fine())


def made(
    serving: Serving,
    proxy: Proxy,
    shadow: Shadow,
    log: logs.Log,
    stack: ExitStack,
    entrance: Entrance,
    turns: Turns | None = None,
) -> Parts:
    """A server, and all that observes it; ``stack`` closes what has to be closed."""
    proxy.zones()  # before anybody asks: statements would wait for it one after the other
    limits = proxy.policy.limits
    audit = Audit(serving.audit) if serving.audit is not None else None
    observers: list[Observer] = [logs.LogObserver()]
    if audit is not None:
        stack.callback(audit.close)
        observers.append(audit)
    watch = Watch(turns or Turns(limits.statements, limits.statements_per_analyst, limits.wait), observers)
    proxy.ledger.on_charge = watch.charged
    server = Server(
        Backend(proxy, shadow),
        entrance,
        certificate=serving.certificate,
        watch=watch,
        grace=serving.grace,
        encrypted=not serving.without_tls,
    )

    def auditing() -> bool:
        return audit is None or not audit.broken

    metrics = Metrics(State(proxy.engine_load, watch.turns, lambda: server.connections, lambda: log.lost, auditing))
    if serving.metrics_port is not None:
        watch.add(metrics)
    return Parts(server, watch, audit, metrics)


def analysts(policy: Policy) -> tuple[str, ...]:
    """The names that may ask; a policy that names nobody has one, called analyst."""
    return tuple(policy.analysts or ()) or ("analyst",)


def database_name(policy: Policy) -> str:
    """What ``current_database()`` says: the name of the owner's database."""
    path = str(policy.database.path).partition("?")[0].partition(";")[0].rstrip("/")
    name = Path(path).stem[:63]
    return "dpsql" if name in ("", "template0", "template1") else name
