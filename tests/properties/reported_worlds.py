"""Worlds whose people randomized some columns themselves, and questions about what they truly have.

In a *wild* one the reports are anything, undeclared ones too. In a *tame* one people reported the truth, under laws that
say so but for one in a hundred million: then an answer without noise is the engine's own to the same SQL over the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from rewriter.declared import Rappor
from tests.properties.columns import Column
from tests.properties.drawing import world
from tests.properties.questions import Question
from tests.properties.world import Row, Rows, Table, World

SITES = ("a", "b", "c")
SURE = Rappor(SITES, 24, 2, Fraction(0), Fraction(0), Fraction(1), 2)
"""Reports are the values' own bits; no value has all bits of another one."""

FORMS = frozenset(
    {
        *("key", "two keys", "plain key", "filter", "where", "share", "case", "sum of reports", "mean of reports"),
        *("of a value", "is null", "bits", "through a subquery", "join of rows", "having", "wrapper", "or", "text"),
    }
)


@dataclass(frozen=True, slots=True)
class ReportedColumn(Column):
    """A column of reports: ``law`` is how the policy says it."""

    law: str = ""

    def policy(self, total: object = None) -> str:
        values = ", ".join(repr(one) if isinstance(one, str) else str(one).lower() for one in self.listed or ())
        return f"{{values: [{values}], randomized: {{{self.law}}}}}"


def _columns(*, sure: bool) -> tuple[ReportedColumn, ...]:
    bits = "rappor: {bits: 24, hashes: 2, cohorts: 2, f: 0, p: 0, q: 1}" if sure else "rappor: {bits: 12, cohorts: 2}"
    laws = ["response: 20"] * 3 if sure else ["response: 1.1", "response: 0.3", "response: 2"]
    return (
        ReportedColumn("smokes", "reported", "VARCHAR", ("yes", "no"), not_null=True, law=laws[0]),
        ReportedColumn("drinks", "reported", "INTEGER", (1, 2, 3), law=laws[1]),
        ReportedColumn("well", "reported", "BOOLEAN", (True, False), law=laws[2]),
        ReportedColumn("site", "reported", "VARCHAR", SITES, law=bits),
    )


_WILD: tuple[tuple[object, ...], ...] = (
    ("yes", "no", "no", "perhaps", ""),
    (1, 2, 3, 3, None, 7, -(2**31)),
    (True, False, None),
    ("0:111111111111", "1:111111111111", "0:000000000000", "1:010101010101", "2:1", "", None, "a", "x" * 40),
)


def reported_world(random: Random, *, tame: bool = False) -> World:
    """A random world, of which people, and tables with one row of a person, have reports beside their other columns."""
    found = world(random, tame=tame)
    columns = _columns(sure=tame)
    tables = tuple(_with_reports(found, table, columns) for table in found.tables)
    rows = {
        table.name: [(*row, *_drawn(random, columns, tame=tame)) for row in found.rows[table.name]]
        if _has_reports(found, table)
        else found.rows[table.name]
        for table in found.tables
    }
    return replace(found, tables=tables, rows=rows)


def _has_reports(place: World, table: Table) -> bool:
    return not table.public and (place.entity is None or table.name in ("person", "card"))


def _with_reports(place: World, table: Table, columns: Sequence[Column]) -> Table:
    if not _has_reports(place, table):
        return table
    once = {"max_rows": 1} if table.name == "card" else {}
    return replace(table, columns=(*table.columns, *columns), bounds=tuple({**dict(table.bounds), **once}.items()))


def _drawn(random: Random, columns: Sequence[Column], *, tame: bool) -> Row:
    if not tame:
        return tuple(random.choice(values) for values in _WILD)
    return tuple(
        None if not column.not_null and random.random() < 0.1 else random.choice(column.listed or ())
        for column in columns
    )


def reports_of(place: World, random: Random) -> Rows:
    """The rows of a tame world as people reported them: bits for sites, and all else as it is."""
    found = dict(place.rows)
    for table in place.tables:
        if _has_reports(place, table):
            found[table.name] = [(*row[:-1], _bits(row[-1], random)) for row in place.rows[table.name]]
    return found


def _bits(site: object, random: Random) -> object:
    if site is None:
        return None
    cohort = random.randrange(SURE.cohorts)
    bloom = SURE.bloom(cohort, SITES.index(str(site)))
    return SURE.spelt(cohort, [bit in bloom for bit in range(SURE.bits)])


def reported_question(random: Random, place: World) -> Question:
    """One random question about what people truly have."""
    asker = _Reported(random, place, set())
    return Question(asker.ask(), frozenset(asker.features))


