"""Statements in stages: what is charged when, what is read when, and what a later stage may depend on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from dpsql.accounting import PrivacyLoss
from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.errors import BudgetExceeded, DataError, Error, InternalError, NotSupportedError
from dpsql.proxy import Proxy, Session
from dpsql.releases.tables import ExactTable
from rewriter.declared.contribution import Norm
from rewriter.dialects.duckdb import DUCKDB
from rewriter.plan import Plan
from rewriter.planner.plan_release import plan
from rewriter.split.splitter import split
from rewriter.statement.parser import Select, parse
from tests.answer.answers import drawn, with_answers
from tests.doubles import open_without_noise
from tests.golden.pairs import clinic
from tests.new_databases import new_database

ABOVE = "SELECT COUNT(*) FROM patient WHERE weight > (SELECT AVG(weight) FROM patient)"
NESTED = "SELECT COUNT(*) FROM patient WHERE weight < (SELECT AVG(weight) FROM patient WHERE weight > (SELECT AVG(weight) FROM patient))"
KEYED = "SELECT COUNT(*) FROM patient p JOIN (SELECT sex, AVG(weight) AS a FROM patient GROUP BY sex) s ON s.sex = p.sex WHERE p.weight > s.a"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with new_database(tmp_path / "clinic.duckdb") as connection:
        connection.execute(
            "CREATE TABLE patient (id INTEGER PRIMARY KEY, sex VARCHAR NOT NULL, name VARCHAR, weight DOUBLE)"
        )
        connection.execute(
            "INSERT INTO patient SELECT i, 'FM'[1 + i % 2], 'n' || i % 4, 60 + i % 9 FROM range(900) t(i)"
        )
    (tmp_path / "policy.yaml").write_text(
        """
database: duckdb:clinic.duckdb
ledger: sqlite:clinic.ledger
privacy_unit: patient.id
budget: {epsilon: 10, delta: 1e-6}
statement: {epsilon: 0.5, max_epsilon: 1}
tables:
  patient:
    columns: {id: {}, sex: {values: [F, M]}, name: {}, weight: {range: [20, 200]}}
