"""The price of a statement, and the noise that it buys: the part of the flow before the charge.

Guarantee: no private row is looked at. A price depends on the text, the policy, the settings and earlier releases. The
same release is free, and where other releases contribute, only the rest is paid.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from dpsql.accounting import PrivacyLoss, Target, covers, price_for
from dpsql.calibrate import (
    Calibration,
    calibrate,
    is_as_good,
    only_sorted,
    picks_note,
    rank_notes,
    ranked,
    shares,
    turning_notes,
)
from dpsql.engines import Turn
from dpsql.errors import DataError, InternalError, NotSupportedError
from dpsql.ledger import EVER, Due, Span, is_one_period, whole_periods
from dpsql.mechanisms import Laplace
from dpsql.memory import Memory, by_identity
from dpsql.opened import Opened
from dpsql.prepare import Prepared
from dpsql.price.agreement import agreeing
from dpsql.price.expected_error import ReleasedBefore, excess_of, expected_errors, released_before, target_notes
from dpsql.price.learn_bounds import Settled, rounded_down
from dpsql.price.profiles import Profiles
from dpsql.price.series_price import (
    MOST_LOOKED_AT,
    Living,
    Portions,
    PricedSeries,
    alike,
    beside_series,
    is_cheaper,
    parts_of,
    relative_price,
)
from dpsql.price.unseen import unseen_notes
from dpsql.releases import Noise, NoisyTable
from dpsql.reuse import Combines, Completion, Made, Offer, Reuse, Tile
from dpsql.settings import Settings
from rewriter.front_door import Affine, Either, Family, Listed, Other, Program, Quotient, Running, slots_of
from rewriter.plan import Plan, Series

_REMEMBERED = 512
_PROGRAMS = 128
"""Of what is kept with its whole program, which may be large, fewer are remembered."""
_BEFORE = 2_000_000
"""Cells of the earlier releases that are kept with what they tell."""
_RELEASE = 1_000
"""Cells that take as much memory as a small release and its plan."""
_REPEATED = "answered from what was released before, at no price"
_DERIVED = "derived from what was released before, at no price"
_TILE = "made of what was bought together, at no price; a larger dpsql.epsilon buys more"
_FREE = (_REPEATED, _DERIVED, _TILE)
_OF_ALL_ROWS = "rows that its conditions leave out count against the bound on a person's rows, too"
_TOPPED_UP = "combined with what was released before: only the rest of the price is paid"


def _ever(plan: Plan) -> Span:
    """Of rows of all times."""
    return EVER


def _added(dues: Sequence[Due]) -> PrivacyLoss:
    return sum((due.loss for due in dues), PrivacyLoss())


@dataclass(frozen=True)
class Priced:
    """The releases of a statement, each calibrated at its share of the price; stored releases are free, and where
    earlier releases contribute, only the rest is paid.

    ``epsilon`` is what the statement would pay if nothing was, ``notes`` say how it came about. ``series`` are those of
    the calibrations, by the identities of their plans, in whose place periods are measured. ``unseen`` says what the
    price cannot show. Marginals, which are the last calibrations, are left out where they cost something and nothing
    else does. ``span`` says which times the rows of a plan have, as far as charges go by these, and ``charged`` what
    all that is due takes of a budget.
    """

    epsilon: Fraction
    calibrations: tuple[Calibration, ...]
    stored: Mapping[str, NoisyTable]
    offers: Mapping[str, Offer | Tile | Completion] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    series: Mapping[str, PricedSeries] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()
    span: Callable[[Plan], Span] = _ever
    charged: Callable[[Sequence[Due]], PrivacyLoss] = _added

    @cached_property
    def releases(self) -> tuple[Calibration, ...]:
        """One for each identity: only measurements are charged. A second place of the same release is neither.

        >>> from dpsql.accounting import PURE
        >>> from rewriter.plan import Block, Sensitivity, Statistic
        >>> block = Block((Statistic("n", Fraction(1), 1, "count"),), Sensitivity(l1=1, l2_squared=1))
        >>> plan = Plan("SELECT …", "duckdb", (), (block,), (), None, 1)
        >>> dear, cheap = (calibrate(plan, PURE, PrivacyLoss(epsilon=Fraction(e))) for e in (2, 1))
        >>> Priced(Fraction(3), (dear, cheap), {}).loss == dear.loss
        True
        """
        first: dict[str, Calibration] = {}
        for calibration in _measured_apart(self.calibrations, self.series):
            first.setdefault(calibration.plan.identity, calibration)
        return tuple(first.values())

    @cached_property
    def loss(self) -> PrivacyLoss:
        """What is charged; where a budget is one of the rows of each period, for the rows that are charged most."""
        return self.charged(self.dues("", ()))

    def dues(self, statement: str, tables: tuple[str, ...]) -> Sequence[Due]:
        """What is to be charged: one for all rows of the same times."""
        losses: dict[Span, PrivacyLoss] = {}
        for one in self.releases:
            if one.plan.identity not in self.stored and (loss := self._loss(one)):
                span = self.span((self.fresh(one) or one).plan)
                losses[span] = losses.get(span, PrivacyLoss()) + loss
        return [Due(loss, statement, tables, span) for span, loss in losses.items()]

    def agreed(self, families: Sequence[Family]) -> tuple[Calibration, ...]:
        """The calibrations as measurements that agree with each other."""
        return agreeing(self.calibrations, families, self.offers.keys(), self.series.keys())

    @cached_property
    def rows(self) -> frozenset[Span]:
        """The times of the rows that the releases are about, whether they are bought or there."""
        return frozenset(self.span(one.plan) for one in self.releases)

    @property
    def bought(self) -> tuple[Calibration, ...]:
        """The releases that are paid for, in full or in part."""
        return tuple(one for one in self.releases if one.plan.identity not in self.stored and self._loss(one))

    def _loss(self, calibration: Calibration) -> PrivacyLoss:
        found = self.offers.get(calibration.plan.identity)
        return calibration.loss if found is None else found.loss

    def fresh(self, release: Calibration) -> Calibration | None:
        """What has to be measured now for a release; None where what was released before serves."""
        if release.plan.identity in self.stored:
            return None
        found = self.offers.get(release.plan.identity)
        return release if found is None else found.fresh

    def origin(self, plan: Plan) -> str:
        """Where a release comes from, if it is not all measured afresh."""
        if (series := self.series.get(plan.identity)) is not None:
            return series.origin({one.plan.identity for one in self.bought})
        found = self.offers.get(plan.identity)
        if isinstance(found, Tile):
            return _TILE
        if isinstance(found, Completion):
            return f"{found.known} of {found.many} components are known: the price is paid for the others alone"
        if found is not None:
            return _TOPPED_UP if found.fresh is not None else _DERIVED
        return _REPEATED if plan.identity in self.stored else ""

    @property
    def completed(self) -> bool:
        """Whether some components are known, and the price is paid for the others: what is measured afresh, at any
        price, is measured whole."""
        return any(isinstance(one, Completion) for one in self.offers.values())

    def is_of_all_rows(self, plan: Plan) -> bool:
        """Whether a release is made of cells of more rows, all of which count against a person's bound."""
        found = self.offers.get(plan.identity)
        return isinstance(found, Tile) and found.of_all_rows


