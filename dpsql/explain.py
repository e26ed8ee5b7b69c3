"""Explanations: what a query would do and cost, and how accurate it would be. Free, and without reading data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from typing import Protocol

from sqlglot import exp

from dpsql.accounting import PrivacyLoss
from dpsql.answer import Answering
from dpsql.calibrate import Calibration, margins
from dpsql.finish import has_interval, others_notes, present_notes, widened_columns, widened_margins
from dpsql.inference.estimates import running_margins
from dpsql.ledger import Span
from dpsql.prepare import Prepared, collecting_rarely
from dpsql.price import (
    Priced,
    ReleasedBefore,
    beside_now,
    coarser,
    expected_errors,
    expected_of_items,
    notices,
    suggestions,
    trials,
)
from dpsql.releases import ColumnarRows
from dpsql.reply import AnswerColumn, Better, Budget, Explanation, ReleaseExplanation
from dpsql.settings import Settings
from dpsql.stages import Stage, stage_notes, staged
from rewriter.declared import DOUBLE, Catalog
from rewriter.front_door import Shown
from rewriter.refused import Refused


class Planned(Protocol):
    """The same query under another policy, or another query under the same; nothing of it is ever run."""

    def __call__(self, catalog: Catalog | None = None, tree: exp.Query | None = None) -> Prepared: ...


def explained(
    answering: Answering,
    prepared: Prepared,
    settings: Settings,
    budget_after: Callable[[PrivacyLoss, Collection[Span]], Budget],
    planned: Planned,
) -> Explanation:
    """The explanation of a query. ``budget_after`` says what a price would leave; ``planned`` is the same query under
    another policy, or another one.

    Raises :class:`dpsql.errors.Error`.
    """
    settings = staged(settings, prepared)
    stages = answering.foreseen(prepared, settings)
    *before, last = [_explained(answering, stage, settings) for stage in stages]
    price = sum((stage.loss for stage in stages), PrivacyLoss())
    prepared = stages[-1].settled.prepared
    return Explanation(
        releases=tuple(one for part in (*before, last) for one in part.releases),
        outer_sql=prepared.program.outer.shown_sql,
        columns=answer_columns(prepared, settings),
        expected=last.expected,
        expected_items=last.items,
        price=price,
        epsilon=answering.opened.accountant.accounting.statement_epsilon(price),
        remaining_after=budget_after(price, frozenset(chain.from_iterable(stage.rows for stage in stages))),
        notices=tuple(dict.fromkeys(chain(stage_notes(stages), *(one.notices for one in (*before, last))))),
        unseen=tuple(dict.fromkeys(chain.from_iterable(one.unseen for one in (*before, last)))),
        render=_rendered,
        draw=_drawn,
        advise=cache(partial(_better, answering, prepared, settings, price, planned)),
    )


@dataclass(frozen=True, slots=True)
class _ExplainedStage:
    releases: tuple[ReleaseExplanation, ...]
    expected: tuple[float | None, ...]
    items: tuple[tuple[float | None, ...], ...]
    notices: tuple[str, ...]
    unseen: tuple[str, ...]


def _explained(answering: Answering, stage: Stage, settings: Settings) -> _ExplainedStage:
    settled, priced = stage.settled, stage.priced
    prepared = settled.prepared
    known = answering.pricing.known(prepared)
    if priced is None or settled.purchase is not None:
        if settled.purchase is None:
            raise AssertionError("what buys no bounds has a price")
        # The measurements after a purchase follow from its released numbers.
        priced = Priced(settings.epsilon, settled.purchase.all, {})
        notes: tuple[str, ...] = (settled.purchase.warning,)
        expected: tuple[float | None, ...] = (None,) * len(answer_columns(prepared, settings))
        items: tuple[tuple[float | None, ...], ...] = ()
        agreed = priced.calibrations
    else:
        others = others_notes(prepared.program.shapes, priced.calibrations)
        present = present_notes(prepared.program.shapes, priced.calibrations, answering.opened.policy.limits.rows)
        notes = (*prepared.program.notes, *others, *present)
        agreed = priced.agreed(prepared.program.families) if settings.consistent else priced.calibrations
        expected = _expected(known, prepared, agreed, settings)
        items = _expected_items(known, prepared, agreed, settings)
    beyond = answering.profiles.notes(one.plan for one in priced.calibrations)
    told = (*settled.notices, *notes, *notices(priced), *beyond)
    releases = _releases(prepared, priced, known, agreed)
    return _ExplainedStage(releases, expected, items, told, priced.unseen)


@collecting_rarely()
def _better(
    answering: Answering,
    prepared: Prepared,
    settings: Settings,
    price: PrivacyLoss,
    planned: Planned,
) -> tuple[Better, ...]:
    """What would make the answer more accurate. Nothing where it is free, or where its error is not foretold."""
    if not price or prepared.program.missing or settings.target_error is not None or prepared.program.shown:
        return ()
    pricing, opened, epsilon = answering.pricing, answering.opened, settings.epsilon
    priced = pricing.price(prepared, settings)
    if priced.completed:
        now = expected_errors(prepared, priced.calibrations, pricing.known(prepared))
    else:
        now = pricing.errors_afresh(prepared, epsilon, settings.stages)
    if not any(now):
        return ()
    found = []
    dearer = min(2 * epsilon, opened.policy.statement.max_epsilon)
    if dearer > epsilon:
        power = 2 if opened.accountant.accounting.concentrated else 1
        errors, times = pricing.errors_afresh(prepared, dearer, settings.stages), (dearer / epsilon) ** power
        found.append(Better(f"SET dpsql.epsilon = {float(dearer):g}", errors, by_owner=False, price=times))

    def errors_under(changed: Catalog) -> tuple[float | None, ...]:
        try:
            return pricing.errors_afresh(planned(changed), epsilon, settings.stages)
        except Refused:
            return now

    read = cache(prepared.read_again)
    stages = prepared.stages
    length = len(stages) * sum(len(plan.sql) for stage in stages for plan in stage.program.plans)
    tables, most = prepared.program.private_tables, trials(length, read)
    found += suggestions(prepared.sql, opened.catalog, tables, now, errors_under, most, answering.profiles.find_values)
    if most and prepared.earlier is None:

        def errors_of(tree: exp.Query) -> tuple[tuple[float | None, ...], int | None]:
            try:
                other = planned(tree=tree)
                return pricing.errors_afresh(other, epsilon, settings.stages), _groups(other)
            except Refused:
                return (), None

        found += coarser(read(), opened.catalog, (now, _groups(prepared)), errors_of, most)
    found = [beside_now(now, one) for one in found]
    if not settings.intervals:
        return tuple(found)
    columns = tuple(AnswerColumn(name, kind) for name, kind in prepared.columns)
    return tuple(
        replace(
            one,
            errors=_beside_ends(columns, prepared, one.errors),
            less=_beside_ends(columns, prepared, one.less),
        )
        for one in found
    )


def _groups(prepared: Prepared) -> int | None:
    """How many groups there are, where the policy and the text say so."""
    plans = [one.first for one in prepared.program.asked]
    return plans[0].shown_cells if len(plans) == 1 and plans[0].selection is None and plans[0].keys else None


def _rendered(explanation: Explanation) -> list[str]:
    from dpsql.display import explanation_lines  # Here, since a terminal's tables are loaded with it.

    return explanation_lines(explanation)


def _drawn(explanation: Explanation) -> str:
    from dpsql.display import explanation_html

    return explanation_html(explanation)


def answer_columns(prepared: Prepared, settings: Settings) -> tuple[AnswerColumn, ...]:
    """What a statement answers with, under the session's settings."""
    columns = tuple(AnswerColumn(name, kind) for name, kind in prepared.columns)
    return widened_columns(columns, prepared.measured) if settings.intervals else columns


