"""Words that the parser would read in its own way: names after AS or a dot that it takes for keywords, TO_CHAR, sets
of groups, differences of dates, DATE_PART, and intervals.

The parser translates the format of TO_CHAR, and its translation cannot be undone; in ROLLUP, CUBE and GROUPING SETS it
reads no condition, of DATE_DIFF it takes the last argument for a unit, and DATE_PART is EXTRACT to it. So these are
parsed as functions under names that it does not know, of the same length: places in the text stay what they were. Of
an interval's text it reads one quantity and drops the rest: one of several is a cast of that text.

Parameters ``$1``, ``$2`` of a text, kept apart from what begins like them.

Words by which other systems ask for differential privacy: refused, with the plain SQL that is answered so.

SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1) COUNT(*) …    BigQuery
SELECT WITH ANONYMIZATION OPTIONS(epsilon = 1) ANON_COUNT(*) …      ZetaSQL, PipelineDP
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from rewriter.expressions import OF_TIMESTAMP
from rewriter.refused import SYNTAX, Refused

_LABELS = frozenset({"SELECT", "NOT"})
"""The words that PostgreSQL takes after AS and after a dot, and the parser does not."""
_TO_CHAR = "to_cha_"
_DATE_PART = "date_par_"
_GROUPINGS: dict[str, type[exp.Expr]] = {"rollu_": exp.Rollup, "cub_": exp.Cube, "grouping_sets": exp.GroupingSets}
_DIFFERENCES = {"DATE_DIFF": "date_dif_", "DATEDIFF": "datedif_"}
_APART = {
    "TO_CHAR": _TO_CHAR,
    "DATE_PART": _DATE_PART,
    "ROLLUP": "rollu_",
    "CUBE": "cub_",
    "GROUPING SETS": "grouping_sets",
    **_DIFFERENCES,
}
"""What a function is parsed as."""
_UNKNOWN = frozenset(_APART.values())
_QUANTITY = re.compile(r"\s*[-+]?\d+\s*[A-Za-z]*\s*")
_UNITS = frozenset({"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"})

_CONSTANTS = (TokenType.STRING, TokenType.NUMBER)


def told_apart(text: str, tokens: Sequence[Token]) -> str:
    """The text, with such words in words that the parser leaves alone.

    >>> import sqlglot
    >>> text = "SELECT to_char(a, x) AS select, b AS not, t.select"
    >>> told_apart(text, sqlglot.tokenize(text, read="postgres"))
    'SELECT to_cha_(a, x) AS"select", b AS"not", t."select"'
    """
    text = _without_schema(text, tokens)
    pieces: list[str] = []
    position = 0
    for place, (before, token, following, after_that) in enumerate(
        zip([None, *tokens], tokens, [*tokens[1:], None], [*tokens[2:], None, None], strict=False)
    ):
        word, after = token.text.upper(), None if following is None else following.text.upper()
        if token.token_type is TokenType.IDENTIFIER or token.token_type is TokenType.STRING:
            continue
        if word.lower() in _UNKNOWN:
            known = next(known for known, unknown in _APART.items() if unknown == word.lower())
            raise Refused(f"{word.lower()} is not answered", hint=f"write {known}", sqlstate="42883")
        if " ".join(word.split()) in _APART and after == "(":
            unknown = _APART[" ".join(word.split())]
            pieces += [text[position : token.start], unknown.ljust(token.end + 1 - token.start)]
            position = token.end + 1
        elif following is not None and _has_several(before, token, following, after_that):
            spelt = text[following.start : following.end + 1]
            is_added = before is not None and before.token_type is TokenType.PLUS
            pieces += [text[position : token.start], f"CAST({spelt} AS interval)" if is_added else f"{spelt}::interval"]
            position = following.end + 1
        elif following is not None and following.token_type in _CONSTANTS and _is_plus_of_interval(tokens, place):
            pieces += [text[position : following.start], f"({text[following.start : following.end + 1]})"]
            position = following.end + 1
        elif before is not None and word in _LABELS and _is_label(before, after):
            pieces += [text[position : before.end + 1], f'"{token.text.lower()}"']
            position = token.end + 1
    return "".join([*pieces, text[position:]])


def _without_schema(text: str, tokens: Sequence[Token]) -> str:
    """The text with blanks in the place of ``pg_catalog.`` before a call: nobody has a function of another schema."""
    for schema, dot, _, parenthesis in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
        is_call = dot.token_type is TokenType.DOT and parenthesis.token_type is TokenType.L_PAREN
        if is_call and schema.token_type is TokenType.VAR and schema.text.lower() == "pg_catalog":
            text = text[: schema.start] + " " * (dot.end + 1 - schema.start) + text[dot.end + 1 :]
    return text


def _is_label(before: Token, after: str | None) -> bool:
    """Whether a word behind this can only be a name."""
    if before.token_type in (TokenType.IDENTIFIER, TokenType.STRING):
        return False
    return before.text == "." or (before.text.upper() == "AS" and after != "MATERIALIZED")


def _is_plus_of_interval(tokens: Sequence[Token], place: int) -> bool:
    """Whether a token is the ``+`` behind ``INTERVAL '1 day'`` or ``INTERVAL '1' DAY``.

    The parser takes a constant behind it for another part of that interval, so that ``a - INTERVAL '1 day' + '2 h'``
    would be ``a - (INTERVAL '1 day' + '2 h')``.
    """
    if tokens[place].token_type is not TokenType.PLUS:
        return False
    end = place - 1 if place and tokens[place - 1].text.upper() in _UNITS else place
    kinds = [token.token_type for token in tokens[max(end - 2, 0) : end]]
    return kinds == [TokenType.INTERVAL, TokenType.STRING]


def _has_several(before: Token | None, token: Token, spelt: Token, following: Token | None) -> bool:
    """Whether an interval's text is more than one whole number of a unit, which does not stand behind it."""
    if token.token_type is not TokenType.INTERVAL or (before is not None and before.text.upper() == "ZONE"):
        return False
    if spelt.token_type is not TokenType.STRING or _QUANTITY.fullmatch(spelt.text):
        return False
    return following is None or following.text.upper() not in _UNITS


