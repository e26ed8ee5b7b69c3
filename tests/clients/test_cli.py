"""The command line: exit codes, what goes where, and formats that other programs read."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql.accounting.loss import PrivacyLoss
from dpsql.display.csv_json import as_csv, as_json
from dpsql.interfaces.commands import demo_clinic as clinic
from dpsql.interfaces.commands.commands import main, parser
from dpsql.reply import Answer, AnswerColumn, Budget
from rewriter.declared.types import BIGINT, DATE, DOUBLE, TEXT, decimal

BY_SEX = "SELECT sex, COUNT(*) AS n FROM patient GROUP BY sex ORDER BY sex"


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str


class Run:
    """Runs the command in this process, as the analyst ana unless told otherwise."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: object) -> Done:
        self._capsys.readouterr()
        code = main([str(word) for word in words])
        captured = self._capsys.readouterr()
        assert "Traceback" not in captured.err
        return Done(code, captured.out, captured.err)

    def query(self, policy: Path, sql: str, *words: object) -> Done:
        return self("query", policy, sql, "--analyst", "ana", *words)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys)


def commands() -> Sequence[str]:
    return re.findall(r"^    (\w+)(?: |$)", parser().format_help(), re.MULTILINE)


def test_the_commands_are_those_that_were_promised() -> None:
    assert sorted(commands()) == [
        "audit",
        "budget",
        "check",
        "demo",
        "explain",
        "forget",
        "guide",
        "init",
        "ledger",
        "mcp",
        "passwd",
        "profile",
        "query",
        "randomize",
        "serve",
        "shell",
        "synthesize",
        "workload",
    ]


@pytest.mark.parametrize("words", [["serve"], ["query"], ["query", "p", "s", "--format", "xml"], ["demo", "--what"]])
def test_a_wrong_command_line_exits_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert "usage: dpsql" in capsys.readouterr().err


def test_python_dash_m_and_version_work() -> None:
    done = subprocess.run([sys.executable, "-m", "dpsql", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"dpsql {dpsql.__version__}\n"


# query


def test_a_table_shows_error_bars_price_and_what_is_left(run: Run, policy: Path) -> None:
    done = run.query(policy, BY_SEX)
    assert done.code == 0
    assert re.search(r"^F +\d,\d{3} ± \d+ *$", done.out, re.MULTILINE)
    assert "(2 rows; ± is the 95 % error)" in done.out
    assert "Paid: " in done.out
    assert re.search(r"Left: \d+\.?\d* % of the total budget, or \d+ statements", done.out)
    again = run.query(policy, BY_SEX)
    assert "Free." in again.out
    assert again.out.split("Free.")[0] == done.out.split("Paid:")[0]


def test_csv_is_nothing_but_the_rows(run: Run, policy: Path) -> None:
    done = run.query(policy, BY_SEX, "--format", "csv")
    rows = list(csv.reader(io.StringIO(done.out)))
    assert rows[0] == ["sex", "n"]
    assert [row[0] for row in rows[1:]] == ["F", "M"]
    assert all(4000 < int(row[1]) < 6000 for row in rows[1:])


def test_json_tells_everything(run: Run, policy: Path) -> None:
    done = run.query(policy, BY_SEX, "--format", "json", "--epsilon", "0.5")
    told = json.loads(done.out)
    assert [column["name"] for column in told["columns"]] == ["sex", "n"]
    assert [row[0] for row in told["rows"]] == ["F", "M"]
    assert [row[0] for row in told["margins"]] == [None, None]
    assert all(row[1] > 0 for row in told["margins"])
    assert told["paid"] == {"epsilon": 0.5, "loss": {"epsilon": 0.0, "rho": 0.125, "delta": 0.0}}
    assert 0 < told["left"]["epsilon"] < 10


def test_notices_go_to_stderr(run: Run, policy: Path) -> None:
    sql = "SELECT diagnosis, COUNT(*) AS n FROM patient GROUP BY diagnosis"
    done = run.query(policy, sql, "--format", "csv")
    assert "NOTICE:" in done.err
    assert "NOTICE" not in done.out
    assert {len(row) for row in csv.reader(io.StringIO(done.out))} == {2}


def test_a_dash_reads_the_statement_from_stdin(run: Run, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(BY_SEX))
    assert run.query(policy, "-").code == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT 1,\n  nothing FROM patient"))
    done = run.query(policy, "-")
    assert done.code == 1
    assert "ERROR 42703" in done.err
    if "LINE" in done.err:
        assert "LINE 2:   nothing FROM patient" in done.err


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        ("SELECT * FROM patient", "42501|0A000"),
        ("SELEC 1", "42601"),
        ("SELECT COUNT(*) FROM nothing", "42P01"),
        ("SELECT COUNT(nothing) FROM patient", "42703"),
        ("", "42601"),
        ("DROP TABLE patient", "42501|0A000|42601"),
    ],
)
def test_a_refusal_exits_1_and_says_why_on_stderr(run: Run, policy: Path, sql: str, state: str) -> None:
    for format_ in ("table", "csv", "json"):
        done = run.query(policy, sql, "--format", format_)
        assert done.code == 1
        assert done.out == ""
        assert re.match(f"ERROR ({state}): ", done.err)
    assert "Charges:  0" in run("budget", policy).out


