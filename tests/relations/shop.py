"""A shop whose sales and refunds are different people's: made rows that break what is declared, and statements over
their joins."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from random import Random

import duckdb

from dpsql.engines.duckdb.duckdb_schema import read_schema
from dpsql.engines.schema import Profile
from dpsql.policy.declared_catalog import catalog
from dpsql.policy.policy import Policy
from rewriter.declared.catalog import Catalog
from tests.policies import policy_text
from tests.properties.neighbours import Databases
from tests.properties.world import Owner

MOST = {"sale": 4, "refund": 2, "review": 3, "parcel": 3, "gift": 3}
"""The rows of one person that are declared; the made ones have up to three times as many."""

_TABLES = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, region VARCHAR);
CREATE TABLE item (id INTEGER PRIMARY KEY, kind VARCHAR NOT NULL);
CREATE TABLE stock (item INTEGER NOT NULL, day INTEGER NOT NULL, n INTEGER, PRIMARY KEY (item, day));
CREATE TABLE sale (item INTEGER NOT NULL, ticket INTEGER NOT NULL, buyer INTEGER, price DOUBLE, qty INTEGER,
    PRIMARY KEY (item, ticket));
CREATE TABLE refund (item INTEGER NOT NULL, ticket INTEGER NOT NULL, who INTEGER, cash DOUBLE, reason VARCHAR,
    PRIMARY KEY (item, ticket));
CREATE TABLE review (ticket INTEGER NOT NULL, item INTEGER NOT NULL, author INTEGER, stars INTEGER,
    PRIMARY KEY (ticket, item));
CREATE TABLE parcel (ticket INTEGER PRIMARY KEY, driver INTEGER);
CREATE TABLE gift (item INTEGER, day DATE, giver INTEGER, worth DOUBLE);
"""

POLICY = policy_text("""
database: duckdb:shop.duckdb; ledger: sqlite:shop.ledger; privacy_unit: customer.id
budget: {epsilon: 1000000, delta: 1e-3, accounting: zcdp}; statement: {epsilon: 100, max_epsilon: 1000}
tables:
  customer: id, region [n, s]
  item: public
  stock: public
  sale(buyer -> customer.id, max_rows: 4): item, ticket, price 0..100, qty 0..3
  refund(who -> customer.id, max_rows: 2): item, ticket, cash 0..50, reason [x, y]
  review(author -> customer.id, max_rows: 3): item, ticket, stars 1..5
  parcel(driver -> customer.id, max_rows: 3): ticket
  gift(giver -> customer.id, max_rows: 3): item, day 2024-01-01..2024-01-04, worth 0..9
""")

OWNERS = {"customer": 0, "sale": 2, "refund": 2, "review": 2, "parcel": 1, "gift": 2}
"""The place of the column that says whose a row is."""


@dataclass(frozen=True, slots=True)
class _Named:
    name: str


