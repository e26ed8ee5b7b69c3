"""Keys of several columns, which the database enforces: what joins and groups know of a person's rows from them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dpsql.engines.duckdb.duckdb_types import column_type
from dpsql.engines.schema import SchemaColumn
from dpsql.policy.unit_path import joinable
from dpsql.testing import Measurement, measure
from rewriter.declared.contribution import Norm
from rewriter.refused import Refused
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server
from tests.new_databases import new_database

TABLES = """
CREATE TABLE shop (id INT PRIMARY KEY, size DOUBLE);
CREATE TABLE rate (low BIGINT PRIMARY KEY, percent INT);
CREATE TABLE tariff (kind VARCHAR, year INT, price INT, PRIMARY KEY (kind, year));
CREATE TABLE offer (part INT, shop INT REFERENCES shop (id), cost INT, PRIMARY KEY (part, shop));
CREATE TABLE line (part INT NOT NULL, shop INT NOT NULL REFERENCES shop (id), year INT, kind VARCHAR, amount INT);
CREATE TABLE panel (shop INT REFERENCES shop (id), year INT, wage INT, PRIMARY KEY (shop, year));
INSERT INTO shop VALUES (1, 9007199254740992), (2, 5), (3, 7);
INSERT INTO rate VALUES (9007199254740992, 1), (9007199254740993, 2), (9007199254740991, 3);
INSERT INTO tariff VALUES ('a', 2000, 1), ('a', 2001, 2), ('b', 2000, 3);
INSERT INTO offer SELECT p, s, p + s FROM range(4) a(p), range(1, 4) b(s);
INSERT INTO line SELECT n % 4, 1 + n % 3, 2000 + n % 2, 'a', n FROM range(30) a(n);
INSERT INTO panel SELECT s, y, 10 * s FROM range(1, 4) a(s), range(2000, 2010) b(y);
"""
POLICY = """
database: {}
ledger: sqlite:ledger
privacy_unit: shop.id
budget: {{epsilon: 10, delta: 1e-6}}
tables:
  rate: {{public: true}}
  tariff: {{public: true}}
  shop: {{columns: {{id: {{}}, size: {{range: [0, 10]}}}}}}
  offer: {{unit: shop -> shop.id, max_rows: 80, columns: {{part: {{}}, shop: {{}}, cost: {{range: [0, 10]}}}}}}
  line:
    unit: shop -> shop.id
    max_rows: 75
    columns: {{part: {{}}, shop: {{}}, year: {{range: [2000, 2009]}}, kind: {{}}, amount: {{range: [0, 29]}}}}
  panel:
    unit: shop -> shop.id
    max_rows: 10
    columns: {{shop: {{}}, year: {{range: [2000, 2009]}}, wage: {{range: [0, 100]}}}}
