"""Nothing that is computed from released numbers fails because of their values: it was paid for."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from random import Random

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from dpsql.display.csv_json import as_csv, as_json
from dpsql.errors import Error
from dpsql.releases.tables import ReleasedColumn, ReleasedTable
from dpsql.sandbox.sandbox import OuterAnswer, Sandbox
from rewriter.declared.types import BIGINT, DATE, DOUBLE, SMALLINT, TEXT, TIMESTAMP, decimal
from rewriter.outer.checks import check_outer, outer_sql
from rewriter.outer.null_for_errors import total_sql
from rewriter.refused import Refused
from tests.doubles import open_without_noise

EXTREMES = ReleasedTable(
    (
        ReleasedColumn("n", BIGINT, (0, -1, 2**63 - 1, -(2**63), None, 7)),
        ReleasedColumn("s", SMALLINT, (0, -32768, 32767, 1, None, 7)),
        ReleasedColumn("x", DOUBLE, (0.0, -1.0, 1.7e308, 5e-324, None, float("inf"))),
        ReleasedColumn("m", decimal(38, 2), tuple(map(Decimal, ("0", f"-{'9' * 36}", "9" * 36, "0.01", "1", "7")))),
        ReleasedColumn("k", TEXT, ("", "abc", "12", "2024-02-30", None, "1e400")),
        ReleasedColumn(
            "d",
            DATE,
            (datetime.date.min, datetime.date.max, datetime.date(2024, 2, 29), None) + (datetime.date.max,) * 2,
        ),
        ReleasedColumn(
            "t", TIMESTAMP, (datetime.datetime.min, datetime.datetime.max.replace(microsecond=0), None) + (None,) * 3
        ),
    )
)
MODERATE = ReleasedTable(
    tuple(
        ReleasedColumn(one.name, one.type, ({"x": 1.5}.get(one.name, one.values[0 if one.name in "kdt" else -1]),) * 2)
        for one in EXTREMES.columns
    )
)
EXAMPLES = 100
SCHEMA = {"r": {column.name: column.type for column in EXTREMES.columns}}

NUMBERS = ("n", "s", "x", "m", "0", "7", "-1", "1e200", "1e-308", "0.5", "9223372036854775807", "LENGTH(k)")
UNARY = (
    "-({})",
    "ABS({})",
    "SQRT({})",
    "LN({})",
    "LOG({})",
    "EXP({})",
    "CEIL({})",
    "FLOOR({})",
    "ROUND({})",
    "SIGN({})",
)
CASTS = ("smallint", "integer", "bigint", "numeric(5, 2)", "numeric", "double precision", "text", "numeric(38, 30)")
MORE_UNARY = (
    "ROUND({}, 2)",
    "TRUNC({}, 3)",
    "SIN({})",
    "ACOS({})",
    "COT({})",
    "TAN({})",
    "CBRT({})",
    "CAST({} AS text)",
)
OPERATORS = ("+", "-", "*", "/", "%", "^")
TESTS = ("{} > {}", "{} BETWEEN {} AND 5", "{} IS DISTINCT FROM {}", "NOT {} = {}", "{} IN ({}, 3)")
AGGREGATES = ("SUM({})", "AVG({})", "MIN({})", "STDDEV({})", "VAR_POP({})", "COUNT({})", "CORR({}, x)", "MEDIAN({})")
WINDOWS = ("SUM({}) OVER (ORDER BY n)", "AVG({}) OVER ()", "LAG({}) OVER (ORDER BY n)", "RANK() OVER (ORDER BY {})")
TEXTS = ("LEFT(k, ({})::int)", "SUBSTRING(k, ({})::int)", "CHR(({})::int)", "k || ({})", "LPAD(k, 9, ({})::text)")
TIMES = (
    "d + ({})::int",
    "t + ({}) * INTERVAL '1 year'",
    "MAKE_DATE(({})::int, 2, 29)",
    "k::date",
    "d + INTERVAL '9000 years'",
)


class _Drawing:
    """Random expressions of everything that an outer SELECT may compute with."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def number(self, depth: int = 3) -> str:
        choose = self._random
        if depth == 0 or choose.random() < 0.15:
            return choose.choice(NUMBERS)
        inner = self.number(depth - 1)
        match choose.randrange(8):
            case 0 | 1:
                return choose.choice(UNARY + MORE_UNARY[:-1]).format(inner)
            case 2:
                return f"CAST({inner} AS {choose.choice(CASTS[:-2])})"
            case 3:
                return f"CASE WHEN {self.test(depth - 1)} THEN {inner} ELSE {self.number(depth - 1)} END"
            case 4:
                return f"COALESCE({inner}, {self.number(depth - 1)})"
            case 5:
                return f"(SELECT {choose.choice((*AGGREGATES, '{}'))} FROM r AS q)".format(inner)
            case _:
                return f"({inner} {choose.choice(OPERATORS)} {self.number(depth - 1)})"

    def test(self, depth: int) -> str:
        return self._random.choice(TESTS).format(self.number(depth), self.number(depth))

    def item(self) -> str:
        shape = self._random.choice(("{}", "CAST({} AS " + self._random.choice(CASTS) + ")", *TEXTS, *TIMES, *WINDOWS))
        return shape.format(self.number(2))

    def select(self) -> str:
        draw = self._random
        if draw.random() < 0.5:
            return f"SELECT {self.item()} AS a, n FROM r WHERE {self.test(1)} OR n IS NULL ORDER BY {self.number(1)}"
        aggregate = draw.choice(AGGREGATES).format(self.number(2))
        outer = draw.choice(("{}", "{} * 9223372036854775807", "CAST({} AS smallint)", "SQRT(-{})")).format(aggregate)
        key = self.number(1)
        return f"SELECT {key} AS k, {outer} AS a FROM r GROUP BY {key} HAVING {aggregate} IS NOT NULL OR COUNT(*) > 0"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    opened = Sandbox.open()
    yield opened
    opened.close()


