"""Watches: whether an aggregate of people has come above a number, paid for once in a window, then asked for free.

As in :mod:`dpsql.answer`, the order of the lines in :meth:`Watching.answer` is the guarantee: charge durably, draw the
secret threshold and keep it durably, read, compare, keep the answer durably, answer. An answer that could not be kept
since somebody else had one first is thrown away, so that all answers of a watch are one sequence, and none follows the
first TRUE (:mod:`dpsql.mechanisms.above_threshold`). A crash loses budget, or one answer, never privacy.

A watch answers about new rows, so it is paid in each window of a budget in which it answers, and in each window of the
share of who asks. The first who asks in a window charges again and draws a fresh threshold: the old answers tell
something of the old one, and a charge pays for a threshold of which nothing is told yet. An answer that was given
before is given again without a charge; it tells nothing new.

A watch by group is one of each declared group, with a threshold and an end of its own. A person's rows may be in other
groups at other times, however few they are in at one: so the losses of all groups are added up, each is paid out of
one price, and a group that has ended is paid again alone.

An alarm that lasts would be paid at each refresh. Where who asks says how often they want to be told, a TRUE is given
again until the next period of that length begins, whatever the data are meanwhile: it reads nothing and draws nothing,
and rests on the clock and an answer that was given. A FALSE is asked anew at each refresh, as ever.

A watch over times that move, such as the last 24 hours, is one watch: the integers that are compared with one
threshold may be others each time, as long as one person moves each of them by no more than the sensitivity that was
paid for, and up alone where that was paid for. So the times in a statement are no part of what is watched; the
sensitivity, the ways it goes, the step and the number that is compared are.
"""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
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
from dpsql.releases import ExactTable, Key
from dpsql.reply import Answer, AnswerColumn, Budget
from rewriter.declared import Kind
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
    never makes the aggregate smaller. How far inside it is may go both ways. ``items`` are the columns, by group: the
    places of keys, None for the comparison; where none is, the groups are shown of which it is TRUE. ``beyond`` is the
    number that a mean is compared with."""

    shown: Prepared
    prepared: Prepared
    plan: Plan
    sign: int
    least: int
    sensitivity: int
    one_way: bool
    items: tuple[int | None, ...] = (None,)
    inside: tuple[int, int] | None = None
    of_none: str = ""
    beyond: Fraction | None = None

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

    def right(self, width: float) -> str:
        """How far a number has to be from its threshold for 95 right answers of 100."""
        if self.beyond is None:
            said = f"95 of 100 answers are right about numbers {width:.6g} or more away"
            return f"{said} from what they are compared with"
        return (
            f"a mean is compared by the sum of how far its values are beyond {float(self.beyond):.6g}:"
            f" 95 of 100 answers are right where this sum is {width:.6g} or more away from 0,"
            f" as of 1,000 rows whose mean is {width / 1000:.6g} away"
        )


def watched_statement(shown: Prepared, prepared: Prepared, comparison: WatchedComparison) -> WatchedStatement:
    """The integers of a comparison. Raises :class:`NotSupportedError` where there is not one integer behind it, of all
    rows or of each declared group."""
    options = prepared.program.asked
    plan = options[0].by_norm[0] if len(options) == 1 and len(options[0].by_norm) else None
    outputs = () if plan is None else plan.outputs
    known = plan is not None and len(plan.statistics) == len(outputs) == 1 and not plan.choices and plan.top is None
    estimator = outputs[0].estimator if known else None
    unknown = prepared.program.missing or prepared.earlier is not None
    if plan is None or not isinstance(estimator, Linear) or len(estimator.terms) != 1 or unknown:
        raise _unwatched()
    group = comparison.tree.args.get("group")
    if len(plan.keys) != (0 if group is None else len(group.expressions)):
        raise _unwatched()
    _check_groups(plan)
    ((_, weight),) = estimator.terms
    (block,) = plan.blocks
    # A person moves one integer by a whole number of steps, by no more than the vector of them in any norm.
    l1, l2 = block.sensitivity.l1, isqrt(block.sensitivity.l2_squared)
    moved = l2 if l1 is None else min(l1, l2)
    least = comparison.threshold(Fraction(weight))
    inside = comparison.inside(Fraction(weight))
    one_way = block.rises and inside is None
    return WatchedStatement(
        shown,
        prepared,
        plan,
        comparison.sign,
        least,
        moved,
        one_way,
        comparison.items,
        inside,
        comparison.of_none,
        comparison.beyond,
    )


def _unwatched() -> NotSupportedError:
    return NotSupportedError("this statement cannot be watched", sqlstate="0A000", hint=WATCHED_FORM)


def _check_groups(plan: Plan) -> None:
    unnamed = next((key.text for key in plan.keys if key.type.kind not in _NAMED), None)
    if plan.keys and (plan.selection is not None or not plan.groups):
        raise NotSupportedError(
            f"groups of {', '.join(key.text for key in plan.keys)} are not declared, and cannot be watched one by one",
            sqlstate="0A000",
            hint="watch groups by columns whose values the policy lists, or one of them: WHERE region = 'north'",
        )
    if unnamed is not None or (plan.cells or 0) > MOST_GROUPS:
        few = f"of which there are at most {MOST_GROUPS}, and those by texts, whole numbers, dates and booleans"
        raise NotSupportedError(
            f"these groups cannot be watched: {few}, can", sqlstate="0A000", hint="watch coarser groups, or one of them"
        )


_STEPS = 10**6
"""A group's share of ε is a whole number of so many parts."""
_EACH = "each of {} groups is a watch of its own, paid out of one price: its numbers are compared with more noise"
MOST_GROUPS = 100
"""A charge, a threshold and an answer are made durable for each."""
_NAMED = (Kind.TEXT, Kind.INTEGER, Kind.DATE, Kind.BOOLEAN)


