"""Parts that a statement lacks, or has in the wrong place: the parser reads ``COUNT(DISTINCT)``, ``USING ()``, a comma
at the end of a list, ``CROSS JOIN t ON …`` and ``ORDER BY`` before ``GROUP BY``.

Guarantee: behind the parser, words and commas that need something behind them have it, a row has a value, each JOIN has
the condition that it needs and no other, and the clauses of a SELECT stand once each, in PostgreSQL's order: the rest
are syntax errors in PostgreSQL, and no rule need ask for them. Only GROUP BY has an empty row: the group of all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from rewriter.expressions import position_of
from rewriter.refused import SYNTAX, Refused

_NEEDING = frozenset(
    {
        ",",
        "DISTINCT",
        "ALL",
        "GROUP BY",
        "ORDER BY",
        "PARTITION BY",
        "FROM",
        "IN",
        "WHERE",
        "HAVING",
        "LIKE",
        "ILIKE",
        "IS",
        "NOT",
    }
)
"""Words that something follows."""
_LACKING = {
    "FROM": "name a table",
    "WHERE": "write a condition",
    "HAVING": "write a condition",
    "LIKE": "write a pattern, as in LIKE 'a%'",
    "IS": "write IS NULL or IS NOT NULL",
    "NOT": "write a condition",
    "ILIKE": "write a pattern, as in ILIKE 'a%'",
    ",": "remove the comma, or name a value behind it",
    "GROUP BY": "name a column",
    "ORDER BY": "name a column",
    "PARTITION BY": "name a column",
}
"""What lacks behind a word."""
_HOLDING = frozenset({"USING", "ON", "GROUP", "FILTER", "ANY", "SOME", "ALL", "ARRAY", "VALUES", "IN"})
"""Words whose parentheses hold something."""
_CLAUSES = frozenset({"FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "UNION", "EXCEPT", "INTERSECT"})
"""Reserved words: no name in a list is one of them."""
_CONDITIONS = (exp.Where, exp.Having, exp.Join, exp.Connector, exp.Not, exp.Paren)
_WHOLE = re.compile(r"\s*[+-]?\d+\s*")
_CLOSING = frozenset({")", "]", ",", ";", ""})


def check_words(tokens: Sequence[Token]) -> None:
    """Refuse a word, a comma or parentheses with nothing behind or within them, and a JOIN without a condition, which
    the parser reads as a comma. Raises :class:`Refused` (42601)."""
    words = [_word(token) for token in tokens]
    for place, (before, word, behind) in enumerate(zip(["", *words], words, [*words[1:], ""], strict=False)):
        # A name behind a dot or AS, LIMIT ALL, and GROUP BY ALL.
        needs = word in _NEEDING and before not in (".", "AS", "LIMIT") and (before, word) != ("GROUP BY", "ALL")
        lacking = needs and (behind in _CLOSING or (word not in ("ALL", "DISTINCT") and behind in _CLAUSES))
        empty = word == "(" and behind == ")" and before in _HOLDING
        if lacking or empty:
            at = tokens[min(place + 1, len(tokens) - 1)]
            raise Refused(
                f"syntax error near {at.text!r}: something is missing before it" if behind else "the query ends early",
                hint=_LACKING.get(word, "name at least one value"),
                sqlstate=SYNTAX,
                position=at.start + 1,
            )
        if word == "FILTER" and before == ")" and behind == "(" and [*words, ""][place + 2] not in ("WHERE", ")"):
            raise Refused(
                "FILTER needs the word WHERE",
                hint="write COUNT(*) FILTER (WHERE x > 0)",
                sqlstate=SYNTAX,
                position=tokens[place + 2].start + 1,
            )
    _check_joins(tokens, words)
    _check_order(tokens, words)


_JOINED = frozenset({"LEFT", "RIGHT", "FULL", "OUTER", "INNER", "CROSS", "NATURAL", "POSITIONAL"})
_WITHOUT = frozenset({"CROSS", "NATURAL", "POSITIONAL"})
"""Joins that have no condition."""


def _check_joins(tokens: Sequence[Token], words: Sequence[str]) -> None:
    """Within one pair of parentheses ON or USING is that of the last JOIN before it that has none yet, and all have one
    where FROM ends; behind a JOIN that has none to take there is no other."""
    levels: list[list[tuple[str, Token]]] = [[]]
    joins: list[str] = [""]
    for place, word in enumerate(words):
        named = place > 0 and words[place - 1] in (".", "AS")
        if word == "(":
            levels.append([])
            joins.append("")
        elif word == "JOIN" and not named:
            kinds = _kinds(words, place)
            joins[-1] = " ".join((*kinds, word))
            if _WITHOUT.isdisjoint(kinds):
                levels[-1].append((" ".join((*kinds, word)), tokens[place]))
        elif word in ("ON", "USING") and not named and levels[-1]:
            levels[-1].pop()
        elif word in ("ON", "USING") and not named and joins[-1]:
            _refuse_condition(joins[-1], tokens[place])
        elif word in (")", ",", ";") or (word in _CLAUSES and not named):
            _check_no(levels[-1])
            joins[-1] = ""
            if word == ")" and len(levels) > 1:
                levels.pop()
                joins.pop()
    _check_no(levels[-1])


def _kinds(words: Sequence[str], place: int) -> Sequence[str]:
    """The words in front of the JOIN at a place that say which it is."""
    first = place
    while first and words[first - 1] in _JOINED:
        first -= 1
    return words[first:place]


def _check_no(lacking: Sequence[tuple[str, Token]]) -> None:
    if lacking:
        kind, at = lacking[-1]
        raise Refused(
            f"{'an' if kind.startswith('I') else 'a'} {kind} needs a condition",
            hint=f"write {kind} … ON a.key = b.key, or CROSS JOIN for every row of one beside every row of the other",
            sqlstate=SYNTAX,
            position=at.start + 1,
        )


def _refuse_condition(kind: str, at: Token) -> NoReturn:
    without = not _WITHOUT.isdisjoint(kind.split())
    raise Refused(
        f"a {kind} has no condition" if without else "a JOIN has one condition",
        hint="write JOIN … ON a.key = b.key" if without else "join the conditions by AND",
        sqlstate=SYNTAX,
        position=at.start + 1,
    )


_ORDER = {"WHERE": 1, "GROUP BY": 2, "HAVING": 3, "ORDER BY": 4, "LIMIT": 5}
"""The place of a clause among those of its SELECT."""
_NEW = frozenset({"SELECT", "UNION", "EXCEPT", "INTERSECT", ";"})
"""Words behind which clauses begin anew."""


def _check_order(tokens: Sequence[Token], words: Sequence[str]) -> None:
    """Within one pair of parentheses each clause of a SELECT stands once, behind those that come first; ORDER BY and
    LIMIT are those of the whole UNION."""
    levels = [""]
    for place, word in enumerate(words):
        if place and word != "(" and words[place - 1] in (".", "AS"):
            continue
        last = levels[-1]
        ends = word in ("UNION", "EXCEPT", "INTERSECT") and _ORDER.get(last, 0) >= _ORDER["ORDER BY"]
        if ends or (last and word in _ORDER and _ORDER[word] <= _ORDER[last]):
            raise Refused(
                f"{word} stands behind {last}" if word != last else f"there are two {word} in one SELECT",
                hint=f"write parentheses around the query that {last} belongs to"
                if ends
                else f"write {word} before {last}"
                if word != last
                else f"write one {word}",
                sqlstate=SYNTAX,
                position=tokens[place].start + 1,
            )
        if word == "(":
            levels.append("")
        elif word == ")" and len(levels) > 1:
            levels.pop()
        elif word in _ORDER or word in _NEW:
            levels[-1] = word if word in _ORDER else ""


def check_row(node: exp.Expr) -> None:
    """Refuse the empty row, except as a set of groups, and ``*`` as a condition. Raises :class:`Refused` (42601)."""
    if isinstance(node, exp.Star) and isinstance(node.parent, _CONDITIONS):
        raise Refused("* is not a condition", hint="compare a column", sqlstate=SYNTAX)
    is_empty = isinstance(node, exp.Tuple) and not node.expressions
    if is_empty and not isinstance(node.parent, exp.Group | exp.GroupingSets):
        raise Refused("a row has at least one value", hint="write (1, 2)", sqlstate=SYNTAX)


def check_number_of_rows(node: exp.Expr) -> None:
    """Refuse a text behind LIMIT or OFFSET that is no number. Raises :class:`Refused` (22P02)."""
    if not isinstance(node, exp.Limit | exp.Offset):
        return
    value = node.expression
    if isinstance(value, exp.Literal) and value.is_string and not _WHOLE.fullmatch(value.this):
        word = "LIMIT" if isinstance(node, exp.Limit) else "OFFSET"
        raise Refused(
            f"{word} takes a number of rows", hint=f"write {word} 10", sqlstate="22P02", position=position_of(value)
        )


def _word(token: Token) -> str:
    """A word in capitals; a text or a quoted name is none."""
    is_quoted = token.token_type in (TokenType.IDENTIFIER, TokenType.STRING)
    return "''" if is_quoted else " ".join(token.text.upper().split())
