"""One more person moves no statistic by more than its declared sensitivity: the definition, on random worlds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import duckdb
import pytest

from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.opened import look_at
from dpsql.policy.declared_catalog import catalog, fit
from dpsql.policy.policy import Policy
from dpsql.releases.tables import ExactTable
from dpsql.testing import measure
from rewriter.declared.catalog import Catalog
from rewriter.declared.contribution import Norm
from rewriter.dialects.duckdb import DUCKDB
from rewriter.planner.plan_release import plan
from rewriter.refused import Refused
from rewriter.split.splitter import split
from rewriter.statement.parser import parse
from tests.engines.postgres_server import shared_server
from tests.properties.campaign import Home, Tally, campaign
from tests.properties.dirty_neighbours import dirty_campaign
from tests.properties.drawing import world, worst_units
from tests.properties.forms import FORMS
from tests.properties.neighbours import Databases, Table
from tests.properties.nested_worlds import FORMS as NESTED_FORMS
from tests.properties.nested_worlds import nested_question, nested_world
from tests.properties.postgres_databases import PostgresDatabases
from tests.properties.questions import means, question, ranks
from tests.properties.world import Owner, World

PAIRS, MANY = 400, 900
"""In the default run, and in each part of a campaign."""

WORLDS = (0, 10, 11, 18, 22, 29, 31, 1_013, 1_014, 1_016)
"""Of the first ones, those that draw every form, most of them in several."""

COVERED = frozenset(
    {
        "aggregate count", "aggregate count x", "aggregate units", "aggregate sum", "aggregate avg", "aggregate case",
        "aggregate quantile", "aggregate mode", "commonest", "aggregate boolean", "aggregate distinct", "distinct rows",
        "filter", "case", "narrowed", "arithmetic", "several aggregates",
        "family", "family of counts", "family of sums", "family of avgs", "thresholds", "where", "is null", "text test", "date test",
        "group by", "group by ordinals", "group by aliases", "several keys", "key column", "key selected", "key case",
        "key of time", "key of number", "select distinct", "one hop", "missing middle table",
        "join along a foreign key", "left join of private tables", "join of siblings", "chain of joins",
        "self-join on the unit", "unit of an outer join", "public join", "public left join", "public range join",
        "public cross join", "two public tables", "subquery", "cte", "union all", "per-person aggregate",
        "per-person aggregate by another key", "per-person having", "in private", "exists private",
        "not exists private", "exists that compares rows", "membership by a key",
        "in public", "exists public", "post-processing", "several releases", "running", "grouping sets",
        "window of a person", "window of a person: plain", "window of a person: first", "window of a person: few",
        "window of a person: qualify", "window of a person: distinct on", "window of a person and a key", "per-person median",
        "largest", "largest of wrapper", "groups picked first", "others", "marginals",
    }
)  # fmt: skip
"""Every form that is answered."""


def assert_sound(tally: Tally, pairs: int) -> None:
    """No violation, and a campaign that means something: it ran, covered the language, and came near the bounds."""
    assert not tally.leaks, f"{len(tally.leaks)} violations, the first:\n{tally.leaks[0]}"
    assert tally.pairs >= pairs, f"only {tally.pairs} pairs"
    assert tally.executed >= 0.9 * tally.asked, f"refused: {tally.refused.most_common(5)}"
    assert tally.features.keys() >= COVERED, f"not covered: {sorted(COVERED - tally.features.keys())}"
    assert tally.attained(0.9) > 0.1, "hardly a unit comes near a bound: they are loose, or the data is tame"


def test_one_more_person_moves_no_statistic_by_more_than_its_sensitivity() -> None:
    assert_sound(campaign(WORLDS, questions=20, neighbours=2, tally=Tally()), PAIRS)


def test_one_more_person_moves_no_statistic_of_postgres_further_either() -> None:
    tally = campaign(range(3_000, 3_002), questions=20, neighbours=2, tally=Tally(), home=PostgresDatabases.of)
    assert not tally.leaks, f"{len(tally.leaks)} violations, the first:\n{tally.leaks[0]}"
    assert tally.executed >= 0.85 * tally.asked, f"refused: {tally.refused.most_common(5)}"
    assert tally.pairs >= 60


@pytest.mark.parametrize("home", [Databases.of, PostgresDatabases.of])
def test_one_more_person_moves_no_mean_of_the_same_rows_further(home: Home) -> None:
    tally = campaign(range(7_000, 7_003), questions=12, neighbours=2, tally=Tally(), home=home, ask=means)
    assert not tally.leaks, f"{len(tally.leaks)} violations, the first:\n{tally.leaks[0]}"
    assert tally.executed >= 0.8 * tally.asked, f"refused: {tally.refused.most_common(5)}"
    assert tally.attained(0.9) > 0.1


@pytest.mark.parametrize("home", [Databases.of, PostgresDatabases.of])
def test_one_more_person_moves_no_rank_of_a_row_or_of_a_value_further(home: Home) -> None:
    tally = campaign(range(8_105, 8_108), questions=10, neighbours=2, tally=Tally(), home=home, ask=ranks)
    assert not tally.leaks, f"{len(tally.leaks)} violations, the first:\n{tally.leaks[0]}"
    assert tally.executed >= 0.8 * tally.asked, f"refused: {tally.refused.most_common(5)}"
    assert tally.features.keys() >= {"rank among rows", "rank among values"}
    assert tally.attained(0.9) > 0.05


@pytest.mark.parametrize("home", [Databases.of, PostgresDatabases.of])
def test_one_more_person_moves_no_statistic_of_documents_and_lists_further(home: Home) -> None:
    assert_sound_of_nested(range(90_000, 90_002), 10, 1, home)


def assert_sound_of_nested(seeds: range, questions: int, neighbours: int, home: Home) -> Tally:
    tally = campaign(seeds, questions, neighbours, Tally(), home=home, ask=nested_question, drawn=nested_world)
    assert not tally.leaks, f"{len(tally.leaks)} violations, the first:\n{tally.leaks[0]}"
    assert tally.executed >= 0.9 * tally.asked, f"refused: {tally.refused.most_common(5)}"
    return tally


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("home", [Databases.of, PostgresDatabases.of])
def test_one_more_person_moves_no_statistic_of_documents_and_lists_further_at_length(home: Home, part: int) -> None:
    tally = assert_sound_of_nested(range(91_000 + 100 * part, 91_030 + 100 * part), 25, 2, home)
    assert tally.features.keys() >= NESTED_FORMS
    assert tally.attained(0.9) > 0.1


def test_one_more_person_moves_no_statistic_of_an_analyst_s_statement_further() -> None:
    assert_still(dirty_campaign(range(2), 16, 2, Tally()), 60)


def assert_still(tally: Tally, pairs: int) -> None:
    assert not tally.leaks, f"{len(tally.leaks)} violations, the first:\n{tally.leaks[0]}"
    assert tally.executed >= 0.9 * tally.asked, f"refused: {tally.refused.most_common(5)}"
    assert tally.pairs >= pairs
    assert tally.attained(0.9) > 0.1, "hardly a person comes near a bound"


@pytest.mark.parametrize("seed", [41, 42, 43, 45])
def test_a_plan_does_not_depend_on_a_person_and_the_engine_runs_it_as_here(seed: int, tmp_path: Path) -> None:
    """The whole path, from two database files: same catalog, same SQL, same price; and the engine's own integers."""
    random = Random(seed)
    place = next(found for found in iter(lambda: world(random), None) if found.lasting)
    unit = worst_units(random, place, 1)[0] if place.units() else ("", 0)
    databases = Databases.of(place, [unit])
    engines = [opened(place, rows, tmp_path / f"{number}.duckdb") for number, rows in enumerate((None, unit))]
    policy = Policy.parse(place.policy())
    public = [table.name for table in place.tables if table.public]
    looks = [look_at(e, fit(policy, e.schema()).claims, 60) for e in engines]
    profiles = [{name: e.public_profile(name) for name in public} for e in engines]
    catalogs = [catalog(policy, e.schema(), *seen) for e, *seen in zip(engines, profiles, looks, strict=True)]
    assert catalogs[0] == catalogs[1]
    assert unseen(catalogs[0]) == place.catalog()
    for _ in range(10):
        asked = parse(question(random, place).sql)
        try:
            plans = [
                [plan(query, Norm.L2, DUCKDB) for query in split(asked.tree, known, DUCKDB).groupings]
                for known in catalogs
            ]
        except Refused:
            continue
        assert plans[0] == plans[1]
        for one in plans[0]:
            assert integers(engines[0].run(one)) == values(databases.run(one))
            assert integers(engines[1].run(one)) == values(databases.run(one, databases.neighbours[unit]))
    for engine in engines:
        engine.close()