_IN = " told in "
_DAY = datetime.timedelta(days=1)


def _stands(state: WatchState, version: str, alarm: str) -> bool:
    """Whether an answer is given again: of these data, or a TRUE of the present period of ``alarm``.

    >>> kept = WatchState("c", 7, 1, "v1 told in 9", True)
    >>> [_stands(kept, *now) for now in (("v1", " told in 10"), ("v2", " told in 9"), ("v2", " told in 10"))]
    [True, True, False]
    """
    known = state.version
    of_these_data = known == version or known.startswith(version + _IN)
    return state.answer is not None and (of_these_data or bool(state.answer and alarm and known.endswith(alarm)))


@dataclass(slots=True, eq=False)
class _Asking:
    """One asking of a watch: its groups, in order, what each of them costs and is compared by, and how many were
    ``bought``."""

    asked: Asked
    name: str
    watched: WatchedStatement
    groups: tuple[Key, ...]
    mechanism: AboveThreshold
    price: PrivacyLoss
    bought: int = 0

    def key(self, group: Key) -> str:
        """What is watched under a name: another comparison, price, bound, interval or number of groups is another
        watch."""
        settings = self.asked.settings
        every = () if settings.watch_every is None else (str(settings.watch_every),)
        of_groups = (len(self.groups), group) if self.watched.plan.keys else ()
        facts = (self.name, *self.watched.question, settings.epsilon, *every, *of_groups)
        return hashlib.sha256(repr(facts).encode()).hexdigest()


