"""Conditions in other words, made plain: rows of values, ANY and ALL of lists, OVERLAPS, SIMILAR TO, and COLLATE "C".

``(a, b) = (1, 2)`` is ``a = 1 AND b = 2``, ``x > ALL (ARRAY[1, 2])`` is ``x > 1 AND x > 2``, ``x = ANY ('{1,2}')`` is
``x IN ('1', '2')``, and ``t SIMILAR TO 'a%'`` is a regular expression. Texts compare by code point, as "C" has it.

Guarantee: what comes out has PostgreSQL's value for every row, NULLs included. What is not understood stays as it is,
for a refusal; nothing becomes more than ``MOST_PARTS`` parts.

Texts that stand for conditions, as PostgreSQL reads them: ``WHERE ('true')`` is ``WHERE TRUE``.

Guarantee: a literal is read where a condition is wanted and nothing else, and as PostgreSQL's boolean input reads it;
other texts stay for a refusal.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from rewriter.refused import TOO_COMPLEX, Refused
from rewriter.statement.and_branches import unparenthesised
from rewriter.statement.respelling import respelt

MOST_PARTS = 20_000
_BY_CODE_POINT = ("C", "POSIX", "ucs_basic")
_ORDERS: dict[type[exp.Expr], type[exp.Expr]] = {exp.LT: exp.LT, exp.LTE: exp.LT, exp.GT: exp.GT, exp.GTE: exp.GT}
_COMPARED: tuple[type[exp.Expr], ...] = (exp.EQ, exp.NEQ, *_ORDERS, exp.NullSafeEQ, exp.NullSafeNEQ)
_QUANTIFIED = (*_COMPARED[:6], exp.Like, exp.ILike)
_SPELT = (*_COMPARED, exp.Like, exp.ILike, exp.In, exp.Is, exp.SimilarTo, exp.Escape, exp.Overlaps)


def plain_conditions(tree: exp.Query) -> exp.Query:
    """``tree`` with such conditions in plain words; columns keep the names that they had.

    >>> import sqlglot
    >>> def plain(text):
    ...     tree = sqlglot.parse_one("SELECT 1 FROM t WHERE " + text, read="postgres")
    ...     return plain_conditions(tree).sql("postgres").partition("WHERE ")[2]
    >>> plain("(a, b) < (1, 2)")
    '(a < 1 OR (a = 1 AND b < 2))'
    >>> plain("(a, b) IN ((1, 2), (3, 4))")
    '((a = 1 AND b = 2) OR (a = 3 AND b = 4))'
    >>> plain("x = ANY ('{1,2}'::int[]) AND y <> ALL (ARRAY[3, 4]) AND z >= ANY (ARRAY[5, 6])")
    "x IN (CAST('1' AS INT), CAST('2' AS INT)) AND (NOT y IN (3, 4)) AND (z >= 5 OR z >= 6)"
    >>> plain("t SIMILAR TO '%(a|b)_' AND t COLLATE \\"C\\" < 'b'")
    "t ~ '^(?:.*(?:a|b).)$' AND t < 'b'"
    """
    return respelt(respelt(tree, _is_by_code_point, lambda node: node.this.copy()), _is_spelt, _plain)


def _is_spelt(node: exp.Expr) -> bool:
    if not isinstance(node, _SPELT):
        return False
    if isinstance(node, exp.Is):
        return values_of_row(node.this) is not None and isinstance(node.expression, exp.Null)
    if isinstance(node, exp.Escape):
        return isinstance(node.this, exp.SimilarTo)
    if isinstance(node, exp.In):
        listed = node.expressions
        return values_of_row(node.this) is not None or (len(listed) == 1 and isinstance(listed[0], exp.Values))
    if isinstance(node, exp.SimilarTo):
        return not isinstance(node.parent, exp.Escape)
    if isinstance(node, exp.Overlaps):
        return True
    sides = (node.this, node.args.get("expression"))
    return _quantified(sides[1]) is not None or all(values_of_row(side) is not None for side in sides)


def _plain(node: exp.Expr) -> exp.Expr | None:
    """The same condition in plain words; None where it stays as it is."""
    if isinstance(node, exp.Is):
        return _of_each(node)
    if isinstance(node, exp.In):
        return _in_list(node)
    if isinstance(node, exp.Overlaps):
        return _overlap(node)
    if isinstance(node, exp.SimilarTo):
        return _similar(node, "\\")
    if isinstance(node, exp.Escape):
        escape = node.expression
        known = isinstance(escape, exp.Literal) and escape.is_string and len(escape.name) <= 1
        return _similar(node.this, escape.name) if known else None
    quantified = _quantified(node.expression)
    if quantified is not None:
        return _of_list(node, *quantified)
    left, right = values_of_row(node.this), values_of_row(node.expression)
    return None if left is None or right is None else _compared(type(node), left, right)


# -- rows of values ----------------------------------------------------------------------------------------------


def values_of_row(node: object) -> Sequence[exp.Expr] | None:
    """The values of (a, b) or ROW(a, b)."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Tuple):
        return node.expressions
    if isinstance(node, exp.Anonymous) and node.name.upper() == "ROW" and node.expressions:
        return node.expressions
    return None


