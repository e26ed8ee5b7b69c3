"""Statements as analysts and their BI tools write them, each with the same statement for a reader of the cleaned rows.

A statement is drawn once and spelt twice. ``sql`` is for dpsql. ``truth`` is for PostgreSQL over :meth:`World.clean`,
and differs in three places that the documents name: what is aggregated is clipped into its declared range; rows whose
key is not declared are in no group, so that a condition leaves them out where something above reads the groups; and
under ROLLUP, where they are in the totals, their key becomes :data:`OUTSIDE`, whose groups are not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from tests.properties.dirty_worlds import Column, World

OUTSIDE = {"text": "'¤'", "number": "-99999", "time": "TIMESTAMP '0001-01-01'", "day": "DATE '0001-01-01'"}
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata")
MONTHS = ("2025-01-01", "2025-03-01", "2025-04-01", "2025-10-01", "2025-11-01", "2026-01-01")


@dataclass(frozen=True, slots=True)
class Field:
    """A column in scope. ``domain`` names the reader's table of its declared values; ``inner`` is one of an event."""

    text: str
    column: Column
    domain: str = ""
    inner: bool = False
    alias: str = ""


@dataclass(frozen=True, slots=True)
class Key:
    """A grouping expression: ``listed`` groups are shown empty or not, others when somebody is in them."""

    text: str
    of: Field
    template: str
    sort: str
    listed: bool

    @property
    def declared(self) -> bool:
        return bool(self.of.domain)

    def within(self) -> str:
        """A condition: the key is NULL, or one of those that follow from the declared values; any branch of a CASE."""
        if self.template.startswith("CASE"):
            return "TRUE"
        over = self.template.format(x="d.x")
        return f"({self.text} IS NULL OR {self.text} IN (SELECT {over} FROM {self.of.domain} AS d WHERE {over} IS NOT NULL))"

    def values(self) -> str:
        """A statement for the values that follow from the declared ones."""
        over = self.template.format(x="d.x")
        return f"SELECT DISTINCT {over} FROM {self.of.domain} AS d"

    def spelt(self, truth: bool) -> str:
        if not truth or not self.declared or self.sort == "flag":
            return self.text
        return f"CASE WHEN {self.within()} THEN {self.text} ELSE {OUTSIDE[self.sort]} END"


@dataclass(frozen=True, slots=True)
class Measure:
    """An aggregate. ``kind`` says what clipping people's rows may do to it; ``fields`` are those that it reads."""

    text: str
    kind: str
    fields: tuple[Field, ...] = ()

    def spelt(self, truth: bool) -> str:
        found = self.text
        for one in self.fields:
            found = found.replace(f"[{one.text}]", clipped(one) if truth else one.text)
        return found

    @property
    def width(self) -> float:
        """Of the widest declared range."""
        ranges = [one.column.range for one in self.fields if one.column.range and f"[{one.text}]" in self.text]
        return max([float(high) - float(low) for low, high in ranges], default=1.0)  # type: ignore[arg-type]

    @property
    def clips(self) -> bool:
        return any(f"[{one.text}]" in self.text for one in self.fields)


def clipped(one: Field) -> str:
    if one.column.range is None:
        return one.text
    low, high = one.column.range
    return f"(CASE WHEN {one.text} < {low} THEN {low} WHEN {one.text} > {high} THEN {high} ELSE {one.text} END)"


@dataclass(frozen=True, slots=True)
class Source:
    text: str
    fields: tuple[Field, ...]
    tables: tuple[str, ...]
    unit: str
    whole: bool = False

    def of(self, *kinds: str) -> list[Field]:
        return [one for one in self.fields if one.column.kind in kinds]


@dataclass(frozen=True, slots=True)
class Statement:
    """``ghosts``: for each key the reader's statement for the values that an empty group may have, or nothing.

    ``above``: something reads which groups there are, unless it takes up to ``limit`` and there are no more.
    """

    sql: str
    truth: tuple[str, ...]
    form: str
    keys: int
    measures: tuple[Measure, ...]
    grouping: tuple[Key, ...] = ()
    ghosts: tuple[str, ...] = ()
    zone: str = "UTC"
    tables: tuple[str, ...] = ()
    above: bool = False
    limit: int = 0
    features: tuple[str, ...] = field(default=(), compare=False)


