"""Events of a server that its owner wants to know of: plain values, told to every observer.

Events hold an analyst's text, with its literals, and the client's own words, since the audit is about them. They never
hold a part of a row, nor an engine's words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from typing import Protocol

from dpsql.accounting import PrivacyLoss
from rewriter.front_door import Lexeme, lexemes

_LEXEMES = 5_000
"""Of a text that are looked at to recognise it again."""


class StatementOutcome(StrEnum):
    """What became of a statement."""

    ANSWERED = "answered"
    """It was paid for."""
    FREE = "free"
    """Answered from the policy, from public tables, or from what was released before."""
    CATALOG = "catalog"
    """Answered by the shadow, which has no rows."""
    SESSION = "session"
    """SET, BEGIN, FETCH and the like."""
    REFUSED = "refused"
    """For what its text, the policy, the ledger or the load says."""
    FAILED = "failed"
    """It ran out of time or memory, was cancelled, or something broke."""


_FAILED = ("57", "58", "XX", "F0")


def outcome_of(sqlstate: str) -> StatementOutcome:
    """Whether an error refuses a statement, or is a statement's failure.

    >>> str(outcome_of("42501")), str(outcome_of("57014")), str(outcome_of("53300")), str(outcome_of("53200"))
    ('refused', 'failed', 'refused', 'failed')
    """
    return StatementOutcome.FAILED if sqlstate.startswith(_FAILED) or sqlstate == "53200" else StatementOutcome.REFUSED


@dataclass(frozen=True, slots=True)
class Client:
    """Who is at the other end of one connection. ``application`` is the client's own word for itself."""

    session: int
    analyst: str
    address: str = ""
    application: str = ""
    encrypted: bool = False


@dataclass(frozen=True, slots=True)
class LoggedIn:
    client: Client


@dataclass(frozen=True, slots=True)
class LoggedOut:
    client: Client


@dataclass(frozen=True, slots=True)
class LoginRefused:
    """``user`` is what a stranger wrote, which may be anything; ``known`` says that the policy names it."""

    session: int
    user: str
    known: bool
    address: str
    sqlstate: str


@dataclass(frozen=True, slots=True)
class StatementEnded:
    """One statement that has come to its end. ``charges`` are the ids of its charges in the ledger."""

    client: Client
    statement: str
    parameters: tuple[str | None, ...]
    outcome: StatementOutcome
    sqlstate: str
    loss: PrivacyLoss
    charges: tuple[str, ...]
    seconds: float
    waited: float = 0.0
    """Seconds of those until it had its turn."""


@dataclass(frozen=True, slots=True)
class Charged:
    """A charge has become durable, after so many seconds."""

    analyst: str
    losses: tuple[PrivacyLoss, ...]
    seconds: float


Event = LoggedIn | LoggedOut | LoginRefused | StatementEnded | Charged


class Observer(Protocol):
    """Someone whom events are told, from many threads."""

    def ready(self) -> None:
        """Raise :class:`dpsql.errors.Error` where no statement may run, because it could not be told."""

    def tell(self, event: Event) -> None:
        """Raises :class:`dpsql.errors.Error` where it could not be told: the client gets that instead of an answer."""


def fingerprint(text: str) -> str:
    """Sixteen hex digits that are the same for texts that differ in literals, case, spaces and comments alone.

    >>> fingerprint("SELECT 1 FROM t WHERE a = 'x'") == fingerprint("select 2  FROM t /* now */ WHERE a = $$y$$")
    True
    >>> fingerprint("SELECT a") == fingerprint("SELECT b")
    False
    """
    return _fingerprint(text)


@lru_cache(maxsize=1024)
def _fingerprint(text: str) -> str:
    words = _without_literals(islice(lexemes(text), _LEXEMES))
    return hashlib.sha256(" ".join(words).encode(errors="replace")).hexdigest()[:16]


def _without_literals(found: Iterable[Lexeme]) -> Sequence[str]:
    return [_word(lexeme) for lexeme in found]


def _word(lexeme: Lexeme) -> str:
    if lexeme.text[0] == '"':
        return lexeme.text
    if not lexeme.word or lexeme.word[0].isdigit():
        return "?"
    return lexeme.name
