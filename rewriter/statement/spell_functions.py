r"""Functions in other words, made plain: FORMAT, OVERLAY, REGEXP_SUBSTR, TO_DATE of a column, arrays of a text's parts.

``FORMAT('%s of %s', a, b)`` is ``CONCAT(a, ' of ', b)``, ``OVERLAY(x PLACING 'y' FROM 2 FOR 3)`` is ``LEFT(x, 1) ||
'y' || SUBSTRING(x FROM 5)``, ``(REGEXP_MATCH(x, '(a)(b)'))[2]`` is ``SUBSTRING(x FROM '(?:a)(b)')``, and ``'a' =
ANY(STRING_TO_ARRAY(x, ','))`` asks where ``,a,`` is in ``,x,``.

Guarantee: what comes out has PostgreSQL's value for every row, NULLs included, but for texts that TO_DATE reads though
they do not follow their format, which are NULL. What is not understood stays as it is, for a refusal.

Words that DuckDB has beside PostgreSQL's: fields and names of times as functions, DATE_DIFF and STRFTIME.

Guarantee: what comes out has DuckDB's value for every row, NULLs included; EXTRACT's is a numeric, as in PostgreSQL.
What is not understood stays as it is, for a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import sqlglot
from sqlglot import exp

from rewriter.expressions import position_of
from rewriter.refused import Refused
from rewriter.statement.and_branches import unparenthesised
from rewriter.statement.respelling import respelt
from rewriter.statement.spell_json import JSON_NODES, JSON_WORDS, plain_json
from rewriter.statement.time_formats import read_by_format

_STEPS = {
    "day": "{b}::date - {a}::date",
    "month": "12 * (EXTRACT(YEAR FROM {b}) - EXTRACT(YEAR FROM {a})) + EXTRACT(MONTH FROM {b})"
    " - EXTRACT(MONTH FROM {a})",
    "quarter": "4 * (EXTRACT(YEAR FROM {b}) - EXTRACT(YEAR FROM {a})) + EXTRACT(QUARTER FROM {b})"
    " - EXTRACT(QUARTER FROM {a})",
    "year": "EXTRACT(YEAR FROM {b}) - EXTRACT(YEAR FROM {a})",
}
"""How many borders of such a unit lie between two times."""


def _steps_between(node: exp.Expr) -> exp.Expr:
    """``DATE_DIFF('day', a, b)``, as DuckDB has it: the borders of days between them."""
    unit = _text(node.expressions[0]) if len(node.expressions) == 3 else None
    if unit is None or unit.lower() not in _STEPS:
        raise Refused(
            f"this {node.name.upper()} is not answered",
            hint="DATE_DIFF('day', a, b) is, or of 'month', 'quarter', 'year'; b::date - a::date are days",
            sqlstate="42883",
            position=position_of(node),
        )
    pattern = sqlglot.parse_one(_STEPS[unit.lower()].format(a="_a", b="_b"), read="postgres")
    times = {"_a": node.expressions[1], "_b": node.expressions[2]}

    def filled(part: exp.Expr) -> exp.Expr:
        return exp.Paren(this=times[part.name].copy()) if isinstance(part, exp.Column) else part

    return exp.Paren(this=pattern.transform(filled))


_FORMATS = {
    "Y": "YYYY",
    "y": "YY",
    "m": "MM",
    "d": "DD",
    "H": "HH24",
    "I": "HH12",
    "M": "MI",
    "S": "SS",
    "j": "DDD",
    "b": "Mon",
    "B": "FMMonth",
    "a": "Dy",
    "A": "FMDay",
    "p": "AM",
    "G": "IYYY",
    "V": "IW",
}
_UNPADDED = frozenset("mdHIMSj")
"""Directives that DuckDB prints without leading zeros after ``-``."""
_DIRECTIVE = re.compile(r"%(-?.)|([^%]+)", re.DOTALL)


def _shown_time(node: exp.Expr) -> exp.Expr | None:
    """``STRFTIME(x, '%Y-%m')`` as ``TO_CHAR(x, 'YYYY-MM')``; DuckDB takes the two in either order."""
    if len(node.expressions) != 2:
        return None
    value, text = node.expressions[0], _text(node.expressions[1])
    if text is None:
        value, text = node.expressions[1], _text(node.expressions[0])
    parts = [] if text is None else _DIRECTIVE.findall(text)
    is_whole = "".join(f"%{letter}" if letter else other for letter, other in parts) == text
    if not parts or not is_whole or any(letter and _field(letter) is None for letter, _ in parts):
        return None
    spelt = "".join(_field(letter) or _as_text(other) for letter, other in parts)
    return exp.ToChar(this=value.copy(), format=exp.Literal.string(spelt))


def _field(directive: str) -> str | None:
    """A directive in TO_CHAR's letters; None for what has none, and for no directive."""
    letter = directive.removeprefix("-")
    if directive == letter or letter in _UNPADDED:
        return f"FM{_FORMATS[letter]}" if directive != letter else _FORMATS.get(letter)
    return None


