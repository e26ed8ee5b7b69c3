"""Bounds that are learned: one person moves a histogram by its sensitivity at most, and so with every plan over them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from random import Random

import duckdb
import pytest

from rewriter.declared.catalog import Catalog, Column, Hop, Table
from rewriter.declared.contribution import Norm
from rewriter.declared.types import BIGINT, DOUBLE, HUGEINT, INTEGER, Type, decimal
from rewriter.declared.undeclared import Learned, Missing
from rewriter.dialects.dialect import Dialect
from rewriter.dialects.duckdb import DUCKDB
from rewriter.plan import Plan
from rewriter.planner.bound_histogram import exponents, greatest, histograms
from rewriter.planner.plan_release import plan
from rewriter.refused import Refused, Unbounded
from rewriter.split.splitter import split
from rewriter.statement.parser import Select, parse
from tests.properties.drawing import world, worst_units
from tests.properties.neighbours import Databases, Neighbourhood, Unsound, check
from tests.properties.postgres_databases import PostgresDatabases
from tests.properties.questions import question


def everything_missing(catalog: Catalog) -> Iterator[Missing]:
    """Each table of people, and each of its numbers, as if nothing were declared of them."""
    for table in catalog.tables.values():
        if table.public:
            continue
        if catalog.unit is not None:
            yield Missing(table.name)
        for column in table.columns.values():
            if column.type.numeric:
                yield Missing(table.name, column.name)


def check_histograms(databases: Neighbourhood, random: Random) -> list[float]:
    catalog = databases.catalog()
    shares = []
    every = list(everything_missing(catalog))
    for missing in random.sample(every, min(len(every), 6)):
        for query in histograms(missing, catalog, databases.dialect):
            one = plan(query, Norm.L1, databases.dialect)
            assert one == plan(query, Norm.L2, databases.dialect), "there is nothing to clip, in neither norm"
            assert one.selection is None, "the bins are public"
            assert [block.sensitivity.l1 for block in one.blocks] == [1]
            assert [block.sensitivity.l2_squared for block in one.blocks] == [1]
            shares += check(one, databases, random)
    return shares


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(4, 6), marks=pytest.mark.campaign)])
def test_one_more_person_is_in_one_bin_of_a_histogram_at_most(seeds: range) -> None:
    shares: list[float] = []
    for seed in seeds:
        random = Random(seed)
        place = world(random)
        databases = Databases.of(place, worst_units(random, place, 2))
        try:
            shares += check_histograms(databases, random)
        finally:
            databases.close()
    assert len(shares) > 30
    assert sum(share == 1 for share in shares) > len(shares) / 8, "hardly anybody was in a bin"


def test_one_more_person_is_in_one_bin_on_postgres_too() -> None:
    shares: list[float] = []
    for seed in range(100, 101):
        random = Random(seed)
        place = world(random)
        databases = PostgresDatabases.of(place, worst_units(random, place, 1))
        try:
            shares += check_histograms(databases, random)
        finally:
            databases.close()
    assert sum(share == 1 for share in shares) > 1


# Plans over what was learned


def undeclared(catalog: Catalog, random: Random) -> Catalog:
    """The catalog without most of its bounds."""

    def column(declared: Column) -> Column:
        open_ = declared.type.numeric and random.random() < 0.8
        return replace(declared, range=None, values=None) if open_ else declared

    tables = {
        name: table
        if table.public
        else replace(
            table,
            max_rows=table.max_rows if random.random() < 0.2 else None,
            columns={key: column(value) for key, value in table.columns.items()},
        )
        for name, table in catalog.tables.items()
    }
    return replace(catalog, tables=tables)


def anything(missing: Missing, catalog: Catalog, random: Random) -> Learned:
    """A bound that can be learned: far too small, about right or far too large."""
    if not missing.column:
        return Learned(missing, Fraction(0), Fraction(random.choice([1, 2, 2, 4, 16, 1 << 20])))
    possible = exponents(missing, catalog)
    powers = [Fraction(2) ** e for e in (possible[0], possible[-1], *(e for e in (0, 3, 7, 7, 9) if e in possible))]
    low = random.choice([Fraction(0), Fraction(0), -random.choice(powers)])
    return Learned(missing, low, Fraction(0) if low and random.random() < 0.3 else random.choice(powers))


def plans_over(
    sql: str, catalog: Catalog, norm: Norm, dialect: Dialect, random: Random
) -> tuple[list[Plan], list[Learned]]:
    """The plans of a query, with any bounds for what it lacks. Raises Refused."""
    learned: dict[Missing, Learned] = {}
    while True:
        statement = parse(sql)
        assert isinstance(statement, Select)
        known = catalog.with_learned(learned.values())
        try:
            found = [plan(query, norm, dialect) for query in split(statement.tree, known, dialect).groupings]
        except Unbounded as lacking:
            if lacking.missing <= learned.keys():
                raise
            learned |= {missing: anything(missing, catalog, random) for missing in sorted(lacking.missing)}
            continue
        return found, list(learned.values())


def check_learned(databases: Neighbourhood, random: Random, questions: int) -> tuple[int, list[float]]:
    catalog = undeclared(databases.catalog(), random)
    shares: list[float] = []
    planned = 0
    for _ in range(questions):
        sql = question(random, databases.world).sql
        try:
            found, learned = plans_over(sql, catalog, random.choice(list(Norm)), databases.dialect, random)
        except Refused:
            continue
        if not learned:
            continue
        planned += 1
        for one in found:
            shares += check(one, databases, random)
    return planned, shares


def test_whatever_was_learned_one_person_moves_no_statistic_further_than_that() -> None:
    shares: list[float] = []
    planned = 0
    for seed in range(200, 202):
        random = Random(seed)
        place = world(random)
        databases = Databases.of(place, worst_units(random, place, 2))
        try:
            more, found = check_learned(databases, random, 12)
        finally:
            databases.close()
        planned, shares = planned + more, shares + found
    assert planned > 8
    assert sum(share > 0.9 for share in shares) > len(shares) / 20, "nobody was clipped"


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(4))
def test_whatever_was_learned_one_person_moves_no_statistic_further_at_length(part: int) -> None:
    for seed in range(20_000 + 1_000 * part, 20_000 + 1_000 * part + 100):
        random = Random(seed)
        place = world(random)
        databases = Databases.of(place, worst_units(random, place, 2))
        try:
            check_learned(databases, random, 25)
            check_histograms(databases, random)
        finally:
            databases.close()


# What is in which bin


def _catalog(kind: Type) -> Catalog:
    person = Table("person", {"id": Column("id", INTEGER, nullable=False, unique=True)})
    row = Table(
        "row", {"person": Column("person", INTEGER), "x": Column("x", kind)}, path=(Hop("person", "person", "id"),)
    )
    return Catalog({"person": person, "row": row}, ("person", "id"))


@pytest.mark.parametrize(
    ("kind", "spelt", "values"),
    [
        (INTEGER, "INTEGER", [0, 1, 2, 3, 4, 5, -1, -2, -3, 2**31 - 1, -(2**31)]),
        (BIGINT, "BIGINT", [0, 1, 7, 2**62, 2**62 + 1, 2**63 - 1, -(2**63)]),
        (HUGEINT, "HUGEINT", [0, 2**64, 2**64 + 1, 2**127 - 1, -(2**127) + 1]),
        (decimal(8, 2), "DECIMAL(8,2)", [Decimal(text) for text in ("0", "0.01", "-0.25", "0.26", "999999.99", "-4")]),
        (decimal(38, 2), "DECIMAL(38,2)", [Decimal("9" * 36 + ".99"), Decimal("-0.01"), Decimal(2**60)]),
        (decimal(38, 38), "DECIMAL(38,38)", [Decimal(0), Decimal("0.5"), Decimal("-0." + "9" * 38)]),
        (DOUBLE, "DOUBLE", [0.0, -0.0, 1.0, 1.0000000000000002, 5e-324, -1.7e308, 2.0**64, 0.1, -3.5]),
    ],
)
def test_a_person_is_in_the_bin_of_the_exact_power_of_two(kind: Type, spelt: str, values: list[object]) -> None:
    catalog, missing = _catalog(kind), Missing("row", "x")
    powers = [Fraction(2) ** exponent for exponent in exponents(missing, catalog)]
    with duckdb.connect() as connection:
        connection.execute(
            f"CREATE TABLE person (id INTEGER PRIMARY KEY); CREATE TABLE row (person INTEGER, x {spelt})"
        )
        for number, value in enumerate(values):
            connection.execute("INSERT INTO person VALUES (?)", [number])
            connection.execute(
                f"INSERT INTO row VALUES (?, CAST(? AS {spelt})), (?, NULL)", [number, str(value), number]
            )
        connection.execute("INSERT INTO person VALUES (1000), (1001); INSERT INTO row VALUES (1000, NULL), (NULL, 0.5)")
        found = [
            dict(connection.execute(plan(query, Norm.L2, DUCKDB).sql).fetchall())
            for query in histograms(missing, catalog, DUCKDB)
        ]
    for sign, bins in zip((1, -1), found, strict=True):
        expected = dict.fromkeys(range(len(powers)), 0)
        for value in values:
            size = sign * Fraction(value)  # type: ignore[call-overload]
            if size > 0:
                place = next((at for at, power in enumerate(powers) if size <= power), len(powers) - 1)
                expected[place] += 1
        assert bins == expected


def test_rows_are_counted_by_person_and_rows_of_nobody_are_not() -> None:
    catalog = _catalog(INTEGER)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE person AS SELECT range AS id FROM range(5)")
        connection.execute(
            "CREATE TABLE row AS SELECT i AS person, 1 AS x FROM range(4) a(i), range(5) b(j) WHERE j <= i"
        )
        connection.execute(
            "INSERT INTO row SELECT 77, 1 FROM range(100); INSERT INTO row SELECT NULL, 1 FROM range(50)"
        )
        (query,) = histograms(Missing("row"), catalog, DUCKDB)
        bins = dict(connection.execute(plan(query, Norm.L1, DUCKDB).sql).fetchall())
    assert {place: count for place, count in bins.items() if count} == {0: 1, 1: 1, 2: 2}


@pytest.mark.quick
def test_what_was_learned_lists_no_groups() -> None:
    """GROUP BY FLOOR(x / 10) over a declared range is a public key set; over a learned one groups are selected."""
    catalog = _catalog(INTEGER).with_learned([Learned(Missing("row"), Fraction(0), Fraction(8))])
    sql = "SELECT FLOOR(x / 10.0), SUM(x) FROM row GROUP BY 1"
    per_person = "SELECT n, COUNT(*) FROM (SELECT person, x, COUNT(*) AS n FROM row GROUP BY 1, 2) AS q GROUP BY 1"
    rows = catalog.tables["row"]
    column = replace(rows.columns["x"], range=(0, 64))
    declared = replace(
        catalog,
        tables={**catalog.tables, "row": replace(rows, max_rows=8, columns={**rows.columns, "x": column})},
    )
    learned = catalog.with_learned([Learned(Missing("row", "x"), Fraction(0), Fraction(64))])
    for asked in (sql, per_person):
        statement = parse(asked)
        assert isinstance(statement, Select)
        over = [
            plan(split(statement.tree, known, DUCKDB).groupings[0], Norm.L2, DUCKDB) for known in (declared, learned)
        ]
        assert [one.selection is None for one in over] == [True, False], asked


@pytest.mark.spread
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM row",
        "SELECT SUM(x), AVG(x), COUNT(x) FROM row",
        "SELECT SUM(x * x - x) FROM row WHERE x > 5",
        "SELECT AVG(n), SUM(t) FROM (SELECT person, COUNT(*) AS n, SUM(x) AS t FROM row GROUP BY 1) AS q",
        "SELECT COUNT(*) FROM row a JOIN row b ON a.person = b.person",
    ],
)
@pytest.mark.parametrize("kind", [INTEGER, BIGINT, HUGEINT, decimal(38, 2), DOUBLE])
def test_what_can_be_planned_with_the_loosest_bounds_can_be_with_any(sql: str, kind: Type) -> None:
    """So that no bound is paid for by a statement that is refused then."""
    catalog = _catalog(kind)
    every = [Missing("row"), Missing("row", "x")]
    statement = parse(sql)
    assert isinstance(statement, Select)
    planned = [
        plan(query, Norm.L2, DUCKDB) for query in split(statement.tree, loosest(catalog, every), DUCKDB).groupings
    ]
    random = Random(5)
    for _ in range(12):
        known = catalog.with_learned(anything(missing, catalog, random) for missing in every)
        found = [plan(query, Norm.L2, DUCKDB) for query in split(statement.tree, known, DUCKDB).groupings]
        assert [[output.type for output in one.outputs] for one in found] == [
            [output.type for output in one.outputs] for one in planned
        ]


def loosest(catalog: Catalog, missing: list[Missing]) -> Catalog:
    return catalog.with_learned(greatest(one, catalog) for one in missing)


@pytest.mark.parametrize(
    ("honest", "planted"),
    [
        (r"\(COUNT\(\*\)\) AS s0", "(2 * COUNT(*)) AS s0"),
        # A row is in a bin, and not a person.
        (r"GROUP BY (t1\S*)\) AS p", r"GROUP BY \1, t1.rowid) AS p"),
        # The bins are those that somebody is in.
        (r"keys LEFT JOIN released", "keys JOIN released"),
    ],
)
def test_a_planted_bug_is_found(honest: str, planted: str) -> None:
    found = 0
    for seed in range(3, 9):
        random = Random(seed)
        place = world(random)
        if place.entity is None:
            continue
        databases = Databases.of(place, worst_units(random, place, 2))
        try:
            catalog = databases.catalog()
            for missing in [one for one in everything_missing(catalog) if one.table != place.entity[0]][:3]:
                one = plan(histograms(missing, catalog, DUCKDB)[0], Norm.L2, DUCKDB)
                bug = replace(one, sql=re.sub(honest, planted, one.sql))
                with contextlib.suppress(Unsound):
                    check(bug, databases, random)
                    continue
                found += 1
        finally:
            databases.close()
    assert found > 2