class Watching:
    """Answers watched statements, for all sessions of a proxy. Thread-safe."""

    def __init__(self, answering: Answering, sampler: Sampler) -> None:
        self._answering = answering
        self._opened = answering.opened
        self._sampler = sampler

    def answer(self, asked: Asked, name: str, watched: WatchedStatement, budget: Callable[[], Budget]) -> Answer:
        """TRUE or FALSE, of all rows or of each group. Raises :class:`dpsql.errors.Error`."""
        opened, plan, patience = self._opened, watched.plan, asked.patience
        opened.check_rows("a watch", "ask for the number itself")
        one = self._asking(asked, name, watched)
        keys = {one.key(group): group for group in one.groups}
        reading = self._answering.reader.reading([plan])
        with opened.purchases.claimed(keys.keys(), patience):
            while True:
                patience.check()
                rows = opened.rows([plan])
                version, alarm = f"{opened.version(plan)} {plan.identity}", self._alarm(asked.settings.watch_every)
                states = {key: opened.ledger.watches.read(key) for key in keys}
                stand = {key for key, state in states.items() if state is not None and _stands(state, version, alarm)}
                due = {key: state for key, state in states.items() if key not in stand}
                if not due:
                    break
                with opened.turn(patience, asked.analyst, rows) as turn:
                    begun = self._paid(one, due)
                    if begun is None:
                        continue
                    exact = _by_group(reading.table(plan, patience, turn))
                    late = False
                    for key, state in begun.items():
                        compared = watched.compared(exact[keys[key]])
                        above = one.mechanism.above(compared, state.threshold, self._sampler)
                        after = WatchState(state.charge, state.threshold, state.asked + 1, version + alarm, above)
                        late |= not opened.ledger.watches.change(key, state, after)
                        states[key] = after
                if not late:
                    break
        return self._reply(one, [state for state in states.values() if state is not None], budget)

    def _asking(self, asked: Asked, name: str, watched: WatchedStatement) -> _Asking:
        groups = tuple(self._answering.reuse.groups(watched.plan))
        if not groups:
            raise NotSupportedError("there is no group to watch", sqlstate="0A000", hint=WATCHED_FORM)
        with affordable():
            share = self._share(asked.settings.epsilon, watched.one_way, len(groups))
            mechanism = AboveThreshold.of(max(watched.sensitivity, 1), share)
        return _Asking(asked, name, watched, groups, mechanism, self._price(share, watched.one_way))

    def _share(self, epsilon: Fraction, one_way: bool, groups: int) -> Fraction:
        """The most ε of one group, in steps, of which so many cost no more than one of all."""
        if groups == 1:
            return epsilon
        whole = self._price(epsilon, one_way)
        low, high = 0, _STEPS
        while high - low > 1:
            middle = (low + high) // 2
            fits = (self._price(epsilon * middle / _STEPS, one_way) * groups).fits_within(whole)
            low, high = (middle, high) if fits else (low, middle)
        return epsilon * low / _STEPS

    def _paid(self, one: _Asking, due: Mapping[str, WatchState | None]) -> Mapping[str, WatchState] | None:
        """The states of groups: paid in the windows that are open, and not ended. None where another proxy has begun
        one meanwhile."""
        ledger, mine = self._opened.ledger, False
        states = dict(due)
        asked, watched = one.asked, one.watched
        while unpaid := [key for key, state in states.items() if not self._is_paid(state, asked.analyst)]:
            tables, sql = watched.prepared.program.private_tables, watched.shown.sql
            charge = ledger.charge(asked.analyst, one.price * len(unpaid), sql, tables, asked.receipt)
            one.bought += len(unpaid)
            for key in unpaid:
                begun = WatchState(charge, one.mechanism.noisy(watched.least, self._sampler))
                if not ledger.watches.change(key, states[key], begun):
                    return None
                states[key] = begun
            asked.receipt.again |= mine
            mine = True
        return {key: state for key, state in states.items() if state is not None}

    def _is_paid(self, state: WatchState | None, analyst: str) -> bool:
        return state is not None and not state.answer and self._opened.ledger.pays_now([state.charge], analyst)

    def _alarm(self, every: Refresh | None) -> str:
        """The name of the present period in which a TRUE is given again; none where it stands for its refresh alone."""
        return "" if every is None else f"{_IN}{self._told(every).name(self._opened.clock.read())}"

    def _told(self, every: Refresh) -> Refresh:
        return replace(every, zone=self._opened.policy.clock.zone)

    def _price(self, epsilon: Fraction, one_way: bool) -> PrivacyLoss:
        return AboveThreshold.price(self._opened.accountant.accounting, epsilon, one_way=one_way)

    def _reply(self, one: _Asking, states: Sequence[WatchState], budget: Callable[[], Budget]) -> Answer:
        asked, watched = one.asked, one.watched
        (statistic,) = watched.plan.statistics
        width = float(one.mechanism.half_width(0.05) * statistic.granularity)
        answers = [(group, bool(state.answer)) for group, state in zip(one.groups, states, strict=True)]
        rows = tuple(
            tuple(answer if item is None else group[item] for item in watched.items)
            for group, answer in answers
            if answer or None in watched.items
        )
        return Answer(
            tuple(AnswerColumn(column, kind) for column, kind in watched.shown.columns),
            rows,
            tuple((None,) * len(row) for row in rows),
            price=one.price * one.bought,
            epsilon=asked.settings.epsilon * one.bought / len(one.groups),
            budget=budget,
            notices=(
                *((PAID_AGAIN,) if asked.receipt.again else ()),
                f"watch {one.name}: {self._until(asked, states, watched.plan)}",
                *((_EACH.format(len(states)),) if len(states) > 1 else ()),
                watched.right(width),
                *((watched.of_none,) if watched.of_none else ()),
                *watched.prepared.program.notes,
                *watched.plan.notes,
            ),
        )

    def _until(self, asked: Asked, states: Sequence[WatchState], plan: Plan) -> str:
        """When who asks pays again."""
        ledger, again = self._opened.ledger, "who asks after the next refresh pays again"
        true = sum(bool(state.answer) for state in states)
        it = "it is TRUE" if len(states) == 1 else f"it is TRUE of {true} of {len(states)} groups"
        these = "" if len(states) == 1 else " for these"
        if true and (every := asked.settings.watch_every) is not None:
            told = self._told(every)
            until = told.shown(told.end(self._opened.clock.read()))
            return (
                f"{it}, and is said to be so until {until}: who asks after that and the next refresh pays again{these}"
            )
        if true:
            refreshes = [self._opened.policy.refresh_of(table) for table in plan.tables]
            often = any(one is not None and one.length < _DAY for one in refreshes)
            lasting = "; where it lasts, SET dpsql.watch_every = '1 day' pays once a day" if often else ""
            return f"{it}, and ends{' there' if these else ''}: {again}{these}{lasting}"
        if not ledger.pays_now([state.charge for state in states], asked.analyst):
            return f"it was paid in a window of the budget that is over: {again}"
        standings = (*ledger.standings(), *ledger.standings(asked.analyst))
        ends = [(one.renews, one.accountant.per) for one in standings if one.renews and one.accountant.per]
        if not ends:
            return "as long as it is FALSE, asking again is free"
        when, per = min(ends, key=lambda end: end[0])
        return f"as long as it is FALSE, asking again is free until {per.shown(when)}, when a window of the budget ends"


def _by_group(exact: ExactTable) -> Mapping[Key, int]:
    """Secret: the one integer of each group."""
    (integers,) = exact.statistics.values()
    return dict(zip(exact.keys, map(int, integers), strict=True))
