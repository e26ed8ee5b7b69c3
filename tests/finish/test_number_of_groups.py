"""The number of groups, measured beside groups of which a mean is asked: right where groups are as small as their noise."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pytest

from dpsql.accounting import PrivacyLoss
from dpsql.proxy import Proxy
from dpsql.testing import measured
from tests.doubles import open_without_noise

DAYS, SIZE = 180, 5
"""Of 365 declared days half have people, 5 each, in noise of 4."""

SQL = "SELECT AVG(n) AS mean, COUNT(*) AS days FROM (SELECT day, COUNT(*) AS n FROM visit GROUP BY day) AS t"
POLICY = """
database: duckdb:visits.duckdb
ledger: sqlite:{accounting}.ledger
privacy_unit: person.id
budget: {{epsilon: 1000000, {delta}accounting: {accounting}}}
statement: {{epsilon: 0.25, max_epsilon: 10}}
tables:
  person: {{columns: {{id: {{}}}}}}
  visit:
    unit: who -> person.id
    max_rows: {rows}
    columns:
      day: {{range: [2025-01-01, {last}]}}
      x: {{range: [0, 9]}}
"""


def policy(folder: Path, accounting: str = "zcdp", rows: int = 1, last: str = "2025-12-31") -> Path:
    delta = "" if accounting == "pure" else "delta: 1e-6, "
    path = folder / f"{accounting}.yaml"
    path.write_text(POLICY.format(accounting=accounting, delta=delta, rows=rows, last=last), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Everybody has a row; nine people more have a row outside of the declared days."""
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY)")
        connection.execute(f"INSERT INTO person SELECT i FROM range({DAYS * SIZE + 10}) t(i)")
        connection.execute("CREATE TABLE visit (who INTEGER NOT NULL, day DATE NOT NULL, x INTEGER NOT NULL)")
        connection.execute(
            f"INSERT INTO visit SELECT i, DATE '2025-01-01' + CAST(2 * (i // {SIZE}) AS INTEGER), 1"
            f" FROM range({DAYS * SIZE}) t(i)"
        )
        connection.execute(
            f"INSERT INTO visit SELECT {DAYS * SIZE} + i, DATE '2030-01-01' + CAST(i AS INTEGER), 1 FROM range(9) t(i)"
        )
    return tmp_path


@pytest.mark.parametrize(("accounting", "part"), [("zcdp", "10"), ("pure", "33")])
def test_the_mean_of_small_groups_is_right_and_its_bars_hold(folder: Path, accounting: str, part: str) -> None:
    """By the groups alone it was half too large, and its bars were from 1 to 360 groups."""
    means, days, held, draws = [], [], 0, 24
    with closing(Proxy.open(policy(folder, accounting))) as proxy:
        session = proxy.session()
        session.execute("SET dpsql.reuse = off")
        session.execute("SET dpsql.intervals = on")
        for _ in range(draws):
            answer = session.execute(SQL)
            ((mean, low, high, found, *_),) = answer.rows
            means.append(float(str(mean)))
            days.append(int(str(found)))
            held += float(str(low)) <= SIZE <= float(str(high))
            assert float(str(high)) - float(str(low)) < 2 * SIZE
    assert held >= 0.9 * draws
    assert abs(np.mean(means) / SIZE - 1) < 0.1
    assert abs(np.mean(days) / DAYS - 1) < 0.1
    assert any(f"how many groups of day have rows is measured too: {part} % of the price" in n for n in answer.notices)


@pytest.mark.parametrize("accounting", ["zcdp", "rdp", "approx", "pure"])
def test_it_is_charged_with_the_groups(folder: Path, accounting: str) -> None:
    with closing(Proxy.open(policy(folder, accounting))) as proxy:
        session = proxy.session()
        explained, alone = session.explain(SQL), session.explain("SELECT day, COUNT(*) FROM visit GROUP BY day")
        *_, number = explained.releases
        assert number.marginal
        assert "to know how many groups have rows" in str(explained)
        assert explained.price == alone.price
        assert explained.releases[0].mechanisms[0].variance > 1.05 * alone.releases[0].mechanisms[0].variance
        answer = session.execute(SQL)
        assert answer.price == explained.price
        assert sum((one.loss for one in proxy.ledger.charges(limit=10)), PrivacyLoss()) == answer.price
        again = session.execute(SQL)
        assert not again.price
        assert again.rows == answer.rows


def test_only_declared_days_are_counted(folder: Path) -> None:
    with closing(open_without_noise(policy(folder))) as proxy:
        ((mean, days),) = proxy.session().execute(SQL).rows
        assert (float(str(mean)), days) == (SIZE, DAYS)
        (number,) = (one for one in measured(SQL, proxy.answering.opened) if not one.plan.keys)
        ((cells,),) = (list(number.groups.values()),)
        assert list(cells.values()) == [DAYS]


def test_one_person_moves_it_by_the_number_of_the_persons_groups(folder: Path) -> None:
    with duckdb.connect(str(folder / "visits.duckdb")) as connection:
        connection.execute(
            f"INSERT INTO visit SELECT {DAYS * SIZE + 9}, DATE '2025-01-02' + CAST(2 * i AS INTEGER), 1"
            " FROM range(12) t(i)"
        )
    with closing(open_without_noise(policy(folder, rows=4))) as proxy:
        (number,) = (one for one in measured(SQL, proxy.answering.opened) if not one.plan.keys)
        ((_, sensitivity),) = number.blocks
        ((cells,),) = (list(number.groups.values()),)
        assert list(cells.values()) == [DAYS + 4]
        assert sensitivity.l1 == 4
        assert sensitivity.l2_squared == 16


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT day, COUNT(*) FROM visit GROUP BY day",
        "SELECT SUM(n) FROM (SELECT day, COUNT(*) AS n FROM visit GROUP BY day) AS t",
        "SELECT AVG(n) FROM (SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visit GROUP BY 1) AS t",
        "SELECT AVG(n) FROM (SELECT x, COUNT(*) AS n FROM visit GROUP BY x) AS t",
    ],
)
def test_nothing_is_bought_where_nobody_asks_or_groups_are_few(folder: Path, sql: str) -> None:
    with closing(Proxy.open(policy(folder))) as proxy:
        assert not any(one.marginal for one in proxy.session().explain(sql).releases)
