"""What stands behind all connections: the proxy that answers, and the shadow that knows the catalogs.

Guarantee: which of the two a query goes to is a function of its text and the policy. The shadow holds no rows; a query
that names a table of the policy reaches it only to be described, or where it provably returns no row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dpsql.error_border import translated
from dpsql.errors import Error
from dpsql.memory import Memory
from dpsql.proxy import Proxy
from dpsql.server.session import backend_calls
from dpsql.server.session.plain_columns import plain_columns
from dpsql.server.session.route import Route, SetConfig, route, route_unparsed, settings_of, without_set_config
from dpsql.server.shadow import Shadow
from rewriter.declared import Column, Scalar
from rewriter.front_door import Select, lexemes, parse
from rewriter.refused import BAD_PARAMETER, SYNTAX, Refused

MAX_PARAMETERS = 1000
_MARK = "dpsql parameter "
TEXT_OID = 25
_REMEMBERED = 2048


@dataclass(frozen=True, slots=True)
class RoutedQuery:
    """Where a query goes, how many parameters it has, and what it sets where it is a SET in disguise."""

    route: Route
    parameters: int
    settings: tuple[SetConfig, ...] = ()
    columns: tuple[Column | None, ...] = ()
    """The columns of tables that its answer has as they are; empty where they cannot be told."""
    text: str = ""
    """What the shadow is asked instead, where it is not the client's text."""
    calls: bool = False
    """Whether the text asks for this session's number, or for an end to what another session runs."""
    cancels: tuple[str, ...] = ()
    """The sessions whose statements are to end."""


class Backend:
    """The proxy and the shadow of one policy. Thread-safe."""

    def __init__(self, proxy: Proxy, shadow: Shadow) -> None:
        self.proxy = proxy
        self.shadow = shadow
        memories = proxy.memories
        self._places: Memory[str, RoutedQuery] = memories.memory("places of queries", _REMEMBERED)
        self._inferred: Memory[tuple[str, tuple[int, ...]], tuple[int, ...]]
        self._inferred = memories.memory("types of parameters", _REMEMBERED)

    @translated
    def place(self, text: str) -> RoutedQuery:
        """Where a query belongs. Raises :class:`dpsql.errors.Error` for what is answered nowhere."""
        return self._places.get(text, lambda: self._find_place(text))

    def parameter_types(
        self, text: str, given: Sequence[int], count: int, analyst: str, settings: Mapping[str, str]
    ) -> tuple[int, ...]:
        """The type of every parameter: as given, else as PostgreSQL infers it, else text."""
        known = (*given, *(0 for _ in range(count - len(given))))[:count]
        if all(known):
            return known

        def infer() -> tuple[int, ...]:
            try:
                inferred: Sequence[int] = self.shadow.describe(text, known, analyst, settings).parameters
            except Error:
                inferred = ()
            whole = (*inferred, *(0 for _ in range(count)))
            return tuple(mine or theirs or TEXT_OID for mine, theirs in zip(known, whole, strict=False))

        return self._inferred.get((text, known), infer)

    def _find_place(self, text: str) -> RoutedQuery:
        count = parameters_in(text)
        unknown: dict[str, Scalar | None] = {str(number): None for number in range(1, count + 1)}
        try:
            statement = parse(text, unknown)
        except Refused:
            # Our parser does not know all of PostgreSQL: what it cannot read may still be about catalogs alone.
            found = route_unparsed(text, self.proxy.catalog)
            if found is None:
                raise
            return RoutedQuery(found, count)
        if not isinstance(statement, Select):
            raise Refused("this is not one query", hint="send one SELECT", sqlstate=SYNTAX)
        columns = plain_columns(statement.tree, self.proxy.catalog)
        place = RoutedQuery(route(statement.tree, self.proxy.catalog), count, columns=columns)
        sets = settings_of(statement.tree) is not None
        if place.route is not Route.SHADOW or not (sets or backend_calls.marked(statement.tree)[0]):
            return place
        # Parameters stay parameters: they are marked, since the tree has values where they were.
        marked = parse(text, {name: f"{_MARK}{name}" for name in unknown})
        if not isinstance(marked, Select):
            raise AssertionError("the same text is the same statement")
        spelt, cancels = (without_set_config(marked.tree), ()) if sets else backend_calls.marked(marked.tree)
        asked = re.sub(f"'{_MARK}(\\d+)'", r"$\1", spelt)
        settings = settings_of(marked.tree) or ()
        return replace(place, settings=settings, text=asked, calls=not sets, cancels=cancels)


def pid_of(written: str, values: Mapping[str, object], own: int) -> int | None:
    """The number of a session, as a literal, as a parameter, or as this one's; None for what is none."""
    if written == backend_calls.PID:
        return own
    number = written.removeprefix(_MARK)
    text = written if number == written else str(values.get(number))
    return int(text) if re.fullmatch(r"\s*\d{1,10}\s*", text) else None


def setting_of(one: SetConfig, values: Sequence[bytes | None]) -> tuple[str, str]:
    """The name and the value that a ``set_config`` sets: literals, or the parameters that it takes."""

    def told(written: str) -> str:
        number = written.removeprefix(_MARK)
        if number == written:
            return written
        value = values[int(number) - 1]
        return "" if value is None else value.decode(errors="replace")

    return told(one.name).lower(), told(one.value)


def parameters_in(text: str) -> int:
    """How many parameters ``$1``, ``$2``, … a text has: the highest number.

    >>> parameters_in("SELECT '$9', $2 -- $3")
    2
    """
    highest = 0
    for lexeme in lexemes(text):
        if lexeme.text.startswith("$") and lexeme.text[1:].isdigit():
            highest = max(highest, int(lexeme.text[1:6]))
    if highest > MAX_PARAMETERS:
        raise Refused("there are too many parameters", hint="use literals", sqlstate=BAD_PARAMETER)
    return highest
