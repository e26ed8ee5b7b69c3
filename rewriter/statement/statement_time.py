"""The time of a statement: ``now()`` and its kin, as literals.

Guarantee: what is read of the clock is the same in every part of a statement, and is a constant for all that comes
after: a condition over people, a public table, a key, an expression above a release. Asked again at the same instant,
the statement is the same text. Types, zones and names of columns are PostgreSQL's; but CURRENT_TIME is shown without
its distance from UTC, as LOCALTIME is.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from zoneinfo import ZoneInfo

from sqlglot import exp

from rewriter.expressions import CLOCK_WORD, ClockWord
from rewriter.statement.output_names import output_name

_INSTANTS = frozenset({"transaction_timestamp", "statement_timestamp", "clock_timestamp"})
_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
_WORDS = frozenset({"now", *_DAYS})


class _Moment:
    """An instant, and what it is called by the clocks of a zone. ``elsewhere``: the session's zone is another one."""

    def __init__(self, instant: datetime.datetime, zone: str, *, elsewhere: bool = False) -> None:
        self.instant, self.zone, self.elsewhere = instant, zone, elsewhere
        self.local = instant.astimezone(ZoneInfo(zone))

    @property
    def local_types(self) -> tuple[exp.DType, ...]:
        """What an instant of the clock is cast to by these clocks, and not by the session's."""
        return _LOCAL if self.elsewhere else (exp.DType.TIME,)

    def now(self) -> exp.Cast:
        return _literal(self.instant.astimezone(datetime.UTC).isoformat(" "), "TIMESTAMPTZ")

    def here(self) -> exp.Cast:
        return _literal(self.local.replace(tzinfo=None).isoformat(" "), "TIMESTAMP")

    def date(self, days: int = 0) -> exp.Cast:
        return _literal((self.local.date() + datetime.timedelta(days)).isoformat(), "DATE")

    def midnight(self, days: int, kind: exp.DType) -> exp.Cast:
        day = self.local.date() + datetime.timedelta(days)
        local = datetime.datetime.combine(day, datetime.time(), self.local.tzinfo)
        return _Moment(local, str(self.local.tzinfo)).of_kind(kind)

    def of_kind(self, kind: exp.DType) -> exp.Cast:
        return self.now() if kind is exp.DType.TIMESTAMPTZ else self.here()

    def time(self) -> exp.Cast:
        return _literal(self.local.time().isoformat(), "TIME")

    def word(self, word: str) -> ClockWord:
        """A text without a type: the moment that it is where it is read as a time."""
        if word == "now":
            return _both(self.instant.astimezone(self.local.tzinfo))
        day = self.local.date() + datetime.timedelta(_DAYS[word])
        return _both(datetime.datetime.combine(day, datetime.time(), self.local.tzinfo))


def _both(moment: datetime.datetime) -> ClockWord:
    return ClockWord(moment.replace(tzinfo=None), moment.astimezone(datetime.UTC).replace(tzinfo=None))


_READINGS: Mapping[type[exp.Expr], Callable[[_Moment], exp.Cast]] = {
    exp.CurrentTimestamp: _Moment.now,
    exp.Localtimestamp: _Moment.here,
    exp.CurrentDate: _Moment.date,
    exp.CurrentTime: _Moment.time,
    exp.Localtime: _Moment.time,
}
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In, exp.NullSafeEQ, exp.NullSafeNEQ)


