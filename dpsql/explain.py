"""Explanations: what a query would do and cost, and how accurate it would be. Free, and without reading data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dpsql.accounting import PrivacyLoss
from dpsql.answer import Answering
from dpsql.calibrate import Calibration, margins
from dpsql.finish import others_notes, present_notes, widened_columns, widened_margins
from dpsql.inference.estimates import running_margins
from dpsql.prepare import Prepared
from dpsql.price import Priced, expected_errors, notices
from dpsql.releases import ColumnarRows
from dpsql.reply import AnswerColumn, Budget, Explanation, ReleaseExplanation
from dpsql.settings import Settings
from rewriter.declared import DOUBLE
from rewriter.front_door import Shown


def explained(
    answering: Answering, prepared: Prepared, settings: Settings, budget_after: Callable[[PrivacyLoss], Budget]
) -> Explanation:
    """The explanation of a query. ``budget_after`` says what a price would leave.

    Raises :class:`dpsql.errors.Error`.
    """
    settled = answering.offered(prepared, settings)
    prepared, purchase = settled.prepared, settled.purchase
    if purchase is None:
        priced = answering.pricing.settled(settled, settings)
        others = others_notes(prepared.program.shapes, priced.calibrations)
        present = present_notes(prepared.program.shapes, priced.calibrations)
        price, notes = priced.loss, (*prepared.program.notes, *others, *present)
        expected = _expected(answering, prepared, priced.calibrations, settings)
    else:
        # The measurements after a purchase follow from its released numbers.
        priced = Priced(settings.epsilon, purchase.all, {})
        price, notes = purchase.loss, (purchase.warning,)
        expected = (None,) * len(answer_columns(prepared, settings))
    return Explanation(
        releases=_releases(prepared, priced),
        outer_sql=prepared.program.outer.shown_sql,
        columns=answer_columns(prepared, settings),
        expected=expected,
        price=price,
        epsilon=answering.opened.accountant.accounting.statement_epsilon(price),
        remaining_after=budget_after(price),
        notices=(*settled.notices, *notes, *notices(priced)),
        render=_rendered,
    )


def _rendered(explanation: Explanation) -> list[str]:
    from dpsql.display import explanation_lines  # Here, since a terminal's tables are loaded with it.

    return explanation_lines(explanation)


def answer_columns(prepared: Prepared, settings: Settings) -> tuple[AnswerColumn, ...]:
    """What a statement answers with, under the session's settings."""
    columns = tuple(AnswerColumn(name, kind) for name, kind in prepared.columns)
    return widened_columns(columns, prepared.measured) if settings.intervals else columns


def _releases(prepared: Prepared, priced: Priced) -> tuple[ReleaseExplanation, ...]:
    totals = {shape.measurements[1] for shape in prepared.program.shapes if shape.others}
    return tuple(
        ReleaseExplanation(
            plan=calibration.plan,
            mechanisms=tuple(measured.mechanism for measured in calibration.measured),
            threshold=calibration.threshold,
            margins=margins(calibration.plan, calibration),
            reused=calibration.plan.identity in priced.stored,
            origin=priced.origin(calibration.plan),
            running=running_margins(calibration.plan, calibration.noise),
            ranking=calibration.ranking,
            beside=place in totals,
        )
        for place, calibration in enumerate(priced.calibrations)
    )


def _expected(
    answering: Answering, prepared: Prepared, calibrations: Sequence[Calibration], settings: Settings
) -> tuple[float | None, ...]:
    """The error to expect of each column; the ends of intervals have none."""
    errors = expected_errors(prepared, calibrations, answering.pricing.known(prepared))
    if prepared.program.shown:
        pairs = zip(errors, prepared.program.shown, strict=True)
        errors = tuple(error if shown is Shown.VALUE else None for error, shown in pairs)
    if not settings.intervals:
        return errors
    columns = tuple(AnswerColumn(name, kind) for name, kind in prepared.columns)
    known = ColumnarRows.of([DOUBLE] * len(columns), [errors])
    return widened_margins(columns, prepared.measured, known)[0]
