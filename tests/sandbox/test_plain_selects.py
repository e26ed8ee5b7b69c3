"""Plain SELECTs answer as DuckDB does, wherever they answer at all."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from unittest.mock import patch

import pytest

from dpsql.releases import ReleasedColumn, ReleasedTable
from dpsql.sandbox import Sandbox
from dpsql.sandbox.plain_selects import MOST_ROWS, plain_select
from rewriter.declared import BIGINT, BOOLEAN, DATE, DOUBLE, INTEGER, TEXT, Kind, Scalar, Type
from rewriter.declared.contribution import Norm
from rewriter.dialects.duckdb import DUCKDB
from rewriter.program import rewrite
from rewriter.refused import NeedsAnswer, Refused
from rewriter.statement.parser import Select, parse
from tests.golden.pairs import clinic, pairs

_VALUES: Mapping[Kind, Sequence[Scalar]] = {
    Kind.BOOLEAN: (True, False),
    Kind.INTEGER: (*range(-40, 40), 30_000, -30_000),
    Kind.DOUBLE: (0.0, -0.0, 1.5, -2.25, 1e300, 5e-324, float("inf"), *(number / 7 for number in range(60))),
    Kind.TEXT: ("", "a", "A", "ä", "Z", "b ", "b", "\uffff", "\U0001f600", *(f"v{number}" for number in range(60))),
    Kind.DATE: tuple(datetime.date(1999, 12, 1) + datetime.timedelta(31 * number) for number in range(60)),
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    opened = Sandbox.open()
    yield opened
    opened.close()


def column(name: str, type_: Type, rows: int, draw: random.Random, *, apart: bool) -> ReleasedColumn:
    """Values, with NULL among them; each once if they are ``apart``, as far as there are so many."""
    choices: Sequence[Scalar | None] = (*_VALUES.get(type_.kind, ()), None)
    some = draw.sample(choices, rows) if apart and rows <= len(choices) else draw.choices(choices, k=rows)
    return ReleasedColumn(name, type_, tuple(some))


def by_duckdb(sandbox: Sandbox, sql: str, tables: Mapping[str, ReleasedTable]) -> str:
    with patch.object(Sandbox, "_plain", return_value=None):
        columns, rows = sandbox.run(sql, tables)
    return repr((columns, list(rows)))


def test_the_goldens_are_answered_alike(sandbox: Sandbox) -> None:
    known, draw, compared, answered = clinic(), random.Random(5), 0, 0
    for pair in pairs():
        try:
            statement = parse(pair.sql)
            if not isinstance(statement, Select):
                continue
            outer = rewrite(statement.tree, known, DUCKDB, norms=(Norm.L2,), others=pair.others).outer
        except (Refused, NeedsAnswer):
            continue
        plain = plain_select(outer.shown_sql)
        if plain is None:
            continue
        for rows in (0, 1, 12, 50):
            tables = {
                name: ReleasedTable(
                    tuple(column(one, type_, rows, draw, apart=type_ != BOOLEAN) for one, type_ in columns)
                )
                for name, columns in outer.released_columns.items()
            }
            compared += 1
            found = plain.answer(tables)
            if found is not None:
                answered += 1
                assert repr((found[0], list(found[1]))) == by_duckdb(sandbox, outer.shown_sql, tables), pair.path.stem
    assert compared > 100
    assert answered > compared / 2


def test_drawn_selects_are_answered_alike(sandbox: Sandbox) -> None:
    draw, answered, left = random.Random(7), 0, 0
    types = {"k": TEXT, "n": BIGINT, "i": INTEGER, "x": DOUBLE, "b": BOOLEAN, "d": DATE}
    for _ in range(400):
        rows = draw.choice([0, 1, 7, 36])
        table = ReleasedTable(
            tuple(column(name, type_, rows, draw, apart=bool(draw.getrandbits(1))) for name, type_ in types.items())
        )
        names = draw.choices(list(types), k=draw.randrange(1, 5))
        sql = "SELECT " + ", ".join(f'r.{name} AS "{name}{at}"' for at, name in enumerate(names)) + " FROM r"
        conditions = draw.sample(["r.b", "r.n > 5", "r.i <= -3", "r.n <> 0", "r.i >= 2", "r.n < 12"], draw.randrange(3))
        if conditions:
            sql += " WHERE " + " AND ".join(conditions)
        by = draw.sample([*(f"r.{name}" for name in types), f'"{names[0]}0"'], draw.randrange(3))
        if by:
            ways = ("", " DESC", " NULLS FIRST", " DESC NULLS FIRST", " ASC NULLS LAST", " DESC NULLS LAST")
            sql += " ORDER BY " + ", ".join(one + draw.choice(ways) for one in by)
        sql += draw.choice(["", " LIMIT 0", " LIMIT 1", " LIMIT 10"])
        plain = plain_select(sql)
        assert plain is not None, sql
        found = plain.answer({"r": table})
        if found is None:
            left += 1
            continue
        answered += 1
        assert repr((found[0], list(found[1]))) == by_duckdb(sandbox, sql, {"r": table}), sql
    assert answered > 200
    assert left > 10


def table_of(*columns: tuple[str, Type, tuple[Scalar | None, ...]]) -> Mapping[str, ReleasedTable]:
    return {"r": ReleasedTable(tuple(ReleasedColumn(*one) for one in columns))}


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("SELECT r.n AS n FROM r ORDER BY r.k", (("k", BIGINT, (1, 1)), ("n", BIGINT, (1, 2)))),
        ("SELECT r.n AS n FROM r ORDER BY r.k LIMIT 1", (("k", BIGINT, (1, 1)), ("n", BIGINT, (1, 2)))),
        ("SELECT r.n AS n FROM r ORDER BY r.n", (("n", DOUBLE, (float("nan"), 1.0)),)),
        ("SELECT r.n AS n FROM r", (("n", Type(Kind.INTEGER, bits=128), (1, 2)),)),
        ("SELECT r.n AS n FROM r", (("n", Type(Kind.DECIMAL, precision=9, scale=2), (Decimal("1.50"),)),)),
        ("SELECT r.n AS n FROM r WHERE r.n > 1", (("n", DOUBLE, (1.0, 2.0)),)),
        ("SELECT r.n AS n FROM r WHERE r.n", (("n", BIGINT, (1, 0)),)),
        ("SELECT r.n AS n FROM r", (("n", BIGINT, tuple(range(MOST_ROWS + 1))),)),
        ("SELECT r.m AS n FROM r", (("n", BIGINT, (1, 2)),)),
        ("SELECT q.n AS n FROM q", (("n", BIGINT, (1, 2)),)),
        ("SELECT r.n AS n FROM r", (("N", TEXT, ("a", "b")), ("n", BIGINT, (1, 2)))),
    ],
)
def test_what_may_differ_is_left_to_duckdb(
    sql: str, values: tuple[tuple[str, Type, tuple[Scalar | None, ...]], ...]
) -> None:
    plain = plain_select(sql)
    assert plain is not None
    assert plain.answer(table_of(*values)) is None


def test_rows_behind_the_limit_need_not_be_told_apart() -> None:
    plain = plain_select("SELECT r.n AS n FROM r ORDER BY r.n DESC LIMIT 2")
    assert plain is not None
    found = plain.answer(table_of(("n", BIGINT, (1, 5, 1, 9, 1))))
    assert found is not None
    assert found[1] == ((9,), (5,))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DISTINCT r.n AS n FROM r",
        "SELECT r.n + 1 AS n FROM r",
        "SELECT r.n AS n FROM r GROUP BY r.n",
        "SELECT r.n AS n FROM r LIMIT 1 OFFSET 1",
        "SELECT r.n AS n FROM r LIMIT 10 PERCENT",
        "SELECT r.n AS n FROM r LIMIT (SELECT 1)",
        "SELECT r.n AS n FROM r AS s",
        "SELECT s.n AS n FROM r AS s",
        "SELECT r.n AS n FROM main.r",
        "SELECT r.n AS n FROM r, s",
        "SELECT r.n AS n FROM r JOIN s ON TRUE",
        "SELECT r.n AS n FROM (SELECT 1 AS n) AS r",
        "WITH r AS (SELECT 1 AS n) SELECT r.n AS n FROM r",
        "SELECT r.n AS n FROM r UNION ALL SELECT r.n AS n FROM r",
        "SELECT r.n AS n FROM r WHERE r.n > 1 OR r.b",
        "SELECT r.n AS n FROM r WHERE NOT r.b",
        "SELECT r.n AS n FROM r WHERE r.n > 1.5",
        "SELECT r.n AS n FROM r WHERE r.n > '1'",
        "SELECT r.n AS n FROM r WHERE r.n > 1000000000000000000000",
        "SELECT r.n AS n FROM r WHERE r.n > r.m",
        "SELECT r.n AS n FROM r QUALIFY ROW_NUMBER() OVER () = 1",
        "SELECT r.n AS n FROM r ORDER BY 1",
        "SELECT r.n AS n FROM r ORDER BY r.n + 1",
        "SELECT r.n AS n FROM r ORDER BY m",
        "SELECT r.n AS n, r.m AS N FROM r ORDER BY n",
        'SELECT r.n AS "Ä" FROM r ORDER BY "ä"',
        "SELECT FROM r",
        "SELECT r.n AS n FROM r ORDER BY ALL",
        "SELECT r.n AS n FROM r USING SAMPLE 1",
        "SELECT r.n AS n FROM r TABLESAMPLE RESERVOIR(1)",
        "SELECT * FROM r",
        "SELECT r.n AS n FROM r; SELECT 1",
        "SELECT r.n AS n FROM r WHERE",
        "SET threads = 8",
        "SELECT r.* FROM r",
    ],
)
def test_other_nodes_are_no_plain_select(sql: str) -> None:
    assert plain_select(sql) is None
