"""Text to one checked statement: the only place where client text is read.

Guarantee: any text gives a :class:`Statement` or a clean :class:`Refused`. Limits come first (size, nesting,
number of nodes), so that the parser cannot be made to work or recurse without end. Parameters become typed
literals of the tree: from here on a query with parameters and one with literals are the same thing.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import sqlglot
from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from rewriter.expressions import fixed_zone, keep_places
from rewriter.refused import BAD_PARAMETER, NOT_ALLOWED, NOT_ANSWERED, NUMBER_OUT_OF_RANGE, SYNTAX, TOO_COMPLEX, Refused
from rewriter.statement.describe_words import described, explain_options
from rewriter.statement.lacking_parts import check_number_of_rows, check_row, check_words
from rewriter.statement.select_shape import has_aggregate, walk
from rewriter.statement.spell_json import arrows_of_calls
from rewriter.statement.syntax_hints import mistyped, not_tokens, syntax_hint
from rewriter.statement.words_apart import apart, check_no_private_words, name_functions, told_apart

MAX_BYTES = 64 * 1024
MAX_NESTING = 50
MAX_NODES = 30_000
MAX_DEPTH = 200
MAX_DIGITS = 1_000
"""Of one number, and as far as its exponent may go."""

_QUANTITY = re.compile(r"\s*[-+]?\d+(\.\d+)?(\s*[A-Za-z]+)?\s*")
_OFFSET = re.compile(r"[-+]?\d{1,2}:\d\d")
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})
_PREFIXES = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})

Parameters = Sequence[object] | Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Select:
    """A query, to be split into releases and post-processing. ``tree`` is the client's: it is read, never generated."""

    tree: exp.Query


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN of a query: answered from the plan, free. ``as_json``: in a form for programs."""

    query: Select
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class SetSetting:
    """``SET name = value``; a ``value`` of None means the default, a ``name`` of None all settings (RESET)."""

    name: str | None
    value: str | None


@dataclass(frozen=True, slots=True)
class ShowSetting:
    name: str


@dataclass(frozen=True, slots=True)
class Transaction:
    """BEGIN, COMMIT, ROLLBACK: accepted and without effect, a charge is outside the client's transaction."""

    command: str


Statement = Select | Explain | SetSetting | ShowSetting | Transaction


def parse(text: str, parameters: Parameters = ()) -> Statement:
    """The one statement of ``text``, with ``parameters`` bound as typed literals.

    ``?`` takes parameters from a sequence, ``:name`` and ``$1`` from a mapping.
    Raises :class:`Refused` (42601, 54001, 22023, 42501).

    >>> parse("SET dpsql.epsilon = 0.5")
    SetSetting(name='dpsql.epsilon', value='0.5')
    >>> parse("SELECT COUNT(*) FROM patient WHERE sex = ?", ["F"]).tree.args["where"].sql()
    "WHERE sex = 'F'"
    >>> parse("SELECT COUNT(*) FROM patient WHERE age IN ($1,$2)", {"1": 30, "2": 31}).tree.args["where"].sql()
    'WHERE age IN (30, 31)'
    """
    if len(text) <= MAX_BYTES:
        text = apart(text)
    tokens = _tokenize(text)
    if not tokens:
        raise Refused("there is no statement", hint="send a SELECT", sqlstate=SYNTAX)
    word = tokens[0].text.upper()
    if word in _QUERY_WORDS:
        return _select(text, tokens, parameters)
    if word == "EXPLAIN":
        return _explain(text, tokens[0], parameters)
    if (description := described(tokens)) is not None:
        return Select(description)
    if word in _COMMANDS:
        return _COMMANDS[word](tokens)
    if tokens[0].token_type is TokenType.VAR or word not in _WRITES:
        raise Refused(
            f"a statement cannot begin with {tokens[0].text[:40]!r}",
            hint=mistyped(word, _FIRST_WORDS) or "send a SELECT, EXPLAIN, SET or SHOW",
            sqlstate=SYNTAX,
            position=tokens[0].start + 1,
        )
    raise Refused(
        f"{word} is not allowed: dpsql only reads",
        hint="send a SELECT with aggregates, e.g. SELECT COUNT(*) FROM …",
        sqlstate=NOT_ALLOWED,
        position=tokens[0].start + 1,
    )


