"""Charts of answers with their error bars, by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsql.errors import NotSupportedError, ProgrammingError, install
from dpsql.releases import as_days, cell, unbroken

if TYPE_CHECKING:
    from dpsql.reply import Answer


def plotted(answer: Answer, axes: Any = None) -> Any:
    """The matplotlib ``Axes`` of a chart: bars with error bars, or along time a line with error bars, which breaks
    where a group is missing.

    The first column is what is along the axis, where it was not measured; each measured column is drawn.
    """
    try:
        from matplotlib import pyplot
    except ImportError:
        raise NotSupportedError("plot() needs matplotlib", sqlstate="0A000", hint=install("notebook")) from None
    margins = list(answer.margins)
    measured = [at for at in range(len(answer.columns)) if any(row[at] is not None for row in margins)]
    drawn = measured or [at for at, column in enumerate(answer.columns) if column.type.numeric]
    if not drawn or not answer.rows:
        raise ProgrammingError("there is no number to draw", sqlstate="22023")
    axes = pyplot.subplots()[1] if axes is None else axes
    along = 0 if 0 not in drawn else None
    temporal = along == 0 and answer.columns[0].type.temporal
    names = [str(row) for row in range(len(answer.rows))]
    if along is not None:
        names = [cell(row[0]) for row in answer.rows]
        axes.set_xlabel(answer.columns[0].name)
    places = [row[0] for row in answer.rows] if temporal else list(range(len(names)))
    for number, at in enumerate(drawn):
        label = answer.columns[at].name
        known = [row for row in range(len(names)) if answer.rows[row][at] is not None and places[row] is not None]
        values = [float(answer.rows[row][at]) for row in known]  # type: ignore[arg-type]
        ends = answer.ends(at)
        errors = [_reach(value, ends[row]) for row, value in zip(known, values, strict=True)]
        if temporal:
            own = sorted(zip((places[row] for row in known), values, errors, strict=True))
            colour = None
            days = [day for when, *_ in own if (day := as_days(when)) is not None]
            for part in unbroken(days) if len(days) == len(own) else [range(len(own))]:
                times, numbers, reaches = zip(*own[part.start : part.stop], strict=True)
                drawn_as: dict[str, Any] = {"label": label} if colour is None else {"color": colour}
                mark = "o" if len(times) == 1 else ""
                line = axes.errorbar(
                    times, numbers, yerr=list(zip(*reaches, strict=True)), capsize=3, marker=mark, **drawn_as
                )
                colour = line.lines[0].get_color()
        else:
            width = 0.8 / len(drawn)
            shifted = [row + (number - (len(drawn) - 1) / 2) * width for row in known]
            axes.bar(shifted, values, width, yerr=list(zip(*errors, strict=True)) or None, capsize=3, label=label)
    if not temporal:
        slanted = max(map(len, names)) > 6
        axes.set_xticks(
            places, names, rotation=45 if slanted else 0, ha="right" if slanted else "center", rotation_mode="anchor"
        )
    if len(drawn) == 1:
        axes.set_ylabel(answer.columns[drawn[0]].name)
    else:
        axes.legend()
    return axes


def _reach(value: float, ends: tuple[float, float] | None) -> tuple[float, float]:
    """How far an interval goes below a value and above it; nowhere where none is known."""
    return (0.0, 0.0) if ends is None else (max(value - ends[0], 0.0), max(ends[1] - value, 0.0))