"""


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def policy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    database = "duckdb:keys.duckdb"
    if request.param == "duckdb":
        with duckdb.connect(str(folder / "keys.duckdb")) as connection:
            connection.execute(TABLES)
    else:
        server = shared_server()
        tables = TABLES.replace("DOUBLE", "DOUBLE PRECISION").replace("range(4)", "generate_series(0, 3)")
        tables = tables.replace("range(1, 4)", "generate_series(1, 3)").replace("range(30)", "generate_series(0, 29)")
        database = server.url(server.database(tables.replace("range(2000, 2010)", "generate_series(2000, 2009)")))
    (folder / "policy.yaml").write_text(POLICY.format(database))
    return folder / "policy.yaml"


def release(policy: Path, sql: str, norm: Norm = Norm.L2) -> Measurement:
    (found,) = measure(sql, policy, norm=norm)
    return found


def bound(policy: Path, sql: str) -> int | None:
    ((_, sensitivity),) = release(policy, sql, Norm.L1).blocks
    return sensitivity.l1


TARIFFS = 3
JOINED = "SELECT COUNT(*) FROM {} WHERE o.part = l.part AND o.shop = l.shop"


@pytest.mark.parametrize("tables", ["line AS l, offer AS o", "offer AS o, line AS l"])
def test_a_row_meets_one_row_of_a_key_that_it_names_as_a_whole(policy: Path, tables: str) -> None:
    assert bound(policy, JOINED.format(tables)) == 75


@pytest.mark.spread
@pytest.mark.quick
@pytest.mark.parametrize(
    ("sql", "most"),
    [
        # Of a part of the key, each row meets many.
        ("SELECT COUNT(*) FROM line AS l JOIN offer AS o ON o.shop = l.shop", 75 * 80),
        ("SELECT COUNT(*) FROM line AS l JOIN tariff AS t ON t.kind = l.kind AND t.year = l.year", 75),
        ("SELECT COUNT(*) FROM line AS l LEFT JOIN tariff AS t ON t.kind = l.kind AND t.year = l.year", 75),
        ("SELECT COUNT(*) FROM line AS l JOIN tariff AS t ON t.kind = l.kind", 75 * TARIFFS),
        ("SELECT COUNT(*) FROM line AS l JOIN tariff AS t ON t.kind = l.kind AND t.year >= l.year", 75 * TARIFFS),
        # Each of two sides fixes the other: one of them stays.
        ("SELECT COUNT(*) FROM offer AS a JOIN offer AS o ON a.part = o.part AND a.shop = o.shop", 80),
        (
            "SELECT COUNT(*) FROM offer AS a JOIN offer AS o ON a.part = o.part AND a.shop = o.shop"
            " JOIN line AS l ON l.shop = a.shop AND l.part = a.part",
            75,
        ),
    ],
)
def test_the_bound_of_a_join(policy: Path, sql: str, most: int) -> None:
    # Where others may write to it, there is room for one tariff more.
    more = most == 75 * TARIFFS and "postgresql" in policy.read_text()
    assert bound(policy, sql) == most + 75 * more


def test_the_answers_are_the_databases_own(policy: Path) -> None:
    proxy = open_without_noise(policy)
    session = proxy.session()
    assert session.execute(JOINED.format("line AS l, offer AS o")).rows == ((30,),)
    rows = session.execute("SELECT year, COUNT(*), SUM(wage) FROM panel GROUP BY year ORDER BY 1").rows
    assert [tuple(map(int, row)) for row in rows] == [(year, 3, 60) for year in range(2000, 2010)]
    proxy.close()


@pytest.mark.spread
@pytest.mark.parametrize(
    ("sql", "squared"),
    [
        ("SELECT year, COUNT(*) FROM panel GROUP BY year", 10),
        ("SELECT y, COUNT(*) FROM (SELECT year AS y, wage FROM panel) AS p GROUP BY y", 10),
        ("SELECT year, wage, COUNT(*) FROM panel WHERE wage < 3 GROUP BY year, wage", 10),
        ("SELECT p.year, COUNT(*) FROM panel AS p JOIN shop AS s ON s.id = p.shop GROUP BY p.year", 10),
        ("SELECT year / 5, COUNT(*) FROM panel GROUP BY 1", 100),
        # A row of a person and a year: one in a group, and 10 groups and that of NULL; by what is computed of it, 11.
        ("SELECT y, COUNT(*) FROM (SELECT shop, year AS y FROM line GROUP BY shop, year) AS t GROUP BY y", 11),
        ("SELECT y, COUNT(*) FROM (SELECT shop, year, 1 + year AS y FROM line GROUP BY 1, 2) AS t GROUP BY y", 11 * 11),
        ("SELECT wage, COUNT(*) FROM panel GROUP BY wage", 100),
        ("SELECT p.year, COUNT(*) FROM panel AS p JOIN panel AS q ON p.shop = q.shop GROUP BY p.year", 100 * 10),
        ("SELECT year, COUNT(*) FROM (SELECT year FROM panel UNION ALL SELECT year FROM panel) AS p GROUP BY 1", 400),
    ],
)
def test_a_person_has_one_row_in_a_year(policy: Path, sql: str, squared: int) -> None:
    found = release(policy, sql)
    ((names, sensitivity),) = found.blocks
    step = found.granularity[names[0]]
    assert sensitivity.l2_squared * step * step == squared


def test_two_whole_numbers_that_are_one_double_are_two_rows(policy: Path) -> None:
    """2⁵³ and 2⁵³ + 1 equal the same double: a key compared with a double does not say that one row is met."""
    sql = "SELECT COUNT(*) FROM shop JOIN rate ON rate.low = shop.size"
    found = release(policy, sql, Norm.L1)
    ((_, sensitivity),) = found.blocks
    assert sensitivity.l1 is not None
    assert sensitivity.l1 >= max(row["s0"] for row in found.groups.values()) == 2
    with pytest.raises(Refused, match="not by the same person"):
        measure("SELECT COUNT(*) FROM shop AS a JOIN shop AS b ON a.id = b.size", policy)


WIDE = """
CREATE TABLE region (name VARCHAR PRIMARY KEY, weight DOUBLE, code HUGEINT UNIQUE);
CREATE TABLE person (id INT PRIMARY KEY, region VARCHAR, code DECIMAL(38,0));
CREATE TABLE visit (person_id INT NOT NULL REFERENCES person (id), cost INT, at_ TIMESTAMP NOT NULL);
INSERT INTO region SELECT n::VARCHAR, n, 1180591620717411303424::HUGEINT + n FROM range(3) t(n);
INSERT INTO person SELECT n, '1', 1180591620717411303424 FROM range(3) t(n);
INSERT INTO visit SELECT p, n % 2, TIMESTAMP '2025-01-01 13:00:00' + INTERVAL (16 * (n % 2)) HOURS
FROM range(3) s(p), range(60) t(n);
"""
WIDE_POLICY = """
database: duckdb:{}
ledger: sqlite:ledger
privacy_unit: person.id
budget: {{epsilon: 10, delta: 1e-6}}
tables:
  region: {{public: true}}
  person: {{columns: {{id: {{}}, region: {{values_from: region.name}}, code: {{}}}}}}
  visit:
    unit: person_id -> person.id
    max_rows: 6
    columns: {{person_id: {{}}, cost: {{}}, at_: {{range: ['2025-01-01 12:00:00', '2025-01-02 06:00:00']}}}}