def _compared(kind: type[exp.Expr], left: Sequence[exp.Expr], right: Sequence[exp.Expr]) -> exp.Expr:
    """Two rows, value by value from the left: the first pair that differs, or is NULL, decides."""
    if len(left) != len(right):
        raise Refused("rows of different lengths are compared", hint="write (a, b) = (1, 2)", sqlstate="42601")
    if kind in _ORDERS:
        *first, last = zip(left, right, strict=True)
        found: exp.Expr = kind(this=_side(last[0]), expression=_side(last[1]))
        for one, other in reversed(first):
            equal = exp.EQ(this=_side(one), expression=_side(other))
            later = exp.Paren(this=exp.And(this=equal, expression=found))
            sooner = _ORDERS[kind](this=_side(one), expression=_side(other))
            found = exp.Paren(this=exp.Or(this=sooner, expression=later))
        return found
    joined = exp.Or if kind in (exp.NEQ, exp.NullSafeNEQ) else exp.And
    pairs = zip(left, right, strict=True)
    return _joined(joined, [kind(this=_side(one), expression=_side(other)) for one, other in pairs])


def _of_each(node: exp.Is) -> exp.Expr:
    """ROW(a, b) IS NULL where both are, and IS NOT NULL where neither is."""
    values = values_of_row(node.this) or ()
    tests = [exp.Is(this=_side(one), expression=exp.Null(), negate=node.args.get("negate")) for one in values]
    return _joined(exp.And, tests)


# -- spans of time -----------------------------------------------------------------------------------------------


def _overlap(node: exp.Expr) -> exp.Expr | None:
    """``(a, b) OVERLAPS (c, d)``: spans from the earlier to the later time, whose later one is no part of them.

    Two that begin together overlap. Where an end is missing, what is known decides, or the result is NULL.
    """
    sides = [values_of_row(side) for side in (node.this, node.expression)]
    if any(side is None or len(side) != 2 for side in sides):
        raise Refused("OVERLAPS compares two spans", hint="write (a, b) OVERLAPS (c, d)", sqlstate="42601")
    (first, one), (second, other) = (_span(*side) for side in sides if side is not None)
    missing = exp.Or(this=_is_null(one), expression=_is_null(other))
    ifs = []
    for later, end, kind in ((first, other, exp.GT), (second, one, exp.LT)):
        within = exp.If(this=exp.LT(this=later.copy(), expression=end.copy()), true=exp.Boolean(this=True))
        open_ = exp.If(this=missing.copy(), true=exp.Null())
        decided = exp.Case(ifs=[within, open_], default=exp.Boolean(this=False))
        ifs.append(exp.If(this=kind(this=first.copy(), expression=second.copy()), true=decided))
    both = exp.Paren(this=exp.Not(this=exp.Paren(this=missing)))
    together = exp.And(this=exp.EQ(this=first.copy(), expression=second.copy()), expression=both)
    return exp.Case(ifs=[*ifs, exp.If(this=together, true=exp.Boolean(this=True))])


