"""Types of operands above releases: operators and functions take the types that PostgreSQL has them for.

Guarantee: a statement that PostgreSQL refuses for the types of its operands is refused before any charge, with
PostgreSQL's SQLSTATE; DuckDB would answer ``NOT 1`` and ``1 || 1`` by rules of its own. What is not known of a type
refuses nothing: a value is refused where none of the types that it may have fits.

The tables are extracts of PostgreSQL's ``pg_operator`` and ``pg_cast``, by kinds of types; functions have theirs in
:mod:`rewriter.expressions.function_types`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from sqlglot import exp

from rewriter.declared import Kind
from rewriter.expressions import (
    ANY_KIND,
    FUNCTION_TYPES,
    MOMENTS,
    NUMBERS,
    NUMERIC_OR_DOUBLE,
    OF_TIMESTAMP,
    FunctionTypes,
    Kinds,
    hint_of_kinds,
    position_of,
)
from rewriter.outer.allow_list import CONSTRUCTS
from rewriter.outer.construct import Columns, Trait
from rewriter.outer.numbers import HOLDS_DOUBLES
from rewriter.refused import BAD_CAST, NO_FUNCTION, TYPE_MISMATCH, Refused
from rewriter.release import RESERVED
from rewriter.statement import folded, from_items, nodes_of, unaliased, unparenthesised

ANY = ANY_KIND
"""Nothing is known of the type."""

_INTEGER, _BOOLEAN, _TEXT, _LITERAL = (frozenset({kind}) for kind in (Kind.INTEGER, Kind.BOOLEAN, Kind.TEXT, Kind.NULL))
_DAYS = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ})
_NUMERAL = re.compile(
    r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*|\s*[+-]?(?:inf|infinity|nan)\s*", re.ASCII | re.IGNORECASE
)

_INTEGER_TEXT = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)
_BOOLEAN_TEXT = re.compile(
    r"\s*(?:t|tr|tru|true|f|fa|fal|fals|false|y|ye|yes|n|no|on|of|off|1|0)\s*", re.ASCII | re.IGNORECASE
)

_WORDS = {Kind.DOUBLE: "double precision", Kind.DECIMAL: "numeric", Kind.NULL: "unknown"}

# Operators

_Signatures = Mapping[tuple[Kind, Kind], Kind]


def _numeric(left: Kind, right: Kind) -> Kind:
    """The wider of two numbers' types."""
    return next(kind for kind in (Kind.DOUBLE, Kind.DECIMAL, Kind.INTEGER) if kind in (left, right))


_OF_NUMBERS: _Signatures = {(left, right): _numeric(left, right) for left, right in product(NUMBERS, repeat=2)}
_OF_INTEGERS: _Signatures = {(Kind.INTEGER, Kind.INTEGER): Kind.INTEGER}
_LENGTHENED: _Signatures = {
    (Kind.DATE, Kind.INTERVAL): Kind.TIMESTAMP,
    **{(kind, Kind.INTERVAL): kind for kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.TIME, Kind.INTERVAL)},
    (Kind.DATE, Kind.INTEGER): Kind.DATE,
}
_ADDED: _Signatures = {**_LENGTHENED, (Kind.DATE, Kind.TIME): Kind.TIMESTAMP}
_SUBTRACTED: _Signatures = {
    **_LENGTHENED,
    **{(day, other): Kind.INTERVAL for day in _DAYS for other in _DAYS},
    (Kind.DATE, Kind.DATE): Kind.INTEGER,
    (Kind.TIME, Kind.TIME): Kind.INTERVAL,
}
_SCALED: _Signatures = {(Kind.INTERVAL, number): Kind.INTERVAL for number in NUMBERS}

