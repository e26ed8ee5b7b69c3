"""Analysts' expressions, checked and compiled to expressions that never raise, whatever a row holds.

Why: whether an error happens is itself a leak, and engines put row values into error texts. So the syntax nodes and
functions that may occur are listed (:mod:`rewriter.expressions.scalar_functions`), and everything else is refused.
Listed ones are rebuilt from our own nodes. They mean what they mean in PostgreSQL, but give NULL where PostgreSQL would
raise. Totality rests on types alone, never on declared ranges: rows may break a declaration.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewriter.declared import Column, Kind
from rewriter.dialects import Dialect, is_fact, refuse, text, when
from rewriter.expressions.build import Context, Rule, finite
from rewriter.expressions.documents import DOCUMENT_FUNCTIONS
from rewriter.expressions.logic import NO_ANY
from rewriter.expressions.operators import OPERATOR_PARTS, OPERATORS
from rewriter.expressions.scalar_functions import NAMED, NAMES, RULES, nearest
from rewriter.expressions.stored_lists import LIST_FUNCTIONS, listed
from rewriter.expressions.syntax import SYNTAX
from rewriter.expressions.text_positions import position_of, word_of
from rewriter.expressions.time_ranges import without_shown_times
from rewriter.expressions.value import REPORTED, Scope, Value
from rewriter.refused import NOT_ALLOWED, NOT_ANSWERED, TOO_COMPLEX, Refused

_LONGEST_CHAIN = 100
_LONGEST_CONDITION = 2_000


def compile_expression(node: exp.Expr, scope: Scope, dialect: Dialect, *, nested: bool = False) -> Value:
    """The checked value of an expression, in a tree of our own nodes; or :class:`Refused`.

    ``node`` is parsed from PostgreSQL's dialect and is not changed. Subqueries are allowed only where ``scope`` takes
    them: IN and EXISTS. A bare column comes back as the scope gives it. ``nested``: it may be a document, a list, or a
    difference of times, as a column of a subquery is.
    """
    context = Context(scope, dialect, _compile)
    try:
        value = finite(context.held(node) if nested else context.compile(node), dialect)
    except Refused as refusal:
        if refusal.position is None:
            refusal.position = position_of(node)
        raise
    except RecursionError:
        raise Refused(
            "the expression is nested too deeply", hint="compute a part in a subquery", sqlstate=TOO_COMPLEX
        ) from None
    if value.type.kind is Kind.INTERVAL and not (
        nested and value.span is None and value.times not in ("age", "months")
    ):
        raise IsInterval(node)
    without_shown_times(value.sql)
    return value


class IsInterval(Refused):
    """An expression is an interval where none is a value; ``node`` is it, as it was written."""

    def __init__(self, node: exp.Expr) -> None:
        super().__init__(
            "an interval is not a value here",
            hint="add it to a date or timestamp, or write EXTRACT(EPOCH FROM a - b)",
            sqlstate=NOT_ANSWERED,
            position=position_of(node),
        )
        self.node = node


def compile_list(node: exp.Expr, scope: Scope, dialect: Dialect) -> Value:
    """The list whose items UNNEST makes rows of, or :class:`Refused`."""
    return listed(node, Context(scope, dialect, _compile))


def read_column(column: Column, sql: exp.Expr, dialect: Dialect) -> exp.Expr:
    """A column of a base table in its declared type, NULL where it holds NaN, ±inf or a date beyond 0001 to 9999.

    >>> from rewriter.declared.types import DOUBLE
    >>> from rewriter.dialects import DUCKDB
    >>> read_column(Column("x", DOUBLE), exp.column("x"), DUCKDB).sql("duckdb")
    'CASE WHEN x BETWEEN (-1.7976931348623157e308) AND 1.7976931348623157e308 THEN x END'
    """
    if column.type.nested:
        return dialect.read_nested(sql, column.type, column.engine_type)
    read = dialect.read(sql, column.type, column.engine_type)
    if column.type.kind is Kind.DOUBLE:
        return when(dialect.is_finite(read.copy()), read)
    if column.type.kind is Kind.TIME:  # 24:00 is one of PostgreSQL's, and of no calendar's
        return when(exp.LT(this=read.copy(), expression=dialect.cast(text("24:00"), column.type)), read)
    if column.type.temporal:
        return when(dialect.in_calendar(read.copy(), column.type), read)
    return read


def _compile(node: exp.Expr, context: Context) -> Value:
    kind = type(node)
    if kind in OPERATORS:
        return _chain(node, context)
    if kind is exp.Column and isinstance(node.this, exp.Identifier):
        return _column(node, context)  # type: ignore[arg-type]
    try:
        found = SYNTAX.get(kind) or RULES.get(kind) or _named(node)
        _check_parts(node, found.parts)
        return _plain(found, node, context)
    except Refused as refusal:
        if refusal.position is None:
            refusal.position = position_of(node)
        raise


_REPORTED_HINT = (
    "ask for COUNT, SUM or AVG with GROUP BY {0}, WHERE {0} = … or FILTER (WHERE {0} = …);"
    " CASE over its values goes above such a query"
)
_REPORTED_ROWS = (
    "put the condition on {0} beside the aggregate: JOIN its table, or SELECT {0} in the subquery,"
    " then COUNT, SUM or AVG with WHERE {0} = … or FILTER (WHERE {0} = …)"
)


def _column(node: exp.Column, context: Context) -> Value:
    """A column; of one that people randomized, only our own references are values."""
    value = context.scope.column(node)
    if value.randomized is None:
        return value
    if REPORTED.is_on(node):
        return replace(value, randomized=None)
    rows = isinstance(node.find_ancestor(exp.Where, exp.Select), exp.Where)
    raise Refused(
        f"{node.name} was randomized by the people themselves, and this use of it cannot be freed of that",
        hint=(_REPORTED_ROWS if rows else _REPORTED_HINT).format(node.name),
        position=position_of(node.this),
    )


def _plain(found: Rule, node: exp.Expr, context: Context) -> Value:
    value = found.function(node, context)
    if isinstance(node, exp.Paren | exp.Coalesce):
        return value
    return value.unowned() if value.unit or value.keys or value.ways or value.ways_when else value


def _check_parts(node: exp.Expr, allowed: frozenset[str]) -> None:
    for name, part in node.args.items():
        unset = part is None or part is False or (isinstance(part, list | str) and not part)
        if name in allowed or unset or is_fact(part):
            continue
        word = name.rstrip("_").replace("_", " ")
        raise refuse(f"{_title(node)} with {word} is not answered", "leave it out, or write it in another way")


def _chain(node: exp.Expr, context: Context) -> Value:
    """Operators, the left ones first, without recursion into a long left side."""
    spine: list[exp.Expr] = []
    while type(node) in OPERATORS:
        _check_parts(node, OPERATOR_PARTS)
        spine.append(node)
        node = node.this
    logical = sum(isinstance(part, exp.And | exp.Or) for part in spine)
    if len(spine) - logical > _LONGEST_CHAIN or logical > _LONGEST_CONDITION:
        raise refuse("the expression has too many operators", "compute a part in a subquery", TOO_COMPLEX)
    value = context.compile(node)
    for operator in reversed(spine):
        right = context.compile(operator.args.get("expression"))
        try:
            value = OPERATORS[type(operator)](value, right, context)
        except Refused as refusal:
            if refusal.position is None:
                refusal.position = position_of(operator)
            raise
    return value


# -- refusals ------------------------------------------------------------------------------------------------------

_VOLATILE = (
    exp.CurrentDate,
    exp.CurrentTimestamp,
    exp.CurrentTime,
    exp.Localtime,
    exp.Localtimestamp,
    exp.CurrentDatetime,
)
_RANDOM = (exp.Rand, exp.Randn, exp.Uuid)
_RANDOM_NAMES = {"SETSEED", "GEN_RANDOM_UUID", "UUID_GENERATE_V4", "RANDOM_NORMAL", "UUIDV7"}
_CLOCK_NAMES = {"CLOCK_TIMESTAMP", "STATEMENT_TIMESTAMP", "TRANSACTION_TIMESTAMP", "TIMEOFDAY"}
_DOCUMENTS = {"TO_JSON", "TO_JSONB", "ROW_TO_JSON", "JSON_BUILD_OBJECT", "JSONB_BUILD_OBJECT", "JSON_BUILD_ARRAY"}
_FORMATS = "use YYYY, MM, Mon, DD, HH24, MI and SS, as in TO_DATE(x, 'YYYY-MM-DD')"
_HINTS: dict[type[exp.Expr], tuple[str, str, str]] = {
    exp.SimilarTo: ("this SIMILAR TO is not answered", "its pattern is a literal: x SIMILAR TO '(a|b)%'", NOT_ANSWERED),
    exp.Star: ("* is not an expression", "name the columns", "42601"),
    exp.Parameter: ("a parameter has no value", "bind a value to it", "42P02"),
    exp.Placeholder: ("a parameter has no value", "bind a value to it", "42P02"),
    exp.Dot: ("functions are not named by schema", "write the name alone, as in ABS(x)", "42883"),
    exp.Tuple: ("rows of values are not answered", "compare the columns one by one with AND", NOT_ANSWERED),
    exp.Bracket: (
        "this subscript is not answered",
        "of (REGEXP_MATCH(x, '…'))[1] and (STRING_TO_ARRAY(x, ','))[1] it is",
        NOT_ANSWERED,
    ),
    exp.All: (
        "ALL is answered of lists, and in WHERE of public rows and of a person's own",
        "compare with one value, which leaves NULLs out: x > (SELECT MAX(y) FROM …), x < (SELECT MIN(y) FROM …)",
        NOT_ANSWERED,
    ),
    exp.Any: (*NO_ANY, NOT_ANSWERED),
    exp.Collate: ("this COLLATE is not answered", 'texts compare byte by byte, as COLLATE "C" has it', NOT_ANSWERED),
    exp.Overlay: ("OVERLAY needs literal places", "write OVERLAY(x PLACING 'ab' FROM 2 FOR 2)", NOT_ANSWERED),
    exp.Format: ("FORMAT needs a literal format", "write FORMAT('%s of %s', a, b)", NOT_ANSWERED),
    exp.StrToDate: ("this format is not answered", _FORMATS, NOT_ANSWERED),
    exp.StrToTime: ("this format is not answered", _FORMATS, NOT_ANSWERED),
    exp.TryCast: ("there is no TRY_CAST in PostgreSQL", "CAST gives NULL where it fails", "42601"),
    exp.Distinct: ("DISTINCT belongs to an aggregate", "leave it out", "42601"),
}


_FUNCTIONS = {**NAMED, **DOCUMENT_FUNCTIONS, **LIST_FUNCTIONS}


def _named(node: exp.Expr) -> Rule:
    """The rule of a function without a class of its own in the parser. An unknown function is refused, with a hint."""
    if type(node) is exp.Anonymous and isinstance(node.this, str) and (found := _FUNCTIONS.get(node.this.upper())):
        return found
    raise _refusal(node)


def _misplaced_window(node: exp.Window) -> Refused:
    if isinstance(node.this, exp.Ntile) and not node.args.get("partition_by"):
        hint = (
            "group a subquery: SELECT q, COUNT(*) FROM (SELECT NTILE(4) OVER (ORDER BY x) AS q FROM …) AS t GROUP BY q"
        )
        return refuse("a window function does not stand beside GROUP BY or in it", hint, "42P20")
    return refuse(
        "a window function is not answered here",
        "compute it in the select list of a subquery in FROM, with PARTITION BY the key of the person",
    )


def _refusal(node: exp.Expr) -> Refused:
    name = _name(node)
    if isinstance(node, _RANDOM) or name in _RANDOM_NAMES:
        return refuse(f"{name}() is random: its value is not a function of the row", "use columns and constants")
    if name == "REGEXP_MATCHES":
        return refuse("REGEXP_MATCHES makes a row of each match", "write (REGEXP_MATCH(x, '…'))[1], or WHERE x ~ '…'")
    if name == "AGE" and len(node.expressions) > 1:
        return refuse("AGE is not answered", "write (DATE '2024-12-31' - born) / 365.25 for years")
    if isinstance(node, _VOLATILE) or name in _CLOCK_NAMES or name == "AGE":
        hint = "write the date, as in DATE '2024-12-31'"
        return refuse(f"{name} depends on the time of the query", hint)
    if isinstance(node, exp.Window):
        return _misplaced_window(node)
    if isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup):
        return refuse(*_misplaced(node), "42803")
    if isinstance(node, exp.Query | exp.Subquery):
        return refuse(
            "a subquery is answered only in parentheses, and after IN and EXISTS",
            "ask for its number first and write it here, or join the table, or write x IN (SELECT …)",
        )
    if type(node) in _HINTS:
        return refuse(*_HINTS[type(node)])
    if name in _DOCUMENTS:
        hint = "make it of aggregates: JSON_BUILD_OBJECT('n', COUNT(*))"
        return refuse("a document of values of one person is a row of people", hint, NOT_ALLOWED)
    if isinstance(node, exp.Func):
        return refuse(f"function {name.lower()} is not answered", nearest(name), "42883")
    return refuse(f"{_title(node)} is not answered", "use comparisons, arithmetic, CASE and functions like " + NAMES[0])


def _misplaced(node: exp.Expr) -> tuple[str, str]:
    """What is said of an aggregate where none may stand, and the hint."""
    around = node.find_ancestor(exp.AggFunc, exp.Where, exp.Query)
    if isinstance(around, exp.AggFunc):
        hint = "compute the inner one in FROM: AVG(x) FROM (SELECT key, SUM(y) AS x … GROUP BY key) AS t"
        return "an aggregate stands in an aggregate", hint
    if isinstance(around, exp.Where):
        return "an aggregate stands in WHERE", "move the condition to HAVING"
    return "an aggregate is not answered here", "aggregates stand in SELECT or HAVING"


def _name(node: exp.Expr) -> str:
    """What a node is called: a function by the word that the analyst wrote."""
    if (word := word_of(node)) is not None:
        return word.upper()
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper()
    if isinstance(node, exp.CurrentTimestamp):
        return "NOW"
    if isinstance(node, exp.Rand):
        return "RANDOM"
    return node.sql_name() if isinstance(node, exp.Func) else type(node).__name__.upper()


def _title(node: exp.Expr) -> str:
    return _name(node).replace("_", " ")
