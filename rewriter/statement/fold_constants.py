"""Constants in other words, made plain: what BI tools compute of literals is a literal.

``TO_TIMESTAMP('2025-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS')`` is ``CAST('2025-01-01 00:00:00' AS TIMESTAMP)``, and
``(SELECT TIMESTAMP '2025-01-01')`` is what it selects.

Guarantee: nothing but constants is computed; where a text does not follow its format, it stays for a refusal.

Arrays of constants, made plain: what tools send as one parameter is a list of literals, or rows of VALUES.

``x = ANY('{a,b}')`` and ``x IN (SELECT UNNEST('{a,b}'::text[]))`` are ``x IN ('a', 'b')``, and
``JOIN UNNEST('{a,b}'::text[]) AS u (x)`` is a join with ``(VALUES ('a'), ('b')) AS u (x)``.

Guarantee: an array that is not written out whole stays for a refusal.
"""

from __future__ import annotations

import datetime
import re

from sqlglot import exp

from rewriter.statement.time_formats import python_format

_FOLDED = (
    *(exp.StrToDate, exp.StrToTime, exp.Subquery, exp.EQ, exp.NEQ, exp.Cast, exp.MakeInterval),
    *(exp.In, exp.Unnest, exp.Explode, exp.TimestampFromParts),
)
_CONSTANTS = (
    *(exp.Literal, exp.Cast, exp.DataType, exp.DataTypeParam, exp.Interval, exp.Var, exp.Paren, exp.Neg, exp.Add),
    *(exp.Sub, exp.Mul, exp.DPipe, exp.AtTimeZone, exp.TimestampTrunc),
)
"""What a value is made of that depends on nothing but its text."""


def plain_constants(tree: exp.Query) -> exp.Query:
    """``tree`` with such constants as literals; select items that are nothing else keep their names by staying.

    >>> import sqlglot
    >>> text = "SELECT x FROM t WHERE d < to_date('2025-02-01', 'YYYY-MM-DD') AND e > to_timestamp('2025', 'YYYY')"
    >>> plain_constants(sqlglot.parse_one(text, read="postgres")).sql("postgres").partition("WHERE ")[2]
    "d < CAST('2025-02-01' AS DATE) AND e > CAST('2025-01-01 00:00:00' AS TIMESTAMPTZ)"
    """
    if tree.find(*_FOLDED) is None:
        return tree
    copy: exp.Query = tree.copy()
    for node in reversed(list(copy.find_all(*_FOLDED, exp.Select))):  # what is inside first
        folded = _folded(node)
        if folded is not None and not (isinstance(node.parent, exp.Select) and node.arg_key == "expressions"):
            node.replace(folded)
    return copy


def _folded(node: exp.Expr) -> exp.Expr | None:
    if isinstance(node, exp.StrToDate | exp.StrToTime):
        return _formatted(node)
    if isinstance(node, exp.Cast):
        return _put_together(node)
    if isinstance(node, exp.MakeInterval):
        return _made(node)
    if isinstance(node, exp.TimestampFromParts):
        return _instant(node)
    if isinstance(node, exp.EQ | exp.NEQ | exp.In):
        return listed(node)
    if isinstance(node, exp.Unnest):
        return written_out(node) if isinstance(node.parent, exp.From | exp.Join) else None
    if isinstance(node, exp.Select):
        return rows_written_out(node) if node.parent is not None else None
    if isinstance(node, exp.Explode):
        return None
    return _selected(node)


def _put_together(node: exp.Cast) -> exp.Expr | None:
    """``(-30 || ' day')::interval`` with its text in one piece."""
    if node.to.this != exp.DType.INTERVAL or isinstance(node.this, exp.Literal):
        return None
    text = _text_of(node.this)
    return None if text is None else exp.cast(exp.Literal.string(text), "interval")


def _made(node: exp.Expr) -> exp.Expr | None:
    """``MAKE_INTERVAL(days => 30)`` of constants, as the text of one."""
    parts: list[str] = []
    for place, unit in ((name, name) for name in ("year", "month", "week", "day", "hour", "minute", "second")):
        given = node.args.get(place)
        if isinstance(given, exp.Kwarg):
            unit, given = _ARGUMENTS.get(given.this.name.lower(), ""), given.expression
        amount = None if given is None else _text_of(given)
        if given is not None and (amount is None or not unit):
            return None
        parts += [] if amount is None else [f"{amount} {unit}"]
    return exp.cast(exp.Literal.string(" ".join(parts)), "interval") if parts else None