"""
    )
    return tmp_path


@pytest.fixture
def ana(folder: Path) -> Iterator[Session]:
    with closing(Proxy.open(folder / "policy.yaml")) as proxy:
        yield proxy.session()


@pytest.mark.quick
def test_each_stage_is_charged_before_it_is_read(ana: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two reads, and as many charges as reads at the time of each."""
    seen: list[int] = []
    run = DuckDBEngine.run

    def counted(self: DuckDBEngine, one: Plan, *rest: object) -> ExactTable:
        seen.append(len(ana._opened.ledger.charges()))
        return run(self, one, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(DuckDBEngine, "run", counted)
    answer = ana.execute(ABOVE)
    assert seen == [1, 2]
    assert answer.price.rho == Fraction(1, 8)
    assert [charge.loss.rho for charge in ana._opened.ledger.charges()] == [Fraction(1, 16)] * 2
    assert any("was released first, as " in notice for notice in answer.notices)


def test_the_same_text_is_free_and_says_the_same(ana: Session) -> None:
    for sql in (ABOVE, KEYED):
        first = ana.execute(sql)
        assert first.price.rho == Fraction(1, 8)
        again = ana.execute(sql)
        assert again.rows == first.rows
        assert not again.price
        assert not ana.explain(sql).price


@pytest.mark.quick
def test_explain_is_free_reads_nothing_and_says_the_price(
    ana: Session, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(DuckDBEngine, "run", lambda *_: pytest.fail("data was read"))
        told = {sql: ana.explain(sql) for sql in (ABOVE, NESTED, KEYED)}
        assert [column.name for column in ana.describe(ABOVE)] == ["count"]
    assert not ana._opened.ledger.charges()
    assert len(told[NESTED].releases) == 3
    assert all("is released first" in explanation.notices[0] for explanation in told.values())
    for sql, explanation in told.items():
        ana.execute("SET dpsql.reuse = off")
        assert ana.execute(sql).price == explanation.price, sql


def test_what_does_not_fit_is_refused_before_the_first_stage(ana: Session) -> None:
    """Its whole price is looked at, and not only the first stage's, which would have fitted."""
    ledger, limit = ana._opened.ledger, ana.budget().limit
    ledger.charge("analyst", PrivacyLoss(rho=limit.rho - Fraction(3, 32)), "what was asked before")
    with pytest.raises(BudgetExceeded):
        ana.execute(ABOVE)
    assert len(ledger.charges()) == 1


def test_a_stage_that_fails_keeps_its_charge_and_buys_no_other(ana: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> ExactTable:
        raise ValueError("Could not convert string 'canary' to INT32")

    monkeypatch.setattr(DuckDBEngine, "run", fail)
    with pytest.raises(InternalError) as raised:
        ana.execute(ABOVE)
    assert "canary" not in str(raised.value)
    assert len(ana._opened.ledger.charges()) == 1


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM patient WHERE weight = (SELECT AVG(weight) FROM patient)",
        "SELECT COUNT(*) FROM patient WHERE weight > (SELECT sex FROM patient GROUP BY sex LIMIT 1)",
        "SELECT COUNT(*) FROM patient WHERE weight > (SELECT AVG(weight), COUNT(*) FROM patient)",
        "SELECT SUM(weight - (SELECT COUNT(*) FROM patient)) FROM patient",
        "SELECT MEDIAN(name) FROM patient WHERE weight > (SELECT AVG(weight) FROM patient)",
        "SELECT COUNT(*) FROM (SELECT p.id FROM patient AS p LEFT JOIN (SELECT DISTINCT name FROM patient WHERE weight > 62)"
        " AS n ON n.name = p.name) AS own",
        "SELECT COUNT(*) FROM nowhere WHERE weight > (SELECT AVG(weight) FROM patient)",
        "SELECT name FROM patient WHERE weight > (SELECT AVG(weight) FROM patient)",
    ],
)
def test_what_the_last_stage_cannot_be_is_refused_before_the_first(ana: Session, sql: str) -> None:
    with pytest.raises(Error) as raised:
        ana.execute(sql)
    assert raised.value.hint
    assert raised.value.sqlstate != "XX000"
    assert not ana._opened.ledger.charges()


def test_settings_that_need_the_whole_plan_are_refused(ana: Session) -> None:
    ana.execute("SET dpsql.target_error = '5 %'")
    with pytest.raises(DataError, match="not foretold"):
        ana.execute(ABOVE)
    ana.execute("SET dpsql.target_error = off")
    ana.execute("SET dpsql.watch = high")
    with pytest.raises(NotSupportedError):
        ana.execute(ABOVE.replace("COUNT(*)", "COUNT(*) > 5"))
    assert not ana._opened.ledger.charges()


def test_a_statement_has_only_so_many_stages(ana: Session) -> None:
    sql = "(SELECT AVG(weight) FROM patient)"
    for _ in range(9):
        sql = f"(SELECT AVG(weight) FROM patient WHERE weight > {sql})"
    with pytest.raises(NotSupportedError, match="more than 7 aggregates"):
        ana.explain(f"SELECT COUNT(*) FROM patient WHERE weight > {sql}")


def test_δ_of_groups_that_are_selected_is_shared(ana: Session) -> None:
    sql = "SELECT name, COUNT(*) FROM patient WHERE weight > (SELECT AVG(a) FROM (SELECT name, AVG(weight) AS a FROM patient GROUP BY name) AS g) GROUP BY name"
    alone = ana.explain("SELECT name, COUNT(*) FROM patient GROUP BY name").price
    assert alone.delta
    assert ana.explain(sql).price.fits_within(alone)


def test_an_answer_of_nothing_is_null_and_keeps_nobody(folder: Path) -> None:
    with closing(open_without_noise(folder / "policy.yaml")) as proxy:
        ana = proxy.session()
        found = ana.execute(
            "SELECT COUNT(*) FROM patient WHERE weight > (SELECT AVG(weight) FROM patient WHERE weight > 150)"
        )
        assert found.rows == ((0,),)


def test_whatever_was_released_the_plan_differs_in_its_constants_alone() -> None:
    """No bound, group or statistic of a later stage hangs on a released number: it is planned before that is known."""
    known, random = clinic(), Random(5)
    for sql in (
        "SELECT reason, COUNT(*), SUM(cost) FROM visit WHERE cost > (SELECT AVG(cost) FROM visit) GROUP BY reason",
        "SELECT v.reason, AVG(v.cost) FROM visit v JOIN (SELECT reason, AVG(cost) AS a FROM visit GROUP BY reason) AS s"
        " ON s.a < v.cost GROUP BY v.reason",
        "SELECT COUNT(*) FROM visit AS v WHERE v.cost > (SELECT AVG(w.cost) FROM visit AS w WHERE w.reason = v.reason)",
    ):
        statement = parse(sql)
        assert isinstance(statement, Select)
        shapes = []
        for _ in range(6):
            answers, _ = with_answers(
                statement.tree, known, DUCKDB, lambda unknown, tried: drawn(random, unknown, tried)
            )
            plans = [plan(one, Norm.L2, DUCKDB) for one in split(statement.tree.copy(), answers, DUCKDB).groupings]
            shapes.append([_shape(one) for one in plans])
        assert all(shape == shapes[0] for shape in shapes), sql


def _shape(one: Plan) -> object:
    """All of a plan that decides on its noise and its answer, without its SQL and the names that are made of that."""
    cells = [(cell.granularity, cell.bound, cell.text) for block in one.blocks for cell in block.statistics]
    return [block.sensitivity for block in one.blocks], cells, one.selection, one.cells, str(one.keys), one.notes


def test_the_ledger_s_texts_hold_no_released_number(ana: Session) -> None:
    ana.execute(ABOVE)
    for charge in ana._opened.ledger.charges():
        assert not re.search(r"\d{2,}", charge.statement)
