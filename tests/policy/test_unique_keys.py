"""Keys by the policy's word: certain where a constraint or rows that cannot change make them so, else never relied on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from dpsql.engines.schema import Look, Schema, SchemaColumn, SchemaTable
from dpsql.errors import OperationalError
from dpsql.opened import look_at, open_engine, open_policy
from dpsql.policy.declared_catalog import catalog, fit
from dpsql.policy.policy import Policy
from dpsql.policy.problem import PolicyError
from dpsql.policy.unique_keys import Claim
from dpsql.releases.tables import ExactTable
from dpsql.testing import Measurement, measure
from rewriter.declared.contribution import Norm
from rewriter.declared.types import INTEGER
from rewriter.planner.plan_release import plan
from rewriter.split.splitter import split
from rewriter.statement.parser import parse
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server
from tests.new_databases import new_database
from tests.properties.neighbours import Table, compare

TABLES = """
CREATE TABLE client (id INT, town INT, age INT);
CREATE TABLE sale (nr INT, client INT, shop INT, price INT);
CREATE TABLE line (sale INT, part INT, amount INT);
CREATE TABLE town (code INT, land TEXT, people INT);
INSERT INTO client SELECT n, n % 4, 20 + n FROM range(8) t(n);
INSERT INTO sale SELECT n, n % 8, n % 3, n FROM range(40) t(n);
INSERT INTO line SELECT n % 40, n % 5, 1 FROM range(160) t(n);
INSERT INTO town SELECT n, 'L' || n % 2, 100 * n FROM range(4) t(n);
"""
POLICY = """
database: {}
ledger: sqlite:ledger
privacy_unit: client.id
budget: {{epsilon: 10, delta: 1e-6}}
tables:
  client: {{columns: {{id: {{}}, town: {{}}, age: {{range: [0, 100]}}}}}}
  sale:
    unit: client -> client.id
    max_rows: 8
    columns: {{nr: {{}}, client: {{}}, shop: {{}}, price: {{range: [0, 40]}}}}
  line: {{unit: sale -> sale.nr, max_rows: 20, columns: {{sale: {{}}, part: {{}}, amount: {{range: [0, 9]}}}}}}
  town: {{public: true}}
"""


@dataclass(frozen=True)
class Site:
    """A database of one kind, and policies over it."""

    kind: str
    folder: Path

    def policy(self, policy: str = POLICY, change: str = "", tables: str = TABLES) -> Path:
        path = self.folder / f"policy{len(list(self.folder.iterdir()))}.yaml"
        if self.kind == "duckdb":
            database = path.with_suffix(".duckdb")
            with new_database(database) as connection:
                connection.execute(tables)
                connection.execute(change)
            path.write_text(policy.format(f"duckdb:{database}"))
        else:
            server, spelt = shared_server(), tables
            for most in (4, 8, 40, 160):
                spelt = spelt.replace(f"range({most})", f"generate_series(0, {most - 1})")
            path.write_text(policy.format(server.url(server.database(f"{spelt};{change}"))))
        return path


@pytest.fixture(params=["duckdb", "postgres"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    return Site(request.param, tmp_path)


CERTAIN = "ALTER TABLE sale ADD PRIMARY KEY (nr);"
"""What PostgreSQL needs, since rows there may change."""


def refusal(policy: Path) -> str:
    with pytest.raises(OperationalError) as told:
        open_policy(policy).close()
    return str(told.value)


def release(policy: Path, sql: str) -> Measurement:
    (found,) = measure(sql, policy, norm=Norm.L1)
    return found


def bound(policy: Path, sql: str) -> int | None:
    ((_, sensitivity),) = release(policy, sql).blocks
    return sensitivity.l1


# Keys on the way to the unit

JOINED = "SELECT COUNT(*) FROM line AS l JOIN sale AS s ON l.sale = s.nr"


def test_a_chain_multiplies_nothing_where_its_keys_are_certain(site: Site) -> None:
    policy = site.policy(change="" if site.kind == "duckdb" else CERTAIN)
    assert bound(policy, JOINED) == 20
    assert bound(policy, "SELECT COUNT(*) FROM line") == 20


def test_a_chain_over_a_key_that_may_cease_to_be_one_is_not_opened(tmp_path: Path) -> None:
    """That the rows of today are apart says nothing of tomorrow's."""
    said = refusal(Site("postgres", tmp_path).policy())
    assert "tables.line.unit: nothing keeps sale.nr unique" in said
    assert "add UNIQUE (nr) to the table sale" in said


