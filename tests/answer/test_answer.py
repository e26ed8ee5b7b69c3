"""The order of the flow is the guarantee: what is charged when, what is read when, and what an error may say."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.errors import BudgetExceeded, DataError, Error, InternalError, NotSupportedError, OperationalError
from dpsql.proxy import Proxy
from dpsql.releases.tables import ExactTable
from rewriter.plan import Plan
from tests.doubles import open_without_noise
from tests.new_databases import new_database

CANARY = "canary-7f3a"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with new_database(tmp_path / "clinic.duckdb") as connection:
        connection.execute(
            "CREATE TABLE patient (id INTEGER PRIMARY KEY, sex VARCHAR NOT NULL, name VARCHAR, weight DOUBLE)"
        )
        connection.execute(f"INSERT INTO patient SELECT i, 'F', '{CANARY}', 60 + i % 9 FROM range(500) t(i)")
        connection.execute(
            "CREATE TABLE visit (patient_id INTEGER REFERENCES patient (id), day DATE, cost DECIMAL(8,2))"
        )
        connection.execute(
            "INSERT INTO visit SELECT i % 500, DATE '2025-01-01' + (i % 300)::INT, i % 90 FROM range(2500) t(i)"
        )
    (tmp_path / "policy.yaml").write_text(
        """
database: duckdb:clinic.duckdb
ledger: sqlite:clinic.ledger
privacy_unit: patient.id
budget: {epsilon: 2, delta: 1e-6}
statement: {epsilon: 0.1, max_epsilon: 1}
analysts:
  ana: {}
  ben: {budget: {epsilon: 0.5}}
tables:
  patient:
    columns: {id: {}, sex: {values: [F, M]}, name: {}, weight: {range: [20, 200]}}
  visit:
    unit: patient_id -> patient.id
    max_rows: 20
    columns: {patient_id: {}, day: {range: [2025-01-01, 2025-12-31]}, cost: {range: [0, 100]}}
