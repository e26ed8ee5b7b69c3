"""Some golden queries as PostgreSQL gets them. ``python -m tests.golden.test_postgres_queries`` writes what it should be."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sqlglot

from rewriter.declared.catalog import Catalog
from rewriter.dialects.postgres import POSTGRES
from rewriter.planner.plan_release import plan
from rewriter.split.splitter import split
from rewriter.statement.parser import Select, parse
from tests.golden.pairs import FOLDER, Pair, clinic, pairs

EXPECTED = FOLDER / "postgres"
SHOWN = [
    "age_compared",
    "avg_per_visit",
    "division_is_total",
    "except_people",
    "full_join_per_person",
    "group_by_month",
    "group_by_selected_visits",
    "json_path",
    "list_items",
    "logregr",
    "over_blocks",
    "per_person",
    "randomized_or",
    "randomized_rappor",
    "scalar_public",
    "sum",
    "sum_distinct_per_person",
    "sum_double",
    "time_of_day_key",
    "way_join",
    "way_repeats_unit",
    "where_everything",
    "window_range_distance",
]
TYPES = {
    "VARCHAR": "text",
    "DOUBLE": "double precision",
    "FLOAT": "real",
    "VARCHAR[]": "character varying[]",
    "JSON": "json",
}


def known() -> Catalog:
    """The clinic with the types that PostgreSQL calls its columns'."""
    found = clinic()
    return replace(
        found,
        tables={
            name: replace(
                table,
                columns={
                    column.name: replace(column, engine_type=TYPES.get(column.engine_type, column.engine_type.lower()))
                    for column in table.columns.values()
                },
            )
            for name, table in found.tables.items()
        },
    )


def rendered(pair: Pair, catalog: Catalog) -> str:
    statement = parse(pair.sql)
    assert isinstance(statement, Select)
    plans = [plan(query, pair.norm, POSTGRES) for query in split(statement.tree, catalog, POSTGRES).groupings]
    return "\n".join(
        sqlglot.parse_one(sql, read="postgres").sql("postgres", pretty=True, max_text_width=110) + ";\n"
        for one in plans
        for sql in (one.sql, *(step.sql for step in one.steps if len(step.blocks) > 1))
    )


PAIRS = [pair for pair in pairs() if pair.path.stem in SHOWN]


def test_all_that_are_shown_exist() -> None:
    assert [pair.path.stem for pair in PAIRS] == SHOWN


@pytest.mark.parametrize("pair", PAIRS, ids=SHOWN)
def test_a_query_becomes_what_was_read_and_approved(pair: Pair) -> None:
    expected = (EXPECTED / pair.path.name).read_text(encoding="utf-8")
    assert rendered(pair, known()) == expected, "python -m tests.golden.test_postgres_queries, and read the diff"


if __name__ == "__main__":
    for pair in PAIRS:
        (EXPECTED / pair.path.name).write_text(rendered(pair, known()), encoding="utf-8")