def _span(begin: exp.Expr, end: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    """The earlier end of a span, where one is known, and the later one, where both are."""
    if isinstance(end, exp.Interval) or (isinstance(end, exp.Cast) and end.to.this is exp.DType.INTERVAL):
        end = exp.Paren(this=exp.Add(this=_side(begin), expression=end.copy()))
    earlier = exp.Least(this=begin.copy(), expressions=[end.copy()])
    known = exp.Not(this=exp.Paren(this=exp.Or(this=_is_null(begin), expression=_is_null(end))))
    later = exp.Greatest(this=begin.copy(), expressions=[end.copy()])
    return earlier, exp.Case(ifs=[exp.If(this=known, true=later)])


def _is_null(node: exp.Expr) -> exp.Expr:
    return exp.Is(this=_side(node), expression=exp.Null())


# -- lists -------------------------------------------------------------------------------------------------------


def _in_list(node: exp.In) -> exp.Expr | None:
    """``x IN (VALUES (1), (2))``, and ``(a, b) IN ((1, 2), (3, 4))``; one over a subquery stays."""
    listed = node.expressions
    if len(listed) == 1 and isinstance(listed[0], exp.Values):
        listed = _rows_of(listed[0])
    left = values_of_row(node.this)
    if left is None:
        return exp.In(this=node.this.copy(), expressions=[one.copy() for one in listed]) if listed else None
    if node.args.get("query") is not None or not listed:
        return None
    rows = [values_of_row(one) for one in listed]
    if any(row is None for row in rows):
        return None
    _check_size(node.this, len(rows))
    return _joined(exp.Or, [_compared(exp.EQ, left, row) for row in rows if row is not None])


def _quantified(node: object) -> tuple[bool, exp.Expr] | None:
    """Whether it is ALL and not ANY, and the list or subquery of ``ANY (…)``."""
    if isinstance(node, exp.Any | exp.All):
        return isinstance(node, exp.All), unparenthesised(node.this)
    if isinstance(node, exp.Anonymous) and node.name.upper() in ("ALL", "SOME") and len(node.expressions) == 1:
        return node.name.upper() == "ALL", unparenthesised(node.expressions[0])
    return None


def _of_list(node: exp.Expr, is_all: bool, among: exp.Expr) -> exp.Expr | None:
    """``x > ANY (list)`` where it is true of some item, ``x > ALL (list)`` where it is of all."""
    if isinstance(among, exp.Subquery) and isinstance(among.this, exp.Values):
        among = among.this
    if isinstance(among, exp.Query):
        return _of_rows(node, is_all, among)
    items = _rows_of(among) if isinstance(among, exp.Values) else _items(among)
    if items is None or not isinstance(node, _QUANTIFIED):
        return None
    if not items:
        return exp.Boolean(this=is_all)
    if isinstance(node, exp.NEQ if is_all else exp.EQ) and values_of_row(node.this) is None:
        within = exp.In(this=node.this.copy(), expressions=items)
        return exp.Paren(this=exp.Not(this=within)) if is_all else within
    _check_size(node.this, len(items))
    negated = {"negate": True} if node.args.get("negate") else {}
    tests = [_again(type(node)(this=_side(node.this), expression=_side(item), **negated)) for item in items]
    return _joined(exp.And if is_all else exp.Or, tests)


def _again(test: exp.Expr) -> exp.Expr:
    return (_plain(test) or test) if _is_spelt(test) else test


def _of_rows(node: exp.Expr, is_all: bool, query: exp.Query) -> exp.Expr | None:
    """``x = ANY (SELECT …)`` is IN, and ``x <> ALL (SELECT …)`` NOT IN; others stay."""
    if not isinstance(node, exp.NEQ if is_all else exp.EQ):
        return None
    rows = query if isinstance(query, exp.Subquery) else exp.Subquery(this=query.copy())
    within = exp.In(this=node.this.copy(), query=rows.copy())
    return exp.Paren(this=exp.Not(this=within)) if is_all else within


def _rows_of(values: exp.Values) -> list[exp.Expr]:
    """The items of VALUES: of rows of one value, these."""
    rows = [values_of_row(row) or [row] for row in values.expressions]
    return [row[0].copy() if len(row) == 1 else exp.Tuple(expressions=[one.copy() for one in row]) for row in rows]


def _items(node: exp.Expr) -> list[exp.Expr] | None:
    """The items of ``ARRAY[1, 2]``, ``ARRAY[1, 2]::int[]``, ``'{1,2}'`` or ``'{1,2}'::int[]``."""
    to: exp.Expr | None = None
    if isinstance(node, exp.Cast) and node.to.this is exp.DType.ARRAY and len(node.to.expressions) == 1:
        to, node = node.to.expressions[0], unparenthesised(node.this)
    if isinstance(node, exp.Array):
        items = [item.copy() for item in node.expressions]
    elif isinstance(node, exp.Literal) and node.is_string:
        items = _written_items(node.name)
    else:
        return None
    return items if to is None else [exp.Cast(this=item, to=to.copy()) for item in items]


_ITEM = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^",{}\\]*[^",{}\\\s]))\s*(,|$)', re.DOTALL)


def _written_items(text: str) -> list[exp.Expr]:
    """The items of an array as PostgreSQL writes it: ``{1,NULL,"a b"}``."""
    inside = text.strip()
    wrong = Refused("this is not the text of an array", hint="write ARRAY[1, 2], or '{1,2}'", sqlstate="22P02")
    if not (inside.startswith("{") and inside.endswith("}")):
        raise wrong
    inside, place, items = inside[1:-1], 0, list[exp.Expr]()
    while inside.strip():
        found = _ITEM.match(inside, place)
        if found is None:
            raise wrong
        quoted, bare, comma = found.groups()
        if quoted is not None:
            items.append(exp.Literal.string(re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)))
        else:
            items.append(exp.Null() if bare.upper() == "NULL" else exp.Literal.string(bare))
        place = found.end()
        if not comma:
            break
    return items


