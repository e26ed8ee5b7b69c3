"""The forms of statements: what stands around keys, measures and conditions in a BI tool or an analyst's editor."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tests.properties.analysts import ZONES, Analyst, Form, Key, Measure, Source, Statement, where


class Drawn:
    """Keys, measures and conditions over one source, spelt for either side."""

    def __init__(
        self, analyst: Analyst, keys: int, measures: int = 3, *, declared: bool = False, source: Source | None = None
    ) -> None:
        self.random = analyst.random
        self.source = source or analyst.source()
        self.keys: list[Key] = []
        while len(self.keys) < keys:
            key = analyst.key(self.source)
            if key.text not in [one.text for one in self.keys] and (key.declared or not declared):
                self.keys.append(key)
        self.measures = analyst.measures(self.source, measures)
        self.conditions = analyst.conditions(self.source)

    @property
    def tests(self) -> list[str]:
        return [text for text, _ in self.conditions]

    def key_items(self, truth: bool) -> list[str]:
        return [f"{key.spelt(truth)} AS g{n}" for n, key in enumerate(self.keys)]

    def measure_items(self, truth: bool) -> list[str]:
        return [f"{one.spelt(truth)} AS m{n}" for n, one in enumerate(self.measures)]

    def tail(self, truth: bool, *, narrowed: bool = False, more: Sequence[str] = ()) -> str:
        """FROM and WHERE; ``narrowed`` leaves rows of undeclared keys out for the reader."""
        tests = [*self.tests, *more]
        if truth and narrowed:
            tests += [key.within() for key in self.keys if key.declared and key.sort != "flag"]
        return f" FROM {self.source.text}{where(tests)}"

    def select(self, truth: bool, *, narrowed: bool = False) -> str:
        keys = self.key_items(truth and not narrowed)
        group = f" GROUP BY {', '.join(str(n + 1) for n, _ in enumerate(keys))}" if keys else ""
        rows = ["COUNT(*) AS rows_of_it"] if truth and keys and not narrowed else []
        return f"SELECT {', '.join([*keys, *self.measure_items(truth), *rows])}{self.tail(truth, narrowed=narrowed)}{group}"

    def ghosts(self) -> tuple[str, ...]:
        """For each key, the values that are listed and pass the conditions on the same column or public row."""
        return tuple(self._ghosts(key) for key in self.keys)

    def _ghosts(self, key: Key) -> str:
        if not key.listed or not key.declared:
            return ""
        if key.of.alias:
            table = {"r": "region AS r", "pr": "product AS pr"}[key.of.alias]
            own = [text for text, one in self.conditions if one.alias == key.of.alias]
            null = f" UNION SELECT NULL{where([])}" if "LEFT JOIN" in self.source.text and not own else ""
            return f"SELECT {key.text} FROM {table}{where(own)}{null}"
        own = [text.replace(key.of.text, "d.x") for text, one in self.conditions if one.text == key.of.text]
        if branches := re.findall(r"(?:THEN|ELSE) '(\w+)'", key.template):
            listed = ", ".join(f"('{one}')" for one in branches)
            return f"SELECT v FROM (VALUES {listed}) AS t(v)"
        return f"SELECT {key.template.format(x='d.x')} FROM {key.of.domain} AS d{where(own)}"

    def statement(self, form: str, ours: str, *truth: str, **changes: object) -> Statement:
        made = Statement(
            ours, truth, form, len(self.keys), self.measures, tuple(self.keys), self.ghosts(), tables=self.source.tables
        )
        return replace(made, **changes)  # type: ignore[arg-type]


def plain(analyst: Analyst) -> Statement:
    one = Drawn(analyst, analyst.random.choice([0, 1, 1, 2]))
    return one.statement("plain", one.select(False), one.select(True))


def ordered(analyst: Analyst) -> Statement:
    one = Drawn(analyst, analyst.random.choice([1, 1, 2]))
    ours = f'SELECT * FROM ({one.select(False)}) AS "virtual_table" ORDER BY m0 DESC LIMIT 1000'
    return one.statement("wrapped", ours, one.select(True))


def through_cte(analyst: Analyst) -> Statement:
    one = Drawn(analyst, 1)
    ours = f"WITH w AS ({one.select(False)}) SELECT * FROM w"
    return one.statement("with", ours, one.select(True))


def from_subquery(analyst: Analyst) -> Statement:
    """Rows are projected first, as a BI tool's model does."""
    one = Drawn(analyst, analyst.random.choice([1, 2]))
    columns = {f.text: f.text.replace(".", "_") for f in one.source.fields}
    inner = ", ".join(f"{text} AS {name}" for text, name in columns.items())
    ours = one.select(False)
    if "EXTRACT(" in ours or "IN (SELECT" in ours:
        return one.statement("plain", ours, one.select(True))
    head = ours.split(" FROM ", 1)[0]
    for text, name in sorted(columns.items(), key=lambda item: -len(item[0])):
        head = head.replace(text, f"s.{name}")
    group = f" GROUP BY {', '.join(str(n + 1) for n, _ in enumerate(one.keys))}"
    ours = f"{head} FROM (SELECT {inner}{one.tail(False)}) AS s{group}"
    return one.statement("subquery", ours, one.select(True))


