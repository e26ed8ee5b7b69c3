r"""Texts taken apart by regular expressions: SUBSTRING(x FROM '…'), REGEXP_REPLACE, REGEXP_COUNT.

Patterns are literals of which every engine finds the same match (:mod:`rewriter.expressions.capture_patterns`), in time
linear in the text.
"""

from __future__ import annotations

import re

from sqlglot import exp

from rewriter.declared import INTEGER, TEXT
from rewriter.dialects import refuse
from rewriter.expressions.build import Context, derive, is_literal, is_null, literal, scalar_of
from rewriter.expressions.capture_patterns import Capture, check_capture
from rewriter.expressions.casts import widen
from rewriter.expressions.logic import text_of
from rewriter.expressions.text_length import as_long_as, bare, grown, growth, length_of, readable
from rewriter.expressions.value import Length, Value

_LONGEST = 1 << 31
MOST_REPLACED = 100
"""Characters of what is put in the place of a match."""


def pattern_of(value: Value, what: str) -> str:
    """The text of a pattern."""
    spelt = scalar_of(value) if is_literal(value) else None
    if not isinstance(spelt, str):
        raise refuse(f"the regular expression of {what} must be a literal", f"write {what}(x, '[0-9]+')")
    return spelt


def first_group(pattern: str) -> str:
    """The pattern with a first group: its own, which is in every match, or all of it.

    >>> first_group("a(b)"), first_group("a.b")
    ('a(b)', '(a.b)')
    """
    found = check_capture(pattern)
    if found.groups and not found.groups[0]:
        raise refuse("the first group of the pattern is not in every match", "write (?: ) for the groups before it")
    return pattern if found.groups else f"({pattern})"


def replacement_of(node: exp.Expr) -> tuple[str, list[str | int], str]:
    """The pattern, the new text and the options of a REGEXP_REPLACE of literals. Raises :class:`Refused`."""
    pattern, new, flags = (node.args.get(name) for name in ("expression", "replacement", "modifiers"))
    written = [one.name if isinstance(one, exp.Literal) and one.is_string else None for one in (pattern, new, flags)]
    options = _checked_flags("" if flags is None else written[2])
    if written[0] is None:
        raise refuse("the regular expression of REGEXP_REPLACE must be a literal", r"write REGEXP_REPLACE(x, '-', '')")
    found = check_capture(written[0], ignore_case="i" in options)
    if "g" in options and found.may_be_empty:
        raise refuse(
            "a pattern that matches nothing is replaced everywhere", "write a pattern of one character at least"
        )
    return written[0], pieces_of(written[1], found), options


def first_match(node: exp.Expr, pattern: Value, context: Context) -> Value:
    """SUBSTRING(x FROM 'pattern'): the first group of the first match, or all of it where the pattern has no group.

    NULL where there is no match.
    """
    value = readable(text_of(node, context, "SUBSTRING"), context.dialect)
    if is_null(pattern) or (is_literal(pattern) and scalar_of(pattern) is None):
        return literal(None, TEXT, context.dialect)
    spelt = pattern_of(pattern, "SUBSTRING")
    sql = context.dialect.first_match(value.sql, first_group(spelt))
    return derive(sql, TEXT, value, nullable=True, size=as_long_as(sql, value).size)


def regexp_replace(node: exp.Expr, context: Context) -> Value:
    r"""REGEXP_REPLACE(x, pattern, new [, 'g']): the first match, or every one, is ``new``; \1 in it is a group."""
    value = readable(text_of(node.this, context, "REGEXP_REPLACE"), context.dialect)
    pattern, new = (text_of(node.args.get(name), context, "REGEXP_REPLACE") for name in ("expression", "replacement"))
    if any(is_literal(side) and scalar_of(side) is None for side in (pattern, new)):
        return widen(literal(None, TEXT, context.dialect), TEXT, context.dialect)
    spelt, replacement, flags = replacement_of(node)
    everywhere = "g" in flags
    plain = sum(len(piece) for piece in replacement if isinstance(piece, str))
    groups = sum(isinstance(piece, int) for piece in replacement)

    def replaced(sql: exp.Expr) -> exp.Expr:
        return context.dialect.replace_match(sql, spelt, replacement, everywhere=everywhere, ignore_case="i" in flags)

    if everywhere and plain + groups < 2:
        return as_long_as(replaced(value.sql), value)
    times = max(plain + groups if everywhere else 1 + groups, 1)
    length = length_of(value).times(times) + Length(plus=0 if everywhere else plain)
    return grown(replaced(bare(value)), length, growth(value) * times, context, (value,))


def regexp_count(node: exp.Expr, context: Context) -> Value:
    """REGEXP_COUNT(x, pattern): how many matches there are, none of which is empty."""
    value = readable(text_of(node.this, context, "REGEXP_COUNT"), context.dialect)
    spelt = pattern_of(text_of(node.args.get("expression"), context, "REGEXP_COUNT"), "REGEXP_COUNT")
    if check_capture(spelt).may_be_empty:
        raise refuse("a pattern that matches nothing is not counted", "write a pattern of one character at least")
    return derive(context.dialect.count_matches(value.sql, spelt), INTEGER, value, limits=(0, _LONGEST - 1))


def _checked_flags(flags: str | None) -> str:
    """The options of a regular expression: g for every match, i for letters of either case."""
    if flags is None or set(flags) - set("gi"):
        raise refuse("these options of REGEXP_REPLACE are not answered", "write 'g', 'i' or 'gi'", "22023")
    return flags


def pieces_of(new: object, found: Capture) -> list[str | int]:
    r"""What is put in the place of a match: texts, and numbers of groups; 0 is the whole match.

    >>> pieces_of(r"<\2\&>", Capture((True, True), False))
    ['<', 2, 0, '>']
    """
    if not isinstance(new, str) or len(new) > MOST_REPLACED:
        raise refuse("the new text of REGEXP_REPLACE must be a short literal", r"write REGEXP_REPLACE(x, '-', '')")
    pieces: list[str | int] = []
    for one in re.finditer(r"\\([1-9&\\])|[^\\]+|\\", new):
        mark = one[1]
        if mark is None or mark == "\\":
            pieces.append("\\" if mark else one[0])
        else:
            pieces.append(0 if mark == "&" else int(mark))
    if any(isinstance(piece, int) and piece > len(found.groups) for piece in pieces):
        raise refuse(
            "the new text of REGEXP_REPLACE names a group that is not there", "count the groups from 1", "2201B"
        )
    return pieces
