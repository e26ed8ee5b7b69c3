"""One equality of persons: keys that an engine calls equal are one person in every block, join and group."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from sqlglot import exp

from dpsql.engines.spark.spark_schema import column_type as spark_type
from dpsql.errors import OperationalError
from dpsql.proxy import Session
from dpsql.testing import measured
from rewriter.declared import Kind, Type
from rewriter.dialects import DUCKDB, POSTGRES, SPARK, Dialect
from rewriter.refused import Refused
from tests.engines.spark_server import shared_spark
from tests.engines.test_postgres import FOLDED
from tests.properties.planted import case

# Columns of keys, and keys that are one person's. The first key of each is stored as the person's.
ALIKE = {
    "duckdb": [
        ("DOUBLE", ["0.0", "'-0.0'"]),
        ("DOUBLE", ["CAST('nan' AS DOUBLE)", "-CAST('nan' AS DOUBLE)"]),
        ("FLOAT", ["0.0", "'-0.0'"]),
        ("INTEGER", ["7", "7"]),
        ("HUGEINT", ["7", "7"]),
        ("DECIMAL(10,2)", ["1.0", "1.00"]),
        ("BOOLEAN", ["TRUE", "'t'"]),
        ("VARCHAR", ["'a'", "'a'"]),
        ("UUID", ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"]),
        ("DATE", ["'2024-01-01'", "'2024-1-1'"]),
        ("TIMESTAMP", ["'2024-01-01'", "'2024-01-01 00:00:00.000'"]),
        ("TIMESTAMP_S", ["'2024-01-01'", "'2024-01-01 00:00:00'"]),
        ("TIMESTAMPTZ", ["'2024-01-01 00:00+00'", "'2024-01-01 02:00+02'"]),
        ("TIME", ["'01:00'", "'01:00:00.000'"]),
        ("ENUM ('a', 'b')", ["'a'", "'a'"]),
    ],
    "postgres": [
        ("double precision", ["0.0", "'-0.0'"]),
        ("double precision", ["'NaN'", "'nan'"]),
        ("real", ["0.0", "'-0.0'"]),
        ("integer", ["7", "7"]),
        ("numeric(10,2)", ["1.0", "1.00"]),
        ("money", ["1.0", "'$1.00'"]),
        ("boolean", ["TRUE", "'t'"]),
        ("text", ["'a'", "'a'"]),
        ("char(5)", ["'a'", "'a  '"]),
        ("bpchar", ["'a'", "'a  '"]),
        ("uuid", ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"]),
        ("date", ["'2024-01-01'", "'2024-1-1'"]),
        ("timestamp", ["'2024-01-01'", "'2024-01-01 00:00:00.000'"]),
        ("timestamptz", ["'2024-01-01 00:00+00'", "'2024-01-01 02:00+02'"]),
        ("time", ["'01:00'", "'01:00:00.000'"]),
    ],
}
CASES = [(engine, type_, keys, type_) for engine, some in ALIKE.items() for type_, keys in some]
# A child's keys may have another type than the parent's.
CASES += [
    ("duckdb", "DECIMAL(10,2)", ["1.0", "1.00"], "DECIMAL(12,3)"),
    ("duckdb", "DOUBLE", ["0.0", "'-0.0'"], "FLOAT"),
    ("duckdb", "BIGINT", ["7", "7"], "UTINYINT"),
    ("postgres", "numeric(10,2)", ["1.0", "1.00"], "numeric(12,3)"),
    ("postgres", "double precision", ["0.0", "'-0.0'"], "real"),
    ("postgres", "bigint", ["7", "7"], "smallint"),
    ("postgres", "text", ["'a'", "'a'"], "varchar(7)"),
]
_TABLES = """
  person: {columns: {id: {}, age: {range: [0, 100]}}}
  visit: {unit: pid -> person.id, max_rows: 8, columns: {pid: {}, cost: {range: [0, 100]}}}