class Analyst:
    """Draws statements over one world."""

    def __init__(self, random: Random, world: World) -> None:
        self.random, self.world = random, world

    # Where from

    def fields(self, table: str, alias: str) -> tuple[Field, ...]:
        found = self.world.table(table)
        inner = table in ("visit", "orders", "line")
        return tuple(
            Field(
                f"{alias}.{column.name}",
                column,
                f"dom_{table}_{column.name}"
                if column.values or column.values_from or column.range or column.kind in ("flag", "public")
                else "",
                inner,
                alias if found.public else "",
            )
            for column in found.columns
        )

    def source(self) -> Source:
        p, v, o = self.fields("person", "p"), self.fields("visit", "v"), self.fields("orders", "o")
        line, r, pr = self.fields("line", "l"), self.fields("region", "r"), self.fields("product", "pr")
        visits, lines = (
            "visit AS v JOIN person AS p ON p.id = v.person_id",
            "line AS l JOIN orders AS o ON o.oid = l.order_id",
        )
        kind = self.random.choice(["JOIN", "LEFT JOIN"])
        return self.random.choice(
            [
                Source("person AS p", p, ("person",), "p.id", whole=True),
                Source(
                    f"person AS p {kind} region AS r ON r.name = p.region", (*p, *r), ("person",), "p.id", whole=True
                ),
                Source("visit AS v", v, ("visit",), "v.person_id"),
                Source("visit AS v", v, ("visit",), "v.person_id"),
                Source(visits, (*v, *p), ("visit",), "p.id"),
                Source(f"{visits} {kind} region AS r ON p.region = r.name", (*v, *p, *r), ("visit",), "p.id"),
                Source("orders AS o JOIN person AS p ON o.person_id = p.id", (*o, *p), ("orders",), "p.id"),
                Source(lines, (*line, *o), ("line",), "o.person_id"),
                Source(
                    f"{lines} {kind} product AS pr ON pr.id = l.product_id", (*line, *o, *pr), ("line",), "o.person_id"
                ),
                Source("person AS p LEFT JOIN visit AS v ON v.person_id = p.id", (*p, *v), ("visit", "left"), "p.id"),
            ]
        )

    # Conditions

    def condition(self, one: Field) -> str:
        x, pick = one.text, self.random.choice
        match one.column.kind:
            case "code" if one.column.type == "INTEGER":
                return pick(
                    [f"{x} < 5", f"{x} IN (SELECT id FROM product WHERE category = 'tea')", f"{x} IN (1, 2, 8)"]
                )
            case "code":
                names = {
                    "sex": ("F", "M"),
                    "region": ("north", "isle"),
                    "reason": ("flu", "pain"),
                    "status": ("paid", "void"),
                }[one.column.name]
                tests = [
                    f"{x} = '{names[0]}'",
                    f"{x} <> '{names[1]}'",
                    f"{x} IN ('{names[0]}', '{names[1]}')",
                    f"{x} IS NOT NULL",
                    f"{x} IS NULL",
                    f"NOT {x} = '{names[0]}'",
                    f"{x} LIKE '{names[0][0]}%'",
                ]
                if one.column.name == "region":
                    tests += [
                        f"{x} IN (SELECT name FROM region WHERE pop > 150)",
                        f"{x} NOT IN (SELECT name FROM region WHERE zone = 'APAC')",
                    ]
                return pick(tests)
            case "year":
                return pick([f"{x} >= 1970", f"{x} BETWEEN 1949 AND 1985", f"{x} % 2 = 0", f"{x} <> 1985"])
            case "flag":
                return pick([x, f"NOT {x}", f"{x} IS TRUE", f"{x} IS NOT TRUE", f"{x} IS NULL"])
            case "link":
                return pick(
                    [
                        f"{x} IN (SELECT person_id FROM orders WHERE status = 'paid')",
                        f"EXISTS (SELECT 1 FROM person AS z WHERE z.id = {x} AND z.smoker)",
                        f"{x} IS NOT NULL",
                    ]
                )
            case "number" if one.column.type == "REAL" and self.random.random() < 0.3:
                return pick(
                    [f"CAST({x} AS NUMERIC) = 36.6", f"{x}::numeric > 1.62", f"{x}::numeric(8,2) IN (1.62, 39)"]
                )
            case "number":
                return pick([f"{x} > 1", f"{x} BETWEEN 0 AND 100", f"{x} <= 9.75", f"{x} <> 0", f"{x} IS NOT NULL"])
            case "stamp" | "day" | "zoned":
                return self._time(x, one.column.kind)
            case "public":
                return {
                    "zone": pick([f"{x} = 'APAC'", f"{x} <> 'EMEA'"]),
                    "pop": f"{x} > 150",
                    "name": pick([f"{x} <> 'north'", f"{x} LIKE '%st'"]),
                    "id": f"{x} < 6",
                    "category": pick([f"{x} = 'tea'", f"{x} IN ('toys', 'tools')"]),
                    "price": f"{x} > 30",
                }[one.column.name]
        raise AssertionError(one.column.kind)

    def _time(self, x: str, kind: str) -> str:
        first, last = sorted(self.random.sample(MONTHS, 2))
        month = self.random.choice(MONTHS)
        tests = [f"{x} >= '{first}' AND {x} < '{last}'"] * 4 + [
            f"{x} >= DATE '{first}' AND {x} < DATE '{first}' + INTERVAL '1 month'",
            f"{x} BETWEEN '{first}' AND '{last}'",
            f"EXTRACT(YEAR FROM {x}) = 2025",
            f"EXTRACT(MONTH FROM {x}) IN (3, 10)",
            f"DATE_TRUNC('month', {x}) = '{month}'",
            f"{x} IS NOT NULL",
        ]
        if kind != "day":
            tests += [
                f"{x}::date >= '{first}' AND {x}::date <= '2025-10-26'",
                f"{x} >= '{first} 00:00:00' AND {x} <= '2025-12-31 23:59:59'",
                f"{x}::date = '2025-03-30'",
            ]
        return self.random.choice(tests)

    def conditions(self, source: Source, most: int = 2) -> list[tuple[str, Field]]:
        usable = source.of("code", "year", "flag", "number", "stamp", "day", "zoned", "public")
        usable += [
            one for one in source.of("link") if one.column.name == "person_id" and "LEFT JOIN visit" not in source.text
        ]
        times = source.of("stamp", "day", "zoned")
        found = []
        for _ in range(self.random.choice([0, 1, 1, most])):
            one = self.random.choice(times if times and self.random.random() < 0.4 else usable)
            found.append((self.condition(one), one))
        return found

    # Groups

    def key(self, source: Source) -> Key:
        usable = source.of("code", "year", "flag", "stamp", "day", "zoned") + [
            f for f in source.of("public") if f.column.name in ("zone", "name", "category")
        ]
        times = source.of("stamp", "day", "zoned")
        one = self.random.choice(times if times and self.random.random() < 0.4 else usable)
        template, sort, listed = self.random.choice(self.templates(one))
        return Key(template.format(x=one.text), one, template, sort, listed)

    def templates(self, one: Field) -> list[tuple[str, str, bool]]:
        """Ways of grouping by a column: a template, the sort of its values, and whether they are listed one by one."""
        computed: list[tuple[str, str, bool]]
        match one.column.kind:
            case "code" if one.column.type == "INTEGER":
                return [("{x}", "number", True)]
            case "code":
                plain = [("{x}", "text", True)] * 4
                if one.domain:
                    plain += [
                        ("COALESCE({x}, 'none')", "text", True),
                        ("UPPER({x})", "text", True),
                        (
                            "CASE WHEN {x} IN ('F', 'flu', 'north', 'paid') THEN 'one' WHEN {x} IN ('M', 'cut', 'south') THEN 'two' ELSE 'rest' END",
                            "text",
                            True,
                        ),
                    ]
                return plain
            case "flag":
                return [("{x}", "flag", True), ("CASE WHEN {x} THEN 'yes' ELSE 'no' END", "text", True)]
            case "year":
                return [
                    ("{x}", "number", False),
                    ("{x} / 10 * 10", "number", False),
                    ("FLOOR({x} / 10.0) * 10", "number", False),
                    ("CASE WHEN {x} < 1970 THEN 'old' ELSE 'young' END", "text", True),
                    ("WIDTH_BUCKET({x}, 1950, 2000, 5)", "number", False),
                ]
            case "public":
                return [("{x}", "text", True)]
            case kind:
                computed = [
                    ("DATE_TRUNC('month', {x})", "time", False),
                    ("DATE_TRUNC('week', {x})::date", "day", False),
                    ("EXTRACT(YEAR FROM {x})", "number", False),
                    ("EXTRACT(MONTH FROM {x})", "number", False),
                    ("EXTRACT(DOW FROM {x})", "number", False),
                    ("TO_CHAR({x}, 'YYYY-MM')", "text", False),
                ]
                if kind == "day":
                    return [("{x}", "day", False), *computed]
                computed += [
                    ("{x}::date", "day", False),
                    ("CAST({x} AS DATE)", "day", False),
                    ("DATE_TRUNC('day', {x})", "time", False),
                    ("EXTRACT(HOUR FROM {x})", "number", False),
                ]
                if kind == "zoned":
                    computed = [
                        (text, "day" if sort == "time" else sort, listed)
                        for text, sort, listed in computed
                        if "TRUNC" not in text
                    ] + [("({x} AT TIME ZONE 'Europe/Berlin')::date", "day", False)]
                return computed

    # What is counted and summed

    def measures(self, source: Source, most: int = 3) -> tuple[Measure, ...]:
        found: list[Measure] = []
        for _ in range(self.random.randint(1, most)):
            drawn = self.measure(source)
            if drawn.text not in [one.text for one in found]:
                found.append(drawn)
        return tuple(found)

    def measure(self, source: Source) -> Measure:
        pick = self.random.choice
        one = pick(source.of("number"))
        c, of = self._filter(source)
        x = one.text
        if self.random.random() < 0.4:
            return pick(
                [
                    Measure("COUNT(*)", "count"),
                    Measure("COUNT(*)", "count"),
                    Measure(f"COUNT({x})", "count", (one,)),
                    Measure(f"COUNT(*) FILTER (WHERE {c})", "count", of),
                    Measure(f"SUM(CASE WHEN {c} THEN 1 ELSE 0 END)", "count", of),
                    Measure(f"COUNT(CASE WHEN {c} THEN 1 END)", "count", of),
                    Measure(f"COUNT(DISTINCT {source.unit})", "people"),
                ]
            )
        other = pick([f for f in source.of("number") if f is not one] or [one])
        low = one.column.range[0] if one.column.range else 0
        drawn = [
            Measure(f"SUM([{x}])", "sum", (one,)),
            Measure(f"AVG([{x}])", "quotient", (one,)),
            Measure(f"AVG([{x}])", "quotient", (one,)),
            Measure(f"SUM([{x}]) FILTER (WHERE {c})", "sum", (one, *of)),
            Measure(f"AVG([{x}]) FILTER (WHERE {c})", "quotient", (one, *of)),
            Measure(f"SUM([{x}]) * 1.0 / NULLIF(COUNT(*), 0)", "quotient", (one,)),
            Measure(f"SUM([{x}]) * 1.0 / NULLIF(COUNT({x}), 0)", "quotient", (one,)),
            Measure(f"SUM(CASE WHEN {c} THEN [{x}] END)", "sum", (one, *of)),
            Measure(f"100.0 * COUNT(*) FILTER (WHERE {c}) / NULLIF(COUNT(*), 0)", "share", of),
            Measure(f"SUM(CASE WHEN {c} THEN 1 ELSE 0 END) * 1.0 / NULLIF(COUNT(*), 0)", "share", of),
            Measure(f"AVG(CASE WHEN {c} THEN 1.0 ELSE 0 END)", "share", of),
            Measure(f"STDDEV_POP([{x}])", "spread", (one,)),
            Measure(f"VAR_POP([{x}])", "variance", (one,)),
            Measure(f"SUM([{x}]) - SUM([{other.text}])", "sum", (one, other)),
            Measure(f"PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY [{x}])", "quantile", (one,)),
            Measure(f"CORR([{x}], [{other.text}])", "corr", (one, other)),
            Measure(f"COUNT(*) FILTER (WHERE {c}) - COUNT(*) FILTER (WHERE NOT ({c}))", "difference", of),
        ]
        if low is not None and float(low) <= 0:  # type: ignore[arg-type]
            drawn.append(Measure(f"SUM(CASE WHEN {c} THEN [{x}] ELSE 0 END)", "sum", (one, *of)))
        return pick(drawn)

    def _filter(self, source: Source) -> tuple[str, tuple[Field, ...]]:
        usable = source.of("code", "flag", "number", "stamp", "day", "year")
        if self.world.load == "copies":
            usable = [one for one in usable if one.inner] or usable
        one = self.random.choice(usable)
        return self.condition(one), (one,)

    # Statements

    def statement(self) -> Statement:
        from tests.properties.forms import FORMS, exact_forms

        allowed = FORMS if self.world.load == "within" else {n: f for n, f in FORMS.items() if n not in exact_forms}
        form = self.random.choice(["plain", *allowed])
        return allowed[form](self)


Form = Callable[[Analyst], Statement]


def where(tests: Sequence[str]) -> str:
    return f" WHERE {' AND '.join(f'({test})' for test in tests)}" if tests else ""