def computed(sandbox: Sandbox, text: str) -> OuterAnswer | None:
    """The answer; None for what is refused by its text and types, before anything is paid."""
    tree = sqlglot.parse_one(text, read="postgres")
    assert isinstance(tree, exp.Query)
    try:
        check_outer(tree, SCHEMA)
        sql = outer_sql(tree, SCHEMA)
        described = sandbox.describe(sql, {"r": list(SCHEMA["r"].items())})
    except (Refused, Error):
        return None
    found = sandbox.answer(sql, {"r": EXTREMES})
    assert found.columns == described, text
    return found


def test_no_expression_over_extreme_values_fails(sandbox: Sandbox) -> None:
    answered = lacking = 0
    for seed in range(EXAMPLES):
        found = computed(sandbox, _Drawing(Random(seed)).select())
        answered += found is not None
        lacking += found is not None and found.undefined
    assert answered > 0.7 * EXAMPLES, "the expressions are not refused before they are computed"
    assert lacking > 0.2 * EXAMPLES, "and many of them have no result for some value"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT CAST(n AS smallint) FROM r", [(0,), (-1,), (None,), (None,), (None,), (7,)]),
        ("SELECT COALESCE(SQRT(s), -1) FROM r WHERE s < 8", [(0.0,), (-1.0,), (1.0,), (7**0.5,)]),
        ("SELECT SUM(s) * 9223372036854775807 FROM r WHERE s > 1", [(None,)]),
        ("SELECT SUM(r.m) FROM r, r AS q WHERE r.s = 32767", [(None,)]),
        ("SELECT SUM(r.m) / 2 FROM r, r AS q WHERE r.s = 7", [(Decimal("21.00"),)]),
        ("SELECT (SELECT n FROM r) FROM r WHERE s = 1", [(None,)]),
        ("SELECT (SELECT q.s FROM r AS q WHERE q.n = r.n) * n FROM r WHERE s IN (0, 32767)", [(0,), (None,)]),
        ("SELECT COUNT(*) FROM r GROUP BY n + 1 HAVING MAX(n) + 1 > 0 ORDER BY MAX(n) + 1", [(1,), (1,)]),
        ("SELECT d + INTERVAL '9000 years' FROM r WHERE s = 0", [(datetime.datetime(9001, 1, 1),)]),
        ("SELECT d + INTERVAL '9000 years' FROM r WHERE s = 32767", [(None,)]),
        ("SELECT NTILE(s) OVER () FROM r WHERE s = 0", [(1,)]),
    ],
)
def test_what_has_no_result_is_null_and_all_else_stays(sandbox: Sandbox, text: str, rows: list[object]) -> None:
    found = computed(sandbox, text)
    assert found is not None
    assert list(found.rows) == rows


def test_a_negative_number_of_rows_is_postgresqls_error(sandbox: Sandbox) -> None:
    with pytest.raises(Error) as raised:
        computed(sandbox, "SELECT s FROM r ORDER BY s LIMIT (SELECT -COUNT(*) FROM r)")
    assert raised.value.sqlstate == "2201W"


def test_a_text_that_fails_whatever_the_values_are_is_refused_before_it_is_paid_for(sandbox: Sandbox) -> None:
    for text in ("SELECT k ~ '(' FROM r", "SELECT REGEXP_REPLACE(k, '[', 'x') FROM r", r"SELECT k LIKE 'a\' FROM r"):
        assert computed(sandbox, text) is None


def test_only_a_select_is_made_total() -> None:
    assert total_sql("DROP TABLE r") is None
    assert total_sql("SELECT (") is None


