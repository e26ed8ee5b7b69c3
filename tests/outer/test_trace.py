"""What is traced of an outer SELECT is true: the same rows, and forms whose value is the number that is shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from random import Random

import pytest
import sqlglot
from sqlglot import exp

from dpsql.errors import Error
from dpsql.finish.propagate import Piece, Row, Sources, TotalRows, row_number
from dpsql.releases.tables import Key, ReleasedColumn, ReleasedTable
from dpsql.releases.value_column import ValueColumn
from dpsql.sandbox.sandbox import Sandbox
from rewriter.declared.types import BIGINT, DOUBLE, INTEGER, TEXT, Type, decimal
from rewriter.outer.checks import check_outer, outer_sql
from rewriter.outer.over_replicates import REPLICATE, REPLICATES, replicated_sql
from rewriter.outer.provenance import Affine, Form, Mean, Measured, Public, Quotient, Rounding, Running
from rewriter.outer.tracing import Traced, row_column, trace
from rewriter.plan import Linear, Output, Ratio
from rewriter.release import Along, RunningSum

COUNT = Output("a0", BIGINT, Linear((("s", Fraction(1)),), integer=True, minimum=0), "COUNT(*)")
SUM = Output("a1", decimal(38, 2), Linear((("t", Fraction(1, 100)),)), "SUM(x)")
MEAN = Output("a2", DOUBLE, Ratio((("u", Fraction(1)),), (("v", Fraction(1)),), Fraction(0), Fraction(10)), "AVG(x)")
OUTPUTS = (COUNT, SUM, MEAN)
KINDS: dict[str, Type] = {"k0": TEXT, "k1": INTEGER, "a0": BIGINT, "a1": decimal(38, 2), "a2": DOUBLE}
NAMES = ("dpsql_release_0", "dpsql_release_1")
SCHEMA = {name: {**KINDS, row_column(0): BIGINT} for name in NAMES} | {"region": {"name": TEXT, "Size": INTEGER}}


def table(number: int, random: Random) -> ReleasedTable:
    keys: list[Key] = [(text, year) for text in ("a", "b", None) for year in (1, 2)]
    size = len(keys)
    return ReleasedTable(
        (
            ReleasedColumn("k0", TEXT, tuple(key[0] for key in keys)),
            ReleasedColumn("k1", INTEGER, tuple(key[1] for key in keys)),
            ReleasedColumn("a0", BIGINT, tuple(random.choice([0, 3, random.randrange(500)]) for _ in keys), (1.0,) * size),
            ReleasedColumn("a1", KINDS["a1"], tuple(Decimal(random.randrange(-999, 9999)) / 100 for _ in keys), (1.0,) * size),
            ReleasedColumn("a2", DOUBLE, tuple(random.choice([None, random.random() * 10]) for _ in keys), (1.0,) * size),
            ReleasedColumn(row_column(0), BIGINT, tuple(row_number(number, row) for row in range(size))),
        )
    )  # fmt: skip


# A generator of outer SELECTs: numbers over columns, sources inside of sources.


class Writer:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.aliases = 0

    def alias(self) -> str:
        self.aliases += 1
        return f"q{self.aliases}"

    def number(self, columns: Sequence[str], depth: int = 0) -> str:
        pick = self.random.choice
        if depth > 2 or self.random.random() < 0.3:
            return pick(columns)
        one, other = self.number(columns, depth + 1), self.number(columns, depth + 1)
        constant = pick(["2", "100", "0.5", "-3", "7.25", "1e2"])
        return pick([
            f"({one} + {other})", f"({one} - {other})", f"{one} * {constant}", f"{constant} * {one}", f"-({one})",
            f"{one} / {constant}", f"100.0 * {one} / NULLIF({other}, 0)", f"{one} / NULLIF({other}, 0)",
            f"ROUND({one}, {pick(['0', '1', '2'])})", f"CAST({one} AS DOUBLE PRECISION)", f"CAST({one} AS BIGINT)",
            f"CAST({one} AS NUMERIC(20, 1))", f"COALESCE({one}, 0)", f"({constant} - {one})", f"{constant} / NULLIF({one}, 0)",
            f"CASE WHEN {other} > 10 THEN {one} END", f"CASE WHEN {other} > 10 THEN {one} ELSE 0 END", f"ABS({one})",
            f"({one} + {constant})", f"{one} * {other}", f"SUM({pick(columns)}) OVER (PARTITION BY k)",
        ])  # fmt: skip

    def source(self, depth: int = 0) -> str:
        """Something with the columns k, y and the measured n, s, m."""
        pick = self.random.choice
        table = pick(NAMES)
        if depth > 2 or self.random.random() < 0.3:
            return f"SELECT {table}.k0 AS k, {table}.k1 AS y, {table}.a0 AS n, {table}.a1 AS s, {table}.a2 AS m FROM {table}"
        inner, other = self.source(depth + 1), self.source(depth + 1)
        a, b = self.alias(), self.alias()
        return pick([
            f"SELECT * FROM ({inner}) AS {a}",
            f"SELECT {a}.* FROM ({inner}) AS {a} WHERE n > 5 ORDER BY s LIMIT 5",
            f"SELECT * FROM ({inner}) AS {a}(k, y, n) ORDER BY n DESC",
            f"WITH {a} AS ({inner}) SELECT * FROM {a}",
            f"WITH {a}(k, y, n, s, m) AS ({inner}) SELECT x.k, x.y, x.n - z.n AS n, z.s, x.m FROM {a} AS x "
            f"LEFT JOIN {a} AS z ON x.k = z.k AND x.y = z.y",
            f"SELECT {a}.k, {b}.y, {a}.n + {b}.n AS n, {b}.s AS s, {a}.m AS m FROM ({inner}) AS {a} "
            f"{pick(['JOIN', 'LEFT JOIN', 'FULL JOIN'])} ({other}) AS {b} ON {a}.k = {b}.k AND {a}.y = {b}.y",
            f"SELECT {a}.k, {a}.y, {a}.n AS n, {b}.s AS s, {b}.m AS m FROM ({inner}) AS {a} "
            f"JOIN ({other}) AS {b} ON {a}.k = {b}.k AND {a}.y = {b}.y",
            f"SELECT k, y, n, s, m FROM ({inner}) AS {a} JOIN region ON name = k",
            f"({inner}) UNION ALL ({other})",
            f"SELECT k, y, SUM(n) AS n, SUM(s) AS s, AVG(m) AS m FROM ({inner}) AS {a} GROUP BY k, y",
            f"SELECT DISTINCT * FROM ({inner}) AS {a}",
            f"SELECT {a}.* FROM ({inner}) AS {a} JOIN (SELECT name AS k FROM region) AS {b} ON {a}.k = {b}.k",
            f"SELECT * FROM ({inner}) AS {a} WHERE n IN (SELECT n FROM ({other}) AS {b}) OR n > (SELECT AVG(n) FROM ({inner}) AS {self.alias()})",
            f"SELECT k, y, {self.number(['n', 's', 'n * 2'])} AS n, s, m FROM ({inner}) AS {a}",
        ])  # fmt: skip

    def query(self) -> str:
        columns = ["n", "s", "m"]
        items = ", ".join(f"{self.number(columns)} AS c{number}" for number in range(3))
        tail = self.random.choice(["", " ORDER BY c0, k, y", " WHERE n > 2", " ORDER BY 3 DESC LIMIT 4"])
        return f"SELECT k, {items}, n FROM ({self.source()}) AS t{tail}"


# What the forms say


def value(form: Form, rows: Sequence[Row | None]) -> float | None:
    """The number that a form stands for, of released numbers; None where one is missing."""

    def released(term: tuple[int, str]) -> float | None:
        place = rows[term[0]]
        if isinstance(place, TotalRows):
            shown = [place.piece.columns[term[1]].values[row] for row in place.members]
            known = [float(one) for one in shown if one is not None]  # type: ignore[arg-type]
            return sum(known) / (len(known) if place.mean else 1) if known else None
        found = None if place is None else place[0].columns[term[1]].values[place[1]]
        return None if found is None else float(found)  # type: ignore[arg-type]

    def affine(one: Affine) -> float | None:
        parts = [(released(term), float(weight)) for term, weight in one.terms]
        if any(part is None for part, _ in parts):
            return None
        return float(one.constant) + sum(part * weight for part, weight in parts if part is not None)

    if isinstance(form, Affine):
        return affine(form)
    if isinstance(form, Mean):
        mean = released(form.term)
        return None if mean is None else float(form.factor) * mean + float(form.constant)
    if isinstance(form, Quotient):
        above, below = affine(form.above), affine(form.below)
        return above / below if above is not None and below else None
    raise AssertionError(form)


def check_shown(column: Measured, shown: object, rows: Sequence[Row | None]) -> bool:
    """Whether a shown number is what its form says, but for the roundings that the form knows of."""
    if shown is None:
        return True
    found = value(column.form, rows)
    if found is None:
        # COALESCE shows its constant.
        return True
    slack = float(getattr(column.form, "slack", 0))
    if isinstance(column.rounding, Rounding):
        slack += float(column.rounding.slack)
    return math.isclose(float(shown), found, rel_tol=1e-9, abs_tol=slack * (1 + 1e-9) + 1e-9)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    found = Sandbox.open()
    import pyarrow as pa

    found.load_public("region", pa.table({"name": ["a", "b"], "Size": [1, 2]}))
    yield found
    found.close()


def traced(sql: str) -> tuple[exp.Query, Traced]:
    tree = sqlglot.parse_one(sql, read="postgres")
    assert isinstance(tree, exp.Query)
    check_outer(tree, SCHEMA)
    found = trace(tree, (), dict.fromkeys(NAMES, OUTPUTS), SCHEMA)
    assert found is not None, sql
    return tree, found


def pieces(tables: Sequence[ReleasedTable]) -> list[Piece]:
    from tests.calibrate.plans import plan

    return [Piece(plan(outputs=OUTPUTS), {}, one) for one in tables]


def check(sandbox: Sandbox, sql: str, random: Random) -> tuple[int, int]:
    """How many numbers were of a known form, and how many were measured."""
    tables = [table(number, random) for number in range(2)]
    named = dict(zip(NAMES, tables, strict=True))
    tree, found = traced(sql)
    try:
        columns, plain = sandbox.run(outer_sql(tree, SCHEMA), named)
    except Error:
        return 0, 0
    more, rows = sandbox.run(outer_sql(found.tree, SCHEMA), named)
    width = len(columns)
    assert len(found.columns) == width
    assert list(more[:width]) == list(columns), sql
    if not tree.find(exp.Limit):
        # The order of a join without ORDER BY is nobody's, and with it the last digits of sums.
        assert in_any_order(row[:width] for row in rows) == in_any_order(plain), sql
    assert len(more) == width + found.slots
    known = pieces(tables)
    exact = 0
    numbers = [ValueColumn.of(BIGINT, [row[at] for row in rows]) for at in range(width, len(more))]
    sources = Sources.of(numbers, known, len(rows), [slot.total for slot in found.origins])
    for number, row in enumerate(rows):
        places = sources.row(number)
        for column, shown in zip(found.columns, row, strict=False):
            if isinstance(column.form, Affine | Quotient | Mean) and column.noisy:
                exact += 1
                assert check_shown(column, shown, places), f"{sql}\n{column}\n{shown} {value(column.form, places)}"
    check_replicates(sandbox, found, named, rows, width)
    return exact, sum(column.noisy for column in found.columns) * len(rows)


def check_replicates(
    sandbox: Sandbox, found: Traced, tables: dict[str, ReleasedTable], rows: Sequence[tuple[object, ...]], width: int
) -> None:
    """Asked all at once, a replicate has the rows that it has alone, in any order."""
    sql = replicated_sql(found.tree, SCHEMA, NAMES, width + found.slots)
    numbered = {}
    for name, one in tables.items():
        marks = ReleasedColumn(REPLICATE, INTEGER, (7,) * one.rows)
        numbered[name] = ReleasedTable((*one.columns, marks))
    numbered[REPLICATES] = ReleasedTable((ReleasedColumn(REPLICATE, INTEGER, (7,)),))
    try:
        _, answered = sandbox.run(sql, numbered)
    except Error:
        return
    if not found.tree.find(exp.Limit):
        assert in_any_order(row[1:] for row in answered) == in_any_order(rows), sql


def in_any_order(rows: Iterable[Sequence[object]]) -> list[str]:
    return sorted(repr([f"{cell:.8g}" if isinstance(cell, float) else cell for cell in row]) for row in rows)


@pytest.mark.parametrize("part", range(4))
def test_forms_say_what_is_shown(sandbox: Sandbox, part: int) -> None:
    exact = measured = 0
    for seed in range(part * 1000, part * 1000 + 25):
        random = Random(seed)
        counts = check(sandbox, Writer(random).query(), random)
        exact, measured = exact + counts[0], measured + counts[1]
    assert exact > 20, "the generator draws what is traced"
    assert measured > exact, "and what is not"


@pytest.mark.campaign
def test_forms_say_what_is_shown_for_long(sandbox: Sandbox) -> None:
    for seed in range(100_000, 110_000):
        random = Random(seed)
        check(sandbox, Writer(random).query(), random)


@pytest.mark.quick
def test_what_no_number_was_measured_for_is_public(sandbox: Sandbox) -> None:
    _, found = traced(
        "SELECT k0, k1 * 2, 'x', 1 + 1, (SELECT MAX(\"Size\") FROM region) FROM dpsql_release_0 WHERE k1 > 1"
    )
    assert [column.noisy for column in found.columns] == [False] * 5
    assert isinstance(found.columns[0].form, Public)


@pytest.mark.quick
def test_rows_that_an_order_leaves_open_come_by_their_keys() -> None:
    """The SELECT itself says which of two equal rows comes first, to DuckDB and to who answers in its place."""
    _, found = traced("SELECT k0 FROM dpsql_release_0 ORDER BY k1 DESC LIMIT 2")
    *_, last = found.tree.args["order"].expressions
    assert last.this.sql() == '"dpsql_release_0"."dpsql_row_0"'
    _, found = traced("SELECT DISTINCT k0 FROM dpsql_release_0 ORDER BY k0")
    assert len(found.tree.args["order"].expressions) == 1


def test_a_scalar_subquery_over_a_release_is_measured(sandbox: Sandbox) -> None:
    _, found = traced("SELECT k0, (SELECT SUM(a0) FROM dpsql_release_1) FROM dpsql_release_0")
    assert [column.noisy for column in found.columns] == [False, True]


def test_a_running_sum_of_another_tree_is_an_error() -> None:
    """The windows that are running sums are nodes of the tree: where it was copied on the way, they are lost."""
    tree = sqlglot.parse_one("SELECT SUM(a0) OVER (ORDER BY k0) AS s FROM r")
    assert isinstance(tree, exp.Query)
    window = tree.find(exp.Window)
    assert window is not None
    sums = RunningSum(0, "a0", Along((0,), descending=False))
    released, schema = {"r": [Output("a0", BIGINT, Linear(()), "COUNT(*)")]}, {"r": {"k0": TEXT, "a0": BIGINT}}
    found = trace(tree, ((window, sums),), released, schema)
    assert found is not None
    assert isinstance(found.columns[0].form, Running)
    with pytest.raises(KeyError):
        trace(tree.copy(), ((window, sums),), released, schema)
