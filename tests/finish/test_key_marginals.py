"""Ends of ordered keys by numbers of rows that are measured beside the groups: chosen apart from these, and paid for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import duckdb
import numpy as np
import pytest

from dpsql.accounting import PrivacyLoss
from dpsql.opened import open_policy
from dpsql.proxy import Proxy, Session
from dpsql.reply import Explanation
from dpsql.testing import measured

MONTHS, PEOPLE = range(24, 48), 20
"""Of 72 declared months a third has people: 20 each, in 40 groups by the two other keys."""

CELLS = "SELECT m, a, b, COUNT(*) AS n FROM visit GROUP BY m, a, b"
POLICY = """
database: duckdb:visits.duckdb
ledger: sqlite:{accounting}{number}.ledger
privacy_unit: {unit}
budget: {{epsilon: 1000000, {delta}accounting: {accounting}}}
statement: {{epsilon: 0.25, max_epsilon: 10}}
tables:
  visit:
    {bound}
    columns:
      id: {{}}
      who: {{}}
      m: {{range: [0, 71]}}
      x: {{range: [0, 100]}}
      a: {{values: [a0, a1, a2, a3, a4, a5, a6, a7]}}
      b: {{values: [b0, b1, b2, b3, b4]}}
"""
ROWS = [
    (month, random.randrange(8), random.randrange(5))
    for random in [Random(1)]
    for month in MONTHS
    for _ in range(PEOPLE)
]

Opens = Callable[..., Proxy]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("marginals")
    with duckdb.connect(str(found / "visits.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE visit (id INTEGER PRIMARY KEY, who INTEGER NOT NULL, m INTEGER NOT NULL, x INTEGER NOT NULL,"
            " a TEXT NOT NULL, b TEXT NOT NULL)"
        )
        connection.executemany(
            "INSERT INTO visit VALUES (?, ?, ?, 50, ?, ?)",
            [(at, at // 4, month, f"a{a}", f"b{b}") for at, (month, a, b) in enumerate(ROWS)],
        )
    return found


@pytest.fixture(scope="module")
def opens(folder: Path) -> Iterator[Opens]:
    opened: list[Proxy] = []

    def open_(accounting: str = "zcdp", bound: str = "max_rows: 1", unit: str = "visit.id") -> Proxy:
        delta = "" if accounting == "pure" else "delta: 1e-6, "
        path = folder / f"{len(opened)}.yaml"
        number = len(opened)
        path.write_text(
            POLICY.format(accounting=accounting, number=number, delta=delta, bound=bound, unit=unit), encoding="utf-8"
        )
        opened.append(Proxy.open(path))
        return opened[-1]

    yield open_
    for one in opened:
        one.close()


@pytest.fixture(scope="module")
def visits(opens: Opens) -> Session:
    session = opens().session()
    session.execute("SET dpsql.reuse = off")
    return session


def marginals_of(explanation: Explanation) -> list[str]:
    return [one.plan.keys[0].text for one in explanation.releases if one.marginal]


def test_ends_are_found_and_the_groups_between_them_stay_unbiased(visits: Session) -> None:
    """By sums of 40 groups, nine in ten of 2,880 groups were shown, of which 960 are between the ends."""
    truth = Counter((month, f"a{a}", f"b{b}") for month, a, b in ROWS)
    visits.execute("SET dpsql.intervals = on")
    visits.execute("SET dpsql.consistent = off")
    lost, shown, held = 0, 0, 0
    errors: list[float] = []
    draws = 16
    try:
        for _ in range(draws):
            rows = visits.execute(CELLS).rows
            exact = [truth[month, a, b] for month, a, b, *_ in rows]  # type: ignore[index]
            lost += len(ROWS) - sum(exact)
            shown += len(rows)
            held += sum(row[4] <= n <= row[5] for row, n in zip(rows, exact, strict=True))  # type: ignore[operator]
            errors += [float(str(row[3])) - n for row, n in zip(rows, exact, strict=True)]
    finally:
        visits.execute("RESET dpsql.intervals")
        visits.execute("RESET dpsql.consistent")
    assert lost <= 0.1 * draws * len(ROWS)
    assert shown <= 2 * draws * 960
    assert held / shown >= 0.94
    assert abs(float(np.mean(errors))) <= 3 * float(np.std(errors)) / len(errors) ** 0.5


def test_a_marginal_is_a_tenth_of_the_price_and_told(visits: Session) -> None:
    explanation, alone = visits.explain(CELLS), visits.explain("SELECT m, COUNT(*) AS n FROM visit GROUP BY m")
    assert marginals_of(explanation) == ["m"]
    assert explanation.price == alone.price
    cells, marginal = (one.mechanisms[0].variance for one in explanation.releases)
    assert cells == pytest.approx(alone.releases[0].mechanisms[0].variance / 0.9, rel=0.05)
    assert marginal == pytest.approx(9 * cells, rel=0.05)
    assert any("each value of m is measured too" in one and "10 % of the price" in one for one in explanation.notices)
    assert "by m alone, to know where its ends are" in str(explanation)


@pytest.mark.parametrize("accounting", ["zcdp", "rdp", "approx", "pure"])
def test_what_is_charged_covers_all_that_is_hidden(opens: Opens, accounting: str) -> None:
    """Beside keys of 80 groups or more, so that each accounting measures marginals."""
    proxy = opens(accounting)
    sql = "SELECT m, x, a, b, COUNT(*) AS n FROM visit WHERE x < 3 GROUP BY m, x, a, b"
    explanation = proxy.session().explain(sql)
    assert "m" in marginals_of(explanation)
    losses = [
        mechanism.loss(block.sensitivity)  # type: ignore[attr-defined]
        for one in explanation.releases
        for block, mechanism in zip(one.plan.blocks, one.mechanisms, strict=True)
    ]
    answer = proxy.session().execute(sql)
    assert answer.price == explanation.price
    charged = sum((one.loss for one in proxy.ledger.charges(limit=10)), PrivacyLoss())
    assert charged == answer.price
    shares = [one.rho or one.epsilon for one in losses]
    if accounting in ("zcdp", "pure"):
        assert 0.999 * (charged.rho or charged.epsilon) <= sum(shares) <= (charged.rho or charged.epsilon)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT m, COUNT(*) AS n FROM visit GROUP BY m",
        "SELECT m, a, COUNT(*) AS n FROM visit GROUP BY m, a",
        "SELECT a, b, COUNT(*) AS n FROM visit GROUP BY a, b",
        "SELECT m, a, b, COUNT(*) AS n FROM visit GROUP BY m, a, b ORDER BY n DESC LIMIT 5",
        "SELECT m, a, b, COUNT(*) AS n FROM visit GROUP BY ROLLUP (m, a, b)",
        "SELECT m, a, b, COUNT(*) AS n FROM visit GROUP BY GROUPING SETS ((m, a, b), (m))",
    ],
)
def test_nothing_is_bought_beside_few_groups_nor_where_a_level_says_it(visits: Session, sql: str) -> None:
    assert not marginals_of(visits.explain(sql))


def test_the_ends_of_groups_are_those_of_the_level_above_them(visits: Session) -> None:
    for _ in range(4):
        rows = visits.execute("SELECT m, a, b, COUNT(*) AS n FROM visit GROUP BY GROUPING SETS ((m, a, b), (m))").rows
        months, cells = ({row[0] for row in rows if (row[1] is None) == level} for level in (True, False))
        assert months == cells


def test_a_marginal_is_measured_only_where_it_has_less_noise_than_sums(opens: Opens) -> None:
    """A tenth of ε has the noise of sums of 100 groups."""
    session = opens("pure").session()
    assert not marginals_of(session.explain(CELLS))
    assert marginals_of(session.explain("SELECT m, x, COUNT(*) FROM visit WHERE x < 101 GROUP BY m, x")) == ["m"]


def test_the_evidence_of_sums_and_means_is_the_number_of_rows(visits: Session) -> None:
    explanation = visits.explain("SELECT m, a, b, AVG(x), SUM(x) FROM visit GROUP BY m, a, b")
    *_, marginal = explanation.releases
    assert marginal.marginal
    assert [one.text for one in marginal.plan.outputs] == ["COUNT(*)"]


def test_a_marginal_is_a_tenth_of_what_numbers_of_rows_cost_beside_other_statistics(visits: Session) -> None:
    """Numbers of rows by two conditions and of all are three measurements; so a month is 10 times as far off as a group
    at most."""
    explanation = visits.explain("SELECT m, a, b, COUNT(*), COUNT(DISTINCT x) FROM visit GROUP BY m, a, b")
    cells, marginal = explanation.releases
    rows = cells.plan.outputs[0].estimator.statistics[0]
    names = [[one.name for one in block.statistics] for block in cells.plan.blocks]
    (own,) = (one for one, some in zip(cells.mechanisms, names, strict=True) if rows in some)
    assert len(names) == 2
    assert marginal.mechanisms[0].variance == pytest.approx(9.5 * own.variance, rel=0.05)
    assert any("5 % of the price" in one for one in explanation.notices)


def test_nobody_pays_for_a_marginal_of_groups_that_are_kept(opens: Opens) -> None:
    session = opens().session()
    session.execute("SET dpsql.empty_groups = show")
    kept = session.execute(CELLS)
    session.execute("RESET dpsql.empty_groups")
    again = session.execute(CELLS)
    assert kept.price
    assert not again.price
    assert not any("each value of m is measured too" in one for one in again.notices)
    assert {row[:3]: row[3] for row in kept.rows}.items() >= {row[:3]: row[3] for row in again.rows}.items()


def test_a_marginal_that_was_bought_is_kept_with_its_groups(opens: Opens) -> None:
    session = opens().session()
    first, second = session.execute(CELLS), session.execute(CELLS)
    assert first.price
    assert not second.price
    assert first.rows == second.rows
    alone = "SELECT m, COUNT(*) AS n FROM visit GROUP BY m"
    assert session.explain(alone).releases[0].origin.startswith("combined with what was released before")


@pytest.mark.parametrize("bound", ["max_rows: 4", "{max_rows: 4, max_rows_per_group: 2}"])
@pytest.mark.parametrize("accounting", ["zcdp", "pure"])
def test_one_person_moves_a_marginal_by_no_more_than_its_sensitivity(
    folder: Path, tmp_path: Path, bound: str, accounting: str
) -> None:
    """A person whose rows lie in many groups of one month: each group has one of them, the month has all."""
    found: list[list[dict[tuple[object, ...], int]]] = []
    moved: list[int | None] = []
    limits = bound.strip("{}").replace(", ", "\n    ")
    for number, rows in enumerate([0, 12]):
        home = tmp_path / str(number)
        home.mkdir()
        with duckdb.connect(str(home / "visits.duckdb")) as connection:
            connection.execute(f"ATTACH '{folder / 'visits.duckdb'}' AS old (READ_ONLY)")
            connection.execute("CREATE TABLE visit (id INTEGER PRIMARY KEY, who INTEGER NOT NULL, m INTEGER NOT NULL,"
                               " x INTEGER NOT NULL, a TEXT NOT NULL, b TEXT NOT NULL)")  # fmt: skip
            connection.execute("INSERT INTO visit SELECT * FROM old.visit")
            connection.execute(
                f"INSERT INTO visit SELECT 100000 + i, 99999, 30, i, 'a' || (i % 8), 'b' || (i % 5) FROM range({rows})"
                " AS t(i)"
            )
        path = home / "policy.yaml"
        delta = "" if accounting == "pure" else "delta: 1e-6, "
        text = POLICY.format(accounting=accounting, number="", delta=delta, bound=limits, unit="visit.who")
        path.write_text(text, encoding="utf-8")
        opened = open_policy(path)
        try:
            every = measured("SELECT m, x, a, COUNT(*) AS n FROM visit GROUP BY m, x, a", opened)
        finally:
            opened.close()
        marginal = next(one for one in every if [key.text for key in one.plan.keys] == ["m"])
        ((names, sensitivity),) = marginal.blocks
        found.append([{key: cells[name] for key, cells in marginal.groups.items()} for name in names])
        moved = [sensitivity.l1, sensitivity.l2_squared]
    distances = [
        abs(after.get(key, 0) - before.get(key, 0))
        for before, after in zip(*found, strict=True)
        for key in before.keys() | after.keys()
    ]
    l1, l2_squared = moved
    assert l2_squared is not None
    assert 0.9 * l2_squared <= sum(one * one for one in distances) <= l2_squared
    assert l1 is None or sum(distances) <= l1
