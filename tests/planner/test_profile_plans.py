"""The profile of a table: one person moves the people in its bins by one, and the rows beyond by what is claimed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random

import duckdb
import pytest

from rewriter.declared.catalog import Catalog, Column, Hop, Table
from rewriter.declared.contribution import Norm
from rewriter.declared.interval import Interval
from rewriter.declared.types import DOUBLE, INTEGER, Type, decimal
from rewriter.dialects.duckdb import DUCKDB
from rewriter.planner.plan_release import plan
from rewriter.planner.rows_profile import (
    bin_ends,
    means_plan,
    means_query,
    profile_plans,
    profile_queries,
    profiled_columns,
    profiled_tables,
    profiled_values,
    value_ends,
    values_plan,
    values_query,
)
from tests.properties.drawing import world, worst_units
from tests.properties.neighbours import Databases, Neighbourhood, check
from tests.properties.postgres_databases import PostgresDatabases


def bounded(catalog: Catalog, random: Random) -> Catalog:
    """Small bounds on rows, so that people are beyond them, and none of spans."""
    tables = {
        name: table
        if table.public
        else replace(table, max_rows=random.choice([1, 2, 3]), spans=None, max_groups=None, max_rows_per_group=None)
        for name, table in catalog.tables.items()
    }
    return replace(catalog, tables=tables)


def check_profiles(databases: Neighbourhood, random: Random) -> Iterator[tuple[str, float]]:
    catalog = bounded(databases.catalog(), random)
    for name in profiled_tables(catalog, databases.dialect):
        most = catalog.tables[name].max_rows or 0
        for what, query in zip(("people", "beyond"), profile_queries(name, catalog, databases.dialect), strict=True):
            one = plan(query, Norm.L1, databases.dialect)
            assert one == plan(query, Norm.L2, databases.dialect), "there is nothing to clip, in neither norm"
            assert one.selection is None, "the bins are public"
            reach = 1 if what == "people" else 3 * most
            assert [(b.sensitivity.l1, b.sensitivity.l2_squared) for b in one.blocks] == [(reach, reach**2)]
            for share in check(one, databases, random):
                yield what, share
    for name, column in profiled_columns(catalog, databases.dialect):
        query = means_query(name, column, catalog, databases.dialect)
        one = plan(query, Norm.L1, databases.dialect)
        assert one == plan(query, Norm.L2, databases.dialect), "a person is in one of two groups"
        assert one.selection is None
        for share in check(one, databases, random):
            yield "means", share
    for name, column in profiled_values(catalog):
        query = values_query(name, column, catalog, databases.dialect)
        one = plan(query, Norm.L1, databases.dialect)
        assert one.selection is None, "the bins are public"
        (block,) = one.blocks
        unit = block.statistics[0].granularity
        assert (block.sensitivity.l1 * unit, block.sensitivity.l2_squared * unit**2) == (1, 1)
        for share in check(one, databases, random):
            yield "values", share


def test_one_more_person_moves_a_profile_by_its_claim_at_most() -> None:
    shares: list[tuple[str, float]] = []
    for seed in range(6):
        random = Random(seed)
        place = world(random)
        databases = Databases.of(place, worst_units(random, place, 2))
        try:
            shares += check_profiles(databases, random)
        finally:
            databases.close()
    for what in ("people", "beyond", "means", "values"):
        reached = [share for kind, share in shares if kind == what]
        assert len(reached) > 5
        assert max(reached) == 1, f"nobody moved {what} as far as is claimed"


def test_one_more_person_moves_a_profile_by_its_claim_at_most_on_postgres_too() -> None:
    shares: list[tuple[str, float]] = []
    for seed in range(100, 102):
        random = Random(seed)
        place = world(random)
        databases = PostgresDatabases.of(place, worst_units(random, place, 1))
        try:
            shares += check_profiles(databases, random)
        finally:
            databases.close()
    assert shares


def clinic(most: int) -> Catalog:
    person = Table("person", {"id": Column("id", INTEGER, nullable=False, unique=True)})
    row = Table("row", {"person": Column("person", INTEGER)}, path=(Hop("person", "person", "id"),), max_rows=most)
    return Catalog({"person": person, "row": row}, ("person", "id"))


@pytest.mark.parametrize("most", [1, 2, 3, 7, 24])
def test_a_profile_says_how_many_rows_people_have(most: int) -> None:
    ends = bin_ends(most)
    rows = [1, 2, 3, most, most + 1, 2 * most, 2 * most + 1, 4 * most, 4 * most + 1, 40 * most]
    plans = profile_plans("row", clinic(most), DUCKDB)
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE row (person INTEGER); CREATE TABLE person AS SELECT range AS id FROM range(11)"
        )
        for number, many in enumerate(rows):
            connection.execute(f"INSERT INTO row SELECT {number} FROM range({many})")
        # Nobody's rows are in no profile: those without a key, and those of a key that nobody has.
        connection.execute("INSERT INTO row SELECT NULL FROM range(500); INSERT INTO row SELECT 77 FROM range(500)")
        people = dict(connection.execute(plans.people.sql).fetchall())
        ((beyond,),) = connection.execute(plans.beyond.sql).fetchall()
    expected = Counter(next((at for at, end in enumerate(ends) if many <= end), len(ends)) for many in rows)
    assert people == {place: expected[place] for place in range(len(ends) + 1)}
    assert beyond == sum(min(max(many - most, 0), 3 * most) for many in rows)
    assert most in ends
    assert 2 * most in ends
    assert 4 * most in ends


@pytest.mark.parametrize("most", [1, 5])
def test_a_profile_of_a_mean_is_of_people_and_not_of_rows(most: int) -> None:
    catalog = clinic(most)
    row = catalog.tables["row"]
    x = Column("x", INTEGER, range=(0, 100))
    known = replace(catalog, tables={**catalog.tables, "row": replace(row, columns={**row.columns, "x": x})})
    assert profiled_columns(known, DUCKDB) == (("row", "x"),)
    found = means_plan("row", "x", known, DUCKDB)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE person AS SELECT range AS id FROM range(5)")
        connection.execute("CREATE TABLE row (person INTEGER, x INTEGER)")
        # Two people with one row each, of 10 and 20; one with fifty, whose mean is 60; one without any value.
        connection.execute("INSERT INTO row VALUES (0, 10), (1, 20), (3, NULL)")
        connection.execute("INSERT INTO row SELECT 2, CASE WHEN range % 2 = 0 THEN 20 ELSE 100 END FROM range(50)")
        rows = sorted(connection.execute(found.means.sql).fetchall())
    (block,) = found.means.blocks
    steps = {one.name: one.granularity for one in block.statistics}
    totals = [[float(number * step) for number, step in zip(row[1:], steps.values(), strict=True)] for row in rows]
    assert [row[0] for row in rows] == [0, 1]
    # Above the low end, and below the high one.
    assert totals == [[30.0, 170.0], [60.0, 40.0]]


@pytest.mark.quick
def test_which_tables_have_a_profile() -> None:
    catalog = clinic(5)
    row = catalog.tables["row"]
    unique = replace(row, columns={"person": Column("person", INTEGER, unique=True)})
    for table, has in ((row, True), (replace(row, max_rows=None), False), (unique, False)):
        known = replace(catalog, tables={**catalog.tables, "row": table})
        assert profiled_tables(known, DUCKDB) == (("row",) if has else ())
    # One table of people's rows alone, as many files are: its people have several, where no key says otherwise.
    person = catalog.tables["person"]
    several = replace(person, columns={"id": Column("id", INTEGER)}, max_rows=5)
    for table, has in ((several, True), (replace(person, max_rows=5), False), (replace(several, max_rows=None), False)):
        known = replace(catalog, tables={"person": table})
        assert profiled_tables(known, DUCKDB) == (("person",) if has else ())


def test_a_profile_of_the_only_table_counts_the_rows_of_its_people() -> None:
    catalog = Catalog({"person": Table("person", {"id": Column("id", INTEGER)}, max_rows=2)}, ("person", "id"))
    plans = profile_plans("person", catalog, DUCKDB)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE person (id INTEGER)")
        for number, many in enumerate((1, 2, 3, 9)):
            connection.execute(f"INSERT INTO person SELECT {number} FROM range({many})")
        connection.execute("INSERT INTO person SELECT NULL FROM range(100)")
        people = [many for _, many in sorted(connection.execute(plans.people.sql).fetchall())]
        ((beyond,),) = connection.execute(plans.beyond.sql).fetchall()
    assert (people, beyond) == ([1, 1, 1, 0, 1], 1 + 6)


@pytest.mark.parametrize("kind", [INTEGER, DOUBLE, decimal(9, 2)])
def test_all_values_of_a_person_weigh_as_much_as_one(kind: Type) -> None:
    catalog = clinic(3)
    row = replace(
        catalog.tables["row"], columns={"person": Column("person", INTEGER), "x": Column("x", kind, range=(0, 80))}
    )
    known = replace(catalog, tables={**catalog.tables, "row": row})
    assert profiled_values(known) == (("row", "x"),)
    found = values_plan("row", "x", known, DUCKDB)
    assert found.ends[0] == 0
    assert found.ends[-1] == 80
    values = {0: [-1], 1: [0, 80], 2: [81, 10, 10, None], 3: [25] * 50, 4: [None, None]}
    with duckdb.connect() as connection:
        connection.execute(
            f"CREATE TABLE row (person INTEGER, x {kind}); CREATE TABLE person AS SELECT range AS id FROM range(5)"
        )
        connection.executemany("INSERT INTO row VALUES (?, ?)", [(who, x) for who, xs in values.items() for x in xs])
        # Nobody's values are in no profile.
        connection.execute("INSERT INTO row VALUES (NULL, 5), (77, 5)")
        people = dict(connection.execute(found.people.sql).fetchall())
    (statistic,) = found.people.statistics
    expected = [0.0] * (len(found.ends) + 1)
    for xs in values.values():
        there = [x for x in xs if x is not None]
        for x in there:
            place = 0 if x < 0 else next((at for at, end in enumerate(found.ends) if x <= end and at), len(found.ends))
            expected[place] += 1 / len(there)
    told = [people[place] * float(statistic.granularity) for place in range(len(expected))]
    assert told == pytest.approx(expected, abs=1e-6)


def test_bins_are_halves_beside_what_is_nearest_to_0() -> None:
    assert [int(end) for end in value_ends(Interval.of(-8, 8), INTEGER)] == [-8, -6, -4, -2, -1, 0, 1, 2, 4, 6, 8]
    assert value_ends(Interval.of(1000, 1008), DOUBLE)[1] == 1000 + Fraction(1, 256)
    assert len(value_ends(Interval.of(0, 1_000_000), DOUBLE)) <= 17
    narrow = value_ends(Interval(Fraction(1, 1000), Fraction(999, 1000)), decimal(9, 2))
    assert (narrow[0], narrow[-1]) == (Fraction(1, 100), Fraction(99, 100))


def test_where_each_row_is_a_unit_it_weighs_as_one() -> None:
    ranges = {"x": (0, 8), "one": (3, 3)}
    row = Table("row", {name: Column(name, INTEGER, range=ends) for name, ends in ranges.items()})
    catalog = Catalog({"row": row, "region": Table("region", {"x": row.columns["x"]}, public=True)}, None)
    assert profiled_values(catalog) == (("row", "x"),), "a range of one value tells nothing"
    found = values_plan("row", "x", catalog, DUCKDB)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE row AS SELECT x FROM range(-1, 12) AS t(x), range(x + 2)")
        people = dict(connection.execute(found.people.sql).fetchall())
    assert [people[place] for place in range(len(found.ends) + 1)] == [1, 2 + 3, 4, 5, 6, 7, 8, 9, 10, 11 + 12 + 13]
