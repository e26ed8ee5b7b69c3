"""SHOW TABLES, DESCRIBE, SHOW COLUMNS and SUMMARIZE as SELECTs of the relation ``dpsql.columns``.

Guarantee: they read what the owner declared, and no row of a table. Their columns have DuckDB's names; what nobody
declared is NULL, such as the counts and quantiles of SUMMARIZE.

The options of EXPLAIN, as PostgreSQL writes them.

Guarantee: no option makes EXPLAIN run its statement. Options about an engine's plan (COSTS, VERBOSE, BUFFERS, …) are
accepted with any value and change nothing, since the plan that is shown names no engine's steps; ANALYZE is refused
unless it is off.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from rewriter.refused import NOT_ALLOWED, NOT_ANSWERED, SYNTAX, Refused
from rewriter.statement.syntax_hints import not_tokens

SUMMARY = "dpsql_summary"
"""The name of the relation in the SELECT that SUMMARIZE is."""
_TABLES = 'SELECT DISTINCT table_name AS "name" FROM dpsql.columns ORDER BY 1'
_COLUMNS = """SELECT column_name, data_type AS column_type, NULL::text AS "null", NULL::text AS "key",
  NULL::text AS "default",
  CASE WHEN low IS NOT NULL THEN 'range: [' || low || ', ' || high || ']'
    WHEN key_set THEN 'declared values' END AS extra
  FROM dpsql.columns WHERE table_name = {}::regclass::text"""
_SUMMARY = f"""SELECT column_name, data_type AS column_type, low AS "min", high AS "max", NULL::bigint AS approx_unique,
  NULL::text AS "avg", NULL::text AS std, NULL::text AS q25, NULL::text AS q50, NULL::text AS q75,
  NULL::bigint AS "count", NULL::numeric(9, 2) AS null_percentage
  FROM dpsql.columns AS {SUMMARY} WHERE table_name = {{}}::regclass::text"""
_FORMS = (
    (("SHOW", "COLUMNS", "FROM"), _COLUMNS),
    (("SHOW", "COLUMNS", "IN"), _COLUMNS),
    (("DESCRIBE", "TABLE"), _COLUMNS),
    (("DESCRIBE",), _COLUMNS),
    (("DESC", "TABLE"), _COLUMNS),
    (("DESC",), _COLUMNS),
    (("SUMMARIZE",), _SUMMARY),
)


def described(tokens: Sequence[Token]) -> exp.Query | None:
    """The SELECT that a statement is; None of a statement that asks for no description."""
    if tokens[0].text.upper() == "SHOW" and tokens[-1].text.upper().startswith("COLUMNS "):
        tokens = [tokens[0], *_apart(tokens[-1].text)]  # The parser takes all that follows SHOW for one word.
    words = tuple(token.text.upper() for token in tokens)
    if words == ("SHOW", "TABLES"):
        return _parsed(_TABLES)
    for begin, form in _FORMS:
        if words[: len(begin)] == begin and len(words) > len(begin):
            name = _name(tokens[len(begin) :])
            if name is None:
                raise Refused(
                    f"{' '.join(begin)} takes the name of a table",
                    hint=f"write {begin[0]} {'COLUMNS FROM ' if begin[0] == 'SHOW' else ''}patient; "
                    "SELECT * FROM dpsql.columns lists all tables",
                    sqlstate=SYNTAX,
                    position=tokens[len(begin)].start + 1,
                )
            return _parsed(form.format(exp.Literal.string(name).sql("postgres")))
    if words[:1] in (("DESCRIBE",), ("DESC",), ("SUMMARIZE",), ("\\",)):
        raise Refused(
            f"{tokens[0].text} is not answered: what there is, is in a relation",
            hint="SELECT * FROM dpsql.columns lists tables and columns, with their types and declared ranges",
            sqlstate=NOT_ALLOWED,
            position=tokens[0].start + 1,
        )
    return None


def _apart(text: str) -> list[Token]:
    try:
        return sqlglot.tokenize(text, read="postgres")
    except SqlglotError:
        raise not_tokens(text) from None


def _parsed(text: str) -> exp.Query:
    tree = sqlglot.parse_one(text, read="postgres")
    if not isinstance(tree, exp.Query):
        raise AssertionError("a description is a query")
    return tree


def _name(tokens: Sequence[Token]) -> str | None:
    """A name of one part or two, as PostgreSQL's ``regclass`` reads it."""
    parts = [
        exp.to_identifier(token.text, quoted=token.token_type is TokenType.IDENTIFIER).sql("postgres")
        for token in tokens[::2]
        if token.token_type is TokenType.IDENTIFIER
        or (token.text.isidentifier() and token.token_type is not TokenType.STRING)
    ]
    dots = [token.text for token in tokens[1::2]]
    whole = len(tokens) == len(parts) + len(dots) and len(parts) == len(dots) + 1 and len(parts) <= 2
    return ".".join(parts) if whole and set(dots) <= {"."} else None