_FIRST_WORDS = ("SELECT", "WITH", "VALUES", "EXPLAIN", "SET", "SHOW")
_QUERY_WORDS = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "("})
_WRITES = frozenset(
    """INSERT UPDATE DELETE MERGE CREATE DROP ALTER TRUNCATE GRANT REVOKE COPY CALL DO VACUUM ANALYZE ATTACH DETACH
    PRAGMA INSTALL LOAD EXPORT IMPORT LOCK COMMENT REFRESH REINDEX CLUSTER CHECKPOINT LISTEN NOTIFY UNLISTEN USE
    PREPARE EXECUTE DEALLOCATE DECLARE FETCH MOVE CLOSE KILL REPLACE""".split()
)


def _tokenize(text: str) -> list[Token]:
    if "\0" in text:
        raise Refused("the text holds a NUL character", hint="remove it", sqlstate=SYNTAX)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise Refused("the text is not valid Unicode", hint="send UTF-8", sqlstate=SYNTAX) from None
    if size > MAX_BYTES:
        raise Refused(f"the text is longer than {MAX_BYTES // 1024} KiB", hint="split the query", sqlstate=TOO_COMPLEX)
    try:
        tokens = sqlglot.tokenize(text, read="postgres")
    except (SqlglotError, ValueError, RecursionError, IndexError):
        raise not_tokens(text) from None
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    depth = prefixes = 0
    for token, following in zip(tokens, [*tokens[1:], None], strict=False):
        kind = token.token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        prefixes = prefixes + 1 if kind in _PREFIXES else 0
        if depth > MAX_NESTING or prefixes > MAX_NESTING:
            raise Refused(
                f"the query is nested deeper than {MAX_NESTING}",
                hint="use WITH to name the parts",
                sqlstate=TOO_COMPLEX,
                position=token.start + 1,
            )
        if kind is TokenType.NUMBER:
            _check_size_of_number(token)
            if following is not None and following.start == token.end + 1:
                _check_number(token, following)
        if kind is TokenType.SEMICOLON:
            raise Refused(
                "there is more than one statement",
                hint="send them one by one",
                sqlstate=SYNTAX,
                position=token.start + 1,
            )
    return tokens


def _check_number(token: Token, following: Token) -> None:
    """``1_000`` would be read as 1 with the alias _000."""
    if following.token_type is TokenType.VAR:
        raise Refused(
            f"{token.text + following.text[:20]!r} is not a number",
            hint="write a space before a name, and digits without _",
            sqlstate=SYNTAX,
            position=token.start + 1,
        )


def _check_size_of_number(token: Token) -> None:
    """``1e-999999999`` is one word for a number that no memory holds."""
    found = re.search(r"[eE][+-]?0*(\d+)", token.text)
    exponent = found[1] if found else "0"
    if len(token.text) > MAX_DIGITS or len(exponent) > 4 or int(exponent) > MAX_DIGITS:
        raise _too_many_digits(token.start + 1)


def _too_many_digits(position: int | None = None) -> Refused:
    return Refused(
        "a number has too many digits",
        hint=f"write one of at most {MAX_DIGITS:,} digits",
        sqlstate=NUMBER_OUT_OF_RANGE,
        position=position,
    )


def _check_intervals(tokens: Sequence[Token]) -> None:
    """The parser reads one quantity of an interval's text and drops the rest: more than one is not passed to it."""
    for before, kind, token in zip([None, *tokens], tokens, tokens[1:], strict=False):
        if kind.token_type is not TokenType.INTERVAL or token.token_type is not TokenType.STRING:
            continue
        of_zone = before is not None and before.text.upper() == "ZONE"
        if _QUANTITY.fullmatch(token.text) or (of_zone and _OFFSET.fullmatch(token.text)):
            continue
        raise Refused(
            "an interval has one quantity here",
            hint="write INTERVAL '1 day' + INTERVAL '2 hours'",
            position=token.start + 1,
        )


