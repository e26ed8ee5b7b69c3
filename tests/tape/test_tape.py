"""The tape tells what changed: two recordings are equal, and each planted change of a policy is found under its kind."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dpsql.explain import Explanation
from dpsql.proxy import Session
from tests.tape.__main__ import main
from tests.tape.collected_sources import collected, corpora, golden
from tests.tape.comparing import BETTER, Comparison, compared, unnamed
from tests.tape.recording import Tape, recorded
from tests.tape.worlds import Asked, World

SCHEMA = """
CREATE TABLE person (id INTEGER PRIMARY KEY, sex VARCHAR, age INTEGER);
CREATE TABLE stay (id INTEGER PRIMARY KEY, person_id INTEGER NOT NULL REFERENCES person (id), days INTEGER);
"""
POLICY = """
database: duckdb:elsewhere.duckdb
ledger: sqlite:elsewhere.ledger
privacy_unit: person.id
budget: {epsilon: 10, delta: 1e-6, accounting: zcdp}
statement: {epsilon: 0.1, max_epsilon: 1}
tables:
  person:
    columns: {id: {}, sex: {values: [F, M]}, age: {range: [0, 120]}}
  stay:
    unit: person_id -> person.id
    max_rows: 10
    columns: {id: {}, person_id: {}, days: {range: [0, 30]}}