"""
_EITHER = "(SELECT pid AS k, cost FROM visit UNION ALL SELECT id, age FROM person) AS t"


def _setup(type_: str, keys: Sequence[str], child: str) -> list[str]:
    return [
        f"CREATE TABLE person (id {type_} PRIMARY KEY, age INTEGER)",
        f"INSERT INTO person VALUES (CAST({keys[0]} AS {type_}), 90)",
        f"CREATE TABLE visit (pid {child}, cost INTEGER)",
        *(f"INSERT INTO visit VALUES (CAST({key} AS {child}), 90)" for key in keys),
    ]


def _measured(session: Session, sql: str) -> Fraction:
    """The only integer that is measured, as the number that it stands for."""
    (one,) = measured(sql, session._opened)
    ((name, whole),) = one.groups[()].items()
    return whole * one.granularity[name]


@pytest.mark.parametrize(("engine", "type_", "keys", "child"), CASES)
def test_rows_of_one_person_lie_in_one_block_and_are_one_person_s(
    tmp_path: Path, engine: str, type_: str, keys: Sequence[str], child: str
) -> None:
    with case(tmp_path, _setup(type_, keys, child), _TABLES, "pure", engine=engine) as session:
        joined = () if "nan" in keys[0].lower() else ("visit JOIN person ON pid = id",)  # NaN is read as NULL.
        for rows in ("visit", *joined, _EITHER):
            # A block with somebody answers 90: 40 above the middle of its range.
            assert _measured(session, f"SELECT dpsql.over_blocks(AVG(cost), blocks => 4096) FROM {rows}") == 40
            assert _measured(session, f"SELECT COUNT(*) FROM {rows} WHERE cost > 0") >= len(keys)
        assert _measured(session, "SELECT COUNT(DISTINCT pid) FROM visit") == bool(joined)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("type_", "keys"),
    [
        ("double", ["0.0D", "'-0.0'"]),
        ("double", ["'NaN'", "-CAST('NaN' AS DOUBLE)"]),
        ("float", ["0.0D", "'-0.0'"]),
        ("int", ["7", "7"]),
        ("decimal(10,2)", ["1.0", "1.00"]),
        ("boolean", ["TRUE", "'t'"]),
        ("string", ["'a'", "'a'"]),
        ("date", ["'2024-01-01'", "'2024-1-1'"]),
        ("timestamp_ntz", ["'2024-01-01'", "'2024-01-01 00:00:00.000'"]),
        ("timestamp", ["'2024-01-01 00:00:00+00:00'", "'2024-01-01 02:00:00+02:00'"]),
    ],
)
def test_keys_of_one_person_lie_in_one_block_on_spark(type_: str, keys: Sequence[str]) -> None:
    known = spark_type(type_)
    assert known is not None
    key = SPARK.person_key(exp.column("k"), known, type_)
    texts = SPARK.sql(exp.select(key, SPARK.bucket(key.copy(), "secret", 4096)))
    # A session may take TIMESTAMP for the one without a zone.
    written = "timestamp_ltz" if type_ == "timestamp" else type_
    rows = " UNION ALL ".join(f"SELECT CAST({one} AS {written}) AS k" for one in keys)
    session = shared_spark().session()
    found = session.sql(f"SELECT DISTINCT * FROM ({texts} FROM ({rows}) AS t) AS u").collect()
    session.stop()
    assert len(found) == 1


# Types without one spelling for equal values


UNFIT = {
    "duckdb": ["INTERVAL", "TIMETZ", "BLOB", "BIT", "TIMESTAMP_NS", "VARCHAR COLLATE NOCASE", "INTEGER[]", "JSON"],
    "postgres": ["interval", "timetz", "bytea", "bit(3)", "numeric", "text COLLATE folded", "integer[]", "jsonb"],
}


@pytest.mark.spread
@pytest.mark.parametrize(("engine", "type_"), [(engine, type_) for engine, some in UNFIT.items() for type_ in some])
@pytest.mark.parametrize("held", ["person", "visit"])
def test_keys_without_one_spelling_are_refused_when_the_policy_is_opened(
    tmp_path: Path, engine: str, type_: str, held: str
) -> None:
    person, visit = (type_, "INTEGER") if held == "person" else ("INTEGER", type_)
    setup = [f"CREATE TABLE person (id {person}, age INTEGER)", f"CREATE TABLE visit (pid {visit}, cost INTEGER)"]
    if "folded" in type_:
        setup.insert(0, FOLDED)
    text = "which is no key|of which two keys may be read as one"
    with (
        pytest.raises(OperationalError, match=text) as caught,
        case(tmp_path, setup, _TABLES, "pure", engine=engine),
    ):
        pass
    assert "leave the column out" not in str(caught.value).partition("tables.person.columns")[0]


@pytest.mark.parametrize("dialect", [DUCKDB, POSTGRES, SPARK], ids=str)
@pytest.mark.parametrize("kind", list(Kind))
def test_every_type_is_a_key_on_every_engine_or_on_none(dialect: Dialect, kind: Kind) -> None:
    digits = 9 * (kind in (Kind.DECIMAL, Kind.DECIMALS))
    type_ = Type(kind, bits=32 if kind in (Kind.INTEGER, Kind.INTEGERS) else 0, precision=digits)
    if type_.keyed:
        assert dialect.sql(dialect.person_key(exp.column("x"), type_))
    else:
        with pytest.raises(Refused, match="no key of a person"):
            dialect.person_key(exp.column("x"), type_)
