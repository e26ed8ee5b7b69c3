"""SHOW TABLES, DESCRIBE, SHOW COLUMNS and SUMMARIZE as SELECTs of the relation ``dpsql.columns``.

Guarantee: they read what the owner declared, and no row of a table. Their columns have DuckDB's names; what nobody
declared is NULL, such as the counts and quantiles of SUMMARIZE.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from rewriter.refused import NOT_ALLOWED, SYNTAX, Refused
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
