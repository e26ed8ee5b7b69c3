"""The fixed texts of an engine's failures: all that an analyst learns, whatever the engine said."""

from __future__ import annotations

import logging

from dpsql.errors import OperationalError

_LOG = logging.getLogger("dpsql.engine")
_WORDS = logging.getLogger("dpsql.engine.words")
_WORDS.disabled = True


def failed() -> OperationalError:
    return OperationalError(
        "the database could not answer this release",
        sqlstate="58000",
        hint="the owner's log names the kind of error; what was charged stays charged",
    )


def not_ready() -> OperationalError:
    """Before a charge."""
    return OperationalError(
        "the database cannot be read now",
        sqlstate="58000",
        hint="nothing was charged: if it stays so, ask the owner, whose log names the kind of error",
    )


def files_differ() -> OperationalError:
    """Before a charge: one text, whatever it is that differs."""
    return OperationalError(
        "files of this statement's tables were replaced, and are not what the policy was opened with",
        sqlstate="58000",
        hint="nothing was charged: the owner runs dpsql check, and replaces the files, or starts dpsql anew",
    )


def files_change() -> OperationalError:
    """Before a charge."""
    return OperationalError(
        "files of this statement's tables are being replaced", sqlstate="58000", hint="nothing was charged: try again"
    )


def log(kind: str, error: Exception) -> None:
    """Tell the owner the ``kind`` of an engine's failure. Its words may hold values of rows, and are told on demand."""
    _LOG.error("the engine failed: %s", kind)
    if not _WORDS.disabled:
        _WORDS.error("the engine said: %s", error)


def busy() -> OperationalError:
    return OperationalError(
        "the database is busy with other statements; nothing was charged", sqlstate="53300", hint="try again"
    )


def too_large() -> OperationalError:
    return OperationalError(
        "the database needed more memory than it may have",
        sqlstate="53200",
        hint="ask for fewer groups at a time; what was charged stays charged",
    )


def too_long(timeout: float | None) -> OperationalError:
    return OperationalError(
        f"the database took longer than {timeout:g} seconds",
        sqlstate="57014",
        hint="ask for less at a time; what was charged stays charged",
    )


def waited_too_long(seconds: float) -> OperationalError:
    """Before a charge."""
    return OperationalError(
        f"the statement waited for longer than {seconds:g} seconds",
        sqlstate="57014",
        hint="nothing was charged: try again",
    )


def cancelled(*, charged: bool = True) -> OperationalError:
    hint = "what was charged stays charged" if charged else "nothing was charged"
    return OperationalError("canceling statement due to user request", sqlstate="57014", hint=hint)