def _instant(node: exp.Expr) -> exp.Expr | None:
    """``MAKE_TIMESTAMP(2025, 1, 1, 0, 0, 0)`` of whole numbers, as a literal; None where there is no such time."""
    parts = [_whole(node.args.get(name)) for name in ("year", "month", "day", "hour", "min", "sec")]
    year, month, day, hour, minute, second = (-1 if part is None else part for part in parts)
    try:
        found = datetime.datetime(year, month, day, hour, minute, second)
    except (ValueError, OverflowError):
        return None
    return exp.cast(exp.Literal.string(found.isoformat(" ")), "timestamp")


def _whole(node: exp.Expr | None) -> int | None:
    while isinstance(node, exp.Paren) or (isinstance(node, exp.Cast) and node.to.this is exp.DType.INT):
        node = node.this
    is_number = isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal()
    return int(node.name) if is_number and node is not None else None


_ARGUMENTS = {
    "years": "year", "months": "month", "weeks": "week", "days": "day", "hours": "hour", "mins": "minute",
    "secs": "second",
}  # fmt: skip


def _text_of(node: exp.Expr) -> str | None:
    """The text of literals that are joined by ||; None of anything else."""
    if isinstance(node, exp.Paren):
        return _text_of(node.this)
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return "-" + node.this.name
    if isinstance(node, exp.Cast) and node.to.this in TEXTS and not node.to.expressions:
        return _text_of(node.this)
    if isinstance(node, exp.DPipe):
        parts = (_text_of(node.this), _text_of(node.expression))
        return None if None in parts else "".join(filter(None, parts))
    return node.name if isinstance(node, exp.Literal) else None


def _formatted(node: exp.Expr) -> exp.Expr | None:
    text, pattern = node.this, node.args.get("format")
    if not (isinstance(text, exp.Literal) and text.is_string and isinstance(pattern, exp.Literal)):
        return None
    try:
        found = datetime.datetime.strptime(text.name, python_format(pattern.name))
    except ValueError:
        return None
    if isinstance(node, exp.StrToDate):
        return exp.cast(exp.Literal.string(found.date().isoformat()), "date")
    return _timestamp(found)


def _selected(node: exp.Expr) -> exp.Expr | None:
    """``(SELECT constant)`` without anything else, where a value is wanted and not rows."""
    select = node.this
    if not isinstance(node.parent, exp.Binary | exp.Between | exp.Paren):
        return None
    while isinstance(select, exp.Subquery) and not select.args.get("alias"):
        select = select.this
    if node.args.get("alias") or not isinstance(select, exp.Select) or len(select.expressions) != 1:
        return None
    if any(value for part, value in select.args.items() if part != "expressions"):
        return None
    item = select.expressions[0].unalias()
    return exp.Paren(this=item.copy()) if all(isinstance(part, _CONSTANTS) for part in item.walk()) else None


def _timestamp(value: datetime.datetime) -> exp.Expr:
    """TO_TIMESTAMP gives an instant in PostgreSQL: what the clocks of the session's zone show then is the text."""
    return exp.cast(exp.Literal.string(value.isoformat(" ")), "timestamptz")


TEXTS = (exp.DType.TEXT, exp.DType.VARCHAR)


def listed(node: exp.EQ | exp.NEQ | exp.In) -> exp.Expr | None:
    """``x = ANY('{a,b}')``, ``x <> ALL(ARRAY[…]::text[])`` and ``x IN (SELECT UNNEST('{a,b}'::text[]))`` as lists; None
    where the array is not written out."""
    if isinstance(node, exp.In):
        array = _unnested(node.args.get("query"))
    else:
        array = _quantified(node.args["expression"], "any" if isinstance(node, exp.EQ) else "all")
        array = _unnested(array) or array
    if array is None or (items := _elements(array)) is None:
        return None
    if not items:
        return exp.Boolean(this=isinstance(node, exp.NEQ))
    found = exp.In(this=node.this.copy(), expressions=items)
    return exp.Paren(this=exp.Not(this=found)) if isinstance(node, exp.NEQ) else found


