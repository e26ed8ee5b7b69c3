"""A test of a value of all rows of a person is a join of groups, in one form; other tests are left."""

from __future__ import annotations

import pytest

from tests.query.person_and_rows import canonical_text

GROUPED = "(SELECT pid AS pid, MIN(d) AS value FROM v GROUP BY pid) AS grouped"


@pytest.mark.parametrize(
    ("condition", "test"),
    [
        ("v.d = (SELECT MIN(w.d) FROM v w WHERE w.pid = v.pid)", "AND v.d = grouped.value"),
        ("(pid, d) IN (SELECT pid, MIN(d) FROM v GROUP BY pid)", "AND v.d = grouped.value"),
        ("(d, pid) IN (SELECT MIN(d), pid FROM v GROUP BY 2)", None),
        ("(SELECT MIN(w.d) FROM v w WHERE v.pid = w.pid) < v.c", "AND v.c > grouped.value"),
    ],
)
def test_a_value_of_all_rows_of_a_person_is_joined(condition: str, test: str | None) -> None:
    text = canonical_text(f"SELECT COUNT(*) FROM v WHERE {condition}")
    if test is None:
        assert "JOIN (SELECT MIN(v_2.d) AS value, v_2.pid AS pid" in text or "JOIN (SELECT MIN(v.d) AS value" in text
    else:
        same = f"SELECT COUNT(*) FROM v JOIN {GROUPED} ON v.pid = grouped.pid {test}"
        assert text.replace("w.", "v.").replace("v AS w", "v") == canonical_text(same)


@pytest.mark.parametrize(
    "condition",
    [
        "v.d = (SELECT MIN(w.d) FROM v w WHERE w.k = v.k)",
        "v.d = (SELECT COUNT(w.d) FROM v w WHERE w.pid = v.pid)",
        "v.d = (SELECT MIN(w.d) FROM v w WHERE w.pid = v.pid AND w.c < v.c)",
        "v.d = (SELECT MIN(w.d) FROM v w WHERE w.pid = v.pid HAVING COUNT(*) > 2)",
        "v.d = (SELECT MIN(w.d) FROM v w)",
        "(v.d = (SELECT MIN(w.d) FROM v w WHERE w.pid = v.pid)) IS NULL",
        "(pid, d) NOT IN (SELECT pid, MIN(d) FROM v GROUP BY pid)",
        "(pid, d) IN (SELECT pid, MIN(d) FROM v GROUP BY pid, k)",
        "(pid, d) IN (SELECT pid, d FROM v GROUP BY pid, d)",
        "(pid, d) IN (SELECT pid, MIN(d) FROM v GROUP BY pid HAVING COUNT(*) > 2)",
        "(k, d) IN (SELECT k, MIN(d) FROM v GROUP BY k)",
    ],
)
def test_other_values_are_left(condition: str) -> None:
    assert "JOIN" not in canonical_text(f"SELECT COUNT(*) FROM v WHERE {condition}")
