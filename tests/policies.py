"""Policies of tests, from short declarations of their tables."""

from __future__ import annotations

import re

_TABLE = re.compile(r"(\S+?)(?:\((.*?)\))?(?:: (.*))?", re.DOTALL)
_COLUMN = re.compile(r"(\w+)(?: (?:(\[.*\])|(\S+)\.\.(\S+)|<- (\S+)|\{(.*)\}))?", re.DOTALL)
_COMMA = re.compile(r",\s+(?![^\[{]*[\]}])")
"""A comma that is not within brackets."""
_WORD = re.compile(r"\{\{([a-z]\w*)\}\}")


def policy_text(short: str) -> str:
    """The text of a policy, from its settings, several of them on a line, and its tables, each on a line of its own.

    A table is ``name(unit's column -> key, settings): columns``, or ``name: public``; its line goes on after a comma or
    a colon. A column is its name alone; or with the values that are declared, ``[F, M]``, their range, ``0..99``, the
    public column that has them, ``<- region.id``, or any settings, ``{about: id}``. The unit's column need not be named
    again. A text with words such as ``{budget}`` is a template for ``str.format``: its other braces are doubled.

    >>> print(policy_text('''
    ... database: duckdb:x; ledger: sqlite:ledger; privacy_unit: person.id
    ... budget: {epsilon: 10, delta: 1e-6}
    ... tables:
    ...   person: id, sex [F, M]
    ...   visit(who -> person.id, max_rows: 3): cost 0..9
    ... ''').strip())
    database: duckdb:x
    ledger: sqlite:ledger
    privacy_unit: person.id
    budget: {epsilon: 10, delta: 1e-6}
    tables:
      person: {columns: {id: {}, sex: {values: [F, M]}}}
      visit: {unit: who -> person.id, max_rows: 3, columns: {who: {}, cost: {range: [0, 9]}}}
    """
    settings, tables = short.split("\ntables:\n")
    lines = re.sub(r"([,:])\n\s*", r"\1 ", tables).strip().splitlines()
    text = "\n".join(
        [settings.replace("; ", "\n").strip(), "tables:", *(f"  {_table(line.strip())}" for line in lines), ""]
    )
    if not re.search(r"\{[a-z]\w*\}", text):
        return text
    return _WORD.sub(r"{\1}", text.replace("{", "{{").replace("}", "}}"))


def _table(declared: str) -> str:
    match = _TABLE.fullmatch(declared)
    assert match is not None, declared
    name, settings, columns = match[1], match[2] or "", match[3] or ""
    if columns == "public":
        return f"{name}: {{public: true}}"
    unit = settings.partition(" -> ")[0] if " -> " in settings.partition(",")[0] else ""
    named = [_column(one) for one in _COMMA.split(columns)] if columns else []
    if re.fullmatch(r"\w+", unit) and not any(one.startswith(f"{unit}: ") for one in named):
        named.insert(0, f"{unit}: {{}}")
    said = [f"unit: {settings}" if unit else settings] if settings else []
    return f"{name}: {{{', '.join([*said, 'columns: {' + ', '.join(named) + '}'])}}}"


def _column(declared: str) -> str:
    match = _COLUMN.fullmatch(declared)
    assert match is not None, declared
    name, values, low, high, source, settings = match.groups()
    kinds = {"values: ": values, "range: ": low and f"[{low}, {high}]", "values_from: ": source, "": settings}
    return f"{name}: {{{next((kind + said for kind, said in kinds.items() if said), '')}}}"