def grouping_sets(analyst: Analyst) -> Statement:
    one = Drawn(analyst, 2)
    shape = analyst.random.choice(
        ["ROLLUP (1, 2)", "CUBE (1, 2)", "GROUPING SETS ((1), (2), ())", "GROUPING SETS ((1, 2), ())"]
    )

    def spelt(truth: bool) -> str:
        texts = [key.spelt(truth) for key in one.keys]
        over = shape.replace("1", "§").replace("2", texts[1]).replace("§", texts[0])
        marks = [f"GROUPING({text}) AS g{n + 2}" for n, text in enumerate(texts)]
        return f"SELECT {', '.join([*one.key_items(truth), *marks, *one.measure_items(truth), *(['COUNT(*)'] if truth else [])])}{one.tail(truth)} GROUP BY {over}"

    return one.statement("grouping sets", spelt(False), spelt(True), keys=4)


def scalar_kpis(analyst: Analyst) -> Statement:
    source = analyst.source()
    parts = [Drawn(analyst, 0, 1, source=source) for _ in range(analyst.random.choice([2, 3, 4]))]
    texts = [
        ", ".join(f"({part.select(t).replace(' AS m0', '')}) AS m{n}" for n, part in enumerate(parts))
        for t in (False, True)
    ]
    measures = tuple(part.measures[0] for part in parts)
    return parts[0].statement("scalar KPIs", f"SELECT {texts[0]}", f"SELECT {texts[1]}", measures=measures)


def union_kpis(analyst: Analyst) -> Statement:
    source = analyst.source()
    count = Measure("COUNT(*)", "count")
    parts = [Drawn(analyst, 0, 1, source=source) for _ in range(analyst.random.choice([2, 3]))]
    for part in parts:
        part.measures = (count,) if analyst.random.random() < 0.5 else analyst.measures(source, 1)
    kinds = {part.measures[0].kind for part in parts}
    if len(kinds) > 1:
        for part in parts:
            part.measures = (count,)
    texts = [
        " UNION ALL ".join(
            part.select(t).replace("SELECT ", f"SELECT '{n}' AS g0, ", 1) for n, part in enumerate(parts)
        )
        for t in (False, True)
    ]
    widest = max((part.measures[0] for part in parts), key=lambda one: one.width)
    return parts[0].statement(
        "UNION ALL KPIs", texts[0], texts[1], keys=1, measures=(widest,), grouping=(), ghosts=("",)
    )


def difference(analyst: Analyst) -> Statement:
    source = analyst.source()
    one, other = Drawn(analyst, 0, 1, source=source), Drawn(analyst, 0, 1, source=source)
    other.measures = one.measures = (Measure("COUNT(*)", "difference"),)
    texts = [
        f"WITH a AS ({one.select(t)}), b AS ({other.select(t)}) SELECT a.m0 - b.m0 AS m0 FROM a, b"
        for t in (False, True)
    ]
    return one.statement("CTE difference", texts[0], texts[1])


def having(analyst: Analyst) -> Statement:
    one = Drawn(analyst, 1)
    texts = [f"{one.select(t)} HAVING COUNT(*) > 1" for t in (False, True)]
    return one.statement("HAVING", texts[0], texts[1], ghosts=("",), above=True)


