"""Error bars are seen over the wire: one notice, digits that mean something, and functions for one column."""

from __future__ import annotations

import pytest

from dpsql.server.session.backend import Backend
from tests.clients.test_protocol import SYNC, Client, Reply, backend, bind, describe, execute, parse, query

__all__ = ["backend"]

BY_SEX = "SELECT sex, COUNT(*) AS n, AVG(height_cm) AS h FROM patient GROUP BY sex ORDER BY sex"


@pytest.fixture
def client(backend: Backend) -> Client:
    return Client(backend)


def notices(found: list[Reply]) -> list[str]:
    return [one.fields["M"] for one in found if one.kind == "N"]


def texts(found: list[Reply], at: int) -> list[str]:
    return [(one.values[at] or b"").decode() for one in found if one.kind == "D"]


def told(found: list[Reply]) -> list[str]:
    return [text for text in notices(found) if text.startswith("95 %: ")]


def test_one_notice_says_how_far_off_the_numbers_are(client: Client) -> None:
    (said,) = told(client.send(query(BY_SEX)))
    assert "n ± " in said
    assert "h ± 0." in said
    assert said.endswith("(SET dpsql.intervals = on for columns)")
    assert told(client.send(query(BY_SEX))) == [said], "also where the answer is free"


def test_nothing_is_told_twice(client: Client) -> None:
    assert not told(client.send(query("SET dpsql.intervals = on"), query(BY_SEX)))
    client.send(query("SET dpsql.intervals = off"), query("SET dpsql.target_error = '50'"))
    found = client.send(query(BY_SEX))
    assert not told(found)
    assert sum("error bars are now" in text for text in notices(found)) <= 1
    assert not notices(client.send(query("SET dpsql.notices = off"), query(BY_SEX)))
    assert not told(client.send(query("RESET ALL"), query("SELECT name FROM region")))


def test_doubles_have_the_digits_that_mean_something(client: Client) -> None:
    few = texts(client.send(query(BY_SEX)), 2)
    assert all(len(text) <= 6 for text in few), few
    every = texts(client.send(query("SET dpsql.digits = all"), query(BY_SEX)), 2)
    assert all(len(text) > 10 for text in every), every
    assert [round(float(text), 2) for text in every] == [float(text) for text in few]
    assert texts(client.send(query("SHOW dpsql.digits")), 0) == ["all"]
    assert texts(client.send(query("RESET dpsql.digits"), query(BY_SEX)), 2) == few
    refused = [one.fields for one in client.send(query("SET dpsql.digits = 3")) if one.kind == "E"]
    assert [one["C"] for one in refused] == ["22023"]


def test_ends_are_rounded_outwards(client: Client) -> None:
    client.send(query("SET dpsql.intervals = on"))
    short = client.send(query(BY_SEX))
    exact = client.send(query("SET dpsql.digits = all"), query(BY_SEX))
    for low, least, high, most in zip(
        texts(short, 5), texts(exact, 5), texts(short, 6), texts(exact, 6), strict=True
    ):  # fmt: skip
        assert float(low) <= float(least) < float(most) <= float(high)
        assert len(low) <= 6
        assert len(high) <= 6


def test_types_stay(client: Client) -> None:
    found = client.send(parse(BY_SEX), bind(results=(1,)), describe("P"), execute(), SYNC)
    assert [oid for one in found if one.kind == "T" for _, oid, _ in one.columns] == [25, 20, 701]


def test_low_high_and_margin_are_columns(client: Client) -> None:
    ends = "dpsql.low(COUNT(*)), dpsql.high(COUNT(*)) AS most, dpsql.margin(COUNT(*))"
    sql = f"SELECT sex, COUNT(*) AS n, {ends} FROM patient GROUP BY sex"
    found = client.send(query(sql))
    (columns,) = [one.columns for one in found if one.kind == "T"]
    assert [(name, oid) for name, oid, _ in columns][1:] == [("n", 20), ("low", 20), ("most", 20), ("margin", 701)]
    for reply in found:
        if reply.kind == "D":
            n, low, high, margin = (float(value or b"x") for value in reply.values[1:])
            assert low <= n <= high
            assert margin == n - low == high - n


def test_a_probe_of_ends_is_free(client: Client) -> None:
    before = client.spent()
    sql = "SELECT sex, dpsql.low(COUNT(*)), dpsql.margin(AVG(weight_kg)) FROM patient GROUP BY sex LIMIT 0"
    (columns,) = [one.columns for one in client.send(query(sql)) if one.kind == "T"]
    assert [(name, oid) for name, oid, _ in columns] == [("sex", 25), ("low", 20), ("margin", 701)]
    assert client.spent() == before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) + dpsql.low(COUNT(*)) FROM patient",
        "SELECT sex FROM patient GROUP BY sex HAVING dpsql.low(COUNT(*)) > 100",
        "SELECT sex, dpsql.low(COUNT(*)) FROM patient GROUP BY sex ORDER BY 2",
        "SELECT sex, dpsql.low(COUNT(*)) AS least FROM patient GROUP BY sex ORDER BY least DESC",
        "SELECT sex, dpsql.low(COUNT(*)) FROM patient GROUP BY sex ORDER BY dpsql.low(COUNT(*))",
        "SELECT DISTINCT dpsql.low(COUNT(*)) FROM patient GROUP BY sex",
        "SELECT MAX(a) FROM (SELECT dpsql.low(COUNT(*)) AS a FROM patient GROUP BY sex) AS x",
        "SELECT dpsql.low(COUNT(*)) FROM patient UNION ALL SELECT 1",
        "SELECT dpsql.low(sex) FROM patient GROUP BY sex",
        "SELECT dpsql.low(dpsql.low(COUNT(*))) FROM patient",
        "SELECT dpsql.low(weight_kg) FROM patient",
        "SELECT dpsql.median(COUNT(*)) FROM patient",
    ],
)
def test_what_would_read_an_end_is_refused_and_free(client: Client, sql: str) -> None:
    before = client.spent()
    assert [one.kind for one in client.send(query(sql))] == ["E", "Z"]
    assert client.spent() == before
