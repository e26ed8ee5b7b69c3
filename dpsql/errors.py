"""Errors that reach an analyst: PEP 249's classes, chosen by SQLSTATE, with fields as data.

No message holds a private value or an engine's own text.
"""

from __future__ import annotations


class Warning(Exception):  # noqa: A001  (PEP 249 asks for this name)
    """PEP 249 Warning."""


class Error(Exception):
    """Any error of dpsql. ``sqlstate``, ``hint`` and ``position`` (1-based character of the query) are data.

    >>> error = NotSupportedError("rows of people are not answered", sqlstate="42501", hint="ask for COUNT(*)")
    >>> error.sqlstate, error.hint
    ('42501', 'ask for COUNT(*)')
    """

    def __init__(
        self, message: str = "", *, sqlstate: str = "XX000", hint: str = "", position: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.sqlstate = sqlstate
        self.hint = hint
        self.position = position

    def __str__(self) -> str:
        return f"{self.message}\nHINT: {self.hint}" if self.hint else self.message


class InterfaceError(Error):
    """The DB-API was used in a wrong way."""


class DatabaseError(Error):
    """Anything about the database."""


class DataError(DatabaseError):
    """Class 22: a bad value or setting."""


class OperationalError(DatabaseError):
    """Class 53, 57 and others that are not the query's fault."""


class BudgetExceeded(OperationalError):
    """53400: the charge does not fit into what is left. Nothing was read and nothing was charged."""


class IntegrityError(DatabaseError):
    """Class 23. Never raised: dpsql is read-only."""


class InternalError(DatabaseError):
    """XX000: a bug of ours."""


class ProgrammingError(DatabaseError):
    """Class 42: the query is wrong, or names what does not exist."""


class NotSupportedError(DatabaseError):
    """0A000 and 42501: a form that is not answered."""


def error(message: str, *, sqlstate: str, hint: str = "", position: int | None = None) -> Error:
    """The error class that PEP 249 gives to a SQLSTATE.

    >>> type(error("no such table", sqlstate="42P01")).__name__
    'ProgrammingError'
    """
    exact: dict[str, type[Error]] = {
        "53400": BudgetExceeded,
        "0A000": NotSupportedError,
        "42501": NotSupportedError,
        "XX000": InternalError,
    }
    classes: dict[str, type[Error]] = {
        "22": DataError,
        "23": IntegrityError,
        "42": ProgrammingError,
        "54": ProgrammingError,
    }
    kind = exact.get(sqlstate) or classes.get(sqlstate[:2]) or OperationalError
    return kind(message, sqlstate=sqlstate, hint=hint, position=position)


def install(extra: str) -> str:
    """The hint of what needs an extra of dpsql: no index has dpsql, so it is installed from a clone.

    >>> install("spark")
    "in a clone of dpsql: pip install '.[spark]'"
    """
    return f"in a clone of dpsql: pip install '.[{extra}]'"
