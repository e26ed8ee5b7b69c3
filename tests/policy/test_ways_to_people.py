"""Whose row it is, where people have no table of their own, keys have several columns, and several ways lead there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dpsql.errors import Error, OperationalError
from dpsql.opened import open_policy
from dpsql.proxy import Proxy
from dpsql.testing import measure
from tests.doubles import open_without_noise
from tests.new_databases import new_database

TABLES = """
CREATE TABLE stay (id INT, person VARCHAR, age INT, guardian VARCHAR);
CREATE TABLE lab (nr INT PRIMARY KEY, stay INT, result INT);
CREATE TABLE sale (item INT, ticket INT, buyer VARCHAR, price INT);
CREATE TABLE back (item INT, ticket INT, bringer VARCHAR, amount INT);
CREATE TABLE gift (item INT, ticket INT, buyer VARCHAR);
"""
FILL = """
INSERT INTO stay SELECT i, 'p' || (i // 3), i % 90, 'p' || ((i + 50) % 100) FROM range(300) AS r(i);
INSERT INTO lab SELECT i, i % 310, i % 50 FROM range(1000) AS r(i);
INSERT INTO sale SELECT i % 7, i // 7, 'p' || (i % 100), i % 20 FROM range(700) AS r(i);
INSERT INTO back SELECT item, ticket, 'p' || ((price * 7) % 100), 1 FROM sale WHERE price < 5;
INSERT INTO gift SELECT item, ticket, buyer FROM sale WHERE price > 15;
"""
POLICY = """
database: duckdb:{}
ledger: sqlite:{}
privacy_unit: stay.person
budget: {{epsilon: 10000, delta: 1e-6}}
statement: {{epsilon: 10, max_epsilon: 10}}
tables:
  stay: {{max_rows: 3, columns: {{id: {{}}, age: {{range: [0, 100]}}}}}}
  lab: {{unit: stay -> stay.id, max_rows: 40, columns: {{result: {{range: [0, 50]}}}}}}
  sale: {{unit: buyer -> stay.person, max_rows: 20, columns: {{item: {{}}, ticket: {{}}, price: {{range: [0, 20]}}}}}}
  back:
    unit: [(item, ticket) -> sale(item, ticket), buyer -> stay.person]
    max_rows: 20
    columns: {{amount: {{range: [0, 5]}}, bringer: {{owner: public}}}}
  gift:
    unit: [[buyer -> stay.person], [(ticket, item) -> sale(ticket, item)]]
    max_rows: 20
    columns: {{item: {{}}, ticket: {{}}}}
"""


def opened_at(folder: Path, keys: str = "ALTER TABLE sale ADD PRIMARY KEY (item, ticket)", change: str = "") -> Path:
    with new_database(folder / "shop.duckdb") as connection:
        connection.execute(TABLES)
        connection.execute(keys)
        connection.execute(FILL)
        connection.execute(change)
    path = folder / "policy.yaml"
    path.write_text(POLICY.format(folder / "shop.duckdb", folder / "shop.ledger"))
    return path


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return opened_at(tmp_path_factory.mktemp("ways"))


@pytest.fixture(scope="module")
def proxy(policy: Path) -> Iterator[Proxy]:
    proxy = open_without_noise(policy)
    yield proxy
    proxy.close()


SALE_AND_BACK = "sale JOIN back ON sale.item = back.item AND sale.ticket = back.ticket"
ANSWERED = {
    "SELECT COUNT(*), COUNT(DISTINCT person) FROM stay": None,
    "SELECT COUNT(*), SUM(result) FROM lab": "SELECT COUNT(*), SUM(result) FROM lab JOIN stay ON lab.stay = stay.id",
    "SELECT COUNT(*), SUM(result) FROM lab JOIN stay ON lab.stay = stay.id WHERE age < 50": None,
    "SELECT COUNT(DISTINCT person) FROM lab JOIN stay ON lab.stay = stay.id": None,
    "SELECT COUNT(*) FROM lab AS a JOIN lab AS b ON a.stay = b.stay WHERE a.stay < 300": None,
    "SELECT COUNT(*) FROM (SELECT stay, MAX(result) AS m FROM lab WHERE stay < 300 GROUP BY stay) AS s WHERE m > 20": None,
    "SELECT COUNT(*), SUM(amount) FROM back": None,
    f"SELECT COUNT(*), SUM(amount), SUM(price) FROM {SALE_AND_BACK}": None,
    f"SELECT COUNT(*), COUNT(back.item) FROM {SALE_AND_BACK.replace('JOIN', 'LEFT JOIN')}": None,
    "SELECT COUNT(*), SUM(price) FROM sale JOIN gift ON sale.ticket = gift.ticket AND gift.item = sale.item": None,
    "SELECT COUNT(*) FROM sale AS a JOIN sale AS b ON a.item = b.item AND a.ticket = b.ticket": None,
}


@pytest.mark.parametrize("sql", ANSWERED)
def test_rows_belong_to_the_person_at_the_end_of_their_way(proxy: Proxy, policy: Path, sql: str) -> None:
    with duckdb.connect() as beside:
        beside.execute(TABLES)
        beside.execute(FILL)
        (true,) = beside.execute(ANSWERED[sql] or sql).fetchall()
    assert [int(number) for number in proxy.session().execute(sql).rows[0]] == list(true)


@pytest.mark.parametrize(
    "on",
    [
        "sale.item = back.item",
        "sale.item = back.ticket AND sale.ticket = back.item",
        "sale.item = back.item AND sale.ticket > back.ticket",
        "sale.item = back.item AND sale.item = back.ticket",
        "sale.item = back.item OR sale.ticket = back.ticket",
    ],
)
def test_a_part_of_a_key_ties_nobody(proxy: Proxy, on: str) -> None:
    with pytest.raises(Error, match="not by the same person") as told:
        proxy.session().execute(f"SELECT COUNT(*) FROM sale JOIN back ON {on}")
    assert "item = sale.item AND ticket = sale.ticket" in (told.value.hint or "")


def test_rows_that_share_a_part_of_the_key_of_their_rows_tie_nobody(proxy: Proxy) -> None:
    """What two people bring back of one item."""
    with pytest.raises(Error, match="not by the same person"):
        proxy.session().execute("SELECT COUNT(*) FROM back AS a JOIN back AS b ON a.item = b.item")


def test_parts_of_two_rows_keys_tie_nobody(proxy: Proxy) -> None:
    """One ticket's item and another's ticket are a key of somebody else's sale."""
    three = "sale AS a JOIN sale AS b ON a.item = b.item AND a.ticket = b.ticket JOIN back AS c"
    answered = f"SELECT COUNT(*) FROM {three} ON c.item = a.item AND c.ticket = b.ticket"
    assert int(proxy.session().execute(answered).rows[0][0]) == 175
    with pytest.raises(Error, match="not by the same person"):
        two = "sale AS a JOIN stay AS p ON a.buyer = p.person JOIN sale AS b ON b.buyer = p.person JOIN back AS c"
        proxy.session().execute(f"SELECT COUNT(*) FROM {two} ON c.item = a.item AND c.ticket = b.ticket")


def test_what_somebody_else_brings_back_moves_nothing(tmp_path: Path) -> None:
    """Without one buyer, all that was bought by them is gone, whoever brought it back; and nothing else."""
    folders = [tmp_path / name for name in ("whole", "without")]
    for folder in folders:
        folder.mkdir()
    gone = "DELETE FROM back WHERE (item, ticket) IN (SELECT (item, ticket) FROM sale WHERE buyer = 'p3')"
    person = "DELETE FROM sale WHERE buyer = 'p3'; DELETE FROM stay WHERE person = 'p3'"
    policies = [opened_at(folders[0]), opened_at(folders[1], change=f"{gone}; {person}")]
    for sql in (*ANSWERED, "SELECT MIN(amount) FROM back"):
        here, there = (measure(sql, policy)[0] for policy in policies)
        assert here.plan.sql == there.plan.sql
        for block in here.plan.blocks:
            names = [statistic.name for statistic in block.statistics]
            moved = sum(abs(here.groups[()][name] - there.groups[()][name]) ** 2 for name in names)
            assert moved <= block.sensitivity.l2_squared


@pytest.mark.parametrize(
    ("keys", "change", "told"),
    [
        (
            "",
            "INSERT INTO stay VALUES (7, 'p90', 3, NULL)",
            "rows share values of stay.id, so that a row of lab belongs to two",
        ),
        (
            "",
            "INSERT INTO sale SELECT item, ticket, 'p5', 1 FROM sale LIMIT 1",
            "rows share values of (item, ticket) of",
        ),
        (
            "ALTER TABLE sale ADD PRIMARY KEY (item, ticket)",
            "UPDATE gift SET buyer = 'p98' WHERE buyer = 'p97'",
            "Some rows lead to two different people",
        ),
    ],
    ids=["stay", "sale", "gift"],
)
def test_a_key_of_two_people_keeps_the_policy_closed(tmp_path: Path, keys: str, change: str, told: str) -> None:
    with pytest.raises(OperationalError) as refused:
        open_policy(opened_at(tmp_path, keys, change)).close()
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("(item, ticket) -> sale(item)", "is not a step"),
        ("(item, ticket) -> sale", "is not a step"),
        ("(item) -> sale(item)", "is not a step"),
        ("[[buyer -> stay.person], buyer -> stay.person]", "are mixed"),
        ("[[buyer -> stay.person], [buyer -> stay.person]]", "say each once"),
        ("[[buyer -> stay.person], [item -> sale.item]]", "about two people"),
        ("(item, nr) -> sale(item, ticket)", "has no column nr"),
        ("[item -> stay.id, guardian -> stay.person]", "goes on from stay by 'guardian -> stay.person'"),
        ("[(item, ticket) -> sale(item, ticket), item -> stay.id]", "goes on from sale by 'item -> stay.id'"),
    ],
)
def test_what_is_no_way_is_told(tmp_path: Path, written: str, told: str) -> None:
    path = opened_at(tmp_path)
    text = path.read_text()
    path.write_text(text.replace("[[buyer -> stay.person], [(ticket, item) -> sale(ticket, item)]]", written))
    with pytest.raises(OperationalError) as refused:
        open_policy(path).close()
    assert told in str(refused.value)