_OPERATORS: Mapping[type[exp.Expr], tuple[str, _Signatures]] = {
    exp.Add: ("+", {**_OF_NUMBERS, **_ADDED, **{(right, left): kind for (left, right), kind in _ADDED.items()}}),
    exp.Sub: ("-", {**_OF_NUMBERS, **_SUBTRACTED}),
    exp.Mul: ("*", {**_OF_NUMBERS, **_SCALED, **{(right, left): kind for (left, right), kind in _SCALED.items()}}),
    exp.Div: ("/", {**_OF_NUMBERS, **_SCALED}),
    exp.Mod: ("%", _OF_NUMBERS),
    exp.BitwiseAnd: ("&", _OF_INTEGERS),
    exp.BitwiseOr: ("|", _OF_INTEGERS),
    exp.BitwiseXor: ("#", _OF_INTEGERS),
    exp.BitwiseLeftShift: ("<<", _OF_INTEGERS),
    exp.BitwiseRightShift: (">>", _OF_INTEGERS),
    exp.DPipe: (
        "||",
        {
            **{pair: Kind.TEXT for kind in ANY for pair in ((Kind.TEXT, kind), (kind, Kind.TEXT))},
            (Kind.JSONB, Kind.JSONB): Kind.JSONB,
        },
    ),
}
_ONE_SIDED: Mapping[type[exp.Expr], tuple[str, Kinds]] = {
    exp.Neg: ("-", NUMBERS | {Kind.INTERVAL}),
    exp.BitwiseNot: ("~", _INTEGER),
}
_COMPARISONS = {
    exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM", exp.NullSafeNEQ: "IS DISTINCT FROM",
}  # fmt: skip
_MATCHES = {exp.Like: "LIKE", exp.ILike: "ILIKE", exp.RegexpLike: "~", exp.RegexpILike: "~*"}

_KEPT = (exp.Paren, exp.Alias, exp.Filter, exp.Window, exp.IgnoreNulls, exp.RespectNulls, exp.Ordered, exp.Distinct)
"""What has the type of what it holds."""
_CONDITIONS: Mapping[type[exp.Expr], str] = {
    exp.Where: "WHERE", exp.Having: "HAVING", exp.Qualify: "QUALIFY", exp.And: "AND", exp.Or: "OR", exp.Not: "NOT",
}  # fmt: skip
"""Nodes whose parts are conditions, and what PostgreSQL calls them."""

# Casts

_CAST_TO: Mapping[exp.DType, Kind] = {
    **dict.fromkeys((exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT), Kind.INTEGER),
    exp.DType.DECIMAL: Kind.DECIMAL,
    **dict.fromkeys((exp.DType.FLOAT, exp.DType.DOUBLE), Kind.DOUBLE),
    **dict.fromkeys((exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.BPCHAR, exp.DType.CHAR), Kind.TEXT),
    exp.DType.BOOLEAN: Kind.BOOLEAN,
    exp.DType.DATE: Kind.DATE,
    exp.DType.TIMESTAMP: Kind.TIMESTAMP,
    exp.DType.TIMESTAMPTZ: Kind.TIMESTAMPTZ,
    exp.DType.TIME: Kind.TIME,
    exp.DType.INTERVAL: Kind.INTERVAL,
}
_CASTS = frozenset(
    {
        *((kind, kind) for kind in Kind),
        *((kind, Kind.TEXT) for kind in Kind),
        *((text, kind) for text in (Kind.TEXT, Kind.NULL) for kind in Kind),
        *product(NUMBERS, repeat=2),
        *product(_DAYS, repeat=2),
        (Kind.INTEGER, Kind.BOOLEAN),
        (Kind.BOOLEAN, Kind.INTEGER),
        (Kind.TIMESTAMP, Kind.TIME),
        (Kind.TIMESTAMPTZ, Kind.TIME),
        (Kind.TIME, Kind.INTERVAL),
        (Kind.INTERVAL, Kind.TIME),
    }
)


def check_types(tree: exp.Query, tables: Columns) -> bool:
    """Refuse operands whose types PostgreSQL has no operator or function for (42883), types that cannot be matched or
    are no condition (42804), and casts that there are not (42846).

    Whether a mean or a quotient is printed that may be a NUMERIC in PostgreSQL, which has other digits than a double.
    """
    known = {
        name.lower(): tuple((column.lower(), _of_column(name, type_.kind)) for column, type_ in columns.items())
        for name, columns in tables.items()
    }
    reader = _Reader(known)
    reader.query(tree, {}, None)
    return reader.prints_numeric


def _of_column(table: str, kind: Kind) -> Kinds:
    """A released mean may be a NUMERIC or a double."""
    return NUMERIC_OR_DOUBLE if kind is Kind.DOUBLE and table.startswith(RESERVED) else frozenset({kind})