def _as_text(node: exp.Expr) -> exp.Expr:
    """A literal without a cast to text, where PostgreSQL takes a text: ``'YYYY'::text`` is ``'YYYY'``."""
    is_cast = isinstance(node, exp.Cast) and node.to.this is exp.DType.TEXT
    return node.this if is_cast and isinstance(node.this, exp.Literal) and node.this.is_string else node


def name_functions(tree: exp.Query) -> None:
    """Give functions the name that they were parsed without, in place, and make sets of groups of those in GROUP BY.

    >>> import sqlglot
    >>> text = "SELECT 1 FROM t GROUP BY ROLLUP (a > 2), GROUPING SETS ((b, c), CUBE (b), ())"
    >>> tree = sqlglot.parse_one(told_apart(text, sqlglot.tokenize(text, read="postgres")), read="postgres")
    >>> name_functions(tree)
    >>> tree.sql("postgres")
    'SELECT 1 FROM t GROUP BY ROLLUP (a > 2), GROUPING SETS ((b, c), CUBE (b), ())'
    """
    # A set of groups stands in another: the outer one is made first.
    for node in [one for one in tree.walk() if isinstance(one, exp.Anonymous) and one.this in _UNKNOWN]:
        if node.this == _TO_CHAR:
            if len(node.expressions) != 2:
                raise Refused(
                    "TO_CHAR takes a value and a format", hint="write TO_CHAR(day, 'YYYY-MM')", sqlstate="42883"
                )
            value, pattern = node.expressions
            node.replace(exp.ToChar(this=value, format=_as_text(pattern)))
            continue
        if node.this == _DATE_PART:
            node.replace(_date_part(node.expressions))
            continue
        name = next(known for known, unknown in _APART.items() if unknown == node.this)
        if name in _DIFFERENCES:
            node.set("this", name)
            continue
        if not isinstance(node.parent, exp.Group | exp.GroupingSets) or not node.expressions:
            hint = "write GROUP BY ROLLUP (a, b), with at least one key"
            raise Refused(f"syntax error near {name}", hint=hint, sqlstate=SYNTAX)
        node.replace(_GROUPINGS[node.this](expressions=node.expressions))