def _group_by_all(select: exp.Select) -> None:
    """GROUP BY ALL, as PostgreSQL 19 and DuckDB have it: by every item of SELECT that no aggregate or window is in."""
    group = select.args.get("group")
    if (
        group is None
        or not group.args.get("all")
        or group.expressions
        or any(item.is_star for item in select.expressions)
    ):
        return
    keys = [
        exp.Literal.number(place)
        for place, item in enumerate(select.expressions, start=1)
        if not has_aggregate(item) and not any(isinstance(node, exp.Window) for node in walk(item))
    ]
    select.set("group", exp.Group(expressions=keys) if keys else None)


class PlacesAsWritten(Postgres):
    """PostgreSQL's grammar, in which ``a[1]`` is the first item of whatever ``a`` is.

    The parser would count places from 0, but only of what it takes for an array: ``(PERCENTILE_DISC(…))[1]`` and
    ``(PERCENTILE_CONT(…))[1]`` would be two places.
    """

    INDEX_OFFSET = 0


def _select(text: str, tokens: list[Token], parameters: Parameters) -> Select:
    if (told := told_apart(text, tokens)) != text:
        text, tokens = told, _tokenize(told)
    check_no_private_words(tokens)
    check_words(tokens)
    _check_intervals(tokens)
    source, literals = _bind(text, tokens, parameters)
    try:
        grammar = sqlglot.Dialect.get_or_raise(PlacesAsWritten)
        trees = grammar.parser().parse(tokens if source == text else grammar.tokenize(source), source)
    except ParseError as error:
        raise _syntax_error(error, source) from None
    except RecursionError:
        raise _too_deep() from None
    except (SqlglotError, ValueError, TypeError, AttributeError, KeyError, IndexError, AssertionError):
        raise Refused("the query is not understood", hint="check its syntax", sqlstate=SYNTAX) from None
    found = [_rows(tree) for tree in trees if tree is not None]
    if len(found) != 1 or not isinstance(found[0], exp.Query):
        raise Refused("this is not one query", hint="send one SELECT", sqlstate=SYNTAX)
    tree: exp.Query = found[0]
    name_functions(tree)
    for subscript in tree.find_all(exp.Bracket):
        subscript.set("offset", 1)
    for select in tree.find_all(exp.Select):
        _group_by_all(select)
    _check_size(tree)
    arrows_of_calls(tree)
    keep_places(tree, source)
    for node in list(tree.find_all(exp.Placeholder, exp.Parameter)):
        name = node.name
        if name not in literals:
            raise Refused(
                "a parameter has no value",
                hint="use ? with a sequence, :name or $1 with a mapping",
                sqlstate=BAD_PARAMETER,
            )
        replacement = literals[name].copy()
        if isinstance(node.parent, exp.Cast) and node.parent.to == replacement.args.get("to") == _INTERVAL:
            replacement = replacement.this  # an interval cast to one: once is enough
        node.replace(replacement)
    return Select(tree)


def _rows(tree: exp.Expr) -> exp.Expr:
    """VALUES alone, as the rows of a table whose columns have PostgreSQL's names for them."""
    if not isinstance(tree, exp.Values) or not tree.expressions:
        return tree
    width = len(tree.expressions[0].expressions) or 1
    names = [exp.to_identifier(f"column{place}") for place in range(1, width + 1)]
    tree.set("alias", exp.TableAlias(this=exp.to_identifier("rows"), columns=names))
    around = {part: tree.args.pop(part) for part in ("order", "limit", "offset") if tree.args.get(part)}
    return exp.Select(expressions=[exp.Star()], **around).from_(tree, copy=False)