_Row = tuple[tuple[str, Kinds], ...]
"""The columns of a query, by name."""
_Ctes = Mapping[str, "_Row | None"]


@dataclass(frozen=True, slots=True)
class _Scope:
    """The columns that names stand for; a source of None has columns that are not known."""

    sources: tuple[tuple[str, _Row | None], ...]
    outside: _Scope | None = None
    items: _Row = ()

    def column(self, node: exp.Column) -> Kinds:
        wanted, table = node.name.lower(), node.table.lower()
        found: list[Kinds] = []
        for alias, row in self.sources:
            if table not in ("", alias):
                continue
            if row is None:
                return ANY
            found += [kinds for name, kinds in row if name == wanted]
        if not found and not table:
            found = [kinds for name, kinds in self.items if name == wanted]
        if found:
            return found[0] if len(found) == 1 else ANY
        return ANY if self.outside is None else self.outside.column(node)


class _Reader:
    """Reads the types of the columns of queries over tables, and checks all of their expressions."""

    def __init__(self, tables: Mapping[str, _Row]) -> None:
        self._tables = tables
        self.prints_numeric = False

    def query(self, node: exp.Expr, ctes: _Ctes, outside: _Scope | None) -> _Row | None:
        while isinstance(node, exp.Subquery):
            node = node.this
        if isinstance(node, exp.Values):
            return self._values(node, ctes, outside)
        with_ = node.args.get("with_")
        for cte in [] if with_ is None else with_.expressions:
            found = _decided(self.query(cte.this, ctes, outside))
            ctes = {**ctes, cte.alias.lower(): _named(found, cte.args["alias"])}
        if isinstance(node, exp.SetOperation):
            left, right = (self.query(side, ctes, outside) for side in (node.this, node.expression))
            return _united(node, left, right)
        return self._select(node, ctes, outside) if isinstance(node, exp.Select) else None

    def _values(self, node: exp.Values, ctes: _Ctes, outside: _Scope | None) -> _Row | None:
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
        scope = _Scope((), outside)
        kinds = [[self._expression(cell, scope, ctes) for cell in row] for row in rows]
        if len({len(row) for row in rows}) != 1:
            return None
        columns = (
            _together(list(zip(cells, some, strict=True)), "VALUES")
            for cells, some in zip(zip(*rows, strict=True), zip(*kinds, strict=True), strict=True)
        )
        return tuple((f"column{place}", one) for place, one in enumerate(columns, 1))

    def _select(self, select: exp.Select, ctes: _Ctes, outside: _Scope | None) -> _Row | None:
        scope = _Scope((), outside)
        for item in from_items(select):
            scope = _Scope((*scope.sources, (item.alias_or_name.lower(), self._source(item, ctes, scope))), outside)
        row: list[tuple[str, Kinds]] = []
        lost = False
        for item in select.expressions:
            if item.is_star:
                only = item.table.lower() if isinstance(item, exp.Column) else None
                for alias, columns in scope.sources:
                    lost = lost or (columns is None and only in (None, alias))
                    row += columns or () if only in (None, alias) else ()
            else:
                row.append((_name(item), self._expression(item, scope, ctes)))
        rest = _Scope(scope.sources, outside, tuple(row))
        for name, part in select.args.items():
            if name in ("expressions", "from_", "with_", "joins"):
                continue
            for one in part if isinstance(part, list) else [part]:
                if isinstance(one, exp.Expr):
                    self._expression(one, rest, ctes)
        for join in select.args.get("joins") or ():
            if (on := join.args.get("on")) is not None:
                _check_condition(on, self._expression(on, scope, ctes), "JOIN/ON")
        return None if lost else tuple(row)

    def _source(self, item: exp.Expr, ctes: _Ctes, scope: _Scope) -> _Row | None:
        if isinstance(item, exp.Table):
            name = item.name.lower()
            found = ctes[name] if name in ctes else self._tables.get(name)
        else:
            found = _decided(self.query(item, ctes, scope)) if isinstance(item, exp.Subquery | exp.Values) else None
        return _named(found, item.args.get("alias"))

    def _expression(self, root: exp.Expr, scope: _Scope, ctes: _Ctes) -> Kinds:
        """The kinds of an expression, its operands first. A quotient is of the kinds that a released mean may have."""
        kinds: dict[int, Kinds] = {}
        nodes, stack = [], [root]
        while stack:
            node = stack.pop()
            nodes.append(node)
            if not isinstance(node, exp.Query | exp.DataType):
                stack.extend(node.iter_expressions())
        for node in reversed(nodes):
            if isinstance(node, exp.Query):
                row = self.query(node, ctes, scope)
                kinds[id(node)] = row[0][1] if row is not None and len(row) == 1 else ANY
            elif isinstance(node, exp.Column):
                kinds[id(node)] = scope.column(node)
                if kinds[id(node)] == frozenset({Kind.DOUBLE}):
                    HOLDS_DOUBLES.on(node, True)
            else:
                kinds[id(node)] = _kinds_of(node, kinds)
                self.prints_numeric |= any(_is_numeric(part, kinds) for part in _printed(node))
        is_quotient = _is_numeric(unaliased(root), kinds)
        return NUMERIC_OR_DOUBLE if is_quotient else kinds[id(root)]


