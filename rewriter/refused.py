"""The one way the rewriter says no."""

from __future__ import annotations

from sqlglot import exp

from rewriter.declared import Missing

SYNTAX = "42601"
NOT_ANSWERED = "0A000"
UNKNOWN_TABLE = "42P01"
UNKNOWN_COLUMN = "42703"
AMBIGUOUS_COLUMN = "42702"
TYPE_MISMATCH = "42804"
NO_FUNCTION = "42883"
"""No operator or function takes operands of these types."""
BAD_CAST = "42846"
NOT_ALLOWED = "42501"
TOO_COMPLEX = "54001"
BAD_PARAMETER = "22023"
NUMBER_OUT_OF_RANGE = "22003"


class Refused(Exception):
    """A query is not answered; nothing was charged and no private row was read.

    ``message`` says what is not answered, ``hint`` names a form that works, ``sqlstate`` is
    PostgreSQL's code, ``position`` is the 1-based character of the query text where known.
    None of them depends on private rows.

    >>> raise Refused("SELECT * returns rows of people", hint="ask for COUNT(*)", sqlstate=NOT_ALLOWED)
    Traceback (most recent call last):
    rewriter.refused.Refused: SELECT * returns rows of people
    """

    def __init__(
        self, message: str, *, hint: str = "", sqlstate: str = NOT_ANSWERED, position: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.sqlstate = sqlstate
        self.position = position


class Unbounded(Refused):
    """Nothing that was declared or learned bounds what one person adds; with ``missing`` known, something would.

    Like every refusal it depends on text, policy and what was released before. ``certain`` are those without which
    nothing does; of the others a part may do.
    """

    def __init__(
        self, message: str, *, hint: str, missing: frozenset[Missing], certain: frozenset[Missing] = frozenset()
    ) -> None:
        super().__init__(message, hint=hint)
        self.missing = missing
        self.certain = certain


class NeedsAnswer(Refused):
    """Rows of people are compared with what a ``query`` over people says: that is asked first, by its ``text``.

    With its answer in :attr:`rewriter.declared.Catalog.answers` the statement can be planned.
    """

    def __init__(self, query: exp.Query, text: str) -> None:
        refused = compared_with_aggregate()
        super().__init__(refused.message, hint=refused.hint)
        self.query = query
        self.text = text


class LimitedRows(Refused):
    """LIMIT over rows of people, where nothing else was wrong so far."""


def limited_rows() -> LimitedRows:
    """LIMIT below the aggregates."""
    return LimitedRows(
        "LIMIT over rows of people would pick people",
        hint="aggregate first, e.g. COUNT(*) with GROUP BY; LIMIT over the aggregates is answered, and so are"
        " aggregates over the first rows in an order that is never NULL: WHERE x IS NOT NULL ORDER BY x DESC LIMIT 100",
        sqlstate=NOT_ALLOWED,
    )


def compared_with_aggregate() -> Refused:
    """A condition on rows that reads an aggregate."""
    return Refused(
        "a condition on rows of people compares them with an aggregate over people",
        hint="ask for the aggregate first, then write its number into the condition",
    )
