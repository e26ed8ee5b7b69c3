"""Which way to pick the values of a choice is the most accurate for its share of the price. Looks at no data.

To add a way, write a class below :class:`dpsql.mechanisms.quantiles.Pick` and put it into ``WAYS_TO_PICK``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dpsql.accounting import Accounting, PrivacyLoss
from dpsql.calibrate.mode_pick import Modal
from dpsql.calibrate.quantile_picks import Joined, OneByOne
from dpsql.mechanisms.quantiles import Pick, RankError, TooFar
from rewriter.plan import Choice

WAYS_TO_PICK: tuple[type[Pick], ...] = (Modal, OneByOne, Joined)
"""The first is taken of two that are as accurate."""

__all__ = ["WAYS_TO_PICK", "Joined", "picked", "rank_notes"]


def picked(choice: Choice, accounting: Accounting, share: PrivacyLoss) -> Pick:
    """The most accurate way to pick all values of a choice. Raises :class:`TooFar`."""
    found = [one for way in WAYS_TO_PICK if (one := way.affordable(choice, accounting, share)) is not None]
    if not found:
        raise TooFar("the price is too low for these quantiles")
    return min(found, key=lambda one: one.variance)


def rank_notes(errors: Iterable[RankError]) -> Iterator[str]:
    """How far the ranks of picked values may be off, in words: kind by kind."""
    kinds: dict[type[RankError], list[RankError]] = {}
    for one in errors:
        kinds.setdefault(type(one), []).append(one)
    for kind in sorted(kinds, key=lambda kind: kind.order):
        yield from kind.notes(kinds[kind])
