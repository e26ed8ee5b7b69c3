"""Tables as they are: a shop with visits, whose policy is drawn beside the data and is wrong about much of it.

People have no rows, one, as many as the policy says, one more, and ten times as many. Every column but keys may be
NULL, codes are not in their lists, parents are missing, ranges are too narrow or too wide, listed values are nobody's,
instants lie on midnights and on the days when clocks change, numbers are NaN, infinite, -0.0, rounded and tied.

A world also knows what is left of each row when the documented rules are applied (:meth:`World.clean`): rows of nobody
are dropped, and NaN and infinities are NULL. Nothing else; ranges clip what is aggregated, never what is compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Literal

Row = tuple[object, ...]
Rows = dict[str, list[Row]]
Load = Literal["within", "copies", "tails", "beyond"]
"""How many rows people have: at most as many as declared; any number of copies of the same rows; a heavy tail; more
than are declared, of everybody.
"""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; ``declared`` is its part of the policy: values, a reference, a range, or nothing."""

    name: str
    type: str
    kind: str
    values: tuple[str, ...] | None = None
    values_from: str | None = None
    range: tuple[object, object] | None = None
    not_null: bool = False

    def policy(self) -> str:
        if self.values is not None:
            return f"{{values: [{', '.join(self.values)}]}}"
        if self.values_from is not None:
            return f"{{values_from: {self.values_from}}}"
        return f"{{range: [{self.range[0]}, {self.range[1]}]}}" if self.range else "{}"


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    columns: tuple[Column, ...]
    key: str = ""
    unit: str = ""
    max_rows: int = 0

    @property
    def public(self) -> bool:
        return not self.unit and self.name != "person"

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    def ddl(self, *, postgres: bool, keyed: bool = True) -> str:
        spell = {"DOUBLE": "DOUBLE PRECISION"} if postgres else {}
        parts = [
            f"{c.name} {spell.get(c.type, c.type)}"
            + (" PRIMARY KEY" if keyed and c.name == self.key else " NOT NULL" if c.not_null else "")
            for c in self.columns
        ]
        return f"CREATE TABLE {self.name} ({', '.join(parts)})"


