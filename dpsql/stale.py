"""Stale answers: where the budget does not admit a statement, the numbers that were last released for it.

Guarantee: nothing is charged, and no row of people is read: the way of answers here has no turn of the engine, and
nothing is charged without one. Which numbers are given follows from the list of earlier releases, the text, the policy
and the settings. They are those that any analyst of this ledger would have been given for free when they were new.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from fractions import Fraction

from dpsql.answer import Answering, Asked, BudgetLeft
from dpsql.errors import BudgetExceeded
from dpsql.mechanisms.sampling import Sampler
from dpsql.opened import Opened
from dpsql.releases import PastReleases
from dpsql.reply import STALE, Answer

_MOST = 16
"""So many of the latest states of the data are tried."""
_PARTS = (1, 4, 16)
"""Releases for such a part of the price serve, too: of what was released, the most accurate is given."""


class StaleAnswers:
    """The latest released answers of statements, for all sessions of a proxy. Thread-safe."""

    def __init__(self, opened: Opened, sampler: Sampler, *, silent: bool = False) -> None:
        self._opened = opened
        self._sampler = sampler
        self._silent = silent

    def answer(self, asked: Asked, budget: BudgetLeft) -> Answer | None:
        """What was last released for a statement, with a notice of its age; None where nothing was.

        Raises :class:`dpsql.errors.Error`; nothing is charged.
        """
        for standing in self._opened.store.past(_MOST):
            answering = Answering(self._opened.before(standing), self._sampler, silent=self._silent)
            for epsilon in self._epsilons(asked):
                settings = replace(asked.settings, epsilon=epsilon, target_error=None, reuse=True)
                try:
                    found = answering.answer(replace(asked, settings=settings), budget)
                except BudgetExceeded:
                    continue
                return replace(found, notices=(self._note(standing), *found.notices))
        return None

    def _epsilons(self, asked: Asked) -> Iterator[Fraction]:
        usual = min(asked.settings.epsilon, self._opened.policy.statement.epsilon)
        yield from dict.fromkeys((asked.settings.epsilon, *(usual / part for part in _PARTS)))

    def _note(self, standing: PastReleases) -> str:
        first, last = map(self._charged, (standing.first, standing.last))
        when = f"at {first}" if first == last else f"from {first} to {last}"
        return f"{STALE}the budget does not admit this statement, which is answered with numbers released {when}"

    def _charged(self, number: int) -> str:
        """When a charge was made, by its number."""
        ledger = self._opened.ledger
        charges = ledger.charges(limit=max(ledger.extent()[1] - number, 0) + 1)
        when: datetime | None = charges[-1].time if charges else None
        return "a time that is not known" if when is None else f"{when:%Y-%m-%d %H:%M} UTC"
