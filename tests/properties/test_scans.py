"""Plans that are read in one scan have the integers that each has alone: on random worlds, in both engines."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from rewriter.declared.contribution import Norm
from rewriter.plan import Plan
from rewriter.planner.one_scan import OneScan, one_scans
from rewriter.planner.plan_release import plan
from rewriter.refused import Refused
from rewriter.split.splitter import split
from rewriter.statement.parser import Select, parse
from tests.properties.campaign import Home
from tests.properties.drawing import world
from tests.properties.neighbours import Databases, Failed
from tests.properties.postgres_databases import PostgresDatabases
from tests.properties.questions import question

TOGETHER = " ROLLUP (", " CUBE (", " GROUPING SETS (", " UNION ALL "


def alone(scan: OneScan, place: int) -> Plan:
    """A plan of a scan, over the rows that have its number."""
    one = scan.plans[place]
    names = (*(key.name for key in one.keys), *one.columns)
    columns = ", ".join(f"every.{scan.names[c]} AS {n}" for n, c in zip(names, scan.columns[place], strict=True))
    return replace(one, sql=f"SELECT {columns} FROM ({scan.sql}) AS every WHERE level = {place}")


@pytest.mark.parametrize(("home", "seeds", "least"), [(Databases.of, 7, 6), (PostgresDatabases.of, 4, 2)])
def test_reading_together_gives_the_integers_of_reading_apart(home: Home, seeds: int, least: int) -> None:
    found: Counter[str] = Counter()
    for seed in range(40_000, 40_000 + seeds):
        random = Random(seed)
        place = world(random)
        databases = home(place, ())
        catalog, dialect = databases.catalog(), databases.dialect
        try:
            for _ in range(40):
                asked = question(random, place)
                if not any(word in asked.sql for word in TOGETHER):
                    continue
                statement, norm = parse(asked.sql), random.choice(list(Norm))
                assert isinstance(statement, Select)
                try:
                    plans = [plan(query, norm, dialect) for query in split(statement.tree, catalog, dialect).groupings]
                except Refused:
                    continue
                for scan in one_scans(plans, dialect):
                    for number, one in enumerate(scan.plans):
                        try:
                            apart = databases.run(one)
                        except Failed:
                            continue
                        assert databases.run(alone(scan, number)) == apart, f"{seed}: {asked.sql}\n{scan.sql}"
                        found["plans"] += 1
                        found["rows"] += len(apart)
                        found["units that are clipped"] += one.clips
                    found["scans"] += 1
        finally:
            databases.close()
    assert found["scans"] >= least, found
    assert found["rows"] > 3 * found["plans"], found
    assert found["units that are clipped"] > found["scans"], found
