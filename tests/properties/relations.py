"""Random relations nested in each other, each of the columns ``pid, k, x, y``: a person's key, a text and two numbers.

Whatever one of them is made of, others are made of it: so joins stand over windows, windows over per-person aggregates,
and these over outer joins. What is believed of a person further inside (one row, one value, no NULL) has to hold there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.properties.world import Table, World

_TEXTS = ("cat", "note", "area")
_NUMBERS = ("small", "big", "tiny", "ratio", "money", "bare")
_TIMES = ("day", "at")
_NUMBERED = ("= 1", "<= 2", "< 2", "BETWEEN 0 AND 1", "BETWEEN SYMMETRIC 60 AND 1", "IN (1, 2)", "= 2")


@dataclass(slots=True)
class Relations:
    """Draws relations over a world of people."""

    random: Random
    world: World
    _aliases: int = 0

    def statement(self) -> str:
        """Aggregates over a relation, by nothing or by something of it."""
        counts = ["COUNT(*)", "COUNT(DISTINCT pid)", "COUNT(x)", "COUNT(*) FILTER (WHERE x > 2)", "COUNT(DISTINCT k)"]
        sums = [
            "SUM(CASE WHEN x > 0 THEN 2 ELSE 1 END)",
            "AVG(CASE WHEN k = 'a' THEN 1 ELSE 3 END)",
            "EXTRACT(EPOCH FROM SUM(INTERVAL '1 hour' * CASE WHEN x > 0 THEN 2 ELSE 1 END)) / 3600",
        ]
        asked = ", ".join(self.random.sample([*counts, *sums], self.random.choice([1, 1, 2, 3])))
        keys = self.random.choice([[], ["k"], ["k"], ["k", "x > 1"], ["CASE WHEN x IS NULL THEN 'n' ELSE 'y' END"]])
        inner = self.relation(self.random.choice([1, 2, 2, 3, 3]))
        by = f" GROUP BY {', '.join(str(place + 1) for place, _ in enumerate(keys))}" if keys else ""
        return f"SELECT {', '.join([*keys, asked])} FROM ({inner}) AS {self._alias()}{by}"

    def relation(self, depth: int) -> str:
        """A SELECT of the four columns, nested so deep at most."""
        if depth == 0:
            return self._table()
        forms: list[tuple[Callable[[int], str], int]] = [
            (self._filtered, 12),
            (self._per_person, 12),
            (self._per_person_and_key, 10),
            (self._joined, 26),
            (self._windowed, 16),
            (self._first_row, 4),
            (self._both, 6),
            (self._public, 8),
            (self._member, 6),
            (self._spanned, 3),
        ]
        return self.random.choices([form for form, _ in forms], [weight for _, weight in forms])[0](depth - 1)

    def _alias(self) -> str:
        self._aliases += 1
        return f"q{self._aliases}"

    # Tables

    def _table(self) -> str:
        name = self.random.choice(["person", "visit", "card", "item", "person with visits"])
        if name == "person with visits":
            more = self.random.choice(["", f" AND {self._number(self.world.table('visit'), 'v')} > 1"])
            text, number = self._text(self.world.table("person"), "p"), self._number(self.world.table("visit"), "v")
            missing = self.random.choice([column.name for column in self.world.table("visit").columns])
            where = self.random.choice(["", "", f" WHERE v.{missing} IS NULL"])
            joined = f"person AS p LEFT JOIN visit AS v ON v.person_id = p.id{more}{where}"
            return f"SELECT p.id AS pid, {text} AS k, {number} AS x, v.vid AS y FROM {joined}"
        table = self.world.table(name)
        text, x, y = self._text(table, "t"), self._number(table, "t"), self._number(table, "t")
        if name == "item":
            joined = "item AS t JOIN visit AS v ON v.vid = t.visit_id"
            return f"SELECT v.person_id AS pid, {text} AS k, {x} AS x, {y} AS y FROM {joined}"
        return f"SELECT t.{'id' if name == 'person' else 'person_id'} AS pid, {text} AS k, {x} AS x, {y} AS y FROM {name} AS t"

    def _text(self, table: Table, alias: str) -> str:
        return self.random.choice([f"{alias}.{c.name}" for c in table.columns if c.kind in _TEXTS] or ["'a'"])

    def _number(self, table: Table, alias: str) -> str:
        numbers = [f"{alias}.{c.name}" for c in table.columns if c.kind in _NUMBERS]
        parts = [f"EXTRACT(MONTH FROM {alias}.{c.name})" for c in table.columns if c.kind in _TIMES]
        return self.random.choice([*numbers, *parts] or ["1"])

    def _condition(self, alias: str) -> str:
        tests = ["{0}.x > 3", "{0}.x IS NULL", "{0}.x IS NOT NULL", "{0}.k = 'a'", "{0}.k IS NULL", "{0}.x <= 2",
                 "{0}.x BETWEEN SYMMETRIC 3 AND 1", "{0}.x IN (1, 2)", "NOT {0}.x > 1", "{0}.k <> 'b'", "{0}.x < {0}.y",
                 "{0}.y IS NULL", "{0}.pid IS NULL", "{0}.pid IS NOT NULL", "1 >= {0}.x"]  # fmt: skip
        return self.random.choice(tests).format(alias)

    # Relations over relations

    def _filtered(self, depth: int) -> str:
        a = self._alias()
        return f"SELECT {a}.pid, {a}.k, {a}.x, {a}.y FROM ({self.relation(depth)}) AS {a} WHERE {self._condition(a)}"

    def _per_person(self, depth: int) -> str:
        x = self.random.choice(["COUNT(x)", "MIN(x)", "MAX(x)", "COUNT(DISTINCT k)"])
        having = self.random.choice(["", " HAVING COUNT(*) > 1"])
        inner = f"({self.relation(depth)}) AS {self._alias()}"
        return f"SELECT pid, MAX(k) AS k, {x} AS x, COUNT(*) AS y FROM {inner} GROUP BY pid{having}"

    def _per_person_and_key(self, depth: int) -> str:
        y = self.random.choice(["COUNT(x)", "MAX(y)", "COUNT(DISTINCT x)"])
        return (
            f"SELECT pid, k, COUNT(*) AS x, {y} AS y FROM ({self.relation(depth)}) AS {self._alias()} GROUP BY pid, k"
        )

    def _joined(self, depth: int) -> str:
        a, b = self._alias(), self._alias()
        more = ["", self._condition(a), self._condition(b), f"{a}.k = {b}.k", f"{a}.x < {b}.x", f"{a}.y = {b}.y"]
        on = " AND ".join([f"{a}.pid = {b}.pid", *(one for one in [self.random.choice(more)] if one)])
        where = self.random.choice(["", "", f" WHERE {self._condition(a)}", f" WHERE {self._condition(b)}"])
        columns = self.random.choice(
            [
                f"{a}.pid, {b}.k, {a}.x, {b}.y",
                f"{b}.pid, {a}.k, {b}.x, {a}.y",
                f"{a}.pid, {a}.k, {b}.x, {b}.y",
                f"{a}.pid, COALESCE({b}.k, 'no') AS k, {a}.x, {b}.y",
                f"{a}.pid, CASE WHEN {b}.pid IS NULL THEN 'n' ELSE 'j' END AS k, {b}.x, {b}.y",
            ]
        )
        join = self.random.choice(["JOIN", "LEFT JOIN", "LEFT JOIN"])
        sides = f"({self.relation(depth)}) AS {a} {join} ({self.relation(depth)}) AS {b}"
        return f"SELECT {columns} FROM {sides} ON {on}{where}"

    def _windowed(self, depth: int) -> str:
        part = self.random.choice(["pid", "pid", "pid", "pid, k", "pid, y"])
        over = f"OVER (PARTITION BY {part} ORDER BY x)"
        text = self.random.choice(
            ["k", f"FIRST_VALUE(k) {over}", f"LAG(k) {over}", f"MAX(k) OVER (PARTITION BY {part})"]
        )
        number = self.random.choice(["ROW_NUMBER()", "ROW_NUMBER()", "RANK()", "COUNT(*)"])
        inner = f"({self.relation(depth)}) AS {self._alias()}"
        windowed = f"SELECT pid, {text} AS k, {number} {over} AS x, y FROM {inner}"
        if self.random.random() < 0.5:
            return windowed
        return f"SELECT pid, k, x, y FROM ({windowed}) AS {self._alias()} WHERE x {self.random.choice(_NUMBERED)}"

    def _first_row(self, depth: int) -> str:
        a = self._alias()
        order = self.random.choice(["x", "y DESC", "k"])
        return f"SELECT DISTINCT ON (pid) pid, k, x, y FROM ({self.relation(depth)}) AS {a} ORDER BY pid, {order}"

    def _both(self, depth: int) -> str:
        one, other = (
            f"SELECT pid, k, CAST(x AS DOUBLE PRECISION) AS x, CAST(y AS DOUBLE PRECISION) AS y"
            f" FROM ({self.relation(depth)}) AS {self._alias()}"
            for _ in range(2)
        )
        return f"{one} UNION ALL {other}"

    def _spanned(self, depth: int) -> str:
        """A column of intervals, and what is computed of it."""
        day = "TIMESTAMP '2024-01-31'"
        spans = f"SELECT pid, k, y, {day} + CAST(x AS INTEGER) * INTERVAL '1 day' - {day} AS w FROM ({self.relation(depth)})"
        test = self.random.choice(["", " WHERE w > INTERVAL '1 day'", " WHERE w IS NOT NULL", " WHERE w < '2 days'"])
        return f"SELECT pid, k, EXTRACT(EPOCH FROM w) / 86400 AS x, y FROM ({spans} AS {self._alias()}) AS {self._alias()}{test}"

    def _public(self, depth: int) -> str:
        a, r = self._alias(), self._alias()
        text = self.random.choice([f"{r}.country", f"{a}.k", f"{r}.one"])
        on = self.random.choice(
            [f"{r}.name = {a}.k", f"{r}.name = {a}.k AND {self._condition(a)}", f"{r}.country = {a}.k", f"{r}.size < 3"]
        )
        public = "(SELECT name, country, size, 'yes' AS one FROM region)"
        sides = f"({self.relation(depth)}) AS {a} {self.random.choice(['JOIN', 'LEFT JOIN'])} {public} AS {r}"
        return f"SELECT {a}.pid, {text} AS k, {a}.x, {r}.size AS y FROM {sides} ON {on}"

    def _member(self, depth: int) -> str:
        a, b = self._alias(), self._alias()
        inner, word = f"({self.relation(depth)}) AS {b}", self.random.choice(["", "NOT "])
        test = self.random.choice([self._condition(b), f"{b}.x > {a}.x", f"{b}.k = {a}.k"])
        member = self.random.choice(
            [
                f"{a}.pid {word}IN (SELECT pid FROM {inner})",
                f"{word}EXISTS (SELECT 1 FROM {inner} WHERE {b}.pid = {a}.pid AND {test})",
                f"({a}.pid, {a}.k) {word}IN (SELECT pid, k FROM {inner})",
                f"({a}.y, {a}.pid) {word}IN (SELECT x, pid FROM {inner} WHERE pid IS NOT NULL)",
            ]
        )
        return f"SELECT {a}.pid, {a}.k, {a}.x, {a}.y FROM ({self.relation(depth)}) AS {a} WHERE {member}"