def _check_size(tree: exp.Expr) -> None:
    """Bound the number of nodes and their depth, without recursion."""
    nodes = 0
    stack: list[tuple[exp.Expr, int]] = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        nodes += 1
        if nodes > MAX_NODES:
            raise Refused(f"the query has more than {MAX_NODES} parts", hint="shorten its lists", sqlstate=TOO_COMPLEX)
        if depth > MAX_DEPTH:
            raise _too_deep()
        if isinstance(node, exp.Cast) and node.args.get("this") is None:
            # Calls that the parser spells by a cast, without the argument that they need.
            raise Refused("a function lacks its argument", hint="give it one", sqlstate="42883")
        check_row(node)
        check_number_of_rows(node)
        for child in node.iter_expressions():
            stack.append((child, depth + 1))


def _too_deep() -> Refused:
    return Refused("the query is nested too deeply", hint="use WITH or IN lists", sqlstate=TOO_COMPLEX)


def _syntax_error(error: ParseError, source: str) -> Refused:
    """One clean error with the place; the parser's own text is not passed on."""
    first = error.errors[0] if error.errors else {}
    highlight = str(first.get("highlight") or "").strip()[:40]
    line, column = first.get("line"), first.get("col")
    position = None
    if isinstance(line, int) and isinstance(column, int):
        lines = source.split("\n")
        if 1 <= line <= len(lines):
            end = sum(len(part) + 1 for part in lines[: line - 1]) + column
            position = max(end - len(highlight), 0) + 1
    near = f" near {highlight!r}" if highlight else ""
    hint = syntax_hint(source, highlight, len(source) if position is None else position - 1)
    return Refused(f"syntax error{near}", hint=hint, sqlstate=SYNTAX, position=position)


def _bind(text: str, tokens: list[Token], parameters: Parameters) -> tuple[str, Mapping[str, exp.Expression]]:
    """Give every ``?`` a name of our own, and every parameter its literal."""
    text, tokens = _tables(text, tokens)
    marks = [token for token in tokens if token.token_type is TokenType.PLACEHOLDER and token.text == "?"]
    if isinstance(parameters, Mapping):
        if marks:
            raise Refused(
                "? takes its value from a sequence", hint="pass a list, or write :name", sqlstate=BAD_PARAMETER
            )
        return text, {str(name): literal(value) for name, value in parameters.items()}
    values = list(parameters)
    if len(values) != len(marks):
        key = "; whether a document has a key is x -> 'key' IS NOT NULL" if len(marks) > len(values) else ""
        raise Refused(
            f"the query has {len(marks)} parameters, {len(values)} values were given",
            hint=f"give one value per ?{key}",
            sqlstate=BAD_PARAMETER,
        )
    pieces: list[str] = []
    position = 0
    for number, token in enumerate(marks):
        pieces += [text[position : token.start], f" :dpsql_{number} "]
        position = token.start + 1
    pieces.append(text[position:])
    return "".join(pieces), {f"dpsql_{number}": literal(value) for number, value in enumerate(values)}


_BEFORE_TABLE = frozenset({"(", "UNION", "ALL", "DISTINCT", "EXCEPT", "INTERSECT"})


def _tables(text: str, tokens: list[Token]) -> tuple[str, list[Token]]:
    """``TABLE t`` is ``SELECT * FROM t``, at the beginning of a query."""
    found = [
        token
        for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False)
        if token.token_type is TokenType.TABLE
        and (before is None or before.text.upper() in _BEFORE_TABLE or before.text == ")")
        and after.text[:1].isidentifier()
    ]
    if not found:
        return text, tokens
    pieces, position = [], 0
    for token in found:
        pieces += [text[position : token.start], "SELECT * FROM"]
        position = token.end + 1
    spelt = "".join([*pieces, text[position:]])
    return spelt, _tokenize(spelt)


_INTERVAL = exp.DataType.build("interval", dialect="postgres")


class IntervalText(str):
    """A parameter that is an interval, as text: months, days and time stay apart."""

    __slots__ = ()