def written_out(node: exp.Unnest | exp.Explode) -> exp.Expr | None:
    """``UNNEST`` of one array as VALUES in FROM, whose column is called as that of a function is; None where the array
    is empty or not written out, or its rows are numbered."""
    items = _elements(node.expressions[0] if isinstance(node, exp.Unnest) else node.this)
    if not items:
        return None
    rows = [exp.Tuple(expressions=[item]) for item in items]
    alias = node.args.get("alias")
    name = alias.this.copy() if alias is not None and alias.this else exp.to_identifier("unnest")
    columns = [column.copy() for column in alias.args.get("columns") or ()] if alias is not None else []
    return exp.Values(expressions=rows, alias=exp.TableAlias(this=name, columns=columns or [name.copy()]))


def rows_written_out(select: exp.Select) -> exp.Select | None:
    """``SELECT UNNEST(array)`` and nothing else, as ``SELECT * FROM (VALUES …)``."""
    if len(select.expressions) != 1 or any(value for part, value in select.args.items() if part != "expressions"):
        return None
    item = select.expressions[0]
    rows = written_out(item.unalias()) if isinstance(item.unalias(), exp.Explode) else None
    if rows is None:
        return None
    if item.alias:
        rows.args["alias"].set("columns", [item.args["alias"].copy()])
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=rows))


def _unnested(query: exp.Expr | None) -> exp.Expr | None:
    """The array of ``SELECT * FROM (VALUES …)`` of one column, which an array was before; or one that is empty."""
    while isinstance(query, exp.Subquery) and not query.args.get("alias"):
        query = query.this
    if not isinstance(query, exp.Select) or len(query.expressions) != 1:
        return None
    item = query.expressions[0].unalias()
    if isinstance(item, exp.Explode) and _elements(item.this) == [] and not query.args.get("from_"):
        array: exp.Expr = item.this
        return array
    if not isinstance(item, exp.Star):
        return None
    rows = query.args["from_"].this if query.args.get("from_") else None
    if not isinstance(rows, exp.Values) or any(value for part, value in query.args.items() if part not in _BARE):
        return None
    cells = [row.expressions for row in rows.expressions]
    return exp.Array(expressions=[cell for cell, *_ in cells]) if all(len(row) == 1 for row in cells) else None


_BARE = ("expressions", "from_")


def _quantified(node: exp.Expr, word: str) -> exp.Expr | None:
    """The array of ``ANY(array)`` or of ``ALL(array)``, which the parser may take for a function."""
    if type(node) is (exp.Any if word == "any" else exp.All):
        array: exp.Expr = node.this
        return array
    called = isinstance(node, exp.Anonymous) and str(node.this).lower() == word and len(node.expressions) == 1
    return node.expressions[0] if called else None


def _elements(array: exp.Expr) -> list[exp.Expr] | None:
    """The elements of an array of constants, each cast to the type that the array is."""
    kind: exp.DataType | None = None
    while isinstance(array, exp.Paren | exp.Cast):
        if isinstance(array, exp.Cast):
            if array.to.this != exp.DType.ARRAY or len(array.to.expressions) != 1:
                return None
            kind = array.to.expressions[0] if kind is None else kind
        array = array.this
    if isinstance(array, exp.Array):
        items = [item.copy() for item in array.expressions]
    elif isinstance(array, exp.Literal) and array.is_string and (texts := array_texts(array.name)) is not None:
        items = [exp.Null() if text is None else exp.Literal.string(text) for text in texts]
    else:
        return None
    if kind is None or kind.this in TEXTS:
        return items
    return [exp.Cast(this=item, to=kind.copy()) for item in items]


_ELEMENT = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|((?:[^{}",\\\s]|\\.)(?:(?:[^{}",\\]|\\.)*(?:[^{}",\\\s]|\\.))?))\s*')


def array_texts(spelt: str) -> list[str | None] | None:
    """The elements of an array as PostgreSQL writes it, in one dimension; None where it is not one.

    >>> array_texts('{a, "b, c", NULL, "NULL"}'), array_texts("{}"), array_texts("{a,}"), array_texts("{{a}}")
    (['a', 'b, c', None, 'NULL'], [], None, None)
    """
    inner = spelt.strip()
    if not (inner.startswith("{") and inner.endswith("}")) or len(inner) < 2:
        return None
    inner = inner[1:-1]
    found: list[str | None] = []
    position = 0
    while inner.strip():
        element = _ELEMENT.match(inner, position)
        if element is None:
            return None
        quoted, bare = element.groups()
        text = re.sub(r"\\(.)", r"\1", bare if quoted is None else quoted, flags=re.DOTALL)
        found.append(None if quoted is None and bare.upper() == "NULL" else text)
        position = element.end()
        if position == len(inner):
            break
        if inner[position] != ",":
            return None
        position += 1
    return found
