"""``(…)[n]`` is the n-th item as in PostgreSQL, whatever the parser takes the array for."""

from __future__ import annotations

import pytest

from rewriter.refused import Refused
from rewriter.statement import parse, plain_functions, plain_quantiles

QUANTILES = (
    "PERCENTILE_CONT(ARRAY[0.1, 0.5, 0.9]) WITHIN GROUP (ORDER BY x)",
    "PERCENTILE_DISC(ARRAY[0.1, 0.5, 0.9]) WITHIN GROUP (ORDER BY x)",
    "PERCENTILE_DISC('{0.1,0.5,0.9}'::float8[]) WITHIN GROUP (ORDER BY x)",
    "PERCENTILE_DISC(ARRAY[0.1, 0.5, 0.9]) WITHIN GROUP (ORDER BY x) FILTER (WHERE y)",
    "QUANTILE_CONT(x, ARRAY[0.1, 0.5, 0.9])",
    "QUANTILE_DISC(x, ARRAY[0.1, 0.5, 0.9])",
)


@pytest.mark.parametrize("quantiles", QUANTILES)
@pytest.mark.parametrize(("place", "fraction"), [(1, "0.1"), (2, "0.5"), (3, "0.9")])
def test_an_item_of_quantiles_is_that_of_its_fraction(quantiles: str, place: int, fraction: str) -> None:
    (item,) = plain_quantiles(parse(f"SELECT ({quantiles})[{place}] FROM t").tree).expressions
    assert f"({fraction}) WITHIN GROUP (ORDER BY x" in item.sql("postgres")


@pytest.mark.parametrize("quantiles", QUANTILES)
@pytest.mark.parametrize("place", [0, 4])
def test_of_places_beyond_the_list_there_is_none(quantiles: str, place: int) -> None:
    (item,) = plain_quantiles(parse(f"SELECT ({quantiles})[{place}] FROM t").tree).expressions
    assert item.sql("postgres").startswith("NULL")


def test_a_match_has_places_from_1_on() -> None:
    (item,) = plain_functions(parse("SELECT (REGEXP_MATCH(x, '(a)(b)'))[2] FROM t").tree).expressions
    assert item.sql("postgres").startswith("SUBSTRING(x FROM '(?:a)(b)')")


def test_what_is_no_place_is_refused() -> None:
    with pytest.raises(Refused):
        parse("SELECT x[] FROM t")
