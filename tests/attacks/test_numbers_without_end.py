"""A number is a few letters, and may take all the memory there is: such ones are refused before they are computed."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction

import pytest

from dpsql.errors import DataError, Error
from dpsql.policy.policy import StatementSection
from dpsql.server.session.parameters import decoded
from dpsql.settings import Settings
from rewriter.refused import Refused
from rewriter.statement.parser import MAX_DIGITS, Select, parse

OWNER = StatementSection(epsilon=Fraction(1), max_epsilon=Fraction(8), delta=Fraction(0))
ENDLESS = ["1e999999999", "1e-999999999", "1E+99999999", "0.1e-4294967297", "9" * (MAX_DIGITS + 1)]


@pytest.mark.parametrize("number", [*ENDLESS, "1/1e999999999", "1e100", "0x10", "1/0", "٣", "1__0", ""])
def test_no_price_takes_long_to_be_refused(number: str) -> None:
    started = time.process_time()
    with pytest.raises(DataError):
        Settings(Fraction(1)).changed("dpsql.epsilon", number, OWNER)
    assert time.process_time() - started < 10


@pytest.mark.parametrize(("number", "price"), [("0.5", "1/2"), ("1/3", "1/3"), ("1e-3", "1/1000"), ("'2'", "2")])
def test_prices_are_understood_as_they_were(number: str, price: str) -> None:
    assert Settings(Fraction(1)).changed("dpsql.epsilon", number, OWNER).epsilon == Fraction(price)


@pytest.mark.parametrize("number", ENDLESS)
def test_no_literal_takes_long_to_be_refused(number: str) -> None:
    started = time.process_time()
    for text in (
        f"SELECT {number}",
        f"SELECT COUNT(*) * -{number} FROM t",
        f"EXPLAIN SELECT x FROM t WHERE x > {number}",
    ):
        with pytest.raises(Refused) as caught:
            parse(text)
        assert caught.value.sqlstate == "22003"
    assert time.process_time() - started < 10


@pytest.mark.parametrize("value", [Decimal("1e999999999"), Decimal("1e-999999999"), 10**4000, -(10**4000)])
def test_no_parameter_takes_long_to_be_refused(value: object) -> None:
    started = time.process_time()
    with pytest.raises(Refused) as caught:
        parse("SELECT ?", [value])
    assert caught.value.sqlstate == "22003"
    assert time.process_time() - started < 10


@pytest.mark.parametrize("text", ["1e308", "5e-324", "0.000000000000000000001", "9" * 38, "1e0000005"])
def test_numbers_that_engines_hold_are_let_through(text: str) -> None:
    assert isinstance(parse(f"SELECT {text}"), Select)


@pytest.mark.parametrize("values", [[], [b"1", b"2"]])
def test_too_few_or_too_many_values_are_an_error_of_the_client(values: list[bytes]) -> None:
    with pytest.raises(Error) as caught:
        decoded([23], values, [], lambda oid, value: value)
    assert caught.value.sqlstate == "08P01"
