"""The policy file: what it says is read exactly, what it may mean wrongly is refused with its key path."""

from __future__ import annotations

import datetime
import re
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from dpsql.engines.schema import ForeignKey, Profile, Schema, SchemaColumn, SchemaTable
from dpsql.opened import engine_of
from dpsql.policy import policy as policy_module
from dpsql.policy.check_policy import problems
from dpsql.policy.declared_catalog import catalog
from dpsql.policy.policy import Policy
from dpsql.policy.problem import PolicyError
from dpsql.policy.proposal import first_policy
from dpsql.policy.yaml_text import Written, number, read
from rewriter.declared.catalog import Hop
from rewriter.declared.types import BIGINT, BOOLEAN, DATE, DOUBLE, INTEGER, SMALLINT, TEXT, TIMESTAMP, Type, decimal

GOLDEN = Path(__file__).parent.parent / "golden" / "policy"

HEAD = """
database: duckdb:clinic.duckdb
ledger: sqlite:clinic.ledger
privacy_unit: patient.id
budget: {epsilon: 10, delta: 1e-6}
"""

CLINIC = (
    HEAD
    + """
statement: {epsilon: 0.1, max_epsilon: 1}
analysts:
  ana: {password: 'secret', budget: {epsilon: 3}}
tables:
  patient:
    columns:
      sex: {values: [F, M]}
      birth_year: {range: [1900, 2026]}
      height_cm: {range: [40, 220]}
      region: {values_from: region.name}
  visit:
    unit: patient_id -> patient.id
    max_rows: 40
    columns:
      patient_id: {}
      day: {range: [2020-01-01, 2025-12-31]}
      cost: {range: [0, 5000]}
  region: {public: true}
"""
)


def column(name: str, kind: Type | None, not_null: bool = False, engine_type: str = "") -> SchemaColumn:
    return SchemaColumn(name, engine_type or (str(kind) if kind else "BLOB"), kind, not_null)


def table(name: str, *columns: SchemaColumn, key: str = "", references: dict[str, str] | None = None) -> SchemaTable:
    foreign = []
    for child, target in (references or {}).items():
        parent, parent_column = target.split(".")
        foreign.append(ForeignKey((child,), parent, (parent_column,)))
    return SchemaTable(
        name, {c.name: c for c in columns}, primary_key=(key,) if key else (), foreign_keys=tuple(foreign)
    )


def schema(*tables: SchemaTable) -> Schema:
    return Schema({t.name: t for t in tables})


PATIENT = table(
    "patient",
    column("id", INTEGER, True),
    column("sex", TEXT),
    column("birth_year", INTEGER),
    column("height_cm", DOUBLE),
    column("region", TEXT),
    column("photo", None),
    column("smoker", BOOLEAN),
    key="id",
    references={"region": "region.name"},
)
VISIT = table(
    "visit",
    column("id", INTEGER, True),
    column("patient_id", INTEGER, True),
    column("day", DATE),
    column("seen", TIMESTAMP),
    column("cost", decimal(8, 2)),
    column("ward", SMALLINT),
    key="id",
    references={"patient_id": "patient.id"},
)
REGION = table("region", column("name", TEXT, True), column("people", BIGINT), column("shape", None), key="name")
LAB = table("lab", column("visit_id", INTEGER), column("code", TEXT), references={"visit_id": "visit.id"})
DATABASE = schema(PATIENT, VISIT, REGION, LAB)


def found(text: str, database: Schema = DATABASE, severity: str = "error") -> dict[str, str]:
    """What is found in a policy: key path to message."""
    try:
        policy = Policy.parse(text)
    except PolicyError as error:
        return {problem.path: problem.message for problem in error.problems}
    return {p.path: p.message for p in problems(policy, database) if p.severity == severity}


def with_tables(tables: str, head: str = HEAD) -> str:
    return head + "tables:\n" + tables


# What is read


def test_a_policy_is_read_with_exact_numbers_and_absolute_paths(tmp_path: Path) -> None:
    path = tmp_path / "clinic.yaml"
    path.write_text(CLINIC)
    policy = Policy.load(path)
    assert policy.database.kind == "duckdb"
    assert policy.database.path == str(tmp_path / "clinic.duckdb")
    assert str(policy.ledger) == f"sqlite:{tmp_path / 'clinic.ledger'}"
    assert policy.privacy_unit == ("patient", "id")
    assert (policy.budget.epsilon, policy.budget.delta) == (Fraction(10), Fraction(1, 10**6))
    assert policy.statement.epsilon == Fraction(1, 10)
    assert policy.statement.delta == Fraction(1, 10**9)
    assert policy.analysts is not None
    assert policy.analysts["ana"].budget is not None
    assert policy.analysts["ana"].budget.epsilon == 3
    assert policy.tables["visit"].unit == ((Hop("patient_id", "patient", "id"),),)
    assert str(policy.tables["visit"].max_rows) == "40"


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        ("0.1", Fraction(1, 10)),
        ("1e-6", Fraction(1, 10**6)),
        ("1E-6", Fraction(1, 10**6)),
        (".5", Fraction(1, 2)),
        ("'0.3'", Fraction(3, 10)),
        ("0.10000000000000000000000000001", Fraction(10**28 + 1, 10**29)),
    ],
)
def test_a_price_is_the_number_that_is_written(written: str, exact: Fraction) -> None:
    head = HEAD.replace("delta: 1e-6", f"delta: {written}")
    assert Policy.parse(with_tables(" {}", head)).budget.delta == exact


@pytest.mark.parametrize("delta", ["", ", delta: 0", ", delta: 0.0"])
def test_without_delta_the_accounting_is_pure(delta: str) -> None:
    policy = Policy.parse(with_tables(" {}", HEAD.replace(", delta: 1e-6", delta)))
    assert (policy.budget.accounting, policy.budget.delta, policy.statement.delta) == ("pure", 0, 0)


def test_with_delta_the_accounting_is_zcdp_unless_it_is_given() -> None:
    assert Policy.parse(CLINIC).budget.accounting == "zcdp"
    approx = Policy.parse(CLINIC.replace("delta: 1e-6}", "delta: 1e-6, accounting: approx}"))
    assert approx.budget.accounting == "approx"


