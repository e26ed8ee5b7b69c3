"""Drill-downs: sums of cells of what was released over more rows, exactly what the narrower question asks, and free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpsql.mechanisms import Laplace
from dpsql.opened import Opened, open_policy
from dpsql.proxy import Proxy, Session
from dpsql.releases import NoisyTable
from dpsql.releases.store import Entry
from dpsql.reuse.derive import drilled, facts, source
from rewriter.declared.contribution import Norm
from tests.reuse.test_derive import DERIVED, PATIENTS, TOPPED_UP, VISITS, ask, database, exact, is_derived, policy

__all__ = ["database"]

PATIENT_KEYS = ("region", "sex", "smoker", "ward", "LOWER(region)")
VISIT_KEYS = ("p.region", "p.sex", "p.ward", "reason", "date_trunc('month', day)")
PATIENT_CONDITIONS = (
    "region = 'N'", "region IN ('N', 'E')", "sex = 'F'", "smoker", "smoker IS NULL", "NOT smoker", "ward = 'A'",
    "ward <> 'A'", "ward IN ('A', 'C')", "(region = 'N' OR sex = 'M')", "age > 30", "LOWER(region) = 'n'",
)  # fmt: skip
VISIT_CONDITIONS = ("p.region = 'N'", "p.sex <> 'F'", "p.ward = 'A'", "reason = 'acute'", "p.smoker", "p.age > 30")


@pytest.fixture(scope="module")
def opened(database: Path) -> Iterator[Opened]:
    found = open_policy(policy(database))
    yield found
    found.close()


@st.composite
def drills(draw: st.DrawFn) -> tuple[str, str]:
    """A question, and a narrower one."""
    rows, every, conditions, counted = draw(
        st.sampled_from(
            [
                (PATIENTS, PATIENT_KEYS, PATIENT_CONDITIONS, ("COUNT(*)", "SUM(age)")),
                (VISITS, VISIT_KEYS, VISIT_CONDITIONS, ("COUNT(*)", "SUM(cost)")),
            ]
        )
    )
    finer = draw(st.lists(st.sampled_from(every), min_size=1, max_size=3, unique=True))
    coarser = draw(st.lists(st.sampled_from(finer), max_size=2, unique=True))
    tests = draw(st.lists(st.sampled_from(conditions), min_size=1, max_size=2, unique=True))
    aggregate, filtered = draw(st.sampled_from(counted)), draw(st.booleans())

    def spelt(keys: Sequence[str], where: str, filter_: str) -> str:
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {', '.join([*keys, aggregate + filter_])} {rows}{where}{group}"

    last = f" FILTER (WHERE {tests.pop()})" if filtered else ""
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    return spelt(finer, "", ""), spelt(coarser, where, last)


_FOUND = [0]
UNDECLARED = (
    f"SELECT ward, sex, COUNT(*) {PATIENTS} GROUP BY ward, sex",
    f"SELECT sex, COUNT(*) {PATIENTS} WHERE ward <> 'A' GROUP BY sex",
)
"""People of a ward that nobody declared satisfy the condition, and are in none of the cells."""


@settings(max_examples=60, deadline=None)
@given(asked=drills(), norm=st.sampled_from(list(Norm)))
@example(asked=UNDECLARED, norm=Norm.L1)
def test_cells_add_up_to_exactly_what_a_narrower_question_measures(
    opened: Opened, asked: tuple[str, str], norm: Norm
) -> None:
    (fine, parts), (narrow, groups) = (exact(opened, sql, norm) for sql in asked)
    columns = {one.name: tuple(row[one.name] for row in parts.values()) for one in fine.statistics}
    table = NoisyTable(tuple(parts), columns, dict.fromkeys(columns, Laplace(Fraction(1))))
    known = facts(fine, "")
    if known is None:
        return
    for way in narrow.drill_downs():
        entry = drilled(Entry(1, known, table), way, narrow, opened.engine.run(way.cells).keys)
        found = None if entry is None else source(entry, narrow, tuple(groups))
        if found is not None:
            _FOUND[0] += 1
            for name, sums in found.table.statistics.items():
                assert list(sums) == [row[name] for row in groups.values()], asked


def test_drill_downs_were_found() -> None:
    """The property above says nothing where none is."""
    assert _FOUND[0] > 5


@pytest.fixture
def session(database: Path) -> Iterator[Session]:
    proxy = Proxy.open(policy(database))
    yield proxy.session()
    proxy.close()


@pytest.mark.parametrize(
    ("finer", "narrower"),
    [
        ("SELECT region, sex, smoker, COUNT(*) FROM patient GROUP BY 1, 2, 3", narrower)
        for narrower in (
            "SELECT sex, COUNT(*) FROM patient WHERE region = 'N' GROUP BY sex",
            "SELECT sex, COUNT(*) FROM patient WHERE region IN ('N', 'E') GROUP BY sex",
            "SELECT region, COUNT(*) FILTER (WHERE sex = 'F') FROM patient GROUP BY region",
            "SELECT SUM(CASE WHEN sex = 'F' AND smoker THEN 1 ELSE 0 END) FROM patient",
            "SELECT COUNT(*) FROM patient WHERE region = 'N' AND sex = 'F' AND smoker IS NULL",
        )
    ]
    + [
        (
            f"SELECT p.region, reason, COUNT(*) {VISITS} GROUP BY 1, 2",
            f"SELECT reason, COUNT(*) {VISITS} WHERE p.region = 'N' GROUP BY 1",
        ),
        (f"SELECT p.region, reason, COUNT(*) {VISITS} GROUP BY 1, 2", f"SELECT reason, COUNT(*) {VISITS} GROUP BY 1"),
    ],
)
def test_a_drill_down_is_free(session: Session, finer: str, narrower: str) -> None:
    assert ask(session, finer, "3").price
    answer = ask(session, narrower, "0.5")
    assert is_derived(answer)
    assert all(row[-1] is not None for row in answer.rows)


@pytest.mark.parametrize(
    ("finer", "narrower"),
    [
        # Whoever is clipped over all reasons counts with less in one of them.
        (f"SELECT p.region, reason, COUNT(*) {VISITS} GROUP BY 1, 2",
         f"SELECT p.region, COUNT(*) {VISITS} WHERE reason = 'acute' GROUP BY 1"),
        (
            f"SELECT p.region, reason, COUNT(*) {VISITS} GROUP BY 1, 2",
            f"SELECT p.region, reason, COUNT(*) {VISITS} WHERE reason = 'acute' GROUP BY 1, 2",
        ),
        (
            f"SELECT reason, cost > 25, COUNT(*) {VISITS} GROUP BY 1, 2",
            f"SELECT reason, COUNT(*) {VISITS} WHERE p.sex = 'F' GROUP BY 1",
        ),
        (
            f"SELECT p.sex, reason, cost > 25, COUNT(*) {VISITS} GROUP BY 1, 2, 3",
            f"SELECT reason, COUNT(*) {VISITS} WHERE p.sex = 'F' GROUP BY 1",
        ),
        # Some have a ward that nobody declared: they are in no cell, and in the answer.
        ("SELECT ward, sex, COUNT(*) FROM patient GROUP BY 1, 2", "SELECT sex, COUNT(*) FROM patient WHERE ward <> 'A' GROUP BY 1"),
        ("SELECT ward, sex, COUNT(*) FROM patient GROUP BY 1, 2", "SELECT ward, COUNT(*) FROM patient WHERE age > 30 GROUP BY 1"),
        ("SELECT ward, sex, COUNT(*) FROM patient GROUP BY 1, 2", "SELECT COUNT(*) FROM patient WHERE sex = 'F'"),
    ],
)  # fmt: skip
def test_what_cells_do_not_hold_is_bought(session: Session, finer: str, narrower: str) -> None:
    ask(session, finer, "3")
    answer = ask(session, narrower, "3")
    assert answer.price.rho == Fraction(9, 2)
    assert not {DERIVED, TOPPED_UP} & {*answer.notices}


def test_declared_values_are_enough_where_a_condition_names_them(session: Session) -> None:
    ask(session, "SELECT ward, sex, COUNT(*) FROM patient GROUP BY 1, 2", "3")
    assert is_derived(ask(session, "SELECT sex, COUNT(*) FROM patient WHERE ward = 'A' GROUP BY 1", "1"))


def test_the_error_bar_is_that_of_the_cells(session: Session) -> None:
    session.execute("SET dpsql.empty_groups = show")
    ask(session, "SELECT region, sex, COUNT(*) FROM patient GROUP BY 1, 2", "1")
    one = ask(session, "SELECT COUNT(*) FROM patient WHERE region = 'N' AND sex = 'F'", "0.1")
    four = ask(session, "SELECT COUNT(*) FROM patient WHERE region IN ('N', 'E')", "0.1")
    assert is_derived(one)
    assert is_derived(four)
    (narrow,), (wide,) = one.margins[0], four.margins[0]
    assert narrow is not None
    assert wide is not None
    assert narrow < wide < 3 * narrow