def literal(value: object) -> exp.Expression:
    """A parameter's value as a typed literal of the tree.

    >>> literal(datetime.date(2020, 2, 1)).sql("postgres")
    "CAST('2020-02-01' AS DATE)"
    """
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, int | Decimal):
        if isinstance(value, Decimal) and not value.is_finite():
            raise Refused("a number must be finite", hint="pass NULL", sqlstate=BAD_PARAMETER)
        if _is_long(value):
            raise _too_many_digits()
        spelt = format(abs(value), "f" if isinstance(value, Decimal) else "d")
        if isinstance(value, Decimal) and "." not in spelt:
            # NUMERIC also without decimals: 5 / 2 is an integer.
            spelt += "."
        number = exp.Literal.number(spelt)
        return exp.Neg(this=number) if value < 0 else number
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Refused("a number must be finite", hint="pass NULL", sqlstate=BAD_PARAMETER)
        # NumPy's doubles are floats that print their own name too.
        return exp.Cast(this=exp.Literal.string(repr(float(value))), to=exp.DataType.build("double"))
    if isinstance(value, datetime.timedelta):
        micros = value.seconds * 1_000_000 + value.microseconds
        value = IntervalText(f"{value.days} days {micros} microseconds")
    if isinstance(value, IntervalText):
        return exp.Cast(this=exp.Literal.string(str(value)), to=_INTERVAL.copy())
    if isinstance(value, str):
        if "\0" in value:
            raise Refused("a parameter holds a NUL character", hint="remove it", sqlstate=BAD_PARAMETER)
        return exp.Literal.string(value)
    if isinstance(value, datetime.datetime) and value.utcoffset() is not None:
        return exp.Cast(this=exp.Literal.string(_in_utc(value)), to=exp.DataType.build("timestamptz"))
    if isinstance(value, datetime.datetime):
        return exp.Cast(this=exp.Literal.string(value.isoformat(" ")), to=exp.DataType.build("timestamp"))
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return exp.Cast(this=exp.Literal.string(value.isoformat()), to=exp.DataType.build("date"))
    if isinstance(value, datetime.time) and value.tzinfo is None:
        return exp.Cast(this=exp.Literal.string(value.isoformat()), to=exp.DataType.build("time"))
    if isinstance(value, list | tuple):
        return exp.Array(expressions=[literal(item) for item in value])
    item = getattr(value, "item", None)
    if callable(item) and type(value).__module__ == "numpy":
        return literal(item())
    raise Refused(
        f"a parameter of type {type(value).__name__} is not supported",
        hint="pass None, bool, int, float, Decimal, str, date, time, datetime or timedelta",
        sqlstate=BAD_PARAMETER,
    )


def _in_utc(value: datetime.datetime) -> str:
    try:
        return value.astimezone(datetime.UTC).isoformat(" ")
    except OverflowError:
        raise Refused(
            "a time lies outside of the years 1 to 9999", hint="pass another time", sqlstate=BAD_PARAMETER
        ) from None


def _is_long(value: int | Decimal) -> bool:
    """Whether a number has too many digits, before and after the point, to be written out."""
    if isinstance(value, int):
        return value.bit_length() > 3 * MAX_DIGITS
    return max(abs(value.adjusted()), len(value.as_tuple().digits)) > MAX_DIGITS


def _explain(text: str, first: Token, parameters: Parameters) -> Explain:
    # Places in the query are those in the whole text.
    text = " " * (first.end + 1) + text[first.end + 1 :]
    tokens = _tokenize(text)
    as_json, options = explain_options(tokens)
    if options:
        end = tokens[options - 1].end + 1
        text = " " * end + text[end:]
        tokens = _tokenize(text)
    words = [token.text.upper() for token in tokens[:2]]
    if not words or words[0] not in _QUERY_WORDS or (words[0] == "(" and words[-1] not in _QUERY_WORDS):
        raise Refused(
            "EXPLAIN takes a SELECT, since dpsql only reads",
            hint="write EXPLAIN SELECT …; it shows expected error, price and plan",
            sqlstate=NOT_ANSWERED,
        )
    return Explain(_select(text, tokens, parameters), as_json)


