"""Text to the statements of the wire: what concerns the session is understood here, a query is left to be planned.

Guarantee: any text gives statements or a clean :class:`rewriter.refused.Refused`. What is not on the list is not run:
a word that PostgreSQL knows and dpsql does not is refused, never passed on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from rewriter.front_door import MAX_BYTES, Lexeme, pieces
from rewriter.refused import NOT_ALLOWED, NOT_ANSWERED, SYNTAX, TOO_COMPLEX, Refused

MAX_STATEMENTS = 100
"""In one message."""
KEPT = 8 * 1024
"""Characters of a text whose statements are remembered."""


@dataclass(frozen=True, slots=True)
class QueryStatement:
    """A SELECT, VALUES, WITH or TABLE, to be routed and planned."""

    text: str


@dataclass(frozen=True, slots=True)
class Setting:
    """SET, SHOW, RESET or EXPLAIN: a statement that the analyst's session knows."""

    text: str
    word: str
    local: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class TransactionStatement:
    """BEGIN, COMMIT, ROLLBACK, SAVEPOINT, RELEASE or ROLLBACK TO."""

    word: str
    savepoint: str = ""


@dataclass(frozen=True, slots=True)
class Prepare:
    """PREPARE name (types) AS query."""

    name: str
    types: tuple[str, ...]
    query: str
    start: int = field(default=0, compare=False)
    """The character at which the query begins, as below."""


@dataclass(frozen=True, slots=True)
class ExecutePrepared:
    """EXECUTE name (literals); an argument is the text of a literal, None is NULL."""

    name: str
    arguments: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Deallocate:
    """DEALLOCATE name; None is ALL."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Declare:
    """DECLARE name CURSOR FOR query."""

    name: str
    query: str
    binary: bool
    hold: bool
    start: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Fetch:
    """FETCH or MOVE: ``direction`` is NEXT, PRIOR, FIRST, LAST, ABSOLUTE, RELATIVE, FORWARD or BACKWARD; a ``count`` of
    None is ALL.
    """

    name: str
    direction: str
    count: int | None
    move: bool


@dataclass(frozen=True, slots=True)
class CloseCursor:
    """CLOSE name; None is ALL."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Copy:
    """COPY (query) TO STDOUT, with options by their lower-cased names. COPY of a ``table``, which is its name with the
    schema, is that of all its rows."""

    query: str
    options: tuple[tuple[str, str], ...]
    start: int = field(default=0, compare=False)
    table: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Discard:
    what: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """A statement without effect on a session that only reads: UNLISTEN, or LISTEN, since nobody notifies."""

    tag: str