# One node


def _printed(node: exp.Expr) -> Iterable[exp.Expr]:
    """The operands of a node that become texts."""
    if isinstance(node, exp.Cast):
        return [node.this] if _CAST_TO.get(node.to.this) is Kind.TEXT else []
    return node.iter_expressions() if CONSTRUCTS.has(node, Trait.JOINS_TEXTS) else []


def _is_numeric(node: exp.Expr, kinds: Mapping[int, Kinds]) -> bool:
    """Whether a number may be a NUMERIC whose digits are those of a division: a mean, or a quotient."""
    found, bare = kinds.get(id(node), ANY), unparenthesised(node)
    if Kind.DECIMAL not in found or not found <= NUMBERS or CONSTRUCTS.of(bare).decimals(bare) is not None:
        return False
    return any(kinds.get(id(part)) == NUMERIC_OR_DOUBLE or CONSTRUCTS.has(part, Trait.DIVIDED) for part in node.walk())


def _kinds_of(node: exp.Expr, kinds: Mapping[int, Kinds]) -> Kinds:
    """The kinds of a node whose operands have been read. Raises :class:`Refused` where none of them fits."""

    def of(part: str) -> tuple[exp.Expr, Kinds]:
        operand = node.args[part]
        return operand, kinds.get(id(operand), ANY)

    kind = type(node)
    if kind in _CONDITIONS:
        for operand in node.iter_expressions():
            _check_condition(operand, kinds.get(id(operand), ANY), _CONDITIONS[kind])
        return _BOOLEAN
    if kind in _OPERATORS:
        return _operation(node, of("this"), of("expression"))
    if kind in _ONE_SIDED:
        operand, found = of("this")
        _check_argument(operand, found, _ONE_SIDED[kind][1], _ONE_SIDED[kind][0])
        return found
    if kind in _COMPARISONS:
        _compare(of("this"), of("expression"), _COMPARISONS[kind], kinds)
        return _BOOLEAN
    if kind in _MATCHES:
        for part in ("this", "expression"):
            _check_argument(*of(part), _TEXT, _MATCHES[kind])
        return _BOOLEAN
    if CONSTRUCTS.has(node, Trait.FIELD):
        _check_field(node, kinds)
    if kind in FUNCTION_TYPES:
        return _called(node, FUNCTION_TYPES[kind], kinds)
    if kind in _KEPT:
        return _held(node, kinds)
    return _OTHERS[kind](node, kinds) if kind in _OTHERS else ANY


def _operation(node: exp.Expr, left: tuple[exp.Expr, Kinds], right: tuple[exp.Expr, Kinds]) -> Kinds:
    sign, signatures = _OPERATORS[type(node)]
    if ANY in (left[1], right[1]):
        return ANY
    results = frozenset(
        result
        for pair, result in signatures.items()
        if all(one in some or Kind.NULL in some for one, some in zip(pair, (left[1], right[1]), strict=True))
    )
    if not results:
        hint = "cast the operands to numbers, as in x::integer"
        if sign == "||":
            hint = "cast a side, as in x::text"
        elif (left[1] | right[1]) & MOMENTS:
            hint = "add an interval to a time, as in x + INTERVAL '1 day', and subtract times of one type"
        raise _no_operator(node, left[1], sign, right[1], hint)
    return results


