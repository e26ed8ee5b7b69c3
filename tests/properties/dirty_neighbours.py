"""Dirty worlds and their neighbours: the statements that answers are compared for are held to their sensitivity too.

Analysts' statements have forms that :mod:`tests.properties.questions` does not draw: several statements that are
measured as one, groups that are chosen and then added up, numbers of rows that nobody asked for. Of some columns the
policy says what one person's values add up to.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa

from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.policy.declared_catalog import catalog
from dpsql.policy.policy import Policy
from rewriter.declared.catalog import Catalog
from tests.properties.analysts import Analyst
from tests.properties.campaign import Tally, about
from tests.properties.dirty_worlds import World, spelt, world
from tests.properties.meaning import in_duckdb
from tests.properties.neighbours import Databases
from tests.properties.questions import Question
from tests.properties.world import Owner


@dataclass(frozen=True)
class Place:
    """A dirty world as neighbours are made of it. Rows of an order that two people have would be both's: there is none."""

    world: World
    totals: Mapping[str, int]

    @classmethod
    def drawn(cls, random: Random) -> Place:
        """A world with bounds on the totals of some columns, from a part of one value to as much as rows allow."""
        place = world(random)
        numbers = [column for table in place.tables for column in table.columns if column.kind == "number"]
        some = [column.name for column in numbers if random.random() < 0.4]
        return cls(place, {name: random.choice([1, 7, 40, 200, 700, 5000]) for name in some})

    @property
    def tables(self) -> Sequence[object]:
        return self.world.tables

    def policy(self, database: str = "duckdb:world.duckdb") -> str:
        text = self.world.policy(database)
        for name, total in self.totals.items():
            text = re.sub(rf"^( +{name}: {{range: \[.*\])}}$", rf"\1, max_total: {total}}}", text, flags=re.MULTILINE)
        return text

    @cached_property
    def _catalog(self) -> Catalog:
        with tempfile.TemporaryDirectory() as folder:
            policy = Policy.parse(self.policy(in_duckdb(self.world, Path(folder))))
            engine = DuckDBEngine.open(Path(folder) / "world.duckdb")
            try:
                public = {table.name: engine.public_profile(table.name) for table in self.world.tables if table.public}
                return catalog(policy, engine.schema(), public)
            finally:
                engine.close()

    def catalog(self) -> Catalog:
        return self._catalog

    def fill(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("SET TimeZone = 'UTC'")
        for table in self.world.tables:
            connection.execute(table.ddl(postgres=False))
            rows = [tuple(map(spelt, row)) for row in self.world.rows[table.name]]
            texts = [pa.array([row[n] for row in rows], pa.string()) for n, _ in enumerate(table.columns)]
            connection.register("incoming", pa.table(texts, names=[column.name for column in table.columns]))
            casts = ", ".join(f"CAST({column.name} AS {column.type})" for column in table.columns)
            connection.execute(f"INSERT INTO {table.name} SELECT {casts} FROM incoming")
            connection.unregister("incoming")

    def owners(self) -> Mapping[str, Sequence[frozenset[Owner]]]:
        rows = self.world.rows
        people = {row[0] for row in rows["person"]}

        def of(person: object) -> frozenset[Owner]:
            return frozenset({("person", person)}) if person in people else frozenset()

        orders = {row[0]: of(row[1]) for row in rows["orders"]}
        return {
            "person": [of(row[0]) for row in rows["person"]],
            "visit": [of(row[0]) for row in rows["visit"]],
            "orders": [of(row[1]) for row in rows["orders"]],
            "line": [orders.get(row[0], frozenset()) for row in rows["line"]],
        }

    def heaviest(self, random: Random, count: int) -> list[Owner]:
        """One of the two with the most rows, and some others."""
        sizes: dict[Owner, int] = {}
        for owned in self.owners().values():
            for owner in owned:
                for one in owner:
                    sizes[one] = sizes.get(one, 0) + 1
        ranked = sorted(sizes, key=lambda unit: (-sizes[unit], repr(unit)))
        chosen = [random.choice(ranked[:2]), *random.sample(ranked, min(count, len(ranked)))]
        return list(dict.fromkeys(chosen))[:count]


def dirty_campaign(seeds: range, statements: int, neighbours: int, tally: Tally) -> Tally:
    """Check so many statements about a dirty world for each seed."""
    for seed in seeds:
        random = Random(seed)
        place = Place.drawn(random)
        databases = Databases.of(place, place.heaviest(random, neighbours))  # type: ignore[arg-type]
        analyst = Analyst(random, place.world)

        def asked(_: Random, __: object, analyst: Analyst = analyst) -> Question:
            one = analyst.statement()
            return Question(one.sql, frozenset({one.form}))

        try:
            about(seed, place, databases, random, statements, tally, False, asked)  # type: ignore[arg-type]
        finally:
            databases.close()
    return tally