@dataclass(slots=True)
class _Reported:
    """One question in the making. The table with reports is called t, and rows of people that it is joined with v."""

    random: Random
    place: World
    features: set[str]
    bits: bool = False

    def ask(self) -> str:
        table = self.random.choice([one for one in self.place.tables if _has_reports(self.place, one)])
        self.bits = self._maybe(0.2)
        source, rows, alias = self._source(table)
        keys = self._keys(table)
        tests = [self._test(table)] if self._maybe(0.4) else []
        if tests:
            self.features.add("where")
        figures = [self._figure(table, rows, alias) for _ in range(self.random.choice([1, 1, 2, 3]))]
        items = [f"{key} AS g{at}" for at, key in enumerate(keys)]
        items += [f"{one} AS a{at}" for at, one in enumerate(figures)]
        where = f" WHERE {tests[0]}" if tests else ""
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        if keys and self._maybe(0.2):
            self.features.add("having")
            group += " HAVING COUNT(*) >= 0"
        sql = f"SELECT {', '.join(items)} FROM {source}{where}{group}"
        if self._maybe(0.15):
            self.features.add("wrapper")
            sql = f"SELECT * FROM ({sql}) AS virtual_table LIMIT 1000"
        return sql

    def _maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    def _source(self, table: Table) -> tuple[str, Table, str]:
        own = f"{table.name} AS t"
        if self._maybe(0.2):
            self.features.add("through a subquery")
            own = f"(SELECT * FROM {table.name}) AS t"
        if table.name == "person" and self._maybe(0.4):
            self.features.add("join of rows")
            rows = self.place.table("visit")
            return f"{own} JOIN visit AS v ON v.person_id = t.id", rows, "v"
        return own, table, "t"

    def _keys(self, table: Table) -> list[str]:
        keys: list[str] = []
        if self._maybe(0.6):
            self.features.add("key")
            names = ["smokes", "drinks", "well"]
            number = 2 if not self.bits and self._maybe(0.25) else 1
            keys = ["t.site"] if self.bits else [f"t.{one}" for one in self.random.sample(names, number)]
            if number == 2:
                self.features.add("two keys")
        others = [one.name for one in table.columns if one.kind in ("cat", "flag") and one.listed is not None]
        if others and self._maybe(0.35):
            self.features.add("plain key")
            keys.append(f"t.{self.random.choice(others)}")
        return keys

    def _numbers(self, table: Table, alias: str) -> list[str]:
        kinds = ("small", "tiny", "money")
        return [f"{alias}.{one.name}" for one in table.columns if one.kind in kinds and one.span is not None]

    def _test(self, table: Table) -> str:
        if self.bits:
            self.features.add("bits")
            return self.random.choice(["t.site = 'a'", "t.site IN ('b', 'c')", "t.site <> 'a'", "t.site IS NULL"])
        form = self.random.randrange(6)
        if form == 0:
            self.features.add("is null")
            return self.random.choice(["t.drinks IS NULL", "t.drinks IS NOT NULL", "COALESCE(t.drinks, 0) = 0"])
        if form == 1:
            self.features.add("text")
            return self.random.choice(["t.smokes LIKE 'y%'", "UPPER(t.smokes) = 'NO'", "LENGTH(t.smokes) = 2"])
        numbers = self._numbers(table, "t")
        if form == 2 and numbers:
            self.features.add("or")
            return f"(t.smokes = 'yes' OR {self.random.choice(numbers)} > 3)"
        return self.random.choice(
            [
                *(
                    "t.smokes = 'yes'",
                    "t.smokes <> 'yes'",
                    "t.smokes = 'perhaps'",
                    "t.drinks IN (1, 3)",
                    "t.drinks >= 2",
                ),
                *("t.well", "NOT t.well", "t.well IS TRUE", "t.drinks BETWEEN 2 AND 3", "t.drinks * 10 > 15"),
                *("t.smokes = 'yes' AND t.drinks = 1", "t.well OR t.smokes = 'no'"),
            ]
        )

    def _figure(self, table: Table, rows: Table, alias: str) -> str:
        test = self._test(table)
        numbers = self._numbers(rows, alias)
        number = self.random.choice(numbers) if numbers else "1"
        form = self.random.randrange(9)
        if form == 0:
            self.features.add("filter")
            return f"{self.random.choice(['COUNT(*)', f'SUM({number})'])} FILTER (WHERE {test})"
        if form == 1:
            self.features.add("share")
            return f"AVG(CASE WHEN {test} THEN 1 ELSE 0 END)"
        if form == 2:
            self.features.add("case")
            return f"SUM(CASE WHEN {test} THEN {number} ELSE 0 END)"
        if form == 3 and not self.bits:
            self.features.add("sum of reports")
            return "SUM(t.drinks)"
        if form == 4 and not self.bits:
            self.features.add("mean of reports")
            return self.random.choice(["AVG(t.drinks)", "AVG(CASE t.drinks WHEN 1 THEN 10 WHEN 2 THEN 0 ELSE -5 END)"])
        if form == 5:
            self.features.add("of a value")
            return self.random.choice(["COUNT(t.drinks)", "COUNT(t.smokes)"]) if not self.bits else "COUNT(t.site)"
        return self.random.choice(["COUNT(*)", f"SUM({number})", f"AVG({number})"])
