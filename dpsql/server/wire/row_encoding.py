"""Rows that a client fetches: released ones, or the shadow's. They are public by the time they are here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dpsql.server.wire.messages import Field, data_row
from dpsql.server.wire.wire_types import data_rows, encode_rows
from rewriter.declared import Scalar

Formats = tuple[int, ...]
"""One per column: 0 is text, 1 binary."""
Encoded = Sequence[Sequence[bytes | None]]


class AnswerRows(Protocol):
    """An answer that is whole: what is left is to encode it."""

    @property
    def fields(self) -> tuple[Field, ...]: ...

    @property
    def count(self) -> int: ...

    def messages(self, places: range, formats: Formats) -> bytes:
        """DataRow messages of the rows at ``places``."""
        ...

    def values(self, places: range, formats: Formats) -> Encoded:
        """The same rows, for COPY."""
        ...


@dataclass(frozen=True, slots=True)
class ReleasedRows:
    """Python values of an answer, coerced to the declared types when they are encoded."""

    fields: tuple[Field, ...]
    rows: tuple[tuple[Scalar | None, ...], ...]

    @property
    def count(self) -> int:
        return len(self.rows)

    def messages(self, places: range, formats: Formats) -> bytes:
        return data_rows(self._taken(places), [field.oid for field in self.fields], formats)

    def values(self, places: range, formats: Formats) -> Encoded:
        return list(encode_rows(self._taken(places), [field.oid for field in self.fields], formats))

    def _taken(self, places: range) -> Sequence[tuple[Scalar | None, ...]]:
        if places.step == 1:
            return self.rows[places.start : places.stop]
        return [self.rows[place] for place in places]


@dataclass(slots=True)
class ShadowRows:
    """Rows of the shadow, as the bytes that PostgreSQL made; ``ask`` runs the query again for other formats."""

    fields: tuple[Field, ...]
    ask: Callable[[Formats], Encoded]
    known: dict[Formats, Encoded] = field(default_factory=dict)

    @property
    def count(self) -> int:
        if not self.known:
            self._in((0,) * len(self.fields))
        return len(next(iter(self.known.values())))

    def messages(self, places: range, formats: Formats) -> bytes:
        return b"".join(data_row(row) for row in self.values(places, formats))

    def values(self, places: range, formats: Formats) -> Encoded:
        found = self._in(formats)
        return [found[place] for place in places if place < len(found)]

    def _in(self, formats: Formats) -> Encoded:
        if formats not in self.known:
            self.known[formats] = self.ask(formats)
        return self.known[formats]
