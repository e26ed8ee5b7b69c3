"""Random queries: a grammar of everything that is answered, aware of the world it asks about.

The generator knows types and declared ranges, because a campaign in which most queries are refused proves nothing. Each
question comes with the *features* that it has, so that a campaign can say what it covered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from random import Random

from tests.properties.world import Table, World

NUMERIC = ("small", "big", "tiny", "ratio", "money", "count")
TEXTS = ("cat", "note", "area", "name")


@dataclass(frozen=True, slots=True)
class Question:
    """SQL in PostgreSQL's dialect. ``plain``: DuckDB answers the same with no more than a translation."""

    sql: str
    features: frozenset[str]
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """A column in scope: how it is written, its kind, whether it has a finite domain and whether it is bounded."""

    text: str
    kind: str
    listed: tuple[object, ...] | None = None
    span: tuple[object, object] | None = None
    unit: bool = False
    private: bool = True

    @property
    def bounded(self) -> bool:
        return self.span is not None

    @property
    def finite(self) -> bool:
        """Whether GROUP BY of it has a small public key set."""
        wide = self.span is not None and self.kind in ("big", "ratio", "money", "at")
        return self.listed is not None or self.kind in ("area", "flag") or (self.span is not None and not wide)


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


def question(random: Random, world: World) -> Question:
    """One random question about a world."""
    return _Asker(random, world).ask()


