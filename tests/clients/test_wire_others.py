"""``dpsql.other`` on the wire and on the command line: one row more of the same columns, at once for whoever asks again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpsql.interfaces.commands import demo_clinic as clinic
from dpsql.interfaces.commands.commands import main
from dpsql.server.session.backend import Backend
from rewriter.split.other_groups import LABEL
from tests.clients.test_protocol import SYNC, Client, Reply, backend, bind, describe, execute, parse, query

__all__ = ["backend"]

BY_DIAGNOSIS = "SELECT diagnosis, COUNT(*) AS n FROM patient GROUP BY diagnosis"


@pytest.fixture
def client(backend: Backend) -> Client:
    return Client(backend)


def keys(found: list[Reply]) -> list[object]:
    return [one.values[0] for one in found if one.kind == "D"]


def notices(found: list[Reply]) -> list[str]:
    return [one.fields["M"] for one in found if one.kind == "N"]


def test_a_session_sets_shows_and_resets_it(client: Client) -> None:
    plain = keys(client.send(query(BY_DIAGNOSIS)))
    found = client.send(query("SET dpsql.other = on"), query(BY_DIAGNOSIS))
    assert keys(found) == [*plain, LABEL.encode()]
    assert any(f"in one row, where diagnosis is '{LABEL}'" in told for told in notices(found))
    assert keys(client.send(query("SHOW dpsql.other"))) == [b"on"]
    assert keys(client.send(query("RESET dpsql.other"), query(BY_DIAGNOSIS))) == plain


def test_a_statement_that_a_client_knows_has_the_row_from_then_on(client: Client) -> None:
    def ask() -> list[object]:
        return keys(client.send(bind(statement="known"), describe("P"), execute(), SYNC))

    client.send(parse(BY_DIAGNOSIS, "known"), describe("S", "known"), SYNC)
    plain = ask()
    client.send(query("SET dpsql.other = on"))
    assert len(ask()) == len(plain) + 1
    client.send(query("SET dpsql.other = off"))
    assert ask() == plain


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic")
    clinic.build(folder)
    return folder / clinic.POLICY


def test_the_command_line_has_an_option_for_it(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = {}
    for more in ([], ["--other"]):
        assert main(["query", str(policy), BY_DIAGNOSIS, "--analyst", "ana", "--format", "json", *more]) == 0
        told[len(more)] = json.loads(capsys.readouterr().out)["rows"]
    assert all(row[0] != LABEL for row in told[0])
    assert [row[0] for row in told[1]].index(LABEL) == len(told[1]) - 1
    assert main(["explain", str(policy), BY_DIAGNOSIS, "--analyst", "ana", "--other", "--sql"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Release 2 of 2, the total, for the row of the groups that are not shown; answered from" in said
    assert "the error of COUNT(*) in the row of the others is ±" in said