class Pricing:
    """The prices of one proxy's statements, remembered. ``rest`` is the part that is left when bounds are bought."""

    def __init__(self, opened: Opened, reuse: Reuse, profiles: Profiles, rest: Fraction) -> None:
        self._opened = opened
        self._profiles = profiles
        self._reuse = reuse
        self._rest = rest
        memories = opened.memories
        self._calibrations: Memory[tuple[Plan, PrivacyLoss], Calibration] = memories.memory("calibrations", _REMEMBERED)
        self._statements: Memory[tuple[int, PrivacyLoss, bool], _Calibrated]
        self._statements = memories.memory("calibrated statements", _PROGRAMS)
        self._prices: Memory[tuple[object, ...], _Foretold] = memories.memory("prices of errors", _REMEMBERED)
        self._before: Memory[tuple[int, ...], _Before] = memories.memory("released before", _BEFORE, _cells)
        self._notes: Memory[tuple[object, ...], _Unseen] = memories.memory("what a price cannot show", _PROGRAMS)

    def price(
        self, prepared: Prepared, settings: Settings, part: Fraction = Fraction(1), turn: Turn | None = None
    ) -> Priced:
        """Calibrate every release at its share of (a part of) the statement's price. Looks at no data."""
        opened = self._opened
        epsilon, notes = self._epsilon(prepared, settings)
        before = self._reuse.bought_at(prepared.program.plans) if self.is_usual(settings) else None
        whole = self._whole_price(prepared, epsilon, settings.stages) if before is None else before
        whole = whole.of_noise * part + whole.of_failure
        calibrations = self.calibrations(prepared, whole, kept=settings.reuse and before is None)
        stored: dict[str, NoisyTable] = {}
        series: Mapping[str, PricedSeries] = {}
        # What was bought beside others is as accurate as they said, and no less.
        own = before is not None and all(self._measured(one) is not None for one in calibrations if one.loss)
        tiles = {} if own else self._tiles(prepared, calibrations, settings, turn)
        if tiles:
            calibrations = _with(calibrations, tiles)
        tiles = {one.wanted.plan.identity: one for one in tiles.values()}
        if settings.reuse:
            calibrations = self._released(prepared, whole, calibrations)
            series = self._series(prepared, whole, calibrations)
            for calibration in _measured_apart(calibrations, series):
                if not calibration.loss or calibration.plan.identity in tiles:
                    continue
                if (table := self._measured(calibration)) is not None:
                    stored[calibration.plan.identity] = table
        apart = _measured_apart(calibrations, series)
        others = [one for one in apart if one.plan.identity not in tiles]
        offers: dict[str, Offer | Tile | Completion] = {**self._offers(others, stored, settings, turn), **tiles}
        completed = self._completed(prepared, others, stored, offers, settings, turn)
        if completed:
            calibrations = _with(calibrations, completed)
            apart = _measured_apart(calibrations, series)
            offers |= {one.wanted.plan.identity: one for one in completed.values()}
        asked = calibrations[: len(prepared.program.asked)]
        if len(asked) < len(calibrations) and _serves_all(_measured_apart(asked, series), stored, offers):
            # Nobody pays for marginals of groups that cost nothing: those that are free themselves are kept.
            beside = calibrations[len(asked) :]
            calibrations = calibrations if _serves_all(beside, stored, offers) else asked
            apart = _measured_apart(calibrations, series)
        again = [one.plan for one in apart if one.plan.identity in stored or one.plan.identity in offers]
        kept = tuple(one.note for one in series.values() if any(one.closed))
        kept += self._kept([one.plan for one in apart])
        kept += beside_series(prepared.program, calibrations, series)
        notes = (*notes, *self._ages(again), *kept)
        notes = (*notes, *self._of_periods([one.plan for one in others if one.plan.identity not in stored]))
        due = (opened.span, opened.ledger.together)
        priced = Priced(epsilon, calibrations, stored, offers, notes, series, (), *due)
        if not priced.loss:
            return priced
        return replace(priced, unseen=self._unseen(prepared, priced, settings.consistent))

    def _unseen(self, prepared: Prepared, priced: Priced, consistent: bool) -> tuple[str, ...]:
        """What a price cannot show, remembered."""
        known, made = self.known(prepared), frozenset((*priced.offers, *priced.series))
        calibrations = priced.calibrations

        def found() -> _Unseen:
            agreed = priced.agreed(prepared.program.families) if consistent else calibrations
            return _Unseen(prepared, calibrations, unseen_notes(prepared, agreed, known))

        key = (id(prepared), *map(id, calibrations), known.key, consistent, made)
        return self._notes.get(key, found).notes

    def _measured(self, one: Calibration) -> NoisyTable | None:
        """The release as it was measured with this noise, where it was."""
        return self._opened.store.get(one.plan.identity, self._opened.version(one.plan), one.hidden_by)

    def _tiles(
        self, prepared: Prepared, calibrations: Sequence[Calibration], settings: Settings, turn: Turn | None
    ) -> Mapping[str, Tile]:
        """The releases that are made of what was bought as one with them: all measurements that agree with each other,
        or none of these. Who asks for more than the usual accuracy buys what has less."""
        if not _takes_earlier(settings):
            return {}
        usual = self.is_usual(settings)
        combines = combined_in(prepared)
        found: dict[str, Tile] = {}
        for family in prepared.program.families:
            distinct = {calibrations[at].plan.identity: calibrations[at] for at in family.measurements}
            made = self._reuse.tiles(tuple(distinct.values()), turn, combines=combines, usual=usual)
            found |= zip(distinct, made, strict=False)
        return found

    def _completed(
        self,
        prepared: Prepared,
        others: Sequence[Calibration],
        stored: Mapping[str, NoisyTable],
        offers: Mapping[str, Offer | Tile | Completion],
        settings: Settings,
        turn: Turn | None,
    ) -> Mapping[str, Completion]:
        """The release of a statement of one, where it would be bought whole and only some components are missing."""
        if not _takes_earlier(settings) or len(prepared.program.plans) != 1 or len(others) != 1:
            return {}
        (name,) = (one.plan.identity for one in others)
        if name in stored or name in offers or name != prepared.program.plans[0].identity:
            return {}
        found = self._reuse.completion(others[0], turn, combines=combined_in(prepared))
        return {} if found is None else {name: found}

    def is_usual(self, settings: Settings) -> bool:
        """Whether nobody asks for more than the usual accuracy, nor for a fresh measurement."""
        return _takes_earlier(settings) and settings.epsilon <= self._opened.policy.statement.epsilon

    def _ages(self, again: Sequence[Plan]) -> tuple[str, ...]:
        """How old answers about tables are that refresh, where they were released before."""
        if self._opened.past:
            return ()
        now, policy = self._opened.clock.read(), self._opened.policy
        standing = [plan for plan in again if not self._opened.closed(plan, now)]
        found = {table: policy.refresh_of(table) for plan in standing for table in plan.tables}
        return tuple(
            f"{table} is as it was when this was asked first after {one.shown(one.begin(now))}; "
            f"it is measured anew after {one.shown(one.end(now))}"
            for table, one in sorted(found.items())
            if one is not None
        )

    def _of_periods(self, plans: Sequence[Plan]) -> tuple[str, ...]:
        """What it costs that a release depends on rows of several periods, each with a budget of its own."""
        per = self._opened.accountant.rows_of
        if per is None or all(is_one_period(self._opened.span(plan), per) for plan in plans):
            return ()
        return (
            f"rows of several {per}s are read at once, and the budget of each pays: bars are twice as wide as of one;"
            f" write a condition on the time of rows within one {per}, or group by {per}s",
        )

    def _kept(self, plans: Sequence[Plan]) -> tuple[str, ...]:
        """What is not in releases that stand for ever, since all their rows are closed."""
        now = self._opened.clock.read()
        alone = [plan for plan in plans if plan.period is None and self._opened.closed(plan, now)]
        ends = {one.table: one for plan in alone for one in plan.until if one.end}
        return tuple(
            f"{table} before {_shown(one.end)} is closed: it is as it was when this was asked first later than"
            f" {closing} after that, and rows that came since are not in it"
            for table, one in sorted(ends.items())
            if one.end is not None and (closing := self._opened.policy.closing_of(table)) is not None
        )

    def _released(
        self, prepared: Prepared, price: PrivacyLoss, calibrations: tuple[Calibration, ...]
    ) -> tuple[Calibration, ...]:
        """The same; but where groups would be picked, and sorting all of them as they were released before is as
        accurate, with the release of all."""
        if all(calibration.plan.top is None for calibration in calibrations):
            return calibrations
        found = list(calibrations)
        for place, every in enumerate(self.calibrations(prepared, price, picks=False)):
            before = self._stored_before(every.plan) if found[place].plan.top is not None else None
            if before is not None and is_as_good(every, before.noise, found[place]):
                found[place] = every
        return tuple(found)

    def _offers(
        self,
        calibrations: Sequence[Calibration],
        stored: Mapping[str, NoisyTable],
        settings: Settings,
        turn: Turn | None,
    ) -> Mapping[str, Offer]:
        """The releases that can be made of earlier ones."""
        missing = {c.plan.identity: c for c in calibrations if c.plan.identity not in stored}
        found = {name: self._reuse.offer(c, turn) for name, c in missing.items()} if settings.reuse else {}
        return {name: offer for name, offer in found.items() if offer is not None}

    def most(self, prepared: Prepared, settings: Settings) -> PrivacyLoss:
        """The most that a query costs beside its bounds, whatever they are: planned with the loosest ones."""
        if settings.target_error is not None:
            raise DataError(
                "the error is known when the bounds are that the policy leaves open",
                sqlstate="22023",
                hint="ask once with SET dpsql.target_error = off, which buys them",
            )
        whole = self._whole_price(prepared, settings.epsilon, settings.stages)
        whole = whole.of_noise * self._rest + whole.of_failure
        loss = Priced(settings.epsilon, self.calibrations(prepared, whole), {}).loss
        # Under approx the noise that is chosen, with δ or without, can depend on the bounds.
        return loss.of_noise + whole.of_failure

    def settled(self, settled: Settled, settings: Settings) -> Priced:
        """The price of a query whose bounds are known. What was released for less, when they were bought, serves."""
        if not settled.bounds or settings.target_error is not None:
            return self.price(settled.prepared, settings, turn=settled.turn)
        first = self.price(settled.prepared, settings, self._rest, settled.turn)
        if settled.purchase is None:
            return self.price(settled.prepared, settings) if first.loss else first
        if not covers(settled.purchase.rest, first.loss):
            raise InternalError("a statement costs more than was charged for it", sqlstate="XX000")
        return first

    def tables(self, priced: Priced, measured: Mapping[str, NoisyTable]) -> Mapping[str, Made]:
        """The released tables of a statement: stored ones, those that were ``measured`` for it, and made of them."""
        tables: dict[str, Made] = {}
        for plan in (calibration.plan for calibration in priced.releases):
            noisy = measured.get(plan.identity)
            found = None if plan.identity in priced.stored else priced.offers.get(plan.identity)
            whole = priced.stored.get(plan.identity, noisy)
            if found is not None:
                tables[plan.identity] = self._reuse.made(found, noisy)
            elif whole is not None:
                tables[plan.identity] = Made(plan, whole)
        for name, series in priced.series.items():
            parts = [tables[plan.identity] for plan in series.plans]
            tables[name] = self._reuse.joined(series.whole, parts, adds_up=series.adds_up)
        return tables

    def _epsilon(self, prepared: Prepared, settings: Settings) -> tuple[Fraction, tuple[str, ...]]:
        """The ε of a statement: as it is set, or what the error that is asked for takes."""
        wanted = settings.target_error
        if wanted is not None and settings.stages > 1:
            raise DataError(
                "the error of what is compared with a released number is not foretold before that number",
                sqlstate="22023",
                hint="SET dpsql.target_error = off, or ask for the number first and write it into the statement",
            )
        if wanted is None or not any(plan.blocks or plan.choices for plan in prepared.program.plans):
            return settings.epsilon, ()

        def calibrated(epsilon: Fraction) -> tuple[Calibration, ...]:
            found = self.calibrations(prepared, self._whole_price(prepared, epsilon), kept=settings.reuse)
            return agreeing(found, prepared.program.families) if settings.consistent else tuple(found)

        known = self.known(prepared)
        # The key's identity is that of what is kept with it, and of nothing else meanwhile.
        key = (id(prepared), wanted, known.key, settings.reuse, settings.consistent)
        found = self._prices.get(key, lambda: self._foretold(prepared, wanted, known, calibrated))
        notes = target_notes(prepared, wanted, found.epsilon, calibrated(found.epsilon), known, reached=found.reached)
        return found.epsilon, notes

    def known(self, prepared: Prepared) -> ReleasedBefore:
        """Earlier releases of the groups of a statement, and of the profiles of its tables."""
        plans = [plan for options in prepared.program.options for plan in options.all if plan.blocks or plan.choices]
        found = [(plan, table) for plan in plans if (table := self._stored_before(plan)) is not None]
        key = tuple(id(part) for pair in found for part in pair)
        before = self._before.get(key, lambda: _Before(found, released_before(found)))
        return self._profiled(prepared, before.facts)

    def _profiled(self, prepared: Prepared, before: ReleasedBefore) -> ReleasedBefore:
        """With what the profiles of the statement's tables and columns say. Numbers of rows and of people are rounded
        down to powers of √2, so that a price does not follow the noise of a profile that is bought anew."""
        plans, profiles = prepared.program.plans, self._profiles
        tables = sorted({plan.bounded_by for plan in plans if plan.bounded_by})
        rows = {table: profile.rows_kept for table in tables if (profile := profiles.find(table))}
        columns = sorted({(table, name) for plan in plans for _, table, name in plan.of_columns})
        values = {one: found for one in columns if (found := profiles.find_values(*one))}
        spreads = {one: spread for one, found in values.items() if (spread := found.spread)}
        people = {one: _rounded_down(values[one].total) for one in spreads}
        rounded = {table: _rounded_down(count) for table, count in rows.items()}
        return replace(before, rows=rounded, spreads=spreads, people=people)

    def errors_afresh(self, prepared: Prepared, epsilon: Fraction, stages: int = 1) -> tuple[float | None, ...]:
        """The errors to expect if all of a statement is measured, and nothing that was released before serves."""
        calibrations = agreeing(
            self.calibrations(prepared, self._whole_price(prepared, epsilon, stages)), prepared.program.families
        )
        return expected_errors(prepared, calibrations, self._profiled(prepared, ReleasedBefore()))

    def _stored_before(self, plan: Plan) -> NoisyTable | None:
        """The most accurate release of a plan that there was, however wide its noise."""
        return self._opened.store.get(plan.identity, self._opened.version(plan), _any_noise(plan))

    def price_of(self, epsilon: Fraction, *, selects: bool) -> PrivacyLoss:
        """What an ε is to the ledger, with δ where groups are selected."""
        accountant = self._opened.accountant
        declared = self._opened.policy.statement.delta
        return accountant.price(epsilon, accountant.accounting.delta(declared, selects=selects))

    def _whole_price(self, prepared: Prepared, epsilon: Fraction, stages: int = 1) -> PrivacyLoss:
        """The price of a statement, or the share in it of one of the ``stages`` in which it is answered."""
        whole = self.price_of(epsilon, selects=prepared.program.selects)
        return whole if stages == 1 else rounded_down(whole / stages)

    def calibrations(
        self, prepared: Prepared, price: PrivacyLoss, *, picks: bool = True, kept: bool = True
    ) -> tuple[Calibration, ...]:
        """The noise of every measurement; a family's in one norm, so that all of it has the same parts.

        ``picks``: groups may be picked before they are measured, where that is more accurate. Remembered by the very
        program: they depend on it and the price alone. ``kept``: what is measured is given again, and may be measured
        period by period, which depends on the clock as well.
        """
        program = prepared.program

        def found() -> _Calibrated:
            return _Calibrated(program, self._calibrations_of(program, price, picks=picks))

        # The key's identity is that of what is kept with it, and of nothing else meanwhile.
        joint = self._statements.get((id(program), price, picks), found).calibrations
        return self._by_periods(program, price, joint) if kept else joint

    def _by_periods(
        self, program: Program, price: PrivacyLoss, joint: Sequence[Calibration]
    ) -> tuple[Calibration, ...]:
        """The calibrations; those of series in the place of what costs more than these."""
        if all(one.series is None for one in program.options):
            return tuple(joint)
        divided = self._shares_of_periods(program, price)
        ways = [
            None if options.series is None else self._period_by_period(options.series, one, share)
            for options, one, share in zip(program.options, joint, divided, strict=True)
        ]
        # All measurements whose cells are of one period are made to agree within it, or none.
        for family in program.families:
            held = [place for place in family.measurements if program.options[place].series is not None]
            apart = len(family.measurements) > 1 and self._opened.accountant.accounting.prefers_finest
            if apart or any(ways[place] is None for place in held):
                for place in held:
                    ways[place] = None
            elif held:
                for place in set(family.measurements).difference(held):
                    ways[place] = self._calibrated(joint[place].plan, divided[place])
        return tuple(one if way is None else way for one, way in zip(joint, ways, strict=True))

    def _shares_of_periods(self, program: Program, price: PrivacyLoss) -> tuple[PrivacyLoss, ...]:
        """Each measurement's share where those are series that can be. Of a family, a series counts as much as one of
        its periods has cells: else a longer window would give it another share, and buy periods again that are kept."""
        several = {place for one in program.families if len(one.measurements) > 1 for place in one.measurements}
        plans = [
            replace(plan, cells=max(1, plan.cells // len(options.series.periods)))
            if place in several and options.series is not None and plan.cells is not None
            else plan
            for place, (plan, options) in enumerate(zip(program.plans, program.options, strict=True))
        ]
        return shares(price, program.families, plans, self._opened.accountant.accounting)

    def _calibrations_of(self, program: Program, price: PrivacyLoss, *, picks: bool) -> tuple[Calibration, ...]:
        accounting = self._opened.accountant.accounting
        found: dict[int, Calibration] = {}
        options = program.options
        divided = shares(price, program.families, program.plans, accounting)
        for family in program.families:
            by_norm = zip(*(options[place].by_norm for place in family.measurements), strict=True)
            candidates = [
                [self._calibrated(plan, divided[place]) for plan, place in zip(plans, family.measurements, strict=True)]
                for plans in by_norm
            ]
            cheapest = min(candidates, key=lambda candidate: sum(map(_total_variance, candidate)))
            found.update(zip(family.measurements, cheapest, strict=True))
            place = family.measurements[0]
            if picks and options[place].picks:
                picked = [self._calibrated(plan, divided[place]) for plan in options[place].picks]
                found[place] = ranked([candidate[0] for candidate in candidates], picked)
            elif (sorts := options[place].sorts) is not None:
                found[place] = only_sorted([candidate[0] for candidate in candidates], sorts)
        return tuple(found[place] for place in range(len(options)))

    def _period_by_period(self, series: Series, joint: Calibration, share: PrivacyLoss) -> Calibration | None:
        """All groups of a series, with the noise that each period has; None where the joint form is as good."""
        opened, policy, table = self._opened, self._opened.policy, series.periods[0].table
        closing, now = policy.closing_of(table), opened.clock.read()
        if closing is None:
            return None
        if series.adds_up and opened.store.get(joint.plan.identity, opened.version(joint.plan), joint.hidden_by):
            return None  # It was bought as one, and is free.
        alone = [self._of_a_period(series, place, share) for place in range(len(series.whole))]
        place, best = min(enumerate(map(_total_variance, alone)), key=lambda one: one[1])
        accounting, living = opened.accountant.accounting, Living(closing, policy.horizon)
        parts = self._parts(series)
        part = Fraction(1, parts)
        if series.adds_up:
            portions = Portions.of(series, living, now, accounting, parts)
            summed = portions.variance(lambda one: _total_variance(self._of_a_period(series, place, share * one)))
            cheaper = portions.is_cheaper(series, relative_price(_total_variance(joint), summed, accounting), living)
            # What names and finishes the sum has the noise of the sum.
            part = relative_price(best, summed, accounting)
        else:
            cheaper = is_cheaper(series, relative_price(best, _total_variance(joint), accounting), living, now, parts)
        if not cheaper:
            closed = [period for period in series.periods if closing.is_closed(period.end, now, period.zone)]
            latest = (series.of(place, period) for period in closed[-MOST_LOOKED_AT:])
            if all(self._stored_before(plan) is None for plan in latest):
                return None
        if not all(alike(one, series.whole[place]) for one in series.plans(place)):
            return None
        return self._of_a_period(series, place, share * part)

    def _series(
        self, prepared: Prepared, price: PrivacyLoss, calibrations: Sequence[Calibration]
    ) -> Mapping[str, PricedSeries]:
        """The periods of the calibrations that are series, each at its part of the price."""
        found: dict[str, PricedSeries] = {}
        accounting, now = self._opened.accountant.accounting, self._opened.clock.read()
        program = prepared.program
        divided = self._shares_of_periods(program, price)
        for calibration, options, share in zip(calibrations, program.options, divided, strict=True):
            series = options.series
            wholes = [] if series is None else [plan.identity for plan in series.whole]
            if series is None or calibration.plan.identity not in wholes:
                continue
            place = wholes.index(calibration.plan.identity)
            closing = self._opened.policy.closing_of(series.periods[0].table)
            if closing is None:
                raise AssertionError("a series is of a table that closes")
            parts = self._parts(series)
            portions: Sequence[Fraction] = (Fraction(1, parts),) * len(series.periods)
            if series.adds_up:
                living = Living(closing, self._opened.policy.horizon)
                portions = Portions.of(series, living, now, accounting, parts).order
            paid = {part: share * part for part in set(portions)}
            found[calibration.plan.identity] = PricedSeries(
                series.unit,
                calibration.plan,
                closing,
                tuple(
                    self._calibrated(series.of(place, period), paid[part])
                    for period, part in zip(series.periods, portions, strict=True)
                ),
                tuple(closing.is_closed(period.end, now, period.zone) for period in series.periods),
                series.adds_up,
            )
        return found

    def _calibrated(self, plan: Plan, share: PrivacyLoss) -> Calibration:
        """The noise of a release at a price, remembered: it depends on nothing else."""
        accounting = self._opened.accountant.accounting
        step = self._of_one_step(plan, share)
        return self._calibrations.get((plan, step), lambda: calibrate(plan, accounting, step))

    def _of_a_period(self, series: Series, place: int, share: PrivacyLoss) -> Calibration:
        """All groups of a series, with the noise of that period whose rows lie in the most periods of the budget.

        The groups of all periods are no release: each period is charged to the budgets of its own rows.
        """
        per, accounting = self._opened.accountant.rows_of, self._opened.accountant.accounting
        if per is None:
            return self._calibrated(series.whole[place], share)
        wide = [not is_one_period(whole_periods(one.begin, one.end, per), per) for one in series.periods]
        period = series.of(place, series.periods[wide.index(True) if any(wide) else -1])
        plan = series.whole[place]
        step = self._of_one_step(period, share)
        return self._calibrations.get((plan, step), lambda: calibrate(plan, accounting, step))

    def _of_one_step(self, plan: Plan, share: PrivacyLoss) -> PrivacyLoss:
        """What a plan may lose, so that a share pays for it: of rows of several periods, each of two steps."""
        per = self._opened.accountant.rows_of
        if per is None or is_one_period(self._opened.span(plan), per):
            return share
        if share.delta:
            raise NotSupportedError(
                f"groups are not selected from rows of several {per}s, each of which has a budget of its own",
                sqlstate="0A000",
                hint=f"list the values of the key in the policy, or ask for the rows of one {per}",
            )
        return self._opened.accountant.accounting.step_of_two(share)

    def _parts(self, series: Series) -> int:
        """In how many parts the price of a series is divided: periods whose rows are of one budget share it."""
        per, periods = self._opened.accountant.rows_of, series.periods
        if per is None:
            return parts_of(len(periods))
        spans = [whole_periods(one.begin, one.end, per) for one in periods]
        return parts_of(max(sum(one.begin < other.end and other.begin < one.end for other in spans) for one in spans))

    def _foretold(
        self,
        prepared: Prepared,
        wanted: Target,
        known: ReleasedBefore,
        calibrated: Callable[[Fraction], tuple[Calibration, ...]],
    ) -> _Foretold:
        """The ε that an error takes.

        Refused is what the noise alone makes impossible; where that is a matter of the data, the owner's cap is tried.
        """
        most = self._opened.policy.statement.max_epsilon
        excess = excess_of(prepared, wanted, known, calibrated)
        reached = excess(most) <= 1
        if not reached and excess_of(prepared, wanted, known, calibrated, certain=True)(most) <= 1:
            return _Foretold(prepared, most, reached)
        return _Foretold(prepared, price_for(wanted, excess, most), reached)


def _shown(end: datetime.datetime) -> str:
    return f"{end:%Y-%m-%d}" if end.time() == datetime.time() else f"{end:%Y-%m-%d %H:%M:%S}"


def combined_in(prepared: Prepared) -> Combines:
    """What the numbers of an answer are made of. A released mean is one output of one row."""
    forms = [one.form for one in prepared.outer.foretold]
    if prepared.outer.question.wanted or any(isinstance(form, _OF_SEVERAL) for form in forms):
        return Combines.ROWS
    if any(len(slots_of(form)) > 1 for form in forms):
        return Combines.ROWS
    several = any(isinstance(form, Quotient) or (isinstance(form, Affine) and len(form.terms) > 1) for form in forms)
    return Combines.OUTPUTS if several else Combines.NOTHING


_OF_SEVERAL = (Either, Listed, Other, Running)


@dataclass(frozen=True, slots=True)
class _Calibrated:
    """The noise of every measurement of a program."""

    program: Program
    calibrations: tuple[Calibration, ...]


@dataclass(frozen=True, slots=True)
class _Foretold:
    """The ε that an error takes in a statement, and whether it is foretold to be enough."""

    prepared: Prepared
    epsilon: Fraction
    reached: bool


def _takes_earlier(settings: Settings) -> bool:
    """Whether nobody asks for a fresh measurement, nor for a price that is found by the error that it buys."""
    return settings.reuse and settings.stages == 1 and settings.target_error is None


@by_identity(_REMEMBERED)
def _any_noise(plan: Plan) -> Mapping[str, Noise]:
    """Noise of each statistic and choice than which none is wider."""
    names = [*(one.name for one in plan.statistics), *(one.name for one in plan.choices)]
    return dict.fromkeys(names, Laplace(Fraction(1 << 200)))


@dataclass(frozen=True, slots=True)
class _Before:
    """Earlier releases, with the facts that follow from them."""

    found: Sequence[tuple[Plan, NoisyTable]]
    facts: ReleasedBefore


def _cells(before: _Before) -> int:
    return sum(_RELEASE + len(table.keys) * (len(plan.keys) + len(table.statistics)) for plan, table in before.found)


@dataclass(frozen=True, slots=True)
class _Unseen:
    """A statement with its noise, and the notes on what its price cannot show."""

    prepared: Prepared
    calibrations: tuple[Calibration, ...]
    notes: tuple[str, ...]


def _serves_all(
    calibrations: Sequence[Calibration],
    stored: Mapping[str, NoisyTable],
    offers: Mapping[str, Offer | Tile | Completion],
) -> bool:
    """Whether what was released before serves in the place of each of these, at no price."""
    names = [one.plan.identity for one in calibrations if one.loss and one.plan.identity not in stored]
    return all(name in offers and not offers[name].loss for name in names)


def _with(calibrations: Sequence[Calibration], made: Mapping[str, Tile | Completion]) -> tuple[Calibration, ...]:
    """The calibrations, with those in their place that are ``made`` of earlier releases, by their identities."""
    return tuple(made[one.plan.identity].wanted if one.plan.identity in made else one for one in calibrations)


def _measured_apart(calibrations: Sequence[Calibration], series: Mapping[str, PricedSeries]) -> tuple[Calibration, ...]:
    """What is measured: the periods of a series in the place of all of it."""
    known = ((one, series.get(one.plan.identity)) for one in calibrations)
    return tuple(part for one, found in known for part in ((one,) if found is None else found.parts))


def _total_variance(calibration: Calibration) -> float:
    steps = {statistic.name: float(statistic.granularity) for statistic in calibration.plan.statistics}
    picked = sum(rows**2 for one in calibration.picked for rows in one.rows)
    return picked + sum(
        measured.mechanism.variance
        * steps[statistic.name] ** 2
        * (measured.block.prefix.relative if measured.block.prefix else 1)
        for measured in calibration.measured
        for statistic in measured.block.statistics
    )


_NEAR_THE_THRESHOLD = "a group near that size is shown if its noise was high, so that its number is likely too high"


def notices(priced: Priced) -> tuple[str, ...]:
    """The notices about a price, and about the limits of the answer."""
    notes: dict[str, None] = dict.fromkeys((*priced.unseen, *priced.notes))
    for calibration in priced.calibrations:
        notes.update(dict.fromkeys(calibration.plan.notes))
        notes.update(dict.fromkeys(turning_notes(calibration)))
        if calibration.selected is not None and calibration.threshold is not None:
            more = ", nor larger ones of people who are in many groups" if calibration.spreads_people else ""
            fewest = f"{calibration.threshold:.0f}"
            who = "1 person" if fewest == "1" else f"{fewest} people"
            notes[f"groups of fewer than about {who} are not shown{more}"] = None
            if calibration.selected.measured:
                notes[_NEAR_THE_THRESHOLD] = None
        if calibration.peeled is not None:
            notes[picks_note(calibration)] = None
        if origin := priced.origin(calibration.plan):
            notes[f"in part {origin}" if priced.loss and origin in _FREE else origin] = None
        if priced.is_of_all_rows(calibration.plan):
            notes[_OF_ALL_ROWS] = None
    notes.update(dict.fromkeys(rank_notes(found for one in priced.calibrations for found in one.rank_errors)))
    if any(calibration.plan.clips for calibration in priced.calibrations):
        notes["error bars do not cover what such bounds cut off"] = None
    return tuple(notes)


def _rounded_down(count: float) -> float:
    """The largest power of √2 that is not above a number; at least 1."""
    return float(2 ** (math.floor(2 * math.log2(max(count, 1.0))) / 2))
