"""Counts of what is never NULL are counts of rows, and no other count is."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import pytest

from rewriter.declared import BOOLEAN, INTEGER, Catalog, Column, Hop, Response, Table
from tests.query.person_and_rows import spelt_in

CATALOG = Catalog(
    {
        "p": Table("p", {"id": Column("id", INTEGER, nullable=False, unique=True)}),
        "v": Table(
            "v",
            {
                "pid": Column("pid", INTEGER, nullable=False),
                "c": Column("c", INTEGER),
                "told": Column("told", BOOLEAN, nullable=False, randomized=Response((True, False), Fraction(1))),
            },
            path=(Hop("pid", "p", "id"),),
        ),
    },
    ("p", "id"),
)


canonical_text = partial(spelt_in, CATALOG)


@pytest.mark.parametrize(
    ("sql", "same"),
    [
        ("SELECT COUNT(1) FROM v", "SELECT COUNT(*) FROM v"),
        ("SELECT COUNT((pid)) AS n FROM v", "SELECT COUNT(*) AS n FROM v"),
        ("SELECT COUNT('x') FILTER (WHERE c > 1) FROM v", "SELECT COUNT(*) FILTER(WHERE c > 1) FROM v"),
        ("SELECT COUNT(*) FROM v WHERE TRUE", "SELECT COUNT(*) FROM v"),
        ("SELECT COUNT(*) FROM v WHERE TRUE AND c > 1 AND (TRUE)", "SELECT COUNT(*) FROM v WHERE c > 1"),
        ("SELECT c FROM v GROUP BY c HAVING COUNT(pid) > 2", None),
        ("SELECT COUNT(p.id) FROM v LEFT JOIN p ON p.id = pid", None),
        ("SELECT COUNT(v.pid) FROM v FULL JOIN p ON p.id = pid", None),
        ("SELECT COUNT(c) FROM v", None),
        ("SELECT COUNT(NULL) FROM v", None),
        ("SELECT COUNT(DISTINCT pid) FROM v", None),
        ("SELECT COUNT(told) FROM v", None),
        ("SELECT COUNT(pid) FROM v WHERE pid IS NULL", None),
        ("SELECT COUNT(pid) FILTER (WHERE NOT (pid) IS NULL) FROM v", None),
        ("SELECT COUNT(x.n) FROM (SELECT pid AS n FROM v LIMIT 3) AS x", None),
    ],
)
def test_what_is_never_null_counts_rows(sql: str, same: str | None) -> None:
    if same is None:
        assert "COUNT(*)" not in canonical_text(sql)
    else:
        assert canonical_text(sql) == canonical_text(same)
        assert "TRUE" not in canonical_text(sql)