def test_the_default_prices_stay_within_a_small_budget() -> None:
    statement = Policy.parse(with_tables(" {}", HEAD.replace("epsilon: 10", "epsilon: 0.05"))).statement
    assert statement.epsilon == statement.max_epsilon == Fraction(1, 20)


def test_a_policy_cannot_be_changed() -> None:
    policy = Policy.parse(CLINIC)
    with pytest.raises(ValidationError) as refused:
        policy.budget = policy.budget  # type: ignore[misc]
    assert [one["type"] for one in refused.value.errors()] == ["frozen_instance"]
    with pytest.raises(TypeError):
        policy.tables["secret"] = policy.tables["visit"]  # type: ignore[index]


def test_no_representation_shows_a_password_or_the_address_of_a_database() -> None:
    text = CLINIC.replace("duckdb:clinic.duckdb", "postgresql://owner:hunter2@db/clinic")
    policy = Policy.parse(text)
    assert str(policy.database) == "postgresql://owner:hunter2@db/clinic"
    assert "hunter2" not in repr(policy)
    assert "'secret'" not in repr(policy)


def test_yaml_1_1_turns_no_text_into_something_else() -> None:
    assert read("[NO, on, 12:30, 007, 1_000, 0x1F, 2020-01-01, 1.0, 'null', null, ~]") == [
        *("NO", "on", "12:30", "007", "1_000", "0x1F", "2020-01-01", "1.0", "null"),
        *(None, None),
    ]


# What is wrong in the file itself


Broken = tuple[str, str, str, str]


def top(section: str, path: str, message: str) -> Broken:
    return "\nstatement:", f"\n{section}\nstatement:", path, message


def of_visit(line: str, path: str, message: str) -> Broken:
    return "max_rows: 40", f"max_rows: 40\n    {line}", f"tables.visit.{path}", message


def of_sex(column: str, path: str, message: str) -> Broken:
    return "{values: [F, M]}", f"{{{column}}}", ".".join(filter(None, ("tables.patient.columns.sex", path))), message


