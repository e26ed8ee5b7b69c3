"""Every function above releases is one object: nothing else in the room names it, and each of its parts is there."""

from __future__ import annotations

import ast
import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from sqlglot import exp

import rewriter.outer
import rewriter.statement
from dpsql.releases.tables import ReleasedColumn, ReleasedTable
from dpsql.sandbox.sandbox import Sandbox
from rewriter.declared.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    SMALLINT,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Type,
    decimal,
)
from rewriter.outer.allow_list import CONSTRUCTS, OUTER_FUNCTIONS
from rewriter.outer.checks import check_outer, outer_sql
from rewriter.outer.construct import OuterFunction
from rewriter.outer.name_scope import NameScope, TracedTable, expression
from rewriter.outer.null_for_errors import total_sql
from rewriter.outer.outer_functions import PARTICULAR
from rewriter.outer.outer_syntax import SYNTAX
from rewriter.outer.provenance import Measured, Other, output
from rewriter.plan import Linear, Output
from rewriter.refused import Refused
from tests.properties.total_rows import parse

_TYPES: dict[str, tuple[Type, object]] = {
    **dict.fromkeys("s", (SMALLINT, 3)),
    **dict.fromkeys("i", (INTEGER, 4)),
    **dict.fromkeys("bh", (BIGINT, 5)),
    **dict.fromkeys("mwn", (decimal(10, 2), Decimal("1.25"))),
    **dict.fromkeys("xyz", (DOUBLE, 0.5)),
    **dict.fromkeys("tu", (TEXT, "2024-02-29")),
    "f": (BOOLEAN, True),
    **dict.fromkeys("de", (DATE, datetime.date(2024, 2, 29))),
    "p": (TIMESTAMP, datetime.datetime(2024, 2, 29, 13)),
    "q": (TIMESTAMPTZ, datetime.datetime(2024, 2, 29, 13)),
}
"""The columns of examples, each with a type and a value."""

_SCHEMA = {"r": {name: type_ for name, (type_, _) in _TYPES.items()}}
_TABLE = ReleasedTable(tuple(ReleasedColumn(name, type_, (value,)) for name, (type_, value) in _TYPES.items()))
_MEASURED = TracedTable(tuple((name, output(0, Output(name, BIGINT, Linear(()), name))) for name in _TYPES))


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return Sandbox.open()


def _calls(function: OuterFunction) -> list[exp.Query]:
    """The examples that are answered above a release; of people's rows, more are."""
    found = []
    for example in function.examples:
        grouped = " GROUP BY t" if function.names == ("grouping",) else ""
        tree = parse(f"SELECT {example} AS c FROM r{grouped}")
        assert isinstance(tree, exp.Query)
        try:
            check_outer(tree, _SCHEMA)
        except Refused:
            continue
        found.append(tree)
    return [tree for tree in found if any(type(node) is function.node for node in tree.walk())]


@pytest.mark.quick
@pytest.mark.parametrize("function", OUTER_FUNCTIONS, ids=lambda function: function.names[0])
def test_every_function_has_each_part(function: OuterFunction, sandbox: Sandbox) -> None:
    """A call is checked, its provenance is known to depend on what is measured, and DuckDB understands its spelling,
    also where errors are NULL."""
    calls = _calls(function)
    assert calls, "no example is answered above a release"
    for tree in calls:
        spelt = outer_sql(tree, _SCHEMA)
        total = total_sql(spelt)
        assert total is not None
        assert len(sandbox.describe(spelt, {"r": list(_SCHEMA["r"].items())})) == 1
        assert len(sandbox.run(total, {"r": _TABLE})[1]) == 1
        scope = NameScope((("r", _MEASURED),), {})
        one = expression(tree.selects[0], scope, lambda *_: TracedTable(()))
        assert isinstance(one, Measured)
        assert one.noisy == any(column.name in _TYPES for column in tree.selects[0].find_all(exp.Column))
        filtered = expression(tree.selects[0], NameScope((("r", _MEASURED),), {}, tested=True), lambda *_: _MEASURED)
        if issubclass(function.node, exp.AggFunc):
            assert isinstance(filtered.form, Other), "how many rows there are may depend on what is measured"


def test_a_function_is_registered_once() -> None:
    named = [one for one in OUTER_FUNCTIONS if one.arguments is not None]
    nodes = [one.node for one in OUTER_FUNCTIONS if one.arguments is None]
    assert len(set(nodes)) == len(nodes) == len(CONSTRUCTS.by_node) - len(SYNTAX.keys() | {exp.WithinGroup})
    assert {one.node for one in named} == {exp.Anonymous}
    assert len(CONSTRUCTS.by_name) == len(named)
    assert set(PARTICULAR) <= {one.names[0] for one in OUTER_FUNCTIONS}


_GENERIC = {exp.Func, exp.AggFunc, exp.Anonymous, exp.Connector, exp.TryCast, *SYNTAX}
"""Calls, and syntax that the parser has among the functions: CASE, CAST, EXISTS, AND."""


def _functions_named(path: Path) -> set[type[exp.Expr]]:
    """The parser's classes of functions that a module names."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = {node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "exp"}
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and str(node.module).startswith("sqlglot")]
    names |= {alias.name for node in imports for alias in node.names}
    classes = {getattr(exp, name, None) for name in names}
    return {one for one in classes if isinstance(one, type) and issubclass(one, exp.Func)} - _GENERIC


def _modules(package: object) -> list[Path]:
    return sorted(Path(str(package.__file__)).parent.glob("*.py"))  # type: ignore[attr-defined]


@pytest.mark.quick
@pytest.mark.parametrize("path", _modules(rewriter.outer), ids=lambda path: path.name)
def test_no_other_file_of_the_room_names_a_function(path: Path) -> None:
    named = _functions_named(path)
    if path.name == "allow_list.py":  # It has words for functions that are not answered.
        named &= {one.node for one in OUTER_FUNCTIONS}
    assert bool(named) == (path.name == "outer_aggregates.py"), named


@pytest.mark.quick
@pytest.mark.parametrize("path", _modules(rewriter.statement), ids=lambda path: path.name)
def test_what_aggregates_are_called_is_said_once(path: Path) -> None:
    """By the file of their names; quantiles, regressions, blocks and JSON by those of their spellings, and what can be
    watched."""
    named = {one for one in _functions_named(path) if issubclass(one, exp.AggFunc)}
    assert not named or path.name in (
        "function_names.py",
        "comparison_to_watch.py",
        "ranked_row.py",
        "spell_blocks.py",
        "spell_json.py",
        "spell_quantiles.py",
        "spell_regressions.py",
        "whole_rows.py",
    )