def _as_text(text: str) -> str:
    """Text between the fields of TO_CHAR: letters in double quotes."""
    return re.sub(r"[A-Za-z]+", lambda found: f'"{found[0]}"', text)


FIELDS: Mapping[type[exp.Expr], str] = {
    exp.Year: "YEAR",
    exp.Quarter: "QUARTER",
    exp.Month: "MONTH",
    exp.Week: "WEEK",
    exp.WeekOfYear: "WEEK",
    exp.Day: "DAY",
    exp.DayOfMonth: "DAY",
    exp.DayOfWeek: "DOW",
    exp.DayOfWeekIso: "ISODOW",
    exp.DayOfYear: "DOY",
    exp.Hour: "HOUR",
    exp.Minute: "MINUTE",
}
"""Fields of a time by functions of their own, which DuckDB and others have beside EXTRACT."""


NAMES: Mapping[type[exp.Expr], str] = {exp.Monthname: "FMMonth", exp.Dayname: "FMDay"}
"""Names of a month and of a day of the week by functions of their own, with the format that prints them."""


def name_of_time(node: exp.Expr) -> exp.Expr | None:
    """``MONTHNAME(x)`` as ``TO_CHAR(x, 'FMMonth')``."""
    if any(value for name, value in node.args.items() if name != "this"):
        return None
    return exp.ToChar(this=node.this.copy(), format=exp.Literal.string(NAMES[type(node)]))


def field_of_time(node: exp.Expr) -> exp.Expr | None:
    """``YEAR(x)`` as ``EXTRACT(YEAR FROM x)``."""
    if any(value for name, value in node.args.items() if name != "this"):
        return None
    return exp.Extract(this=exp.Var(this=FIELDS[type(node)]), expression=node.this.copy())


def _text(node: object) -> str | None:
    return node.name if isinstance(node, exp.Literal) and node.is_string else None


WORDS_OF_DUCKDB: Mapping[str, Callable[[exp.Expr], exp.Expr | None]] = {
    "DATE_DIFF": _steps_between,
    "DATEDIFF": _steps_between,
    "STRFTIME": _shown_time,
}
"""Functions that the parser leaves as they are written, by their names."""


MOST_FIELD = 1_000


def plain_functions(tree: exp.Query) -> exp.Query:
    r"""``tree`` with such functions in plain words; columns keep the names that they had.

    >>> from rewriter.statement import parse
    >>> def plain(text):
    ...     return plain_functions(parse("SELECT " + text).tree).sql("postgres")
    >>> plain("FORMAT('%s: %s%%', a, b)")
    'SELECT CONCAT(a, \': \', b, \'%\') AS "format"'
    >>> plain("OVERLAY(x PLACING 'ab' FROM 3) AS y")
    "SELECT LEFT(x, 2) || 'ab' || SUBSTRING(x FROM 5) AS y"
    >>> plain("(REGEXP_MATCH(x, '(a)(b)'))[2]")
    'SELECT SUBSTRING(x FROM \'(?:a)(b)\') AS "regexp_match"'
    >>> plain("CAST('20200131' AS DATE) AS d")
    "SELECT CAST('2020-01-31' AS DATE) AS d"
    >>> plain("'a' = ANY(STRING_TO_ARRAY(x, ',')) AS y")
    "SELECT POSITION(',a,' IN ',' || x || ',') > 0 AS y"
    """
    return respelt(tree, lambda node: type(node) in _PLAIN, lambda node: _PLAIN[type(node)](node))