BROKEN_POLICIES: tuple[Broken, ...] = (
    ("duckdb:clinic.duckdb", "mysql:x", "database", "duckdb:PATH"),
    ("duckdb:clinic.duckdb", "'duckdb:'", "database", "duckdb:PATH"),
    ("duckdb:clinic.duckdb", "'duckdb::memory:'", "database", "duckdb:PATH"),
    ("duckdb:clinic.duckdb", "sqlite:x", "database", "cannot serve here"),
    ("sqlite:clinic.ledger", "duckdb:x", "ledger", "cannot serve here"),
    ("sqlite:clinic.ledger", "", "ledger", "one value is expected"),
    ("ledger:", "legder:", "legder", "did you mean ledger?"),
    ("patient.id", "patient", "privacy_unit", "write table.column"),
    ("patient.id", "[patient.id]", "privacy_unit", "write table.column"),
    ("epsilon: 10,", "", "budget.epsilon", "missing"),
    ("epsilon: 10,", "epsilon: 0,", "budget.epsilon", "not above 0"),
    ("epsilon: 10,", "epsilon: -1,", "budget.epsilon", "not above 0"),
    ("epsilon: 10,", "epsilon: .nan,", "budget.epsilon", "not a number"),
    ("epsilon: 10,", "epsilon: .inf,", "budget.epsilon", "not a number"),
    ("epsilon: 10,", "epsilon: 1e999999999,", "budget.epsilon", "not a number"),
    ("epsilon: 10,", "epsilon: 1e99999,", "budget.epsilon", "digits"),
    ("epsilon: 10,", "epsilon: 1e7,", "budget.epsilon", "protects nobody"),
    ("epsilon: 10,", f"epsilon: {'9' * 5000},", "budget.epsilon", "digits"),
    ("epsilon: 10,", "epsilon: true,", "budget.epsilon", "not a number"),
    ("epsilon: 10,", "epsilon: {a: 1},", "budget.epsilon", "one value is expected"),
    ("delta: 1e-6", "delta: 1", "budget.delta", "not a probability"),
    ("delta: 1e-6", "delta: -1e-6", "budget.delta", "not a probability"),
    ("delta: 1e-6", "delta: 0, accounting: zcdp", "budget", "needs a delta above 0"),
    ("delta: 1e-6", "delta: 1e-6, accounting: pure", "budget", "leave delta out"),
    ("delta: 1e-6", "delta: 1e-6, accounting: renyi", "budget.accounting", "not one of zcdp, pure, approx"),
    ("{epsilon: 0.1, max_epsilon: 1}", "{epsilon: 2, max_epsilon: 1}", "statement", "above max_epsilon"),
    ("{epsilon: 0.1, max_epsilon: 1}", "{delta: 1e-5}", "statement", "above budget.delta"),
    ("{epsilon: 0.1, max_epsilon: 1}", "{epsilon: x}", "statement.epsilon", "not a number"),
    ("{epsilon: 0.1, max_epsilon: 1}", "{bounds: 20}", "statement.bounds", "not a part of a price"),
    ("{epsilon: 0.1, max_epsilon: 1}", "[1]", "statement", "a mapping is expected"),
    ("{epsilon: 3}", "{epsilon: 0}", "analysts.ana.budget.epsilon", "not above 0"),
    ("{epsilon: 3}", "{epsilon: 3, delta: 1}", "analysts.ana.budget.delta", "unknown key"),
    ("'secret'", "'SCRAM-SHA-256$x'", "analysts.ana.password", "broken verifier"),
    of_sex("values: []", "values", "empty list"),
    of_sex("values: F", "values", "list is expected"),
    of_sex("values: [[F], M]", "values", "item 0"),
    of_sex("value: [F, M]", "value", "did you mean values?"),
    of_sex("values: [1], range: [0, 1]", "", "exclude each other"),
    ("region.name", "region", "tables.patient.columns.region.values_from", "write table.column"),
    ("[0, 5000]", "[5000, 0]", "tables.visit.columns.cost.range", "low 5000 is above high 0"),
    ("[0, 5000]", "[0]", "tables.visit.columns.cost.range", "[lowest, highest]"),
    ("[0, 5000]", "[.nan, 5000]", "tables.visit.columns.cost.range", "neither a number nor a date"),
    ("[0, 5000]", "[null, 5000]", "tables.visit.columns.cost.range", "one value is expected"),
    ("[0, 5000]", "[0, 1e999]", "tables.visit.columns.cost.range", "digits"),
    ("[0, 5000]", "[0, 2020-01-01]", "tables.visit.columns.cost.range", "not of one kind"),
    ("2025-12-31", "2025-02-30", "tables.visit.columns.day.range", "not a day of the calendar"),
    ("2025-12-31", "2019-12-31", "tables.visit.columns.day.range", "is above high"),
    ("max_rows: 40", "max_rows: 0", "tables.visit.max_rows", "at least 1"),
    ("max_rows: 40", "max_rows: 1.5", "tables.visit.max_rows", "whole number"),
    ("max_rows: 40", "max_rows: 1e3", "tables.visit.max_rows", "whole number"),
    ("max_rows: 40", "max_row: 40", "tables.visit.max_row", "did you mean max_rows?"),
    ("-> patient.id", "= patient.id", "tables.visit.unit", "column -> table.column"),
    ("patient_id -> patient.id", "patient_id ->", "tables.visit.unit", "column -> table.column"),
    ("patient_id -> patient.id", "[]", "tables.visit.unit", "empty list"),
    ("[0, 5000]", "[0, 5000], max_total: 0", "tables.visit.columns.cost.max_total", "0 is not above 0"),
    ("[0, 5000]", "[0, 5000], max_total: many", "tables.visit.columns.cost.max_total", "not a number"),
    ("range: [0, 5000]", "step: 100", "tables.visit.columns.cost", "step needs a range"),
    ("[0, 5000]", "[0, 5000], step: 300", "tables.visit.columns.cost.step", "write [0, 4800] or [0, 5100]"),
    ("[0, 5000]", "[0, 5000], step: 0.001", "tables.visit.columns.cost.step", "finer than the values"),
    ("2025-12-31]", "2025-12-31], max_total: 9", "tables.visit.columns.day.max_total", "a date has no total"),
    (
        "{public: true}",
        "{public: true, columns: {name: {}, people: {max_total: 9}}}",
        "tables.region.columns.people.max_total",
        "holds no people",
    ),
    ("{public: true}", "{public: 1}", "tables.region.public", "neither true nor false"),
    ("{public: true}", "{public: true, max_rows: 3}", "tables.region", "holds no people"),
    ("{public: true}", "{columns: [name]}", "tables.region.columns", "mapping from names"),
    ("{public: true}", "yes", "tables.region", "a mapping is expected"),
    (
        "epsilon: 10, delta: 1e-6",
        "epsilon: 10, delta: 1e-6, per: fortnight",
        "budget.per",
        "not one of day, week, month",
    ),
    ("delta: 1e-6}", "delta: 1e-6, per: day, lifetime: {epsilon: 5}}", "budget", "is below epsilon 10"),
    ("delta: 1e-6}", "delta: 1e-6, lifetime: {epsilon: 50}}", "budget", "add per: month"),
    ("delta: 1e-6}", "delta: 1e-6, per: day, lifetime: 50}", "budget.lifetime", "a mapping is expected"),
    ("max_epsilon: 1}", "max_epsilon: high}", "statement.max_epsilon", "not a number"),
    ("max_epsilon: 1}", "max_epsilon: 1, stale: maybe}", "statement.stale", "not one of refuse, allow"),
    ("max_epsilon: 1}", "max_epsilon: 1, stales: allow}", "statement.stales", "did you mean stale?"),
    top("profile: {means: [visit.cost]}", "profile.epsilon", "missing"),
    top("profile: {epsilon: 0.1, means: [cost]}", "profile.means", "write table.column"),
    top("profile: 0.1", "profile", "a mapping is expected"),
    top("workloads: {w: {statements: nowhere.sql, epsilon: 1}}", "workloads.w.statements", "cannot be read"),
    top("workloads: [w]", "workloads", "mapping from names"),
    ("{epsilon: 3}", "{epsilon: 3, per: hour}", "analysts.ana.budget.per", "not one of day"),
    ("{epsilon: 3}", "{epsilon: 3, lifetime: {epsilon: 0}}", "analysts.ana.budget.lifetime.epsilon", "not above 0"),
    ("ana: {password", "ana: {pasword", "analysts.ana.pasword", "did you mean password?"),
    ("  ana: {password: 'secret', budget: {epsilon: 3}}", "  - ana", "analysts", "mapping from names"),
    top("owners: {eve: {}}", "owners.eve.password", "missing"),
    top("limits: {seconds: 0}", "limits.seconds", "not a number of seconds"),
    top("limits: {memory: lots}", "limits.memory", "such as 512MB or 4GB"),
    top("limits: {memory: 1}", "limits.memory", "such as 512MB or 4GB"),
    top("limits: {threads: 0}", "limits.threads", "at least 1"),
    top("limits: {statements: few}", "limits.statements", "whole number"),
    top("limits: {statements_per_analyst: 0}", "limits.statements_per_analyst", "at least 1"),
    top("limits: {wait: long}", "limits.wait", "not a number"),
    top("limits: {rows: -1}", "limits.rows", "at least 1"),
    top("limits: {connections: 0}", "limits.connections", "at least 1"),
    top("limits: {connections_per_analyst: 0}", "limits.connections_per_analyst", "at least 1"),
    top("limits: {row: 5}", "limits.row", "did you mean rows?"),
    top("clock: {tick: 7 hours}", "clock.tick", "divides a day"),
    top("clock: {zone: Berlin}", "clock.zone", "Europe/Berlin"),
    top("clock: 1 hour", "clock", "a mapping is expected"),
    top("refresh: hourly", "refresh", "1 hour, 1 day at 02:00"),
    top("horizon: 1 hour", "horizon", "at least 1 day"),
    top("releases: answers.db", "releases", "sqlite:PATH"),
    top("minmax: exact", "minmax", "not one of picked, declared"),
    of_visit("synthetic: made.csv", "synthetic", "is no Parquet file"),
    top("previews: some", "previews", "not one of empty, synthetic, refuse"),
    top("data_version: [1]", "data_version", "one value is expected"),
    (
        "[2020-01-01, 2025-12-31]",
        "[2020-01-01, 2025-12-31], grain: 7 hours",
        "tables.visit.columns.day.grain",
        "divides",
    ),
    of_sex("values: [F, M], max_distinct: 0", "max_distinct", "at least 1"),
    of_sex("max_items: none", "max_items", "whole number"),
    of_sex("type: varchar2", "type", "not one of"),
    of_sex("owner: private", "owner", "not one of public"),
    of_sex("randomized: {response: 1}", "", "randomized needs values"),
    of_sex("values: [F, M], randomized: {response: 0}", "randomized.response", "not above 0"),
    of_sex("values: [F, M], randomized: {}", "randomized", "write one of response"),
    of_sex("values: [F, M], randomized: {rappor: 64}", "randomized.rappor", "a mapping is expected"),
    *(
        (
            "{values: [F, M]}",
            f"{{values: [F, M], randomized: {{rappor: {{{said}}}}}}}",
            f"tables.patient.columns.sex.randomized.rappor.{key}",
            message,
        )
        for key, said, message in (
            ("bits", "bits: 0", "at least 1"),
            ("hashes", "bits: 64, hashes: 1.5", "whole number"),
            ("f", "bits: 64, f: 2", "from 0 to 1"),
            ("p", "bits: 64, p: -1", "from 0 to 1"),
            ("q", "bits: 64, q: often", "such as 0.25"),
            ("cohorts", "bits: 64, cohorts: 0", "at least 1"),
        )
    ),
    of_visit("files: []", "files", "name files"),
    of_visit("files: visit.xlsx", "files", "neither Parquet nor CSV"),
    of_visit("nulls: []", "nulls", "write [NA, '']"),
    of_visit("key: []", "key", "such as [order_id]"),
    of_visit("time: ''", "time", "an empty text"),
    ("max_rows: 40", "max_rows: 10 per month", "tables.visit", "time: day"),
    ("max_rows: 40", "max_rows: 40 per fortnight", "tables.visit.max_rows", "10 per month"),
    ("max_rows: 40", "max_rows: 40\n    closed_after: 2 days", "tables.visit", "closed_after needs time"),
    of_visit("closed_after: soon", "closed_after", "such as 6 hours"),
    of_visit("max_groups: 0", "max_groups", "at least 1"),
    of_visit("max_rows_per_group: x", "max_rows_per_group", "whole number"),
    of_visit("refresh: often", "refresh", "no way to refresh"),
    ("tables:", "table:", "table", "did you mean tables?"),
)
"""A policy that is right, a part of it that is replaced, and the one error that this makes: its key path and message."""


