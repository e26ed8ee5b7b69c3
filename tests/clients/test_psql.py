"""psql, as people type it: what it shows is looked at, not only that it shows something."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.clients.served import Served

pytestmark = pytest.mark.skipif(
    shutil.which("psql") is None, reason="psql is not installed (apt-get install postgresql-client)"
)

BY_SEX = "SELECT sex, COUNT(*) FROM patient GROUP BY sex ORDER BY sex"


def psql(server: Served, script: str, *options: str, check: bool = True) -> str:
    """The output of a script, errors and notices among it in their order."""
    done = subprocess.run(
        ["psql", "-X", "-v", "VERBOSITY=default", *options], input=script, text=True, capture_output=True, timeout=60,
        env={**os.environ, **server.environment},
    )  # fmt: skip
    if check:
        assert "ERROR" not in done.stderr, done.stderr
        assert "FATAL" not in done.stderr, done.stderr
    return done.stdout + done.stderr


def test_an_aggregate_and_its_price(server: Served) -> None:
    shown = psql(server, BY_SEX + ";")
    counts = dict(re.findall(r"^ ([FM])   \| +(\d+)$", shown, re.MULTILINE))
    assert abs(int(counts["F"]) - 5170) < 100
    assert abs(int(counts["M"]) - 4830) < 100
    assert re.search(r"NOTICE:  (Paid: .*\(ε = 1\)|Free)", shown)
    assert "(2 rows)" in shown


def test_the_list_of_tables(server: Served) -> None:
    shown = psql(server, "\\d\n\\dt+\n\\l\n\\dn\n\\df\n\\du\n\\dv\n\\di\n\\dT\n\\z\n")
    for name in ("patient", "visit", "region"):
        assert re.search(rf"^ public \| {name} ", shown, re.MULTILINE)
    assert re.search(r"^ clinic +\|", shown, re.MULTILINE)


def test_a_table_says_what_is_declared(server: Served) -> None:
    shown = psql(server, "\\d+ patient\n\\d visit\n\\d dpsql.budget\n")
    assert re.search(r"birth_year +\| smallint .*private, range 1920 to 2025", shown)
    assert "FOREIGN KEY (patient_id) REFERENCES patient(id)" in shown
    assert re.search(r"left_epsilon +\| double precision", shown)


def test_an_error_has_its_place_and_a_hint(server: Served) -> None:
    shown = psql(server, "SELECT smoker, COUNT(*) FROM patient WHERE wieght_kg > 90 GROUP BY smoker;", check=False)
    lines = shown.splitlines()
    assert lines[0] == "ERROR:  there is no column 'wieght_kg'"
    assert lines[1].startswith("LINE 1: ")
    assert lines[2].index("^") == lines[1].index("wieght_kg")
    assert lines[3] == "HINT:  did you mean weight_kg?"


def test_rows_of_people_are_refused_and_the_session_goes_on(server: Served) -> None:
    shown = psql(server, "\\set VERBOSITY verbose\nSELECT * FROM patient;\nSELECT 41 + 1 AS answer;\n", check=False)
    assert "ERROR:  42501: " in shown
    assert "42\n(1 row)" in shown


def test_gdesc_describes_for_free(server: Served) -> None:
    shown = psql(server, "SELECT region, AVG(height_cm) AS h, COUNT(*) AS n FROM patient GROUP BY region \\gdesc\n")
    assert re.search(r"region \| text", shown)
    assert re.search(r"h +\| double precision", shown)
    assert re.search(r"n +\| bigint", shown)
    assert "NOTICE" not in shown


def test_fetch_count_reads_by_cursor(server: Served) -> None:
    shown = psql(server, f"\\set FETCH_COUNT 1\n{BY_SEX};\n", "-At")
    assert re.findall(r"^([FM])\|\d+$", shown, re.MULTILINE) == ["F", "M"]


def test_copy_to_a_file(server: Served, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    shown = psql(server, f"\\copy ({BY_SEX}) to '{target}' with csv header\n")
    assert "COPY 2" in shown
    lines = target.read_text().splitlines()
    assert lines[0] == "sex,count"
    assert [line.split(",")[0] for line in lines[1:]] == ["F", "M"]


def test_copy_of_a_public_table_to_a_file(server: Served, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    assert "COPY" in psql(server, f"\\copy region to '{target}' with (format csv, header)\n")
    shown = psql(server, "SELECT * FROM region;\n", "-A", "-F,", "-P", "footer=off")
    assert target.read_text().splitlines() == [line for line in shown.splitlines() if "NOTICE" not in line]


def test_transactions_and_settings(server: Served) -> None:
    shown = psql(
        server,
        "BEGIN;\nSET dpsql.epsilon = 0.5;\nSHOW dpsql.epsilon;\nROLLBACK;\nSHOW dpsql.epsilon;\n"
        "SET dpsql.epsilon = 0.125;\nRESET dpsql.epsilon;\nSHOW dpsql.epsilon;\n",
        "-At",
    )
    assert [line for line in shown.splitlines() if line[:1].isdigit()] == ["0.5", "1", "1"]


def test_explain_can_be_read(server: Served) -> None:
    shown = psql(server, "EXPLAIN SELECT region, AVG(height_cm) FROM patient GROUP BY region;\n")
    assert "QUERY PLAN" in shown
    assert "What one person can move" in shown
    assert re.search(r"Price: .*\(ε = 1\)|at no price|only the rest of the price is paid", shown)


def test_the_budget_is_a_table(server: Served) -> None:
    shown = psql(server, "SELECT accounting, delta, left_epsilon > 0 FROM dpsql.budget;\n", "-At")
    assert shown.splitlines()[0].startswith("zcdp|1e-06|")


def test_tab_completion_and_the_prompt(server: Served) -> None:
    """What psql asks when TAB is pressed after FROM."""
    shown = psql(
        server,
        "SELECT c.relname FROM pg_catalog.pg_class c WHERE c.relkind IN ('r', 'S', 'v', 'm', 'f', 'p') AND "
        "(c.relname) LIKE 'pat%' AND pg_catalog.pg_table_is_visible(c.oid) AND c.relnamespace <> "
        "(SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'pg_catalog') LIMIT 1000;\n\\conninfo\n",
        "-At",
    )
    assert "patient" in shown
    assert f'user "{server.user}"' in shown
