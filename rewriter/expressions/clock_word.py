"""Texts that PostgreSQL reads as times of the clock, ``'today'`` and ``'now'``, where nobody wrote their type.

Such a text is a time beside a time and a text beside a text. So a literal that is compared keeps its text, and carries
what the clock said: whoever gives it the type of a time reads that.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from rewriter.declared import Kind, Scalar, Type
from rewriter.dialects import Fact


@dataclass(frozen=True, slots=True)
class ClockWord:
    """The same moment as a local timestamp and as an instant of UTC.

    >>> noon = datetime.datetime(2026, 11, 22, 12)
    >>> ClockWord(noon, noon).of_type(Type(Kind.DATE)), ClockWord(noon, noon).of_type(Type(Kind.TEXT))
    (datetime.date(2026, 11, 22), None)
    """

    local: datetime.datetime
    instant: datetime.datetime

    def of_type(self, type_: Type) -> Scalar | None:
        """The moment in the type of a time; None in any other type."""
        times: dict[Kind, Scalar] = {
            Kind.DATE: self.local.date(),
            Kind.TIME: self.local.time(),
            Kind.TIMESTAMP: self.local,
            Kind.TIMESTAMPTZ: self.instant,
        }
        return times.get(type_.kind)


CLOCK_WORD: Fact[ClockWord] = Fact("clock word")
"""What the clock said of a quoted literal without a type."""