@pytest.mark.parametrize(("old", "new", "path", "message"), BROKEN_POLICIES)
def test_each_error_has_its_key_path_and_says_what_would_be_right(old: str, new: str, path: str, message: str) -> None:
    assert old in CLINIC
    errors = found(CLINIC.replace(old, new, 1))
    assert errors.keys() == {path}, "one mistake is one error"
    assert message in errors[path]


def test_an_empty_password_is_none_and_is_for_loopback_alone() -> None:
    assert found(CLINIC.replace("'secret'", "")) == {}


def test_every_key_of_a_policy_is_broken_once() -> None:
    """By its last name: keys of the same name in several sections are read by one rule, or stand in the table twice."""
    broken = {name for _, _, path, _ in BROKEN_POLICIES for name in path.split(".")}
    # These have errors with others alone, or their messages are about the section.
    broken |= {"closed_after", "lifetime", "statements", "means"}
    keys = {key for section in sections() for key in section.model_fields} - {"path"}
    assert keys - broken == set()


def sections() -> list[type[BaseModel]]:
    named = (getattr(policy_module, name) for name in dir(policy_module))
    return [one for one in named if isinstance(one, type) and issubclass(one, policy_module._Section)]


def test_all_errors_are_found_in_one_pass() -> None:
    text = CLINIC.replace("epsilon: 10,", "epsilon: x,").replace("[0, 5000]", "[1, 0]").replace("max_rows:", "max_row:")
    with pytest.raises(PolicyError) as caught:
        Policy.parse(text)
    assert {p.path for p in caught.value.problems} == {
        "budget.epsilon",
        "tables.visit.columns.cost.range",
        "tables.visit.max_row",
    }
    assert str(caught.value).count("\n") == 2
    assert caught.value.sqlstate == "F0000"


BOMB = "a: &a [x, x]\n" + "\n".join(
    f"{b}: &{b} [*{a}, *{a}]" for a, b in zip("abcdefghijklmno", "bcdefghijklmnop", strict=True)
)


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        (BOMB, "a", "anchors and aliases"),
        ("a: *b", "a", "anchors and aliases"),
        ("a: 1\na: 2", "a", "given twice (line 2)"),
        ("a: {b: {c: 1, c: 2}}", "a.b.c", "given twice"),
        ("a: !!python/object/apply:os.system [id]", "a", "tag"),
        ("a: !!float '1'", "a", "tag"),
        ("a: 1\n---\na: 2", "line 2", "second document"),
        ("a: [1", "line", "not YAML"),
        ("a: 1\n\tb: 2", "line 2", "a tab at the beginning of the line: write blanks"),
        ("a:\n  max_rows: ?", "line 2", "a ? waits for a value of yours: write it, or make the line a comment with #"),
        ("a: {range: [?, ?]}", "line 1", "a ? waits for a value of yours"),
        ("c: 2\na {b: 1, d: 2}", "line 2", "write each key as 'key: value' on a line of its own"),
        ("a: {b: 1}\nt:\n  - x\n  y: {}", "line 4", "the line does not go on with what is above it"),
        ("a: \x07", "", "not YAML"),
        ("? [a]\n: 1", "line 1", "plain name"),
        ("[" * 3000, "[0]" * 21, "nested deeper"),
        ("{a: " * 3000, ".".join("a" * 21), "nested deeper"),
        ("x" * (5 << 20), "", "longer than"),
        ("", "", "a policy is a mapping"),
        ("- a\n- b", "", "a policy is a mapping"),
        ("<<: {database: x}", "<<", "unknown key"),
    ],
)
def test_adversarial_yaml_is_refused_with_one_clean_error(text: str, path: str, message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.parse(text)
    first = caught.value.problems[0]
    assert first.path.startswith(path) if message == "not YAML" else first.path == path
    assert message in first.message


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00", b"\x00"])
def test_a_file_that_cannot_be_read_is_a_policy_error(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "p.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PolicyError):
        Policy.load(path)


@given(st.text(max_size=60))
def test_any_text_gives_a_policy_error_and_nothing_else(text: str) -> None:
    with pytest.raises(PolicyError):
        Policy.parse(text)
    with pytest.raises(PolicyError):
        Policy.parse(HEAD + "tables: {}\n" + text + "\n: [")


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30))
def test_a_written_number_is_read_exactly(value: Decimal) -> None:
    if abs(value.adjusted()) <= 300:
        assert Fraction(number(str(value))) == Fraction(value)