@dataclass(frozen=True, slots=True)
class World:
    tables: tuple[Table, ...]
    rows: Rows = field(repr=False)
    load: Load
    accounting: str

    def table(self, name: str) -> Table:
        return next(table for table in self.tables if table.name == name)

    def policy(self, database: str, epsilon: float = 250, folder: str = "") -> str:
        delta = "" if self.accounting == "pure" else ", delta: 1e-3"
        lines = [
            f"database: {database}",
            f"ledger: sqlite:{folder}world.ledger",
            "privacy_unit: person.id",
            f"budget: {{epsilon: 1e6{delta}, accounting: {self.accounting}}}",
            f"statement: {{epsilon: {epsilon:g}, max_epsilon: 1e5}}",
            "tables:",
        ]
        for table in self.tables:
            lines.append(f"  {table.name}:")
            if table.public:
                lines.append("    public: true")
                continue
            if table.unit:
                lines += [f"    unit: {table.unit}", f"    max_rows: {table.max_rows}"]
            lines += ["    columns:", *(f"      {column.name}: {column.policy()}" for column in table.columns)]
        return "\n".join(lines) + "\n"

    def clean(self) -> Rows:
        """What the documented rules leave of the rows."""
        people = {row[0] for row in self.rows["person"]}
        kept: Rows = dict(self.rows)
        for name in ("visit", "orders"):
            place = [c.name for c in self.table(name).columns].index("person_id")
            kept[name] = [row for row in self.rows[name] if row[place] in people]
        orders = {row[0] for row in kept["orders"]}
        kept["line"] = [row for row in self.rows["line"] if row[0] in orders]
        return {name: [tuple(map(_finite, row)) for row in rows] for name, rows in kept.items()}

    def doubled(self) -> World:
        """The same people with every visit twice."""
        return World(self.tables, {**self.rows, "visit": self.rows["visit"] * 2}, self.load, self.accounting)


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def spelt(value: object) -> str | None:
    """A value as a text that both engines cast to it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN" if math.isnan(value) else repr(value))
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


REGIONS = ("north", "south", "east", "west", "isle")
CATEGORIES = ("tools", "toys", "tea")
FIRST, LAST = date(2024, 11, 1), date(2026, 1, 31)
"""Days of events; a policy may begin later and end earlier."""
_CLOCKS = [
    datetime(2025, 3, 30, 0, 59, 59),
    datetime(2025, 3, 30, 1),
    datetime(2025, 10, 26, 0, 30),
    datetime(2025, 10, 26, 1, 30),
]


def world(random: Random, load: Load | None = None, people: int = 0) -> World:
    """A random dirty world; of so many ``people`` if that is given."""
    loads: list[Load] = ["within", "copies", "tails"]
    load = load or random.choices(loads, [4, 2, 1])[0]
    limit = random.choice([4, 6]) if load == "within" else random.choice([2, 3, 5])
    tables = _tables(random, limit)
    rows: Rows = {
        "region": [(name, random.choice(["AMER", "APAC", "EMEA"]), random.randrange(1, 400)) for name in REGIONS],
        "product": [(n, random.choice(CATEGORIES), Decimal(random.randrange(100, 9000)) / 100) for n in range(1, 9)],
        "person": [_person(random, n) for n in range(1, (people or random.choice([1, 14, 40])) + 1)],
    }
    known = [row[0] for row in rows["person"]]
    rows["visit"] = _events(random, load, limit, known, _visit)
    rows["orders"] = [(n, *row[1:]) for n, row in enumerate(_events(random, load, limit, known, _order), 1)]
    rows["line"] = _lines(random, load, rows["orders"])
    if load != "beyond" and random.random() < 0.1:
        rows[random.choice(["visit", "orders", "line"])] = []
    return World(tables, rows, load, random.choice(["zcdp", "zcdp", "pure"]))


def _maybe(random: Random, value: object, share: float = 0.12) -> object:
    return None if random.random() < share else value


def _instant(random: Random) -> datetime:
    start = datetime(FIRST.year, FIRST.month, FIRST.day)
    found = start + timedelta(seconds=random.randrange((LAST - FIRST).days * 86400))
    return random.choices(
        [
            found,
            found.replace(hour=0, minute=0, second=0),
            found.replace(hour=23, minute=59, second=59),
            random.choice(_CLOCKS),
        ],
        [8, 2, 1, 1],
    )[0]


def _person(random: Random, number: int) -> Row:
    return (
        number,
        random.choices(["F", "M", "X", "f", None], [9, 8, 2, 1, 2])[0],
        random.choices([*REGIONS[:4], "lost", None], [5, 4, 3, 2, 1, 2])[0],
        _maybe(random, random.choice([1931, 1949, 1950, 1969, 1970, 1985, 1999, 2000, 2001, 2020])),
        random.choice([True, False, None]),
        _maybe(random, random.choice([0, 500, 900, 1200, 1200, 4900, 5000, 7700])),
        _maybe(random, _instant(random)),
    )


def _visit(random: Random) -> Row:
    instant = _instant(random)
    return (
        None,
        _maybe(random, instant),
        _maybe(random, instant.replace(tzinfo=UTC)),
        _maybe(random, instant.date()),
        random.choices(["flu", "cut", "pain", "other", None], [8, 5, 3, 1, 2])[0],
        _maybe(random, Decimal(random.choice([0, 1, 500, 2550, 9999, 39999, 40000, 61234])) / 100),
        _maybe(
            random, random.choice([-0.0, 0.0, 0.1, 1.62, 2.5, -3.25, 9.75, 10.0, 14.5, math.nan, math.inf, -math.inf])
        ),
        _maybe(random, random.choice([0.5, 1.625, 36.5, 37.25, 39.0, 41.5])),
        _maybe(random, random.choice([0, 1, 5, 29, 30, 45, 60, 240, -10])),
    )


def _order(random: Random) -> Row:
    return (
        None,
        None,
        random.choices(["open", "paid", "sent", "void", None], [3, 5, 5, 1, 1])[0],
        _maybe(random, _instant(random)),
        _maybe(random, Decimal(random.choice([0, 995, 1000, 10050, 99999, 250000])) / 100),
    )


def _owned(row: Row, person: object) -> Row:
    """The row as the person's: an order has its own key before the person's."""
    return (row[0], person, *row[2:]) if len(row) == 5 else (person, *row[1:])


def _events(
    random: Random, load: Load, limit: int, people: Sequence[object], draw: Callable[[Random], Row]
) -> list[Row]:
    base = [draw(random) for _ in range(random.choice([1, 2, 4]))]
    rows: list[Row] = []
    for person in people:
        if load == "copies":
            mine = base * random.choice([0, 1, 2, limit, 10 * limit])
        else:
            count = random.choice([0, 1, limit - 1, limit])
            if load == "tails":
                count = random.choice([count, limit + 1, round(random.lognormvariate(1, 1.2)), 10 * limit])
            if load == "beyond":
                count = random.randint(3 * limit, 5 * limit)
            mine = [draw(random) for _ in range(count)]
            if mine and load != "beyond" and random.random() < 0.3:
                mine = [mine[0]] * len(mine)
        rows += [_owned(row, person) for row in mine]
    rows += [_owned(draw(random), random.choice([None, 999_999])) for _ in range(random.choice([0, 3, 30]))]
    random.shuffle(rows)
    return rows


def _lines(random: Random, load: Load, orders: Sequence[Row]) -> list[Row]:
    def line() -> Row:
        return (
            None,
            _maybe(random, random.choice([1, 2, 3, 4, 5, 6, 7, 77])),
            _maybe(random, random.choice([1, 1, 2, 3, 10, 60])),
            _maybe(random, Decimal(random.choice([99, 100, 1999, 5000, 12000])) / 100),
            _maybe(random, _instant(random).date()),
        )

    base = [line() for _ in range(2)]
    rows = [
        (order[0], *row[1:])
        for order in orders
        for row in (base if load == "copies" else [line() for _ in range(random.choice([0, 1, 2]))])
    ]
    rows += [(random.choice([None, 888_888]), *line()[1:]) for _ in range(random.choice([0, 5]))]
    random.shuffle(rows)
    return rows


def _tables(random: Random, limit: int) -> tuple[Table, ...]:
    """The tables with a policy that knows little of the rows."""
    days = random.choice(
        [
            (date(2025, 1, 1), date(2025, 12, 31)),
            (FIRST, LAST),
            (date(2025, 3, 15), date(2025, 11, 2)),
            (date(2024, 1, 1), date(2026, 12, 31)),
        ]
    )
    codes = random.choice([("F", "M"), ("F", "M", "D"), ("F", "M", "X", "f"), ("M",)])
    reasons = random.choice([("flu", "cut"), ("flu", "cut", "pain", "other"), ("flu", "cut", "fever", "burn"), None])
    years = random.choice([(1950, 2000), (1900, 2030), (1960, 1990)])
    region = (
        Column("name", "TEXT", "public", not_null=True),
        Column("zone", "TEXT", "public"),
        Column("pop", "INTEGER", "public"),
    )
    product = (
        Column("id", "INTEGER", "public", not_null=True),
        Column("category", "TEXT", "public"),
        Column("price", "NUMERIC(8,2)", "public"),
    )
    person = (
        Column("id", "INTEGER", "key", not_null=True),
        Column("sex", "TEXT", "code", values=codes),
        Column("region", "TEXT", "code", values_from="region.name"),
        Column("birth_year", "INTEGER", "year", range=years),
        Column("smoker", "BOOLEAN", "flag"),
        Column("rent", "INTEGER", "number", range=random.choice([(0, 5000), (0, 10000), (500, 2000)])),
        Column("joined", "TIMESTAMP", "stamp", range=days),
    )
    visit = (
        Column("person_id", "INTEGER", "link"),
        Column("arrived", "TIMESTAMP", "stamp", range=days),
        Column("seen", "TIMESTAMPTZ", "zoned", range=(date(2024, 1, 1), date(2026, 12, 31))),
        Column("day", "DATE", "day", range=days),
        Column("reason", "TEXT", "code", values=reasons),
        Column("cost", "NUMERIC(8,2)", "number", range=random.choice([(0, 400), (0, 1000), (0, 99)])),
        Column("score", "DOUBLE", "number", range=random.choice([(0, 10), (-20, 20)])),
        Column("temp", "REAL", "number", range=random.choice([(30, 45), (0, 50)])),
        Column("minutes", "INTEGER", "number", range=random.choice([(0, 60), (-10, 240)])),
    )
    orders = (
        Column("oid", "INTEGER", "key", not_null=True),
        Column("person_id", "INTEGER", "link"),
        Column(
            "status",
            "TEXT",
            "code",
            values=random.choice([("open", "paid", "sent"), ("open", "paid", "sent", "void", "lost")]),
        ),
        Column("placed", "TIMESTAMP", "stamp", range=days),
        Column("total", "NUMERIC(10,2)", "number", range=random.choice([(0, 3000), (0, 1000)])),
    )
    line = (
        Column("order_id", "INTEGER", "link"),
        Column("product_id", "INTEGER", "code", values_from="product.id"),
        Column("qty", "INTEGER", "number", range=random.choice([(0, 10), (0, 100)])),
        Column("price", "NUMERIC(8,2)", "number", range=random.choice([(0, 200), (0, 100)])),
        Column("shipped", "DATE", "day", range=days),
    )
    return (
        Table("region", region, key="name"),
        Table("product", product, key="id"),
        Table("person", person, key="id"),
        Table("visit", visit, unit="person_id -> person.id", max_rows=limit),
        Table("orders", orders, key="oid", unit="person_id -> person.id", max_rows=limit),
        Table("line", line, unit="[order_id -> orders.oid, person_id -> person.id]", max_rows=2 * limit),
    )
