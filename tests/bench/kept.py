"""The rows that count where a person's rows are bounded by sampling, as approaches do that have no clipping of norms."""

from __future__ import annotations

from collections.abc import Callable

import duckdb

from .accuracy_questions import Cell, Counts, Question


class Kept:
    """A question's numbers over the rows that a person keeps. Drawn anew for each answer, unless nobody loses a row."""

    def __init__(
        self,
        question: Question,
        connection: duckdb.DuckDBPyConnection,
        rows: Callable[[Question, Counts], str | None],
    ) -> None:
        self._question, self._connection, self._rows = question, connection, rows
        self._always: dict[Counts, dict[Cell, int]] = {}

    def read(self, counts: Counts) -> dict[Cell, int]:
        """The numbers of some counts over the rows that ``rows`` selects, in SQL; over all of them where it is None."""
        found = self._always.get(counts)
        if found is None:
            found = self._exact(counts, self._rows(self._question, counts))
            if found == self._exact(counts, None):
                self._always[counts] = found
        return found

    def _exact(self, counts: Counts, rows: str | None) -> dict[Cell, int]:
        numbers = self._question.exact(self._connection, counts, rows)
        return {(counts.column, group): number for group, number in numbers.items()}


def bounded(question: Question, counts: Counts) -> str | None:
    """At most N rows of a person and at most m of them in a group, drawn anew."""
    if question.unique:
        return None
    keys = ", ".join(question.key(name).sql for name in counts.by)
    per_group = f"row_number() OVER (PARTITION BY {question.unit}, {keys} ORDER BY dice)"
    thrown = f"SELECT *, random() AS dice FROM {question.table} WHERE {counts.where}"
    kept = f"SELECT * FROM ({thrown}) QUALIFY {per_group} <= {question.rows_per_group}"
    per_person = f"row_number() OVER (PARTITION BY {question.unit} ORDER BY dice)"
    return f"(SELECT * FROM ({kept}) QUALIFY {per_person} <= {question.rows})"
