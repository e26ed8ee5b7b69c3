"""No stored text makes an engine raise, however long it is, and no expression makes too much of one."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from rewriter.bound.sql_size import MAX_EXPANDED_SQL, check_expanded
from rewriter.declared.types import INTEGER, TEXT
from rewriter.dialects.dialect import Dialect
from rewriter.dialects.duckdb import DUCKDB
from rewriter.dialects.postgres import POSTGRES
from rewriter.expressions.compile import compile_expression
from rewriter.expressions.text_length import LONGEST, MOST_GROWTH
from rewriter.expressions.value import Value
from rewriter.refused import Refused
from tests.attacks.cases import STATEMENTS, Case, cases
from tests.attacks.dbapi_way import open_dbapi
from tests.attacks.library import postgres_library
from tests.engines.postgres_server import shared_server

GROWTH = cases(STATEMENTS / "growth.sql")
HUGE = 300_000_000


class _Columns:
    """Texts a and b, and a number i."""

    def column(self, node: exp.Column) -> Value:
        type_ = INTEGER if node.name == "i" else TEXT
        return Value.unknown(exp.column(node.name), type_)

    def membership(self, node: exp.In | exp.Exists) -> Value:
        raise AssertionError(node)


def compiled(text: str, dialect: Dialect = DUCKDB) -> str:
    tree = sqlglot.parse_one(text, dialect="postgres")
    return dialect.sql(compile_expression(tree, _Columns(), dialect).sql)


def lengths(text: str, *sizes: int, also: str = "y") -> list[int | None]:
    """How long the expression is, over texts ``a`` of these lengths; None where it is NULL."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (a TEXT, b TEXT, i INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?, 7)", [("x" * size, also) for size in sizes])
        return [row[0] for row in connection.execute(f"SELECT LENGTH({compiled(text)}) FROM t").fetchall()]


