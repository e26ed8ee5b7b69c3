"""What is private follows from the statement and the policy, and not from an engine's words.

A third dialect, with other words for everything, gets plans of the same shape as DuckDB and PostgreSQL for every golden
query, and no text of any of them calls a function that the dialect does not list.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.tokens import TokenType

from dpsql.engines import ENGINES
from rewriter.declared.catalog import Catalog
from rewriter.declared.types import BIGINT, DATE, TIMESTAMP, decimal
from rewriter.dialects.calendar_nodes import start_of
from rewriter.dialects.dialect import Dialect
from rewriter.dialects.duckdb import DUCKDB, DuckDB
from rewriter.dialects.plain_syntax import PLAIN
from rewriter.dialects.postgres import POSTGRES
from rewriter.dialects.postgres_family import PostgresFamily
from rewriter.dialects.spark import SPARK
from rewriter.expressions.compile import compile_expression
from rewriter.plan import Plan
from rewriter.program import rewrite
from rewriter.refused import Refused
from rewriter.statement.parser import Explain, Select, parse
from tests.engines.toy_dialect import TOY, Toy
from tests.golden.pairs import Pair, clinic, pairs
from tests.golden.test_postgres_queries import known
from tests.guide.statement_forms import ANSWERED, REFUSED, form
from tests.guide.statement_forms import told as forms_told
from tests.properties.total_rows import COLUMNS, Grammar, Rows
from tests.properties.total_rows import parse as parse_expression

NO_NESTED = "documents and lists are not read of this database"
DIALECTS = {"duckdb": DUCKDB, "postgresql": POSTGRES, "spark": SPARK, "toy": TOY}
NO_FUNCTIONS = {
    *"ALL AND AS BETWEEN CASE DISTINCT ELSE EXCEPT EXISTS FROM GROUP ILIKE IN INTERSECT IS JOIN LIKE NOT ON OR".split(),
    *("GROUP BY", "ORDER BY", "PARTITION BY"),
    *"OVER SELECT THEN UNION VALUES WHEN WHERE WITH BIGINT DECIMAL NUMERIC".split(),
}
"""Words before a parenthesis that call nothing."""
CLAUSES = {
    "duckdb": {"filter", "materialized"},
    "postgresql": {"any", "array", "filter", "materialized"},
    "toy": set[str](),
    "spark": {"filter"},
}
"""What a grammar has before a parenthesis, and the toy's has not."""
ORDERED_BY_TEXT = {"kpis_in_union_l1"}
"""Queries whose numbers stand in the order of the engine's texts of them: any order will do, if it is always the same."""


def plans_of(pair: Pair, dialect: Dialect, catalog: Catalog) -> list[Plan] | Refused:
    """The plans of a golden query."""
    try:
        statement = parse(pair.sql)
        statement = statement.query if isinstance(statement, Explain) else statement
        if not isinstance(statement, Select):
            return []
        spoken = replace(dialect, zone=pair.zone)
        program = rewrite(statement.tree, catalog, spoken, norms=(pair.norm,), others=pair.others, above=pair.above)
        return [*program.plans, *(one for some in program.options for one in some.picks)]
    except Refused as refused:
        return refused


def shape(found: list[Plan] | Refused) -> object:
    """All of the plans but their texts, and the names that follow from these."""
    if isinstance(found, Refused):
        return found.sqlstate, found.message, found.hint
    return [
        replace(
            one,
            sql="",
            dialect="",
            groups="",
            sums="",
            notes=tuple(note.partition(" (max_rows of ")[0] for note in one.notes),
            keys=tuple(replace(key, family="") for key in one.keys),
            blocks=tuple(
                replace(block, statistics=tuple(replace(each, family="") for each in block.statistics))
                for block in one.blocks
            ),
            choices=tuple(replace(choice, sql="") for choice in one.choices),
            steps=tuple(
                replace(
                    step,
                    sql="",
                    blocks=tuple(
                        replace(block, statistics=tuple(replace(each, family="") for each in block.statistics))
                        for block in step.blocks
                    ),
                )
                for step in one.steps
            ),
        )
        for one in found
    ]


