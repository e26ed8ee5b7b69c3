"""``dpsql.intervals`` on the wire: rows and their descriptions agree, whenever the setting changes."""

from __future__ import annotations

import pytest

from dpsql.server.session.backend import Backend
from tests.clients.test_protocol import SYNC, Client, Reply, backend, bind, describe, execute, kinds, parse, query

__all__ = ["backend"]

BY_SEX = "SELECT sex, COUNT(*) AS n, COUNT(*) * 2.5 AS more FROM patient GROUP BY sex ORDER BY sex"
PLAIN = ["sex", "n", "more"]
WIDE = ["sex", "n", "n_low", "n_high", "more", "more_low", "more_high"]
ON, OFF = query("SET dpsql.intervals = on"), query("SET dpsql.intervals = off")


@pytest.fixture
def client(backend: Backend) -> Client:
    return Client(backend)


def described(found: list[Reply]) -> list[list[str]]:
    return [[name for name, _, _ in one.columns] for one in found if one.kind == "T"]


def widths(found: list[Reply]) -> set[int]:
    return {len(one.values) for one in found if one.kind == "D"}


def test_simple_queries_have_ends_after_set(client: Client) -> None:
    assert described(client.send(query(BY_SEX))) == [PLAIN]
    found = client.send(ON, query(BY_SEX))
    assert described(found) == [WIDE]
    assert widths(found) == {7}
    for reply in found:
        if reply.kind == "D":
            _, n, low, high, *_ = reply.values
            assert int(low or b"x") <= int(n or b"x") <= int(high or b"x")
    assert described(client.send(OFF, query(BY_SEX))) == [PLAIN]


def test_describing_a_statement_and_a_portal_says_what_comes(client: Client) -> None:
    client.send(ON)
    found = client.send(parse(BY_SEX, "s"), describe("S", "s"), bind(statement="s"), describe("P"), execute(), SYNC)
    assert kinds(found).startswith("1tT2TDD")
    assert described(found) == [WIDE, WIDE]
    assert widths(found) == {7}


def test_a_binary_answer_has_ends_in_the_types_of_its_columns(client: Client) -> None:
    client.send(ON)
    sql = "SELECT sex, COUNT(*) AS n, AVG(height_cm) AS h FROM patient GROUP BY sex"
    found = client.send(parse(sql), bind(results=(1,)), describe("P"), execute(), SYNC)
    (columns,) = [one.columns for one in found if one.kind == "T"]
    assert [oid for _, oid, _ in columns] == [25, 20, 20, 20, 701, 701, 701]
    assert {len(value or b"") for one in found if one.kind == "D" for value in one.values[1:]} == {8}


def test_a_statement_that_a_client_knows_is_to_be_prepared_again(client: Client) -> None:
    client.send(parse(BY_SEX, "known"), describe("S", "known"), SYNC)
    client.send(ON)
    before = client.spent()
    for ask in ([bind(statement="known"), execute()], [describe("S", "known")]):
        found = client.send(*ask, SYNC)
        refused = [one.fields for one in found if one.kind == "E"]
        assert [(one["C"], one["M"]) for one in refused] == [("0A000", "cached plan must not change result type")]
    assert client.spent() == before
    client.send(OFF)
    assert widths(client.send(bind(statement="known"), execute(), SYNC)) == {3}


def test_a_statement_that_nobody_was_told_of_follows_the_setting(client: Client) -> None:
    client.send(parse(BY_SEX, "unknown"), SYNC)
    assert widths(client.send(ON, bind(statement="unknown"), execute(), SYNC)) == {7}
    found = client.send(OFF, bind(statement="unknown"), describe("P"), execute(), SYNC)
    assert described(found) == [PLAIN]
    assert widths(found) == {3}


def test_a_portal_answers_as_it_was_described(client: Client) -> None:
    client.send(query("BEGIN"), parse(BY_SEX), bind(portal="p"), describe("P", "p"))
    found = client.send(query("SET dpsql.intervals = on"), execute(portal="p"), SYNC)
    assert [one.fields["C"] for one in found if one.kind == "E"] == ["0A000"]


def test_prepared_statements_and_cursors_of_sql(client: Client) -> None:
    client.send(query(f"PREPARE q AS {BY_SEX}"))
    found = client.send(ON, query("EXECUTE q"))
    assert described(found) == [WIDE]
    found = client.send(
        query("BEGIN"), query(f"DECLARE c CURSOR FOR {BY_SEX}"), query("FETCH ALL IN c"), query("COMMIT")
    )
    assert described(found) == [WIDE]
    assert widths(found) == {7}
    copied = client.send(query(f"COPY ({BY_SEX}) TO STDOUT (FORMAT csv, HEADER)"))
    lines = [one.body.decode() for one in copied if one.kind == "d"]
    assert "".join(lines).splitlines()[0] == ",".join(WIDE)
