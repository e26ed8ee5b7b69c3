"""What must hold between a database and its neighbour, checked on the exact integers, with zero tolerance.

A plan is *sound* when no statistic moves further than it declares as one unit comes or goes, whatever the rows hold.
This module runs one plan on a database and on what is left of it, and compares. It is the definition of sensitivity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any, Protocol

import duckdb

from dpsql.audit.neighbour_law import MovedTooFar as Unsound
from dpsql.audit.neighbour_law import compare, measured
from dpsql.audit.pick_law import picked_in, weights_moved
from dpsql.engines.duckdb.duckdb_engine import LOCKED
from dpsql.engines.exact_table import WrongShape, ranks_of
from dpsql.inference.estimates.columns import infer
from dpsql.mechanisms import Laplace
from dpsql.releases.tables import NoisyTable
from rewriter.declared.catalog import Catalog
from rewriter.dialects.dialect import Dialect
from rewriter.dialects.duckdb import DUCKDB
from rewriter.plan import Plan
from tests.properties.picks import Ranks, most_moved
from tests.properties.step_by_step import later_reads
from tests.properties.world import Owner, World

Table = dict[tuple[object, ...], dict[str, int]]


class Failed(AssertionError):
    """The engine raised, which itself tells of a row."""


class Neighbourhood(Protocol):
    """One world and its neighbours in an engine."""

    world: World
    neighbours: dict[Owner, str]

    @property
    def dialect(self) -> Dialect: ...

    def catalog(self) -> Catalog: ...

    def run(self, plan: Plan, schema: str = ..., threads: int = ...) -> Table: ...

    def ranks(self, plan: Plan, schema: str = ..., threads: int = ...) -> dict[str, Ranks]: ...

    def close(self) -> None: ...


def gone(world: World, unit: Owner | None) -> dict[str, list[int]]:
    """The places of the rows that a neighbour lacks: those of a unit, or of nobody."""
    owner = frozenset() if unit is None else frozenset({unit})
    return {name: [place for place, of in enumerate(found) if of == owner] for name, found in world.owners().items()}


@dataclass(slots=True)
class Databases:
    """One world and its neighbours, as schemas of one in-memory DuckDB."""

    world: World
    connection: duckdb.DuckDBPyConnection
    neighbours: dict[Owner, str] = field(default_factory=dict)

    @classmethod
    def of(cls, world: World, units: Sequence[Owner]) -> Databases:
        optimizers = LOCKED["disabled_optimizers"]
        connection = duckdb.connect(":memory:", config={"threads": 1, "disabled_optimizers": optimizers})
        world.fill(connection)
        databases = cls(world, connection)
        for number, unit in enumerate(units):
            databases.neighbours[unit] = f"d{number}"
            databases._copy(f"d{number}", gone(world, unit))
        databases._copy("owned", gone(world, None), shuffled=True)
        return databases

    @property
    def dialect(self) -> Dialect:
        return DUCKDB

    def catalog(self) -> Catalog:
        return self.world.catalog()

    def _copy(self, schema: str, missing: dict[str, list[int]], *, shuffled: bool = False) -> None:
        """The tables without some of their rows, in another order too."""
        self.connection.execute(f"ATTACH ':memory:' AS {schema}")
        for table in self.world.tables:
            places = missing.get(table.name)
            test = f" WHERE rowid NOT IN ({', '.join(map(str, places))})" if places else ""
            order = " ORDER BY hash(rowid + 7)" if shuffled else ""
            self.connection.execute(
                f'CREATE TABLE {schema}."{table.name}" AS SELECT * FROM memory."{table.name}"{test}{order}'
            )

    def run(self, plan: Plan, schema: str = "memory", threads: int = 1) -> Table:
        """The exact table of a plan. Raises :class:`Failed` when the engine does, :class:`Unsound` at no integer."""
        if not plan.sql:
            return {(): {}}
        self.connection.execute(f"USE {schema}; SET threads = {threads}")
        width, first = len(plan.keys), plan.first_read
        rows = self._rows(first)
        table = _table(first, rows)
        for later in later_reads(plan, [row[:width] for row in rows]):
            for key, cells in _table(later, self._rows(later)).items():
                table[key] |= cells
        return table

    def _rows(self, plan: Plan) -> list[tuple[Any, ...]]:
        try:
            return self.connection.execute(plan.sql).fetchall()
        except duckdb.Error as error:
            raise Failed(f"the engine raised {type(error).__name__}: {str(error)[:300]}") from None

    def ranks(self, plan: Plan, schema: str = "memory", threads: int = 1) -> dict[str, Ranks]:
        """What the choices of a plan are made from."""
        self.connection.execute(f"USE {schema}; SET threads = {threads}")
        try:
            return {one.name: ranks_of(self.connection.execute(one.sql), plan) for one in plan.choices}
        except duckdb.Error as error:
            raise Failed(f"the engine raised {type(error).__name__}: {str(error)[:300]}") from None
        except WrongShape:
            raise Unsound("the ranks have not the integers and groups of their plan") from None

    def close(self) -> None:
        self.connection.close()


def _table(plan: Plan, rows: Sequence[tuple[Any, ...]]) -> Table:
    names, width = plan.columns, len(plan.keys)
    table: Table = {}
    for row in rows:
        key, cells = tuple(_spelt(value) for value in row[:width]), row[width:]
        if len(cells) != len(names) or any(type(cell) is not int for cell in cells):
            raise Unsound(f"not integers: {cells} for {names}")
        if key in table:
            raise Unsound(f"the group {key} is answered twice")
        table[key] = dict(zip(names, cells, strict=True))
    return table


def _spelt(value: object) -> tuple[str, str]:
    """A key with its exact spelling: 0.0 is not -0.0, and 1 is not True."""
    return type(value).__name__, repr(value)


def finished(plan: Plan, table: Table) -> dict[tuple[object, ...], tuple[object, ...]]:
    """What would be released of a table, had the noise been zero."""
    names = [statistic.name for statistic in plan.statistics]
    columns: dict[str, tuple[int, ...]] = {}
    for block in plan.blocks:
        own = [statistic.name for statistic in block.statistics]
        rows = measured(block, own, table).values()
        columns |= {name: tuple(row[name] for row in rows) for name in own}
    noise = dict.fromkeys(names, Laplace(Fraction(1)))
    nobody = {choice.name: ((None,) * len(table),) * max(len(choice.fractions), 1) for choice in plan.choices}
    released = infer(NoisyTable(tuple(table), columns, noise, nobody), plan)
    finished = zip(*(column.values for column in released.columns[len(plan.keys) :]), strict=True)
    return dict(zip(table, finished, strict=True))


class _Spelt:
    """The groups of a table, by their keys as they are."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __contains__(self, key: object) -> bool:
        return isinstance(key, tuple) and tuple(map(_spelt, key)) in self._table


