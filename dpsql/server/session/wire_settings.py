"""Settings as the wire sees them: those reported to a client, those it may send, and those supported at all.

Guarantee: a setting that changes a client's bytes is never reported as on unless it is on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from dpsql.errors import error
from dpsql.settings import Settings
from rewriter.declared import DEFAULT_SCHEMAS, Catalog
from rewriter.front_door import lexemes

STATUS: Mapping[str, str] = {
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "is_superuser": "off",
    "in_hot_standby": "off",
    # As for any role that may not write: a client that asks for a primary, or for read-write, is to connect.
    "default_transaction_read_only": "off",
    "scram_iterations": "4096",
}
"""What a client is told at its start, and what does not change, beside the version of the shadow's server."""

_REPORTED = {
    "application_name": ("application_name", ""),
    "search_path": ("search_path", '"$user", public'),
}
"""Settings whose change a client is told: how they are spelt then, and what they are unless they are set."""

_SPOKEN = {
    "client_encoding": (re.compile(r"utf-?8|unicode|sql_ascii"), "text is in UTF8 here"),
    "datestyle": (re.compile(r"(iso|mdy|dmy|ymd)(,\s*(iso|mdy|dmy|ymd))?"), "dates are in ISO form"),
    "standard_conforming_strings": (re.compile(r"on|true|1|yes"), "a backslash in a text is a backslash"),
}  # fmt: skip
"""What would change the bytes of answers, or the meaning of a text: the values that there are."""


def reported(settings: Settings) -> Mapping[str, str]:
    """The settings that a client is told of when they change, as they are now."""
    others = settings.others
    told = {shown: others.get(name, usual).strip("'") for name, (shown, usual) in _REPORTED.items()}
    return {**told, "TimeZone": settings.zone}


def is_spoken(name: str, value: str) -> bool:
    """Whether a setting can have a value here.

    >>> is_spoken("client_encoding", "'utf-8'"), is_spoken("client_encoding", "LATIN1"), is_spoken("geqo", "off")
    (True, False, True)
    """
    known = _SPOKEN.get(name.lower())
    return known is None or known[0].fullmatch(value.strip().strip("'\"").lower()) is not None


def check_path(settings: Settings, catalog: Catalog) -> None:
    """Raise where a search path would give a name without a schema another meaning than it has here: that of the
    default schema's table, and else of the only one that is called so."""
    path = settings.others.get("search_path", "")
    named = [name for name in (lexeme.name for lexeme in lexemes(path.strip("'"))) if name.lower() in catalog.schemas]
    if not named or named[0] in DEFAULT_SCHEMAS:
        return
    for table in catalog.tables.values():
        other = catalog.find(table.own_name, quoted=True)
        if table.stands_in(named[0]) and other is not None and other is not table:
            raise error(
                f"{table.own_name} without a schema is {other.name} here, whatever the search path",
                sqlstate="0A000",
                hint=f"write {table.name}",
            )


def check_spoken(settings: Settings) -> None:
    """Raises :class:`dpsql.errors.Error` 22023 where a client asked for what is not spoken here."""
    for name in _SPOKEN.keys() & settings.others.keys():
        if not is_spoken(name, settings.others[name]):
            raise error(f"{_SPOKEN[name][1]}: {name} cannot be changed to that", sqlstate="22023", hint=f"RESET {name}")


def startup_settings(options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Settings in the startup packet: options of its own, and ``-c name=value`` in ``options``. What is not spoken here
    is left out: the answer to the packet says what is.

    >>> list(startup_settings({"user": "ana", "options": "-c geqo=off --dpsql.reuse=off", "client_encoding": "LATIN1"}))
    [('geqo', 'off'), ('dpsql.reuse', 'off')]
    """
    for name, value in _given(options):
        if is_spoken(name, value):
            yield name, value


def _given(options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in options.items():
        if name not in ("user", "database", "replication", "options", "application_name") and "_pq_." not in name:
            yield name, value
    words = options.get("options", "").replace("\\ ", "\0").split()
    for place, word in enumerate(words):
        given = word.removeprefix("--") if word.startswith("--") else ""
        if word.startswith("-c") and len(word) > 2:
            given = word[2:]
        elif word == "-c" and place + 1 < len(words):
            given = words[place + 1]
        name, equals, value = given.partition("=")
        if equals:
            yield name.replace("-", "_"), value.replace("\0", " ")
