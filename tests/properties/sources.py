"""Random FROM and WHERE clauses: joins, subqueries, unions and memberships that a world allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tests.properties.expressions import TEXTS, Expressions, Field
from tests.properties.person_windows import call, first_rows, ordering
from tests.properties.world import Table, World


@dataclass(frozen=True, slots=True)
class From:
    """A FROM clause (with what comes before it), its fields, and the conditions that it needs."""

    text: str
    fields: tuple[Field, ...]
    needs: str = ""
    before: str = ""


def _fields(table: Table, alias: str, unit: str | None) -> tuple[Field, ...]:
    return tuple(
        Field(
            f"{alias}.{c.name}",
            c.kind,
            c.listed,
            c.span,
            unit=c.name == unit,
            private=not table.public,
        )
        for c in table.columns
    )


@dataclass(slots=True)
class Sources(Expressions):
    """Draws what a query reads from."""

    world: World

    # FROM

    def _from(self, *, plain: bool = False, simple: bool = False) -> From:
        choices: list[tuple[Callable[[], From], int]] = [(self._single, 25)]
        if self.world.entity is not None:
            choices += [
                (self._parent_join, 14),
                (self._left_join, 10),
                (self._same_unit, 6),
                (self._chain, 6),
                (self._entity_twice, 3),
                (self._optional_unit, 4),
            ]
        if not simple:
            choices += [(self._public_join, 14)]
        if not plain and not simple:
            choices += [(self._subquery, 8), (self._cte, 6), (self._union, 6 if self.world.entity else 14)]
            choices += [(self._windows, 10 if self.world.entity else 0)]
        return self.random.choices([c for c, _ in choices], [w for _, w in choices])[0]()

    def _unit_column(self, table: Table) -> str | None:
        if self.world.entity is None:
            return None
        if table.name == self.world.entity[0]:
            return self.world.entity[1]
        return table.link if table.parent is not None and table.parent[0] == self.world.entity[0] else None

    def _in_scope(self, name: str, alias: str) -> tuple[Field, ...]:
        table = self.world.table(name)
        return _fields(table, alias, self._unit_column(table))

    def _any(self) -> Table:
        return self.random.choice(self.world.private)

    def _single(self) -> From:
        table = self._any()
        if table.parent is not None:
            self._has("missing middle table" if table.name == "item" else "one hop")
        return From(f"{table.name} AS p", self._in_scope(table.name, "p"))

    def _parent_join(self) -> From:
        child, parent = self.random.choice([("visit", "person"), ("item", "visit"), ("card", "person")])
        self._has("join along a foreign key")
        link, key = self.world.table(child).link, self.world.table(parent).columns[0].name
        fields = (*self._in_scope(child, "c"), *self._in_scope(parent, "p"))
        condition = f"c.{link} = p.{key}"
        style = self.random.choice(["on", "reversed", "comma"])
        if style == "comma":
            return From(f"{child} AS c, {parent} AS p", fields, needs=condition)
        if style == "reversed":
            return From(f"{parent} AS p JOIN {child} AS c ON p.{key} = c.{link}", fields)
        more = f" AND {self._condition(fields)}" if self._maybe(0.3) else ""
        return From(f"{child} AS c INNER JOIN {parent} AS p ON {condition}{more}", fields)

    def _left_join(self) -> From:
        self._has("left join of private tables")
        child = self.random.choice(["visit", "card"])
        link = self.world.table(child).link
        person, other = self._in_scope("person", "p"), self._in_scope(child, "c")
        more = f" AND {self._condition(other)}" if self._maybe(0.5) else ""
        fields = (*person, *other)
        needs = ""
        if self._maybe(0.4):
            # Rows without a match are one for each person; rows with any are not.
            word = self.random.choice(["IS NULL", "IS NULL", "IS NOT NULL"])
            self._has(f"left join where nothing {word.lower()}")
            needs = f"{self.random.choice([f'c.{link}', *(field.text for field in other)])} {word}"
        return From(f"person AS p LEFT JOIN {child} AS c ON c.{link} = p.id{more}", fields, needs=needs)

    def _same_unit(self) -> From:
        """Two tables, neither of them the other's parent, tied by the unit."""
        self._has("join of siblings")
        one, other = self.random.choice([("visit", "card"), ("card", "visit"), ("visit", "visit")])
        fields = (*self._in_scope(one, "c"), *self._in_scope(other, "d"))
        kind = self.random.choice(["JOIN", "LEFT JOIN"])
        return From(f"{one} AS c {kind} {other} AS d ON c.person_id = d.person_id", fields)

    def _chain(self) -> From:
        self._has("chain of joins")
        fields = (*self._in_scope("item", "i"), *self._in_scope("visit", "v"), *self._in_scope("person", "p"))
        joins = "item AS i JOIN visit AS v ON i.visit_id = v.vid"
        return From(f"{joins} {self.random.choice(['JOIN', 'LEFT JOIN'])} person AS p ON p.id = v.person_id", fields)

    def _entity_twice(self) -> From:
        self._has("self-join on the unit")
        fields = (*self._in_scope("person", "p"), *self._in_scope("person", "q"))
        return From("person AS p JOIN person AS q ON p.id = q.id", fields)

    def _optional_unit(self) -> From:
        """An outer join in which the unit of the other side is there for some rows of a person only."""
        self._has("unit of an outer join")
        fields = (*self._in_scope("visit", "c"), *self._in_scope("card", "d"))
        test = self._condition(fields)
        return From(f"visit AS c LEFT JOIN card AS d ON d.person_id = c.person_id AND {test}", fields)

    def _two_publics(self, base: From) -> From:
        """Two public tables, tied to each other or to people in ways that multiply rows."""
        self._has("two public tables")
        regions = (*self._in_scope("region", "r"), *self._in_scope("region", "s"))
        texts = [f.text for f in base.fields if f.kind in ("area", "cat", "note")] or ["'north'"]
        text = self.random.choice(texts)
        joins = self.random.choice(
            [
                "CROSS JOIN region AS r JOIN region AS s ON r.name = s.name",
                "CROSS JOIN region AS r JOIN region AS s ON r.country = s.country",
                f"CROSS JOIN region AS s LEFT JOIN region AS r ON r.name = s.name AND r.name = {text}",
                f"LEFT JOIN region AS r ON r.name = {text} JOIN region AS s ON s.name = r.name",
                f"JOIN region AS r ON r.name = {text} CROSS JOIN region AS s",
                f"LEFT JOIN region AS r ON r.name = {text} AND r.size > 1 LEFT JOIN region AS s ON s.name = {text}",
            ]
        )
        return replace(base, text=f"{_as_one(base)} {joins}", fields=(*base.fields, *regions))

    def _public_join(self) -> From:
        base = self.random.choice([self._single, self._parent_join] if self.world.entity else [self._single])()
        public = self._in_scope("region", "r") if self._maybe(0.7) else self._in_scope("code", "r")
        table = "region" if public[0].text == "r.name" else "code"
        texts = [f for f in base.fields if f.kind in ("area", "cat", "note")]
        numbers = [f for f in base.fields if f.kind in ("small", "tiny", "bare")]
        fields = (*base.fields, *public)
        if table == "region" and texts and self._maybe(0.7):
            kind = self.random.choice(["JOIN", "LEFT JOIN"])
            self._has("public join", f"public {kind.lower()}")
            text = self.random.choice(texts).text
            return replace(base, text=f"{_as_one(base)} {kind} region AS r ON r.name = {text}", fields=fields)
        if table == "code" and numbers and self._maybe(0.7):
            self._has("public join", "public range join")
            number = self.random.choice(numbers).text
            test = self.random.choice([f"r.low <= {number}", f"r.low = {number}"])
            return replace(base, text=f"{_as_one(base)} JOIN code AS r ON {test}", fields=fields)
        if self._maybe(0.5):
            return self._two_publics(base)
        self._has("public join", "public cross join")
        return replace(base, text=f"{base.text} CROSS JOIN {table} AS r", fields=fields)

    def _subquery(self) -> From:
        self._has("subquery")
        body, fields = self._projection()
        return From(f"({body}) AS t", fields)

    def _cte(self) -> From:
        self._has("cte")
        body, fields = self._projection()
        return From("w AS t", fields, before=f"WITH w AS ({body}) ")

    def _projection(self, columns: Sequence[str] = ()) -> tuple[str, tuple[Field, ...]]:
        source = self._from(plain=True)
        chosen = self.random.sample(source.fields, min(len(source.fields), self.random.randint(2, 6)))
        items, fields = [], []
        for number, found in enumerate(chosen):
            items.append(f"{found.text} AS x{number}")
            fields.append(replace(found, text=f"t.x{number}"))
        if (made := self._number(source.fields, 1)) is not None:
            items.append(f"{made} AS made")
            fields.append(Field("t.made", "money", span=(0, 1)))
        return f"SELECT {', '.join(items)} FROM {source.text}{self._where(source)}", tuple(fields)

    def _windows(self) -> From:
        """Windows over the rows of one person each; perhaps few rows of each person are kept."""
        source = self._from(plain=True)
        units = [f for f in source.fields if f.unit]
        if not units:
            return source
        shape, test = first_rows(self.random)
        self._has("window of a person", f"window of a person: {shape}")
        unit = units[0]
        others = [f for f in source.fields if f.kind not in ("key", "link") and f is not unit]
        chosen = self.random.sample(others, min(len(others), self.random.randint(1, 4)))
        order = ordering(self.random, chosen, complete=self.tame)
        partition = f"PARTITION BY {unit.text}"
        if others and self._maybe(0.2):
            partition = f"PARTITION BY {self.random.choice(chosen).text}, {unit.text}"
            self._has("window of a person and a key")
        items, fields = [f"{unit.text} AS who"], [Field("t.who", "key", unit=True)]
        for number, found in enumerate(chosen):
            items.append(f"{found.text} AS x{number}")
            fields.append(replace(found, text=f"t.x{number}"))
        test_of_count = self._condition(chosen)
        for number in range(self.random.choice([1, 1, 2, 3])):
            # Two orders in one SELECT break ties in ways of their own.
            own = order if self.tame or self._maybe(0.7) else ordering(self.random, chosen, complete=False)
            text, frame, found = call(self.random, chosen, own, test_of_count, tame=self.tame)
            items.append(f"{text} OVER ({partition} {own} {frame}) AS w{number}")
            fields.append(replace(found, text=f"t.w{number}", unit=False))
        numbering = f"ROW_NUMBER() OVER ({partition} {order}) AS n"
        body = f"FROM {source.text}{self._where(source)}"
        if shape == "distinct on":
            # Which row of a person is the first follows from the order alone.
            rest = order.removeprefix("ORDER BY ")
            order = f"ORDER BY {unit.text}" + (f", {rest}" if rest else "")
            return From(f"(SELECT DISTINCT ON ({unit.text}) {', '.join(items)} {body} {order}) AS t", tuple(fields))
        if shape == "plain":
            return From(f"(SELECT {', '.join(items)} {body}) AS t", tuple(fields))
        qualify = f" QUALIFY {test}" if shape == "qualify" else ""
        needs = "" if qualify else test.replace("n", "t.n", 1) if not test.startswith("3") else "3 >= t.n"
        return From(f"(SELECT {', '.join([*items, numbering])} {body}{qualify}) AS t", tuple(fields), needs=needs)

    def _union(self) -> From:
        self._has("union all")
        sides = [self._single(), self._single()]
        kinds = [{f.kind for f in side.fields if f.kind not in ("key", "link")} for side in sides]
        common = sorted(kinds[0] & kinds[1])
        if not common:
            return sides[0]
        texts, fields = [], []
        for side in sides:
            where = self._where(side)
            columns = [next(f for f in side.fields if f.kind == kind) for kind in common]
            items = ", ".join(f"{f.text} AS {kind}_" for f, kind in zip(columns, common, strict=True))
            texts.append(f"SELECT {items} FROM {side.text}{where}")
        for kind in common:
            both = [next(f for f in side.fields if f.kind == kind) for side in sides]
            listed = both[0].listed if None not in (both[0].listed, both[1].listed) else None
            span = both[0].span if None not in (both[0].span, both[1].span) else None
            fields.append(Field(f"t.{kind}_", kind, listed, span))
        return From(f"({' UNION ALL '.join(texts)}) AS t", tuple(fields))

    # Conditions

    def _where(self, source: From) -> str:
        tests = [source.needs] if source.needs else []
        for _ in range(self.random.choice([0, 0, 1, 1, 2])):
            tests.append(self._condition(source.fields))
        if not source.text.startswith("(") and self._maybe(0.16) and (test := self._membership(source)):
            tests.append(test)
        if tests and len(tests) > (1 if source.needs else 0):
            self._has("where")
        return f" WHERE {' AND '.join(tests)}" if tests else ""

    def _by_key(self, source: From, word: str) -> str:
        """IN and EXISTS over a visit's key, whose owner is one person where it is unique, and refused where it is not."""
        outer = "p.vid" if source.text == "visit AS p" else "p.visit_id"
        inner, key = ("item", "visit_id") if outer == "p.vid" or self._maybe(0.5) else ("visit", "vid")
        fields = self._in_scope(inner, "z")
        test = self._condition(fields)
        self._has("membership by a key")
        if key == "vid" and self._maybe(0.5):
            return f"{outer} {word}IN (SELECT z.{key} FROM {inner} AS z WHERE {test})"
        if tie := self._tie(source.fields, fields):
            test = f"{test} AND {tie}"
        return f"{word}EXISTS (SELECT * FROM {inner} AS z WHERE {outer} = z.{key} AND {test})"

    def _tie(self, outer: Sequence[Field], inner: Sequence[Field]) -> str:
        """A comparison of the outer row with the subquery's."""
        pairs = [(a, b) for a in outer for b in inner if a.kind == b.kind and a.kind not in ("key", "link", "flag")]
        if not pairs:
            return ""
        one, other = self.random.choice(pairs)
        return f"{one.text} {self.random.choice(['<', '<>', '='])} {other.text}"

    def _membership(self, source: From) -> str:
        """IN and EXISTS of a relation with the same unit, or of a public one."""
        units = [f for f in source.fields if f.unit]
        word = self.random.choice(["", "NOT "])
        if source.text in ("visit AS p", "item AS p") and self._maybe(0.4):
            return self._by_key(source, word)
        if self.world.entity is not None and units and self._maybe(0.7):
            unit = self.random.choice(units).text
            inner = self.random.choice(["visit", "card"])
            fields = self._in_scope(inner, "z")
            test = self._condition(fields)
            if self._maybe(0.25):
                self._has(f"{word.lower()}in an outer join".strip())
                test = self.random.choice([test, "TRUE", "TRUE"])
                return (
                    f"{unit} {word}IN (SELECT z.person_id FROM person AS y LEFT JOIN {inner} AS z "
                    f"ON z.person_id = y.id AND {test} WHERE {self._condition(self._in_scope('person', 'y'))})"
                )
            if self._maybe(0.5):
                self._has(f"{word.lower()}in private".strip())
                return f"{unit} {word}IN (SELECT z.person_id FROM {inner} AS z WHERE {test})"
            self._has(f"{word.lower()}exists private".strip())
            if self._maybe(0.4) and (tie := self._tie(source.fields, fields)):
                self._has("exists that compares rows")
                test = f"{tie} AND {test}"
            return f"{word}EXISTS (SELECT 1 FROM {inner} AS z WHERE z.person_id = {unit} AND {test})"
        texts = [f for f in source.fields if f.kind in TEXTS]
        if not texts:
            return ""
        text = self.random.choice(texts).text
        if self._maybe(0.5):
            self._has("in public")
            return f"{text} {word}IN (SELECT q.name FROM region AS q WHERE q.size > 1)"
        self._has("exists public")
        return f"{word}EXISTS (SELECT 1 FROM region AS q WHERE q.name = {text})"


def _as_one(base: From) -> str:
    """Items of FROM of which a join behind them may compare any: behind a comma it would see the last alone."""
    return base.text.replace(", person AS p", " CROSS JOIN person AS p")