"""
WORLD = World("clinic", POLICY, SCHEMA)
COUNT, SUM, MIN = "SELECT COUNT(*) FROM stay", "SELECT sex, SUM(age) FROM person GROUP BY sex", "SELECT id FROM person"
ASKED = [Asked(sql, sql) for sql in (COUNT, SUM, MIN)]


@pytest.fixture(scope="module")
def tape() -> Tape:
    return recorded([(WORLD, ASKED)], jobs=1)


def kinds(comparison: Comparison) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in comparison.differences:
        found.setdefault(one.name.partition(": ")[2], set()).add(one.kind)
    return found


def again(tape: Tape, old: str, new: str) -> dict[str, set[str]]:
    """The differences where the policy or the schema says something else; they fail, unless they are better."""
    assert old in POLICY + SCHEMA
    world = replace(WORLD, policy=POLICY.replace(old, new), schema=SCHEMA.replace(old, new))
    comparison = compared(tape, recorded([(world, ASKED)], jobs=1))
    found = kinds(comparison)
    assert comparison.fit() == all(kind in BETTER for some in found.values() for kind in some)
    assert comparison.fit({kind for some in found.values() for kind in some})
    assert len(found) + comparison.equal == len(ASKED)
    return found


def test_two_recordings_of_one_sample_are_equal() -> None:
    sample = [(world, statements[::32]) for world, statements in golden() if world.name.startswith("golden zcdp")]
    first, second = recorded(sample, jobs=1), recorded(sample, jobs=1)
    assert len(first.entries) > 8
    comparison = compared(first, second)
    assert comparison.equal == len(first.entries)
    assert comparison.fit()
    assert not comparison.differences


def test_all_that_is_answered_is_on_it(tape: Tape) -> None:
    assert [tape.entries[f"clinic: {sql}"]["refused"] is None for sql in (COUNT, SUM, MIN)] == [True, True, False]
    entry = tape.entries[f"clinic: {SUM}"]
    assert [name for name, _ in entry["columns"]] == ["sex", "sum"]
    assert entry["price"] == {"rho": "1/200"}  # Of an epsilon of 0.1: half of its square.
    assert set(entry["dialects"]) == {"postgres", "spark"}
    # One person has one age, of 0 to 120, in one group.
    assert any("120" in line for line in entry["plans"][0]["moves"])


def test_a_sensitivity_that_grows_is_reported(tape: Tape) -> None:
    found = again(tape, "max_rows: 10", "max_rows: 11")
    assert "sensitivity up" in found[COUNT]
    assert "error up" in found[COUNT]
    assert SUM not in found


def test_a_sensitivity_that_falls_is_no_gain_before_it_was_read(tape: Tape) -> None:
    assert "sensitivity down" in again(tape, "max_rows: 10", "max_rows: 9")[COUNT]
    assert "sensitivity down" not in BETTER


def test_a_price_is_reported(tape: Tape) -> None:
    dearer, cheaper = again(tape, "epsilon: 0.1", "epsilon: 0.2"), again(tape, "epsilon: 0.1", "epsilon: 0.05")
    for sql in (COUNT, SUM):  # A notice may name a number that hangs on the price.
        assert dearer[sql] - {"notices"} == {"price up", "error down"}
        assert cheaper[sql] - {"notices"} == {"price down", "error up"}
    assert MIN not in dearer


def test_a_new_refusal_and_a_new_answer_are_reported(tape: Tape) -> None:
    assert again(tape, "age: {range: [0, 120]}", "age: {}")[SUM] == {"newly refused"}
    less = recorded([(replace(WORLD, policy=POLICY.replace("age: {range: [0, 120]}", "age: {}")), ASKED)], jobs=1)
    comparison = compared(less, tape)
    assert kinds(comparison) == {SUM: {"newly answered"}}
    assert comparison.fit()


def test_a_text_of_a_refusal_is_reported(tape: Tape) -> None:
    entry = tape.entries[f"clinic: {MIN}"]
    for what, value in {"sqlstate": "42601", "message": "otherwise", "hint": "", "position": 99}.items():
        other = replace(
            tape, entries={**tape.entries, f"clinic: {MIN}": {**entry, "refused": {**entry["refused"], what: value}}}
        )
        comparison = compared(tape, other)
        assert kinds(comparison) == {MIN: {what}}
        assert not comparison.fit()


def test_a_type_of_a_column_is_reported(tape: Tape) -> None:
    found = again(tape, "age INTEGER", "age DECIMAL(8, 2)")
    assert "columns" in found[SUM]
    assert COUNT not in found


def test_a_policy_that_does_not_open_refuses_all(tape: Tape) -> None:
    found = again(tape, "privacy_unit: person.id", "privacy_unit: nobody.id")
    assert found[COUNT] == found[SUM] == {"newly refused"}


def test_a_crash_is_reported(tape: Tape, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> Explanation:
        raise KeyError("a bug")

    monkeypatch.setattr(Session, "explain", crash)
    comparison = compared(tape, recorded([(WORLD, ASKED)], jobs=1))
    assert kinds(comparison)[COUNT] == {"now crashes"}
    assert any("KeyError" in line for line in comparison.lines())


def test_sql_that_differs_in_its_names_alone_is_told_from_other_sql(tape: Tape) -> None:
    entry = tape.entries[f"clinic: {COUNT}"]
    [plan, *more] = entry["plans"]
    [sql] = plan["sql"]
    kept = set(tape.words["clinic"])
    for other, kind in ((sql.replace(" AS r", " AS rows_of_people"), "names alone"), (sql.replace("10", "11"), "SQL")):
        assert other != sql
        assert (unnamed(other, kept) == unnamed(sql, kept)) == (kind == "names alone")
        changed = {**entry, "plans": [{**plan, "sql": [other]}, *more]}
        comparison = compared(tape, replace(tape, entries={**tape.entries, f"clinic: {COUNT}": changed}))
        assert kinds(comparison) == {COUNT: {kind}}


def test_names_that_are_swapped_for_columns_are_not_names_alone() -> None:
    kept = {"age", "id", "person"}
    assert unnamed("SELECT t.age FROM person AS t", kept) != unnamed("SELECT t.id FROM person AS t", kept)
    assert unnamed("SELECT a, b FROM t", kept) == unnamed("SELECT x, y FROM z", kept)
    assert unnamed("SELECT a, b FROM t", kept) != unnamed("SELECT a, a FROM t", kept)
    assert unnamed("SELECT SUM(a)", kept) != unnamed("SELECT MAX(a)", kept)
    assert unnamed("SELECT 'a'", kept) != unnamed("SELECT 'b'", kept)


def test_a_notice_another_dialect_and_a_missing_statement_are_reported(tape: Tape) -> None:
    name = f"clinic: {COUNT}"
    for what, value, kind in (
        ("notices", ["something else"], "notices"),
        ("dialects", {**tape.entries[name]["dialects"], "spark": "other"}, "SQL of another dialect"),
        ("outer", "SELECT 1", "outer SQL"),
    ):
        other = replace(tape, entries={**tape.entries, name: {**tape.entries[name], what: value}})
        assert kinds(compared(tape, other)) == {COUNT: {kind}}
    fewer = replace(tape, entries={key: entry for key, entry in tape.entries.items() if key != name})
    assert kinds(compared(tape, fewer)) == {COUNT: {"missing statement"}}
    assert not compared(tape, fewer).fit()
    assert compared(fewer, tape).fit()


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_tape_is_read_as_it_was_written(
    tape: Tape, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tape.write(tmp_path / name)
    assert Tape.read(tmp_path / name).entries == tape.entries
    assert main(["compare", str(tmp_path / name), str(tmp_path / name)]) == 0
    assert "3 statements are equal, 0 are not" in capsys.readouterr().out
    replace(tape, entries={}).write(tmp_path / "less.jsonl")
    assert main(["compare", str(tmp_path / name), str(tmp_path / "less.jsonl")]) == 1


@pytest.mark.campaign  # it collects every test
def test_corpora_and_collected_statements_are_read(tape: Tape, tmp_path: Path) -> None:
    import duckdb

    corpus = tmp_path / "hospital"
    corpus.mkdir()
    with duckdb.connect(str(corpus / "elsewhere.duckdb")) as connection:
        connection.execute(SCHEMA)
    (corpus / "policy.yaml").write_text(POLICY)
    lines = [{"id": "q1", "sql": COUNT}, {"id": "q2", "sql": "SELECT", "truth": {"error": "syntax"}}]
    (corpus / "queries.jsonl").write_text("\n".join(map(json.dumps, lines)))
    [(world, asked)] = corpora(tmp_path)
    assert [one.source for one in asked] == ["hospital/q1"]
    [entry] = recorded([(world, asked)], jobs=1).entries.values()
    assert entry == tape.entries[f"clinic: {COUNT}"]

    told = [
        {"name": "w", "policy": POLICY, "schema": SCHEMA},
        *({"test": "t", "world": "w", "sql": COUNT, "settings": {}, "parameters": []},) * 2,
        {"test": "t", "world": "w", "sql": COUNT, "settings": {"dpsql.epsilon": "0.2"}, "parameters": []},
    ]
    (tmp_path / "1.jsonl").write_text("\n".join(map(json.dumps, told)))
    [(world, asked)] = collected(tmp_path)
    assert len(asked) == 2
    first, dearer = recorded([(world, asked)], jobs=1).entries.values()
    assert first == tape.entries[f"clinic: {COUNT}"]
    assert first["price"] != dearer["price"]
