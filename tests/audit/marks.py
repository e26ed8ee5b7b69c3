"""What numbers and answers look like, beside what they tell: lattices, noise that is shared, order, and what never changes.

All of it from outside. A check is a list of findings, which is empty where all is well.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import psycopg

from dpsql.audit.audited_server import Served
from dpsql.audit.lower_bounds import Floats
from tests.audit.scenario import Client, Scenario
from tests.audit.worlds import EMPTY, FIRST, FULL, ONE, Worlds
from tests.foreseen_notices import TOLD_BY_NUMBERS

_NUMBER = r"\d[\d.,]*(e[+-]?\d+)?"
_WIDTH = rf"({_NUMBER}|\?)"
_COLUMN = rf"[^±]+ ± {_WIDTH}( to {_WIDTH})?"
_WIDTHS = re.compile(rf"95 %: {_COLUMN}(, {_COLUMN})*( \(SET dpsql\.intervals = on for columns\))?")
_PROGRESS = re.compile(r"step \d+ of \d+ begins; all of them were paid for before the first")
_PRICE = re.compile(r"at this price, .* released before(: .*)?")
_STEP = re.compile(r"^\s+s\d+\s{2,}(.*?)\s{2,}([0-9.,e+-]+)\s{2,}\S")
_LATTICE = (
    "SELECT cell, COUNT(*) FROM member WHERE world = {w} GROUP BY cell",
    "SELECT cell, SUM(x) FROM member WHERE world = {w} GROUP BY cell",
    "SELECT cell, SUM(n) FROM member WHERE world = {w} GROUP BY cell",
    "SELECT cell, SUM(d) FROM member WHERE world = {w} GROUP BY cell",
    "SELECT cell, SUM(x) FROM event WHERE world = {w} GROUP BY cell",
    "SELECT cell, SUM(d) FROM event WHERE world = {w} GROUP BY cell",
    "SELECT cell, sub, SUM(x) FROM event WHERE world = {w} GROUP BY cell, sub",
    "SELECT cell, sub, SUM(x) FROM event WHERE world = {w} GROUP BY ROLLUP (cell, sub)",
    "SELECT cell, SUM(CASE WHEN sub = 1 THEN x ELSE 0 END) FROM event WHERE world = {w} GROUP BY cell",
)
_NOISE = (
    "SELECT cell, SUM(x), SUM(y) FROM member WHERE world = {w} GROUP BY cell",
    "SELECT cell, SUM(x) AS one, SUM(d) AS other FROM event WHERE world = {w} GROUP BY cell",
    "SELECT cell, COUNT(*) FILTER (WHERE sub = 0), COUNT(*) FILTER (WHERE sub = 1) FROM event WHERE world = {w} GROUP BY cell",
)
_APART = (
    ("reuse", "off"),
    ("consistent", "off"),
    ("digits", "all"),
    ("empty_groups", "show"),
    ("epsilon", "0.000005"),
)
"""Of groups that nobody is in every one is shown, so that there are 200 draws of each column."""
_REFUSED = (
    "SELECT x FROM member WHERE world = {w}",
    "SELECT cell, SUM(1 / (n - 1)) FROM member WHERE world = {w} GROUP BY cell ORDER BY nothing",
    "SELECT cell, STRING_AGG(tag, ',') FROM member WHERE world = {w} GROUP BY cell",
    "SELECT cell, COUNT(*) FROM member WHERE world = {w} AND random() < 0.5 GROUP BY cell",
)


def off_lattice(served: Served, worlds: Worlds, shape: str) -> Iterator[str]:
    """Every released number is a whole number of the steps that EXPLAIN names."""
    world = worlds.number(shape, FIRST)
    for sql in _LATTICE:
        statement = sql.format(w=world)
        with served.connect() as connection:
            connection.execute("SET dpsql.reuse = off")
            connection.execute("SET dpsql.digits = all")
            told = [str(row[0]) for row in connection.execute(f"EXPLAIN {statement}".encode()).fetchall()]
            steps = [step(found[2]) for line in told if (found := _STEP.match(line))]
            if not steps:
                yield f"no step is told: {sql}"
                continue
            for consistent in ("on", "off"):
                connection.execute(f"SET dpsql.consistent = {consistent}".encode())
                for row in connection.execute(statement.encode()).fetchall():
                    number = row[-1]
                    exact = Fraction(number) if isinstance(number, int | float | Decimal) else None
                    if exact is None or (exact / min(steps)).denominator != 1:
                        yield f"{number} is no multiple of {min(steps)}: {sql}"
                        break


def step(text: str) -> Fraction:
    """A step as it was printed, to six digits: a whole number, or one part of powers of 2 and of 10.

    >>> step("0.000488281"), step("0.01"), step("1,024"), step("1.2207e-06")
    (Fraction(1, 2048), Fraction(1, 100), Fraction(1024, 1), Fraction(1, 819200))
    """
    near = Fraction(text.replace(",", ""))
    if near.denominator == 1:
        return near
    candidates = (Fraction(1, 10**tens * 2**twos) for tens in range(13) for twos in range(80))
    for candidate in candidates:
        if abs(candidate - near) <= near / 10**5:
            return candidate
    raise ValueError(f"neither of 2 nor of 10: {text}")


def shared_noise(served: Served, worlds: Worlds, shape: str) -> Iterator[str]:
    """Groups of the same people: no two cells have the same noise, and none follows from another.

    At ε = 5·10⁻⁶ noise is of 8·10⁵ steps at least, so that two of 200 draws are equal in one column of 100, and four pairs
    in one of 10⁹; correlations are compared with 6.5 standard deviations, which happens once in 10¹⁰ times. Of noise
    that is narrow for its δ this says nothing.
    """
    world = worlds.number(shape, EMPTY)
    for sql in _NOISE:
        columns: list[Floats] = []
        for user in ("ana", "ana", "bob"):
            with served.connect(user) as connection:
                for name, value in _APART:
                    connection.execute(f"SET dpsql.{name} = {value}".encode())
                rows = connection.execute(sql.format(w=world).encode()).fetchall()
            table = np.array([[float(number) for number in row[1:]] for row in rows])
            columns += list(table.T)
        yield from (f"{finding}: {sql}" for finding in _shared(columns))


def _shared(columns: Sequence[Floats]) -> Iterator[str]:
    for place, column in enumerate(columns):
        if len(np.unique(column)) < len(column) - 3:
            yield f"column {place} has {len(np.unique(column))} different numbers in {len(column)} groups"
        for lag in (1, 2, 3, 4, 5, 10, 20, 50, 100):
            if _related(column[lag:], column[:-lag]):
                yield f"column {place} follows from itself, {lag} groups before"
    for one, other in itertools.combinations(range(len(columns)), 2):
        if _related(columns[one], columns[other]):
            yield f"columns {one} and {other} have noise in common"
        both = np.concatenate([columns[one], columns[other]])
        if len(np.unique(both)) < len(both) - 6:
            yield f"columns {one} and {other} have equal numbers"


def _related(one: Floats, other: Floats) -> bool:
    """By ranks, which no heavy tail moves."""
    ranks = [np.argsort(np.argsort(values)).astype(np.float64) for values in (one, other)]
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return True
    return bool(abs(np.corrcoef(*ranks)[0, 1]) * np.sqrt(len(one)) > 6.5)


def disorder(served: Served, worlds: Worlds, scenario: Scenario) -> Iterator[str]:
    """Without ORDER BY, rows come in an order that groups alone decide: whatever people there are, and was released."""
    first: dict[int, list[tuple[object, ...]]] = {}
    with Client(served, scenario) as client:
        for world in (EMPTY, ONE, FULL, FIRST):
            replies = client.replies(worlds.number(scenario.shape, world))
            for place, (ask, reply) in enumerate(zip(scenario.asks, replies, strict=True)):
                keys = [tuple(row[: ask.keys + 1]) for row in reply.rows]
                known = first.setdefault(place, keys)
                if scenario.chosen_groups:
                    # Of those that both have.
                    both = set(known) & set(keys)
                    keys, known = [key for key in keys if key in both], [key for key in known if key in both]
                if keys != known:
                    yield f"rows of one world are in another order: {ask.sql}"


def twins(served: Served, worlds: Worlds, scenario: Scenario, *, selected: bool) -> Iterator[str]:
    """All but the measured numbers is the same with nobody, with one target and with all: columns, groups, notices,
    errors and prices. Groups that are ``selected`` may differ.
    """
    told: list[tuple[object, ...]] = []
    with Client(served, scenario) as client:
        for world in (EMPTY, ONE, FULL):
            number = worlds.number(scenario.shape, world)
            before = served.spent()
            said: list[object] = []
            handlers = []
            for connection in client.connections.values():
                connection.execute("SET dpsql.notices = on")
                handler = _hearing(said, str(number), learned=scenario.ledger == "learned")
                connection.add_notice_handler(handler)
                handlers.append((connection, handler))
            for ask in scenario.asks:
                reply = client.reply(ask, number, 100)
                keys = [] if selected else [row[: ask.keys + 1] for row in reply.rows]
                said.append((reply.columns, reply.error, keys))
            for connection, handler in handlers:
                connection.remove_notice_handler(handler)
            after = served.spent()
            price = (after.epsilon - before.epsilon, after.rho - before.rho, after.delta - before.delta)
            told.append((*said, price))
    for world, other in zip((ONE, FULL), told[1:], strict=True):
        for one, another in zip(told[0], other, strict=False):
            if one != another:
                yield f"world {world} is told from the empty one: {str(one)[:200]} / {str(another)[:200]}"
        if len(told[0]) != len(other):
            yield f"world {world} is told from the empty one by the number of notices"


def _hearing(said: list[object], number: str, *, learned: bool):  # type: ignore[no-untyped-def]
    """What is said, but for what follows from released numbers: what is left of the budget, numbers that were released
    first, a range that was bought, widths of error bars, whether they tell anything, how far numbers are cut off at 0, and until when a watch is free.
    That nothing else decides these is seen where released numbers are held still (:mod:`tests.properties.replayed_wire`).
    Which step begins is told after so many seconds."""
    dropped = r"Left: .*|^watch .*|(?<=was released first, as )[^;]*"
    if learned:
        dropped += r"|(?<=is taken to be in )\[[^]]*\]|(?<=is clipped into )\[[^]]*\]"

    def hear(diagnostic: psycopg.errors.Diagnostic) -> None:
        heard = re.sub(dropped, "", str(diagnostic.message_primary).replace(number, "W"))
        if not (TOLD_BY_NUMBERS.search(heard) or any(form.fullmatch(heard) for form in (_PROGRESS, _WIDTHS, _PRICE))):
            said.append(heard)

    return hear


def refusals(served: Served, worlds: Worlds, shape: str) -> Iterator[str]:
    """What is refused is refused alike."""
    for sql in _REFUSED:
        told = set()
        for world in (EMPTY, ONE, FULL):
            number = str(worlds.number(shape, world))
            with served.connect() as connection:
                try:
                    connection.execute(sql.format(w=number).encode())
                    told.add("answered")
                except psycopg.Error as error:
                    said = (error.sqlstate, error.diag.message_primary, error.diag.message_hint)
                    told.add(str(said).replace(number, "W"))
        if len(told) > 1 or "answered" in told:
            yield f"{sql}: {told}"