@pytest.mark.quick
@given(st.lists(st.text(min_size=1, max_size=8).filter(str.isprintable), min_size=1, max_size=5))
def test_quoted_scalars_come_back_as_they_are(texts: list[str]) -> None:
    quoted = ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
    assert read(f"[{quoted}]") == texts


# The policy over a database


def test_the_catalog_holds_what_is_declared_and_nothing_else() -> None:
    known = catalog(Policy.parse(CLINIC), DATABASE, {"region": Profile(7, frozenset({"name"}))})
    assert known.unit == ("patient", "id")
    assert set(known.tables) == {"patient", "visit", "region"}
    patient, visit, region = (known.tables[name] for name in ("patient", "visit", "region"))
    assert set(patient.columns) == {"id", "sex", "birth_year", "height_cm", "region"}
    assert (patient.max_rows, visit.max_rows, region.rows) == (1, 40, 7)
    assert (patient.columns["id"].unique, patient.columns["id"].nullable) == (True, False)
    assert visit.path == (Hop("patient_id", "patient", "id", enforced=True),)
    assert not visit.columns["patient_id"].unique
    assert visit.columns["day"].range == (datetime.date(2020, 1, 1), datetime.date(2025, 12, 31))
    assert visit.columns["cost"].range == (Decimal(0), Decimal(5000))
    assert patient.columns["sex"].values == ("F", "M")
    assert patient.columns["region"].values_from == ("region", "name")
    assert set(region.columns) == {"name", "people"}, "a type that is not supported is not shown"
    assert region.public
    assert region.path == ()


def test_measured_uniqueness_counts_for_public_tables_alone() -> None:
    bare = schema(
        table("patient", column("id", INTEGER), column("region", TEXT)), table("region", column("name", TEXT))
    )
    text = with_tables("  patient: {columns: {region: {}}}\n  region: {public: true}")
    measured = {"patient": Profile(9, frozenset({"id", "region"})), "region": Profile(3, frozenset({"name"}))}
    known = catalog(Policy.parse(text), bare, measured)
    assert known.tables["region"].columns["name"].unique
    assert not known.tables["patient"].columns["id"].unique
    assert known.tables["patient"].rows is None
    assert not catalog(Policy.parse(text), bare).tables["region"].columns["name"].unique


def test_names_match_in_any_case_and_become_the_databases() -> None:
    text = CLINIC.replace("  visit:", "  VISIT:").replace("patient_id -> patient.id", "Patient_ID -> PATIENT.Id")
    text = text.replace("patient.id\nbudget", "Patient.ID\nbudget").replace("region.name", "Region.NAME")
    known = catalog(Policy.parse(text), DATABASE)
    assert known.unit == ("patient", "id")
    assert known.tables["visit"].path == (Hop("patient_id", "patient", "id", enforced=True),)
    assert known.tables["patient"].columns["region"].values_from == ("region", "name")


@pytest.mark.parametrize("unit", ["visit_id -> visit.id", "[visit_id -> visit.id, patient_id -> patient.id]", ""])
def test_a_chain_may_be_written_in_steps_or_follow_from_foreign_keys(unit: str) -> None:
    lab = f"  lab: {{{f'unit: {unit}, ' if unit else ''}columns: {{code: {{}}}}}}"
    known = catalog(Policy.parse(CLINIC + lab), DATABASE)
    assert known.tables["lab"].path == (
        Hop("visit_id", "visit", "id", enforced=True),
        Hop("patient_id", "patient", "id", enforced=True),
    )
    assert set(known.tables["lab"].columns) == {"code", "visit_id"}
    assert "id" in known.tables["visit"].columns, "what a path refers to is declared by it"


@pytest.mark.parametrize("unit", ["row", "patient.id"])
def test_a_policy_that_protects_no_table_is_an_error(unit: str) -> None:
    head = HEAD.replace("patient.id", unit)
    for tables in ("  visit: {public: true}\n  region: {public: true}", "  region: {public: true}"):
        assert "protects nobody" in found(with_tables(tables, head))["tables"]
    assert "protects nobody" in found(head + "tables: {}")["tables"]
    with pytest.raises(PolicyError, match="protects nobody"):
        catalog(Policy.parse(with_tables("  region: {public: true}", head)), DATABASE)


def test_under_row_every_private_row_is_its_own_unit() -> None:
    text = with_tables("  visit: {columns: {cost: {}}}\n  region: {public: true}", HEAD.replace("patient.id", "row"))
    known = catalog(Policy.parse(text), DATABASE)
    assert known.unit is None
    assert known.tables["visit"].path == ()