# -- SIMILAR TO --------------------------------------------------------------------------------------------------


def _similar(node: exp.Expr, escape: str) -> exp.Expr | None:
    pattern = node.expression
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        return None
    return exp.RegexpLike(this=_side(node.this), expression=exp.Literal.string(_regex(pattern.name, escape)))


_WILD = {"%": ".*", "_": ".", "(": "(?:", "\\": "\\\\", ".": "\\.", "^": "\\^", "$": "\\$"}


def _regex(pattern: str, escape: str) -> str:
    """The regular expression of a pattern of SIMILAR TO, which matches the whole text.

    >>> _regex("a%[.%]b!%", "!")
    '^(?:a.*[.%]b\\\\%)$'
    """
    out, place, in_brackets = [], 0, False
    while place < len(pattern):
        char = pattern[place]
        if escape and char == escape:
            if place + 1 == len(pattern) or pattern[place + 1].isalnum():
                raise Refused("this escape of SIMILAR TO is not answered", hint="write x LIKE 'a%'", sqlstate="22025")
            out.append("\\" + pattern[place + 1])
            place += 2
            continue
        if in_brackets:
            out.append("\\\\" if char == "\\" else char)
            in_brackets = char != "]" or pattern[place - 1 : place] in ("[", "^")
        else:
            in_brackets = char == "["
            out.append(_WILD.get(char, char))
        place += 1
    return f"^(?:{''.join(out)})$"


# -- COLLATE -----------------------------------------------------------------------------------------------------


def _is_by_code_point(node: exp.Expr) -> bool:
    name = node.args.get("expression") if isinstance(node, exp.Collate) else None
    return isinstance(name, exp.Identifier | exp.Column) and name.name in _BY_CODE_POINT


# -- trees -------------------------------------------------------------------------------------------------------


def _side(node: exp.Expr) -> exp.Expr:
    """A copy as an operand."""
    plain = isinstance(node, exp.Column | exp.Literal | exp.Paren | exp.Cast | exp.Func)
    is_operator = isinstance(node, exp.Binary | exp.Connector)
    return node.copy() if plain and not is_operator else exp.Paren(this=node.copy())


def _joined(kind: Callable[..., exp.Expr], tests: Sequence[exp.Expr]) -> exp.Expr:
    if len(tests) == 1:
        return tests[0]
    operands = [exp.Paren(this=test) if isinstance(test, exp.Connector) else test for test in tests]
    return exp.Paren(this=functools.reduce(lambda one, other: kind(this=one, expression=other), operands))


def _check_size(operand: exp.Expr, times: int) -> None:
    """Each item of a list repeats what it is compared with."""
    if sum(1 for _ in operand.walk()) * times > MOST_PARTS:
        raise Refused("the list is too long for what it is compared with", hint="compute it in a subquery first",
                      sqlstate=TOO_COMPLEX)  # fmt: skip


_TRUE = frozenset({"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"})
_FALSE = frozenset({"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"})
_WANTED = (exp.Where, exp.Having, exp.And, exp.Or, exp.Not)


def plain_texts(tree: exp.Query) -> exp.Query:
    """``tree`` with such texts as conditions.

    >>> import sqlglot
    >>> plain_texts(sqlglot.parse_one("SELECT 1 FROM t WHERE ('true') AND NOT 'off' AND x = 'true'")).sql()
    "SELECT 1 FROM t WHERE (TRUE) AND NOT FALSE AND x = 'true'"
    """
    if not any(_value(node) is not None for node in tree.find_all(exp.Literal)):
        return tree
    copy: exp.Query = tree.copy()
    for node in list(copy.find_all(exp.Literal)):
        value = _value(node)
        if value is not None:
            node.replace(exp.Boolean(this=value))
    return copy


def _value(node: exp.Literal) -> bool | None:
    """What a literal says as a condition; None where it is none."""
    word = node.name.strip().lower()
    if not node.is_string or word not in _TRUE | _FALSE:
        return None
    inner: exp.Expr = node
    while isinstance(inner.parent, exp.Paren):
        inner = inner.parent
    outer = inner.parent
    is_condition = isinstance(outer, _WANTED) or (isinstance(outer, exp.Join) and inner.arg_key == "on")
    return word in _TRUE if is_condition else None
