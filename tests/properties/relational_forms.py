"""More random relations of ``pid, k, x, y``: tied by other ways to the person, by set operations and FULL JOIN, grouped
by what a statement says to be one person's, in RANGE frames with a distance, and beside public groups.

The world's tables have two columns more, by which rows lead to a person a second time: ``item.who`` to ``person.id`` and
``card.visit_no`` to ``visit.vid``. Most lead to the right one. Some lead to another person, to nobody or nowhere, which
no policy that was opened has, and which must not matter for what one person can move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from rewriter.declared.catalog import Catalog, Hop
from tests.properties.columns import Column
from tests.properties.relations import Relations
from tests.properties.world import Row, World


def with_ways(random: Random, world: World, *, right: bool = False) -> World:
    """The world with the two columns; ``right``: they lead to the person of the row, or nowhere."""
    people = world.table("person")
    owners = {row[world.table("visit").position("vid")]: row[1] for row in world.rows["visit"]}
    known = [row[0] for row in world.rows["person"]]

    def who(row: Row) -> object:
        own = owners.get(row[1])
        return own if right or random.random() < 0.7 else random.choice([*known, None])

    def visit_no(row: Row) -> object:
        own = [number for number, owner in owners.items() if owner == row[1]]
        if own and (right or random.random() < 0.7):
            return random.choice(own)
        return None if right else random.choice([*owners, None, 99_999])

    added: dict[str, tuple[Column, Callable[[Row], object]]] = {
        "item": (Column("who", "key", people.columns[0].type), who),
        "card": (Column("visit_no", "link", "INTEGER"), visit_no),
    }
    tables, rows = [], dict(world.rows)
    for table in world.tables:
        if table.name in added:
            column, value = added[table.name]
            table = replace(table, columns=(*table.columns, column))
            rows[table.name] = [(*row, value(row)) for row in world.rows[table.name]]
        tables.append(table)
    return replace(world, tables=tuple(tables), rows=rows)


def with_hops(catalog: Catalog) -> Catalog:
    """The catalog with the second ways, as a policy has them whose rows agree."""
    ways = {"item": (Hop("who", "person", "id"),), "card": (Hop("visit_no", "visit", "vid"),)}
    tables = {name: replace(table, ways=ways.get(name, ())) for name, table in catalog.tables.items()}
    return replace(catalog, tables=tables)


@dataclass(slots=True)
class RelationalForms(Relations):
    """Draws relations of all forms over a world with second ways."""

    def statement(self) -> str:
        """Now and then over groups by a key that is one person's where it is not missing."""
        if self.random.random() < 0.9:
            return Relations.statement(self)
        having = self.random.choice(["", " HAVING COUNT(*) > 1", " HAVING MAX(x) > 1"])
        groups = f"SELECT y, COUNT(*) AS n, MAX(x) AS m FROM ({self._table()}) AS {self._alias()} GROUP BY y{having}"
        asked = self.random.choice(["COUNT(*)", "COUNT(*), SUM(CASE WHEN n > 1 THEN 2 ELSE 1 END)", "n, COUNT(m)"])
        by = " GROUP BY n" if asked.startswith("n,") else ""
        return f"SELECT {asked} FROM ({groups}) AS {self._alias()}{by}"

    def relation(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.4:
            return Relations.relation(self, depth)
        forms: list[Callable[[int], str]] = [
            self._compared,
            self._compared,
            self._all_of_both,
            self._said,
            self._near,
            self._different,
            self._beside_groups,
            self._above_scalar,
            self._self_join,
            self._above_answer,
            self._beside_answer,
            self._looked_up,
            self._in_series,
            self._beside_own_figures,
        ]
        return self.random.choice(forms)(depth - 1)

    def _table(self) -> str:
        item, card, visit = (self.world.table(name) for name in ("item", "card", "visit"))
        k, x, grouped = self._text(card, "c"), self._number(card, "c"), self._text(visit, "v")
        made = [
            f"SELECT t.who AS pid, {self._text(item, 't')} AS k, {self._number(item, 't')} AS x, t.visit_id AS y FROM item AS t",
            f"SELECT v.person_id AS pid, {k} AS k, {x} AS x, v.vid AS y FROM card AS c JOIN visit AS v ON c.visit_no = v.vid",
            f"SELECT c.person_id AS pid, {k} AS k, {x} AS x, t.visit_id AS y FROM card AS c"
            f" LEFT JOIN item AS t ON c.visit_no = t.visit_id",
            f"SELECT t.who AS pid, {k} AS k, {x} AS x, c.visit_no AS y FROM item AS t JOIN card AS c ON c.visit_no = t.visit_id",
            f"SELECT COALESCE(c.person_id, v.person_id) AS pid, {k} AS k, {x} AS x, v.vid AS y FROM card AS c"
            f" FULL JOIN visit AS v ON c.{self.random.choice(['person_id = v.person_id', 'visit_no = v.vid'])}",
            f"SELECT p.id AS pid, g.k, g.x, g.y FROM person AS p LEFT JOIN (SELECT MAX(v.person_id) AS pid, {grouped} AS k,"
            f" COUNT(*) AS x, COUNT(DISTINCT v.vid) AS y FROM visit AS v GROUP BY {grouped}) AS g ON g.pid = p.id",
            "SELECT person_id AS pid, 'a' AS k, COUNT(*) OVER (PARTITION BY visit_no ORDER BY person_id) AS x, visit_no AS y"
            " FROM card",
            "SELECT MIN(a.person_id) AS pid, 'b' AS k, COUNT(*) AS x, a.vid AS y FROM visit AS a JOIN visit AS b"
            " ON a.vid = b.vid GROUP BY a.vid",
        ]
        return self.random.choice(made) if self.random.random() < 0.7 else Relations._table(self)

    def _compared(self, depth: int) -> str:
        sides = [
            f"SELECT pid, k, CAST(x AS DOUBLE PRECISION) AS x, CAST(y AS DOUBLE PRECISION) AS y"
            f" FROM ({self.relation(depth)}) AS {self._alias()} WHERE pid IS NOT NULL"
            for _ in range(2)
        ]
        return f" {self.random.choice(['UNION', 'INTERSECT', 'EXCEPT'])} ".join(sides)

    def _all_of_both(self, depth: int) -> str:
        a, b = self._alias(), self._alias()
        more = self.random.choice(["", "", f" AND {a}.k = {b}.k", f" AND {a}.x < {b}.x", f" AND {self._condition(b)}"])
        where = self.random.choice(["", "", f" WHERE {self._condition(a)}", f" WHERE {self._condition(b)}"])
        sides = f"({self.relation(depth)}) AS {a} FULL JOIN ({self.relation(depth)}) AS {b}"
        if not more:
            return f"SELECT pid, {a}.k, {b}.x, {a}.y FROM {sides} USING (pid){where}"
        on = f"{a}.pid = {b}.pid{more}"
        return f"SELECT COALESCE({a}.pid, {b}.pid) AS pid, {a}.k, {b}.x, {a}.y FROM {sides} ON {on}{where}"

    def _said(self, depth: int) -> str:
        a, b = self._alias(), self._alias()
        inner = f"({self.relation(depth)}) AS {self._alias()}"
        groups = f"SELECT MAX(pid) AS pid, k, COUNT(*) AS x, MAX(y) AS y FROM {inner} WHERE pid IS NOT NULL GROUP BY k"
        joined = f"({self.relation(depth)}) AS {a} LEFT JOIN ({groups}) AS {b} ON {a}.pid = {b}.pid"
        return f"SELECT {a}.pid, {b}.k, {a}.x, {b}.y FROM {joined}"

    def _near(self, depth: int) -> str:
        frame = self.random.choice(
            ["2 PRECEDING AND CURRENT ROW", "1 PRECEDING AND 1 FOLLOWING", "UNBOUNDED PRECEDING AND 3 FOLLOWING"]
        )
        over = f"OVER (PARTITION BY pid ORDER BY n {self.random.choice(['', 'DESC '])}RANGE BETWEEN {frame})"
        inner = f"SELECT pid, k, COUNT(x) AS n, COUNT(*) AS m FROM ({self.relation(depth)}) AS {self._alias()} GROUP BY pid, k"
        return f"SELECT pid, k, COUNT(*) {over} AS x, SUM(m) {over} AS y FROM ({inner}) AS {self._alias()}"

    def _different(self, depth: int) -> str:
        inner = f"SELECT pid, k, COUNT(*) AS n FROM ({self.relation(depth)}) AS {self._alias()} GROUP BY pid, k"
        return f"SELECT pid, MIN(k) AS k, SUM(DISTINCT n) AS x, AVG(DISTINCT n) AS y FROM ({inner}) AS {self._alias()} GROUP BY pid"

    def _in_series(self, depth: int) -> str:
        """Each row as often as numbers, or times, lie between two values of it."""
        inner = f"SELECT pid, k, COUNT(*) AS n, COUNT(x) AS m FROM ({self.relation(depth)}) AS {self._alias()} GROUP BY pid, k"
        a, g = self._alias(), self._alias()
        day = "DATE '2024-01-01'"
        series = self.random.choice(["0, n", "m, n, 2", "-1, CAST(LEAST(m, 2) AS INT)", "n, m"])
        times = f"{day}, {day} + CAST(LEAST(n, 5) AS INT), INTERVAL '{self.random.choice(['1 day', '36 hours'])}'"
        made = [
            f"SELECT pid, k, generate_series({series}) AS x, n AS y FROM ({inner}) AS {a}",
            f"SELECT pid, k, {g}.v AS x, m AS y FROM ({inner}) AS {a} CROSS JOIN LATERAL generate_series({series}) AS {g}(v)",
            f"SELECT pid, k, EXTRACT(DAY FROM d) AS x, m AS y FROM (SELECT pid, k, m, {g}.d FROM ({inner}) AS {a},"
            f" generate_series({times}) AS {g}(d)) AS {self._alias()}",
        ]
        return self.random.choice(made)

    def _beside_groups(self, depth: int) -> str:
        a, r = self._alias(), self._alias()
        groups = self.random.choice(
            [
                "SELECT DISTINCT country AS c, 1 AS n FROM region",
                "SELECT country AS c, COUNT(*) AS n FROM region GROUP BY country HAVING COUNT(*) > 0",
                "SELECT name AS c, size AS n FROM region UNION SELECT label AS c, low AS n FROM code",
                "SELECT MIN(label) AS c, MAX(low) AS n FROM code",
                "SELECT DISTINCT q.name AS c, q.size AS n FROM region AS q JOIN code AS z ON z.low = q.size",
            ]
        )
        join = self.random.choice(["JOIN", "LEFT JOIN"])
        return f"SELECT {a}.pid, {a}.k, {a}.x, {r}.n AS y FROM ({self.relation(depth)}) AS {a} {join} ({groups}) AS {r} ON {r}.c = {a}.k"

    def _above_scalar(self, depth: int) -> str:
        a = self._alias()
        scalar = self.random.choice(
            [
                "(SELECT MAX(size) FROM region)",
                "(SELECT low FROM code)",
                "(SELECT DISTINCT low + 1 FROM code WHERE low < 2)",
            ]
        )
        return (
            f"SELECT {a}.pid, {a}.k, {a}.x, {scalar} AS y FROM ({self.relation(depth)}) AS {a} WHERE {a}.x <= {scalar}"
        )

    def _self_join(self, depth: int) -> str:
        a, b, inner = self._alias(), self._alias(), self.relation(depth)
        return f"SELECT {a}.pid, {b}.k, {a}.x, {b}.y FROM ({inner}) AS {a} JOIN ({inner}) AS {b} ON {a}.pid = {b}.pid AND {a}.y = {b}.y"

    def _above_answer(self, depth: int) -> str:
        """Compared with a number that everybody's rows make, which is released first."""
        a, b = self._alias(), self._alias()
        number = f"(SELECT AVG({b}.x) FROM ({self.relation(depth)}) AS {b} WHERE {b}.x BETWEEN 0 AND 9)"
        if self.random.random() < 0.3:
            far = f"CAST(ABS({a}.x - {number}) AS INT)"
            return f"SELECT {a}.pid, {a}.k, {far} AS x, {a}.y FROM ({self.relation(depth)}) AS {a}"
        return f"SELECT {a}.pid, {a}.k, {a}.x, {a}.y FROM ({self.relation(depth)}) AS {a} WHERE {a}.x > {number}"

    def _beside_answer(self, depth: int) -> str:
        """Joined with groups that are released first: by their key, and by an inequality, with many of them."""
        a, b, g = self._alias(), self._alias(), self._alias()
        groups = self._repeated(f"SELECT {b}.k AS c, COUNT(*) AS n FROM ({self.relation(depth)}) AS {b} GROUP BY {b}.k")
        on = self.random.choice([f"{g}.c = {a}.k", f"{g}.c = {a}.k AND {g}.n > {a}.x", f"{g}.n > {a}.x"])
        join = self.random.choice(["JOIN", "LEFT JOIN"])
        return f"SELECT {a}.pid, {a}.k, {a}.x, {g}.n AS y FROM ({self.relation(depth)}) AS {a} {join} ({groups}) AS {g} ON {on}"

    def _repeated(self, groups: str) -> str:
        """Released groups as they are, or one number, or as often as public rows beside them say."""
        z, one = self._alias(), f"SELECT 'a' AS c, SUM(n) AS n FROM ({groups}) AS {self._alias()}"
        return self.random.choice(
            [
                groups,
                groups,
                one,
                f"SELECT {z}.c, {z}.n FROM ({one}) AS {z}",
                f"SELECT {z}.c, {z}.n FROM ({one}) AS {z}, generate_series(1, 9) AS {self._alias()}(i)",
                f"SELECT q.name AS c, {z}.n FROM ({one}) AS {z} CROSS JOIN region AS q",
                f"SELECT {z}.c, {z}.n FROM ({groups}) AS {z}, (VALUES (1), (2), (3)) AS {self._alias()}(i)",
                f"SELECT {z}.c, {z}.n FROM ({groups}) AS {z} UNION ALL SELECT q.name AS c, q.size AS n FROM region AS q",
                f"SELECT c, SUM(n) AS n, generate_series(1, 5) AS i FROM ({groups}) AS {z} GROUP BY c",
                f"SELECT c, n FROM ({one}) AS {z} JOIN region AS q ON TRUE ORDER BY n LIMIT 4",
            ]
        )

    def _looked_up(self, depth: int) -> str:
        """A value of other rows, looked up for each: of the person's own, or of everybody's with the same key."""
        a, b = self._alias(), self._alias()
        inner = f"({self.relation(depth)}) AS {b}"
        tie = self.random.choice([f"{b}.pid = {a}.pid", f"{b}.pid = {a}.pid", f"{b}.k = {a}.k"])
        value = self.random.choice(["COUNT(*)", f"AVG({b}.x)", f"MAX({b}.x)"]) if "pid" in tie else "COUNT(*)"
        looked = f"(SELECT {value} FROM {inner} WHERE {tie} AND {b}.x BETWEEN 0 AND 9)"
        return f"SELECT {a}.pid, {a}.k, {a}.x, {a}.y FROM ({self.relation(depth)}) AS {a} WHERE {a}.x >= {looked}"

    def _beside_own_figures(self, depth: int) -> str:
        """Rows above, at or below what their own person's rows make, which is in no declared range."""
        a, b, inner = self._alias(), self._alias(), self.relation(depth)
        figure = self.random.choice(["AVG(x)", "SUM(x)", "MAX(x)", "SUM(DISTINCT x)", "AVG(x) FILTER (WHERE y > 1)"])
        sign = self.random.choice([">", ">=", "=", "<=", "<>"])
        groups = f"SELECT pid, {figure} AS m FROM ({inner}) AS {self._alias()} GROUP BY pid"
        joined = f"({inner}) AS {a} JOIN ({groups}) AS {b} ON {b}.pid = {a}.pid"
        over = f"{self.random.choice(['AVG(x)', 'SUM(x)'])} OVER (PARTITION BY pid)"
        made = [
            f"SELECT {a}.pid, {a}.k, {a}.x, {a}.y FROM {joined} WHERE {a}.x {sign} {b}.m",
            f"SELECT {a}.pid, {a}.k, SIGN({a}.x - {b}.m) AS x, {a}.y FROM {joined}",
            f"SELECT pid, k, x, y FROM (SELECT pid, k, x, y, {over} AS m FROM ({inner}) AS {a}) AS {b} WHERE x {sign} m",
        ]
        return self.random.choice(made)
