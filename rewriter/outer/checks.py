"""The outer SELECT: everything above the released tables, checked against a list and spelled for DuckDB.

Guarantee: a tree that passes :func:`check_outer` names only the given tables and its own CTEs, and consists only of
forms and functions that read their inputs (:mod:`rewriter.outer.outer_functions`): no table function, file, setting or
clock. What could make one value grow without bound (REPEAT, LPAD, REPLACE) takes literals of limited size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping

from sqlglot import exp

from rewriter.declared import Type, zone_at
from rewriter.dialects import is_fact
from rewriter.outer.limits import check_size
from rewriter.outer.outer_functions import CASTS, CLOCKS, FORMS, NAMED, PARTS, PARTS_OF_TIME, PSEUDO_COLUMNS, UNITS
from rewriter.outer.to_duckdb import spelled
from rewriter.refused import BAD_PARAMETER, TOO_COMPLEX, UNKNOWN_COLUMN, UNKNOWN_TABLE, Refused
from rewriter.statement import folded

MAX_PADDED = 1_000
MAX_REPLACEMENT = 20

_FORMAT = re.compile(r"(?:%[YymdHIMSfjBbAa]|[^A-Za-z%\"])*")
"""A time format that was understood as a whole: what is left of PostgreSQL's own letters was not."""


def check_outer(tree: exp.Query, tables: Container[str]) -> None:
    """Let pass what post-processing may consist of. Raises :class:`Refused`, else does nothing.

    >>> import sqlglot
    >>> check_outer(sqlglot.parse_one("SELECT k0, a0 FROM dpsql_release_0 ORDER BY a0 DESC"), {"dpsql_release_0"})
    >>> check_outer(sqlglot.parse_one("SELECT a0 FROM read_csv('x')"), {"dpsql_release_0"})
    Traceback (most recent call last):
    rewriter.refused.Refused: a function in FROM is not answered
    """
    for node in _nodes(tree):
        form = type(node)
        if form is exp.Anonymous:
            _check_function(node)
            continue
        if form not in FORMS:
            raise _unknown(node)
        if (parts := PARTS.get(form)) is not None:
            _check_parts(node, parts)
        if form is exp.Table:
            _check_table(node, tables)
        elif (check := _CHECKS.get(form)) is not None:
            check(node)
    _check_names(tree)
    check_size(tree, tables)


def outer_sql(tree: exp.Query, schema: Mapping[str, Mapping[str, Type]]) -> str:
    """DuckDB's SQL for a checked tree, with PostgreSQL's meaning; ``schema`` has the tables' columns.

    For a database with ``integer_division`` on: there ``/`` of integers truncates, as in PostgreSQL.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("SELECT A0 / 2 AS H FROM r WHERE k0 LIKE 'a\\\\_%' ORDER BY 1 DESC", read="postgres")
    >>> outer_sql(tree, {})
    "SELECT a0 / 2 AS h FROM r WHERE k0 LIKE 'a\\\\_%' ESCAPE '\\\\' ORDER BY 1 DESC NULLS FIRST"
    """
    return spelled(tree, schema).sql("duckdb", comments=False)


def _nodes(tree: exp.Expr) -> Iterator[exp.Expr]:
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node.iter_expressions())


def _unknown(node: exp.Expr) -> Refused:
    form = type(node)
    if form in CLOCKS:
        return Refused(f"{CLOCKS[form]} is not answered", hint="write the date as a literal: DATE '2025-01-31'")
    if form in (exp.Rand, exp.Uuid):
        return Refused("random numbers are not answered", hint="ROW_NUMBER() OVER (ORDER BY …) numbers rows")
    if form is exp.Lateral or form is exp.Unnest or form is exp.TableSample:
        return Refused(f"{form.__name__.upper()} is not answered", hint="join a subquery or VALUES instead")
    if form in (exp.Placeholder, exp.Parameter):
        return Refused("a parameter has no value", hint="pass one value for each", sqlstate=BAD_PARAMETER)
    if form is exp.Collate:
        return Refused("COLLATE is not answered", hint="texts compare by code point; use LOWER(x)")
    if form is exp.Initcap:
        return Refused("INITCAP is not answered", hint="use UPPER(LEFT(x, 1)) || LOWER(SUBSTRING(x, 2))")
    if form is exp.ArrayAgg:
        return Refused("ARRAY_AGG is not answered", hint="use STRING_AGG(x, ',')")
    if form is exp.SimilarTo:
        return Refused("SIMILAR TO is not answered", hint="use LIKE, or a regular expression: x ~ '…'")
    if isinstance(node, exp.Func):
        name = node.sql_names()[0]
        return Refused(
            f"{name} is not answered above aggregates", hint="use the common functions, CASE, CAST or EXTRACT"
        )
    return Refused(f"{form.__name__} is not answered above aggregates", hint="write it in plain SELECTs")