@pytest.mark.parametrize(
    ("text", "most", "made"),
    [
        ("REPEAT(a, 2)", LONGEST // 2, LONGEST),
        ("a || b", LONGEST - 1, LONGEST),
        ("a || a || a", LONGEST // 3, LONGEST - 1),
        ("CONCAT(a, 'zz')", LONGEST - 2, LONGEST),
        ("CONCAT_WS(b, a, 'z')", LONGEST - 2, LONGEST),
        ("REPLACE(a, 'x', 'xyz')", LONGEST // 3, LONGEST - 1),
        ("REPLACE(a, 'xx', 'xyz')", LONGEST // 2, LONGEST * 3 // 4),
        ("REPEAT(LOWER(a || b), 2)", LONGEST // 2 - 1, LONGEST),
        ("REPEAT(REPLACE(a, 'x', 'xyz'), 3)", LONGEST // 9, LONGEST // 9 * 9),
    ],
)
def test_what_a_query_makes_longer_is_null_beyond_a_limit(text: str, most: int, made: int) -> None:
    assert lengths(text, most, most + 1, 10_000_000) == [made, None, None]


@pytest.mark.parametrize("text", ["LOWER(a)", "REVERSE(a)", "TRIM(a)", "SUBSTRING(a FROM 1)", "COALESCE(a, b)"])
def test_what_is_not_made_longer_is_not_cut(text: str) -> None:
    assert lengths(text, 0, LONGEST, 10_000_000) == [0, LONGEST, 10_000_000]


@pytest.mark.parametrize(
    "text", ["LPAD(a, 9) || b || 'z'", "LEFT(a, 9) || 'yz'", "i || 'yz'", "SUBSTRING(a FROM 2 FOR 9) || 'yz'"]
)
def test_short_texts_need_no_guard_of_what_is_stored(text: str) -> None:
    assert "STRLEN(a)" not in compiled(text).upper()


def test_a_missing_text_counts_as_none_only_where_it_is_left_out() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT CAST(NULL AS TEXT) AS a, 'y' AS b")
        asked = ", ".join(
            compiled(text) for text in ("CONCAT(a, b)", "a || b", "CONCAT_WS(b, a, b)", "CONCAT_WS(a, b)")
        )
        assert connection.execute(f"SELECT {asked} FROM t").fetchone() == ("y", None, "y", None)


@pytest.mark.parametrize("dialect", [DUCKDB, POSTGRES], ids=["duckdb", "postgres"])
@pytest.mark.parametrize(
    "text",
    [
        "REPEAT(REPEAT(a, 100), 11)",
        "REPLACE(REPLACE(a, 'x', '" + "x" * 100 + "'), 'x', '" + "x" * 11 + "')",
        "REPEAT(CASE WHEN i > 3 THEN REPEAT(a, 50) ELSE b END, 50)",
        "REPEAT(COALESCE(REPEAT(a, 50), b), 50)",
        "REPEAT(UPPER(REPEAT(a, 50)), 50)",
        "CONCAT(" + ", ".join(["REPEAT(a, 60)"] * 20) + ")",
        "CONCAT_WS(REPEAT(a, 100)" + ", b" * 20 + ")",
        "REPEAT(LPAD(a, 1000), 70)",
    ],
)
def test_more_growth_than_is_allowed_is_refused(text: str, dialect: Dialect) -> None:
    assert MOST_GROWTH < 1100
    with pytest.raises(Refused) as refused:
        compiled(text, dialect)
    assert refused.value.sqlstate == "54001"


def test_a_chain_of_a_hundred_has_one_guard() -> None:
    text = " || ".join(["a", "b"] * 50)
    assert compiled(text).upper().count("CASE") == 1


def test_a_tree_is_measured_with_its_subqueries_put_in() -> None:
    def nested(levels: int, tail: str) -> exp.Expr:
        sql = "SELECT x FROM t"
        for _ in range(levels):
            sql = f"SELECT x + x AS x FROM ({sql}) AS t{tail}"
        return sqlglot.parse_one(sql)

    levels = MAX_EXPANDED_SQL.bit_length()
    check_expanded(nested(levels - 5, ""))
    check_expanded(nested(2 * levels, " LIMIT 10"))
    with pytest.raises(Refused):
        check_expanded(nested(levels, ""))
    with pytest.raises(Refused):
        pushed = nested(levels, " GROUP BY x")
        check_expanded(sqlglot.select("1").from_(exp.Subquery(this=pushed, alias="t")).where("t.x > 5"))


@pytest.mark.campaign
def test_a_text_of_300_megabytes_makes_postgres_raise_nothing(tmp_path: Path) -> None:
    """Unguarded, LOWER and TRIM and every regular expression raise for it, which tells that it is there. That it takes
    long is outside of the promise."""
    library = postgres_library(tmp_path / "with", with_person=True)
    name = library.policy.read_text().split("\n")[0].rpartition("/")[2]
    with shared_server().owner(name) as connection:
        connection.execute(f"UPDATE loan SET title = repeat('x', {HUGE}) WHERE id = 700004")
        with pytest.raises(Exception, match="memory"):
            connection.execute("SELECT title ~ 'x+y' FROM loan WHERE id = 700004")
    asked = [
        "SELECT COUNT(*) FROM loan WHERE UPPER(title) > 'x' OR title ILIKE '%y' OR title ~ 'x+y' OR TRIM(title) = ''",
        "SELECT COUNT(title::int), COUNT(title::date), COUNT(title::double precision), COUNT(title::boolean) FROM loan",
        "SELECT COUNT(*) FROM loan WHERE title || title > 'x' OR REPEAT(title, 100) > 'x'",
        "SELECT COUNT(DISTINCT title) FROM loan",
    ]
    with open_dbapi(library) as way:
        for sql in asked:
            (step,) = way.ask(Case("long", (sql,), GROWTH[0].usual, (), False, False, ""))
            assert step.kind == "charged" or step.error == "57014", (sql, step.told)