@dataclass(slots=True)
class Shop:
    """The rows of each table. A person has up to three times the rows that are declared, and some rows are nobody's."""

    rows: dict[str, list[tuple[object, ...]]]
    tables: tuple[_Named, ...] = field(default=tuple(map(_Named, ("customer", "item", "stock", *MOST))))

    @classmethod
    def made(cls, random: Random) -> Shop:
        customers, items = 9, 5
        person = [*range(customers), *[0] * 12, *[1] * 6, None, 99]
        rows: dict[str, list[tuple[object, ...]]] = {
            "customer": [(number, random.choice(["n", "s", None])) for number in range(customers)],
            "item": [(number, random.choice(["a", "b"])) for number in range(items)],
            "stock": [(item, day, random.choice([0, 1, 2, None])) for item in range(items) for day in range(2)],
        }
        places = [(random.randrange(items), ticket) for ticket in range(40)]
        price = [0.0, 5.0, 100.0, 250.0, -3.0, None, float("nan"), float("inf")]
        rows["sale"] = [
            (*place, random.choice(person), random.choice(price), random.choice([0, 1, 3, 9, None]))
            for place in places
            if random.random() < 0.8
        ]
        rows["refund"] = [
            (*place, random.choice(person), random.choice(price), random.choice(["x", "y", "z", None]))
            for place in places
            if random.random() < 0.6
        ]
        rows["review"] = [
            (*place[::-1], random.choice(person), random.choice([1, 5, 9, None]))
            for place in places
            if random.random() < 0.5
        ]
        rows["parcel"] = [(ticket, random.choice(person)) for _, ticket in places]
        worth = [0.0, -0.0, 4.0, 9.0, 30.0, None, float("nan")]
        rows["gift"] = [
            (
                random.choice([0, 1, 2, None]),
                date(2024, 1, random.randint(1, 5)),
                random.choice(person),
                random.choice(worth),
            )
            for _ in range(40)
        ]
        return cls(rows)

    @classmethod
    def of_one(cls) -> Shop:
        """A shop in which the first person moves as much as anybody can: four sales that others brought back, and refunds
        of two sales of somebody else, which stay without them."""
        sales: list[tuple[object, ...]] = [(0, ticket, int(ticket > 3), 100.0, 1) for ticket in range(6)]
        refunds: list[tuple[object, ...]] = [(0, t, who, 50.0, "x") for t, who in enumerate((1, 1, 2, 2, 0, 0))]
        people: list[tuple[object, ...]] = [(0, "n"), (1, "s"), (2, "s")]
        none: list[tuple[object, ...]] = []
        tables = {"customer": people, "item": [(0, "a")], "stock": none, "sale": sales, "refund": refunds}
        return cls({**tables, "review": none, "parcel": none, "gift": none})

    def fill(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute(_TABLES)
        for name, rows in self.rows.items():
            places = ", ".join("?" * len(rows[0])) if rows else ""
            for row in rows:
                connection.execute(f"INSERT INTO {name} VALUES ({places})", list(row))

    def owners(self) -> dict[str, list[frozenset[Owner]]]:
        known = {row[0] for row in self.rows["customer"]}
        return {
            table: [frozenset({("customer", row[at])} if row[at] in known else ()) for row in self.rows[table]]
            for table, at in OWNERS.items()
        }

    def databases(self, people: int) -> Databases:
        """The database and its neighbours without each of the first so many people: they have the most rows."""
        return Databases.of(self, [("customer", number) for number in range(people)])  # type: ignore[arg-type]

    def catalog(self, connection: duckdb.DuckDBPyConnection) -> Catalog:
        connection.execute("USE memory")
        profiles = {name: Profile(len(self.rows[name])) for name in ("item", "stock")}
        return catalog(Policy.parse(POLICY), read_schema(connection), profiles, {})


def statement(random: Random) -> str:
    """A statement over a join of sales with refunds, reviews, or both."""
    joins, keys, values, tests = ["sale s"], ["s.qty", "s.buyer"], ["s.price", "s.qty"], ["s.price > 4", "s.qty >= 1"]

    def join(text: str, alias: str) -> None:
        side = random.choice(["LEFT JOIN", "LEFT JOIN", "JOIN"])
        more = random.choice(["", "", f" AND {alias}.{'cash > 1' if alias == 'r' else 'stars > 1'}"])
        joins.append(f"{side} {text}{more}")
        tests.append(f"{alias}.ticket IS {random.choice(['NULL', 'NOT NULL'])}")

    if random.random() < 0.8:
        join("refund r ON s.item = r.item AND r.ticket = s.ticket", "r")
        keys += ["r.reason"] * 3
        values += ["r.cash", "COALESCE(r.cash, 0)", "s.price - COALESCE(r.cash, 0)"]
        tests += ["r.reason = 'x'", "r.cash IS NULL", "s.buyer = r.who", "r.who IS NULL"]
        tests.append("r.who IN (SELECT buyer FROM sale WHERE qty > 0 AND buyer IS NOT NULL)")
    if len(joins) == 1 or random.random() < 0.4:
        join("review v ON v.ticket = s.ticket AND v.item = s.item", "v")
        keys.append("v.stars")
        values += ["v.stars", "v.stars * s.qty"]
        tests.append("v.stars < 5")
    if random.random() < 0.4:
        joins.append("JOIN customer c ON c.id = s.buyer")
        keys += ["c.region"] * 2
    if "refund r" in " ".join(joins) and random.random() < 0.3:
        joins.append(f"{random.choice(['LEFT JOIN', 'JOIN'])} customer d ON d.id = r.who")
        keys += ["d.region"] * 2
        tests.append("d.region = 'n'")
    if random.random() < 0.5:
        joins.append("JOIN item i ON i.id = s.item")
        keys += ["i.kind"] * 2
    if random.random() < 0.15:
        joins.append("JOIN stock k ON k.item = s.item AND k.n < s.qty")
    one = [f"{word}({random.choice(values)})" for word in ("SUM", "AVG", "COUNT", "VAR_POP")]
    distinct = [f"COUNT(DISTINCT {random.choice([*keys, *values])})"]
    chosen = random.sample(["COUNT(*)", *one, *distinct, f"{one[0]} FILTER (WHERE {random.choice(tests)})"], 2)
    grouped = random.sample(sorted(set(keys)), random.choice([0, 1, 1, 2]))
    where = f" WHERE {' AND '.join(random.sample(tests, random.choice([1, 2])))}" if random.random() < 0.5 else ""
    rows = f"FROM {' '.join(joins)}{where}"
    if random.random() < 0.2 and grouped:
        inner = ", ".join(f"{key} AS g{place}" for place, key in enumerate(grouped))
        outer = ", ".join(f"g{place}" for place in range(len(grouped)))
        return f"SELECT {outer}, COUNT(*), SUM(x) FROM (SELECT {inner}, {values[-1]} AS x {rows}) AS q GROUP BY {outer}"
    by = ", ".join(grouped)
    group = f" GROUP BY {random.choice([by, by, by, f'ROLLUP ({by})'])}" if grouped else ""
    return f"SELECT {', '.join([*grouped, *chosen])} {rows}{group}"


GROUPED = {
    "sale s": ("s.buyer", ["s.ticket", "s.item", "s.qty"], ["s.price", "s.qty", "s.ticket % 3"]),
    "refund r": ("r.who", ["r.ticket", "r.item", "r.reason"], ["r.cash"]),
    "review v": ("v.author", ["v.item", "v.stars"], ["v.stars", "5 - v.stars"]),
    "gift g": ("g.giver", ["g.item", "g.day", "g.worth"], ["g.worth", "2 * g.worth"]),
}
"""Tables with the key of the person, what makes groups of several people's rows, and what is read of them."""


def beside_named(random: Random) -> str:
    """A statement over groups of several people, beside rows of the person whom each names."""
    table, (person, keys, values) = random.choice(list(GROUPED.items()))
    key, value = random.choice(keys), random.choice(values)
    named = random.choice(["MAX", "MAX", "MIN", "MIN", "SUM"])
    groups = f"SELECT {key} AS g, {named}({person}) AS p, MAX({value}) AS m FROM {table} GROUP BY {key}"
    owned = random.choice(["sale", "sale", "refund", "gift", "customer"])
    whose, number = {
        "sale": ("buyer", "qty"),
        "refund": ("who", "cash"),
        "gift": ("giver", "worth"),
        "customer": ("id", "CASE WHEN region = 'n' THEN 3 ELSE 1 END"),
    }[owned]
    rows = f"SELECT {whose} AS q, {number} AS w FROM {owned}"
    if random.random() < 0.3:
        rows = f"SELECT {whose} AS q, COUNT(*) AS w FROM {owned} GROUP BY {whose}"
    more = random.choice(["", "", " AND b.w > 1", " AND b.w <= t.m"])
    joined = f"({groups}) AS t {random.choice(['LEFT JOIN', 'LEFT JOIN', 'JOIN'])} ({rows}) AS b ON b.q = t.p{more}"
    first = ""
    if (other := random.random()) < 0.2:
        joined = joined.replace("b.q = t.p", random.choice(["b.w = t.m", "b.q = 0", "b.q = 0"]))
    elif other < 0.3:
        first = f"WITH t AS ({groups}), b AS (SELECT g, m AS w FROM t) "
        joined = f"t {random.choice(['JOIN', 'FULL JOIN'])} b ON b.g = t.g{more}"
    number = f"ROW_NUMBER() OVER (PARTITION BY t.g ORDER BY b.w {random.choice(['', 'DESC'])}) AS n"
    test = random.choice(["", "", " WHERE n = 1", " WHERE n <= 2", " WHERE w IS NOT NULL"])
    asked = random.sample(["COUNT(*)", "COUNT(w)", "SUM(w)", "SUM(m)", "COUNT(DISTINCT p)", "COUNT(DISTINCT g)"], 2)
    return f"{first}SELECT {', '.join(asked)} FROM (SELECT t.*, b.w, {number} FROM {joined}) AS z{test}"


def grouped_statement(random: Random) -> str:
    """A statement over groups of which it says whose they are, and which are several people's."""
    table, (person, keys, values) = random.choice(list(GROUPED.items()))
    by = ", ".join(random.sample(keys, random.choice([1, 1, 2])))
    one, other = random.choice(values), random.choice(values)
    items = [
        f"{random.choice(['MAX', 'MIN'])}({person}) AS p",
        f"{random.choice(['MAX', 'MIN', 'AVG'])}({one}) AS m",
        f"MAX(CASE WHEN {other} > 1 THEN {one} END) AS c",
    ]
    where = f" WHERE {other} {random.choice(['> 1', '< 40', 'IS NOT NULL'])}" if random.random() < 0.5 else ""
    having = f" HAVING COUNT(*) > {random.choice([1, 2])}" if random.random() < 0.3 else ""
    inner = f"SELECT {', '.join(items)} FROM {table}{where} GROUP BY {by}{having}"
    asked = ["COUNT(*)", "SUM(m)", "AVG(c)", "COUNT(c)", "COUNT(DISTINCT p)", "SUM(c) FILTER (WHERE m > 2)"]
    band = "CASE WHEN m > 3 THEN 'much' WHEN m IS NULL THEN 'none' ELSE 'little' END"
    shown = random.sample(asked, 2)
    if random.random() < 0.5:
        return f"SELECT {band} AS b, {', '.join(shown)} FROM ({inner}) AS t GROUP BY 1"
    test = random.choice(["", " WHERE m > 2", " WHERE c IS NOT NULL"])
    return f"SELECT {', '.join(shown)} FROM ({inner}) AS t{test}"