@pytest.mark.quick
def test_a_total_select_has_the_rows_of_the_plain_one_where_nothing_fails(sandbox: Sandbox) -> None:
    compared = 0
    for seed in range(EXAMPLES // 2):
        tree = sqlglot.parse_one(_Drawing(Random(seed)).select(), read="postgres")
        assert isinstance(tree, exp.Query)
        try:
            sql = outer_sql(tree, SCHEMA)
            plain = sandbox.run(sql, {"r": MODERATE})
        except Error:
            continue
        total = total_sql(sql)
        assert total is not None
        assert repr(sandbox.run(total, {"r": MODERATE})) == repr(plain), sql
        compared += 1
    assert compared > 0.2 * EXAMPLES


STATEMENTS = (
    "SELECT COUNT(*) * 1e200 FROM patient",
    "SELECT COUNT(*) / 1e-308, COUNT(*) * 1e200 * 1e200 FROM patient",
    "SELECT SUM(weight) * 1e308 * 1e308, AVG(weight) * 1e300 FROM patient",
    "SELECT CEIL(COUNT(*) * 1e308 * 10), ROUND(COUNT(*) * 1e308 * 10, 3) FROM patient",
    "SELECT SUM(weight) / COUNT(*) * 1e306 FROM patient",
    "SELECT sex, COUNT(*)::smallint * 1000, (COUNT(*) * 1e12)::int FROM patient GROUP BY sex",
    "SELECT EXP(COUNT(*)), POWER(COUNT(*), 200), LN(COUNT(*) - 100000) FROM patient",
    "SELECT STDDEV(n * 1e200), SUM(n * 1e308), CORR(n, n * 1e300) FROM (SELECT COUNT(*) AS n FROM patient GROUP BY sex) t",
    "SELECT sex, SUM(COUNT(*) * 1e308) OVER (ORDER BY sex) FROM patient GROUP BY sex",
    "SELECT COUNT(*) + (SELECT COUNT(*) FROM patient GROUP BY sex) FROM patient",
    "SELECT 1 FROM patient HAVING COUNT(*) > 0",
    "SELECT 'x' AS d FROM patient HAVING COUNT(1) > 0",
    "SELECT 1 FROM patient HAVING TRUE",
    "SELECT DATE '2025-01-01' + COUNT(*)::int * 100000 FROM patient",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("extreme")
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE patient (id INTEGER PRIMARY KEY, sex VARCHAR, weight DOUBLE)")
        connection.execute("INSERT INTO patient SELECT i, 'F', 60 + i % 9 FROM range(500) t(i)")
    for accounting, delta in (("pure", 0), ("zcdp", "1e-6"), ("approx", "1e-6")):
        (folder / f"{accounting}.yaml").write_text(
            f"""
database: duckdb:clinic.duckdb
ledger: sqlite:{accounting}.ledger
privacy_unit: patient.id
budget: {{epsilon: 1000, delta: {delta}, accounting: {accounting}}}
statement: {{epsilon: 1, max_epsilon: 10}}
tables: {{patient: {{columns: {{id: {{}}, sex: {{values: [F, M]}}, weight: {{range: [20, 200]}}}}}}}}
"""
        )
    return folder


@pytest.mark.parametrize("accounting", ["pure", "zcdp", "approx"])
def test_every_statement_of_extreme_numbers_is_answered(folder: Path, accounting: str) -> None:
    proxy = open_without_noise(folder / f"{accounting}.yaml")
    session = proxy.session()
    for intervals in ("off", "on"):
        session.execute(f"SET dpsql.intervals = {intervals}")
        for sql in STATEMENTS:
            session.explain(sql)
            answer = session.execute(sql)
            assert as_json(answer)
            assert as_csv(answer)
            assert len(answer.rows[0]) == len(session.describe(sql))
    proxy.close()


def test_an_answer_says_where_postgresql_would_have_stopped(folder: Path) -> None:
    proxy = open_without_noise(folder / "zcdp.yaml")
    session = proxy.session()
    cast = session.execute("SELECT (COUNT(*) * 1000)::smallint, COUNT(*) FROM patient")
    assert cast.rows == ((None, 500),)
    assert any("PostgreSQL stops" in notice for notice in cast.notices)
    beyond = session.execute("SELECT COUNT(*) * 1e200 * 1e200 FROM patient")
    assert beyond.rows == ((float("inf"),),)
    assert any("Infinity" in notice for notice in beyond.notices)
    plain = session.execute("SELECT COUNT(*) FROM patient")
    assert not any("PostgreSQL" in notice for notice in plain.notices)
    with pytest.raises(Error) as constant:
        session.execute("SELECT CAST('x' AS integer)")
    assert constant.value.sqlstate == "22P02", "what is free fails as it does in PostgreSQL"
    proxy.close()
