"""DISTINCT ON a person is rows that are numbered 1, and no other DISTINCT ON is."""

from __future__ import annotations

import pytest

from tests.query.person_and_rows import canonical_text

FIRST = "(SELECT DISTINCT ON (pid) c FROM v ORDER BY pid, d)"
NUMBERED = "(SELECT c, ROW_NUMBER() OVER (PARTITION BY pid ORDER BY d) AS number FROM v) AS f"


@pytest.mark.parametrize(
    "first",
    [
        FIRST,
        "(SELECT DISTINCT ON (pid) c, pid FROM v ORDER BY 2, d)",
        "(SELECT DISTINCT ON (w) c, pid AS w FROM v ORDER BY w, d)",
    ],
)
def test_distinct_on_a_person_numbers_rows(first: str) -> None:
    same = canonical_text(f"SELECT AVG(f.c) FROM {NUMBERED} WHERE f.number = 1")
    assert canonical_text(f"SELECT AVG(c) FROM {first} AS f").replace("v.c AS c", "v.c") == same


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT ON (k) c FROM v ORDER BY k, d",
        "SELECT DISTINCT ON (pid) c FROM v",
        "SELECT DISTINCT ON (pid) c FROM v ORDER BY pid",
        "SELECT DISTINCT ON (pid) c FROM v ORDER BY d, pid",
        "SELECT DISTINCT ON (pid) c FROM v ORDER BY pid, d LIMIT 3",
        "SELECT DISTINCT ON (pid) SUM(c) AS c FROM v GROUP BY pid, k ORDER BY pid, k",
    ],
)
def test_other_distinct_on_is_left(query: str) -> None:
    assert "ROW_NUMBER" not in canonical_text(f"SELECT AVG(c) FROM ({query}) AS f")
