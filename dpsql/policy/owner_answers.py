"""What an owner answers when a first policy is written: whom to protect, how many rows, which ranges.

Guarantee: what is proposed follows from names and types alone, and nothing is ever proposed to be published.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dpsql.engines import Schema, SchemaColumn
from rewriter.declared import Kind

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
_ENDS = re.compile(r"\[?\s*([^,\s\[\]]+)\s*,\s*([^,\s\[\]]+)\s*\]?")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class OwnerAnswers:
    """``unit`` is the key of the people, ``max_rows`` of tables, ``ranges`` of columns; what is missing stays open.

    ``each_row``: there is no such key, since each row is about another person.
    """

    unit: tuple[str, str] | None = None
    max_rows: Mapping[str, int] = field(default_factory=dict)
    ranges: Mapping[tuple[str, str], str] = field(default_factory=dict)
    each_row: bool = False


def identifies(column: SchemaColumn) -> bool:
    """Whether a column is named like what identifies a person: such a column is left out of a first policy.

    >>> from rewriter.declared import TEXT
    >>> [identifies(SchemaColumn(name, "VARCHAR", TEXT)) for name in ("email", "last_name", "nameFirst", "name", "ip")]
    [True, True, True, False, True]
    """
    return column.type is not None and column.type.kind is Kind.TEXT and bool(_IDENTIFIES.search(column.name))


def asked_unit(candidates: list[str], schema: Schema, ask: Ask) -> tuple[str, str] | str | None:
    """Whose privacy is kept, among the keys that were found or any other column; or ``row``."""
    others = f" (or {', '.join(candidates[1:6])})" if len(candidates) > 1 else ""
    while said := ask(
        f"Whose privacy is kept? The key of the people, or row where each row is a person{others}",
        candidates[0] if candidates else "",
    ):
        if said.strip() == EACH_ROW:
            return EACH_ROW
        table, _, column = said.strip().partition(".")
        if table in schema.tables and column in schema.tables[table].columns:
            return table, column
    return None


def asked_bounds(tables: Mapping[str, bool], schema: Schema, ask: Ask) -> OwnerAnswers:
    """The bounds of tables that are declared; True for those of which a person may have several rows."""
    max_rows: dict[str, int] = {}
    ranges: dict[tuple[str, str], str] = {}
    for name, several in tables.items():
        if several:
            said = ask(f"How many rows of {name} count of one person at most? Empty: decide later", "")
            if said.isdigit() and int(said) > 0:
                max_rows[name] = int(said)
        keys = {column for key in schema.tables[name].foreign_keys for column in key.columns}
        for column in schema.tables[name].columns.values():
            kind = column.type
            if kind is None or not (kind.numeric or kind.temporal) or column.name in keys:
                continue
            if column.name in schema.tables[name].primary_key:
                continue
            said = ask(f"Lowest and highest {name}.{column.name}, as 0, 100? Empty: decide later", "")
            if (found := _ends(said, temporal=kind.temporal)) is not None:
                ranges[name, column.name] = found
    return OwnerAnswers(None, max_rows, ranges)


def _ends(said: str, *, temporal: bool) -> str | None:
    """A range as a policy spells it; None for what is none.

    >>> _ends("0, 120", temporal=False), _ends("[2020-01-01,2025-12-31]", temporal=True), _ends("9, 1", temporal=False)
    ('{range: [0, 120]}', '{range: [2020-01-01, 2025-12-31]}', None)
    """
    found = _ENDS.fullmatch(said.strip())
    form = _DAY if temporal else _NUMBER
    if found is None or not all(form.fullmatch(end) for end in found.groups()):
        return None
    low, high = found.groups()
    ordered = low <= high if temporal else float(low) <= float(high)
    return f"{{range: [{low}, {high}]}}" if ordered else None
