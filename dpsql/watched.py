"""Watches: whether an aggregate of people has come above a number, paid for once in a window, then asked for free.

As in :mod:`dpsql.answer`, the order of the lines in :meth:`Watching.answer` is the guarantee: charge durably, draw the
secret threshold and keep it durably, read, compare, keep the answer durably, answer. An answer that could not be kept
since somebody else had one first is thrown away, so that all answers of a watch are one sequence, and none follows the
first TRUE (:mod:`dpsql.mechanisms.above_threshold`). A crash loses budget, or one answer, never privacy.

A watch answers about new rows, so it is paid in each window of a budget in which it answers, and in each window of the
share of who asks. The first who asks in a window charges again and draws a fresh threshold: the old answers tell
something of the old one, and a charge pays for a threshold of which nothing is told yet. An answer that was given
before is given again without a charge; it tells nothing new.

An alarm that lasts would be paid at each refresh. Where who asks says how often they want to be told, a TRUE is given
again until the next period of that length begins, whatever the data are meanwhile: it reads nothing and draws nothing,
and rests on the clock and an answer that was given. A FALSE is asked anew at each refresh, as ever.

A watch over times that move, such as the last 24 hours, is one watch: the integers that are compared with one
threshold may be others each time, as long as one person moves each of them by no more than the sensitivity that was
paid for, and up alone where that was paid for. So the times in a statement are no part of what is watched; the
sensitivity, the ways it goes, the step and the number that is compared are.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt

from dpsql.accounting import PrivacyLoss
from dpsql.answer import PAID_AGAIN, Answering, Asked
from dpsql.calibrate import affordable
from dpsql.errors import NotSupportedError
from dpsql.ledger import WatchState
from dpsql.mechanisms import AboveThreshold
from dpsql.mechanisms.sampling import Sampler
from dpsql.prepare import Prepared
from dpsql.refresh import Refresh
from dpsql.reply import Answer, AnswerColumn, Budget
from dpsql.settings import Settings
from rewriter.front_door import WATCHED_FORM, WatchedComparison
from rewriter.plan import Linear, Plan

_TIME = re.compile(r"'\d{4,6}-\d\d-\d\d[^']*'")
"""A time in the SQL of a plan, which a window that moves has another of at each refresh."""


@dataclass(frozen=True, slots=True)
class WatchedStatement:
    """A statement that is watched: ``shown`` is the statement as it is asked, ``prepared`` asks for the aggregate of
    its comparison alone, which is ``sign`` times at least ``least`` steps where the answer is TRUE. With two ends, the
    first and the last number of steps ``inside`` of them, it is how far inside the aggregate is: the lesser of two
    numbers that a person moves by as much as the aggregate, so it is moved by no more. ``one_way``: one person more
    never makes the aggregate smaller. How far inside it is may go both ways."""

    shown: Prepared
    prepared: Prepared
    plan: Plan
    sign: int
    least: int
    sensitivity: int
    one_way: bool
    inside: tuple[int, int] | None = None
    of_none: str = ""

    def compared(self, integer: int) -> int:
        """What is compared with the threshold.

        >>> from types import SimpleNamespace
        >>> both = SimpleNamespace(sign=1, inside=(10, 20))
        >>> [WatchedStatement.compared(both, integer) for integer in (8, 10, 16, 23)]
        [-2, 0, 4, -3]
        """
        if self.inside is not None:
            low, high = self.inside
            integer = min(integer - low, high - integer)
        return self.sign * integer

    @property
    def question(self) -> tuple[object, ...]:
        """What is watched, whatever the times of its window."""
        (statistic,) = self.plan.statistics
        moved = (self.sensitivity, self.one_way)
        asked = (_TIME.sub("?", self.plan.sql), statistic.granularity, self.sign, self.least, moved)
        return asked if self.inside is None else (*asked, self.inside)


def watched_statement(shown: Prepared, prepared: Prepared, comparison: WatchedComparison) -> WatchedStatement:
    """The integers of a comparison. Raises :class:`NotSupportedError` where there is not one integer behind it."""
    options = prepared.program.options
    plan = options[0].by_norm[0] if len(options) == 1 and len(options[0].by_norm) else None
    outputs = () if plan is None else plan.outputs
    known = plan is not None and not plan.keys and len(plan.statistics) == len(outputs) == 1 and not plan.choices
    estimator = outputs[0].estimator if known else None
    unknown = prepared.program.missing or prepared.earlier is not None
    if plan is None or not isinstance(estimator, Linear) or len(estimator.terms) != 1 or unknown:
        raise NotSupportedError("this statement cannot be watched", sqlstate="0A000", hint=WATCHED_FORM)
    ((_, weight),) = estimator.terms
    (block,) = plan.blocks
    # Of one integer all norms are the same; a person moves it by a whole number of steps.
    moved = block.sensitivity.l1 if block.sensitivity.l1 is not None else _root_up(block.sensitivity.l2_squared)
    least = comparison.threshold(Fraction(weight))
    inside = comparison.inside(Fraction(weight))
    one_way = block.rises and inside is None
    return WatchedStatement(shown, prepared, plan, comparison.sign, least, moved, one_way, inside, comparison.of_none)


_IN = " told in "


def _stands(state: WatchState, version: str, alarm: str) -> bool:
    """Whether an answer is given again: of these data, or a TRUE of the present period of ``alarm``.

    >>> kept = WatchState("c", 7, 1, "v1 told in 9", True)
    >>> [_stands(kept, *now) for now in (("v1", " told in 10"), ("v2", " told in 9"), ("v2", " told in 10"))]
    [True, True, False]
    """
    known = state.version
    of_these_data = known == version or known.startswith(version + _IN)
    return state.answer is not None and (of_these_data or bool(state.answer and alarm and known.endswith(alarm)))


def _root_up(square: int) -> int:
    root = isqrt(square)
    return root if root * root == square else root + 1


class Watching:
    """Answers watched statements, for all sessions of a proxy. Thread-safe."""

    def __init__(self, answering: Answering, sampler: Sampler) -> None:
        self._answering = answering
        self._opened = answering.opened
        self._sampler = sampler

    def answer(self, asked: Asked, name: str, watched: WatchedStatement, budget: Callable[[], Budget]) -> Answer:
        """TRUE or FALSE. Raises :class:`dpsql.errors.Error`."""
        opened, plan, patience, settings = self._opened, watched.plan, asked.patience, asked.settings
        states, key = opened.ledger.watches, self._key(name, watched, settings)
        with affordable():
            mechanism = AboveThreshold.of(max(watched.sensitivity, 1), settings.epsilon)
        reading, before = self._answering.reader.reading([plan]), len(asked.receipt.ids)
        with opened.purchases.claimed({key}, patience):
            while True:
                patience.check()
                rows = opened.rows([plan])
                version, state = f"{opened.version(plan)} {plan.identity}", states.read(key)
                alarm = self._alarm(settings.watch_every)
                if state is not None and _stands(state, version, alarm):
                    break
                with opened.turn(patience, asked.analyst, rows) as turn:
                    state = self._paid(asked, watched, key, state, mechanism)
                    if state is None:
                        continue
                    ((exact,),) = reading.table(plan, patience, turn).statistics.values()
                    above = mechanism.above(watched.compared(int(exact)), state.threshold, self._sampler)
                after = WatchState(state.charge, state.threshold, state.asked + 1, version + alarm, above)
                if states.change(key, state, after):
                    state = after
                    break
        assert state is not None  # noqa: S101  both ways out of the loop have one
        return self._reply(asked, watched, name, state, mechanism, len(asked.receipt.ids) - before, budget)

    def _paid(
        self, asked: Asked, watched: WatchedStatement, key: str, state: WatchState | None, mechanism: AboveThreshold
    ) -> WatchState | None:
        """The state of a watch that may answer: paid in the windows that are open, and not ended. None where another
        proxy has begun one meanwhile."""
        ledger, mine = self._opened.ledger, False
        loss = self._price(asked, watched)
        while state is None or state.answer or not ledger.pays_now([state.charge], asked.analyst):
            tables, sql = watched.prepared.program.private_tables, watched.shown.sql
            charge = ledger.charge(asked.analyst, loss, sql, tables, asked.receipt)
            begun = WatchState(charge, mechanism.noisy(watched.least, self._sampler))
            if not ledger.watches.change(key, state, begun):
                return None
            asked.receipt.again |= mine
            state, mine = begun, True
        return state

    def _alarm(self, every: Refresh | None) -> str:
        """The name of the present period in which a TRUE is given again; none where it stands for its refresh alone."""
        return "" if every is None else f"{_IN}{self._told(every).name(self._opened.clock.read())}"

    def _told(self, every: Refresh) -> Refresh:
        return replace(every, zone=self._opened.policy.clock.zone)

    def _price(self, asked: Asked, watched: WatchedStatement) -> PrivacyLoss:
        accounting = self._opened.accountant.accounting
        return AboveThreshold.price(accounting, asked.settings.epsilon, one_way=watched.one_way)

    def _key(self, name: str, watched: WatchedStatement, settings: Settings) -> str:
        """What is watched under a name: another comparison, price, bound or interval is another watch."""
        every = () if settings.watch_every is None else (str(settings.watch_every),)
        facts = (name, *watched.question, settings.epsilon, *every)
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def _reply(
        self,
        asked: Asked,
        watched: WatchedStatement,
        name: str,
        state: WatchState,
        mechanism: AboveThreshold,
        times: int,
        budget: Callable[[], Budget],
    ) -> Answer:
        ((column, kind),) = watched.shown.columns
        (statistic,) = watched.plan.statistics
        width = float(mechanism.half_width(0.05) * statistic.granularity)
        return Answer(
            (AnswerColumn(column, kind),),
            ((bool(state.answer),),),
            ((None,),),
            price=self._price(asked, watched) * times,
            epsilon=asked.settings.epsilon * times,
            budget=budget,
            notices=(
                *((PAID_AGAIN,) if asked.receipt.again else ()),
                f"watch {name}: {self._until(asked, state)}",
                f"95 of 100 answers are right about numbers {width:.6g} or more away from what they are compared with",
                *((watched.of_none,) if watched.of_none else ()),
                *watched.prepared.program.notes,
                *watched.plan.notes,
            ),
        )

    def _until(self, asked: Asked, state: WatchState) -> str:
        """When who asks pays again."""
        ledger, again = self._opened.ledger, "who asks after the next refresh pays again"
        if state.answer and (every := asked.settings.watch_every) is not None:
            told = self._told(every)
            until = told.shown(told.end(self._opened.clock.read()))
            return (
                f"it is TRUE, and is said to be so until {until}: who asks after that and the next refresh pays again"
            )
        if state.answer:
            return f"it is TRUE, and ends: {again}"
        if not ledger.pays_now([state.charge], asked.analyst):
            return f"it was paid in a window of the budget that is over: {again}"
        standings = (*ledger.standings(), *ledger.standings(asked.analyst))
        ends = [(one.renews, one.accountant.per) for one in standings if one.renews and one.accountant.per]
        if not ends:
            return "as long as it is FALSE, asking again is free"
        when, per = min(ends, key=lambda end: end[0])
        return f"as long as it is FALSE, asking again is free until {per.shown(when)}, when a window of the budget ends"