def _set(tokens: list[Token]) -> SetSetting:
    words = [token.text for token in tokens[1:]]
    upper = [word.upper() for word in words]
    if "TRANSACTION" in upper[:1] or upper[:2] == ["SESSION", "CHARACTERISTICS"]:
        # Every statement stands alone and only reads: no isolation level changes what it sees.
        return SetSetting("transaction", " ".join(words[1:]))
    if words and upper[0] in ("SESSION", "LOCAL"):
        words, upper = words[1:], upper[1:]
    if upper[:2] == ["TIME", "ZONE"] and len(words) > 2:
        words = ["timezone", "=", *_zone(words[2:])]
    if upper[:1] == ["NAMES"] and len(words) == 2:
        words = ["client_encoding", "=", words[1]]
    name, rest = _name(words)
    if not name or not rest or rest[0].upper() not in ("=", "TO") or len(rest) < 2:
        raise Refused("SET needs a name and a value", hint="write SET dpsql.epsilon = 0.5", sqlstate=SYNTAX)
    value = "".join(rest[1:])
    return SetSetting(name, None if value.upper() == "DEFAULT" else value)


def _zone(words: list[str]) -> list[str]:
    """What follows SET TIME ZONE: a name, a number of hours, LOCAL, DEFAULT, or INTERVAL 'hours' HOUR TO MINUTE."""
    if words[0].upper() == "LOCAL":
        return ["DEFAULT"]
    if words[0].upper() != "INTERVAL":
        return words
    spelt = words[1].strip("'") if len(words) > 1 else ""
    rest = [word.upper() for word in words[2:]]
    if rest in (["HOUR"], ["HOURS"]) and ":" not in spelt:
        spelt += " hours"
    zone = fixed_zone(spelt) if rest in ([], ["HOUR"], ["HOURS"], ["HOUR", "TO", "MINUTE"]) else None
    if zone is None:
        raise Refused(
            "a time zone is an interval of whole hours here", hint="name it: SET TIME ZONE 'Asia/Kolkata'",
            sqlstate="22023",
        )  # fmt: skip
    return [zone]


def _reset(tokens: list[Token]) -> SetSetting:
    name, rest = _name([token.text for token in tokens[1:]])
    if not name or rest:
        raise Refused("RESET needs one name", hint="write RESET dpsql.epsilon, or RESET ALL", sqlstate=SYNTAX)
    return SetSetting(None if name == "all" else name, None)


def _show(tokens: list[Token]) -> ShowSetting:
    words = [token.text for token in tokens[1:]]
    name, rest = _SHOWN.get(" ".join(words).lower()) or _name(words)
    if not name or rest:
        raise Refused("SHOW needs one name", hint="write SHOW dpsql.epsilon", sqlstate=SYNTAX)
    return ShowSetting(name)


_SHOWN: Mapping[str, tuple[str, list[str]]] = {
    "time zone": ("timezone", []),
    "transaction isolation level": ("transaction_isolation", []),
}


def _name(words: list[str]) -> tuple[str, list[str]]:
    """A dotted name at the beginning of ``words``, lower-cased, and what follows it."""

    def parts() -> Iterator[str]:
        for index, word in enumerate(words):
            if (index % 2 == 1) != (word == "."):
                return
            yield word

    taken = list(parts())
    if taken and taken[-1] == ".":
        return "", words
    return "".join(taken).lower(), words[len(taken) :]


def _transaction(tokens: list[Token]) -> Transaction:
    word = tokens[0].text.upper()
    return Transaction({"START": "BEGIN", "END": "COMMIT", "ABORT": "ROLLBACK"}.get(word, word))


_COMMANDS: dict[str, Callable[[list[Token]], Statement]] = {
    "SET": _set,
    "RESET": _reset,
    "SHOW": _show,
    "BEGIN": _transaction,
    "START": _transaction,
    "COMMIT": _transaction,
    "END": _transaction,
    "ROLLBACK": _transaction,
    "ABORT": _transaction,
}