def _releases(
    prepared: Prepared, priced: Priced, known: ReleasedBefore, calibrations: Sequence[Calibration]
) -> tuple[ReleaseExplanation, ...]:
    totals = {shape.measurements[1] for shape in prepared.program.shapes if shape.others}
    cut = {place for shape in prepared.program.shapes if shape.presences for place in shape.measurements}
    return tuple(
        ReleaseExplanation(
            plan=calibration.read,
            mechanisms=tuple(measured.mechanism for measured in calibration.measured),
            threshold=calibration.threshold,
            margins=margins(
                calibration.plan, calibration, known.group(calibration.plan), partial(known.spread, calibration.plan)
            ),
            reused=calibration.plan.identity in priced.stored,
            origin=priced.origin(calibration.plan),
            running=running_margins(calibration.plan, calibration.noise),
            ranking=calibration.ranking,
            beside=place in totals,
            marginal=place >= len(prepared.program.asked),
            every=place not in cut,
            group=known.group(calibration.plan),
            profiled=known.rows_of(calibration.plan) is not None,
            spreads=frozenset(name for name, *_ in calibration.plan.of_columns if known.spread(calibration.plan, name)),
        )
        for place, calibration in enumerate(calibrations)
    )


def _expected(
    known: ReleasedBefore, prepared: Prepared, calibrations: Sequence[Calibration], settings: Settings
) -> tuple[float | None, ...]:
    """The error to expect of each column; the ends of intervals have none."""
    errors = expected_errors(prepared, calibrations, known)
    if prepared.program.shown:
        pairs = zip(errors, prepared.program.shown, strict=True)
        errors = tuple(error if shown is Shown.VALUE else None for error, shown in pairs)
    if not settings.intervals:
        return errors
    return _beside_ends(tuple(AnswerColumn(name, kind) for name, kind in prepared.columns), prepared, errors)


def _expected_items(
    known: ReleasedBefore, prepared: Prepared, calibrations: Sequence[Calibration], settings: Settings
) -> tuple[tuple[float | None, ...], ...]:
    """Those of arrays; () for every other column, and in all where no column is one."""
    items = expected_of_items(prepared, calibrations, known)
    if not any(items):
        return ()
    if prepared.program.shown:
        pairs = zip(items, prepared.program.shown, strict=True)
        items = tuple(item if shown is Shown.VALUE else () for item, shown in pairs)
    if not settings.intervals:
        return items
    found: list[tuple[float | None, ...]] = []
    for item, (_, kind), one in zip(items, prepared.columns, prepared.measured, strict=True):
        found += [item, (), ()] if has_interval(one, kind) else [item]
    return tuple(found)


def _beside_ends(
    columns: tuple[AnswerColumn, ...], prepared: Prepared, errors: tuple[float | None, ...]
) -> tuple[float | None, ...]:
    known = ColumnarRows.of([DOUBLE] * len(columns), [errors])
    return widened_margins(columns, prepared.measured, known)[0]