def _check_function(node: exp.Expr) -> None:
    name = str(node.name)
    if name.upper() not in NAMED:
        raise Refused(
            f"there is no function {name[:40]}", hint="use the common functions of PostgreSQL", sqlstate="42883"
        )
    if len(node.expressions) != (count := NAMED[name.upper()]):
        raise Refused(f"{name} takes {count} arguments here", hint=f"give it {count}", sqlstate="42883")


def _check_parts(node: exp.Expr, parts: Container[str]) -> None:
    for name, value in node.args.items():
        if value and name not in parts and not name.startswith("_") and not is_fact(value):
            raise Refused(
                f"{name.replace('_', ' ').strip().upper()} in {type(node).__name__.upper()} is not answered",
                hint="leave it out",
            )


# Tables


def _check_table(node: exp.Expr, tables: Container[str]) -> None:
    if not isinstance(node.this, exp.Identifier):
        raise Refused("a function in FROM is not answered", hint="name a table", sqlstate=UNKNOWN_TABLE)
    name = node.this.name
    real = name if node.this.args.get("quoted") else name.lower()
    if name.lower() not in _ctes_in_reach(node) and name not in tables and real not in tables:
        raise Refused(f"there is no table {name!r}", hint="name a table or a WITH query", sqlstate=UNKNOWN_TABLE)


def _ctes_in_reach(table: exp.Expr) -> set[str]:
    """The names that the WITH clauses around a table give it: all of enclosing queries, earlier ones of its own."""
    names: set[str] = set()
    child, node = table, table.parent
    inside: exp.Expr | None = None
    while node is not None:
        if isinstance(node, exp.With):
            for cte in node.expressions:
                if cte is child:
                    break
                names.add(cte.alias.lower())
            inside = node
        else:
            with_ = node.args.get("with_")
            if with_ is not None and with_ is not inside:
                names.update(cte.alias.lower() for cte in with_.expressions)
        child, node = node, node.parent
    return names


def _check_names(tree: exp.Expr) -> None:
    """DuckDB knows no case in names, PostgreSQL does: two tables in one query must differ by more than case."""
    spelt: dict[str, str] = {}
    for alias in tree.find_all(exp.TableAlias):
        name = alias.this
        if isinstance(name, exp.Identifier):
            exact = folded(name)
            if spelt.setdefault(exact.lower(), exact) != exact:
                raise Refused(f"two names differ only by case: {exact}", hint="rename one of them", sqlstate="42712")


# Single forms


def _check_column(node: exp.Expr) -> None:
    if not node.args.get("table") and node.name.lower() in PSEUDO_COLUMNS and not isinstance(node.this, exp.Star):
        raise Refused(f"there is no column {node.name}", hint="name a column of FROM", sqlstate=UNKNOWN_COLUMN)


def _check_join(node: exp.Expr) -> None:
    kind, method, side = (str(node.args.get(part) or "").upper() for part in ("kind", "method", "side"))
    if (
        kind not in ("", "INNER", "OUTER", "CROSS")
        or method not in ("", "NATURAL")
        or side not in ("", "LEFT", "RIGHT", "FULL")
    ):
        raise Refused(
            f"{method or kind or side} JOIN is not answered", hint="use INNER, LEFT, RIGHT, FULL or CROSS JOIN"
        )


def _check_cast(node: exp.Expr) -> None:
    to = node.args["to"]
    sizes = to.expressions
    if to.this not in CASTS or to.args.get("nested"):
        raise Refused(
            f"CAST to {to.sql('postgres')[:40]} is not answered", hint="cast to a number, text, date or timestamp"
        )
    if sizes and to.this is not exp.DType.DECIMAL:
        raise Refused("CAST with a length is not answered", hint="cast to TEXT, then use LEFT(x, n)")
    digits = [_literal(size.this) for size in sizes]
    if digits and not (len(digits) <= 2 and digits[0] is not None and 1 <= digits[0] <= 38):
        raise Refused(
            "NUMERIC has 1 to 38 digits here", hint="use NUMERIC(38, 10) or DOUBLE PRECISION", sqlstate="22023"
        )


def _check_like(node: exp.Expr) -> None:
    pattern = node.args["expression"]
    if isinstance(pattern, exp.Literal) and not isinstance(node.parent, exp.Escape) and _ends_escaped(pattern.name):
        raise Refused("a LIKE pattern ends with an escape", hint=r"write \\ for one", sqlstate="22025")
    if isinstance(node.args["expression"], exp.Any | exp.All | exp.Array | exp.Tuple):
        raise Refused("LIKE ANY is not answered", hint="write x LIKE 'a%' OR x LIKE 'b%'")


def _ends_escaped(pattern: str) -> bool:
    r"""Whether a backslash at the end has nothing to escape.

    >>> _ends_escaped("50%\\"), _ends_escaped(r"50\\%")
    (True, False)
    """
    return (len(pattern) - len(pattern.rstrip("\\"))) % 2 == 1


