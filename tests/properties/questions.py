"""Random queries: a grammar of everything that is answered, aware of the world it asks about.

The generator knows types and declared ranges, because a campaign in which most queries are refused proves nothing. Each
question comes with the *features* that it has, so that a campaign can say what it covered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.properties.expressions import NUMERIC, Field
from tests.properties.sources import From, Sources
from tests.properties.world import World

LARGEST = " ORDER BY a0 DESC LIMIT 2"
"""What makes a question one for the largest groups alone."""


@dataclass(frozen=True, slots=True)
class Question:
    """SQL in PostgreSQL's dialect. ``counts`` says how often each value is there of which ``sql`` asks the most common.

    ``truth`` is the same in plain SQL, where a reader does not know the form."""

    sql: str
    features: frozenset[str]
    ordered: bool = False
    counts: str = ""
    truth: str = ""


def question(random: Random, world: World) -> Question:
    """One random question about a world."""
    return _Asker(random, world.tame, set(), world).ask()


def figures(random: Random, world: World) -> Question:
    """One random question for several figures of the same rows, or for sums of aggregates."""
    asker = _Asker(random, world.tame, set(), world)
    sql = asker.figures()
    return Question(sql, frozenset(asker.features), "ORDER BY" in sql)


def means(random: Random, world: World) -> Question:
    """One random question for means and sums of several values of the same rows, and what is counted beside them."""
    asker = _Asker(random, world.tame, set(), world)
    return Question(asker.means(), frozenset(asker.features))


def ranks(random: Random, world: World) -> Question:
    """One random question for values at ranks, which no text asks for: a number above 1 stands for a row of an order, one
    below -1 for a distinct value."""
    asker = _Asker(random, world.tame, set(), world)
    return Question(asker.ranks(), frozenset(asker.features))


@dataclass(slots=True)
class _Asker(Sources):
    """One question in the making."""

    counts: str = ""

    def ask(self) -> Question:
        form = self._one(
            [
                (self._grouped, 30),
                (self._total, 12),
                (self._distinct, 4),
                (self._nested, 10 if self.world.entity else 0),
                (self._post, 8),
                (self._commonest, 6),
                (self._running, 6),
                (self._several, 6),
                (self._figures, 8),
                (self._sums, 6),
            ]
        )
        sql = form()
        return Question(sql, frozenset(self.features), "ORDER BY" in sql, self.counts)

    def figures(self) -> str:
        return self._one([(self._figures, 3), (self._sums, 2)])()

    def ranks(self) -> str:
        source = self._from()
        numbers = [field.text for field in source.fields if field.kind in NUMERIC and field.bounded]
        keys = self._keys(source.fields, 1) if self._maybe(0.4) else []
        items = []
        for _ in range(self.random.choice([1, 2, 3])):
            rank, down = self.random.choice([2, 3, 10, 100]), self.random.choice(["", " DESC"])
            of_values = self._maybe(0.6)
            self._has("rank among values" if of_values else "rank among rows")
            order = f"ORDER BY {self.random.choice(numbers or ['1'])}{down}"
            items.append(f"PERCENTILE_DISC({-rank if of_values else rank}) WITHIN GROUP ({order})")
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"{source.before}SELECT {', '.join([*keys, *items])} FROM {source.text}{self._where(source)}{group}"

    def means(self) -> str:
        source = self._from(simple=self._maybe(0.5))
        tests = ["", f" FILTER (WHERE {self._condition(source.fields)})"]
        one = self.random.choice([tests, tests[:1], tests[1:]])
        items = []
        for _ in range(self.random.choice([1, 2, 2, 3, 5])):
            number = self._number(source.fields, self.random.choice([0, 0, 1])) or "1"
            asked = self.random.sample(["AVG", "SUM", "COUNT"], self.random.choice([1, 1, 1, 2, 3]))
            items += [f"{word}({number}){self.random.choice(one)}" for word in asked]
        counts = [f"COUNT(*){tests[0]}", f"COUNT(*){tests[1]}"]
        counts += [f"COUNT(DISTINCT {f.text})" for f in source.fields if f.unit][:1]
        if moment := self._moment(source.fields):
            counts.append(moment)
        items += self.random.sample(counts, self.random.choice([0, 1, 1, 2]))
        self.random.shuffle(items)
        self._has("means of the same rows", *(["filter"] if tests[1] in "".join(items) else []))
        keys = list(dict.fromkeys(self._keys(source.fields, self.random.choice([1, 2])))) if self._maybe(0.5) else []
        group = f" GROUP BY {self._sets(keys) if self._maybe(0.3) else ', '.join(keys)}" if keys else ""
        having = f" HAVING {self.random.choice(items)} >= 0" if keys and self._maybe(0.2) else ""
        shown = ", ".join(f"{text} AS a{number}" for number, text in enumerate(items))
        before = "".join(f"{key} AS g{number}, " for number, key in enumerate(keys))
        return f"{source.before}SELECT {before}{shown} FROM {source.text}{self._where(source)}{group}{having}"

    def _one(self, weighted: Sequence[tuple[Callable[[], str], int]]) -> Callable[[], str]:
        return self.random.choices([choice for choice, _ in weighted], [weight for _, weight in weighted])[0]

    # Statements

    def _grouped(self) -> str:
        source = self._from()
        keys = self._keys(source.fields, self.random.choice([1, 1, 1, 2, 2, 3]))
        names = [f"g{number}" for number, _ in enumerate(keys)]
        items = [f"{key} AS {name}" for key, name in zip(keys, names, strict=True)]
        items += [f"{text} AS a{number}" for number, text in enumerate(self._aggregates(source.fields))]
        style = self.random.choice(["expressions", "ordinals", "aliases"])
        group = {"expressions": keys, "ordinals": [str(n + 1) for n, _ in enumerate(keys)], "aliases": names}[style]
        if style == "aliases" and any(name in f.text for f in source.fields for name in names):
            group = keys
        self._has("group by", f"group by {style}")
        if style == "expressions" and len(set(keys)) == len(keys) and self._maybe(0.4):
            items.append(f"GROUPING({', '.join(keys)}) AS g_level")
            group = [self._sets(keys)]
        body = f"FROM {source.text}{self._where(source)} GROUP BY {', '.join(group)}"
        return f"{source.before}SELECT {', '.join(items)} {body}"

    def _sets(self, keys: Sequence[str]) -> str:
        """Several grouping sets of the keys."""
        self._has("grouping sets")
        listed = ", ".join(keys)
        forms = [f"ROLLUP ({listed})", f"CUBE ({listed})", f"GROUPING SETS (({listed}), ())"]
        if len(keys) > 1:
            forms += [f"GROUPING SETS (({listed}), {keys[0]}, ())"]
            forms += [f"{keys[0]}, ROLLUP ({', '.join(keys[1:])})", f"GROUPING SETS ({listed})", f"ROLLUP (({listed}))"]
        return self.random.choice(forms)

    def _total(self) -> str:
        source = self._from()
        items = [f"{text} AS a{number}" for number, text in enumerate(self._aggregates(source.fields))]
        return f"{source.before}SELECT {', '.join(items)} FROM {source.text}{self._where(source)}"

    def _distinct(self) -> str:
        source = self._from()
        keys = self._keys(source.fields, self.random.choice([1, 2]))
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
        keys = self._keys(source.fields, 1) if self._maybe(0.7) else []
        items = [f"{key} AS g{number}" for number, key in enumerate(keys)]
        items += [f"{text} AS a{number}" for number, text in enumerate(self._aggregates(source.fields))]
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
                lambda: self._middle(number),
                lambda: (f"COUNT({number.text}) FILTER (WHERE {self._condition(source.fields)})", count),
            ]
        return self.random.choice(choices)()

    def _middle(self, number: Field) -> tuple[str, Field]:
        """A median or a percentile of one person's rows. DuckDB rounds the median of decimals, and we do not."""
        self._has("per-person median")
        if number.kind != "money" and self._maybe(0.5):
            return f"MEDIAN({number.text})", Field("", "ratio", span=number.span)
        down = self.random.choice(["", " DESC"])
        share = self.random.choice(["0.5", "0.25", "0", "1"])
        return f"PERCENTILE_DISC({share}) WITHIN GROUP (ORDER BY {number.text}{down})", number

    def _post(self) -> str:
        """SQL over a release."""
        self._has("post-processing")
        source = self._from()
        key = self._keys(source.fields, 1)[0]
        aggregate = self._aggregates(source.fields, 1)[0]
        where = self._where(source)
        forms = ["having", "order", "largest", "largest", "largest of wrapper", "wrapper", "window", "arithmetic"]
        form = self.random.choice(forms)
        self._has(form)
        head = f"{source.before}SELECT {key} AS g0, {aggregate} AS a0"
        body = f" FROM {source.text}{where} GROUP BY {key}"
        if form == "having":
            return f"{head}{body} HAVING COUNT(*) >= 0"
        if form == "order":
            return f"{head}{body} ORDER BY a0 DESC, g0 LIMIT 1000"
        if form == "largest":
            return f"{head}{body}{LARGEST}"
        if form == "largest of wrapper":
            self._has("largest")
            return f"{source.before}SELECT * FROM ({head.removeprefix(source.before)}{body}) AS virtual_table{LARGEST}"
        if form == "wrapper":
            inner = f"SELECT {key} AS g0, {aggregate} AS a0{body}"
            return f"{source.before}SELECT * FROM ({inner}) AS virtual_table LIMIT 1000"
        if form == "window":
            return f"{head}, SUM(COUNT(*)) OVER () AS a1{body}"
        return f"{source.before}SELECT {key} AS g0, 2 * {aggregate} + COUNT(*) AS a0{body}"

    def _commonest(self) -> str:
        """The most common value, by groups."""
        source = self._from()
        what = self._listed(source.fields)
        if not what:
            return self._grouped()
        self._has("commonest")
        key = self._keys(source.fields, 1)[0]
        before, body = (
            f"{source.before}SELECT {key} AS g0, ",
            f" FROM {source.text}{self._where(source)} GROUP BY {key}",
        )
        self.counts = f"{before}{what} AS g1, COUNT({what}) AS a0{body}, {what}"
        return f"{before}MODE() WITHIN GROUP (ORDER BY {what}) AS a0{body}"

    def _running(self) -> str:
        """Running sums along one key, perhaps apart for another; in one SELECT or in two."""
        self._has("running", "window")
        source = self._from()
        keys = list(dict.fromkeys(self._keys(source.fields, self.random.choice([1, 1, 2]))))
        names = [f"g{number}" for number, _ in enumerate(keys)]
        aggregates = self._aggregates(source.fields, 1)[:2]
        down = self.random.choice(["", "", " DESC"])
        frame = self.random.choice(
            [
                "",
                "",
                " ROWS UNBOUNDED PRECEDING",
                " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
                " ROWS BETWEEN 6 PRECEDING AND 1 FOLLOWING",
            ]
        )
        items = [f"{key} AS {name}" for key, name in zip(keys, names, strict=True)]
        items += [f"{text} AS a{number}" for number, text in enumerate(aggregates)]
        body = f" FROM {source.text}{self._where(source)} GROUP BY {', '.join(keys)}"
        wrapped = self._maybe(0.5)
        along, *apart = names if wrapped else keys
        partition = f"PARTITION BY {apart[0]} " if apart and self._maybe(0.7) else ""
        over = f"OVER ({partition}ORDER BY {along}{down}{frame})"
        inner = f"SELECT {', '.join(items)}{body}"
        summed = [f"a{number}" for number, _ in enumerate(aggregates)] if wrapped else aggregates
        sums = [f"SUM({text}) {over} AS s{number}" for number, text in enumerate(summed)]
        if wrapped:
            columns = [*names, *summed]
            return f"{source.before}SELECT {', '.join([*columns, *sums])} FROM ({inner}) AS r"
        return f"{source.before}SELECT {', '.join([*items, *sums])}{body}"

    def _several(self) -> str:
        """Several releases in one statement."""
        self._has("several releases")
        one, other = self._from(simple=True), self._from(simple=True)
        a, b = self._aggregates(one.fields, 1)[0], self._aggregates(other.fields, 1)[0]
        where, there = self._where(one), self._where(other)
        form = self.random.choice(["union", "scalar", "join"])
        if form == "union":
            left = f"SELECT 'one' AS g0, {a} AS a0 FROM {one.text}{where}"
            return f"{left} UNION ALL SELECT 'two', {b} FROM {other.text}{there}"
        if form == "scalar":
            return f"SELECT (SELECT {a} FROM {one.text}{where}) AS a0, (SELECT {b} FROM {other.text}{there}) AS a1"
        return (
            f"SELECT x.a0, y.a1 FROM (SELECT {a} AS a0 FROM {one.text}{where}) AS x "
            f"CROSS JOIN (SELECT {b} AS a1 FROM {other.text}{there}) AS y"
        )

    def _figures(self) -> str:
        """Figures of the same rows under other conditions: subqueries, branches, WITH queries, and these in each other."""
        source = self._from(simple=True)
        if source.before:
            return self._several()
        self._has("figures", "arithmetic")
        count = self.random.choice([2, 2, 3, 4])
        common = self._where(source)
        asked = [self._aggregates(source.fields, 1)[0] for _ in range(count)]
        if self._maybe(0.5):
            asked = [self._whole(source) for _ in range(count)]
        selects = [f"SELECT {text} AS n FROM {source.text}{self._more(common, source)}" for text in asked]
        form = self.random.choice(["scalar", "union", "with", "with", "nested"])
        if form == "scalar":
            items = [f"({select}) AS a{number}" for number, select in enumerate(selects)]
            return f"SELECT {', '.join(items)}"
        if form == "union":
            branches = [f"SELECT 'b{n}' AS g0, {s.removeprefix('SELECT ')}" for n, s in enumerate(selects)]
            return " UNION ALL ".join(branch.replace(" AS n FROM", " AS a0 FROM", 1) for branch in branches)
        names = [f"w{number}" for number, _ in enumerate(selects)]
        items = [f"{name}.n AS a{number}" for number, name in enumerate(names)]
        if all(text.startswith(("COUNT", "SUM")) for text in asked):
            items = [f"{self.random.choice(['', '-', '2 * '])}{names[0]}.n - {names[1]}.n AS a0", *items[2:]]
        joined = names[0] + "".join(f"{self.random.choice([', ', ' CROSS JOIN '])}{name}" for name in names[1:])
        if form == "nested":
            joined = " CROSS JOIN ".join(f"({s}) AS {name}" for s, name in zip(selects, names, strict=True))
            return f"SELECT * FROM (SELECT {', '.join(items)} FROM {joined}) AS t LIMIT 10"
        defined = ", ".join(f"{name} AS ({select})" for name, select in zip(names, selects, strict=True))
        return f"WITH {defined} SELECT {', '.join(items)} FROM {joined}"

    def _more(self, common: str, source: From) -> str:
        """WHERE with one condition more than is common, or with none."""
        if self._maybe(0.3):
            return common
        more = self._condition(source.fields)
        return f"{common} AND ({more})" if common and " OR " not in common else f" WHERE {more}"

    def _whole(self, source: From) -> str:
        """A count or a sum, with a condition of its own or without."""
        numbers = [f for f in source.fields if f.kind in NUMERIC and f.bounded]
        what = f"SUM({self.random.choice(numbers).text})" if numbers and self._maybe(0.5) else "COUNT(*)"
        return what if self._maybe(0.5) else f"{what} FILTER (WHERE {self._condition(source.fields)})"

    def _sums(self) -> str:
        """Sums of aggregates, of which only the result is shown."""
        source = self._from()
        self._has("sums of aggregates", "arithmetic")
        keys = self._keys(source.fields, 1) if self._maybe(0.6) else []
        items = [f"{key} AS g{number}" for number, key in enumerate(keys)]
        for number in range(self.random.choice([1, 1, 2])):
            parts = [self._whole(source) for _ in range(self.random.choice([2, 2, 3]))]
            text = parts[0] + "".join(f" {self.random.choice(['-', '-', '+', '- 2 *'])} {part}" for part in parts[1:])
            items.append(f"{text} AS a{number}")
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"{source.before}SELECT {', '.join(items)} FROM {source.text}{self._where(source)}{group}"
