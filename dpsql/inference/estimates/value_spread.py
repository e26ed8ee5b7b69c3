"""Where the values of a column lie, as far as it is known: evenly over their range, or as a profile tells.

What is foretold of quantiles and variances hangs on it: the error of a quantile is how far apart values lie near to it,
and that of a standard deviation is the larger, the smaller it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np


@dataclass(frozen=True, slots=True)
class Spread:
    """Where values lie: parts of all between neighbours of ``ends``, evenly within each; they add up to 1.

    >>> even = Spread.even(0, 100)
    >>> even.at(0.25), even.moments(0, 100)
    (25.0, (0.5, 0.3333333333333333))
    """

    ends: tuple[float, ...]
    parts: tuple[float, ...]

    @classmethod
    def even(cls, low: float, high: float) -> Spread:
        """Evenly over a range."""
        return cls((float(low), float(high)), (1.0,))

    def within(self, low: float, high: float) -> Spread:
        """Of those values that are between two others; evenly, where none is known to be.

        >>> Spread((0.0, 10.0, 40.0), (0.5, 0.5)).within(5, 25)
        Spread(ends=(5.0, 10.0, 25.0), parts=(0.5, 0.5))
        """
        ends = np.clip(np.asarray(self.ends), low, high)
        widths = np.diff(np.asarray(self.ends))
        parts = np.asarray(self.parts) * np.diff(ends) / np.where(widths > 0, widths, 1.0)
        total = float(parts.sum())
        if total <= 0:
            return Spread.even(low, high)
        kept = np.diff(ends) > 0
        return Spread((float(low), *ends[1:][kept].tolist()), tuple((parts[kept] / total).tolist()))

    def at(self, fraction: float) -> float:
        """The value below which this part of all lies."""
        below = [0.0, *accumulate(self.parts)]
        return float(np.interp(min(max(fraction, 0.0), below[-1]), below, self.ends))

    def reach(self, fraction: float, off: float) -> float:
        """How far the value at a fraction is from those whose ranks are off by a part of all, to the farther side.
        MIN and MAX are aimed at from inside: the others end at the range."""
        if fraction in (0, 1):
            inside = self.at(abs(fraction - off))
            return abs(self.ends[-1 if fraction else 0] - inside)
        low, middle, high = (self.at(fraction + by) for by in (-off, 0.0, off))
        return max(
            middle - (low if off < fraction else self.ends[0]), (high if off < 1 - fraction else self.ends[-1]) - middle
        )

    def moments(self, low: float, high: float) -> tuple[float, float]:
        """The means of t and t², t = (x - low) / (high - low) of values x moved into [low, high]."""
        width = high - low
        if width <= 0:
            return 0.0, 0.0
        t = np.clip((np.asarray(self.ends) - low) / width, 0.0, 1.0)
        a, b, parts = t[:-1], t[1:], np.asarray(self.parts)
        return float((parts * (a + b) / 2).sum()), float((parts * (a * a + a * b + b * b) / 3).sum())