@pytest.mark.parametrize(
    ("tables", "path", "message"),
    [
        ("  patients: {}", "tables.patients", "did you mean patient?"),
        ("  visit: {columns: {}}", "privacy_unit", "not declared under tables"),
        ("  patient: {public: true}", "privacy_unit", "remove public"),
        ("  patient: {columns: {sx: {}}}", "tables.patient.columns.sx", "did you mean sex?"),
        ("  patient: {columns: {photo: {}}}", "tables.patient.columns.photo", "BLOB is not supported"),
        ("  patient: {unit: region -> region.name}", "tables.patient.unit", "remove unit"),
        ("  patient: {}\n  region: {}", "tables.region", "no foreign key leads to patient.id"),
        ("  patient: {}\n  lab: {}", "tables.lab", "leads through visit"),
        ("  patient: {}\n  visit: {unit: pid -> patient.id}", "tables.visit.unit", "no column pid"),
        ("  patient: {}\n  visit: {unit: id -> patient.sex}", "tables.visit.unit", "needs one type"),
        (
            "  patient: {}\n  visit: {unit: ward -> patient.birth_year}",
            "tables.visit.unit",
            "nothing keeps patient.birth_year unique",
        ),
        ("  patient: {}\n  visit: {unit: id -> nurse.id}", "tables.visit.unit", "no table nurse"),
        ("  patient: {}\n  lab: {unit: visit_id -> visit.id}", "tables.lab.unit", "not declared under tables"),
        ("  patient: {}\n  region: {public: true}\n  lab: {unit: code -> region.name}", "tables.lab.unit", "is public"),
        (
            "  patient: {}\n  visit: {unit: id -> lab.visit_id}\n  lab: {unit: visit_id -> visit.id}",
            "tables.lab.unit",
            "circle",
        ),
        (
            "  patient: {}\n  visit: {unit: [patient_id -> patient.id, id -> patient.id]}",
            "tables.visit.unit",
            "reached before",
        ),
        ("  patient: {columns: {sex: {range: [0, 1]}}}", "tables.patient.columns.sex.range", "text has no range"),
        ("  patient: {columns: {sex: {values: [F, F]}}}", "tables.patient.columns.sex.values", "listed twice"),
        ("  patient: {columns: {id: {values: [1, 01]}}}", "tables.patient.columns.id.values", "listed twice"),
        ("  patient: {columns: {id: {values: [1, x]}}}", "tables.patient.columns.id.values[1]", "not a number"),
        ("  patient: {columns: {id: {range: [0, 9e9]}}}", "tables.patient.columns.id.range", "does not fit"),
        ("  patient: {columns: {id: {range: [0, 1.5]}}}", "tables.patient.columns.id.range", "whole number"),
        ("  patient: {columns: {id: {range: [2020-01-01, 2020-01-02]}}}", "tables.patient.columns.id.range", "number"),
        ("  patient: {columns: {smoker: {values: [1]}}}", "tables.patient.columns.smoker.values[0]", "true or false"),
        (
            "  patient: {}\n  visit: {columns: {cost: {range: [0, 0.125]}}}",
            "tables.visit.columns.cost.range",
            "decimals",
        ),
        ("  patient: {}\n  visit: {columns: {cost: {range: [0, 1e6]}}}", "tables.visit.columns.cost.range", "digits"),
        ("  patient: {}\n  visit: {columns: {day: {range: [0, 5]}}}", "tables.visit.columns.day.range", "not a date"),
        (
            "  patient: {columns: {sex: {values_from: visit.id}}}\n  visit: {}",
            "tables.patient.columns.sex.values_from",
            "public",
        ),
        (
            "  patient: {columns: {sex: {values_from: region.people}}}\n  region: {public: true}",
            "tables.patient.columns.sex.values_from",
            "is bigint",
        ),
        (
            "  patient: {columns: {sex: {values_from: region.shape}}}\n  region: {public: true}",
            "tables.patient.columns.sex.values_from",
            "no column shape",
        ),
        ("  patient: {}\n  Patient: {}", "tables.Patient", "declared twice"),
    ],
)
def test_what_does_not_fit_the_database_has_its_key_path(tables: str, path: str, message: str) -> None:
    text = with_tables(tables)
    errors = found(text)
    assert path in errors
    assert message in errors[path]
    with pytest.raises(PolicyError):
        catalog(Policy.parse(text), DATABASE)


def test_a_foreign_key_of_the_policy_alone_is_never_called_enforced() -> None:
    bare = schema(PATIENT, table("visit", column("patient_id", INTEGER)))
    text = with_tables("  patient: {}\n  visit: {unit: patient_id -> patient.id, max_rows: 3}")
    assert not catalog(Policy.parse(text), bare).tables["visit"].path[0].enforced
    assert "does not declare the foreign key" in found(text, bare, "warning")["tables.visit.unit"]


def test_a_private_table_without_columns_shows_its_keys_alone() -> None:
    known = catalog(Policy.parse(with_tables("  patient: {}\n  visit: {max_rows: 3}")), DATABASE)
    assert set(known.tables["patient"].columns) == {"id"}
    assert set(known.tables["visit"].columns) == {"patient_id"}


def test_texts_of_two_kinds_are_not_joined() -> None:
    """A UUID is shown as text, but an engine compares it with text by a cast that may fail."""
    people = table("patient", column("id", TEXT, engine_type="UUID"), key="id")
    text = with_tables("  patient: {}\n  visit: {unit: pid -> patient.id, max_rows: 3}")
    for spelling, fits in (("UUID", True), ("uuid", True), ("VARCHAR", False)):
        visit = table("visit", column("pid", TEXT, engine_type=spelling))
        assert ("tables.visit.unit" not in found(text, schema(people, visit))) == fits
    named = table("patient", column("id", TEXT, engine_type="varchar(10)"), key="id")
    assert found(text, schema(named, table("visit", column("pid", TEXT, engine_type="text")))) == {}


def test_keys_that_are_read_as_one_are_no_keys() -> None:
    """A numeric of any length is read as the nearest double: joins would mix people whose keys are near."""
    text = with_tables("  patient: {}\n  visit: {unit: pid -> patient.id, max_rows: 3}")
    loose = SchemaColumn("id", "numeric", DOUBLE, True, exact=False)
    visit = table("visit", replace(loose, name="pid"))
    assert "numeric(38,0)" in found(text, schema(table("patient", loose, key="id"), visit))["privacy_unit"]
    chain = with_tables(
        "  patient: {}\n  visit: {unit: pid -> patient.id, max_rows: 3}\n  lab: {unit: v -> visit.n, max_rows: 9}"
    )
    people, visits = (
        table("patient", column("id", INTEGER), key="id"),
        table("visit", column("pid", INTEGER), replace(loose, name="n"), key="n"),
    )
    wrong = found(chain, schema(people, visits, table("lab", replace(loose, name="v"))))
    assert wrong.keys() == {"tables.lab.unit"}


def test_one_row_per_person_by_the_databases_word_needs_no_bound() -> None:
    passport = table("passport", column("holder", INTEGER), key="holder", references={"holder": "patient.id"})
    text = with_tables("  patient: {}\n  passport: {columns: {}}")
    assert found(text, schema(PATIENT, passport), "warning") == {}


