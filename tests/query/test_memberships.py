"""Aggregates of a person's rows that ask for one row, and lists of distinct keys, are IN; nothing else becomes one."""

from __future__ import annotations

from functools import partial

import pytest

from rewriter.declared import INTEGER, TEXT, Catalog, Column, Hop, Table
from tests.query.person_and_rows import spelt_in

CATALOG = Catalog(
    {
        "p": Table("p", {"id": Column("id", INTEGER), "k": Column("k", TEXT)}),
        "v": Table(
            "v",
            {"pid": Column("pid", INTEGER), "k": Column("k", TEXT), "c": Column("c", INTEGER)},
            path=(Hop("pid", "p", "id"),),
        ),
    },
    ("p", "id"),
)


canonical_text = partial(spelt_in, CATALOG)

OF_ROWS = "SELECT COUNT(*) FROM p WHERE id IN (SELECT pid FROM v WHERE c > 4)"
OF_ALL = "SELECT COUNT(*) FROM p WHERE id IN (SELECT pid FROM v)"


@pytest.mark.parametrize(
    ("condition", "same"),
    [
        ("(SELECT COUNT(*) FROM v WHERE pid = p.id AND c > 4) > 0", OF_ROWS),
        ("0 < (SELECT COUNT(*) FROM v WHERE pid = p.id AND c > 4)", OF_ROWS),
        ("(SELECT COUNT(1) FROM v WHERE pid = p.id AND c > 4) >= 1", OF_ROWS),
        ("(SELECT COUNT(*) FROM v WHERE pid = p.id) <> 0", OF_ALL),
        ("(SELECT MAX(c) FROM v WHERE pid = p.id) > 4", OF_ROWS),
        ("4 < (SELECT MAX(c) FROM v WHERE pid = p.id)", OF_ROWS),
        ("(SELECT MIN(c) FROM v WHERE pid = p.id) <= 4", OF_ROWS.replace(">", "<=")),
        ("id IN (SELECT DISTINCT pid FROM v)", OF_ALL),
        ("id IN (SELECT pid FROM v WHERE c > 4 GROUP BY pid)", OF_ROWS),
    ],
)
def test_one_row_is_enough(condition: str, same: str) -> None:
    assert canonical_text(f"SELECT COUNT(*) FROM p WHERE {condition}") == canonical_text(same)


@pytest.mark.parametrize(
    "condition",
    [
        "(SELECT COUNT(*) FROM v WHERE pid = p.id) > 1",
        "(SELECT COUNT(*) FROM v WHERE pid = p.id) >= 0",
        "(SELECT COUNT(*) FROM v WHERE pid = p.id) < 1",
        "(SELECT COUNT(c) FROM v WHERE pid = p.id) > 0",
        "(SELECT COUNT(DISTINCT c) FROM v WHERE pid = p.id) > 0",
        "(SELECT MAX(c) FROM v WHERE pid = p.id) < 4",
        "(SELECT MIN(c) FROM v WHERE pid = p.id) > 4",
        "(SELECT MAX(c) FROM v WHERE pid = p.id) <> 4",
        "(SELECT MAX(c) FROM v WHERE pid = p.id) IS NULL",
        "(SELECT MAX(c) FROM v WHERE pid = p.id HAVING COUNT(*) > 2) > 4",
        "(SELECT MAX(c) FILTER (WHERE c < 9) FROM v WHERE pid = p.id) > 4",
        "(SELECT SUM(c) FROM v WHERE pid = p.id) > 0",
        "(SELECT COUNT(*) FROM v WHERE v.k = p.k) > 0",
        "(SELECT COUNT(*) FROM v WHERE pid = p.id AND v.k < p.k) > 0",
    ],
)
def test_what_several_rows_decide_is_left(condition: str) -> None:
    assert " IN (" not in canonical_text(f"SELECT COUNT(*) FROM p WHERE {condition}")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k FROM v GROUP BY k",
        "SELECT DISTINCT k FROM v",
        "SELECT pid FROM v GROUP BY pid HAVING COUNT(*) > 2",
        "SELECT DISTINCT pid FROM v LIMIT 3",
        "SELECT MIN(pid) FROM v GROUP BY pid",
    ],
)
def test_lists_of_groups_are_left(query: str) -> None:
    column = "k" if " k " in query else "id"
    text = canonical_text(f"SELECT COUNT(*) FROM p WHERE {column} IN ({query})")
    assert "GROUP BY" in text or "DISTINCT" in text