def _date_part(arguments: Sequence[exp.Expr]) -> exp.Expr:
    """An EXTRACT with the fact that it reads a date as a timestamp."""
    field = _as_text(arguments[0]) if len(arguments) == 2 else None
    if not isinstance(field, exp.Literal | exp.Column):
        raise Refused("DATE_PART takes a field and a time", hint="write DATE_PART('hour', seen)", sqlstate="42883")
    return OF_TIMESTAMP.on(exp.Extract(this=exp.Var(this=field.name.upper()), expression=arguments[1]), True)


_PLACES = re.compile(
    r"""(?<![\w$])[eE]'(?:[^'\\]|\\.)*'?  # E'it\'s'
    | '[^']*'? | "[^"]*"?
    | --[^\r\n]* | (?P<comment>/\*)
    | (?<![\w$])(?:\$(?P<number>\d+)(?=\S) | (?P<quote>\$(?:[^\W\d]\w*)?\$))
    """,
    re.VERBOSE | re.DOTALL,
)


def apart(text: str) -> str:
    """The same text with a space after each parameter: the parser reads ``$1,$`` as the quotes of a text.

    >>> apart("SELECT $1,$2||'$3,$4' -- $5,$6")
    "SELECT $1 ,$2 ||'$3,$4' -- $5,$6"
    >>> apart("x IN ($1,$2) /* /* */ $3,$4 */ OR y = $q$ $5,$6 $q$ OR z = E'it\\\\'s $7,$8'")
    "x IN ($1 ,$2 ) /* /* */ $3,$4 */ OR y = $q$ $5,$6 $q$ OR z = E'it\\\\'s $7,$8'"
    """
    pieces, taken, position = [], 0, 0
    while (found := _PLACES.search(text, position)) is not None:
        position = found.end()
        if found["number"]:
            pieces.append(text[taken:position])
            taken = position
        elif found["quote"]:
            close = text.find(found["quote"], position)
            position = len(text) if close < 0 else close + len(found["quote"])
        elif found["comment"]:
            position = _comment_end(text, position)
    return " ".join([*pieces, text[taken:]])


def _comment_end(text: str, position: int) -> int:
    """Where a comment ends; PostgreSQL's comments nest."""
    depth = 1
    for mark in re.compile(r"/\*|\*/").finditer(text, position):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(text)


_SETTINGS = frozenset({"DIFFERENTIAL_PRIVACY", "ANONYMIZATION"})
_CALL = re.compile(r"ANON_([A-Z_]+)")
_PLAIN = {"QUANTILES": "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)", "COUNT": "COUNT(*)"}


def check_no_private_words(tokens: Sequence[Token]) -> None:
    """Refuse such words. Raises :class:`Refused` (42601)."""
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        word = token.text.upper()
        if before is not None and before.text.upper() == "WITH" and word in _SETTINGS:
            text, call = f"WITH {word} is not written here: every answer is differentially private", "COUNT(*)"
        elif (found := _CALL.fullmatch(word)) and after is not None and after.text == "(":
            call = _PLAIN.get(found[1], f"{found[1]}(x)")
            text = f"{word} is not written here: {call} over people is differentially private"
        else:
            continue
        hint = f"SELECT {call} FROM …; SET dpsql.epsilon = 1 sets the price, and the owner declares ranges and bounds"
        raise Refused(text, hint=hint, sqlstate=SYNTAX, position=token.start + 1)