def test_a_range_of_a_csv_column_without_a_type_asks_for_one_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "bird.csv").write_text("mass\n3000\n")
    column = "range: [2000, 7000]"
    text = (
        "database: files\nledger: sqlite:bird.ledger\nprivacy_unit: row\nbudget: {epsilon: 10, delta: 1e-6}\n"
        f"tables: {{bird: {{files: bird.csv, columns: {{mass: {{{column}}}}}}}}}\n"
    )
    path = tmp_path / "policy.yaml"

    def checked(text: str) -> list[str]:
        path.write_text(text)
        policy = Policy.load(path)
        with closing(engine_of(policy)) as engine:
            return [one.message for one in problems(policy, engine.schema())]

    (said,) = checked(text)
    assert said.endswith("holds texts, unless the policy says its type: add type: integer, double or date")
    assert checked(text.replace(column, f"type: double, {column}")) == []


def test_a_range_may_have_width_zero() -> None:
    assert found(CLINIC.replace("[0, 5000]", "[7, 7]")) == {}


def test_a_day_at_the_end_of_a_range_of_timestamps_is_a_whole_day() -> None:
    text = with_tables("  patient: {}\n  visit: {columns: {seen: {range: [2020-01-01, 2020-12-31]}}}")
    seen = catalog(Policy.parse(text), DATABASE).tables["visit"].columns["seen"]
    assert seen.range == (datetime.datetime(2020, 1, 1), datetime.datetime(2020, 12, 31, 23, 59, 59, 999999))


def test_a_total_and_a_step_are_exact_numbers_of_the_catalog() -> None:
    text = CLINIC.replace("[0, 5000]", "[0, 5000], max_total: 20000, step: 0.1")
    cost = catalog(Policy.parse(text), DATABASE).tables["visit"].columns["cost"]
    assert (cost.max_total, cost.step) == (20_000, Fraction(1, 10))
    assert not any(path.startswith("tables.visit.columns.cost") for path in found(text, severity="warning"))


def test_literals_are_read_as_the_type_of_their_column() -> None:
    text = with_tables(
        "  patient: {columns: {sex: {values: [NO, 007, 'null', null]}, smoker: {values: [true, false]},"
        " height_cm: {range: [0.1, 2.5]}, birth_year: {values: [007, 8]}}}"
    )
    columns = catalog(Policy.parse(text), DATABASE).tables["patient"].columns
    assert columns["sex"].values == ("NO", "007", "null", None)
    assert columns["smoker"].values == (True, False)
    assert columns["height_cm"].range == (Decimal("0.1"), Decimal("2.5"))
    assert columns["birth_year"].values == (7, 8)


# What is unwise


def test_check_warns_of_refusals_to_come() -> None:
    text = CLINIC.replace("    max_rows: 40\n", "").replace("cost: {range: [0, 5000]}", "cost: {}")
    warnings = found(text, severity="warning")
    assert "COUNT and SUM over it are refused" in warnings["tables.visit"]
    assert "SUM and AVG" in warnings["tables.visit.columns.cost"]
    assert "tables.visit.columns.patient_id" not in warnings, "keys are not summed"
    assert found(CLINIC, severity="error") == {}


def test_check_says_which_bounds_will_be_paid_for() -> None:
    text = CLINIC.replace("    max_rows: 40\n", "").replace("cost: {range: [0, 5000]}", "cost: {}")
    opted = re.sub(r"statement: \{([^}]*)\}", r"statement: {\1, bounds: 0.2}", text)
    assert opted != text
    assert found(opted, severity="warning").keys() == found(CLINIC, severity="warning").keys()
    said = found(opted, severity="info")
    assert (
        said["tables.visit"] == "no max_rows: COUNT and SUM over it pay 20 % of the first statement's price for a bound"
    )
    assert said["tables.visit.columns.cost"].startswith("no range: SUM and AVG of it pay 20 %")


def test_check_warns_where_one_row_per_person_is_only_hoped_for() -> None:
    panel = schema(table("panel", column("nr", INTEGER), column("year", INTEGER)))
    head = HEAD.replace("patient.id", "panel.nr")
    silent = "  panel: {columns: {year: {range: [0, 9]}}}"
    assert "only one row of each person" in found(with_tables(silent, head), panel, "warning")["tables.panel"]
    spoken = "  panel: {max_rows: 8, columns: {year: {range: [0, 9]}}}"
    assert found(with_tables(spoken, head), panel, "warning") == {}


@pytest.mark.parametrize(
    ("old", "new", "path", "severity"),
    [
        ("epsilon: 10,", "epsilon: 100,", "budget.epsilon", "warning"),
        ("delta: 1e-6", "delta: 0.01", "budget.delta", "warning"),
        ("max_epsilon: 1}", "max_epsilon: 11}", "statement.max_epsilon", "warning"),
        ("{epsilon: 0.1, max_epsilon: 1}", "{epsilon: 5, max_epsilon: 5}", "statement.epsilon", "warning"),
        ("{epsilon: 0.1, max_epsilon: 1}", "{delta: 9e-7}", "statement.delta", "warning"),
        ("{epsilon: 0.1, max_epsilon: 1}", "{delta: 0}", "statement.delta", "warning"),
        ("{epsilon: 3}", "{epsilon: 30}", "analysts.ana.budget.epsilon", "info"),
        ("{epsilon: 3}}", "{epsilon: 9}}\n  bob: {budget: {epsilon: 2}}", "analysts", "info"),
        ("'secret'", "'secret'", "analysts.ana.password", "warning"),
        ("[0, 5000]", "[0, 5000], max_total: 4999", "tables.visit.columns.cost.max_total", "warning"),
        ("[0, 5000]", "[0, 5000], max_total: 200_000", "tables.visit.columns.cost.max_total", "info"),
    ],
)
def test_check_tells_of_odd_numbers(old: str, new: str, path: str, severity: str) -> None:
    assert path in found(CLINIC.replace(old, new), severity=severity)
    unrelated = CLINIC.replace("'secret'", "'SCRAM-SHA-256$4096:c2FsdA==$" + "A" * 43 + "=:" + "A" * 43 + "='")
    assert path not in found(unrelated, severity=severity)


