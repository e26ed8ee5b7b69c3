"""The same rows in Spark and in DuckDB: the same question has the same groups and the same integers, or is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.engines.spark.spark_engine import SparkEngine
from dpsql.policy.policy import Policy
from rewriter.declared.contribution import Norm
from tests.engines.spark_server import copy_to_spark, shared_spark
from tests.engines.test_files import ALL_TABLES
from tests.engines.test_same_answers import TABLES, TRICKY, Known, agreeing, fill
from tests.golden.pairs import FOLDER, Pair, pairs

FEW = (
    *("count_by_group", "sum_by_group_l1", "group_by_month", "median_by_month", "count_distinct_by_group"),
    *("where_dates", "window_distinct_on", "zone_local_hours", "floats", "retention"),
)
"""Golden queries that are asked in every run; all of them are with ``-m spark``."""


OWN_CHOICE = {"others_of_visits": "COUNT(DISTINCT dose)"}
"""Which of a person's values count, where there are too many, hangs on a double's text, of which each engine has its own."""


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Known, Known]]:
    server = shared_spark()
    folder = tmp_path_factory.mktemp("spark")
    session = server.session()
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        fill(connection)
        copy_to_spark(connection, session, ALL_TABLES, folder)
    session.stop()
    engines = DuckDBEngine.open(folder / "clinic.duckdb"), SparkEngine.open(server.url)
    policy = Policy.load(FOLDER / "clinic.yaml")
    native = agreeing(policy, engines[0])
    yield Known(engines[0], native), Known(engines[1], native)
    for engine in engines:
        engine.close()


def check(known: tuple[Known, Known], sql: str, norm: Norm, own: str = "") -> bool:
    """Whether Spark answers it; then it has the same integers, but for those of ``own``."""
    ours, theirs = (one.run(sql, norm) for one in known)
    if isinstance(ours, str) or isinstance(theirs, str):
        assert isinstance(theirs, str), sql
        return False
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert tuple(one.keys) == tuple(other.keys), sql
        assert one.statistics.keys() == other.statistics.keys(), sql
        for name in one.statistics.keys() - {own}:
            assert one.statistics[name] == other.statistics[name], sql
        assert one.ranks == other.ranks, sql
    return True


PAIRS = pairs()


@pytest.mark.spark
@pytest.mark.parametrize("pair", [one for one in PAIRS if one.path.stem in FEW], ids=lambda pair: pair.path.stem)
def test_a_few_questions_have_the_same_integers(known: tuple[Known, Known], pair: Pair) -> None:
    check(known, pair.sql, pair.norm)


@pytest.mark.spark
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.path.stem)
def test_the_same_question_has_the_same_integers(known: tuple[Known, Known], pair: Pair) -> None:
    check(known, pair.sql, pair.norm, OWN_CHOICE.get(pair.path.stem, ""))


@pytest.mark.spark
@pytest.mark.parametrize("condition", ["diagnosis = X", "diagnosis < X", "diagnosis LIKE X", "diagnosis IN (X, 'x')"])
def test_a_literal_means_the_same(known: tuple[Known, Known], condition: str) -> None:
    texts = [f"SELECT COUNT(*) FROM patient WHERE {condition.replace('X', literal)}" for literal in TRICKY]
    assert sum(check(known, sql, Norm.L2) for sql in texts) >= len(TRICKY) - 5


@pytest.mark.spark
def test_the_schema_has_names_and_types_and_no_keys(known: tuple[Known, Known], tmp_path: Path) -> None:
    ours, theirs = (one.engine.schema().tables for one in known)
    for name in TABLES:
        assert {column.name: column.type for column in ours[name].columns.values()} == {
            column.name: column.type for column in theirs[name].columns.values()
        }
        assert not theirs[name].primary_key
        assert not theirs[name].foreign_keys
