"""Rows that break what a careless reading of a statement would believe: nobody moves it further than is declared."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpsql.errors import NotSupportedError
from tests.answer.staged_neighbours import GONE, assert_sound, two_policies, two_sessions

MET_OFTEN = (
    "SELECT COUNT(*), SUM(score) FROM person JOIN (VALUES (0), (1), (1), (1)) AS v(k) ON v.k = person.part",
    "SELECT AVG(score) FROM person LEFT JOIN (VALUES (1, 'a'), (1, 'b'), (2, 'a')) AS v(k, x) ON v.k = person.part",
    "SELECT COUNT(*) FROM person JOIN (VALUES ('t1'), ('t1'), ('t0')) AS v(k) ON v.k = person.town WHERE id < 20",
    "SELECT COUNT(*), SUM(score) FROM person JOIN (SELECT p.k FROM part AS p, code) AS q ON q.k = person.part",
    "SELECT COUNT(*) FROM person JOIN (SELECT p.k, c.name FROM part AS p JOIN code AS c ON c.k = p.k) AS q"
    " ON q.k = person.part",
    "WITH q AS (SELECT p.k FROM part AS p LEFT JOIN code AS c ON c.k >= p.k) SELECT MEDIAN(score) FROM person, q"
    " WHERE q.k = person.part",
    "WITH q AS (SELECT p.k FROM part AS p, code) SELECT COUNT(*) FROM person, q, q AS r WHERE q.k = person.part"
    " AND r.k = person.part",
    "WITH q AS (SELECT p.k, c.name FROM part AS p JOIN code AS c ON c.k = p.k) SELECT COUNT(*), SUM(score) FROM person"
    " JOIN q ON q.k = person.part LEFT JOIN q AS r ON r.k = person.part",
)
"""Public rows that are met more than once, where a column of them is, or was, a key."""

SEVERAL_ROWS = (
    "SELECT COUNT(*) FROM (SELECT pid, amount, COUNT(*) AS n FROM visit GROUP BY pid, amount) AS t",
    "SELECT SUM(n) FROM (SELECT pid, amount, COUNT(*) AS n FROM visit GROUP BY 1, 2) AS t WHERE pid = 7",
    "SELECT SUM(m) FROM (SELECT amount > 20, pid, MAX(amount) AS m FROM visit GROUP BY 1, 2) AS t",
    "SELECT COUNT(*) FROM (SELECT DISTINCT pid, amount FROM visit) AS t",
    "SELECT COUNT(*) FROM (SELECT p.id, v.amount, COUNT(*) FROM person AS p JOIN visit AS v ON v.pid = p.id"
    " GROUP BY p.id, v.amount) AS t",
    "SELECT COUNT(*) FROM (SELECT UNNEST(tags) AS tag FROM person) AS t",
    "SELECT COUNT(*), SUM(score) FROM person AS p, UNNEST(p.tags) AS t(tag)",
)
"""People who have several rows after an aggregation by more than themselves, or one for each item of a list."""

LEVELS = (
    "(SELECT level, {picked} OVER (PARTITION BY pid ORDER BY number) AS other FROM visit WHERE level IN (0, 3)) AS t"
)
FEWER_GROUPS = (
    *(
        f"SELECT m AS g, COUNT(*) FROM (SELECT pid, {picked} AS m FROM visit WHERE level IN (0, 3) GROUP BY pid) AS t GROUP BY 1"
        for picked in ("MAX(level)", "MIN(level * 2)", "MAX(level) - MIN(level)", "MAX(level) FILTER (WHERE level > 1)")
    ),
    *(
        f"SELECT {key} AS g, COUNT(*) FROM {LEVELS.format(picked=picked)} WHERE {key} IS NOT NULL GROUP BY 1"
        for picked in ("LEAD(level)", "LAG(level, 1)", "LAST_VALUE(level)", "MAX(level)", "LAG(level, 1, 3)")
        for key in ("other", "level - other", "other * 2", "COALESCE(other, level)")
    ),
)
"""Groups along a value of another row, of which a condition on all rows leaves few."""


LISTS_WITH_A_NULL = tuple(
    f"SELECT COUNT(*), SUM(score) FROM person WHERE id {word} (SELECT v.pid FROM person AS p LEFT JOIN visit AS v"
    f" ON v.pid = p.id AND {test} WHERE p.id {chosen})"
    for word in ("NOT IN", "IN", "<> ALL")
    for test in ("v.amount > 1000", "v.pid < p.id")
    for chosen in (f"= {GONE}", f">= {GONE} AND p.id < {GONE + 1}")
)
"""One person's row without a match is a NULL in a list: with it, NOT IN is true of nobody."""


def test_a_list_that_may_have_a_null_by_one_person_compares_nobody(tmp_path: Path) -> None:
    with two_sessions(two_policies(tmp_path)) as (here, there):
        assert_sound(here, there, LISTS_WITH_A_NULL, 0)
        for sql in LISTS_WITH_A_NULL[:4]:
            with pytest.raises(NotSupportedError, match="would compare everybody with nobody"):
                here.execute(sql)


def test_no_more_groups_are_listed_than_are_counted(tmp_path: Path) -> None:
    with two_sessions(two_policies(tmp_path)) as (here, there):
        assert_sound(here, there, FEWER_GROUPS, 1)


def test_rows_that_are_met_more_than_once_multiply_nobody(tmp_path: Path) -> None:
    with two_sessions(two_policies(tmp_path)) as (here, there):
        assert_sound(here, there, MET_OFTEN, 1)


def test_people_have_several_rows_after_an_aggregation_by_more_than_themselves(tmp_path: Path) -> None:
    with two_sessions(two_policies(tmp_path)) as (here, there):
        assert_sound(here, there, SEVERAL_ROWS, 1)
