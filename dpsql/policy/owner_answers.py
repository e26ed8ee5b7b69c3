"""What an owner answers when a first policy is written: whom to protect, how many rows, which ranges.

Guarantee: what is proposed follows from names and types alone, and nothing is ever proposed to be published. What an
owner says is read as a policy reads it; what makes no sense is asked again, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from dpsql.engines import Schema, SchemaColumn, SchemaTable
from dpsql.policy import fields
from dpsql.policy.declared_literals import typed, typed_range
from dpsql.policy.yaml_text import Written
from rewriter.declared import Kind, Type

EACH_ROW = "row"
"""What an owner says in place of a key where each row is about another person."""

Ask = Callable[[str, str], str]
"""A question and its proposal, to what the owner says."""

_IDENTIFIES = re.compile(
    r"(^|_)(e_?mail|phone|telephone|mobile|fax|ssn|passport|iban|street|address"
    r"|(first|last|given|middle|sur|full|maiden|user)_?name|name_?(first|last|given|middle|full)"
    r"|login|password|token|ip|ip_?address|licen[cs]e_?plate|tax_?id|social_?security)(_|$)",
    re.IGNORECASE,
)
_LATER = "Empty: decide later"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ColumnAnswer:
    """What an owner says of a column: the type of texts in a file, and a range or values, as they were written."""

    type: str = ""
    range: tuple[str, str] | None = None
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OwnerAnswers:
    """``unit`` is the key of the people, ``max_rows`` of tables, ``columns`` what was said of them; what is missing
    stays open.

    ``each_row``: there is no such key, since each row is about another person.
    """

    unit: tuple[str, str] | None = None
    max_rows: Mapping[str, int] = field(default_factory=dict)
    columns: Mapping[tuple[str, str], ColumnAnswer] = field(default_factory=dict)
    each_row: bool = False

    @classmethod
    def of(cls, unit: tuple[str, str] | str | None) -> OwnerAnswers:
        """Whose privacy is kept, as :func:`asked_unit` has it."""
        return cls(each_row=True) if isinstance(unit, str) else cls(unit)


def identifies(column: SchemaColumn) -> bool:
    """Whether a column is named like what identifies a person: such a column is left out of a first policy.

    >>> from rewriter.declared import TEXT
    >>> [identifies(SchemaColumn(name, "VARCHAR", TEXT)) for name in ("email", "last_name", "nameFirst", "name", "ip")]
    [True, True, True, False, True]
    """
    return column.type is not None and column.type.kind is Kind.TEXT and bool(_IDENTIFIES.search(column.name))


def asked_unit(
    candidates: Sequence[str], named: Sequence[str], schema: Schema, ask: Ask
) -> tuple[str, str] | str | None:
    """Whose privacy is kept: one of the keys that were found, a column that is ``named`` like a key, any other, or
    ``row``. None where the owner decides later."""

    def read(said: str) -> tuple[str, str] | str:
        if said == EACH_ROW:
            return EACH_ROW
        table, _, column = said.rpartition(".")
        if table not in schema.tables:
            raise ValueError(
                f"there is no table {table or said!r}: write table.column, with one of {_some(schema.tables)}"
            )
        if column not in schema.tables[table].columns:
            columns = _some(schema.tables[table].columns)
            raise ValueError(f"{table} has no column {column!r}: it has {columns}")
        return table, column

    others = [*candidates[1:6], *named]
    also = (
        f" (or {', '.join(others)})" if candidates and others else f" (perhaps {', '.join(others)})" if others else ""
    )
    question = f"Whose privacy is kept? The key of the people, or row where each row is a person{also}"
    return _asked(question, candidates[0] if candidates else "", read, ask)


def asked_bounds(
    unit: tuple[str, str] | str, tables: Mapping[str, bool], schema: Schema, ask: Ask, untyped: Collection[str] = ()
) -> OwnerAnswers:
    """The bounds of tables that are declared for a unit; True for those of which a person may have several rows. The
    columns of ``untyped`` tables are texts of files, which may hold something else."""
    max_rows: dict[str, int] = {}
    columns: dict[tuple[str, str], ColumnAnswer] = {}
    for name, several in tables.items():
        table = schema.tables[name]
        if several:
            question = f"How many rows of {name} count of one person at most? {_LATER}"
            if (most := _asked(question, "", lambda said: fields.count(Written(said)), ask)) is not None:
                max_rows[name] = most
        for column in _bounded(table, unit):
            said = _asked_column(f"{name}.{column.name}", column, ask, untyped=name in untyped)
            if said != ColumnAnswer():
                columns[name, column.name] = said
    return replace(OwnerAnswers.of(unit), max_rows=max_rows, columns=columns)


def _bounded(table: SchemaTable, unit: tuple[str, str] | str) -> list[SchemaColumn]:
    """The columns whose values a policy may bound: no keys, and none that is left out."""
    keys = {column for key in table.foreign_keys for column in key.columns} | {*table.primary_key}
    return [
        column
        for column in table.columns.values()
        if column.type is not None
        and column.name not in keys
        and (table.name, column.name) != unit
        and not identifies(column)
    ]


def _asked_column(name: str, column: SchemaColumn, ask: Ask, *, untyped: bool) -> ColumnAnswer:
    kind, written = column.type, ""
    if untyped:
        question = f"What does {name} hold? text, integer, double, decimal(12, 2), date, timestamp or boolean"
        kind = _asked(question, "text", lambda said: fields.column_type(Written(said)), ask) or kind
        written = "" if kind is None or kind.kind is Kind.TEXT else str(kind)
    if kind is None:
        return ColumnAnswer()
    if kind.temporal:
        example = "2020-01-01, 2025-12-31 or 2020-01-01, now"
        question = f"Earliest and latest {name}, as {example}? {_LATER}"
        return ColumnAnswer(written, _asked(question, "", lambda said: _ends(said, kind, example), ask))
    if kind.numeric:
        question = f"Lowest and highest {name}, as 0, 100? {_LATER}"
        return ColumnAnswer(written, _asked(question, "", lambda said: _ends(said, kind, "0, 100"), ask))
    if kind.kind is Kind.TEXT:
        question = f"Every value that {name} may have, as red, green? {_LATER}"
        return ColumnAnswer(written, None, _asked(question, "", lambda said: _values(said, kind), ask) or ())
    return ColumnAnswer(written)


def _asked(question: str, proposal: str, read: Callable[[str], _T], ask: Ask) -> _T | None:
    """What an owner says, as soon as it makes sense; None where nothing is said."""
    asked = question
    while said := ask(asked, proposal).strip():
        try:
            return read(said)
        except ValueError as reason:
            asked = f"{reason}.\n{question}"
    return None


def _ends(said: str, kind: Type, example: str) -> tuple[str, str]:
    """A range as a policy reads it. Raises ValueError.

    >>> from rewriter.declared import DATE, INTEGER
    >>> _ends("[0, 120]", INTEGER, "0, 100"), _ends("2020-01-01, now", DATE, "")
    (('0', '120'), ('2020-01-01', 'now'))
    >>> _ends("0-100", INTEGER, "0, 100")
    Traceback (most recent call last):
    ValueError: '0-100' is not two values with a comma between: write 0, 100
    """
    parts = [part.strip() for part in said.strip("[] ").split(",")]
    if len(parts) != 2 or not all(parts):
        raise ValueError(f"{said[:40]!r} is not two values with a comma between: write {example}")
    low, high = fields.ends([Written(part) for part in parts])
    follows = fields.ahead(high) is not None
    typed_range(low, low if follows else high, kind)
    return str(low), str(high)


def _values(said: str, kind: Type) -> tuple[str, ...]:
    """Listed values. Raises ValueError."""
    found = [part.strip() for part in said.strip("[] ").split(",")]
    if not all(found):
        raise ValueError(f"{said[:40]!r} has an empty value: write values with commas between, such as red, green")
    if len({*found}) < len(found):
        raise ValueError(
            f"{next(one for one in found if found.count(one) > 1)!r} is there twice: write each value once"
        )
    for one in found:
        typed(Written(one), kind)
    return tuple(found)


def _some(names: Collection[str]) -> str:
    shown = ", ".join([*names][:8])
    return f"{shown}, …" if len(names) > 8 else shown