@pytest.mark.parametrize("key", ["", "key: nr, "])
def test_a_chain_over_a_key_that_is_none_is_not_opened(site: Site, key: str) -> None:
    said = refusal(
        site.policy(POLICY.replace("sale:\n", f"sale:\n    {key[:-2]}\n"), "INSERT INTO sale VALUES (3, 5, 1, 1)")
    )
    assert "a row of line" in said
    assert "belong" in said
    assert ("tables.sale.key: rows share values of sale.nr" in said) == bool(key)


def test_a_view_is_no_table(site: Site) -> None:
    views = TABLES.replace("TABLE sale", "TABLE sales").replace("INTO sale ", "INTO sales ")
    said = refusal(site.policy(tables=f"{views} CREATE VIEW sale AS SELECT * FROM sales;"))
    assert "sale is a view: name a table, or give line a column with the person's own key" in said


# The key of the people


def test_the_people_have_one_row_each_or_the_owner_says_how_many(site: Site) -> None:
    again = "INSERT INTO client VALUES (3, 1, 30);" + (CERTAIN if site.kind == "postgres" else "")
    assert "tables.client: rows share values of client.id, the key of the people" in refusal(site.policy(change=again))
    several = POLICY.replace("client: {{columns", "client: {{max_rows: 2, columns")
    assert bound(site.policy(several, again), "SELECT COUNT(*) FROM client") == 2


def test_people_who_were_apart_are_one_row_by_a_look_or_by_clipping(site: Site) -> None:
    policy = site.policy(change="" if site.kind == "duckdb" else CERTAIN)
    found = release(policy, "SELECT COUNT(*) FROM client")
    assert found.blocks[0][1].l1 == (1 if site.kind == "duckdb" else found.granularity["s0"] ** -1)
    assert ("GROUP BY" in found.plan.sql) == (site.kind == "postgres")


# Keys by their own word

PARTS = (
    "SELECT COUNT(*) FROM line AS l JOIN sale AS s ON l.sale = s.nr JOIN line AS m ON m.sale = s.nr AND m.part = l.part"
)


@pytest.mark.parametrize(("key", "most"), [("", 400), ("key: [sale, part], ", 20), ("key: [[part, sale]], ", 20)])
def test_a_claimed_key_says_how_many_rows_are_met(site: Site, key: str, most: int) -> None:
    text = POLICY.replace("line: {{unit", f"line: {{{{{key}unit")
    tables = TABLES.replace("SELECT n % 40, n % 5, 1 FROM range(160)", "SELECT n % 40, n // 40, 1 FROM range(160)")
    policy = site.policy(
        text, CERTAIN if site.kind == "postgres" else "", tables.replace("//", "/" if site.kind == "postgres" else "//")
    )
    assert bound(policy, PARTS) == most
    notes = release(policy, PARTS).plan.notes
    assert any("key: [sale, part] for line" in note or "key: [part, sale] for line" in note for note in notes) == (
        most == 400
    )


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("shop", "", "rows share values of sale.shop, so it is no key: remove it"),
        ("[shop, client]", "", "rows share values of (shop, client) of sale, so it is no key"),
        ("[[nr], [shop]]", "", "tables.sale.key[1]: rows share values of sale.shop"),
        ("[nr, price]", "UPDATE sale SET price = NULL WHERE nr = 3", "rows have NULL in (nr, price) of sale"),
        ("numer", "", "sale has no column numer: there are"),
        ("[]", "", "an empty list"),
        ("[nr, [price]]", "", "are mixed"),
        ("[nr, NR]", "", "each once"),
    ],
)
def test_what_is_no_key_is_not_opened(site: Site, key: str, change: str, message: str) -> None:
    text = POLICY.replace("  sale:\n", f"  sale:\n    key: {key}\n")
    assert message in refusal(site.policy(text, f"{CERTAIN if site.kind == 'postgres' and not change else ''}{change}"))