def over_groups(analyst: Analyst) -> Statement:
    one = Drawn(analyst, analyst.random.choice([1, 1, 2]), declared=True)
    one.measures = (Measure("COUNT(*)", "count"),)
    outer = [
        ("COUNT(*)", "count"),
        ("SUM(t.m0)", "count"),
        ("AVG(t.m0)", "loose"),
        ("MAX(t.m0)", "count"),
        ("MIN(t.m0)", "count"),
    ]
    chosen = analyst.random.sample(outer, 3)
    head = ", ".join(f"{text} AS m{n}" for n, (text, _) in enumerate(chosen))
    texts = [f"SELECT {head} FROM ({one.select(t, narrowed=True)}) AS t" for t in (False, True)]
    # A sum that is measured as a total has rows of undeclared groups, as in PostgreSQL.
    texts.append(texts[1].replace("SUM(t.m0)", f"(SELECT SUM(u.m0) FROM ({one.select(True)}) AS u)"))
    measures = tuple(Measure(text, kind) for text, kind in chosen)
    return one.statement("aggregates over groups", *texts, keys=0, measures=measures, ghosts=(), above=True)


def distinct_rows(analyst: Analyst) -> Statement:
    one = Drawn(analyst, analyst.random.choice([1, 2]))
    items = [f"{key.text} AS g{n}" for n, key in enumerate(one.keys)]
    texts = [
        f"SELECT COUNT(*) AS m0 FROM (SELECT DISTINCT {', '.join(items)}{one.tail(t, narrowed=n)}) AS t"
        for t, n in ((False, False), (True, False), (True, True))
    ]
    return one.statement(
        "COUNT over DISTINCT", *texts, keys=0, measures=(Measure("COUNT(*)", "count"),), ghosts=(), above=True
    )


def first_groups(analyst: Analyst) -> Statement:
    one = Drawn(analyst, 1, declared=True)
    order = analyst.random.choice(["g0", "g0 DESC NULLS LAST"])
    limit = analyst.random.choice([1, 3])
    texts = [f"{one.select(t, narrowed=True)} ORDER BY {order} LIMIT {limit}" for t in (False, True)]
    return one.statement("ORDER BY key LIMIT", texts[0], texts[1], above=True, limit=limit)


def joined(analyst: Analyst) -> Statement:
    one = Drawn(analyst, 1, 1, declared=True)
    other = Drawn(analyst, 0, 1, source=one.source)
    other.keys = one.keys
    kind = analyst.random.choice(["JOIN", "LEFT JOIN"])
    texts = [
        f"SELECT a.g0, a.m0, b.m0 AS m1 FROM ({one.select(t, narrowed=True)}) AS a {kind} ({other.select(t, narrowed=True)}) AS b ON a.g0 = b.g0"
        for t in (False, True)
    ]
    return one.statement(
        "join of releases", texts[0], texts[1], measures=(*one.measures, *other.measures), ghosts=("",), above=True
    )


def windowed(analyst: Analyst) -> Statement:
    one = Drawn(analyst, 1, declared=True)
    one.measures = (Measure("COUNT(*)", "count"),)
    pick = analyst.random.choice(
        [
            ("SUM(COUNT(*)) OVER (ORDER BY {k})", "count"),
            ("COUNT(*) * 1.0 / SUM(COUNT(*)) OVER ()", "loose"),
            ("LAG(COUNT(*)) OVER (ORDER BY {k})", "count"),
            ("ROW_NUMBER() OVER (ORDER BY {k})", "count"),
            ("SUM(COUNT(*)) OVER (ORDER BY {k} ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)", "count"),
        ]
    )
    extra = pick[0].format(k=one.keys[0].text)
    texts = []
    for truth in (False, True):
        inner = f"SELECT {one.keys[0].text} AS g0, COUNT(*) AS m0, {extra} AS m1{one.tail(truth, narrowed=True)} GROUP BY {one.keys[0].text}"
        texts.append(inner)
    return one.statement(
        "window over groups",
        texts[0],
        texts[1],
        measures=(*one.measures, Measure(extra, pick[1])),
        above=True,
        limit=0 if "ORDER" in extra else 1000,
    )