def at_instant(tree: exp.Query, instant: datetime.datetime, zone: str, clock_zone: str = "") -> exp.Query | None:
    """The query as it reads at an instant, in a session's zone; None where it does not read the clock.

    With a ``clock_zone``, dates and times of day of the clock are those there: ``CURRENT_DATE``, ``'today'``,
    ``now()::date``, ``(now() - INTERVAL '1 day')::date``. ``now()`` itself is an instant, the same in each zone.

    >>> import sqlglot
    >>> noon = datetime.datetime(2026, 11, 22, 12, tzinfo=datetime.UTC)
    >>> sql = "SELECT now() AS n, 'tomorrow'::date AS d WHERE CURRENT_DATE > x"
    >>> at_instant(sqlglot.parse_one(sql, read="postgres"), noon, "Asia/Tokyo").sql("postgres")
    "SELECT CAST('2026-11-22 12:00:00+00:00' AS TIMESTAMPTZ) AS n, CAST('2026-11-23' AS DATE) AS d WHERE \
CAST('2026-11-22' AS DATE) > x"
    """
    moment = _Moment(instant, clock_zone or zone, elsewhere=clock_zone not in ("", zone))
    if all(_reading(node, moment) is None for node in tree.walk()):
        return None
    copy = tree.copy()
    found = [(node, literal) for node in copy.walk() if (literal := _reading(node, moment)) is not None]
    named = [(item, output_name(item)) for select in copy.find_all(exp.Select) for item in select.expressions]
    for node, literal in found:
        node.replace(literal)
    _keep_names(copy, [name for _, name in named])
    return copy


def _reading(node: exp.Expr, moment: _Moment) -> exp.Expr | None:
    """What a node reads of the clock; None where it reads nothing."""
    if (read := _READINGS.get(type(node))) is not None:
        return read(moment)
    if type(node) is exp.Anonymous and str(node.this).lower() in _INSTANTS and not node.expressions:
        return moment.now()
    if type(node) is exp.Anonymous and str(node.this).lower() == "age" and len(node.expressions) == 1:
        return exp.Anonymous(this="age", expressions=[moment.date(), node.expressions[0]])
    if type(node) is exp.Literal and node.is_string and (word := node.name.strip().lower()) in _WORDS:
        return CLOCK_WORD.on(node.copy(), moment.word(word)) if isinstance(node.parent, _COMPARED) else None
    if type(node) is exp.Cast and node.to.this in moment.local_types and _is_instant(node.this):
        return _there(node, moment)
    if type(node) is exp.Cast and isinstance(node.this, exp.Literal) and node.this.is_string:
        return _of_word(node.this.name.strip().lower(), node.to.this, moment)
    return None


_LOCAL = (exp.DType.DATE, exp.DType.TIME, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ)


def _is_instant(node: exp.Expr) -> bool:
    """Whether an expression is an instant of the clock, moved by intervals or cut to a unit of the calendar."""
    while isinstance(node, exp.Paren | exp.TimestampTrunc) or (
        isinstance(node, exp.Add | exp.Sub) and isinstance(node.expression, exp.Interval)
    ):
        node = node.this
    name = str(node.this).lower() if type(node) is exp.Anonymous and not node.expressions else ""
    return type(node) is exp.CurrentTimestamp or name in _INSTANTS


def _there(cast: exp.Cast, moment: _Moment) -> exp.Cast:
    """A cast of an instant of the clock, by the clocks of the moment's zone: of what they show."""
    found = cast.copy()
    for node in list(found.walk()):
        if not isinstance(node, exp.Paren | exp.Add | exp.Sub | exp.Cast | exp.TimestampTrunc) and _is_instant(node):
            node.replace(moment.here())
    return found


def _of_word(word: str, kind: exp.DType, moment: _Moment) -> exp.Cast | None:
    """A text that PostgreSQL reads as a time of the clock, such as ``'today'``."""
    if word not in _WORDS:
        return None
    days = _DAYS.get(word, 0)
    if kind is exp.DType.DATE:
        return moment.date(days)
    if kind is exp.DType.TIME and word == "now":
        return moment.time()
    if kind not in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ):
        return None
    return moment.of_kind(kind) if word == "now" else moment.midnight(days, kind)


def _keep_names(tree: exp.Query, names: list[str]) -> None:
    """A select item keeps the name that it has without an alias."""
    items = [item for select in tree.find_all(exp.Select) for item in select.expressions]
    for item, name in zip(items, names, strict=True):
        if output_name(item) != name:
            item.replace(exp.alias_(item.copy(), exp.to_identifier(name, quoted=True)))


def _literal(text: str, kind: str) -> exp.Cast:
    return exp.cast(exp.Literal.string(text), kind)
