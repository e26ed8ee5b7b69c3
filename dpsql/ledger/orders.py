"""Orders of an owner about an analyst: to pause, to resume, to change the share. Each is a charge of nothing.

Guarantee: an order is as durable as a charge, is never changed or taken out, and every charge that is begun after it
keeps to it, by whichever process. Nobody else's charge is one: a loss of nothing is not charged otherwise. The declared
total stays what it is, so that no order weakens what all people are promised.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal

from dpsql.accounting import Accountant
from dpsql.errors import Error, error
from dpsql.ledger.tally import Limits

PAUSE: Final = "pause"
RESUME: Final = "resume"
SHARE: Final = "share"
Act = Literal["pause", "resume", "share"]
_ACTS: Mapping[str, Act] = {PAUSE: PAUSE, RESUME: RESUME, SHARE: SHARE}
_WRITTEN = re.compile(r"owner (?P<owner>.*): (?P<act>pause|resume|share)(?: (?P<share>[0-9]+(?:/[0-9]+)?))?", re.DOTALL)
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")

ReadOrders = Callable[[int], tuple[int, Iterable[tuple[str, str]]]]
"""The last number of a ledger, and the analysts and statements of the charges of nothing after a number."""


@dataclass(frozen=True, slots=True)
class Order:
    """What an owner wants of an analyst. ``share``: the ε that is theirs from now on; None is what the policy says.

    >>> order = Order("olga", "share", Fraction(1, 2))
    >>> order.statement, Order.of(order.statement) == order, Order.of("SELECT 1")
    ('owner olga: share 1/2', True, None)
    """

    owner: str
    act: Act
    share: Fraction | None = None

    @classmethod
    def asked(cls, owner: str, act: str, share: str = "") -> Order:
        """An order as an owner writes it; a share is an ε, or ``policy`` or nothing for what the policy says. Raises
        DataError.

        >>> Order.asked("olga", "share", "0.25").share
        Fraction(1, 4)
        """
        known = _ACTS.get(act)
        if known is None:
            raise error(f"there is no order {act[:40]!r}", sqlstate="22023", hint="pause, resume or share")
        written = share.strip() if known == SHARE else ""
        if written in ("", "policy"):
            return cls(owner, known)
        if not _NUMBER.fullmatch(written):
            hint = "the ε that is the analyst's, such as 0.5, or policy"
            raise error(f"a share cannot be {share[:40]!r}", sqlstate="22023", hint=hint)
        return cls(owner, known, Fraction(written))

    @property
    def statement(self) -> str:
        """The line of the ledger."""
        return f"owner {self.owner}: {self.act}" + ("" if self.share is None else f" {self.share}")

    @classmethod
    def of(cls, statement: str) -> Order | None:
        """The order that a line of the ledger is."""
        found = _WRITTEN.fullmatch(statement)
        if found is None:
            return None
        share = found["share"]
        return cls(found["owner"], _ACTS[found["act"]], None if share is None else Fraction(share))


class Orders:
    """The orders of a ledger that hold by now, above the limits that a policy declares. For one thread at a time."""

    def __init__(self, declared: Limits) -> None:
        self._declared = declared
        self._number = 0
        self.paused: frozenset[str] = frozenset()
        self.shares: dict[str, Fraction] = {}
        """Of the analysts whose share is another than the policy's."""
        self.limits: Limits = declared

    def follow(self, read: ReadOrders) -> None:
        """Take up what was ordered since this was asked last."""
        self._number, found = read(self._number)
        for analyst, statement in found:
            if (order := Order.of(statement)) is not None:
                self._take(analyst, order)

    def _take(self, analyst: str, order: Order) -> None:
        if order.act != SHARE:
            alone = frozenset({analyst})
            self.paused = self.paused | alone if order.act == PAUSE else self.paused - alone
            return
        self.shares.pop(analyst, None)
        if order.share is not None:
            self.shares[analyst] = order.share
        shares = {name: self._share(name, epsilon) for name, epsilon in self.shares.items()}
        self.limits = {**self._declared, **shares}

    def _share(self, analyst: str, epsilon: Fraction) -> tuple[Accountant, ...]:
        """The filters of an analyst with another ε: where there is no share, one that renews as the total does."""
        first, *others = self._declared.get(analyst) or self._declared[_EVERYBODY][:1]
        return (replace(first, epsilon=epsilon), *others)


_EVERYBODY = ""


def paused() -> Error:
    """Why a paused analyst is not answered."""
    return error("the owner has paused this analyst", sqlstate="42501", hint="ask the owner; nothing was charged")