def _compare(
    left: tuple[exp.Expr, Kinds], right: tuple[exp.Expr, Kinds], sign: str, kinds: Mapping[int, Kinds]
) -> None:
    """Refuse a comparison of types that PostgreSQL compares with no operator; rows are compared item by item."""
    if isinstance(left[0], exp.Tuple) and isinstance(right[0], exp.Tuple):
        for one, other in zip(left[0].expressions, right[0].expressions, strict=False):
            _compare((one, kinds.get(id(one), ANY)), (other, kinds.get(id(other), ANY)), sign, kinds)
        return
    if not _go_together(left[1], right[1]):
        raise _no_operator(left[0], left[1], sign, right[1], hint_of_kinds(left[1] | right[1]))
    _check_literal(*left, right[1])
    _check_literal(*right, left[1])


def _go_together(left: Kinds, right: Kinds) -> bool:
    return any(one in _matched(other) for one in left for other in right)


def _matched(kind: Kind) -> Kinds:
    """The kinds that have a common type with a kind."""
    if kind is Kind.NULL or kind not in NUMBERS | MOMENTS | {Kind.TEXT, Kind.BOOLEAN}:
        return ANY
    for family in (NUMBERS, _DAYS, frozenset({Kind.TIME, Kind.INTERVAL})):
        if kind in family:
            return family | _LITERAL
    return frozenset({kind, Kind.NULL})


def _together(values: Sequence[tuple[exp.Expr, Kinds]], word: str, unlike: str = TYPE_MISMATCH) -> Kinds:
    """The kinds of what is one of some values. Raises where they have no common type."""
    common: Kinds = _LITERAL
    for node, kinds in values:
        if not _go_together(common, kinds):
            raise Refused(
                f"{word} types {_said(common)} and {_said(kinds)} cannot be matched",
                hint="cast one side, as in x::text",
                sqlstate=unlike,
                position=position_of(node),
            )
        common = kinds if common == _LITERAL else common if kinds == _LITERAL else common | kinds
    for node, kinds in values:
        _check_literal(node, kinds, common)
    return common


def _check_literal(node: exp.Expr, kinds: Kinds, common: Kinds) -> None:
    """Refuse a quoted literal that is no value of the type that it takes from beside it: PostgreSQL reads it as one."""
    while isinstance(node, exp.Paren | exp.Alias):
        node = node.this
    if kinds != _LITERAL or not isinstance(node, exp.Literal) or not node.is_string:
        return
    if common in (_INTEGER, _BOOLEAN):
        spelt = _INTEGER_TEXT if common == _INTEGER else _BOOLEAN_TEXT
    elif common <= NUMBERS:
        spelt = _NUMERAL
    else:
        return
    if spelt.fullmatch(node.name) is None:
        raise Refused(
            f"{node.name[:40]!r} is no {_said(common)}",
            hint="cast the other side, as in x::text",
            sqlstate="22P02",
            position=position_of(node),
        )


def _called(node: exp.Expr, types: FunctionTypes, kinds: Mapping[int, Kinds]) -> Kinds:
    for part, fitting in types.parts:
        operand = node.args.get(part)
        if isinstance(operand, exp.Expr) and not isinstance(operand, exp.Star):
            _check_argument(operand, kinds.get(id(operand), ANY), fitting, _word(node))
    operands = [(one, kinds.get(id(one), ANY)) for part in types.alike for one in nodes_of(node.args.get(part))]
    if types.compared:
        first, second = operands
        _compare(first, second, "=", kinds)
        return ANY if first[1] == _LITERAL else first[1]
    if operands:
        return _together(operands, _word(node), types.unlike)
    return kinds.get(id(node.args.get("this")), ANY) if types.result is None else types.result


def _held(node: exp.Expr, kinds: Mapping[int, Kinds]) -> Kinds:
    if isinstance(node, exp.Filter):
        condition = node.expression
        if isinstance(condition, exp.Where):
            _check_condition(condition.this, kinds.get(id(condition.this), ANY), "FILTER")
    if isinstance(node, exp.Distinct):
        some = node.expressions
        return kinds.get(id(some[0]), ANY) if len(some) == 1 else ANY
    return kinds.get(id(node.this), ANY)


