"""The guide's picture of the fifty counts: ``python -m tests.bench.workload_picture``.

It is drawn of the figures of ``fifty_counts.json``, which ``python -m tests.bench reconstruction --write`` measures.
Lines that lie on each other are each narrower than the one below, and dashes leave room for dashes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FIGURES = Path(__file__).with_name("fifty_counts.json")
PICTURE = Path(__file__).parents[2] / "dpsql" / "guide" / "pictures" / "workload.svg"
WIDTH, HEIGHT = 760, 380
LEFT, RIGHT, TOP, BOTTOM = 52, 744, 78, 326
GREY, BLUE, GREEN, ORANGE, PINK = "#8a8a8a", "#1f4e8c", "#2f7d4f", "#f0a030", "#f0a0f0"


@dataclass(frozen=True, slots=True)
class Line:
    """A root mean square error of all counts, and the place of each count's own error among its figures."""

    said: str
    figure: str
    colour: str
    width: float
    dashes: str = ""
    shift: float = 0.0
    dots: int | None = None

    def path(self, drawn: str, shift: float = 0.0) -> str:
        dashes = f' stroke-dasharray="{self.dashes}" stroke-dashoffset="{shift:g}"' if self.dashes else ""
        return f'<path d="{drawn}" stroke="{self.colour}" stroke-width="{self.width:g}"{dashes}/>'


LINES = (
    Line("asked one by one", "alone", GREY, 3, dots=1),
    Line("bought as one, as planned", "together", BLUE, 8, dots=2),
    Line("bought as one, numbers as shown", "shown", GREEN, 4.5),
    Line("least of any strategy of unbiased sums", "optimum", ORANGE, 2, "4 14", -11),
    Line("graphical model of the same tables", "model", PINK, 2, "9 9"),
)


def figures() -> dict[str, float | list[list[float]]]:
    found: dict[str, float | list[list[float]]] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return found


def picture(known: Mapping[str, float | list[list[float]]]) -> str:
    """Each count as two dots, by its number of attributes, and a line for each root mean square of all."""
    counts = known["counts"]
    assert isinstance(counts, list)
    ordered = sorted(counts, key=lambda one: (one[0], -one[2]))
    lines = [(one, _error(known, one.figure)) for one in LINES]
    return "\n".join([*_frame(ordered, lines), *_marks(ordered, lines), "</svg>", ""])


def _error(known: Mapping[str, float | list[list[float]]], figure: str) -> float:
    found = known[figure]
    assert isinstance(found, float)
    return found


def _across(place: int, of: int) -> float:
    return LEFT + (RIGHT - LEFT) * (place + 0.5) / of


def _down(error: float, most: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * error / most


def _most(lines: Sequence[tuple[Line, float]]) -> float:
    return max(error for _, error in lines) * 1.15


def _frame(ordered: Sequence[Sequence[float]], lines: Sequence[tuple[Line, float]]) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
        ' font-size="12" fill="#444">'
    )
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
    for error in range(0, int(_most(lines)) + 1, 10):
        at = _down(error, _most(lines))
        yield f'<path d="M{LEFT} {at:.1f}H{RIGHT}" stroke="#eee"/>'
        yield f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{error}</text>'
    for many in sorted({int(one[0]) for one in ordered}):
        inside = [place for place, one in enumerate(ordered) if one[0] == many]
        if inside[0]:
            edge = (_across(inside[0] - 1, len(ordered)) + _across(inside[0], len(ordered))) / 2
            yield f'<path d="M{edge:.1f} {TOP}V{BOTTOM}" stroke="#eee"/>'
        middle = (_across(inside[0], len(ordered)) + _across(inside[-1], len(ordered))) / 2
        yield f'<text x="{middle:.1f}" y="{BOTTOM + 18}" text-anchor="middle">{f"by {many}" if many else "all"}</text>'
    below = f'<text x="{(LEFT + RIGHT) // 2}" y="{BOTTOM + 40}" text-anchor="middle" fill="#777">'
    yield f"{below}{len(ordered)} counts, by their number of attributes</text>"
    middle_of_axis = (TOP + BOTTOM) // 2
    turned = f'transform="rotate(-90 14 {middle_of_axis})" text-anchor="middle" fill="#777"'
    yield f'<text x="14" y="{middle_of_axis}" {turned}>standard error of a number</text>'


def _marks(ordered: Sequence[Sequence[float]], lines: Sequence[tuple[Line, float]]) -> Iterator[str]:
    for number, (line, error) in enumerate(lines):
        at = _down(error, _most(lines))
        yield line.path(f"M{LEFT} {at:.1f}H{RIGHT}", line.shift)
        left, top = LEFT + 345 * (number % 2), 20 + 20 * (number // 2)
        yield line.path(f"M{left} {top - 4}h26")
        yield f'<text x="{left + 34}" y="{top}">{line.said}: {error:.1f}</text>'
    for line, _ in lines:
        if line.dots is not None:
            for place, one in enumerate(ordered):
                x, y = _across(place, len(ordered)), _down(one[line.dots], _most(lines))
                yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{line.colour}"/>'


if __name__ == "__main__":
    PICTURE.write_text(picture(figures()), encoding="utf-8")