def per_person(analyst: Analyst) -> Statement:
    one = Drawn(analyst, 0, 1)
    unit = one.source.unit
    if unit.startswith("p."):
        unit = "p.id"
    inner = f"SELECT {unit} AS who, COUNT(*) AS n"
    texts = [
        f"SELECT COUNT(*) AS m0, SUM(n) AS m1, COUNT(*) FILTER (WHERE n > 1) AS m2 FROM ({inner}{one.tail(t)} GROUP BY {unit}) AS t"
        for t in (False, True)
    ]
    measures = (Measure("COUNT(*)", "count"), Measure("SUM(n)", "count"), Measure("COUNT", "count"))
    return one.statement("per person", texts[0], texts[1], measures=measures)


def zoned(analyst: Analyst) -> Statement:
    zone = analyst.random.choice(ZONES)
    visits = Source("visit AS v", analyst.fields("visit", "v"), ("visit",), "v.person_id")
    one = Drawn(analyst, 1, source=visits)
    seen = next(f for f in visits.fields if f.column.name == "seen")
    template, sort, listed = analyst.random.choice(analyst.templates(seen))
    one.keys = [Key(template.format(x=seen.text), seen, template, sort, listed)]
    return one.statement("time zone", one.select(False), one.select(True), zone=zone)


def largest(analyst: Analyst) -> Statement:
    """The sum and the least of the three greatest, whichever they are of those that are as great."""
    one = Drawn(analyst, 1, declared=True)
    one.measures = (Measure("COUNT(*)", "count"),)
    texts = [
        f"SELECT SUM(t.m0) AS m0, MIN(t.m0) AS m1 FROM ({one.select(t, narrowed=True)} ORDER BY 2 DESC LIMIT 3) AS t"
        for t in (False, True)
    ]
    measures = (Measure("SUM(t.m0)", "count"), Measure("MIN(t.m0)", "count"))
    return one.statement("the greatest groups", texts[0], texts[1], keys=0, measures=measures, ghosts=(), above=True)


def of_the_largest(analyst: Analyst) -> Statement:
    one = Drawn(analyst, 1, declared=True)
    key = one.keys[0].text
    limit = analyst.random.choice([1, 2])
    texts = []
    for truth in (False, True):
        inner = f"SELECT {key}{one.tail(truth, narrowed=True)} GROUP BY 1 ORDER BY COUNT(*) DESC, 1 LIMIT {limit}"
        head = f"SELECT {key} AS g0, {', '.join(one.measure_items(truth))}"
        texts.append(f"{head}{one.tail(truth, narrowed=True, more=[f'{key} IN ({inner})'])} GROUP BY 1")
    return one.statement("of the greatest groups", texts[0], texts[1], ghosts=("",), above=True)


def is_there_any(analyst: Analyst) -> Statement:
    one = Drawn(analyst, 0, 1)
    texts = [f"SELECT 1 AS m0{one.tail(t)} HAVING COUNT(*) > 0" for t in (False, True)]
    return one.statement("HAVING alone", texts[0], texts[1], measures=(Measure("1", "count"),), above=True)


FORMS: dict[str, Form] = {
    "plain": plain,
    "wrapped": ordered,
    "with": through_cte,
    "subquery": from_subquery,
    "grouping sets": grouping_sets,
    "scalar KPIs": scalar_kpis,
    "UNION ALL KPIs": union_kpis,
    "CTE difference": difference,
    "HAVING": having,
    "aggregates over groups": over_groups,
    "COUNT over DISTINCT": distinct_rows,
    "ORDER BY key LIMIT": first_groups,
    "join of releases": joined,
    "window over groups": windowed,
    "per person": per_person,
    "time zone": zoned,
    "the greatest groups": largest,
    "of the greatest groups": of_the_largest,
    "HAVING alone": is_there_any,
}
exact_forms = frozenset(
    "CTE difference,HAVING,aggregates over groups,COUNT over DISTINCT,ORDER BY key LIMIT,join of releases,window over groups,per person,the greatest groups,of the greatest groups,HAVING alone".split(
        ","
    )
)
"""What reads whether a group is there, or the difference of counts, has no law under clipping."""
