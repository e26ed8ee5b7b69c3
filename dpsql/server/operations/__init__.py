"""Audit, events, logs, metrics and turns."""

from dpsql.server.operations.audit import Audit
from dpsql.server.operations.events import (
    Charged,
    Client,
    Event,
    LoggedIn,
    LoggedOut,
    LoginRefused,
    Observer,
    StatementEnded,
    StatementOutcome,
    outcome_of,
)
from dpsql.server.operations.fairness import Pace, short_turns
from dpsql.server.operations.metrics import BudgetFigures, Metrics, State
from dpsql.server.operations.monitor import Monitor
from dpsql.server.operations.seats import Seats
from dpsql.server.operations.statement_turns import WAITING, Turns

__all__ = [
    "WAITING",
    "Audit",
    "BudgetFigures",
    "Charged",
    "Client",
    "Event",
    "LoggedIn",
    "LoggedOut",
    "LoginRefused",
    "Metrics",
    "Monitor",
    "Observer",
    "Pace",
    "Seats",
    "State",
    "StatementEnded",
    "StatementOutcome",
    "Turns",
    "outcome_of",
    "short_turns",
]
