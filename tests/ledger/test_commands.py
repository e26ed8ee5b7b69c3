"""``dpsql ledger``, ``dpsql budget`` and a whole proxy, over a ledger in a file and over one in PostgreSQL."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from dpsql.errors import OperationalError
from dpsql.interfaces.commands.commands import main
from dpsql.opened import open_policy
from dpsql.proxy import Proxy
from tests.engines.postgres_server import Server
from tests.ledger.reader import rows, violations
from tests.ledger.test_postgres_ledger import durable_server

POLICY = """
database: duckdb:people.duckdb
ledger: {ledger}
privacy_unit: {unit}
budget: {{epsilon: {epsilon}, accounting: pure}}
statement: {{epsilon: 0.25, max_epsilon: 1}}
analysts: {{ana: {{}}, bob: {{budget: {{epsilon: 0.5}}}}}}
tables: {{person: {{columns: {{id: {{}}, sex: {{values: [F, M]}}}}}}}}
"""
BY_SEX = "SELECT sex, COUNT(*) FROM person GROUP BY sex"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with durable_server() as started:
        yield started


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What a policy says of its ledger."""
    if request.param == "sqlite":
        return f"sqlite:{tmp_path}/people.ledger"
    server: Server = request.getfixturevalue("server")
    return server.process.url(server.database())


@pytest.fixture
def policy(tmp_path: Path, place: str) -> Path:
    with duckdb.connect(f"{tmp_path}/people.duckdb") as connection:
        connection.execute("CREATE TABLE person (id INT PRIMARY KEY, sex TEXT)")
        connection.execute("INSERT INTO person SELECT i, ['F', 'M'][1 + i % 2] FROM range(100) t(i)")
    return written(tmp_path / "policy.yaml", place)


def written(path: Path, place: str, unit: str = "person.id", epsilon: object = 2) -> Path:
    path.write_text(POLICY.format(ledger=place, unit=unit, epsilon=epsilon))
    return path


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main([str(word) for word in words])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_a_proxy_charges_and_gives_again_what_it_released(policy: Path, place: str) -> None:
    with closing(Proxy.open(policy)) as proxy:
        first = proxy.session("ana").execute(BY_SEX)
        assert proxy.session("bob").execute(BY_SEX).rows == first.rows
    with closing(Proxy.open(policy)) as proxy:
        assert proxy.session("bob").execute(BY_SEX).rows == first.rows, "it was kept for the next start"
        assert len(proxy.ledger.charges()) == 1
    kept = "policy.yaml-releases" if place.startswith("postgres") else "people.ledger-releases"
    assert (policy.parent / kept).exists()
    assert violations(rows(place.removeprefix("sqlite:")), [], Fraction(2)) == []


def test_releases_are_kept_where_the_policy_says(policy: Path) -> None:
    policy.write_text(f"{policy.read_text()}\nreleases: sqlite:kept.sqlite\n")
    with closing(Proxy.open(policy)) as proxy:
        proxy.session("ana").execute(BY_SEX)
    assert (policy.parent / "kept.sqlite").exists()
    assert not list(policy.parent.glob("*-releases"))


def test_releases_of_another_ledger_are_not_given(policy: Path, place: str, tmp_path: Path) -> None:
    """The file of releases stays where it is, and the policy names a new ledger."""
    policy.write_text(f"{policy.read_text()}\nreleases: sqlite:kept.sqlite\n")
    with closing(Proxy.open(policy)) as proxy:
        proxy.session("ana").execute(BY_SEX)
    policy.write_text(policy.read_text().replace(place, f"sqlite:{tmp_path}/new.ledger"))
    with closing(Proxy.open(policy)) as proxy:
        proxy.session("ana").execute(BY_SEX)
        assert len(proxy.ledger.charges()) == 1