Kind = (
    QueryStatement | Setting | TransactionStatement | Prepare | ExecutePrepared | Deallocate | Declare | Fetch
    | CloseCursor | Copy | Discard | Nothing
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, and the character of the client's text at which it starts."""

    kind: Kind
    start: int


def statements(text: str) -> tuple[Statement, ...]:
    """The statements of a text, in order; none where it holds only spaces and comments.

    >>> [one.kind for one in statements("BEGIN; SELECT 1; FETCH 10 IN c")]
    [TransactionStatement(word='BEGIN', savepoint=''), QueryStatement(text='SELECT 1'), \
Fetch(name='c', direction='FORWARD', count=10, move=False)]
    """
    if len(text) > 4 * MAX_BYTES:
        raise Refused("the text is too long", hint=f"a query has at most {MAX_BYTES} bytes", sqlstate=TOO_COMPLEX)
    return _known(text) if len(text) <= KEPT else _read(text)


def _read(text: str) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for start, piece, lexemes in pieces(text):
        try:
            found.append(Statement(_kind(piece, lexemes), start))
        except Refused as refused:
            raise _moved(refused, start) from None
        if len(found) > MAX_STATEMENTS:
            raise Refused("there are too many statements", hint="send fewer at a time", sqlstate=TOO_COMPLEX)
    return tuple(found)


_known = lru_cache(maxsize=2048)(_read)


def _moved(refused: Refused, start: int) -> Refused:
    position = None if refused.position is None else refused.position + start
    return Refused(refused.message, hint=refused.hint, sqlstate=refused.sqlstate, position=position)


def _kind(text: str, lexemes: tuple[Lexeme, ...]) -> Kind:
    word = lexemes[0].word
    read = _KINDS.get(word)
    if read is not None:
        return read(text, lexemes)
    if word in _WRITES:
        raise Refused(
            f"{word} is not allowed: dpsql only reads",
            hint="send a SELECT with aggregates, e.g. SELECT COUNT(*) FROM …",
            sqlstate=NOT_ALLOWED,
            position=1,
        )
    raise Refused(
        f'syntax error at or near "{lexemes[0].text[:40]}"', hint="send a SELECT", sqlstate=SYNTAX, position=1
    )


def _query(text: str, lexemes: Sequence[Lexeme]) -> QueryStatement:
    words = [lexeme.word for lexeme in lexemes]
    if words[0] == "TABLE":
        return QueryStatement("SELECT * FROM " + text[lexemes[0].end :])
    return QueryStatement(text)


def _setting(text: str, lexemes: Sequence[Lexeme]) -> Setting | QueryStatement:
    words = [lexeme.word for lexeme in lexemes]
    if words == ["SHOW", "TABLES"] or words[:2] == ["SHOW", "COLUMNS"]:
        return QueryStatement(text)
    local = words[1:2] == ["LOCAL"]
    if (words[0] == "SET" and words[1:2] in (["ROLE"], ["AUTHORIZATION"])) or words[1:3] == [
        "SESSION",
        "AUTHORIZATION",
    ]:
        raise Refused("an analyst cannot become another", hint="connect as that user", sqlstate=NOT_ALLOWED)
    name = ""
    if words[0] == "SHOW":
        name = "".join(lexeme.name for lexeme in lexemes[1:])
        name = {"timezone": "timezone", "transactionisolationlevel": "transaction_isolation"}.get(name, name)
    return Setting(text, words[0], local, name)


def _transaction(text: str, lexemes: Sequence[Lexeme]) -> TransactionStatement:
    words = [lexeme.word for lexeme in lexemes]
    word = {"START": "BEGIN", "END": "COMMIT", "ABORT": "ROLLBACK"}.get(words[0], words[0])
    if word == "BEGIN":
        return TransactionStatement("BEGIN")
    rest = [lexeme for lexeme in lexemes[1:] if lexeme.word not in ("WORK", "TRANSACTION", "SAVEPOINT")]
    if words[0] == "ROLLBACK" and rest and rest[0].word == "TO" and len(rest) == 2:
        return TransactionStatement("ROLLBACK TO", rest[1].name)
    if word in ("SAVEPOINT", "RELEASE"):
        return TransactionStatement(word, _one_name(rest))
    if [lexeme.word for lexeme in rest] not in ([], ["AND", "NO", "CHAIN"]):
        raise _unclear(rest[0])
    return TransactionStatement(word)


def _prepare(text: str, lexemes: Sequence[Lexeme]) -> Prepare:
    words = [lexeme.word for lexeme in lexemes]
    if len(lexemes) < 4 or "AS" not in words:
        raise _unclear(lexemes[-1])
    place = words.index("AS")
    if place + 1 >= len(lexemes):
        raise _unclear(lexemes[-1])
    types = tuple(
        part.strip().lower() for part in text[lexemes[1].end : lexemes[place].start].strip().strip("()").split(",")
    )
    start = lexemes[place + 1].start
    return Prepare(lexemes[1].name, tuple(part for part in types if part), text[start:].strip(), start)


def _execute(text: str, lexemes: Sequence[Lexeme]) -> ExecutePrepared:
    if len(lexemes) < 2:
        raise _unclear(lexemes[0])
    arguments: list[str | None] = []
    negative = False
    for lexeme in lexemes[2:]:
        if lexeme.word in ("(", ")", ","):
            continue
        if lexeme.word == "-" and not negative:
            negative = True
            continue
        if lexeme.text[0] not in "'0123456789" and lexeme.word not in ("NULL", "TRUE", "FALSE"):
            raise Refused("EXECUTE takes literals", hint="write EXECUTE q(5, 'F')", position=lexeme.start + 1)
        value = None if lexeme.word == "NULL" else lexeme.value
        arguments.append(f"-{value}" if negative and value is not None else value)
        negative = False
    return ExecutePrepared(lexemes[1].name, tuple(arguments))


def _deallocate(text: str, lexemes: Sequence[Lexeme]) -> Deallocate:
    rest = [lexeme for lexeme in lexemes[1:] if lexeme.word != "PREPARE"]
    return Deallocate(None if [lexeme.word for lexeme in rest] == ["ALL"] else _one_name(rest))


def _declare(text: str, lexemes: Sequence[Lexeme]) -> Declare:
    words = [lexeme.word for lexeme in lexemes]
    place = words.index("FOR") if "FOR" in words else 0
    options = words[2:place]
    if place < 3 or "CURSOR" not in options or place + 1 >= len(lexemes):
        raise _unclear(lexemes[-1])
    for lexeme in lexemes[2:place]:
        if lexeme.word not in _CURSOR_WORDS:
            raise _unclear(lexeme)
    hold = ("WITH", "HOLD") in pairwise(options)
    start = lexemes[place + 1].start
    return Declare(lexemes[1].name, text[start:].strip(), "BINARY" in options, hold, start)


_CURSOR_WORDS = frozenset("BINARY ASENSITIVE INSENSITIVE NO SCROLL CURSOR WITH WITHOUT HOLD".split())


def _fetch(text: str, lexemes: Sequence[Lexeme]) -> Fetch:
    rest = list(lexemes[1:])
    if not rest:
        raise _unclear(lexemes[0])
    name = rest.pop()
    if rest and rest[-1].word in ("FROM", "IN"):
        rest.pop()
    words = "".join(" " + lexeme.word if lexeme.word != "-" else " -" for lexeme in rest).replace("- ", "-").split()
    direction, count = "NEXT", 1
    if words and words[0] in _DIRECTIONS:
        direction = words.pop(0)
    elif words:
        direction = "FORWARD"
    if words == ["ALL"] and direction in ("FORWARD", "BACKWARD"):
        return Fetch(name.name, direction, None, lexemes[0].word == "MOVE")
    if words and direction in ("NEXT", "PRIOR", "FIRST", "LAST"):
        raise _unclear(rest[-1])
    if words:
        if len(words) > 1 or not re.fullmatch(r"[-+]?\d{1,18}", words[0]):
            raise _unclear(rest[-1])
        count = int(words[0])
    return Fetch(name.name, direction, count, lexemes[0].word == "MOVE")


_DIRECTIONS = frozenset("NEXT PRIOR FIRST LAST ABSOLUTE RELATIVE FORWARD BACKWARD".split())


def _close(text: str, lexemes: Sequence[Lexeme]) -> CloseCursor:
    return CloseCursor(None if [lexeme.word for lexeme in lexemes[1:]] == ["ALL"] else _one_name(lexemes[1:]))


def _copy(text: str, lexemes: Sequence[Lexeme]) -> Copy:
    words = [lexeme.word for lexeme in lexemes]
    if words[1:2] != ["("]:
        if "TO" in words and "FROM" not in words[: words.index("TO")]:
            return _copy_table(text, lexemes, words.index("TO"))
        raise Refused(
            "COPY … FROM is not allowed: dpsql only reads", hint="COPY (SELECT …) TO STDOUT", sqlstate=NOT_ALLOWED
        )
    depth, place = 0, 0
    for place, word in enumerate(words):
        depth += (word == "(") - (word == ")")
        if place > 1 and depth == 0:
            break
    _check_stdout([] if depth else lexemes[place + 1 :])
    start = lexemes[2].start
    return Copy(text[start : lexemes[place].start].strip(), _copy_options(lexemes[place + 3 :]), start)


def _copy_table(text: str, lexemes: Sequence[Lexeme], to: int) -> Copy:
    """``COPY table [(column, …)] TO STDOUT``: whether it is public is known where there is a policy."""
    named, listed = lexemes[1:to], ""
    brackets = [place for place, lexeme in enumerate(named) if lexeme.word == "("]
    if brackets and named[-1].word == ")":
        listed = text[named[brackets[0]].start + 1 : named[-1].start].strip()
        named = named[: brackets[0]]
    dots = [lexeme.word for lexeme in named[1::2]]
    if not named or len(named) % 2 == 0 or any(dot != "." for dot in dots):
        raise _unclear(lexemes[min(2, len(lexemes) - 1)])
    _check_stdout(lexemes[to:])
    start, end = named[0].start, lexemes[1 + len(named)].start
    before = f"SELECT {listed or '*'} FROM "
    names = tuple(lexeme.name for lexeme in named[::2])
    return Copy(before + text[start:end].strip(), _copy_options(lexemes[to + 2 :]), start - len(before), names)


def _check_stdout(lexemes: Sequence[Lexeme]) -> None:
    if [lexeme.word for lexeme in lexemes[:2]] != ["TO", "STDOUT"]:
        raise Refused("COPY goes to STDOUT only", hint="write COPY (SELECT …) TO STDOUT", sqlstate=NOT_ALLOWED)


def _copy_options(lexemes: Sequence[Lexeme]) -> tuple[tuple[str, str], ...]:
    """Options in the form of today, ``(FORMAT csv, HEADER)``, or of old: ``WITH CSV HEADER``."""
    rest = [lexeme for lexeme in lexemes if lexeme.word not in ("WITH", "AS")]
    options: list[tuple[str, str]] = []
    if rest and rest[0].word == "(":
        words: list[Lexeme] = []
        for lexeme in rest[1:]:
            if lexeme.word in (",", ")"):
                if words:
                    options.append((words[0].name, _option_value(words[1:])))
                words = []
            else:
                words.append(lexeme)
        return tuple(options)
    place = 0
    while place < len(rest):
        word = rest[place].word
        if word in ("CSV", "BINARY"):
            options.append(("format", word.lower()))
        elif word == "HEADER":
            options.append(("header", "true"))
        elif word in ("DELIMITER", "NULL", "QUOTE", "ESCAPE", "ENCODING") and place + 1 < len(rest):
            place += 1
            options.append((word.lower(), rest[place].value))
        else:
            raise _unclear(rest[place])
        place += 1
    return tuple(options)


def _option_value(words: Sequence[Lexeme]) -> str:
    """An option's value: a text, or a word in quotes or without."""
    if not words:
        return "true"
    return words[0].name if words[0].text.startswith('"') else words[0].value


def _discard(text: str, lexemes: Sequence[Lexeme]) -> Discard:
    what = " ".join(lexeme.word for lexeme in lexemes[1:])
    if what not in ("ALL", "PLANS", "SEQUENCES", "TEMP", "TEMPORARY"):
        raise _unclear(lexemes[-1])
    return Discard(what)


def _nothing(text: str, lexemes: Sequence[Lexeme]) -> Nothing:
    return Nothing(lexemes[0].word)


def _one_name(lexemes: Sequence[Lexeme]) -> str:
    if len(lexemes) != 1:
        raise Refused("a name is expected here", hint="write one name", sqlstate=SYNTAX)
    return lexemes[0].name


def _unclear(lexeme: Lexeme) -> Refused:
    return Refused(
        f'syntax error at or near "{lexeme.text[:40]}"',
        hint="PostgreSQL's syntax is spoken here",
        sqlstate=SYNTAX if lexeme.word else NOT_ANSWERED,
        position=lexeme.start + 1,
    )


_KINDS: dict[str, Callable[[str, Sequence[Lexeme]], Kind]] = {
    **dict.fromkeys(("SELECT", "WITH", "VALUES", "(", "TABLE", "DESCRIBE", "DESC", "SUMMARIZE"), _query),
    **dict.fromkeys(("SET", "SHOW", "RESET", "EXPLAIN"), _setting),
    **dict.fromkeys(("BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE"), _transaction),
    **dict.fromkeys(("FETCH", "MOVE"), _fetch),
    **dict.fromkeys(("LISTEN", "UNLISTEN"), _nothing),
    "PREPARE": _prepare,
    "EXECUTE": _execute,
    "DEALLOCATE": _deallocate,
    "DECLARE": _declare,
    "CLOSE": _close,
    "COPY": _copy,
    "DISCARD": _discard,
}
_WRITES = frozenset(
    """INSERT UPDATE DELETE MERGE CREATE DROP ALTER TRUNCATE GRANT REVOKE CALL DO VACUUM ANALYZE LOCK COMMENT REFRESH
    REINDEX CLUSTER CHECKPOINT NOTIFY LOAD IMPORT SECURITY REASSIGN""".split()
)
