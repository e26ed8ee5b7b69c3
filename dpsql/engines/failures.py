"""The fixed texts of an engine's failures: all that an analyst learns, whatever the engine said."""

from __future__ import annotations

from dpsql.errors import OperationalError


def failed() -> OperationalError:
    return OperationalError(
        "the database could not answer this release",
        sqlstate="58000",
        hint="the owner's log names the kind of error; what was charged stays charged",
    )


def too_long(timeout: float | None) -> OperationalError:
    return OperationalError(
        f"the database took longer than {timeout:g} seconds",
        sqlstate="57014",
        hint="ask for less at a time; what was charged stays charged",
    )


def cancelled() -> OperationalError:
    return OperationalError(
        "canceling statement due to user request", sqlstate="57014", hint="what was charged stays charged"
    )