def unseen(known: Catalog) -> Catalog:
    """A catalog without what rows of public tables say, which a world does not write down."""
    tables = {
        name: replace(table, columns={column: replace(one, seen=None) for column, one in table.columns.items()})
        for name, table in known.tables.items()
    }
    return replace(known, tables=tables)


def opened(place: World, without: Owner | None, path: Path) -> DuckDBEngine:
    with duckdb.connect(str(path)) as connection:
        place.fill(connection, None if without is None else place.without(without))
    return DuckDBEngine.open(path)


def integers(table: ExactTable) -> list[tuple[int, ...]]:
    return list(zip(*table.statistics.values(), strict=True)) if table.statistics else [()] * len(table.keys)


def values(table: Table) -> list[tuple[int, ...]]:
    return [tuple(row.values()) for row in table.values()]


@pytest.mark.quick
def test_zero_is_one_group_whoever_is_in_it(tmp_path: Path) -> None:
    """0.0 equals -0.0, and the row that comes first must not say how the group is spelt, as it would on PostgreSQL."""
    server = shared_server()
    for number, values in enumerate(((-0.0, 0.0), (0.0, -0.0), (-0.0,), (0.0,))):
        rows = ", ".join(f"({place}, '{value}')" for place, value in enumerate(values))
        database = server.database(
            f"CREATE TABLE person (id int PRIMARY KEY, x float8); INSERT INTO person VALUES {rows}"
        )
        policy = tmp_path / f"{number}.yaml"
        policy.write_text(
            f"database: {server.url(database)}\nledger: sqlite:l{number}\nprivacy_unit: person.id\n"
            "budget: {epsilon: 1, delta: 1e-6}\ntables: {person: {columns: {id: {}, x: {}}}}\n"
        )
        (measured,) = measure("SELECT x, COUNT(*) FROM person GROUP BY x", policy)
        assert [repr(key) for key in measured.groups] == ["(0.0,)"], values


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(10))
def test_one_more_person_moves_no_statistic_by_more_than_its_sensitivity_at_length(part: int) -> None:
    seeds = range(10_000 + 1_000 * part, 10_000 + 1_000 * part + 60)
    assert_sound(campaign(seeds, questions=25, neighbours=2, tally=Tally()), MANY)


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(10))
def test_one_more_person_moves_no_statistic_of_postgres_further_either_at_length(part: int) -> None:
    seeds = range(50_000 + 1_000 * part, 50_000 + 1_000 * part + 60)
    assert_sound(campaign(seeds, questions=25, neighbours=2, tally=Tally(), home=PostgresDatabases.of), MANY)


@pytest.mark.campaign
@pytest.mark.parametrize("home", [Databases.of, PostgresDatabases.of])
def test_one_more_person_moves_no_mean_of_the_same_rows_further_at_length(home: Home) -> None:
    tally = campaign(range(70_000, 70_060), questions=25, neighbours=2, tally=Tally(), home=home, ask=means)
    assert not tally.leaks, f"{len(tally.leaks)} violations, the first:\n{tally.leaks[0]}"


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(4))
def test_one_more_person_moves_no_statistic_of_an_analyst_s_statement_further_at_length(part: int) -> None:
    tally = dirty_campaign(range(100 + 100 * part, 140 + 100 * part), 25, 2, Tally())
    assert_still(tally, 1_500)
    assert tally.features.keys() >= set(FORMS), f"not covered: {sorted(set(FORMS) - tally.features.keys())}"
