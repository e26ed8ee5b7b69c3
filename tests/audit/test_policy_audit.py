"""``dpsql audit``: an honest product passes, and what is planted makes it fail; the owner's data and ledger are untouched."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import duckdb
import pytest

from dpsql.audit import PolicyAudit, audit_policy
from dpsql.audit.made_up_people import WorstPerson
from dpsql.interfaces.commands.commands import main
from dpsql.policy import Policy
from tests.audit.planted import BUGS
from tests.engines.postgres_server import shared_server

TABLES = """
CREATE TABLE town (name TEXT PRIMARY KEY);
INSERT INTO town VALUES ('Ulm'), ('Graz');
CREATE TABLE person (id INTEGER PRIMARY KEY, sex TEXT, town TEXT, age INTEGER);
INSERT INTO person VALUES (1, 'F', 'Ulm', 41), (2, 'M', 'Graz', 25);
CREATE TABLE trip (id INTEGER PRIMARY KEY, person_id INTEGER REFERENCES person (id), day DATE, cost DOUBLE PRECISION);
INSERT INTO trip VALUES (1, 1, DATE '2025-03-01', 12.5), (2, 1, DATE '2025-04-01', 2.5);
CREATE TABLE leg (trip_id INTEGER REFERENCES trip (id), nr INTEGER, km NUMERIC(8, 2), PRIMARY KEY (trip_id, nr));
INSERT INTO leg VALUES (1, 1, 100), (1, 2, 50);
"""
POLICY = """
database: DATABASE
ledger: sqlite:real.ledger
privacy_unit: person.id
budget: {epsilon: 3, DELTA}
tables:
  town: {public: true}
  person: {columns: {id: {}, sex: {values: [F, M]}, town: {values_from: town.name}, age: {range: [0, 100]}}}
  trip: {unit: person_id -> person.id, max_rows: 4, columns: {id: {}, person_id: {}, cost: {range: [0, 50]}, day: {range: [2025-01-01, 2025-12-31]}}}
  leg: {unit: [trip_id -> trip.id, person_id -> person.id], max_rows: 6, columns: {trip_id: {}, nr: {}, km: {range: [-5, 900]}}}
"""


def policy(folder: Path, delta: str = "delta: 0", database: str = "") -> Policy:
    if not database:
        with duckdb.connect(str(folder / "real.duckdb")) as connection:
            connection.execute(TABLES)
    text = POLICY.replace("DATABASE", database or "duckdb:real.duckdb").replace("DELTA", delta)
    (folder / "policy.yaml").write_text(text)
    return Policy.load(folder / "policy.yaml")


def broken(found: PolicyAudit) -> list[str]:
    return [one.sql for one in found.moved if one.broken]


@pytest.mark.parametrize("delta", ["delta: 0", "delta: 1e-6"])
def test_no_made_up_person_moves_more_than_is_claimed_and_the_worst_moves_all_of_it(tmp_path: Path, delta: str) -> None:
    real = policy(tmp_path, delta)
    before = hashlib.sha256((tmp_path / "real.duckdb").read_bytes()).digest()
    found = audit_policy(real, minutes=0.01, wire=False)
    assert found.passed
    assert len(found.moved) >= 15
    counts = [one for one in found.moved if one.sql.startswith("SELECT COUNT(*)")]
    assert [one.share for one in counts] == [1.0, 1.0, 1.0]
    assert hashlib.sha256((tmp_path / "real.duckdb").read_bytes()).digest() == before
    assert not (tmp_path / "real.ledger").exists()


@pytest.mark.parametrize(
    "bug",
    [
        "no row limit",
        *(
            pytest.param(one, marks=pytest.mark.campaign)
            for one in ("values 1.5 times their bound", "value not clamped")
        ),
    ],
)
def test_a_bound_that_is_ignored_is_seen_without_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bug: str
) -> None:
    BUGS[bug].plant(monkeypatch)
    found = audit_policy(policy(tmp_path), minutes=0.01, wire=False)
    assert broken(found)
    assert not found.passed


def test_people_of_a_postgresql_are_made_up_there_where_a_server_for_trials_is_named(tmp_path: Path) -> None:
    server = shared_server()
    name = server.database(TABLES)
    real = policy(tmp_path, database=server.url(name))
    assert audit_policy(real, minutes=0.01, wire=False).passed
    assert audit_policy(real, minutes=0.01, wire=False, server=server.owner_url("postgres")).passed
    with server.owner() as connection:
        assert connection.execute("SELECT 1 FROM pg_database WHERE datname LIKE 'dpsql_audit%'").fetchall() == []


@pytest.mark.campaign
@pytest.mark.parametrize("bug", ["nothing", "a noise scale halved", "half of the price is charged"])
def test_the_wire_shows_what_is_planted_and_no_more_than_is_claimed_otherwise(tmp_path: Path, bug: str) -> None:
    """At 0.1 % of error for all statements together, an honest product fails once in 1,000 runs."""
    program = (sys.executable, "-m", "dpsql")
    if bug != "nothing":
        program = (sys.executable, "-m", "tests.audit.serve_planted", bug)
    found = audit_policy(policy(tmp_path), minutes=3, program=program)
    assert found.worst in (WorstPerson.HIGH, WorstPerson.BEYOND)
    assert found.passed is (bug == "nothing"), found.shown
    assert not broken(found)


def test_the_command_says_what_was_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = policy(tmp_path).path
    assert path is not None
    assert main(["audit", str(path), "--minutes", "0.02"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "nothing is charged to your ledger" in told
    assert "Passed: no more than is claimed" in told
    assert main(["audit", str(path), "--epsilon", "0"]) == 1
    assert not (tmp_path / "real.ledger").exists()