"""
    )
    return tmp_path


@pytest.fixture
def proxy(folder: Path) -> Iterator[Proxy]:
    opened = Proxy.open(folder / "policy.yaml")
    yield opened
    opened.close()


def _charges(folder: Path) -> int:
    with sqlite3.connect(f"file:{folder}/clinic.ledger?mode=ro", uri=True) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM charge").fetchone()[0])


def test_a_charge_is_durable_before_the_engine_reads(
    folder: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    run = DuckDBEngine.run

    def spy(engine: DuckDBEngine, plan: Plan, *how: Any) -> ExactTable:
        seen.append(_charges(folder))
        return run(engine, plan, *how)

    monkeypatch.setattr(DuckDBEngine, "run", spy)
    proxy.session("ana").execute("SELECT COUNT(*) FROM patient")
    assert seen == [1]


def test_a_failing_engine_keeps_the_charge_and_says_one_fixed_text(
    folder: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(self: DuckDBEngine, plan: Plan, *how: object) -> ExactTable:
        raise ValueError(f"Could not convert string '{CANARY}' to INT32")

    monkeypatch.setattr(DuckDBEngine, "run", fail)
    with pytest.raises(InternalError) as raised:
        proxy.session("ana").execute("SELECT COUNT(*) FROM patient")
    assert _charges(folder) == 1
    error: BaseException | None = raised.value
    assert CANARY not in str(error)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    assert CANARY not in caplog.text


@pytest.mark.quick
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM patient",
        "SELECT name FROM patient",
        "SELECT COUNT(*) FROM nowhere",
        "SELECT COUNT(*) FROM patient WHERE random() < 0.5",
        "SELECT MODE() WITHIN GROUP (ORDER BY weight) FROM patient",
        "SELECT SUM(id) FROM patient",
        "SELECT COUNT(*) FROM patient; SELECT COUNT(*) FROM patient",
        "DELETE FROM patient",
        "SELECT COUNT(*) FROM patient, visit",
        "SELECT COUNT(*) FROM patient WHERE weight = (SELECT AVG(weight) FROM patient)",
        "SELECT (",
    ],
)
def test_a_refusal_costs_nothing_and_says_what_would_work(folder: Path, proxy: Proxy, sql: str) -> None:
    with pytest.raises(Error) as raised:
        proxy.session("ana").execute(sql)
    assert raised.value.hint
    assert raised.value.sqlstate != "XX000"
    assert _charges(folder) == 0


def test_describe_and_explain_are_free_and_read_nothing(
    folder: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DuckDBEngine, "run", lambda *_: pytest.fail("data was read"))
    session = proxy.session("ana")
    sql = "SELECT sex, COUNT(*) AS n, AVG(weight) AS w FROM patient GROUP BY sex"
    assert [(column.name, str(column.type)) for column in session.describe(sql)] == [
        ("sex", "text"),
        ("n", "bigint"),
        ("w", "double"),
    ]
    explanation = session.explain(sql)
    assert explanation.price.rho == Fraction(1, 200)
    assert explanation.releases[0].margins["a0"] > 0
    assert session.execute("EXPLAIN " + sql).rows
    assert _charges(folder) == 0


def test_a_repeated_release_is_free_and_the_same_for_everybody(folder: Path, proxy: Proxy) -> None:
    sql = "SELECT sex, COUNT(*) FROM patient GROUP BY sex ORDER BY sex"
    first = proxy.session("ana").execute(sql)
    wrapped = proxy.session("ben").execute(f"SELECT * FROM ({sql}) AS virtual_table LIMIT 1000")
    assert wrapped.rows == first.rows
    assert not wrapped.price
    assert _charges(folder) == 1
    fresh = proxy.session("ana")
    fresh.execute("SET dpsql.reuse = off")
    assert fresh.execute(sql).price
    dearer = proxy.session("ana")
    dearer.execute("SET dpsql.epsilon = 0.3")
    assert dearer.execute(sql).price


def test_released_groups_of_public_keys_do_not_depend_on_the_rows(proxy: Proxy) -> None:
    answer = proxy.session("ana").execute("SELECT sex, COUNT(*) FROM patient GROUP BY sex ORDER BY sex")
    assert [row[0] for row in answer.rows] == ["F", "M"]


def test_keys_of_few_people_stay_unnamed(proxy: Proxy) -> None:
    named = proxy.session("ana").execute("SELECT name, COUNT(*) FROM patient GROUP BY name")
    assert [row[0] for row in named.rows] == [CANARY]
    rare = proxy.session("ana").execute(
        "SELECT name || CAST(weight AS TEXT), COUNT(*) FROM patient WHERE id < 9 GROUP BY 1"
    )
    assert rare.rows == ()


def test_a_share_is_capped_and_the_total_too(folder: Path, proxy: Proxy) -> None:
    ben = proxy.session("ben")
    ben.execute("SET dpsql.reuse = off")
    with pytest.raises(BudgetExceeded) as raised:
        for _ in range(100):
            ben.execute("SELECT COUNT(*) FROM patient")
    assert raised.value.sqlstate == "53400"
    spent = _charges(folder)
    assert 0 < spent < 30
    proxy.session("ana").execute("SELECT AVG(weight) FROM patient")
    assert _charges(folder) == spent + 1


def test_settings_stay_within_the_owners_cap(proxy: Proxy) -> None:
    session = proxy.session("ana")
    for value in ("0", "-1", "1.0001", "nan", "inf", "1e400", "abc", "1/0"):
        with pytest.raises(DataError):
            session.execute(f"SET dpsql.epsilon = '{value}'")
    with pytest.raises(DataError):
        session.execute("SET dpsql.noise = off")
    session.execute("SET dpsql.epsilon = 0.25")
    assert session.execute("SHOW dpsql.epsilon").rows == (("0.25",),)
    session.execute("RESET dpsql.epsilon")
    assert session.execute("SHOW dpsql.epsilon").rows == (("0.1",),)


def test_an_unknown_analyst_is_turned_away(proxy: Proxy) -> None:
    for name in ("eve", "", None):
        with pytest.raises(OperationalError):
            proxy.session(name)


def test_several_releases_share_one_price(folder: Path, proxy: Proxy) -> None:
    """The noise of 2,500 visits has a deviation of 94: they are never fewer than 1,500."""
    ana = proxy.session("ana")
    ana.execute("SET dpsql.epsilon = 0.3")
    answer = ana.execute(
        "WITH p AS (SELECT COUNT(*) AS n FROM patient), v AS (SELECT COUNT(*) AS n FROM visit) "
        "SELECT v.n * 1.0 / p.n AS visits_each, (SELECT COUNT(*) FROM patient) AS again FROM p, v"
    )
    assert answer.price.rho == Fraction(9, 200)
    assert _charges(folder) == 1
    assert 3 < float(str(answer.rows[0][0])) < 8


def test_answers_without_noise_are_exact_above_the_release_too(folder: Path) -> None:
    proxy = open_without_noise(folder / "policy.yaml")
    try:
        answer = proxy.session("ana").execute(
            "SELECT m, n, SUM(n) OVER (ORDER BY m) AS running, n / 2 AS half FROM "
            "(SELECT EXTRACT(MONTH FROM day)::INT AS m, COUNT(*) AS n FROM visit GROUP BY 1) t WHERE m <= 2 ORDER BY m"
        )
    finally:
        proxy.close()
    with duckdb.connect(str(folder / "clinic.duckdb"), read_only=True) as connection:
        counts = [
            row[0]
            for row in connection.execute(
                "SELECT COUNT(*) FROM visit WHERE day < DATE '2025-03-01' GROUP BY month(day) ORDER BY month(day)"
            ).fetchall()
        ]
    assert [tuple(int(str(cell)) for cell in row) for row in answer.rows] == [
        (1, counts[0], counts[0], counts[0] // 2),
        (2, counts[1], counts[0] + counts[1], counts[1] // 2),
    ]


def test_threads_of_one_proxy_never_overspend(folder: Path, proxy: Proxy) -> None:
    def ask(number: int) -> int:
        session = proxy.session("ana")
        session.execute("SET dpsql.reuse = off")
        try:
            session.execute(f"SELECT COUNT(*) FROM patient WHERE weight > {20 + number}")
        except BudgetExceeded:
            return 0
        return 1

    with ThreadPoolExecutor(4) as pool:
        answered = sum(pool.map(ask, range(30)))
    assert _charges(folder) == answered
    assert not proxy.ledger.spent().rho > proxy._opened.accountant.limit.rho


def _ask_forever(folder: str, answers: multiprocessing.connection.Connection) -> None:  # type: ignore[name-defined]
    proxy = Proxy.open(os.path.join(folder, "policy.yaml"))
    session = proxy.session("ana")
    session.execute("SET dpsql.reuse = off")
    session.execute("SET dpsql.epsilon = 0.001")
    while True:
        answers.send(session.execute("SELECT COUNT(*) FROM patient").rows[0][0])


def test_a_kill_never_leaves_a_released_answer_uncharged(folder: Path) -> None:
    context = multiprocessing.get_context("spawn")
    received = 0
    for _ in range(2):
        reader, writer = context.Pipe(duplex=False)
        process = context.Process(target=_ask_forever, args=(str(folder), writer))
        process.start()
        writer.close()
        answers: list[object] = []

        def read(reader: object = reader, answers: list[object] = answers) -> None:
            try:
                while True:
                    answers.append(reader.recv())  # type: ignore[attr-defined]
            except (EOFError, OSError):
                return

        thread = threading.Thread(target=read)
        thread.start()
        deadline = time.monotonic() + 60
        while len(answers) < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        thread.join()
        received += len(answers)
        assert received >= 5
        assert _charges(folder) >= received


def test_columns_are_called_by_the_functions_that_were_written(proxy: Proxy) -> None:
    """As PostgreSQL 15 calls them."""
    session = proxy.session("ana")
    items = {
        "VAR_SAMP(weight)": "var_samp", "VARIANCE(weight)": "variance", "CEILING(COUNT(*))": "ceiling",
        "CEIL(COUNT(*))": "ceil", "MOD(COUNT(*), 2)": "mod", "COUNT(*) % 2": "?column?", "COUNT(*) ^ 2": "?column?",
        "POW(COUNT(*), 2)": "pow", "LOG10(COUNT(*))": "log10", "DIV(COUNT(*), 2)": "div", "CHAR_LENGTH('a')": "char_length",
        "STRPOS('a', 'b')": "strpos", "POSITION('a' IN 'b')": "position", "SUBSTR('a', 1)": "substr", "SUBSTRING('a', 1)": "substring",
        "2.5::double precision::integer": "int4", "(CASE WHEN TRUE THEN 1 END)::text": "text", "COUNT(*)::text": "count",
    }  # fmt: skip
    columns = session.describe(f"SELECT {', '.join(items)} FROM patient")
    assert [column.name for column in columns] == list(items.values())
    assert session.describe("SELECT mod FROM (SELECT MOD(COUNT(*), 3) FROM patient) t")[0].name == "mod"


def test_a_double_of_numpy_is_a_parameter_like_any_other(proxy: Proxy) -> None:
    session, sql = proxy.session("ana"), "SELECT COUNT(*) FROM patient WHERE weight > ?"
    assert session.execute(sql, [np.float64(150.5)]).rows == session.execute(sql, [150.5]).rows


def test_parameters_may_stand_side_by_side(proxy: Proxy) -> None:
    session = proxy.session("ana")
    spaced = session.execute("SELECT COUNT(*) FROM patient WHERE weight IN ($1, $2)", {"1": 70, "2": 71})
    assert (
        session.execute("SELECT COUNT(*) FROM patient WHERE weight IN ($1,$2)", {"1": 70, "2": 71}).rows == spaced.rows
    )
    assert session.execute("SELECT $1||$2||'$1,$2'", {"1": "a", "2": "b"}).rows == (("ab$1,$2",),)


def test_a_decimal_without_decimals_is_no_integer(proxy: Proxy) -> None:
    session = proxy.session("ana")
    assert session.execute("SELECT 5 / ?, 5 / ?", [Decimal(2), 2]).rows == ((2.5, 2),)


def test_forms_that_are_refused_say_which_form(proxy: Proxy) -> None:
    with pytest.raises(NotSupportedError) as raised:
        proxy.session("ana").execute(
            "SELECT p.sex, COUNT(*) FROM patient p JOIN visit v ON v.cost = p.weight GROUP BY 1"
        )
    assert "p.id = v.patient_id" in raised.value.hint


def test_a_bug_of_ours_says_one_fixed_text(
    folder: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where an exception of ours holds a private value, it goes to nobody: not to the analyst, not into the log."""

    def stumble(*_: object) -> ExactTable:
        raise ValueError(f"no such person: {CANARY}")

    monkeypatch.setattr("dpsql.answer.perturb", stumble)
    with pytest.raises(InternalError) as raised:
        proxy.session("ana").execute("SELECT COUNT(*) FROM patient")
    assert (raised.value.message, raised.value.sqlstate) == (
        "internal error; the owner's log names the place",
        "XX000",
    )
    assert raised.value.__cause__ is None
    assert CANARY not in f"{raised.value!r} {raised.value.hint} {caplog.text}"
    assert "ValueError" in caplog.text
    assert _charges(folder) == 1


