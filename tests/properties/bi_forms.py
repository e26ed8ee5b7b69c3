"""Random statements in the forms in which BI tools keep joins from counting twice, over random worlds.

Each is drawn with what it means in plain SQL, for a reader that does not know the form: Looker hashes keys in ways that
DuckDB has no words for, and a LEFT JOIN from rows to their person is an inner one here.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.properties.expressions import NUMERIC
from tests.properties.questions import Question
from tests.properties.sources import Sources
from tests.properties.world import Table, World

FORMS = frozenset({"symmetric sum", "multiplied measure", "top set", "level of detail", "level of person"})
"""What is drawn: Looker's, Cube's, and three of Tableau's."""


def bi_question(random: Random, world: World) -> Question:
    """One random statement of a BI tool, about a table whose rows lead to a person."""
    return _Tool(random, world.tame, set(), world).ask()


def hashed(key: str) -> str:
    """Looker's hash of a key, as a number."""
    return (
        f"('x' || MD5({key} ::varchar))::bit(64)::bigint::DECIMAL(65)  *18446744073709551616 "
        f"+ ('x' || SUBSTR(MD5({key} ::varchar),17))::bit(64)::bigint::DECIMAL(65)"
    )


def symmetric(value: str, key: str) -> str:
    """Looker's sum of a value over the different values of a key."""
    return (
        f"COALESCE(COALESCE(CAST( ( SUM(DISTINCT (CAST(FLOOR(COALESCE({value} ,0)*(1000000*1.0)) AS DECIMAL(65,0))) + "
        f"{hashed(key)} ) - SUM(DISTINCT {hashed(key)}) )  AS DOUBLE PRECISION) "
        "/ CAST((1000000*1.0) AS DOUBLE PRECISION), 0), 0)"
    )


@dataclass(slots=True)
class _Tool(Sources):
    """One statement in the making: ``c`` are rows of people, ``p`` the people."""

    def ask(self) -> Question:
        people, own = self.world.entity or ("", "")
        tables = [t for t in self.world.private if t.parent is not None and t.parent == (people, own)]
        rows = self.random.choice(tables)
        keys = self._keys(self._in_scope(rows.name, "c"), 2)
        values = [f.text for f in self._in_scope(people, "p") if f.kind in NUMERIC and f.bounded]
        forms = [self._top, self._detail, self._person]
        if values:
            forms += [self._symmetric, self._multiplied]
        return self.random.choice(forms)(rows, keys[0], keys[-1], self.random.choice(values or [""]))

    def _symmetric(self, rows: Table, key: str, _other: str, value: str) -> Question:
        self._has("symmetric sum")
        people, own = self.world.entity or ("", "")
        joined = f"{rows.name} AS c {{}} JOIN {people} AS p ON c.{rows.link} = p.{own}"
        sql = (
            f"SELECT {key} AS g0, {symmetric(value, f'p.{own}')} AS a0, COUNT(DISTINCT p.{own} ) AS a1 "
            f"FROM {joined.format('LEFT')} GROUP BY 1"
        )
        once = f"SELECT DISTINCT {key} AS g0, p.{own} AS who, {value} AS w FROM {joined.format('')}"
        truth = f"SELECT g0, SUM(COALESCE(w, 0)) AS a0, COUNT(*) AS a1 FROM ({once}) AS t GROUP BY g0"
        return Question(sql, frozenset(self.features), truth=truth)

    def _multiplied(self, rows: Table, key: str, _other: str, value: str) -> Question:
        self._has("multiplied measure")
        people, own = self.world.entity or ("", "")
        sql = (
            f'SELECT keys."g0" AS g0, SUM({value}) AS a0 FROM (SELECT DISTINCT {key} AS "g0", q.{own} AS "who" FROM '
            f"{rows.name} AS c LEFT JOIN {people} AS q ON c.{rows.link} = q.{own}) AS keys "
            f'LEFT JOIN {people} AS p ON keys."who" = p.{own} GROUP BY 1'
        )
        return Question(sql, frozenset(self.features), truth=sql.replace("LEFT JOIN", "JOIN"))

    def _top(self, rows: Table, key: str, _other: str, _value: str) -> Question:
        self._has("top set")
        numbers = [f for f in self._in_scope(rows.name, "c") if f.kind in NUMERIC and f.bounded]
        what = f"SUM({self.random.choice(numbers).text})" if numbers and self._maybe(0.5) else "COUNT(*)"
        top = f"SELECT {key} AS g0, {what} AS m FROM {rows.name} AS c GROUP BY 1 ORDER BY 2 DESC NULLS LAST LIMIT 2"
        on = f"({key} = t.g0)"
        if self._maybe(0.5):
            on = f"({on} OR (({key} IS NULL) AND (t.g0 IS NULL)))"
        sql = f"SELECT {key} AS g0, COUNT(*) AS a0 FROM {rows.name} AS c INNER JOIN ({top}) AS t ON {on} GROUP BY 1"
        return Question(sql, frozenset(self.features))

    def _detail(self, rows: Table, key: str, other: str, _value: str) -> Question:
        self._has("level of detail")
        level = f"SELECT {key} AS g, COUNT(*) AS m FROM {rows.name} AS c GROUP BY 1 HAVING (COUNT(1) > 0)"
        value = self.random.choice(["COUNT(*) * 1.0 / MIN(t.m)", "COUNT(*) * 1.0 / MAX(t.m)", "COUNT(*) / AVG(t.m)"])
        sql = (
            f"SELECT {key} AS g0, {other} AS g1, {value} AS a0 FROM {rows.name} AS c INNER JOIN ({level}) AS t "
            f"ON ({key} = t.g) GROUP BY 1, 2"
        )
        return Question(sql, frozenset(self.features), truth=sql)

    def _person(self, rows: Table, key: str, _other: str, _value: str) -> Question:
        self._has("level of person")
        level = f"SELECT c.{rows.link} AS who, COUNT(*) AS m FROM {rows.name} AS c GROUP BY 1"
        once = f"SELECT {key} AS g0, c.{rows.link} AS who FROM {rows.name} AS c GROUP BY 1, 2"
        sql = (
            f"SELECT t.g0 AS g0, AVG(u.m) AS a0 FROM ({once}) AS t INNER JOIN ({level}) AS u ON (t.who = u.who) "
            "WHERE u.m BETWEEN 0 AND 60 GROUP BY 1"
        )
        return Question(sql, frozenset(self.features), truth=sql)