"""


@pytest.mark.parametrize(
    "sql",
    [
        # HUGEINT and decimals have more digits together than a decimal: 2⁷⁰ and 2⁷⁰ + 1 are compared as doubles.
        "SELECT COUNT(*) FROM person AS p JOIN region AS r ON r.code = p.code",
        "SELECT r.name, COUNT(*) FROM person AS p LEFT JOIN region AS r ON r.code = p.code GROUP BY r.name",
        # A person has one region, but not all of their visits match it.
        "SELECT r.name, COUNT(*) FROM person AS p JOIN visit AS v ON v.person_id = p.id"
        " LEFT JOIN region AS r ON r.name = p.region AND r.weight = v.cost GROUP BY r.name",
        # Less than a day, and two of them.
        "SELECT date_trunc('day', at_), COUNT(*) FROM visit GROUP BY 1",
        "SELECT at_::date, COUNT(*) FROM visit GROUP BY 1",
    ],
)
def test_what_is_taken_to_be_one_row_or_one_group_is_one(tmp_path: Path, sql: str) -> None:
    found = []
    for name, more in (
        ("all", ""),
        ("fewer", "DELETE FROM visit WHERE person_id = 0; DELETE FROM person WHERE id = 0"),
    ):
        with new_database(tmp_path / f"{name}.duckdb") as connection:
            connection.execute(WIDE)
            connection.execute(more)
        (tmp_path / "policy.yaml").write_text(WIDE_POLICY.format(f"{name}.duckdb"))
        found.append(release(tmp_path / "policy.yaml", sql))
    here, there = (one.groups for one in found)
    ((names, sensitivity),) = found[0].blocks
    moved = sum((row[one] - there.get(key, {}).get(one, 0)) ** 2 for key, row in here.items() for one in names)
    assert moved <= sensitivity.l2_squared


def test_no_number_makes_a_comparison_with_a_public_one_fail(tmp_path: Path) -> None:
    """The engine would raise where a number does not fit the other's type: for everybody, if one person's does not."""
    with duckdb.connect(str(tmp_path / "wide.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE known (code DECIMAL(38,10)); INSERT INTO known VALUES (1), (2);"
            "CREATE TABLE person (id INT PRIMARY KEY, code HUGEINT); INSERT INTO person VALUES (1, 1), (2, 1::HUGEINT << 126);"
            "CREATE TABLE visit (person_id INT, code DECIMAL(38,10)); INSERT INTO visit VALUES (1, 1)"
        )
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "database: duckdb:wide.duckdb\nledger: sqlite:ledger\nprivacy_unit: person.id\nbudget: {epsilon: 10, delta: 1e-6}\n"
        "tables: {known: {public: true}, person: {columns: {id: {}, code: {}}},"
        " visit: {unit: person_id -> person.id, max_rows: 1, columns: {code: {}}}}\n"
    )
    for condition in ("code IN (SELECT code FROM known)", "EXISTS (SELECT 1 FROM known AS k WHERE k.code = p.code)"):
        found = release(policy, f"SELECT COUNT(*) FROM person AS p WHERE {condition}")
        assert list(found.groups.values()) == [{"s0": 1}]


def test_a_path_by_decimals_that_no_decimal_holds_both_of_is_refused() -> None:
    def column(engine_type: str) -> SchemaColumn:
        return SchemaColumn("id", engine_type, column_type(engine_type))

    assert joinable(column("DECIMAL(38,0)"), column("DECIMAL(38,0)"))
    assert joinable(column("DECIMAL(28,0)"), column("DECIMAL(38,10)"))
    assert not joinable(column("DECIMAL(38,0)"), column("DECIMAL(38,10)"))


@pytest.mark.parametrize("kind", ["ASOF RIGHT", "RIGHT SEMI", "RIGHT ANTI"])
def test_a_join_of_another_kind_is_not_taken_for_a_right_join(policy: Path, kind: str) -> None:
    with pytest.raises(Refused, match="JOIN is not answered"):
        measure(f"SELECT COUNT(*) FROM tariff AS t {kind} JOIN line AS l ON t.year = l.year", policy)