BROKEN_LATER = [
    "SELECT COUNT(*), SUM(price) FROM sale",
    "SELECT shop, COUNT(*) FROM sale GROUP BY shop",
    "SELECT COUNT(DISTINCT price) FROM sale",
    "SELECT SUM(l.amount) FROM line AS l JOIN sale AS s ON l.sale = s.nr JOIN sale AS r ON r.client = s.client",
    "SELECT COUNT(*) FROM client AS c JOIN sale AS s ON s.client = c.id",
    "SELECT s.shop, COUNT(*), AVG(s.price) FROM client AS c LEFT JOIN sale AS s ON s.client = c.id GROUP BY s.shop",
    "SELECT t.land, COUNT(*) FROM client AS c JOIN town AS t ON t.code = c.town GROUP BY t.land",
    "SELECT n, COUNT(*) FROM (SELECT client, COUNT(*) AS n FROM sale GROUP BY client) AS t GROUP BY n",
    "SELECT COUNT(*) FROM line AS l JOIN line AS m ON l.sale = m.sale AND l.part = m.part",
    "SELECT l.part, COUNT(*) FROM line AS l JOIN line AS m ON l.sale = m.sale AND l.part = m.part GROUP BY l.part",
    "SELECT part, amount, COUNT(*) FROM line GROUP BY part, amount",
    "SELECT COUNT(*) FROM card AS c JOIN sale AS s ON s.client = c.holder AND s.price = c.paid",
]


@pytest.mark.quick
@pytest.mark.parametrize("norm", list(Norm))
def test_rows_that_break_a_claimed_key_move_no_more(tmp_path: Path, norm: Norm) -> None:
    """The rows of a server change: each claim held when the policy was opened, and nothing was made to rest on it."""
    claims = {
        "sale": "key: [[client], [nr], [price]]",
        "line": "key: [[sale, part], [part, amount]]",
        "town": "key: code",
        "client": "key: id",
    }
    text = POLICY.replace("client: {{columns", f"client: {{{{{claims['client']}, columns")
    for name in ("sale", "line", "town"):
        text = text.replace(f"  {name}:\n", f"  {name}:\n    {claims[name]}\n").replace(
            f"  {name}: {{{{", f"  {name}: {{{{{claims[name]}, "
        )
    few = TABLES.replace("n % 40, n % 5, 1 FROM range(160)", "n, n, n FROM range(8)").replace("range(40)", "range(8)")
    few += "CREATE TABLE card (holder INT UNIQUE, paid INT); INSERT INTO card SELECT n, 40 FROM range(8) t(n);"
    text += "  card: {{unit: holder -> client.id, columns: {{holder: {{}}, paid: {{}}}}}}\n"
    path = Site("postgres", tmp_path).policy(text, CERTAIN, few)
    opened = open_policy(path)
    try:
        assert [len(opened.catalog.tables[name].claimed) for name in ("client", "sale", "line", "card")] == [1, 2, 2, 0]
        with shared_server().owner(opened.policy.database.target.rpartition("/")[2]) as owner:
            owner.execute("INSERT INTO sale SELECT 100 + n, n % 3, n % 3, 40 FROM generate_series(1, 60) AS t(n)")
            owner.execute("INSERT INTO line SELECT 100 + n % 60, n % 2, 9 FROM generate_series(1, 400) AS t(n)")
            owner.execute("INSERT INTO town SELECT code, 'M', 7 FROM town, generate_series(1, 9)")
            owner.execute("INSERT INTO client SELECT id, 3, 90 FROM client, generate_series(1, 5)")
        plans = [
            plan(query, norm, opened.engine.dialect)
            for sql in BROKEN_LATER
            for query in split(parse(sql).tree, opened.catalog, opened.engine.dialect).groupings  # type: ignore[union-attr]
        ]
        here = [_table(opened.engine.run(one)) for one in plans]
        with shared_server().owner(opened.policy.database.target.rpartition("/")[2]) as owner:
            owner.execute("DELETE FROM line WHERE sale IN (SELECT nr FROM sale WHERE client = 1)")
            owner.execute("DELETE FROM sale WHERE client = 1; DELETE FROM client WHERE id = 1")
        shares = [compare(one, table, _table(opened.engine.run(one))) for one, table in zip(plans, here, strict=True)]
    finally:
        opened.close()
    assert max(shares) > 0.9, "nobody came near a bound"