def test_check_warns_of_passwords_that_everybody_can_read(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(CLINIC)
    path.chmod(0o644)
    assert any(p.path == "analysts" for p in problems(Policy.load(path), DATABASE))
    path.chmod(0o640)
    assert not any(p.path == "analysts" for p in problems(Policy.load(path), DATABASE))


def test_views_are_no_rows_of_people() -> None:
    view = SchemaTable("seen", {"day": column("day", DATE)}, view=True)
    text = with_tables("  seen: {columns: {day: {}}}", HEAD.replace("patient.id", "row"))
    assert "not a view" in found(text, schema(view), "error")["tables.seen"]
    assert "tables.seen" not in found(text, schema(view), "warning"), "what is wrong is said once"


def test_errors_come_first() -> None:
    text = CLINIC.replace("cost: {range: [0, 5000]}", "cost: {}\n      nurse: {}")
    severities = [p.severity for p in problems(Policy.parse(text), DATABASE)]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)
    assert severities[0] == "error"


# The first policy


def test_the_first_policy_of_the_clinic_is_the_golden_one() -> None:
    text = first_policy(DATABASE, "duckdb:clinic.duckdb")
    assert text == (GOLDEN / "clinic.yaml").read_text()


HOSTILE = "a: b\n# c\nbudget: {epsilon: 1000}"


@pytest.mark.parametrize(
    "database",
    [
        DATABASE,
        schema(PATIENT),
        schema(PATIENT, LAB),
        schema(table("t", column("id", INTEGER, True), column("x", DOUBLE), key="id")),
        schema(
            table("customer", column("c", BIGINT), column("n", BIGINT), key="c", references={"n": "nation.n"}),
            table("nation", column("n", BIGINT), key="n"),
            table("orders", column("o", BIGINT), column("c", BIGINT), key="o", references={"c": "customer.c"}),
            table("part", column("p", BIGINT), key="p"),
            table("item", column("o", BIGINT), column("p", BIGINT), references={"o": "orders.o", "p": "part.p"}),
        ),
        schema(
            table("Müller & Co", column("der Schlüssel", INTEGER), key="der Schlüssel"),
            table("kind", column("ref", INTEGER), references={"ref": "Müller & Co.der Schlüssel"}),
        ),
        schema(
            table(
                "user", column("id", INTEGER), column(HOSTILE, TEXT), column("x", None, engine_type=HOSTILE), key="id"
            ),
            table(HOSTILE, column("u", INTEGER), column("null", TEXT), column("", TEXT), references={"u": "user.id"}),
            table("'\"\u2028\x07", column("- a", DATE), references={}),
        ),
        schema(
            table("person", column("id", INTEGER), column("ID", TEXT), key="id"),
            table("PERSON", column("id", INTEGER), key="id"),
        ),
        schema(
            table("a", column("id", INTEGER), column("b", INTEGER), key="id", references={"b": "b.id"}),
            table("b", column("id", INTEGER), column("a", INTEGER), key="id", references={"a": "a.id"}),
        ),
    ],
    ids=["clinic", "one", "broken", "key", "tpch", "names", "hostile", "cases", "circle"],
)
def test_the_first_policy_loads_and_fits_as_it_stands(database: Schema) -> None:
    text = first_policy(database, "duckdb:a b/c'd.duckdb")
    policy = Policy.parse(text)
    assert policy.budget.epsilon == 10
    assert [p for p in problems(policy, database) if p.severity == "error"] == []
    assert all(spec.public is False for spec in policy.tables.values()), "nothing is public before the owner says so"


def test_the_first_policy_chooses_people_over_look_ups() -> None:
    policy = Policy.parse(first_policy(DATABASE, "postgresql://h/clinic?sslmode=require"))
    assert policy.privacy_unit == ("patient", "id")
    assert Path(policy.ledger.path).name == "clinic.ledger"


@pytest.mark.parametrize("database", [schema(), schema(table("x", column("a", TEXT)), table("y", column("a", TEXT)))])
def test_without_a_unit_the_first_policy_waits_for_the_owner(database: Schema) -> None:
    text = first_policy(database, "duckdb:x.duckdb")
    assert "privacy_unit" in found(text, database)
    decided = re.sub(r"privacy_unit:.*", "privacy_unit: row", text).replace("tables:  #", "tables: {}  #")
    assert Policy.parse(decided).privacy_unit is None


def test_the_first_policy_lists_the_values_that_a_type_lists() -> None:
    people = table(
        "person",
        column("id", INTEGER, True),
        column("smoker", BOOLEAN),
        column("sex", TEXT, True, engine_type="ENUM('F', 'M', 'it''s: no', 'null')"),
        key="id",
    )
    columns = Policy.parse(first_policy(schema(people), "duckdb:x.duckdb")).tables["person"].columns
    assert columns is not None
    assert columns["smoker"].values == ("true", "false", None)
    assert columns["sex"].values == ("F", "M", "it's: no", "null")


names = st.text(min_size=1, max_size=6)
kinds = st.sampled_from([INTEGER, TEXT, DOUBLE, DATE, None])


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """Any names at all, and foreign keys between any tables."""
    tables = []
    chosen = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    keys = {name: draw(names) for name in chosen}
    for name in chosen:
        columns = [
            column(keys[name], INTEGER, True),
            *(column(n, draw(kinds)) for n in draw(st.lists(names, max_size=3))),
        ]
        known = {c.name: c for c in columns}
        foreign = tuple(
            ForeignKey((child,), parent, (keys[parent],))
            for child, parent in zip(known, draw(st.lists(st.sampled_from(chosen), max_size=2)), strict=False)
            if known[child].type == INTEGER and known.get(keys[name], columns[0]).type == INTEGER
        )
        tables.append(SchemaTable(name, known, primary_key=(keys[name],), foreign_keys=foreign))
    return schema(*tables)


@given(schemas())
def test_the_first_policy_is_yaml_whatever_the_names(database: Schema) -> None:
    text = first_policy(database, "duckdb:x.duckdb")
    tree = read(text)
    assert isinstance(tree, dict)
    sections = {
        "database",
        "ledger",
        "privacy_unit",
        "budget",
        "statement",
        "minmax",
        "data_version",
        "profile",
        "tables",
    }
    assert set(tree) == sections
    if tree["privacy_unit"] is not None:
        assert [p for p in problems(Policy.parse(text), database) if p.severity == "error"] == []


def test_written_scalars_know_their_natural_value() -> None:
    assert Written("2020-01-01 12:30").scalar == datetime.datetime(2020, 1, 1, 12, 30)
    assert Written("1", quoted=True).scalar == "1"
