"""Numbers over people as texts: a NUMERIC with the decimals that PostgreSQL prints, and NULL as NULL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing

import duckdb
import pytest

from dpsql.errors import Error
from dpsql.proxy import Session
from tests.doubles import open_without_noise
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:shop.duckdb; ledger: sqlite:shop.ledger; privacy_unit: buyer.id
budget: {epsilon: 10000, delta: 1e-6}; statement: {epsilon: 10, max_epsilon: 10}
tables:
  buyer: id, paid -99..99, items 0..9
""")
PRINTED = [
    ("paid", 2),
    ("-paid", 2),
    ("paid * 1.0", 3),
    ("paid + 0.125", 3),
    ("ABS(paid - 1)", 2),
    ("ROUND(paid, 3)", 3),
    ("TRUNC(paid, 1)", 1),
    ("ROUND(items, 2)", 2),
    ("ROUND(paid / 3, 2)", 2),
    ("FLOOR(paid / 7) * 7.0", 1),
    ("CASE WHEN items > 4 THEN 2.50 ELSE -1.25 END", 2),
    ("COALESCE(ROUND(paid / 3, 1), 0.5)", 1),
    ("NULLIF(paid, 0)", 2),
]
UNEVEN = [
    "paid / 3",
    "CASE WHEN items > 4 THEN -1.0 ELSE 2.50 END",
    "COALESCE(paid, 0)",
    "GREATEST(paid, 20) + 1",
    "-COALESCE(items, 0.5)",
    "EXTRACT(EPOCH FROM TIMESTAMP '2025-01-01' + items * INTERVAL '1 day')",
]


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("shop")
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE buyer (id INTEGER PRIMARY KEY, paid DECIMAL(6, 2), items INTEGER)")
        connection.execute(
            "INSERT INTO buyer SELECT range, CASE WHEN range % 5 > 0 THEN range % 40 - 10.5 END,"
            " CASE WHEN range % 4 > 0 THEN range % 10 END FROM range(4000)"
        )
    (folder / "policy.yaml").write_text(POLICY)
    with closing(open_without_noise(folder / "policy.yaml")) as proxy:
        yield proxy.session("ana")


@pytest.mark.parametrize(("number", "decimals"), PRINTED)
def test_a_numeric_is_printed_with_the_decimals_of_its_expression(ana: Session, number: str, decimals: int) -> None:
    answer = ana.execute(f"SELECT ({number})::text, COUNT(*) FROM buyer GROUP BY 1")
    shown = [text for text, count in answer.rows if text is not None and count]
    assert shown
    assert [text for text in shown if not re.fullmatch(rf"-?\d+\.\d{{{decimals}}}", text)] == []


@pytest.mark.parametrize("number", UNEVEN)
def test_a_numeric_whose_values_have_different_decimals_is_printed_when_a_statement_says_how_many(
    ana: Session, number: str
) -> None:
    sql = "SELECT 'x' || {}, COUNT(*) FROM buyer GROUP BY 1"
    with pytest.raises(Error, match="as many decimals as each value has") as raised:
        ana.execute(sql.format(f"({number})"))
    assert "ROUND(x, 2)::text" in str(raised.value)
    shown = [text for text, _ in ana.execute(sql.format(f"ROUND({number}, 2)::text")).rows if text is not None]
    assert shown
    assert [text for text in shown if not re.fullmatch(r"x-?\d+\.\d\d", text)] == []


@pytest.mark.parametrize("number", ["paid", "items", "paid / 7", "items / 7.0"])
def test_the_format_of_no_number_is_null(ana: Session, number: str) -> None:
    ((given, printed),) = ana.execute(f"SELECT COUNT({number}), COUNT(TO_CHAR({number}, 'FM990.00')) FROM buyer").rows
    assert 0 < printed == given < 4000
    ((missing,),) = ana.execute(f"SELECT COUNT(*) FROM buyer WHERE TO_CHAR({number}, '990.0') IS NULL").rows
    assert missing == 4000 - given
    ((shown,),) = ana.execute("SELECT TO_CHAR(NULLIF(COUNT(*), COUNT(*)), 'FM990.00') FROM buyer").rows
    assert shown is None
