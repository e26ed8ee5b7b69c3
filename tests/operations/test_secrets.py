"""Passwords of databases: from the environment or a file, and then nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from dpsql.errors import OperationalError
from dpsql.interfaces.commands.commands import main
from dpsql.policy import Policy
from dpsql.policy.secrets import DATABASE, LEDGER, secret, with_secret
from dpsql.server.serving import database_name
from tests.attacks.library import POLICY, postgres_library
from tests.engines.postgres_server import PASSWORD, shared_server, start
from tests.operations.operated import eventually

URL = "postgresql://reader@db.example:5433/clinic"


def test_a_password_comes_from_the_environment_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert with_secret(URL, DATABASE) == URL
    monkeypatch.setenv(DATABASE, "a b&c=/?%")
    assert psycopg.conninfo.conninfo_to_dict(with_secret(URL, DATABASE))["password"] == "a b&c=/?%"  # noqa: S105
    found = psycopg.conninfo.conninfo_to_dict(with_secret(URL + "?sslmode=require", DATABASE))
    assert (found["password"], found["sslmode"], found["host"]) == ("a b&c=/?%", "require", "db.example")
    assert with_secret(URL, LEDGER) == URL, "one for each"
    assert with_secret("duckdb:x", DATABASE) == "duckdb:x"
    (tmp_path / "secret").write_text("sesame\n")
    with pytest.raises(OperationalError, match="both set"):
        secret(DATABASE, {DATABASE: "x", f"{DATABASE}_FILE": "y"})
    assert secret(DATABASE, {f"{DATABASE}_FILE": str(tmp_path / "secret")}) == "sesame"


@pytest.mark.parametrize("content", [None, "", "\nsesame"])
def test_a_file_without_a_password_is_an_error(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "secret").write_text(content)
    with pytest.raises(OperationalError, match=f"{DATABASE}_FILE"):
        secret(DATABASE, {f"{DATABASE}_FILE": str(tmp_path / "secret")})


def test_two_passwords_are_one_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATABASE, "x")
    with pytest.raises(OperationalError, match="the policy has a password") as caught:
        with_secret("postgresql://reader:open-sesame@db.example/clinic", DATABASE)
    assert "open-sesame" not in str(caught.value)


def test_a_served_password_is_in_no_argument_log_or_file(tmp_path: Path) -> None:
    """The whole server over a PostgreSQL database and a PostgreSQL ledger, both with passwords of their own."""
    policy = postgres_library(tmp_path / "library", with_person=False, policy=POLICY).policy
    server, keeping = shared_server(), start(fsync="on")
    with keeping.owner() as owner:
        owner.execute("CREATE ROLE keeper LOGIN PASSWORD 'other-sesame'")
        owner.execute("CREATE DATABASE kept OWNER keeper TEMPLATE template0")
    text = policy.read_text().replace(f":{PASSWORD}@", "@")
    place = f"postgresql://keeper@127.0.0.1:{keeping.process.port}/kept"
    policy.write_text(text.replace(f"sqlite:{policy.parent}/spent.ledger", place))
    (tmp_path / "secret").write_text(PASSWORD)
    environment = {**os.environ, f"{DATABASE}_FILE": str(tmp_path / "secret"), LEDGER: "other-sesame"}
    command = [
        sys.executable,
        "-m",
        "dpsql",
        "serve",
        str(policy),
        "--port",
        "0",
        "--audit",
        str(policy.parent / "audit"),
    ]
    log = policy.parent / "log"
    with log.open("wb") as said:
        process = subprocess.Popen([*command, "--log-level", "debug"], stderr=said, env=environment)
    try:
        eventually(lambda: b" port " in log.read_bytes() or process.poll() is not None, 120)
        assert process.poll() is None, log.read_text()
        port = log.read_text().split(" port ")[1].split()[0]
        with psycopg.connect(
            f"host=127.0.0.1 port={port} user=ana dbname={database_name(Policy.load(policy))}", autocommit=True
        ) as connection:
            assert connection.execute("SELECT COUNT(*) FROM member").fetchone() is not None
            with server.owner() as owner:
                owner.execute("ALTER ROLE reader NOLOGIN")
                owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")
            try:
                with pytest.raises(psycopg.OperationalError):
                    connection.execute("SELECT COUNT(*) FROM loan")
            finally:
                with server.owner() as owner:
                    owner.execute("ALTER ROLE reader LOGIN")
        for number in (process.pid, *children(process.pid)):
            seen = Path(f"/proc/{number}/cmdline").read_bytes()
            assert b"sesame" not in seen
    finally:
        process.terminate()
        process.wait(30)
        keeping.process.close()
    for path in policy.parent.iterdir():
        assert b"sesame" not in path.read_bytes(), path.name


def children(process: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_what_cannot_be_opened_is_told_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "policy.yaml").write_text(
        f"database: postgresql://reader@127.0.0.1:1/nothing\nledger: sqlite:x\n{POLICY}"
    )
    monkeypatch.setenv(DATABASE, "open-sesame")
    assert main(["serve", str(tmp_path / "policy.yaml"), "--port", "0"]) == 1
    said = capfd.readouterr().err
    assert "cannot be opened" in said
    assert "sesame" not in said
