"""A scenario: what is asked of every world, and which numbers of the answer belong to which group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import psycopg
from psycopg.rows import tuple_row

from dpsql.audit.audited_server import Served
from dpsql.audit.lower_bounds import ChargedLoss
from dpsql.audit.telling_events import Samples
from dpsql.audit.wire_outcomes import Outcome, numbers, samples_of
from tests.audit.surroundings import DAY, clock_beside
from tests.audit.worlds import CELLS, FIRST, Worlds

Row = Sequence[object]


@dataclass(frozen=True, slots=True)
class Ask:
    """One statement over the world ``{w}``. Its first column is the group, and ``keys`` more tell a group's rows apart;
    or it names a group itself, as ``{c}``, and is asked once for each of them, and all its rows are that group's.

    ``settings`` may name the world and the group, too. ``way`` is how it goes over the wire: the ``simple`` or the ``extended`` protocol, ``prepared`` once with the world
    as a parameter, with ``binary`` results, or out of ``copy``.
    """

    sql: str
    keys: int = 0
    user: str = "ana"
    way: str = "simple"
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is asked of each world of a shape, under a ledger, at ``epsilon`` a statement.

    ``ordered``: the order of the rows is a function of the groups' names alone, since nothing else is asked for.
    ``empty_groups``: declared groups are all shown, or hidden where the released numbers do not speak for them; what is
    shown tells at least as much as what is hidden by it. Statements are over these ``groups`` of a world. All of it is
    asked on each of so many ``days``, and what is answered and charged on the last one is looked at.
    """

    name: str
    shape: str
    asks: tuple[Ask, ...]
    ledger: str = "pure"
    epsilon: str = "1"
    reuse: bool = False
    consistent: bool = True
    most_worlds: int = 1000
    ordered: bool = True
    empty_groups: str = "show"
    groups: range = range(CELLS)
    days: int = 1

    @property
    def chosen_groups(self) -> bool:
        """Whether groups may be missing: because hardly anybody is in them, or by what was released."""
        return self.empty_groups == "hide" or any(" tag" in ask.sql or "HAVING" in ask.sql for ask in self.asks)

    @property
    def one_by_one(self) -> bool:
        """Whether each group is asked for by a statement of its own."""
        return "{c}" in self.asks[0].sql


@dataclass(frozen=True, slots=True)
class Reply:
    """The rows of one statement as a client has them, with all that is told beside them."""

    columns: tuple[tuple[str, int], ...]
    rows: Sequence[Row]
    error: str = ""


class Client:
    """Connections of a scenario's analysts, with its settings."""

    def __init__(self, served: Served, scenario: Scenario) -> None:
        self.served = served
        self.scenario = scenario
        self.connections: dict[str, psycopg.Connection] = {}
        self._settings: dict[str, tuple[str, ...]] = {}
        for user in sorted({ask.user for ask in scenario.asks}):
            connection = self.connections[user] = served.connect(user)
            for name, value in (
                ("epsilon", scenario.epsilon),
                ("reuse", "on" if scenario.reuse else "off"),
                ("consistent", "on" if scenario.consistent else "off"),
                ("empty_groups", scenario.empty_groups),
            ):
                connection.execute(f"SET dpsql.{name} = {value}".encode())

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self.connections.values():
            connection.close()

    def replies(self, world: int, cell: int = 0) -> list[Reply]:
        """The scenario's statements, in their order."""
        return [self.reply(ask, world, cell) for ask in self.scenario.asks]

    def reply(self, ask: Ask, world: int, cell: int = 0) -> Reply:
        connection = self.connections[ask.user]
        settings = tuple(one.format(w=world, c=cell) for one in ask.settings)
        if self._settings.get(ask.user, ()) != settings:
            for setting in (f"dpsql.epsilon = {self.scenario.epsilon}", "dpsql.intervals = off", *settings):
                connection.execute(f"SET {setting}".encode())
            self._settings[ask.user] = settings
        try:
            return _asked(connection, ask, world, cell)
        except psycopg.Error as error:
            return Reply((), (), f"{error.sqlstate}: {error}")

    def outcomes(self, world: int) -> list[Outcome]:
        """What each group of a world came to. An error is one too."""
        if self.scenario.one_by_one:
            return [self._gathered(self.replies(world, cell), lambda row: (0, row)).get(0, {}) for cell in range(CELLS)]
        found = self._gathered(self.replies(world), _split)
        return [found.get(cell, {}) for cell in self.scenario.groups]

    def _gathered(self, replies: Sequence[Reply], split: Callable[[Row], tuple[object, Row]]) -> dict[object, Outcome]:
        found: dict[object, Outcome] = {}
        for place, (ask, reply) in enumerate(zip(self.scenario.asks, replies, strict=True)):
            if reply.error:
                raise RuntimeError(f"{self.scenario.name}: {reply.error}")
            for row in reply.rows:
                cell, rest = split(row)
                outcome = found.setdefault(cell, {})
                at = " ".join(str(key) for key in rest[: ask.keys])
                rows = f"{place}.rows"
                outcome[rows] = (outcome.get(rows) or 0.0) + 1.0
                names = [name for name, _ in reply.columns][-len(rest) :][ask.keys :]
                for name, value in zip(names, rest[ask.keys :], strict=True):
                    for part, number in numbers(value):
                        outcome[f"{place}.{at}.{name}{part}"] = number
        return found