def moved(found: list[Plan] | Refused) -> object:
    """How far one person moves what is measured."""
    assert not isinstance(found, Refused)
    return [(len(block.statistics), block.sensitivity) for one in found for block in one.blocks]


def called(text: str, dialect: Dialect) -> set[str]:
    """The functions that a text calls."""
    tokens = sqlglot.tokenize(text, read=dialect.name)
    return {
        token.text.lower()
        for before, token, after in zip([tokens[0], *tokens], tokens, tokens[1:], strict=False)
        if after.token_type is TokenType.L_PAREN
        and (token.text[:1].isalpha() or token.text[:1] == "_")
        and token.token_type is not TokenType.STRING
        and (before.token_type is not TokenType.ALIAS or token.text == "MATERIALIZED")
        and token.text.upper() not in NO_FUNCTIONS
    }


PAIRS = pairs()
FORMS = forms_told()


@pytest.fixture(autouse=True)
def only_listed_nodes_are_spelt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sqlglot spells no node that neither SQL nor the dialect has on its list."""
    spell = Dialect.spelt

    def listed(self: Dialect, tree: exp.Expr) -> exp.Expr:
        spelt = spell(self, tree)
        assert {type(node) for node in spelt.walk()} <= self.syntax, self.name
        return spelt

    monkeypatch.setattr(Dialect, "spelt", listed)


@pytest.fixture(scope="module")
def catalogs() -> dict[str, Catalog]:
    return {"duckdb": clinic(), "postgresql": known(), "spark": clinic(), "toy": clinic()}


@pytest.mark.parametrize("pair", PAIRS, ids=[pair.path.stem for pair in PAIRS])
def test_a_plan_has_the_same_shape_in_every_dialect(pair: Pair, catalogs: dict[str, Catalog]) -> None:
    """Of each query in two dialects; in which, is turned over from one query to the next."""
    others = [name for name in DIALECTS if name != "duckdb"]
    same_shape(pair, catalogs, {"duckdb", others[PAIRS.index(pair) % len(others)]})


@pytest.mark.campaign
@pytest.mark.parametrize("pair", PAIRS, ids=[pair.path.stem for pair in PAIRS])
def test_a_plan_has_the_same_shape_in_all_dialects(pair: Pair, catalogs: dict[str, Catalog]) -> None:
    same_shape(pair, catalogs, set(DIALECTS))


def same_shape(pair: Pair, catalogs: dict[str, Catalog], dialects: set[str]) -> None:
    found = {name: plans_of(pair, DIALECTS[name], catalogs[name]) for name in dialects}
    for name, told in FORMS.get(form(pair), {}).items():
        answered = REFUSED if isinstance(found.get(name), Refused) else ANSWERED
        assert name not in found or answered == told, "python -m tests.guide.write"
    for name, dialect in ((name, DIALECTS[name]) for name in sorted(dialects)):
        refused = found[name]
        if isinstance(refused, Refused) and refused.message == NO_NESTED:
            continue
        if name == "spark" and isinstance(refused, Refused) and refused.message.endswith("on Spark"):
            continue
        comparable = moved if pair.path.stem in ORDERED_BY_TEXT else shape
        assert comparable(found[name]) == comparable(found["duckdb"]), name
        plans = found[name]
        for one in [] if isinstance(plans, Refused) else plans:
            for text in filter(None, (one.sql, one.groups, *(choice.sql for choice in one.choices))):
                sqlglot.parse_one(text, read=dialect.name)
                assert called(text, dialect) <= dialect.functions | CLAUSES[name], name


def test_every_engine_has_a_dialect_of_its_own() -> None:
    assert [kind.dialect for kind in ENGINES.values()] == [DUCKDB, DUCKDB, POSTGRES, SPARK]
    assert not issubclass(Toy, PostgresFamily)


def test_a_dialect_that_lacks_a_spelling_cannot_be_made() -> None:
    with pytest.raises(TypeError, match=r"Mute does not say add_days, .*spread.*name"):
        type("Mute", (Dialect,), {})
    with pytest.raises(TypeError, match="Third does not say add_days"):
        type("Third", (PostgresFamily,), {})
    with pytest.raises(TypeError, match=r"Third does not say .*own_syntax"):
        type("Third", (PostgresFamily,), {})
    with pytest.raises(TypeError, match="Few does not say abs"):
        type("Few", (DuckDB,), {"words": {}})


def test_a_reading_that_is_not_spelt_is_in_no_engines_words() -> None:
    reading = start_of("month", start_of("day", exp.column("t")))
    assert DUCKDB.sql(reading) == "DATE_TRUNC('month', DATE_TRUNC('day', t))"
    assert TOY.sql(reading) == "CAST(DATE_FORMAT(TOY_BEGIN(t, 'DAY'), 'yyyy-MM-01') AS TIMESTAMP)"
    assert reading.sql("duckdb") == "DPSQL.START('month', DPSQL.START('day', t))"


@pytest.mark.quick
def test_a_node_that_a_grammar_lacks_is_not_on_its_list() -> None:
    divided = exp.IntDiv(this=exp.column("x"), expression=exp.Literal.number(2))
    for dialect in (POSTGRES, TOY):
        with pytest.raises(AssertionError):
            dialect.sql(divided)
    assert DUCKDB.sql(divided) == "x // 2"


@pytest.mark.quick
@pytest.mark.parametrize("node", [exp.Abs, exp.Sqrt, exp.Count, exp.Sum, exp.Min, exp.Max, exp.Neg, exp.Not])
def test_a_plain_node_has_one_text_in_all_grammars(node: type[exp.Expr]) -> None:
    assert node in PLAIN
    assert len({node(this=exp.column("x")).sql(dialect.name) for dialect in DIALECTS.values()}) == 1


@pytest.mark.quick
@pytest.mark.parametrize("node", sorted((one for one in PLAIN if issubclass(one, exp.Binary)), key=str))
def test_a_plain_operator_has_one_text_in_all_grammars(node: type[exp.Expr]) -> None:
    sides = exp.column("x"), exp.column("y")
    assert len({node(this=sides[0], expression=sides[1]).sql(dialect.name) for dialect in DIALECTS.values()}) == 1


@pytest.mark.quick
@pytest.mark.parametrize("name", DIALECTS)
def test_a_cast_is_told_by_its_node(name: str) -> None:
    """Keys ask a cast to which type it goes: in other words they would not find it."""
    for type_, kind in ((DATE, exp.DType.DATE), (TIMESTAMP, exp.DType.TIMESTAMP), (decimal(5, 0), exp.DType.DECIMAL)):
        cast = DIALECTS[name].cast(exp.column("x"), type_)
        assert type(cast) is exp.Cast
        assert cast.to.this == kind


def test_an_aggregate_without_filter() -> None:
    count = TOY.filtered(exp.Count(this=exp.Star()), exp.column("c"))
    assert TOY.sql(count) == "COUNT(CASE WHEN c THEN 1 END)"
    total = TOY.filtered(TOY.sum(exp.column("x"), BIGINT), exp.column("c"))
    assert TOY.sql(total) == "SUM(CASE WHEN c THEN CAST(x AS DECIMAL(38, 0)) END)"


@pytest.mark.parametrize("name", DIALECTS)
def test_an_expression_calls_no_other_functions(name: str) -> None:
    dialect = DIALECTS[name]
    rows, compiled = Rows(columns=COLUMNS, dialect=dialect), 0
    for seed in range(400):
        try:
            value = compile_expression(parse_expression(Grammar(random.Random(seed)).expression()), rows, dialect)
        except Refused:
            continue
        compiled += 1
        assert called(dialect.sql(value.sql), dialect) <= dialect.functions, seed
    assert compiled > 200
