"""Figures for the operator, in Prometheus's text format.

For the operator alone: how long statements take, and which of them fail, depends on the data, and time is outside of
the promise. So they are served on this machine only (:mod:`dpsql.server.operations.monitor`). No figure is a number of
rows, and no label is a client's own word: labels are analysts that the policy names, outcomes and SQLSTATEs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, GCCollector, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from dpsql.engines import Load
from dpsql.errors import Error
from dpsql.ledger import Ledger
from dpsql.server.operations.events import Charged, Event, LoggedIn, LoggedOut, LoginRefused, StatementEnded
from dpsql.server.operations.statement_turns import Turns

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_WAITS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


@dataclass(frozen=True, slots=True)
class State:
    """What is looked up when somebody asks; none of it reads a private row."""

    engine: Load
    turns: Turns
    connections: Callable[[], tuple[int, int]]
    """How many have logged in, and how many have not yet."""
    lost: Callable[[], int]
    """Lines of the log that nobody read in time."""
    auditing: Callable[[], bool]
    """Whether the audit can be written."""


class Metrics:
    """An observer that counts. Thread-safe."""

    def __init__(self, state: State) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self.registry.register(_Now(state))
        self._statements = Counter(
            "dpsql_statements", "Statements by what became of them.", ("outcome", "sqlstate"), registry=self.registry
        )
        self._seconds = Histogram(
            "dpsql_statement_seconds", "From a statement to its answer.", ("outcome",),
            buckets=SECONDS, registry=self.registry,
        )  # fmt: skip
        self._turns = Histogram(
            "dpsql_statement_wait_seconds", "From a statement to its turn.", buckets=SECONDS, registry=self.registry
        )
        self._charges = Counter("dpsql_charges", "Charges by this server.", ("analyst",), registry=self.registry)
        self._waits = Histogram(
            "dpsql_ledger_wait_seconds", "Until a charge was durable.", buckets=_WAITS, registry=self.registry
        )
        self._logins = Counter("dpsql_logins", "Logins; 00000 came in.", ("sqlstate",), registry=self.registry)
        self._logouts = Counter("dpsql_logouts", "Connections that have ended after a login.", registry=self.registry)

    def ready(self) -> None:
        """Nothing keeps figures from being counted."""

    def tell(self, event: Event) -> None:
        match event:
            case StatementEnded():
                self._statements.labels(str(event.outcome), event.sqlstate).inc()
                self._seconds.labels(str(event.outcome)).observe(event.seconds)
                self._turns.observe(event.waited)
            case Charged(analyst, losses, seconds):
                self._charges.labels(analyst).inc(len(losses))
                self._waits.observe(seconds)
            case LoggedIn():
                self._logins.labels("00000").inc()
            case LoginRefused():
                self._logins.labels(event.sqlstate).inc()
            case LoggedOut():
                self._logouts.inc()


class _Now(Collector):
    """Gauges with the state of the server at the moment at which they are read."""

    def __init__(self, state: State) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        state = self._state
        inside, strangers = state.connections()
        connections = GaugeMetricFamily("dpsql_connections", "Open connections.", labels=["state"])
        connections.add_metric(["logged in"], inside)
        connections.add_metric(["logging in"], strangers)
        yield connections
        statements = GaugeMetricFamily("dpsql_running_statements", "Statements under way.", labels=["state"])
        statements.add_metric(["running"], state.turns.running)
        statements.add_metric(["waiting"], state.turns.waiting)
        yield statements
        yield _gauge("dpsql_running_statements_limit", "The most that run together.", state.turns.all)
        pool = state.engine
        calls = GaugeMetricFamily("dpsql_engine_calls", "Releases that the database computes.", labels=["state"])
        calls.add_metric(["running"], pool.running)
        calls.add_metric(["waiting"], pool.waiting)
        yield calls
        yield _gauge("dpsql_engine_calls_limit", "The most that it computes together.", pool.most)
        yield _gauge("dpsql_log_lines_lost", "Lines of the log that nobody read in time.", state.lost())
        yield _gauge("dpsql_audit_writable", "1 where the audit is written, or there is none.", state.auditing())


class BudgetFigures(Collector):
    """Gauges of the total, under the empty name, and of every analyst: as the ledger says, for all processes on it."""

    def __init__(self, ledger: Ledger, analysts: Iterable[str]) -> None:
        self._ledger = ledger
        self._names = ("", *analysts)

    def collect(self) -> Iterator[Metric]:
        ledger = self._ledger
        epsilon = GaugeMetricFamily(
            "dpsql_budget_epsilon",
            "The privacy budget as epsilon, at the declared delta.",
            labels=["analyst", "part"],
        )
        rho = GaugeMetricFamily("dpsql_budget_rho", "The same as rho, in a zcdp ledger.", labels=["analyst", "part"])
        readable = not ledger.stopped
        try:
            for name in self._names:
                standings = ledger.standings(name or None)
                # The window's where there is one: what is left of it is what analysts have.
                limit = standings[0].accountant if standings else None
                spent = standings[0].spent if standings else ledger.spent(name or None)
                rho.add_metric([name, "spent"], float(spent.rho))
                if limit is not None:
                    used = limit.epsilon_of(spent)
                    epsilon.add_metric([name, "limit"], float(limit.epsilon))
                    epsilon.add_metric([name, "spent"], used)
                    epsilon.add_metric([name, "left"], max(0.0, float(limit.epsilon) - used))
                    rho.add_metric([name, "limit"], float(limit.limit.rho))
                    rho.add_metric([name, "left"], max(0.0, float(limit.limit.rho - spent.rho)))
        except Error:
            readable = False
        else:
            yield epsilon
            yield rho
        yield _gauge("dpsql_ledger_up", "1 where the ledger can be read and charged.", readable)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=float(value))
