"""The settings of a session. None of them weakens the promise: they choose a price within the owner's cap, or reuse."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType

from dpsql.accounting import Target, target
from dpsql.errors import DataError
from dpsql.policy import StatementSection
from dpsql.refresh import Refresh
from rewriter.declared import UTC, zone_of
from rewriter.front_door import Empty

_SWITCH = {"on": True, "true": True, "1": True, "yes": True, "off": False, "false": False, "0": False, "no": False}

NAMES = tuple(
    f"dpsql.{name}"
    for name in (
        "epsilon",
        "target_error",
        "reuse",
        "consistent",
        "intervals",
        "digits",
        "other",
        "empty_groups",
        "notices",
        "stale",
        "watch",
        "watch_every",
    )
)
"""Every setting of ours."""

_OF_CLIENTS = {
    "application_name": "", "bytea_output": "hex", "client_encoding": "UTF8", "client_min_messages": "notice",
    "datestyle": "ISO, MDY", "default_transaction_isolation": "read committed", "default_transaction_read_only": "off",
    "extra_float_digits": "1", "in_hot_standby": "off", "integer_datetimes": "on", "intervalstyle": "postgres",
    "is_superuser": "off", "lc_collate": "C", "lc_ctype": "C", "lc_monetary": "C", "lc_numeric": "C", "lc_time": "C",
    "max_identifier_length": "63", "role": "none", "search_path": '"$user", public', "server_encoding": "UTF8",
    "standard_conforming_strings": "on", "statement_timeout": "0", "transaction": "", "transaction_isolation":
    "read committed", "transaction_read_only": "off",
}  # fmt: skip
"""Settings of PostgreSQL that clients ask for, and what they are here while nobody sets them."""


@dataclass(frozen=True, slots=True)
class Settings:
    """``epsilon`` prices a statement, or ``target_error`` does, whichever was set last; ``reuse`` answers repeated
    releases from the store; ``consistent`` tables add up, others are the raw unbiased measurements; ``intervals`` puts
    the ends of each interval beside its column; ``every_digit`` shows those of doubles on the wire that are noise, too;
    ``other`` adds groups that are not shown up in a row of their own;
    ``empty`` shows or hides declared groups that nobody may be in; ``notices`` tell a client of the wire what was paid;
    ``stale`` answers with older numbers what the budget does not admit;
    ``watch`` names the watch that statements are, and ``watch_every`` is how often it tells of an alarm that lasts;
    ``stages`` share the price of the statement that they are part of;
    others are the client's. ``home`` is the time zone that the client brought along, to which a reset goes back.
    """

    epsilon: Fraction
    reuse: bool = True
    consistent: bool = True
    intervals: bool = False
    every_digit: bool = False
    other: bool = False
    empty: Empty = Empty.AUTO
    target_error: Target | None = None
    notices: bool = True
    stale: bool = False
    watch: str = ""
    watch_every: Refresh | None = None
    stages: int = 1
    home: str = UTC
    others: MappingProxyType[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def usual(cls, owner: StatementSection, home: str = UTC) -> Settings:
        """The settings of a session that has changed none."""
        return cls(epsilon=owner.epsilon, stale=owner.stale == "allow", home=home)

    def changed(self, name: str | None, value: str | None, owner: StatementSection) -> Settings:
        """The settings after SET or RESET. Raises DataError 22023 for what the owner does not allow.

        >>> owner = StatementSection(epsilon=Fraction(1, 10), max_epsilon=Fraction(1), delta=Fraction(0))
        >>> Settings(Fraction(1, 10)).changed("dpsql.epsilon", "0.5", owner).epsilon
        Fraction(1, 2)
        """
        if name is None:
            usual = Settings.usual(owner, self.home)
            return usual if self.home == UTC else usual.changed("timezone", None, owner)
        if name == "dpsql.epsilon":
            if value is None:
                return replace(self, epsilon=owner.epsilon)
            return replace(self, epsilon=_epsilon(value, owner), target_error=None)
        if name == "dpsql.target_error":
            return replace(self, target_error=None if value is None else target(value))
        if name == "dpsql.reuse":
            return replace(self, reuse=True if value is None else _switch(name, value))
        if name == "dpsql.consistent":
            return replace(self, consistent=True if value is None else _switch(name, value))
        if name == "dpsql.intervals":
            return replace(self, intervals=value is not None and _switch(name, value))
        if name == "dpsql.digits":
            return replace(self, every_digit=value is not None and _digits(value))
        if name == "dpsql.other":
            return replace(self, other=value is not None and _switch(name, value))
        if name == "dpsql.empty_groups":
            return replace(self, empty=Empty.AUTO if value is None else _empty(value))
        if name == "dpsql.notices":
            return replace(self, notices=True if value is None else _switch(name, value))
        if name == "dpsql.stale":
            return replace(self, stale=owner.stale == "allow" if value is None else _stale(value))
        if name == "dpsql.watch":
            return replace(self, watch="" if value is None else _watch(value))
        if name == "dpsql.watch_every":
            return replace(self, watch_every=None if value is None else _every(value))
        if name.startswith("dpsql."):
            raise _unknown(name)
        if name == "statement_timeout" and value is not None:
            _seconds(value)
        if name == "timezone":
            value = _zone(self.home if value is None else value)
        others = {key: old for key, old in self.others.items() if key != name}
        if value is not None:
            others[name] = value
        return replace(self, others=MappingProxyType(dict(list(others.items())[-100:])))

    def shown(self, name: str) -> str:
        """The value of a setting, as text."""
        if name == "dpsql.epsilon":
            return f"{float(self.epsilon):g}"
        if name == "dpsql.target_error":
            return str(self.target_error or "off")
        if name == "dpsql.reuse":
            return "on" if self.reuse else "off"
        if name == "dpsql.consistent":
            return "on" if self.consistent else "off"
        if name == "dpsql.intervals":
            return "on" if self.intervals else "off"
        if name == "dpsql.digits":
            return "all" if self.every_digit else "meaningful"
        if name == "dpsql.other":
            return "on" if self.other else "off"
        if name == "dpsql.empty_groups":
            return str(self.empty)
        if name == "dpsql.notices":
            return "on" if self.notices else "off"
        if name == "dpsql.stale":
            return "allow" if self.stale else "refuse"
        if name == "dpsql.watch":
            return self.watch
        if name == "dpsql.watch_every":
            return str(self.watch_every or "off")
        if name.startswith("dpsql."):
            raise _unknown(name)
        if name == "timezone":
            return self.zone
        if name not in self.others and name not in _OF_CLIENTS:
            hint = f"there are {', '.join(NAMES)}"
            if name.partition(" ")[0] in ("tables", "columns", "databases", "schemas"):
                hint = "SELECT * FROM dpsql.columns lists tables and columns"
            raise DataError(f"unrecognized configuration parameter {name!r}", sqlstate="42704", hint=hint)
        return self.others.get(name, _OF_CLIENTS.get(name, ""))

    @property
    def zone(self) -> str:
        """The time zone in which a ``timestamptz`` is shown, cut into days and compared with literals."""
        return self.others.get("timezone", UTC)

    @property
    def own_zone(self) -> str | None:
        """The same, where the session has set one, or its client has."""
        return self.others.get("timezone")

    @property
    def timeout(self) -> float | None:
        """Seconds that a statement may run by the client's own ``statement_timeout``; None is the owner's limit."""
        return _seconds(self.others.get("statement_timeout", "0")) or None


def _stale(value: str) -> bool:
    word = value.strip().strip("'\"").lower()
    if word not in ("allow", "refuse"):
        raise DataError("dpsql.stale is allow or refuse", sqlstate="22023", hint="SET dpsql.stale = allow")
    return word == "allow"


def _unknown(name: str) -> DataError:
    return DataError(f"there is no setting {name}", sqlstate="22023", hint=f"there are {', '.join(NAMES)}")


def _zone(value: str) -> str:
    """The canonical name of a time zone.

    >>> _zone("'europe/berlin'"), _zone("-3"), _zone("Zulu")
    ('Europe/Berlin', 'Etc/GMT+3', 'UTC')
    """
    found = zone_of(value.strip().strip("'\""))
    if found is None:
        raise no_zone(value)
    return found


def no_zone(value: str) -> DataError:
    spelt = value.strip().strip("'\"")[:40]
    hint = "name one of the IANA database, as in SET TIME ZONE 'Europe/Berlin', or whole hours: SET TIME ZONE 2"
    return DataError(f'invalid value for parameter "TimeZone": "{spelt}"', sqlstate="22023", hint=hint)


_UNITS = {"": 0.001, "us": 1e-6, "ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"\s*(\d{1,9}(?:\.\d{1,6})?)\s*(us|ms|s|min|h|d|)\s*")


def _seconds(value: str) -> float:
    """A duration as PostgreSQL writes it; a bare number counts milliseconds.

    >>> _seconds("1500"), _seconds("'2min'")
    (1.5, 120.0)
    """
    found = _DURATION.fullmatch(value.strip().strip("'"))
    if found is None:
        raise DataError("this is not a duration", sqlstate="22023", hint="SET statement_timeout = '10s'")
    return float(found[1]) * _UNITS[found[2]]


# Without a bound on its exponent, one number takes all memory and all time.
_PRICE = re.compile(
    r"\+?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,2})?|\d{1,20}/0*[1-9]\d{0,19}", re.ASCII
)


def _epsilon(value: str, owner: StatementSection) -> Fraction:
    text = value.strip().strip("'").strip()
    epsilon = Fraction(text) if _PRICE.fullmatch(text) else Fraction(0)
    if not 0 < epsilon <= owner.max_epsilon or epsilon.denominator > 10**12:
        most = f"{float(owner.max_epsilon):g}"
        raise DataError(
            f"dpsql.epsilon is a number above 0 and at most {most}",
            sqlstate="22023",
            hint=f"SET dpsql.epsilon = {float(owner.epsilon):g}",
        )
    return epsilon


def _watch(value: str) -> str:
    """The name of a watch; none where it is empty.

    >>> _watch("'too few logins'"), _watch("off")
    ('too few logins', '')
    """
    name = value.strip().strip("'").strip()
    if len(name) > 100:
        raise DataError("the name of a watch has at most 100 characters", sqlstate="22023", hint="choose a shorter one")
    return "" if name.lower() in ("off", "none") else name


def _every(value: str) -> Refresh | None:
    """How often a watch tells of an alarm that lasts; None for each refresh.

    >>> print(_every("'6 hours'"), _every("off"))
    6 hours None
    """
    text = value.strip().strip("'").strip()
    found = Refresh.parsed(text)
    if found is None and text.lower() not in ("off", "none", ""):
        raise DataError(
            "dpsql.watch_every is a length of time, or off", sqlstate="22023", hint="SET dpsql.watch_every = '1 day'"
        )
    return found


def _empty(value: str) -> Empty:
    try:
        return Empty(value.strip().strip("'").lower())
    except ValueError:
        raise DataError(
            "dpsql.empty_groups is auto, show or hide", sqlstate="22023", hint="SET dpsql.empty_groups = auto"
        ) from None


def _digits(value: str) -> bool:
    known = {"all": True, "meaningful": False}.get(value.strip().strip("'").lower())
    if known is None:
        raise DataError("dpsql.digits is meaningful or all", sqlstate="22023", hint="SET dpsql.digits = all")
    return known


def _switch(name: str, value: str) -> bool:
    known = _SWITCH.get(value.strip().strip("'").lower())
    if known is None:
        raise DataError(f"{name} is on or off", sqlstate="22023", hint=f"SET {name} = on")
    return known