def _whole(node: object) -> int | None:
    return int(node.name) if isinstance(node, exp.Literal) and node.is_int else None


def _operand(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=node.copy()) if isinstance(node, exp.Binary | exp.Connector) else node.copy()


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


# -- texts -------------------------------------------------------------------------------------------------------


def _format(node: exp.Expr) -> exp.Expr | None:
    """FORMAT with %s: NULL is an empty text in it, as in CONCAT."""
    pattern = _text(node.this)
    if pattern is None:
        return None
    pieces: list[exp.Expr] = []
    place = 0
    for found in re.finditer(r"%(%|(?:(\d{1,2})\$)?s)|[^%]+|%", pattern):
        if found[0] == "%%":
            pieces.append(exp.Literal.string("%"))
        elif found[1] is None and found[0] != "%":
            pieces.append(exp.Literal.string(found[0]))
        elif found[1] is None:
            raise Refused("this format is not answered", hint="write FORMAT('%s of %s', a, b)", sqlstate="22023")
        else:
            place = int(found[2]) if found[2] else place + 1
            if not 1 <= place <= len(node.expressions):
                raise Refused("FORMAT has too few values", hint="give one for each %s", sqlstate="22023")
            pieces.append(node.expressions[place - 1].copy())
    return exp.Concat(expressions=pieces or [exp.Literal.string("")], safe=True, coalesce=True)


def _overlay(node: exp.Expr) -> exp.Expr | None:
    new, start, size = node.expression, _whole(node.args.get("from_")), _whole(node.args.get("for_"))
    if node.args.get("for_") is None:
        text = _text(new)
        size = len(text) if text is not None else None
    if start is None or size is None or start < 1:
        return None
    before = exp.Left(this=node.this.copy(), expression=_number(start - 1))
    after = exp.Substring(this=node.this.copy(), start=_number(start + size))
    return exp.DPipe(this=exp.DPipe(this=before, expression=_operand(new)), expression=after)


def _substr(node: exp.Expr) -> exp.Expr | None:
    """REGEXP_SUBSTR(x, pattern) is the whole match."""
    pattern = _text(node.expression)
    if pattern is None or any(value for name, value in node.args.items() if name not in ("this", "expression")):
        return None
    return exp.Substring(this=node.this.copy(), start=exp.Literal.string(f"({pattern})"))


def _element(node: exp.Expr) -> exp.Expr | None:
    """``(REGEXP_MATCH(x, pattern))[n]`` and ``(STRING_TO_ARRAY(x, ','))[n]``."""
    of, place = unparenthesised(node.this), _whole(node.expressions[0]) if len(node.expressions) == 1 else None
    if place is None or place < 1:
        return None
    index = place - 1
    if isinstance(of, exp.Anonymous) and of.name.upper() == "REGEXP_MATCH" and len(of.expressions) == 2:
        pattern = _text(of.expressions[1])
        alone = None if pattern is None else _only_group(pattern, index)
        found = of.expressions[0].copy()
        return None if alone is None else exp.Substring(this=found, start=exp.Literal.string(alone))
    split = _split(of)
    if split is None or not 0 <= index < MOST_FIELD:
        return None
    text, mark = split
    field = exp.SplitPart(this=text.copy(), delimiter=exp.Literal.string(mark), part_index=_number(index + 1))
    enough = exp.GTE(this=_count(text, mark, exp.Literal.number(0)), expression=_number(index + 1))
    return exp.Case(ifs=[exp.If(this=enough, true=field)])


def _only_group(pattern: str, index: int) -> str | None:
    """The pattern with one group captured: that of a number, from 0. Of none, the whole match is the first."""
    count = 0

    def one(found: re.Match[str]) -> str:
        nonlocal count
        if found[0] != "(":
            return found[0]
        count += 1
        return "(" if count == index + 1 else "(?:"

    alone = re.sub(r"\\.|\[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\]|\(\?:|\(", one, pattern, flags=re.DOTALL)
    return alone if index < count else (f"({pattern})" if index == count == 0 else None)


# -- arrays of a text's parts --------------------------------------------------------------------------------------