def _split(row: Row) -> tuple[object, Row]:
    """The group of a row, and what is beside it. A tag names its group and a key: ``k07-123``."""
    if isinstance(row[0], str) and "-" in row[0]:
        key, _, cell = row[0].rpartition("-")
        return int(cell), (key, *row[1:])
    return row[0], row[1:]


def _asked(connection: psycopg.Connection, ask: Ask, world: int, cell: int) -> Reply:
    cursor: psycopg.Cursor[tuple[object, ...]]
    if ask.way == "copy":
        with connection.cursor().copy(f"COPY ({ask.sql.format(w=world, c=cell)}) TO STDOUT".encode()) as copy:
            rows = [bytes(line).decode().rstrip("\n").split("\t") for line in copy]
        parsed = [tuple(None if text == r"\N" else text for text in row) for row in rows]
        names = [(f"c{place}", 0) for place in range(len(parsed[0]))] if parsed else []
        return Reply(tuple(names), [(int(row[0] or -1), *row[1:]) for row in parsed])
    if ask.way == "simple":
        with psycopg.ClientCursor(connection, row_factory=tuple_row) as cursor:
            cursor.execute(ask.sql.format(w=world, c=cell).encode())
            return _read(cursor)
    with connection.cursor(binary=ask.way == "binary", row_factory=tuple_row) as cursor:
        if ask.way == "prepared":
            cursor.execute(ask.sql.format(w="%s", c="%s").encode(), (world,), prepare=True)
        else:
            cursor.execute(ask.sql.format(w=world, c=cell).encode(), prepare=False, binary=ask.way == "binary")
        return _read(cursor)


def _read(cursor: psycopg.Cursor[tuple[object, ...]]) -> Reply:
    columns = tuple((column.name, column.type_code) for column in cursor.description or ())
    return Reply(columns, cursor.fetchall())


@dataclass(frozen=True, slots=True)
class Asked:
    """All samples of a scenario, and what was charged for one of them."""

    samples: Samples
    claim: ChargedLoss
    alike: bool
    """Every world was charged the same."""


def ask(scenario: Scenario, served: Served, worlds: Worlds, count: int) -> Asked:
    """The outcomes of ``count`` worlds with coins, at most."""
    coins = worlds.coins[scenario.shape]
    last = FIRST + min(count * CELLS // len(scenario.groups), scenario.most_worlds, len(coins) - FIRST)
    outcomes: list[Outcome] = []
    with Client(served, scenario) as client:
        prices = []
        numbers = [worlds.number(scenario.shape, world) for world in range(FIRST, last)]
        for _ in range(1, scenario.days):
            for number in numbers:
                client.outcomes(number)
            clock_beside(served.ledger).wait(DAY)
        for number in numbers:
            before = served.spent()
            outcomes += client.outcomes(number)
            prices.append(served.spent().since(before, CELLS if scenario.one_by_one else 1))
    bits = np.concatenate([one[scenario.groups.start : scenario.groups.stop] for one in coins[FIRST:last]])
    return Asked(samples_of(outcomes, bits), prices[-1], len(set(prices)) == 1)
