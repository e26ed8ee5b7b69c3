"""Audit, events, logs, metrics and turns."""

from dpsql.server.operations.audit import Audit
from dpsql.server.operations.events import (
    Asked,
    Charged,
    Client,
    Event,
    LoggedIn,
    LoggedOut,
    LoginRefused,
    Observer,
    Outcome,
    outcome_of,
)
from dpsql.server.operations.fairness import Pace, short_turns
from dpsql.server.operations.metrics import Metrics, State
from dpsql.server.operations.monitor import Monitor
from dpsql.server.operations.statement_turns import Turns

__all__ = [
    "Asked",
    "Audit",
    "Charged",
    "Client",
    "Event",
    "LoggedIn",
    "LoggedOut",
    "LoginRefused",
    "Metrics",
    "Monitor",
    "Observer",
    "Outcome",
    "Pace",
    "State",
    "Turns",
    "outcome_of",
    "short_turns",
]
