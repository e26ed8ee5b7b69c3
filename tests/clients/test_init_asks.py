"""``dpsql init`` with its owner at the terminal: what is asked, what is written, and what is never proposed."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from dpsql.interfaces.commands.commands import main
from dpsql.policy import Policy


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("""CREATE TABLE customer (id INTEGER PRIMARY KEY, email TEXT, last_name TEXT, age INTEGER);
            CREATE TABLE purchase (customer_id INTEGER REFERENCES customer (id), day DATE, amount DECIMAL(8, 2));
            CREATE TABLE city (name TEXT PRIMARY KEY)""")
    return tmp_path


def asked(folder: Path, *answers: str) -> tuple[str, str]:
    """What was shown at the terminal, and the policy that was written."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dpsql", "init", "shop.duckdb", "--output", "policy.yaml"]
    process = subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, cwd=folder)
    os.close(theirs)
    os.write(ours, "".join(f"{answer}\n" for answer in answers).encode())
    process.wait(60)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:
        pass
    os.close(ours)
    assert process.stdout is not None
    process.stdout.close()
    return shown.decode(), (folder / "policy.yaml").read_text()


def test_answers_are_in_the_policy(shop: Path) -> None:
    shown, text = asked(shop, "", "18, 99", "20", "2024-01-01, 2025-12-31", "0, 250.5")
    assert "Whose privacy is kept" in shown
    assert "[customer.id]" in shown
    policy = Policy.parse(text, shop / "policy.yaml")
    assert policy.privacy_unit == ("customer", "id")
    assert policy.tables["purchase"].max_rows.rows == 20
    for line in ("age: {range: [18, 99]}", "day: {range: [2024-01-01, 2025-12-31]}", "amount: {range: [0, 250.5]}"):
        assert line in text


def test_what_is_not_answered_or_makes_no_sense_stays_open(shop: Path) -> None:
    _, text = asked(shop, "nobody.id", "customer.id", "old", "many", "", "9, 1")
    assert "# max_rows: ?" in text
    assert "range: [9" not in text
    assert text.count("DECIDE: {range:") >= 3


def test_names_of_people_are_left_out_and_nothing_is_published(shop: Path) -> None:
    shown, text = asked(shop, *[""] * 8)
    for name in ("email", "last_name"):
        assert f"# {name}: left out" in text
    assert "public: true" not in "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    assert "public" not in shown


def test_scripts_are_asked_nothing(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "shop.duckdb", "--yes", "--unit", "purchase.customer_id"]) == 0
    assert "privacy_unit: purchase.customer_id" in capsys.readouterr().out
    assert main(["init", "shop.duckdb", "--unit", "purchase.nothing"]) == 1


def test_a_column_named_like_a_key_is_told_where_no_key_says_whom_to_protect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with duckdb.connect(str(tmp_path / "health.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE doctor (id BIGINT, patientID TEXT, year INTEGER, paid DOUBLE, person_nr INTEGER)"
        )
    assert main(["init", str(tmp_path / "health.duckdb"), "--yes", "-o", str(tmp_path / "policy.yaml")]) == 0
    text = (tmp_path / "policy.yaml").read_text()
    assert "# Columns that are named like keys: doctor.id, doctor.patientID, doctor.person_nr." in text
    assert "\nprivacy_unit:  # DECIDE" in text, "nothing is proposed that only a name speaks for"