def _table(exact: ExactTable) -> Table:
    return {
        tuple((type(value).__name__, repr(value)) for value in key): {
            name: column[row] for name, column in exact.statistics.items()
        }
        for row, key in enumerate(exact.keys)
    }


# Keys of public tables

TOWNS = "SELECT COUNT(*) FROM client AS c JOIN town AS t ON t.code = c.town"


@pytest.mark.parametrize("key", ["", "key: code, ", "key: [[code], [people]], "])
def test_a_public_key_is_met_once(site: Site, key: str) -> None:
    text = POLICY.replace("town: {{public", f"town: {{{{{key}public")
    policy = site.policy(text, "" if site.kind == "duckdb" else f"{CERTAIN} ALTER TABLE client ADD PRIMARY KEY (id)")
    certain = site.kind == "duckdb" or bool(key)
    assert bound(policy, TOWNS) == (1 if certain else 6), "four towns, and room for some more"
    found = release(policy, TOWNS)
    assert ("DISTINCT ON" in found.plan.sql) == (site.kind == "postgres" and bool(key))
    assert next(iter(found.groups.values()))["s0"] * found.granularity["s0"] == 8
    told = [note for note in found.plan.notes if "key: [code] for town in the policy" in note]
    assert bool(told) == (not certain)


def test_a_public_key_that_is_none_is_not_opened(site: Site) -> None:
    text = POLICY.replace("town: {{public", "town: {{key: land, public")
    assert "tables.town.key: rows share values of town.land" in refusal(
        site.policy(text, CERTAIN if site.kind == "postgres" else "")
    )


def test_a_public_row_that_comes_later_is_not_met(tmp_path: Path) -> None:
    site, server = Site("postgres", tmp_path), shared_server()
    text = POLICY.replace("town: {{public", "town: {{key: code, public")
    policy = site.policy(text, f"{CERTAIN} ALTER TABLE client ADD PRIMARY KEY (id)")
    proxy = open_without_noise(policy)
    try:
        session = proxy.session()
        grouped = f"{TOWNS.replace('COUNT(*)', 't.land, COUNT(*)')} GROUP BY t.land ORDER BY 1"
        assert session.execute(grouped).rows == (("L0", 4), ("L1", 4))
        name = Policy.load(policy).database.target.rpartition("/")[2]
        with server.owner(name) as connection:
            connection.execute("INSERT INTO town SELECT code, 'M', 7 FROM town, generate_series(1, 50)")
        later = dict(session.execute(grouped.replace("GROUP", "WHERE c.age < 99 GROUP")).rows)
        assert {name: count for name, count in later.items() if count} == {"L0": 4, "L1": 4}
    finally:
        proxy.close()


def test_what_cannot_be_looked_at_is_not_opened(tmp_path: Path) -> None:
    broken = SchemaTable(
        "t", {"id": SchemaColumn("id", "INTEGER", INTEGER), "k": SchemaColumn("k", "INTEGER", INTEGER)}, ("id",)
    )
    policy = Policy.parse(
        POLICY.split("tables:")[0].format("duckdb:x").replace("client.id", "t.id")
        + "tables: {t: {key: k, columns: {}}}"
    )
    with pytest.raises(PolicyError, match=r"tables\.t\.key: whether t\.k is a key could not be seen"):
        catalog(policy, Schema({"t": broken}), looks={Claim("t", ("k",)): None})


def test_looks_are_asked_where_they_help(site: Site) -> None:
    text = POLICY.replace("  sale:\n", "  sale:\n    key: price\n")
    policy = Policy.load(site.policy(text))
    engine = open_engine(policy.database)
    try:
        claims = fit(policy, engine.schema()).claims
        assert {(claim.table, claim.columns, claim.lasting) for claim in claims} == {
            ("sale", ("price",), False),
            ("client", ("id",), False),
            ("sale", ("nr",), True),
        }
        looks = look_at(engine, claims, 60)
        assert all(look == Look(repeats=False, nulls=False, lasting=site.kind == "duckdb") for look in looks.values())
        assert (Claim("sale", ("nr",)) in looks) == (site.kind == "duckdb")
    finally:
        engine.close()