@dataclass(slots=True)
class _Asker:
    random: Random
    world: World
    features: set[str] = field(default_factory=set)

    def ask(self) -> Question:
        form = self._one(
            [
                (self._grouped, 30),
                (self._total, 12),
                (self._distinct, 4),
                (self._nested, 10 if self.world.entity else 0),
                (self._post, 8),
                (self._several, 6),
            ]
        )
        sql = form()
        return Question(sql, frozenset(self.features), "ORDER BY" in sql)

    def _one(self, weighted: Sequence[tuple[Callable[[], str], int]]) -> Callable[[], str]:
        return self.random.choices([choice for choice, _ in weighted], [weight for _, weight in weighted])[0]

    def _has(self, *features: str) -> None:
        self.features.update(features)

    def _maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    # Statements

    def _grouped(self) -> str:
        source = self._from()
        keys = self._keys(source, self.random.choice([1, 1, 1, 2, 2, 3]))
        names = [f"g{number}" for number, _ in enumerate(keys)]
        items = [f"{key} AS {name}" for key, name in zip(keys, names, strict=True)]
        items += [f"{text} AS a{number}" for number, text in enumerate(self._aggregates(source))]
        style = self.random.choice(["expressions", "ordinals", "aliases"])
        group = {"expressions": keys, "ordinals": [str(n + 1) for n, _ in enumerate(keys)], "aliases": names}[style]
        if style == "aliases" and any(name in f.text for f in source.fields for name in names):
            group = keys
        self._has("group by", f"group by {style}")
        return f"{source.before}SELECT {', '.join(items)} FROM {source.text}{self._where(source)} GROUP BY {', '.join(group)}"

    def _total(self) -> str:
        source = self._from()
        items = [f"{text} AS a{number}" for number, text in enumerate(self._aggregates(source))]
        return f"{source.before}SELECT {', '.join(items)} FROM {source.text}{self._where(source)}"

    def _distinct(self) -> str:
        source = self._from()
        keys = self._keys(source, self.random.choice([1, 2]))
        self._has("select distinct")
        items = ", ".join(f"{key} AS g{number}" for number, key in enumerate(keys))
        return f"{source.before}SELECT DISTINCT {items} FROM {source.text}{self._where(source)}"

    def _nested(self) -> str:
        """Aggregates per person, or per row that belongs to one, aggregated again."""
        source = self._from(plain=True)
        units = [f for f in source.fields if f.unit]
        if not units:
            return self._grouped()
        # In a tame world the first one: the other side of an outer join may be NULL, and then its groups are selected.
        unit = units[0] if self.world.tame else self.random.choice(units)
        self._has("per-person aggregate")
        inner = [f"{unit.text} AS who"]
        group = [unit.text]
        fields = [Field("t.who", "key", unit=True)]
        others = [f for f in source.fields if f.kind in ("cat", "flag", "note", "tiny") and f.private]
        if others and self._maybe(0.3):
            other = self.random.choice(others)
            inner.append(f"{other.text} AS part")
            group.append(other.text)
            fields.append(replace(other, text="t.part"))
            self._has("per-person aggregate by another key")
        if "d.person_id" in (f.text for f in source.fields) and unit.text != "d.person_id" and self._maybe(0.6):
            inner.append("d.person_id AS again")
            group.append("d.person_id")
            self._has("per-person aggregate by the other unit")
        for number in range(self.random.choice([1, 1, 2])):
            text, found = self._per_person(source)
            inner.append(f"{text} AS n{number}")
            fields.append(replace(found, text=f"t.n{number}"))
        having = f" HAVING COUNT(*) {self.random.choice(['> 1', '<= 3', '= 2'])}" if self._maybe(0.2) else ""
        if having:
            self._has("per-person having")
        body = f"SELECT {', '.join(inner)} FROM {source.text}{self._where(source)} GROUP BY {', '.join(group)}{having}"
        return self._over(From(f"({body}) AS t", tuple(fields)))

    def _over(self, source: From) -> str:
        keys = self._keys(source, 1) if self._maybe(0.7) else []
        items = [f"{key} AS g{number}" for number, key in enumerate(keys)]
        items += [f"{text} AS a{number}" for number, text in enumerate(self._aggregates(source))]
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"{source.before}SELECT {', '.join(items)} FROM {source.text}{self._where(source)}{group}"

    def _per_person(self, source: From) -> tuple[str, Field]:
        count = Field("", "count", span=(0, 60))
        numbers = [f for f in source.fields if f.kind in NUMERIC and f.bounded]
        choices: list[Callable[[], tuple[str, Field]]] = [lambda: ("COUNT(*)", count)]
        if numbers:
            number = self.random.choice(numbers)
            choices += [
                lambda: (f"SUM({number.text})", Field("", "ratio" if number.kind == "ratio" else "big", span=(0, 1))),
                lambda: (f"MAX({number.text})", number),
                lambda: (f"MIN({number.text})", number),
                lambda: (f"AVG({number.text})", Field("", "ratio", span=number.span)),
                lambda: (f"COUNT({number.text}) FILTER (WHERE {self._condition(source.fields)})", count),
            ]
        return self.random.choice(choices)()

    def _post(self) -> str:
        """SQL over a release."""
        self._has("post-processing")
        source = self._from()
        key = self._keys(source, 1)[0]
        aggregate = self._aggregates(source, 1)[0]
        where = self._where(source)
        form = self.random.choice(["having", "order", "wrapper", "window", "arithmetic"])
        self._has(form)
        head = f"{source.before}SELECT {key} AS g0, {aggregate} AS a0"
        body = f" FROM {source.text}{where} GROUP BY {key}"
        if form == "having":
            return f"{head}{body} HAVING COUNT(*) >= 0"
        if form == "order":
            return f"{head}{body} ORDER BY a0 DESC, g0 LIMIT 1000"
        if form == "wrapper":
            return f"{source.before}SELECT * FROM (SELECT {key} AS g0, {aggregate} AS a0{body}) AS virtual_table LIMIT 1000"
        if form == "window":
            return f"{head}, SUM(COUNT(*)) OVER () AS a1{body}"
        return f"{source.before}SELECT {key} AS g0, 2 * {aggregate} + COUNT(*) AS a0{body}"

    def _several(self) -> str:
        """Several releases in one statement."""
        self._has("several releases")
        one, other = self._from(simple=True), self._from(simple=True)
        a, b = self._aggregates(one, 1)[0], self._aggregates(other, 1)[0]
        where, there = self._where(one), self._where(other)
        form = self.random.choice(["union", "scalar", "join"])
        if form == "union":
            return f"SELECT 'one' AS g0, {a} AS a0 FROM {one.text}{where} UNION ALL SELECT 'two', {b} FROM {other.text}{there}"
        if form == "scalar":
            return f"SELECT (SELECT {a} FROM {one.text}{where}) AS a0, (SELECT {b} FROM {other.text}{there}) AS a1"
        return (
            f"SELECT x.a0, y.a1 FROM (SELECT {a} AS a0 FROM {one.text}{where}) AS x "
            f"CROSS JOIN (SELECT {b} AS a1 FROM {other.text}{there}) AS y"
        )

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
            choices += [(self._subquery, 8), (self._cte, 6), (self._union, 6)]
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
        return From(f"person AS p LEFT JOIN {child} AS c ON c.{link} = p.id{more}", fields)

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
        return replace(base, text=f"{base.text} {joins}", fields=(*base.fields, *regions))

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
            return replace(base, text=f"{base.text} {kind} region AS r ON r.name = {text}", fields=fields)
        if table == "code" and numbers and self._maybe(0.7):
            self._has("public join", "public range join")
            number = self.random.choice(numbers).text
            test = self.random.choice([f"r.low <= {number}", f"r.low = {number}"])
            return replace(base, text=f"{base.text} JOIN code AS r ON {test}", fields=fields)
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
        if not source.text.startswith("(") and self._maybe(0.12) and (test := self._membership(source)):
            tests.append(test)
        if tests and len(tests) > (1 if source.needs else 0):
            self._has("where")
        return f" WHERE {' AND '.join(tests)}" if tests else ""

    def _membership(self, source: From) -> str:
        """IN and EXISTS of a relation with the same unit, or of a public one."""
        units = [f for f in source.fields if f.unit]
        word = self.random.choice(["", "NOT "])
        if self.world.entity is not None and units and self._maybe(0.7):
            unit = self.random.choice(units).text
            inner = self.random.choice(["visit", "card"])
            fields = self._in_scope(inner, "z")
            test = self._condition(fields)
            if self._maybe(0.2):
                self._has(f"{word.lower()}in an outer join".strip())
                return (
                    f"{unit} {word}IN (SELECT z.person_id FROM person AS y LEFT JOIN {inner} AS z "
                    f"ON z.person_id = y.id AND {test})"
                )
            if self._maybe(0.5):
                self._has(f"{word.lower()}in private".strip())
                return f"{unit} {word}IN (SELECT z.person_id FROM {inner} AS z WHERE {test})"
            self._has(f"{word.lower()}exists private".strip())
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

    def _condition(self, fields: Sequence[Field], depth: int = 1) -> str:
        usable = [f for f in fields if f.kind not in ("key", "link")]
        if not usable:
            return "TRUE"
        if depth and self._maybe(0.25):
            one, other = self._condition(fields, depth - 1), self._condition(fields, depth - 1)
            word = self.random.choice(["AND", "OR", "AND NOT"])
            return f"({one} {word} {other})" if word != "AND NOT" else f"({one} AND NOT ({other}))"
        found = self.random.choice(usable)
        return self._test(found)

    def _test(self, found: Field) -> str:
        text = found.text
        if self._maybe(0.15):
            self._has("is null")
            return f"{text} IS {self.random.choice(['', 'NOT '])}NULL"
        if found.kind == "flag":
            return self.random.choice(
                [text, f"NOT {text}", f"{text} = TRUE", f"{text} IS TRUE", f"{text} IS NOT FALSE"]
            )
        if found.kind in TEXTS:
            return self._text_test(text)
        if found.kind == "day":
            self._has("date test")
            return self.random.choice(
                [
                    f"{text} >= DATE '2020-01-15'",
                    f"{text} BETWEEN DATE '2019-12-31' AND DATE '2020-02-10'",
                    f"EXTRACT(MONTH FROM {text}) = 1",
                    f"{text} + INTERVAL '1 month' < DATE '2020-03-01'",
                    f"date_trunc('month', {text}) = DATE '2020-01-01'",
                ]
            )
        if found.kind == "at":
            return self.random.choice([f"{text} < TIMESTAMP '2020-01-10 12:00:00'", f"EXTRACT(HOUR FROM {text}) >= 12"])
        number = self._literal(found)
        return self.random.choice(
            [
                f"{text} {self.random.choice(['<', '<=', '>', '>=', '=', '<>'])} {number}",
                f"{text} IN ({number}, {self._literal(found)}, 3)",
                f"{text} NOT IN ({number}, 1)",
                f"{text} BETWEEN {number} AND {number} + 10",
                f"ABS({text}) < 1000",
                f"{text} / 2 > {number}",
                f"10 / {text} > 1",
                f"CAST({text} AS INTEGER) % 2 = 0",
            ]
        )

    def _text_test(self, text: str) -> str:
        self._has("text test")
        return self.random.choice(
            [
                f"{text} = 'a'",
                f"{text} <> 'n1'",
                f"{text} IN ('a', 'b', 'n0', 'north')",
                f"{text} NOT IN ('c', 'n2')",
                f"{text} LIKE 'n%'",
                f"{text} NOT LIKE '%a%'",
                f"LENGTH({text}) > 1",
                f"UPPER({text}) = 'A'",
                f"{text} || 'x' = 'ax'",
                f"COALESCE({text}, 'a') = 'a'",
                f"SUBSTRING({text} FROM 1 FOR 1) = 'n'",
                f"CAST({text} AS INTEGER) > 3",
            ]
        )

    def _literal(self, found: Field) -> str:
        if found.span is not None and not isinstance(found.span[0], date):
            low, high = found.span
            return self.random.choice(
                [str(low), str(high), str((low + high) / 2) if found.kind == "ratio" else str(low)]
            )  # type: ignore[operator]
        return self.random.choice(["0", "1", "2.5", "-3", "100"])

    # Numbers

    def _number(self, fields: Sequence[Field], depth: int) -> str | None:
        """A numeric expression whose range follows from what is declared."""
        numbers = [f for f in fields if f.kind in NUMERIC]
        if not numbers:
            return None
        if depth == 0 or self._maybe(0.35):
            found = self.random.choice(numbers)
            if not found.bounded:
                self._has("greatest and least")
                return f"GREATEST({self.random.choice([0, -5])}, LEAST({found.text}, {self.random.choice([10, 100])}))"
            return found.text
        one = self._number(fields, depth - 1) or "1"
        other = self._number(fields, depth - 1) or "1"
        self._has("arithmetic")
        forms = [
            f"({one} + {other})",
            f"({one} - {other})",
            f"({one} - {one})",
            f"({one} + {one})",
            f"({one} * {self.random.choice(['2', '-3', '0.5', '1.25'])})",
            f"(- {one})",
            f"ABS({one})",
            f"GREATEST({one}, {other})",
            f"COALESCE({one}, 0)",
            f"COALESCE({one}, {other})",
            f"({one} / 4)",
            f"({one} / 2.0)",
            f"CAST({one} AS DOUBLE PRECISION)",
            # PostgreSQL rounds halves of doubles to even and DuckDB does not.
            *([] if self.world.tame else [f"ROUND({one})"]),
            f"FLOOR({one})",
            f"CASE WHEN {self._condition(fields)} THEN {one} ELSE {other} END",
            f"CASE WHEN {self._condition(fields)} THEN {one} END",
        ]
        if depth == 2:
            forms.append(f"({one} * {other})")
        text = self.random.choice(forms)
        if text.startswith("CASE"):
            self._has("case")
        return text

    # Aggregates

    def _aggregates(self, source: From, count: int = 0) -> list[str]:
        number = count or self.random.choice([1, 1, 2, 2, 3, 5])
        found = [self._aggregate(source) for _ in range(number)]
        if len(found) > 1:
            self._has("several aggregates")
        return found

    def _aggregate(self, source: From) -> str:
        fields = source.fields
        plain = [f for f in fields if f.kind not in ("key", "link")]
        units = [f for f in fields if f.unit]
        kind = self.random.choices(["count", "count x", "units", "sum", "avg", "case"], [5, 3, 3, 6, 4, 2])[0]
        text = "COUNT(*)"
        if kind == "count x" and plain:
            text = f"COUNT({self.random.choice(plain).text})"
        elif kind == "units" and units:
            text = f"COUNT(DISTINCT {self.random.choice(units).text})"
        elif kind in ("sum", "avg") and (number := self._number(fields, self.random.choice([0, 0, 1, 2]))) is not None:
            text = f"{kind.upper()}({number})"
        elif kind == "case":
            test = self._condition(fields)
            text = self.random.choice(
                [f"SUM(CASE WHEN {test} THEN 1 ELSE 0 END)", f"COUNT(CASE WHEN {test} THEN 1 END)"]
            )
        self._has(f"aggregate {kind}" if text != "COUNT(*)" or kind == "count" else "aggregate count")
        if self._maybe(0.25):
            self._has("filter")
            text += f" FILTER (WHERE {self._condition(fields)})"
        return text

    # Keys

    def _keys(self, source: From, count: int) -> list[str]:
        found = list(dict.fromkeys(self._key(source.fields) for _ in range(count)))
        if len(found) > 1:
            self._has("several keys")
        return found

    def _key(self, fields: Sequence[Field]) -> str:
        usable = [f for f in fields if f.kind not in ("key", "link")]
        if not usable:
            return "CASE WHEN 1 = 1 THEN 'all' END"
        found = self.random.choice(usable)
        text = found.text
        if self._maybe(0.1):
            self._has("key case")
            return f"CASE WHEN {self._condition(fields, 0)} THEN 'yes' ELSE 'no' END"
        if found.kind in ("cat", "flag", "area", "name"):
            self._has("key column")
            return text
        if found.kind == "note" or not found.bounded:
            self._has("key selected")
            return text
        if found.kind in ("day", "at"):
            self._has("key of time")
            unit = self.random.choice(["month", "week", "year", "day"])
            return self.random.choice(
                [
                    f"date_trunc('{unit}', {text})",
                    f"EXTRACT({self.random.choice(['DOW', 'MONTH', 'YEAR'])} FROM {text})",
                ]
                + ([text] if found.kind == "day" else [])
            )
        self._has("key of number")
        if found.kind in ("ratio", "money", "big"):
            low, high = found.span  # type: ignore[misc]
            step = max(1, int((high - low) / self.random.choice([2, 5])) if high != low else 1)  # type: ignore[operator]
            return f"FLOOR({text} / {step})"
        return self.random.choice([text, f"FLOOR({text} / 10)", f"{text} / 5", f"{text} + 1"])