_OF_PLANS = frozenset({"VERBOSE", "COSTS", "SETTINGS", "GENERIC_PLAN", "BUFFERS", "WAL", "TIMING", "SUMMARY", "MEMORY"})
_OFF = frozenset({"FALSE", "OFF", "0"})
_ON = frozenset({"TRUE", "ON", "1"})
_SERIALIZED = frozenset({"", "NONE", "TEXT", "BINARY"})
_FORMATS = {"TEXT": False, "JSON": True}


def explain_options(tokens: Sequence[Token]) -> tuple[bool, int]:
    """Whether EXPLAIN answers in JSON, and how many of the tokens after its word are options.

    Raises :class:`Refused` (42601 as PostgreSQL does; 0A000 for ANALYZE and for other formats).

    >>> import sqlglot
    >>> explain_options(sqlglot.tokenize("(FORMAT JSON, COSTS off) SELECT 1", read="postgres"))
    (True, 7)
    >>> explain_options(sqlglot.tokenize("VERBOSE SELECT 1", read="postgres"))
    (False, 1)
    """
    words = [token.text.upper() for token in tokens]
    if words[:1] == ["("] and {"ANALYZE", "FORMAT", "SERIALIZE", *_OF_PLANS}.intersection(words[1:2]):
        return _listed(tokens)
    used = 0
    while words[used : used + 1] in (["ANALYZE"], ["VERBOSE"]):
        if words[used] == "ANALYZE":
            raise _runs(tokens[used])
        used += 1
    return False, used


def _listed(tokens: Sequence[Token]) -> tuple[bool, int]:
    """The options of a list in parentheses, the last of each name."""
    as_json, place = False, 1
    while True:
        name, value = tokens[place], ""
        place += 1
        while place < len(tokens) and tokens[place].token_type not in (TokenType.COMMA, TokenType.R_PAREN):
            value += tokens[place].text.upper()
            place += 1
        if place == len(tokens):
            raise _malformed("the options of EXPLAIN have no closing parenthesis", name)
        as_json = _option(name, value, as_json)
        place += 1
        if tokens[place - 1].token_type is TokenType.R_PAREN:
            return as_json, place
        if place == len(tokens):
            raise _malformed("the options of EXPLAIN have no closing parenthesis", name)


def _option(name: Token, value: str, as_json: bool) -> bool:
    """Whether the answer is JSON, once this option is read."""
    word = name.text.upper()
    if word == "FORMAT":
        if value not in _FORMATS:
            hint = "write FORMAT JSON or FORMAT TEXT"
            raise Refused(f"EXPLAIN has no format {value[:40]!r}", hint=hint, sqlstate=NOT_ANSWERED)
        return _FORMATS[value]
    if word == "SERIALIZE":
        if value not in _SERIALIZED:
            raise _malformed("SERIALIZE of EXPLAIN is NONE, TEXT or BINARY", name)
        if value != "NONE":  # PostgreSQL wants ANALYZE for it, which pgAdmin sends after it or before
            raise _runs(name)
        return as_json
    if word != "ANALYZE" and word not in _OF_PLANS:
        raise _malformed(f"EXPLAIN has no option {name.text[:40]!r}", name)
    if value and value not in _ON | _OFF:
        raise _malformed(f"{word} of EXPLAIN is on or off", name)
    if word == "ANALYZE" and value not in _OFF:
        raise _runs(name)
    return as_json


def _runs(token: Token) -> Refused:
    return Refused(
        "EXPLAIN ANALYZE is not answered: it would run the statement, which is paid for",
        hint="EXPLAIN without ANALYZE is free, and shows expected error, price and plan",
        sqlstate=NOT_ANSWERED,
        position=token.start + 1,
    )


def _malformed(text: str, token: Token) -> Refused:
    hint = "write EXPLAIN (FORMAT JSON) SELECT … or EXPLAIN SELECT …"
    return Refused(text, hint=hint, sqlstate=SYNTAX, position=token.start + 1)