def test_an_epsilon_above_the_cap_or_no_number_is_refused(run: Run, policy: Path) -> None:
    for epsilon in ("2", "0", "-1", "much", "nan", "inf", "1'; SELECT 1; '"):
        done = run.query(policy, BY_SEX, f"--epsilon={epsilon}")
        assert done.code == 1
        assert done.err.startswith("ERROR 22023: ")


def test_an_exhausted_budget_exits_3(run: Run, policy: Path) -> None:
    assert run("query", policy, BY_SEX, "--analyst", "guest").code == 0
    done = run("query", policy, "SELECT AVG(birth_year) FROM patient", "--analyst", "guest", "--epsilon", "1")
    assert done.code == 3
    assert done.out == ""
    assert done.err.startswith("ERROR 53400: ")


def test_what_cannot_be_opened_exits_1(run: Run, policy: Path, tmp_path: Path) -> None:
    assert "58P01" in run("query", tmp_path / "none.yaml", BY_SEX).err
    assert "28000" in run("query", policy, BY_SEX, "--analyst", "stranger").err
    (tmp_path / clinic.DATABASE).unlink()
    for words in (["query", policy, BY_SEX, "--analyst", "ana"], ["check", policy]):
        done = run(*words)
        assert done.code == 1
        assert done.err.startswith("ERROR ")


def test_files_that_cannot_be_read_or_written_are_no_traceback(run: Run, policy: Path, tmp_path: Path) -> None:
    done = run("init", tmp_path / clinic.DATABASE, "--output", tmp_path / "no such folder" / "policy.yaml")
    assert (done.code, done.out) == (1, "")
    assert "no such folder" in done.err
    (tmp_path / "file").touch()
    assert run("demo", "--folder", tmp_path / "file" / "demo").code == 1
    policy.write_bytes(b"\xff\xfe")
    assert run("query", policy, BY_SEX).code == 1


def test_a_statement_of_wild_bytes_is_refused(policy: Path) -> None:
    words = [sys.executable, "-m", "dpsql", "query", str(policy), "-", "--analyst", "ana"]
    done = subprocess.run(words, input=b"SELECT '\xff'", capture_output=True, check=False)
    assert done.returncode == 1
    assert re.match(b"ERROR (22021|42601): ", done.stderr)


