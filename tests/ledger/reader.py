"""An independent reader of a ledger: it knows SQL and fractions, and nothing of dpsql.

What a ledger promises is checked on its rows alone: no id twice, no number missing, at every prefix the sums within the
limits, and every release that was reported among the charges.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import psycopg

PARTS = ("epsilon", "rho", "delta")


@dataclass(frozen=True)
class Row:
    number: int
    id: str
    analyst: str
    parts: tuple[Fraction, Fraction, Fraction]


def rows(place: str | Path) -> list[Row]:
    """The charges in the file at a path, or in the database at a URL, in their order."""
    found: list[tuple[object, ...]]
    if str(place).startswith("postgresql://"):
        with psycopg.connect(str(place), autocommit=True) as connection:
            found = connection.execute(
                "SELECT number, id, analyst, epsilon::text, rho::text, delta::text"
                " FROM dpsql_ledger.charge ORDER BY number"
            ).fetchall()
    else:
        # One that may write could be the last to close it, and would move the log into the file.
        uri = f"{Path(place).resolve().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=30)) as reader:
            # One bit of an id may be another, and no text any more.
            reader.text_factory = lambda text: text.decode(errors="replace")
            found = reader.execute(
                "SELECT number, id, analyst, epsilon, rho, delta FROM charge ORDER BY number"
            ).fetchall()
    return [Row(int(str(n)), str(i), str(a), tuple(Fraction(str(p)) for p in parts)) for n, i, a, *parts in found]  # type: ignore[arg-type]


def violations(
    found: list[Row], released: Collection[str], total: Fraction, shares: Mapping[str, Fraction] | None = None
) -> list[str]:
    """Every promise that the rows break, for limits on the first part, ε."""
    wrong: list[str] = []
    ids = [row.id for row in found]
    if len(set(ids)) != len(ids):
        wrong.append("an id is charged twice")
    if [row.number for row in found] != list(range(1, len(found) + 1)):
        wrong.append("a number is missing or out of order")
    if len(set(released)) != len(released):
        wrong.append("an id was released twice")
    unpaid = set(released) - set(ids)
    if unpaid:
        wrong.append(f"{len(unpaid)} releases are not charged")
    sums = {name: Fraction(0) for name in ("", *(shares or {}))}
    for row in found:
        if any(part < 0 for part in row.parts):
            wrong.append(f"charge {row.number} gives back")
        for name, limit in {"": total, **(shares or {})}.items():
            if name in ("", row.analyst):
                sums[name] += row.parts[0]
                if sums[name] > limit:
                    wrong.append(f"after charge {row.number}, {name or 'everybody'} is above the limit")
    return wrong
