"""Regressions on the wire: described before they are answered, as numbers and as the text of an array."""

from __future__ import annotations

import pytest

from dpsql.server.session.backend import Backend
from tests.clients.test_protocol import SYNC, Client, backend, bind, describe, execute, parse, query

__all__ = ["backend"]

CALL = "LINREGR(weight_kg, ARRAY[1, height_cm, birth_year])"
ASKED = f"SELECT sex, {CALL}, ({CALL}).r2, ({CALL}).coef[2] AS slope FROM patient GROUP BY sex ORDER BY sex"
NAMES = ["sex", "linregr", "r2", "slope"]
FLOAT8, FLOAT8S, TEXT = 701, 1022, 25


@pytest.fixture
def client(backend: Backend) -> Client:
    return Client(backend)


def test_a_regression_is_described_and_answered(client: Client) -> None:
    client.send(query("SET dpsql.digits = all"))  # A single number is shown to the digits that mean something.
    found = client.send(parse(ASKED, "s"), describe("S", "s"), bind(statement="s"), execute(), SYNC)
    (columns,) = [one.columns for one in found if one.kind == "T"]
    assert [name for name, _, _ in columns] == NAMES
    assert [kind for _, kind, _ in columns] == [TEXT, FLOAT8S, FLOAT8, FLOAT8]
    rows = [one.values for one in found if one.kind == "D"]
    assert len(rows) == 2
    for _, listed, share, slope in rows:
        numbers = (listed or b"").decode().strip("{}").split(",")
        assert len(numbers) == 3
        assert numbers[1] == (slope or b"NULL").decode()
        assert share is None or 0 <= float(share) <= 1


def test_ends_of_coefficients_are_arrays_too(client: Client) -> None:
    found = client.send(query("SET dpsql.intervals = on"), query(f"SELECT {CALL} FROM patient"))
    (values,) = [one.values for one in found if one.kind == "D"]
    middle, low, high = ((one or b"").decode().strip("{}").split(",") for one in values)
    assert len(middle) == len(low) == len(high) == 3
    ends = [three for three in zip(low, middle, high, strict=True) if "NULL" not in three]
    assert all(float(a) <= float(b) <= float(c) for a, b, c in ends)


def test_a_refusal_says_what_would_work(client: Client) -> None:
    found = client.send(query("SELECT LINREGR(weight_kg, height_cm) FROM patient"))
    assert any(one.kind == "E" for one in found)