def test_a_reader_that_leaves_early_is_no_error(policy: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, "-m", "dpsql", "query", str(policy), BY_SEX, "--analyst", "ana", "--format", "csv"]
    done = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_without_unicode_gets_no_traceback(policy: Path) -> None:
    words = [sys.executable, "-m", "dpsql", "query", str(policy), BY_SEX, "--analyst", "ana"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(words, capture_output=True, check=False, env=environment)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert done.stdout.isascii()
    assert done.stderr.isascii()


# explain, budget


def test_explain_is_free_and_tells_plan_noise_and_price(run: Run, policy: Path) -> None:
    done = run("explain", policy, BY_SEX, "--sql", "--analyst", "ana", "--epsilon", "0.5")
    assert done.code == 0
    for word in ("Bounded SQL", "FROM", "Gaussian, σ = ", "95 % error", "Price: ", "(ε = 0.5)", "It would leave "):
        assert word in done.out
    assert "Charges:  0" in run("budget", policy).out


def test_explaining_what_is_refused_exits_1(run: Run, policy: Path) -> None:
    done = run("explain", policy, "SELECT * FROM patient", "--analyst", "ana")
    assert (done.code, done.out) == (1, "")


def test_looking_at_the_budget_makes_no_ledger(run: Run, policy: Path) -> None:
    done = run("budget", policy)
    assert done.code == 0
    assert "Declared: ε = 10, δ = 1e-06" in done.out
    assert "Spent:    0 % (ε = 0.000)" in done.out
    assert sorted(path.name for path in policy.parent.iterdir()) == [clinic.DATABASE, clinic.POLICY]


def test_the_budget_is_told_by_analyst_table_and_day(run: Run, policy: Path) -> None:
    run.query(policy, BY_SEX)
    run.query(policy, "SELECT COUNT(*) FROM visit")
    run("query", policy, "SELECT COUNT(*) FROM patient", "--analyst", "guest")
    told = run("budget", policy).out
    assert "Charges:  3" in told
    assert re.search(r"^ana +2 +the total", told, re.MULTILINE)
    assert re.search(r"^guest +1 +ε = 1\.25 +[\d.]+ % +\d", told, re.MULTILINE)
    assert re.search(r"^visit +1 ", told, re.MULTILINE)
    assert re.search(r"^\d{4}-\d\d-\d\d +3 ", told, re.MULTILINE)


# dpsql alone, guide


def test_dpsql_alone_is_help(run: Run) -> None:
    alone = run()
    assert (alone.code, alone.err, alone.out) == (0, "", parser().format_help())
    assert "check" in alone.out


def test_the_guide_on_a_terminal_has_no_links_that_lead_nowhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    for page, heading in ((), "The guide"), (("error-bars",), "Error bars"):
        assert main(["guide", *page]) == 0
        shown = capsys.readouterr().out
        assert heading in shown
        assert ".md" not in shown
        assert "](" not in shown
        assert "|---" not in shown, "tables are drawn"


# init, check


def test_check_finds_nothing_wrong_with_the_demo(run: Run, policy: Path) -> None:
    done = run("check", policy)
    assert done.code == 0
    assert "error:" not in done.out


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        ("sex: {values: [F, M]}", "gender: {values: [F, M]}", "tables.patient.columns.gender"),
        ("epsilon: 10,", "epsilon: -10,", "budget.epsilon"),
        ("patient_id -> patient.id", "day -> patient.id", "tables.visit"),
        ("privacy_unit: patient.id", "privacy_unit: nobody.id", "privacy_unit"),
        ("max_rows: 24", "max_row: 24", "tables.visit.max_row"),
    ],
)
def test_check_names_the_key_path_of_a_problem(run: Run, policy: Path, before: str, after: str, path: str) -> None:
    text = policy.read_text()
    assert before in text
    policy.write_text(text.replace(before, after))
    done = run("check", policy)
    assert done.code == 1
    assert re.search(f"^error: {re.escape(path)}", done.out, re.MULTILINE)


@pytest.mark.parametrize(
    ("ledger", "reason"),
    [
        ("nowhere/clinic.ledger", "there is no folder"),
        (clinic.DATABASE, "the ledger is a file of the data itself"),
        (f"./{clinic.DATABASE}", "the ledger is a file of the data itself"),
        ("..", "is a folder"),
        ("words.txt", "the file is damaged, or no ledger"),
    ],
)
def test_check_tries_the_ledger_and_makes_none(run: Run, policy: Path, ledger: str, reason: str) -> None:
    (policy.parent / "words.txt").write_text("no ledger")
    policy.write_text(re.sub("ledger: .*", f"ledger: 'sqlite:{ledger}'", policy.read_text()))
    done = run("check", policy)
    assert done.code == 1
    (found,) = re.findall("^error: (.*)", done.out, re.MULTILINE)
    assert found.startswith("ledger: ")
    assert reason in found
    policy.write_text(re.sub("ledger: .*", "ledger: sqlite:none.ledger", policy.read_text()))
    assert run("check", policy).code == 0
    assert not (policy.parent / "none.ledger").exists()


