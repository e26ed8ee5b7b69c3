"""Frames of windows: which rows of a partition a function sees. Only constants, only what both engines have."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from rewriter.refused import Refused
from rewriter.statement import only

_MOST = 1_000_000_000
_FIRST, _BEFORE, _CURRENT, _AFTER, _LAST = -2, -1, 0, 1, 2
_FRAME = "42P20"

Edge = tuple[int, int]
"""Where a frame begins or ends: the first row, rows before, the current row, rows after, the last row; how many."""


@dataclass(frozen=True, slots=True)
class WindowFrame:
    """The rows from ``start`` to ``end``. ``rows``: counted row by row, and not by peers of ORDER BY.

    ``given`` is false for the frame that SQL takes where none is written.

    >>> SQL_FRAME.holds_current_row, SQL_FRAME.is_whole
    (True, False)
    """

    rows: bool
    start: Edge
    end: Edge
    given: bool = True

    @property
    def is_whole(self) -> bool:
        return self.start[0] == _FIRST and self.end[0] == _LAST

    @property
    def has_distance(self) -> bool:
        """Whether it reaches so far along the values of ORDER BY: RANGE BETWEEN 6 PRECEDING AND CURRENT ROW."""
        return not self.rows and bool({self.start[0], self.end[0]} & {_BEFORE, _AFTER})

    @property
    def from_first(self) -> bool:
        return self.start[0] == _FIRST

    @property
    def to_last(self) -> bool:
        return self.end[0] == _LAST

    @property
    def holds_current_row(self) -> bool:
        return self.start[0] <= _CURRENT <= self.end[0]

    @property
    def width(self) -> int | None:
        """The most rows that it holds, where that follows from the frame."""
        if not self.rows or self.start[0] == _FIRST or self.end[0] == _LAST:
            return None
        first, last = (count if side > 0 else -count for side, count in (self.start, self.end))
        return max(last - first + 1, 1)

    def sql(self) -> exp.WindowSpec | None:
        """None for SQL's own frame."""
        if not self.given:
            return None
        parts: dict[str, object] = {"kind": "ROWS" if self.rows else "RANGE"}
        for name, (side, count) in (("start", self.start), ("end", self.end)):
            if side == _CURRENT:
                parts[name] = "CURRENT ROW"
                continue
            parts[name] = "UNBOUNDED" if side in (_FIRST, _LAST) else exp.Literal.number(count)
            parts[f"{name}_side"] = "PRECEDING" if side < 0 else "FOLLOWING"
        return exp.WindowSpec(**parts)


SQL_FRAME = WindowFrame(False, (_FIRST, 0), (_CURRENT, 0), given=False)
"""RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW."""
WHOLE = WindowFrame(True, (_FIRST, 0), (_LAST, 0))


def read_frame(spec: exp.Expr) -> WindowFrame:
    """The frame of a window. Raises :class:`Refused`."""
    if spec.args.get("exclude"):
        raise Refused("EXCLUDE is not answered in a frame", hint="leave it out")
    only(spec, frozenset({"kind", "start", "start_side", "end", "end_side"}), "a frame")
    kind = str(spec.args.get("kind")).upper()
    if kind not in ("ROWS", "RANGE"):
        raise Refused(f"{kind} frames are not answered", hint="use ROWS BETWEEN … AND …")
    start = _edge(spec.args.get("start"), spec.args.get("start_side"))
    end = _edge(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"))
    if start[0] > end[0] or start[0] == _LAST or end[0] == _FIRST:
        raise Refused("the frame ends before it begins", hint="write ROWS BETWEEN earlier AND later", sqlstate=_FRAME)
    return WindowFrame(kind == "ROWS", start, end)


def _edge(where: object, side: object) -> Edge:
    after = str(side).upper() == "FOLLOWING"
    if where == "CURRENT ROW":
        return _CURRENT, 0
    if where == "UNBOUNDED":
        return (_LAST if after else _FIRST), 0
    if not isinstance(where, exp.Literal) or not where.is_int or int(where.this) > _MOST:
        raise Refused("a frame needs a constant whole number", hint="write ROWS 3 PRECEDING", sqlstate=_FRAME)
    count = int(where.this)
    if count == 0:
        return _CURRENT, 0
    return (_AFTER if after else _BEFORE), count