def _split(node: object) -> tuple[exp.Expr, str] | None:
    """The text and the mark of STRING_TO_ARRAY(x, ',')."""
    if not isinstance(node, exp.StringToArray) or node.args.get("null"):
        return None
    mark = _text(node.expression)
    return (node.this, mark) if mark is not None and len(mark) == 1 else None


def _count(text: exp.Expr, mark: str, of_none: exp.Expr) -> exp.Expr:
    """How many parts a text has; an empty one has none."""
    without = exp.Replace(this=text.copy(), expression=exp.Literal.string(mark), replacement=exp.Literal.string(""))
    marks = exp.Sub(this=exp.Length(this=text.copy()), expression=exp.Length(this=without))
    some = exp.Add(this=exp.Paren(this=marks), expression=_number(1))
    empty = exp.EQ(this=_operand(text), expression=exp.Literal.string(""))
    return exp.Case(ifs=[exp.If(this=empty, true=of_none)], default=some)


def _cardinality(node: exp.Expr) -> exp.Expr | None:
    name = node.name.upper()
    if name in JSON_WORDS:
        return plain_json(node)
    if name in ("NUM_NULLS", "NUM_NONNULLS"):
        return _nulls(node, negate=name == "NUM_NONNULLS")
    if name in WORDS_OF_DUCKDB:
        return WORDS_OF_DUCKDB[name](node)
    split = _split(node.expressions[0]) if name == "CARDINALITY" and len(node.expressions) == 1 else None
    return None if split is None else _count(*split, _number(0))


def _array_length(node: exp.Expr) -> exp.Expr | None:
    split = _split(unparenthesised(node.this))
    one = node.args.get("expression")
    return _count(*split, exp.Null()) if split is not None and (one is None or _whole(one) == 1) else None


def _among(node: exp.Expr) -> exp.Expr | None:
    """``'a' = ANY(STRING_TO_ARRAY(x, ','))``: a part is a text without the mark; an empty part stays for a refusal."""
    if not isinstance(node.expression, exp.Any):
        return None
    split, part = _split(unparenthesised(node.expression.this)), _text(unparenthesised(node.this))
    if split is None or not part:
        return None
    text, mark = split
    if mark in part:
        return exp.NEQ(this=_operand(text), expression=_operand(text))
    around = exp.DPipe(this=exp.Literal.string(mark), expression=_operand(text))
    around = exp.DPipe(this=around, expression=exp.Literal.string(mark))
    place = exp.StrPosition(this=around, substr=exp.Literal.string(f"{mark}{part}{mark}"))
    return exp.GT(this=place, expression=_number(0))


def _position(node: exp.Expr) -> exp.Expr | None:
    """``ARRAY_POSITION(ARRAY['a', 'b'], x)`` of a list of literals."""
    listed = unparenthesised(node.this)
    if not isinstance(listed, exp.Array) or not all(isinstance(item, exp.Literal) for item in listed.expressions):
        return None
    value = node.expression
    ifs = [
        exp.If(this=exp.EQ(this=_operand(value), expression=item.copy()), true=_number(place))
        for place, item in enumerate(listed.expressions, 1)
    ]
    return exp.Case(ifs=ifs) if ifs else exp.Null()


# -- numbers and times ---------------------------------------------------------------------------------------------


def _nulls(node: exp.Expr, *, negate: bool) -> exp.Expr | None:
    counted: exp.Expr | None = None
    for value in node.expressions:
        test = exp.Is(this=_operand(value), expression=exp.Null(), negate=negate)
        one = exp.Case(ifs=[exp.If(this=test, true=_number(1))], default=_number(0))
        counted = one if counted is None else exp.Add(this=counted, expression=one)
    return None if counted is None else exp.Paren(this=counted)


def _bucket(node: exp.Expr) -> exp.Expr | None:
    """``WIDTH_BUCKET(x, ARRAY[0, 10, 50])``: how many of the rising thresholds x has reached."""
    listed = node.args.get("threshold")
    if not isinstance(listed, exp.Array):
        return None
    limits = [_signed(item) for item in listed.expressions]
    if not limits or None in limits or sorted(limits) != limits:  # type: ignore[type-var]
        raise Refused("the thresholds of WIDTH_BUCKET are rising literals", hint="write WIDTH_BUCKET(x, ARRAY[0, 10])")
    ifs = [
        exp.If(this=exp.LT(this=_operand(node.this), expression=item.copy()), true=_number(place))
        for place, item in enumerate(listed.expressions)
    ]
    above = exp.GTE(this=_operand(node.this), expression=listed.expressions[-1].copy())
    return exp.Case(ifs=[*ifs, exp.If(this=above, true=_number(len(limits)))])