def _check_extract(node: exp.Expr) -> None:
    if node.this.name.upper() not in PARTS_OF_TIME:
        raise Refused(
            f"EXTRACT({node.this.name[:40]} …) is not answered", hint="extract YEAR, MONTH, DAY, HOUR, DOW or EPOCH"
        )


def _check_trunc(node: exp.Expr) -> None:
    unit = node.args.get("unit")
    if unit is None or unit.name.upper() not in UNITS:
        raise Refused("DATE_TRUNC needs a unit", hint="write DATE_TRUNC('month', x)", sqlstate=BAD_PARAMETER)


def _check_format(node: exp.Expr) -> None:
    written = node.args.get("format")
    if not isinstance(written, exp.Literal) or not written.is_string or _FORMAT.fullmatch(written.name) is None:
        raise Refused("this format is not answered", hint="use YYYY, MM, DD, HH24, MI and SS, e.g. 'YYYY-MM'")


def _check_substring(node: exp.Expr) -> None:
    start = node.args.get("start")
    if start is None or isinstance(start, exp.Neg) or (isinstance(start, exp.Literal) and start.is_string):
        raise Refused("SUBSTRING needs a position from 1", hint="use RIGHT(x, n), or REGEXP_REPLACE")


def _check_percentile(node: exp.Expr) -> None:
    literal = node.this
    if not isinstance(literal, exp.Literal) or literal.is_string or not isinstance(node.parent, exp.WithinGroup):
        raise Refused(
            "a percentile needs a fraction and an order",
            hint="write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)",
            sqlstate="42883",
        )


def _check_mode(node: exp.Expr) -> None:
    if not isinstance(node.parent, exp.WithinGroup):
        raise Refused("MODE needs an order", hint="write MODE() WITHIN GROUP (ORDER BY x)", sqlstate="42883")


def _check_within(node: exp.Expr) -> None:
    order = node.args.get("expression")
    if not isinstance(node.this, exp.PercentileCont | exp.PercentileDisc | exp.Mode) or (
        not isinstance(order, exp.Order) or len(order.expressions) != 1
    ):
        raise Refused("WITHIN GROUP goes with PERCENTILE_CONT, PERCENTILE_DISC and MODE", hint="order by one column")


def _check_repeat(node: exp.Expr) -> None:
    times = _literal(node.args.get("times"))
    text = node.this
    if not isinstance(text, exp.Literal) or times is None or len(text.name) * times > MAX_PADDED:
        raise Refused(
            f"REPEAT gives at most {MAX_PADDED} characters, of literals",
            hint="a bar of n characters is LEFT(REPEAT('#', 100), n)",
            sqlstate=TOO_COMPLEX,
        )


def _check_pad(node: exp.Expr) -> None:
    length = _literal(node.args.get("expression"))
    if length is None or length > MAX_PADDED:
        raise Refused(f"LPAD and RPAD take a number up to {MAX_PADDED}", hint="write LPAD(x, 10)", sqlstate=TOO_COMPLEX)


def _check_replace(node: exp.Expr) -> None:
    replacement = node.args.get("replacement")
    if replacement is not None and not (
        isinstance(replacement, exp.Literal) and len(replacement.name) <= MAX_REPLACEMENT
    ):
        raise Refused(
            f"a replacement is a literal of at most {MAX_REPLACEMENT} characters",
            hint="use CASE for whole values",
            sqlstate=TOO_COMPLEX,
        )


def _literal(node: exp.Expr | None) -> int | None:
    """A whole number that is written out."""
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isascii() and node.name.isdigit():
        return int(node.name) if len(node.name) <= 9 else 10**9
    return None


def _check_zone(node: exp.Expr) -> None:
    zone = node.args.get("zone")
    if not isinstance(zone, exp.Literal) or not zone.is_string:
        raise Refused("a time zone is a literal", hint="write AT TIME ZONE 'Europe/Berlin'")
    if zone_at(zone.name) is None:
        raise Refused("there is no such time zone", hint="write a name like 'Europe/Berlin'", sqlstate="22023")


_CHECKS: Mapping[type[exp.Expr], Callable[[exp.Expr], None]] = {
    exp.Column: _check_column,
    exp.Join: _check_join,
    exp.Cast: _check_cast,
    exp.Like: _check_like,
    exp.ILike: _check_like,
    exp.Extract: _check_extract,
    exp.TimestampTrunc: _check_trunc,
    exp.DateTrunc: _check_trunc,
    exp.AtTimeZone: _check_zone,
    exp.TimeToStr: _check_format,
    exp.StrToDate: _check_format,
    exp.Substring: _check_substring,
    exp.PercentileCont: _check_percentile,
    exp.PercentileDisc: _check_percentile,
    exp.Mode: _check_mode,
    exp.WithinGroup: _check_within,
    exp.Repeat: _check_repeat,
    exp.Pad: _check_pad,
    exp.Replace: _check_replace,
    exp.RegexpReplace: _check_replace,
}