@pytest.mark.parametrize("unit", ["patient.id", "row"])
def test_check_fails_where_delta_is_one_person_in_all(run: Run, policy: Path, unit: str) -> None:
    with duckdb.connect(str(policy.parent / clinic.DATABASE), read_only=True) as database:
        people = max(
            database.execute("SELECT (SELECT count(*) FROM patient), (SELECT count(*) FROM visit)").fetchone() or ()
        )
        if unit != "row":
            (people,) = database.execute("SELECT count(DISTINCT id) FROM patient").fetchone() or (0,)
    text = policy.read_text()
    if unit == "row":
        text = re.sub("(privacy_unit: ).*", r"\1row", text)
        text = re.sub(r"\n *(unit|max_rows|max_groups|max_rows_per_group): .*", "", text)
        text = re.sub(r", max_(total|distinct): [0-9]+", "", text)
    for part, code in ((1 / people, 1), (0.9 / people, 0)):
        policy.write_text(text.replace("delta: 1e-6", f"delta: {part + 1e-12:.12f}", 1))
        done = run("check", policy)
        assert (done.code, "error: budget.delta: at least 1 / number of people" in done.out) == (code, bool(code)), (
            done.out
        )
        assert str(people) not in done.out, "a problem may be passed on"


def test_init_writes_a_policy_beside_the_place_it_is_for(run: Run, policy: Path) -> None:
    folder = policy.parent / "policies"
    folder.mkdir()
    output = folder / "first.yaml"
    done = run("init", policy.parent / clinic.DATABASE, "--output", output)
    assert (done.code, done.out) == (0, "")
    text = output.read_text()
    assert f"database: duckdb:../{clinic.DATABASE}" in text
    again = run("init", policy.parent / clinic.DATABASE, "--output", output)
    assert again.code == 1
    assert "exists already" in again.err
    assert output.read_text() == text
    assert run("check", output).code in (0, 1)


def test_init_without_output_writes_to_stdout(run: Run, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(policy.parent)
    plain = run("init", clinic.DATABASE)
    assert plain.code == 0
    assert f"database: duckdb:{clinic.DATABASE}" in plain.out
    assert run("init", f"duckdb:{clinic.DATABASE}").out == plain.out
    with duckdb.connect(clinic.DATABASE, read_only=True) as database:
        rare = database.execute("SELECT diagnosis FROM patient WHERE diagnosis IS NOT NULL").fetchall()
    assert not any(name in plain.out for (name,) in rare), "init reads the schema, never a row"


def test_init_of_what_is_no_database_exits_1(run: Run, tmp_path: Path) -> None:
    assert "58P01" in run("init", tmp_path / "none.duckdb").err
    (tmp_path / "text.duckdb").write_text("not a database")
    done = run("init", tmp_path / "text.duckdb")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("ERROR ")


# formats

ODD = Answer(
    columns=(
        AnswerColumn("a", TEXT),
        AnswerColumn("a", BIGINT),
        AnswerColumn('quote " and, comma', DOUBLE),
        AnswerColumn("cost", decimal(8, 2)),
        AnswerColumn("day", DATE),
    ),
    rows=(('say "hi"\n', 2**62, float("nan"), Decimal("1E+2"), None), ("", None, 0.1, Decimal("0.10"), None)),
    margins=((None, float("inf"), None, None, None), (None, 1.5, None, None, None)),
    price=PrivacyLoss(),
    budget=lambda: Budget(Fraction(1), Fraction(0), 0.0, 1.0, 10, "pure", PrivacyLoss(epsilon=Fraction(1))),
)


def test_csv_tells_null_from_the_empty_text_and_quotes_what_must_be() -> None:
    text = as_csv(ODD)
    assert text.splitlines()[-1] == '"",,0.1,0.10,'
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == [column.name for column in ODD.columns]
    assert rows[1] == ['say "hi"\n', str(2**62), "nan", "100", ""]


def test_json_is_standard_and_loses_no_column() -> None:
    told = json.loads(as_json(ODD), parse_constant=pytest.fail)
    assert told["rows"] == [['say "hi"\n', 2**62, None, 100.0, None], ["", None, 0.1, 0.1, None]]
    assert told["margins"][0][1] == "?"
    assert told["columns"][3] == {"name": "cost", "type": "decimal(8,2)"}