def test_parameters_of_another_type_are_another_statement(proxy: Proxy) -> None:
    """1, 1.0, TRUE and Decimal 1 are equal in Python, and what a statement means was remembered by its parameters."""
    session = proxy.session("ana")
    sql = "SELECT ? AS x, COUNT(*) FROM patient"
    told = [session.describe(sql, [value])[0].type for value in (1, 1.0, True, Decimal(1), "1")]
    assert len(set(map(str, told))) >= 4, told
    assert [type(session.execute(sql, [value]).rows[0][0]) for value in (1, 1.0, True)] == [int, float, bool]


def test_what_is_bought_anew_is_shown_anew(proxy: Proxy) -> None:
    """Answers are remembered by the numbers that they are made of. Ten draws of two counts are alike once in 10²⁰."""
    session = proxy.session("ana")
    session.execute("SET dpsql.reuse = off")
    session.execute("SET dpsql.epsilon = 0.05")
    answers = [session.execute("SELECT sex, COUNT(*) FROM patient GROUP BY sex").rows for _ in range(10)]
    assert len(set(answers)) > 1


@pytest.mark.parametrize("other", [True, False], ids=["in another proxy", "in this one"])
def test_what_others_buy_between_price_and_claim_is_not_bought_again(
    folder: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, other: bool
) -> None:
    sql, claim = "SELECT COUNT(*) FROM patient", proxy.answering.claim
    beside = Proxy.open(folder / "policy.yaml") if other else proxy
    bought: list[Any] = []

    def claimed(*arguments: Any) -> None:
        monkeypatch.setattr(proxy.answering, "claim", claim)
        bought.append(beside.session("ben").execute(sql))
        claim(*arguments)

    monkeypatch.setattr(proxy.answering, "claim", claimed)
    answer = proxy.session("ana").execute(sql)
    if other:
        beside.close()
    assert bought[0].price
    assert not answer.price
    assert answer.rows == bought[0].rows
    assert _charges(folder) == 1
