"""What the shadow answers, as PostgreSQL wrote it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import pq
from psycopg.pq.abc import PGresult

from dpsql.errors import Error, error

Encoded = list[bytes | None]


@dataclass(frozen=True, slots=True)
class ShadowColumn:
    """A column as RowDescription tells it; ``size`` and ``modifier`` are the type's."""

    name: str
    oid: int
    size: int
    modifier: int


@dataclass(frozen=True, slots=True)
class ShadowDescription:
    """The types of a statement's parameters, and its columns."""

    parameters: tuple[int, ...]
    columns: tuple[ShadowColumn, ...]


@dataclass(frozen=True, slots=True)
class ShadowAnswer:
    """An answer: each value in the format that was asked for."""

    columns: tuple[ShadowColumn, ...]
    rows: Sequence[Sequence[bytes | None]]
    tag: str


def columns_of(result: PGresult) -> tuple[ShadowColumn, ...]:
    return tuple(
        ShadowColumn(
            (result.fname(place) or b"").decode(), result.ftype(place), result.fsize(place), result.fmod(place)
        )
        for place in range(result.nfields)
    )


def rows_of(result: PGresult) -> list[Encoded]:
    columns = range(result.nfields)
    return [[result.get_value(row, column) for column in columns] for row in range(result.ntuples)]


def merged(texts: ShadowAnswer, binaries: ShadowAnswer, formats: Sequence[int]) -> ShadowAnswer:
    """One answer of two that differ in format alone: each column from the one that was asked for.

    >>> column = ShadowColumn("n", 23, 4, -1)
    >>> both = merged(ShadowAnswer((column, column), [[b"1", b"2"]], ""), ShadowAnswer((), [[b"x", b"y"]], ""), [0, 1])
    >>> both.rows
    [[b'1', b'y']]
    """
    if len(texts.columns) != len(formats):
        raise error("the number of result formats is not that of the columns", sqlstate="08P01")
    rows = [
        [(text, binary)[format_] for text, binary, format_ in zip(*pair, formats, strict=True)]
        for pair in zip(texts.rows, binaries.rows, strict=True)
    ]
    return ShadowAnswer(texts.columns, rows, texts.tag)


def failure(result: PGresult) -> Error:
    """PostgreSQL's error as ours: its text speaks of the policy's schema and the client's own words alone. Its internal
    errors speak of its inside: a parameter of a type that there is not is one."""

    def said(field: pq.DiagnosticField) -> str:
        return (result.error_field(field) or b"").decode(errors="replace")

    if said(pq.DiagnosticField.SQLSTATE).startswith("XX"):
        return error("the catalog does not answer this", sqlstate="0A000", hint="leave the types of parameters out")
    position = said(pq.DiagnosticField.STATEMENT_POSITION)
    return error(
        said(pq.DiagnosticField.MESSAGE_PRIMARY) or "the catalog did not answer",
        sqlstate=said(pq.DiagnosticField.SQLSTATE) or "XX000",
        hint=said(pq.DiagnosticField.MESSAGE_HINT),
        position=int(position) if position else None,
    )
