"""``dpsql init`` with its owner at the terminal: what is asked, what is written, and what is never proposed."""

from __future__ import annotations

import os
import pty
import select
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


def asked(folder: Path, *answers: str, database: str = "shop.duckdb") -> tuple[str, str]:
    """What was shown at the terminal, and the policy that was written."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dpsql", "init", database, "--output", "policy.yaml"]
    process = subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, cwd=folder)
    os.close(theirs)
    os.write(ours, "".join(f"{answer}\n" for answer in answers).encode())
    shown = b""
    # The terminal is read all the time: it holds no more than some questions.
    while select.select([ours], [], [], 60)[0]:
        try:
            shown += os.read(ours, 65536)
        except OSError:
            break
    else:
        process.kill()
    os.close(ours)
    assert process.wait(60) == 0, shown.decode()
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


def test_what_is_not_answered_stays_open(shop: Path) -> None:
    _, text = asked(shop, "customer.id", "", "", "", "")
    assert "# max_rows: ?" in text
    assert text.count("DECIDE: {range:") == 3


def test_what_makes_no_sense_is_asked_again_with_the_reason(shop: Path) -> None:
    wrong = {
        "nobody.id": "there is no table 'nobody'",
        "customer.nr": "customer has no column 'nr': it has id, email, last_name, age",
    }
    shown, text = asked(
        shop,
        *wrong,
        "customer.id",
        *("old", "0-100", "120, 0", "0, 120.5", "18, 99"),
        *("ten", "0", "20"),
        *("1990, 2020", "2024-01-01, 2024-02-30", "2024-01-01, now"),
        *("0, 1.234", "0, 250.5"),
    )
    reasons = (
        *wrong.values(),
        "'old' is not two values with a comma between: write 0, 100",
        "'0-100' is not two values with a comma between: write 0, 100",
        "low 120 is above high 0",
        "120.5 is not a whole number, and the column is integer",
        "'ten' is not a whole number of at least 1",
        "'0' is not a whole number of at least 1",
        "'1990' is not a date: write YYYY-MM-DD",
        "'2024-02-30' is not a day of the calendar",
        "1.234 has more than the 2 decimals of decimal(8,2)",
    )
    for reason in reasons:
        assert reason in shown, reason
    policy = Policy.parse(text, shop / "policy.yaml")
    assert policy.tables["purchase"].max_rows.rows == 20
    for line in ("age: {range: [18, 99]}", "day: {range: [2024-01-01, now]}", "amount: {range: [0, 250.5]}"):
        assert line in text


@pytest.fixture
def school(tmp_path: Path) -> Path:
    folder = tmp_path / "school"
    folder.mkdir()
    (folder / "tests.csv").write_text(
        "kid_id,subject,day,score\n1,art,2024-05-01,7\n1,music,2024-05-02,9\n2,art,2024-05-01,3\n"
    )
    return tmp_path


def test_a_file_is_a_table_of_its_name_and_its_texts_get_types(school: Path) -> None:
    shown, text = asked(
        school,
        *("tests.kid_id", "3"),
        *("word", "text", "art, art", "art, music"),
        *("date", "2024-01-01, 2024-12-31"),
        *("integer", "0, 10"),
        database="school",
    )
    assert "perhaps tests.kid_id" in shown
    for reason in ("'word' is not one of", "'art' is there twice"):
        assert reason in shown
    for line in (
        "  tests:",
        "files: school/tests.csv",
        "max_rows: 3",
        "subject: {values: [art, music]}",
        "day: {type: date, range: [2024-01-01, 2024-12-31]}",
        "score: {type: integer, range: [0, 10]}",
    ):
        assert line in text
    assert main(["check", str(school / "policy.yaml")]) == 0


def test_the_columns_of_rows_that_are_people_are_asked_for(school: Path) -> None:
    _, text = asked(
        school,
        "row",
        *("text", ""),
        *("text", "art, music"),
        *("date", ""),
        *("integer", "0, 10"),
        database="school",
    )
    assert "privacy_unit: row" in text
    assert "max_rows:" not in text
    for line in ("subject: {values: [art, music]}", "score: {type: integer, range: [0, 10]}"):
        assert line in text
    assert main(["check", str(school / "policy.yaml")]) == 0


def test_numbered_parts_are_a_table_of_their_folders_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for names, table in ((["part-0.csv"], "visit"), (["visits-01.csv", "visits-02.csv"], "visit"), (["a.csv"], "a")):
        folder = tmp_path / names[0].replace(".", "") / "visit"
        folder.mkdir(parents=True)
        for name in names:
            (folder / name).write_text("person_id,day\n1,2024-01-01\n")
        assert main(["init", str(folder), "--yes"]) == 0
        assert f"\n  {table}:\n" in capsys.readouterr().out.replace("# ", "")


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
    assert "init --unit TABLE.COLUMN, or --unit row" in text
    assert "\nprivacy_unit:  # DECIDE" in text, "nothing is proposed that only a name speaks for"