def _literal(node: exp.Expr, kinds: Mapping[int, Kinds]) -> Kinds:
    return _LITERAL if node.is_string else _INTEGER if node.is_int else frozenset({Kind.DECIMAL})


def _cast(node: exp.Expr, kinds: Mapping[int, Kinds]) -> Kinds:
    to = _CAST_TO.get(node.args["to"].this)
    found = kinds.get(id(node.this), ANY)
    if to is None:
        return ANY
    if not any((one, to) in _CASTS for one in found):
        raise Refused(
            f"{_said(found)} cannot be cast to {_WORDS.get(to, to.value)}",
            hint="write a comparison, like x <> 0" if to is Kind.BOOLEAN else "cast it to text first, as in x::text",
            sqlstate=BAD_CAST,
            position=position_of(node),
        )
    return frozenset({to})


def _case(node: exp.Expr, kinds: Mapping[int, Kinds]) -> Kinds:
    subject = node.this
    results = []
    for branch in node.args["ifs"]:
        test = (branch.this, kinds.get(id(branch.this), ANY))
        if subject is None:
            _check_condition(*test, "CASE/WHEN")
        else:
            _compare((subject, kinds.get(id(subject), ANY)), test, "=", kinds)
        results.append(branch.args["true"])
    if (default := node.args.get("default")) is not None:
        results.append(default)
    return _together([(one, kinds.get(id(one), ANY)) for one in results], "CASE")


def _in(node: exp.Expr, kinds: Mapping[int, Kinds]) -> Kinds:
    query = node.args.get("query")
    for item in node.expressions if query is None else [query]:
        if not isinstance(node.this, exp.Tuple) or query is None:
            _compare((node.this, kinds.get(id(node.this), ANY)), (item, kinds.get(id(item), ANY)), "=", kinds)
    return _BOOLEAN


def _between(node: exp.Expr, kinds: Mapping[int, Kinds]) -> Kinds:
    for part, sign in (("low", ">="), ("high", "<=")):
        end = node.args[part]
        _compare((node.this, kinds.get(id(node.this), ANY)), (end, kinds.get(id(end), ANY)), sign, kinds)
    return _BOOLEAN


def _is(node: exp.Expr, kinds: Mapping[int, Kinds]) -> Kinds:
    if isinstance(node.expression, exp.Boolean):
        _check_condition(node.this, kinds.get(id(node.this), ANY), f"IS {node.expression.sql()}")
    return _BOOLEAN


def _ordered_set(node: exp.Expr, kinds: Mapping[int, Kinds]) -> Kinds:
    """``… WITHIN GROUP (ORDER BY x)``: a value of x, or one between two."""
    order = node.expression
    [by, *_] = order.expressions if isinstance(order, exp.Order) else [order]
    found = kinds.get(id(by), ANY)
    types = FUNCTION_TYPES.get(type(node.this))
    if types is None or types.ordered == ANY_KIND:
        return found
    _check_argument(by, found, types.ordered, _word(node.this))
    return types.result or found


_OF_CLOCK = frozenset({"HOUR", "MINUTE", "SECOND", "MILLISECOND", "MILLISECONDS", "MICROSECOND", "MICROSECONDS"})


def _check_field(node: exp.Expr, kinds: Mapping[int, Kinds]) -> None:
    """A date has no hour, as over people; DATE_PART reads it as a timestamp, as DuckDB reads any date."""
    field = node.name.upper()
    is_date = kinds.get(id(node.expression), ANY) == frozenset({Kind.DATE})
    if is_date and field in _OF_CLOCK and not OF_TIMESTAMP.is_on(node):
        raise Refused(
            f"a date has no {field.lower()}",
            hint="extract year, month, week, day, dow or epoch, or cast it, as in d::timestamp",
            sqlstate="0A000",
            position=position_of(node),
        )