def _signed(node: exp.Expr) -> float | None:
    sign = 1
    while isinstance(node, exp.Paren | exp.Neg):
        sign, node = -sign if isinstance(node, exp.Neg) else sign, node.this
    return sign * float(node.name) if isinstance(node, exp.Literal) and not node.is_string else None


def _lateral(node: exp.Expr) -> exp.Expr | None:
    """A function behind LATERAL, which may look at what stands before it in any case."""
    inner = node.this
    if node.args.get("view") or node.args.get("outer"):
        return None
    item = exp.Table(this=inner.copy()) if isinstance(inner, exp.ExplodingGenerateSeries) else inner.copy()
    if isinstance(item, exp.Unnest | exp.Table) and node.args.get("alias") is not None:
        item.set("alias", node.args["alias"].copy())
        return item
    return None


def _made_of_fields(node: exp.Expr) -> exp.Expr | None:
    """``TO_DATE(TO_CHAR(y, '0000') || '-' || TO_CHAR(m, '00') || '-' || TO_CHAR(d, '00'), 'YYYY-MM-DD')``, as tools
    write MAKE_DATE: fields of fixed widths, which TO_DATE reads with the blank that TO_CHAR leaves for a sign."""
    parts = [unparenthesised(part) for part in node.this.flatten()] if isinstance(node.this, exp.DPipe) else []
    if len(parts) != 5 or str(node.args["format"].name) != "%Y-%m-%d":
        return None
    marks, fields = parts[1::2], parts[::2]
    formats = [_text(one.args.get("format")) if isinstance(one, exp.ToChar) else None for one in fields]
    if any(_text(mark) != "-" for mark in marks) or formats != ["0000", "00", "00"]:
        return None
    numbers = [_whole(one.this) for one in fields]
    if None not in numbers:
        year, month, day = (number or 0 for number in numbers)
        written = f"{year:04}-{month:02}-{day:02}"
        return exp.Cast(this=exp.Literal.string(written), to=exp.DataType.build("date"))
    return exp.Anonymous(this="MAKE_DATE", expressions=[one.this.copy() for one in fields])


_BASIC_DATE = re.compile(r"\d{8}")


def _basic_date(node: exp.Expr) -> exp.Expr | None:
    """``CAST('20200131' AS DATE)`` with the dashes that other engines want."""
    text = _text(node.this)
    if type(node) is not exp.Cast or text is None or not _BASIC_DATE.fullmatch(text):
        return None
    if not node.to.is_type(exp.DType.DATE, exp.DType.TIMESTAMP):
        return None
    return exp.Cast(this=exp.Literal.string(f"{text[:4]}-{text[4:6]}-{text[6:]}"), to=node.to.copy())


def _read(node: exp.Expr) -> exp.Expr | None:
    pattern = _text(node.args.get("format"))
    if pattern is None or isinstance(node.this, exp.Literal):
        return None
    if isinstance(node, exp.StrToDate) and (made := _made_of_fields(node)) is not None:
        return made
    return read_by_format(node.this, pattern, is_date=isinstance(node, exp.StrToDate))


_PLAIN: Mapping[type[exp.Expr], Callable[..., exp.Expr | None]] = {
    exp.Format: _format,
    exp.Overlay: _overlay,
    exp.RegexpSubstr: _substr,
    exp.Bracket: _element,
    exp.Anonymous: _cardinality,
    exp.ArraySize: _array_length,
    exp.EQ: _among,
    exp.ArrayPosition: _position,
    exp.WidthBucket: _bucket,
    **dict.fromkeys(JSON_NODES, plain_json),
    exp.Lateral: _lateral,
    exp.Cast: _basic_date,
    exp.StrToDate: _read,
    exp.StrToTime: _read,
    **dict.fromkeys(FIELDS, field_of_time),
    **dict.fromkeys(NAMES, name_of_time),
}
