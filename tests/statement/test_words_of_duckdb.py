"""Words that DuckDB has beside PostgreSQL's, as what they are in PostgreSQL's."""

from __future__ import annotations

import pytest

from rewriter.refused import Refused
from rewriter.statement import parse, plain_functions


def plain(sql: str) -> str:
    return plain_functions(parse(sql).tree).sql("postgres")


@pytest.mark.parametrize(
    ("call", "field"),
    [
        ("YEAR(d)", "YEAR"),
        ("quarter(d)", "QUARTER"),
        ("Month(d)", "MONTH"),
        ("WEEK(d)", "WEEK"),
        ("DAY(d)", "DAY"),
        ("DAYOFWEEK(d)", "DOW"),
        ("ISODOW(d)", "ISODOW"),
        ("DAYOFYEAR(d)", "DOY"),
        ("HOUR(d)", "HOUR"),
        ("MINUTE(d)", "MINUTE"),
    ],
)
def test_a_field_of_a_time_is_extracted(call: str, field: str) -> None:
    name = call.partition("(")[0].lower()
    assert plain(f"SELECT {call} AS y FROM t") == f"SELECT EXTRACT({field} FROM d) AS y FROM t"
    assert plain(f"SELECT {call} FROM t").endswith(f'EXTRACT({field} FROM d) AS "{name}" FROM t')


@pytest.mark.parametrize(
    ("by_all", "by_places"),
    [
        ("SELECT a, b + 1, COUNT(*) FROM t GROUP BY ALL", "SELECT a, b + 1, COUNT(*) FROM t GROUP BY 1, 2"),
        ("SELECT COUNT(*), a FROM t GROUP BY ALL ORDER BY 2", "SELECT COUNT(*), a FROM t GROUP BY 2 ORDER BY 2"),
        (
            "SELECT a, SUM(COUNT(*)) OVER (ORDER BY a), SUM(x) / COUNT(*) FROM t GROUP BY ALL",
            "SELECT a, SUM(COUNT(*)) OVER (ORDER BY a), SUM(x) / COUNT(*) FROM t GROUP BY 1",
        ),
        ("SELECT COUNT(*) FROM t GROUP BY ALL", "SELECT COUNT(*) FROM t"),
        (
            "SELECT MAX(n) FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY ALL) AS s",
            "SELECT MAX(n) FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY 1) AS s",
        ),
    ],
)
def test_group_by_all_is_by_every_item_without_an_aggregate(by_all: str, by_places: str) -> None:
    assert parse(by_all).tree == parse(by_places).tree


def test_all_is_no_column() -> None:
    with pytest.raises(Refused) as refused:
        parse("SELECT a FROM t GROUP BY")
    assert refused.value.hint == "name a column"