_OTHERS: Mapping[type[exp.Expr], Callable[[exp.Expr, Mapping[int, Kinds]], Kinds]] = {
    exp.Literal: _literal,
    exp.Null: lambda node, kinds: _LITERAL,
    exp.Boolean: lambda node, kinds: _BOOLEAN,
    exp.Interval: lambda node, kinds: frozenset({Kind.INTERVAL}),
    **dict.fromkeys((exp.Exists, exp.Escape), lambda node, kinds: _BOOLEAN),
    exp.Cast: _cast,
    exp.Case: _case,
    exp.In: _in,
    exp.Between: _between,
    exp.Is: _is,
    exp.WithinGroup: _ordered_set,
}

# Refusals


def _check_condition(node: exp.Expr, kinds: Kinds, word: str) -> None:
    if not kinds & (_BOOLEAN | _LITERAL):
        raise Refused(
            f"the argument of {word} must be boolean, not {_said(kinds)}",
            hint="write a comparison, like x <> 0" if kinds <= NUMBERS else "write a comparison, like x IS NOT NULL",
            sqlstate=TYPE_MISMATCH,
            position=position_of(node),
        )


def _check_argument(node: exp.Expr, kinds: Kinds, fitting: Kinds, word: str) -> None:
    if not kinds & (fitting | _LITERAL):
        wanted = "a text" if fitting == _TEXT else "a condition" if fitting == _BOOLEAN else "another type"
        if fitting & NUMBERS:
            wanted = "an integer" if fitting == _INTEGER else "a number"
        elif fitting & MOMENTS:
            wanted = "a date or timestamp"
        hint = _CASTS_TO.get(wanted, "write a comparison, or cast it, as in x::integer")
        raise Refused(
            f"{word} needs {wanted}, not {_said(kinds)}", hint=hint, sqlstate=NO_FUNCTION, position=position_of(node)
        )


_CASTS_TO = {
    "a text": "cast it, as in x::text",
    "an integer": "cast it, as in x::integer",
    "a number": "cast it, as in x::integer",
    "a date or timestamp": "cast it, as in x::date",
    "a condition": "write a comparison, like x <> 0",
}


def _no_operator(node: exp.Expr, left: Kinds, sign: str, right: Kinds, hint: str) -> Refused:
    return Refused(
        f"there is no {_said(left)} {sign} {_said(right)}", hint=hint, sqlstate=NO_FUNCTION, position=position_of(node)
    )


def _said(kinds: Kinds) -> str:
    """The word for the kinds that a value may have."""
    if len(kinds) > 1 and kinds <= NUMBERS:
        return "number"
    return " or ".join(sorted(_WORDS.get(kind, kind.value) for kind in kinds))


def _word(node: exp.Expr) -> str:
    if type(node) in FUNCTION_TYPES and (known := FUNCTION_TYPES[type(node)].word):
        return known
    return node.sql_name() if isinstance(node, exp.Func) else type(node).__name__.upper()


# Rows


def _united(node: exp.SetOperation, left: _Row | None, right: _Row | None) -> _Row | None:
    if left is None or right is None or len(left) != len(right):
        return None
    word = type(node).__name__.upper()
    sides = [_items(side, len(left)) for side in (node.this, node.expression)]
    return tuple(
        (name, _together(((one, here), (other, there)), word))
        for (name, here), (_, there), one, other in zip(left, right, *sides, strict=True)
    )


def _items(query: exp.Expr, count: int) -> Sequence[exp.Expr]:
    """The select list of a side, or the side itself so often where a star hides the list."""
    while isinstance(query, exp.Subquery):
        query = query.this
    items = query.expressions if isinstance(query, exp.Select) else []
    return items if len(items) == count else [query] * count


def _decided(row: _Row | None) -> _Row | None:
    """A literal that nothing gave a type is a text in the rows of a subquery; of NULL nothing is known."""
    return None if row is None else tuple((name, ANY if kinds == _LITERAL else kinds) for name, kinds in row)


def _named(row: _Row | None, alias: exp.Expr | None) -> _Row | None:
    names: Iterable[exp.Expr] = () if alias is None else alias.args.get("columns") or ()
    renamed: Iterator[str] = (folded(name).lower() for name in names if isinstance(name, exp.Identifier))
    return None if row is None else tuple((next(renamed, name), kinds) for name, kinds in row)


def _name(item: exp.Expr) -> str:
    return item.alias_or_name.lower()