@pytest.mark.quick
def test_a_policy_of_other_people_is_refused_and_a_larger_total_is_not(policy: Path, place: str) -> None:
    with closing(Proxy.open(policy)) as proxy:
        proxy.session("ana").execute(BY_SEX)
    with closing(Proxy.open(written(policy, place, epsilon=5))) as proxy:
        assert proxy.ledger.spent().epsilon == Fraction(1, 4)
        assert proxy.ledger.limits[""][0].epsilon == 5
    with pytest.raises(OperationalError, match="another privacy unit"):
        open_policy(written(policy, place, unit="row"))


def test_verify_and_export(policy: Path, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "ledger", "verify", policy)
    assert (code, out) == (1, "")
    assert "there is none yet" in err
    with closing(Proxy.open(policy)) as proxy:
        proxy.session("ana").execute(BY_SEX)
        proxy.session("bob").execute("SELECT COUNT(*) FROM person WHERE sex = 'F' OR id = 7")
        proxy.session("bob").execute("SELECT COUNT(*) FROM person WHERE id < 50")
    code, out, err = run(capsys, "ledger", "verify", policy)
    assert (code, err) == (0, "")
    assert "3 charges" in out
    assert "no id twice, none missing, totals are their sums" in out
    assert "Spent: ε = 0.750" in out
    assert ":" + place.partition("//")[2].partition("@")[0].partition(":")[2] not in out or place.startswith("sqlite")
    code, out, _ = run(capsys, "ledger", "export", policy)
    table = list(csv.DictReader(io.StringIO(out)))
    assert [(row["number"], row["analyst"], row["epsilon"]) for row in table] == [
        ("1", "ana", "0.25"),
        ("2", "bob", "0.25"),
        ("3", "bob", "0.25"),
    ]
    assert table[0]["statement"] == BY_SEX
    assert table[0]["tables"] == "person"
    code, out, _ = run(capsys, "ledger", "export", policy, "--format", "json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["id"] for line in lines] == [row["id"] for row in table]
    assert lines[0]["tables"] == ["person"]
    code, out, _ = run(capsys, "budget", policy)
    assert (code, "Charges:  3" in out) == (0, True)


def test_verify_says_when_a_limit_was_lowered_below_what_is_spent(
    policy: Path, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(Proxy.open(policy)) as proxy:
        for value in ("F", "M"):
            proxy.session("bob").execute(f"SELECT COUNT(*) FROM person WHERE sex = '{value}'")
    policy.write_text(
        policy.read_text()
        .replace("0.5", "0.3")
        .replace("{epsilon: 2,", "{epsilon: 0.4,")
        .replace("max_epsilon: 1", "max_epsilon: 0.25")
    )
    code, out, _ = run(capsys, "ledger", "verify", policy)
    assert code == 1
    assert out.splitlines() == [
        "error: all that is spent is above what the policy declares by now",
        "error: what bob has spent is above what the policy declares by now",
    ]


def test_verify_says_what_does_not_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = f"sqlite:{tmp_path}/people.ledger"
    with duckdb.connect(f"{tmp_path}/people.duckdb") as connection:
        connection.execute("CREATE TABLE person (id INT PRIMARY KEY, sex TEXT)")
    policy = written(tmp_path / "policy.yaml", place)
    with closing(Proxy.open(policy)) as proxy:
        proxy.session("ana").execute(BY_SEX)
    with closing(sqlite3.connect(f"{tmp_path}/people.ledger")) as tool:
        tool.execute("UPDATE total SET epsilon = '0'")
        tool.commit()
    code, out, err = run(capsys, "ledger", "verify", policy)
    assert (code, out) == (1, "")
    assert "not the sums of its charges" in err


def test_a_password_in_a_ledger_url_that_all_can_read_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with duckdb.connect(f"{tmp_path}/people.duckdb") as connection:
        connection.execute("CREATE TABLE person (id INT PRIMARY KEY, sex TEXT)")
    policy = written(tmp_path / "policy.yaml", "postgresql://dpsql:open-sesame@db.example/ledger")
    policy.chmod(0o644)
    code, out, err = run(capsys, "check", policy)
    assert code == 0
    assert "warning: ledger: the URL holds a password" in out
    assert "open-sesame" not in out + err
