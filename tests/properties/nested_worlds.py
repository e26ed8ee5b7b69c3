"""Worlds whose people hold documents and lists, and questions about them: paths, items, rows made of items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from tests.properties.columns import Column
from tests.properties.drawing import world
from tests.properties.questions import Question
from tests.properties.world import Row, Table, World

NESTED = (
    Column("doc", "doc", "JSON"),
    Column("tags", "tags", "VARCHAR[]"),
    Column("nums", "nums", "INTEGER[]"),
)
"""Values are in DuckDB's words; PostgreSQL's lists have braces."""
_DOCUMENTS = (
    '{"k": "a", "n": 3, "in": {"k": "b"}, "l": ["a", "b"]}',
    '{"k": "b", "n": 2.5, "on": true, "l": ["a", null, 3, {"k": 1}]}',
    '{"k": null, "n": "7", "l": "a"}',
    '{"n": 1e300, "in": [1, [2, [3]]], "0": "zero"}',
    '["a", "b", {"k": "c"}]',
    '{"k": "\\ud83d\\ude00 \\n", "n": -12345678901234567890123}',
    '{"l": [' + ", ".join(["1"] * 60) + "]}",
    "[" * 90 + "]" * 90,
    '{"k": "\\u0000", "n": 1, "l": ["\\u0000"]}',
    *('"k"', "12", "null", "{}", "[]"),
)
_TAGS = ("[a]", "[a, b]", "[b, a, a, c]", "[]", "[NULL]", "[a, NULL]", "[" + ", ".join(["a"] * 60) + "]", "['']")
_NUMS = ("[1]", "[1, 2, 3]", "[]", "[NULL, 7]", "[2147483647, -2147483648]", "[" + ", ".join(["5"] * 60) + "]")
_DRAWN = {"doc": _DOCUMENTS, "tags": _TAGS, "nums": _NUMS}
FORMS = frozenset({"rows of items", "path", "any item", "all items", "through a subquery", "clamp", "span", "written"})


def nested_world(random: Random) -> World:
    """A random world, of which every table of people has documents and lists beside its other columns."""
    found = world(random)
    tables = tuple(table if table.public else _with_nested(table) for table in found.tables)
    rows = {
        table.name: [row if table.public else _extended(random, row) for row in found.rows[table.name]]
        for table in found.tables
    }
    return replace(found, tables=tables, rows=rows)


def _with_nested(table: Table) -> Table:
    return replace(table, columns=(*table.columns, *NESTED))


def _extended(random: Random, row: Row) -> Row:
    return (*row, *(None if random.random() < 0.1 else random.choice(_DRAWN[one.name]) for one in NESTED))


def nested_question(random: Random, place: World) -> Question:
    """One random question about the documents and lists of a world."""
    asker = _Nested(random, place, set())
    sql = asker.ask()
    return Question(sql, frozenset(asker.features))


@dataclass(slots=True)
class _Nested:
    """One question in the making. Of one table that is called t, or of items of its rows."""

    random: Random
    place: World
    features: set[str]

    def ask(self) -> str:
        table = self.random.choice(self.place.private)
        source, item, number = self._source(table)
        tests = [self._test() for _ in range(self.random.choice([0, 1, 1, 2]))]
        if item and self.random.random() < 0.4:
            tests.append(self.random.choice([f"{item} <> 'b'", f"LENGTH({item}) < 3", f"{item} IN ('a', 'c')"]))
        if number and self.random.random() < 0.4:
            tests.append(f"{number} > 1")
        if self.random.random() < 0.3:
            self.features.add("written")
            source += ", (VALUES ('a', 1), ('b', 2), ('a', 3)) AS w(k, m)"
            tests.append("w.k = t.doc ->> 'k'")
        figures = [self._figure(item, number) for _ in range(self.random.choice([1, 1, 2]))]
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        keys = [key for key in (self._key(item),) if key]
        listed = ", ".join([*keys, *(f"{one} AS a{place}" for place, one in enumerate(figures))])
        grouped = f" GROUP BY {', '.join(map(str, range(1, len(keys) + 1)))}" if keys else ""
        return f"SELECT {listed} FROM {source}{where}{grouped}"

    def _source(self, table: Table) -> tuple[str, str, str]:
        """FROM, and what items of texts and of numbers are called in it."""
        own = f"{table.name} AS t"
        if self.random.random() < 0.25:
            self.features.add("through a subquery")
            own = f"(SELECT * FROM {table.name}) AS t"
        form = self.random.choice(["plain", "plain", "tags", "nums", "doc", "part", "select"])
        if form == "plain":
            return own, "", ""
        self.features.add("rows of items")
        if form == "tags":
            return f"{own}, UNNEST(t.tags) AS i", "i", ""
        if form == "nums":
            return f"{own} CROSS JOIN LATERAL UNNEST(t.nums) AS i(n)", "", "i.n"
        if form == "part":
            return f"{own}, UNNEST(t.tags[2:4]) AS i(x)", "i.x", ""
        if form == "select":
            inner = f"SELECT doc, tags, nums, JSONB_ARRAY_ELEMENTS_TEXT(doc -> 'l') AS x FROM {table.name}"
            return f"({inner}) AS t", "t.x", ""
        return f"{own}, JSON_ARRAY_ELEMENTS_TEXT(t.doc -> 'l') AS i", "i", ""

    def _text(self) -> str:
        self.features.add("path")
        return self.random.choice(
            [
                *(
                    "t.doc ->> 'k'",
                    "t.doc -> 'in' ->> 'k'",
                    "t.doc #>> '{in,k}'",
                    "t.doc -> 'l' ->> 0",
                    "t.doc ->> 'l'",
                ),
                *("t.doc -> 'l' ->> -1", "t.doc #>> '{l,1}'", "t.doc #>> '{0}'", "JSON_EXTRACT_PATH_TEXT(t.doc, 'k')"),
                *("t.tags[1]", "ARRAY_TO_STRING(t.tags, ',')", "JSON_TYPEOF(t.doc -> 'l')"),
            ]
        )

    def _test(self) -> str:
        text = self._text()
        form = self.random.randrange(5)
        if form == 0:
            return f"{text} {self.random.choice(['= ' + chr(39) + 'a' + chr(39), 'IS NULL', 'IS NOT NULL', '<> ' + chr(39) * 2])}"
        if form == 1:
            self.features.add("any item")
            word = self.random.choice(["=", "<>", "<", ">="])
            return self.random.choice([f"'a' {word} ANY(t.tags)", f"2 {word} ANY(t.nums)", "t.tags && ARRAY['b', 'c']"])
        if form == 2:
            self.features.add("all items")
            word = self.random.choice(["=", "<>", "<", ">="])
            return self.random.choice([f"NOT 'a' {word} ALL(t.tags)", f"2 {word} ALL(t.nums)", "t.tags @> ARRAY['a']"])
        if form == 3:
            self.features.add("span")
            return (
                "(DATE '2020-01-01', (t.doc ->> 'k')::date) OVERLAPS (DATE '2020-01-02', INTERVAL '3 days') IS NOT TRUE"
            )
        return self.random.choice(
            [
                *('t.doc @> \'{"k": "a", "n": 3}\'', 'NOT t.doc @> \'{"in": {"k": "b"}}\'', "t.doc IS NULL"),
                *("CARDINALITY(t.tags) > 1", "ARRAY_LENGTH(t.nums, 1) IS NULL", "JSONB_ARRAY_LENGTH(t.doc -> 'l') > 1"),
                "(t.doc ->> 'n')::numeric > 2",
            ]
        )

    def _figure(self, item: str, number: str) -> str:
        self.features.add("clamp")
        summed = self.random.choice(
            ["(t.doc ->> 'n')::numeric", "CARDINALITY(t.tags)", "t.nums[1]", number or "t.nums[2]"]
        )
        low = self.random.choice([0, -3])
        bounded = self.random.choice([f"LEAST(GREATEST({summed}, {low}), 9)", f"GREATEST(LEAST({summed}, 9), {low})"])
        counted = item or number or self._text()
        return self.random.choice(
            [
                *("COUNT(*)", "COUNT(t.tags)", f"COUNT({counted})", f"COUNT(DISTINCT {counted})", f"SUM({bounded})"),
                *(f"AVG({bounded})", f"COUNT(*) FILTER (WHERE {self._test()})", f"SUM({bounded})"),
            ]
        )

    def _key(self, item: str) -> str:
        drawn = self.random.random()
        return "" if drawn < 0.5 else item if item and drawn < 0.8 else self._text()
