"""Charts as SVG, drawn here: bars with intervals, lines with a band, and how a budget burns down.

Guarantee: every text in them is escaped; they have classes and no styles, so that a page's rules colour them, light and
dark; and a table beside them says the same. Each is drawn twice, for a wide and for a narrow place: a page's rules show
the one that fits, so that no figure is cut off nor too small to read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from dpsql.console.questions import Result, ShownColumn
from dpsql.releases import as_days, cell, unbroken

BOTTOM, TOP = 46.0, 14.0
MOST_BARS = 40
MOST_POINTS = 1000


@dataclass(frozen=True, slots=True)
class ChartFrame:
    """The place of a drawing, in pixels: its size, what its axis takes, and how many labels stand along it."""

    name: str
    width: float
    height: float
    left: float
    labels: int

    def across(self, first: float, last: float) -> Callable[[float], float]:
        """The place of a time between the first and the last."""
        return lambda time: self.left + 8 + (time - first) / (last - first) * (self.width - self.left - 24)


FRAMES = (ChartFrame("wide-place", 720.0, 280.0, 72.0, 6), ChartFrame("narrow-place", 340.0, 240.0, 56.0, 3))


def charts(result: Result) -> tuple[dict[str, str], ...]:
    """The charts of each of the first measured columns, by their kind, the usual one first; none for a single row.

    Bars have the other columns as their names. A line is drawn, too, where one column of times or numbers names the
    groups: it is the usual one along time.
    """
    measured = [column for column in result.columns if column.measured]
    drawn = measured or [column for column in result.columns if _is_plain_number(column)]
    # Beside measured columns a number names its group, such as a year or a code.
    labels = [column for column in result.columns if column not in drawn]
    rows = list(result.shown)
    if len(rows) < 2:
        return ()
    names = [", ".join(column.text(row) for column in labels) if labels else str(row + 1) for row in rows]
    places = [_place_along(labels[0], row) for row in rows] if len(labels) == 1 else []
    along_time = bool(places) and labels[0].temporal
    order = ("a line", "bars") if along_time else ("bars", "a line")
    found = []
    for column in drawn[:4]:
        marks = {row: one for row, name in zip(rows, names, strict=True) if (one := _mark(column, row, name))}
        placed = {row: place for row, place in zip(rows, places, strict=False) if row in marks and place is not None}
        in_order = sorted(placed, key=placed.__getitem__)
        line = line_chart(column.name, [(placed[row], *marks[row]) for row in in_order[:MOST_POINTS]])
        # Groups that are no point of the line, such as NULL, come last.
        bars = [*in_order, *(row for row in marks if row not in placed)] if along_time else marks
        kinds = {"bars": bar_chart(column.name, [marks[row] for row in bars]), "a line": line}
        found.append({kind: kinds[kind] for kind in order if kinds[kind]})
    return tuple(filter(None, found))


def _place_along(label: ShownColumn, row: int) -> float | None:
    """The place of a group on a line: a time's, or a finite number's own; None for all else."""
    value = label.values[row]
    if not label.numeric or value is None:
        return as_days(value)
    number = float(value)  # type: ignore[arg-type]
    return number if math.isfinite(number) else None


Mark = tuple[str, float, float, float]
"""A name, a value, and the ends of its interval."""


def _is_plain_number(column: ShownColumn) -> bool:
    return column.numeric and not column.measured


def _mark(column: ShownColumn, row: int, name: str) -> Mark | None:
    value = column.values[row]
    if value is None or isinstance(value, str) or not math.isfinite(float(value)):  # type: ignore[arg-type]
        return None
    number = float(value)  # type: ignore[arg-type]
    ends = column.ends[row] if column.ends else None
    low, high = (number, number) if ends is None else (float(ends[0]), float(ends[1]))  # type: ignore[arg-type]
    return name, number, low, high


def bar_chart(title: str, marks: Sequence[Mark]) -> str:
    """Bars from 0, each with its interval.

    >>> "<b>" in bar_chart("n", [("<b>", 3.0, 2.0, 4.0), ("x", 1.0, 0.0, 2.0)])
    False
    """
    if not marks:
        return ""
    marks, left_out = marks[:MOST_BARS], len(marks) - MOST_BARS
    said = f" ({left_out} more are in the table)" if left_out > 0 else ""
    return _figure(f"{title} with 95 % intervals{said}", lambda frame: _bars(frame, marks))


def _bars(frame: ChartFrame, marks: Sequence[Mark]) -> list[str]:
    scale = _Scale.of(frame, [0.0, *(end for mark in marks for end in mark[2:])])
    step = (frame.width - frame.left - 8) / len(marks)
    parts = [*_axis(scale)]
    for at, (name, value, low, high) in enumerate(marks):
        left, middle = frame.left + at * step + step * 0.14, frame.left + (at + 0.5) * step
        top, bottom = sorted((scale.place(value), scale.place(0.0)))
        told = f"{name}: {cell(value, high - value)}, 95 %: {cell(low, high - low)} to {cell(high, high - low)}"
        parts.append(f'<g class="mark"><title>{escape(told)}</title>')
        parts.append(
            f'<rect class="bar" x="{left:.1f}" y="{top:.1f}" width="{step * 0.72:.1f}" height="{bottom - top:.1f}"/>'
        )
        if high > low:
            ends, wing = (scale.place(low), scale.place(high)), min(7.0, step * 0.2)
            parts.append(_line("whisker", middle, ends[0], middle, ends[1]))
            parts += [_line("whisker", middle - wing, end, middle + wing, end) for end in ends]
        parts.append("</g>")
        if step > 26 or at % math.ceil(26 / step) == 0:
            parts.append(_label(frame, middle, name, max(4, int(step / 6.5)) if step > 26 else 8))
    return parts


def line_chart(title: str, points: Sequence[tuple[float, str, float, float, float]]) -> str:
    """A line along time, with a band from the lower to the upper ends. It breaks where a group is missing."""
    if len(points) < 2 or points[0][0] == points[-1][0]:
        return ""
    return _figure(f"{title} with its 95 % band", lambda frame: _lines(frame, points))


def _lines(frame: ChartFrame, points: Sequence[tuple[float, str, float, float, float]]) -> list[str]:
    scale = _Scale.of(frame, [end for point in points for end in point[3:]])
    across = frame.across(points[0][0], points[-1][0])
    line, below, above = (
        [f"{across(point[0]):.1f},{scale.place(height):.1f}" for point, height in zip(points, heights, strict=True)]
        for heights in zip(*(point[2:] for point in points), strict=True)
    )
    parts = _axis(scale)
    alone = set()
    for places in unbroken([point[0] for point in points]):
        own = slice(places.start, places.stop)
        if len(places) == 1:
            alone.add(places.start)
            time, _, _, low, high = points[places.start]
            middle = across(time)
            parts.append(_line("whisker", middle, scale.place(low), middle, scale.place(high)))
            continue
        parts.append(f'<polygon class="band" points="{" ".join([*above[own], *reversed(below[own])])}"/>')
        parts.append(f'<polyline class="line" points="{" ".join(line[own])}"/>')
    for point in (one for at, one in enumerate(points) if len(points) <= 120 or at in alone):
        told = f"{point[1]}: {cell(point[2], point[4] - point[2])}"
        parts.append(
            f'<circle class="dot" cx="{across(point[0]):.1f}" cy="{scale.place(point[2]):.1f}" r="3">'
            f"<title>{escape(told)}</title></circle>"
        )
    every = max(1, math.ceil(len(points) / frame.labels))
    named = points[every // 2 :: every] if frame.labels < len(points) else points
    return parts + [_label(frame, across(point[0]), point[1], 16) for point in named]


def burn_down(spent: Sequence[tuple[float, str, float]]) -> str:
    """Which part of a budget was left after each charge: a time, its text, and the part that was spent by then."""
    if not spent:
        return ""
    return _figure("what is left of the budget, in per cent", lambda frame: _falling(frame, spent))


def _falling(frame: ChartFrame, spent: Sequence[tuple[float, str, float]]) -> list[str]:
    total = 100.0
    scale = _Scale.of(frame, [0.0, total])
    first, last = spent[0][0] - 60.0, spent[-1][0]
    across = frame.across(first, last)
    steps, left = [f"{across(first):.1f},{scale.place(total):.1f}"], total
    for time, _, gone in spent:
        steps.append(f"{across(time):.1f},{scale.place(left):.1f}")
        left = max(0.0, total - 100.0 * gone)
        steps.append(f"{across(time):.1f},{scale.place(left):.1f}")
    floor = scale.place(0.0)
    area = [*steps, f"{across(last):.1f},{floor:.1f}", f"{across(first):.1f},{floor:.1f}"]
    parts = [*_axis(scale), f'<polygon class="band" points="{" ".join(area)}"/>']
    parts.append(f'<polyline class="line" points="{" ".join(steps)}"/>')
    return [*parts, _label(frame, across(first), spent[0][1], 20), _label(frame, across(last), spent[-1][1], 20)]


class _Scale:
    """Numbers to heights, from a round number below to one above."""

    def __init__(self, frame: ChartFrame, low: float, high: float, step: float) -> None:
        self.frame, self.low, self.high, self.step = frame, low, high, step

    @classmethod
    def of(cls, frame: ChartFrame, values: Iterable[float]) -> _Scale:
        known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        low, high = min(known), max(known)
        if high <= low:
            low, high = min(low, 0.0), max(high, low + 1.0)
        rough = (high - low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
        return cls(frame, math.floor(low / step) * step, math.ceil(high / step) * step, step)

    def place(self, value: float) -> float:
        part = (value - self.low) / (self.high - self.low)
        return self.frame.height - BOTTOM - min(max(part, -1.0), 2.0) * (self.frame.height - BOTTOM - TOP)

    @property
    def ticks(self) -> list[float]:
        count = round((self.high - self.low) / self.step)
        return [self.low + at * self.step for at in range(count + 1)]


def _axis(scale: _Scale) -> list[str]:
    found, frame = [], scale.frame
    for tick in scale.ticks:
        height = scale.place(tick)
        found.append(_line("grid", frame.left, height, frame.width - 8, height))
        found.append(f'<text class="tick" x="{frame.left - 8:.1f}" y="{height + 4:.1f}">{_short(tick)}</text>')
    return found


def _short(number: float) -> str:
    """A tick's number.

    >>> _short(2500000.0), _short(0.05), _short(1200.0), _short(0.0)
    ('2.5M', '0.05', '1,200', '0')
    """
    for size, letter in ((1e9, "G"), (1e6, "M")):
        if abs(number) >= size:
            return f"{number / size:.4g}{letter}"
    return f"{number:,.6g}" if abs(number) >= 1e-12 else "0"


def _line(kind: str, left: float, top: float, right: float, bottom: float) -> str:
    return f'<line class="{kind}" x1="{left:.1f}" y1="{top:.1f}" x2="{right:.1f}" y2="{bottom:.1f}"/>'


def _label(frame: ChartFrame, middle: float, text: str, most: int) -> str:
    """A name below the axis, as far inside as its letters need."""
    short = text if len(text) <= most else text[: most - 1] + "…"
    half = 3.7 * len(short)
    inside = min(max(middle, half), frame.width - half)
    return f'<text class="label" x="{inside:.1f}" y="{frame.height - BOTTOM + 18:.1f}">{escape(short)}</text>'


def _figure(title: str, drawn: Callable[[ChartFrame], Sequence[str]]) -> str:
    said = escape(title)
    pictures = "".join(
        f'<svg class="{frame.name}" viewBox="0 0 {frame.width:.0f} {frame.height:.0f}" role="img" aria-label="{said}">'
        f"{''.join(drawn(frame))}</svg>"
        for frame in FRAMES
    )
    return f'<figure class="chart">{pictures}<figcaption>{said}</figcaption></figure>'
