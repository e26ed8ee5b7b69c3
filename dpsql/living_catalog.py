"""What the policy declares at an instant: ranges whose end follows the clock, ``range: [2024-01-01, now]``.

Guarantee: what is declared follows from the policy and the clock alone. Of a table that refreshes, ranges stand as long
as its answers do: they end where the period began that the clock is in, however long its ticks are.
"""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable
from dataclasses import dataclass

from dpsql.refresh import Refresh
from rewriter.declared import Catalog, Scalar


@dataclass(frozen=True, slots=True)
class DatedCatalog:
    """A catalog at an instant, and the ends of its ranges that follow the clock: another catalog has other ends."""

    catalog: Catalog
    ends: tuple[tuple[str, str, Scalar], ...]


class LivingCatalog:
    """A catalog whose ranges follow the clock. Thread-safe.

    ``undated`` is what no instant changes: two that are equal declare the same at every instant. ``zone`` says by whose
    clocks days begin, ``refresh_of`` how long answers about a table stand.
    """

    def __init__(self, undated: Catalog, zone: str, refresh_of: Callable[[str], Refresh | None]) -> None:
        self.undated = undated
        self._zone, self._refresh_of = zone, refresh_of
        self._moving = frozenset(name for name, table in undated.tables.items() if table.moves)
        self._refreshes = {refresh for name in self._moving if (refresh := refresh_of(name)) is not None}
        self._lock = threading.Lock()
        self._dated: dict[tuple[object, ...], DatedCatalog] = {}
        self._last = DatedCatalog(undated, ())

    def at(self, instant: datetime.datetime, tick: datetime.datetime) -> DatedCatalog:
        """What is declared at an instant, in a ``tick`` of the clock: the same object while no end has moved."""
        if not self._moving:
            return self._last
        key = (tick, *(refresh.name(instant) for refresh in self._refreshes))
        with self._lock:
            if key not in self._dated:
                self._dated = {key: self._compute(instant, tick)}
            return self._dated[key]

    def _compute(self, instant: datetime.datetime, tick: datetime.datetime) -> DatedCatalog:
        def present(table: str) -> datetime.datetime:
            refresh = self._refresh_of(table)
            began = tick if refresh is None else refresh.begin(instant)
            return began.astimezone(datetime.UTC).replace(tzinfo=None)

        known = self.undated.at(present, self._zone)
        ends = known.ends_of(self._moving)
        if ends != self._last.ends:
            self._last = DatedCatalog(known, ends)
        return self._last