def _picks(plan: Plan, table: Table, here: dict[str, Ranks], there: dict[str, Ranks]) -> float:
    """Check what values are picked from. Answers the largest share of a price that was used."""
    shares = [0.0]
    for choice in plan.choices:
        ours, theirs = (picked_in(plan, side[choice.name], _Spelt(table)) for side in (here, there))
        if moved := weights_moved(choice, ours, theirs):
            raise Unsound(moved)
        share, where = most_moved(choice, ours, theirs)
        if share > 1:
            raise Unsound(f"a pick used {share} of its price: {where}")
        shares.append(share)
    return max(shares)


def _finishes_alike(plan: Plan, here: Table, there: Table) -> None:
    """A group whose integers are the same is finished in the same way, whatever the other groups hold."""
    if not plan.outputs or any(block.prefix is not None for block in plan.blocks):
        # Running sums are rounded, and with each of them the groups behind it.
        return
    ours, theirs = finished(plan, here), finished(plan, there)
    for key in here:
        if here[key] == there.get(key) and ours[key] != theirs[key]:
            raise Unsound(f"the unchanged group {key} is finished as {ours[key]} and as {theirs[key]}")


def _rises(plan: Plan, here: Table, there: Table) -> None:
    """Where it is claimed, no integer is smaller here, where there is one person more."""
    names = [statistic.name for block in plan.blocks if block.rises for statistic in block.statistics]
    for key, row in there.items():
        fallen = [name for name in names if here.get(key, {}).get(name, 0) < row[name]]
        if fallen:
            raise Unsound(f"{fallen} of {key} fell with one person more")


def check(plan: Plan, databases: Neighbourhood, random: Random) -> list[float]:
    """One plan against every neighbour: the shares of its bounds that were used. Raises Unsound or Failed."""
    here, ranks = databases.run(plan), databases.ranks(plan)
    shares = []
    for schema in databases.neighbours.values():
        there = databases.run(plan, schema)
        shares.append(max(compare(plan, here, there), _picks(plan, here, ranks, databases.ranks(plan, schema))))
        _finishes_alike(plan, here, there)
        _rises(plan, here, there)
    threads = random.choice([1, 2])
    if databases.ranks(plan, "owned", threads=threads) != ranks:
        raise Unsound("rows of nobody, or the order of rows, changed ranks")
    again = databases.run(plan, "owned", threads=threads)
    if list(again.items()) != list(here.items()):
        changed = [key for key in {**here, **again} if here.get(key) != again.get(key)]
        raise Unsound(f"rows of nobody, or the order of rows, changed {changed[:3] or 'the order of groups'}")
    return shares
