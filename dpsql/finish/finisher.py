"""From released tables to the rows of an answer: inference, the outer SELECT, error bars. Post-processing alone."""

from __future__ import annotations

from collections.abc import Sequence

from dpsql.engines import Cancellation
from dpsql.finish.cut_off import cut_off_notes
from dpsql.finish.empty_groups import empty_notes
from dpsql.finish.error_bars import exact_bars, over_groups_bars, pieced, selected_bars, tried_bars
from dpsql.finish.propagate import Sources
from dpsql.finish.remembered import Finished, FinishedAnswers, undefined_notes
from dpsql.opened import Opened
from dpsql.prepare import Prepared, virtual_table
from dpsql.releases import ColumnarRows
from dpsql.reuse import Made
from dpsql.sandbox import OuterAnswer
from dpsql.settings import Settings
from rewriter.front_door import Empty


class Finisher:
    """Finishes the queries of one proxy. Thread-safe; what follows from the same released tables is computed once."""

    def __init__(self, opened: Opened, *, silent: bool = False) -> None:
        self._opened = opened
        # Only tests have no noise: then nothing is told of how far off it is.
        self._silent = silent
        self.finished = FinishedAnswers(opened.memories)

    def finish(
        self, prepared: Prepared, made: Sequence[Made], settings: Settings, analyst: str, cancellation: Cancellation
    ) -> Finished:
        """The rows that a query answers over its released tables, ``made`` for each of its plans."""
        tables = [one.table for one in made]

        def finish() -> Finished:
            return self._finish(prepared, made, settings, analyst, cancellation)

        if prepared.program.virtual:
            return finish()
        return self.finished.get(prepared, tables, settings.consistent, finish)

    def _finish(
        self, prepared: Prepared, made: Sequence[Made], settings: Settings, analyst: str, cancellation: Cancellation
    ) -> Finished:
        plans, tables = [one.plan for one in made], [one.table for one in made]
        derived = {place: one.derived for place, one in enumerate(made) if one.derived is not None}
        consistent, sandbox, outer = settings.consistent, self._opened.sandbox, prepared.outer
        limit = self._opened.policy.limits.rows
        released, pieces, left_out = pieced(
            tables, plans, prepared, consistent=consistent, derived=derived, rows=limit, silent=self._silent
        )
        virtual = {name: virtual_table(name, self._opened, analyst) for name in prepared.program.virtual}
        below = released | virtual
        if released:
            columns, found, undefined = sandbox.answer(outer.sql, below, cancellation, prepared.zone)
        else:
            columns, found, undefined = OuterAnswer(*sandbox.run(outer.sql, below, cancellation, prepared.zone))
        rows = ColumnarRows.of([kind for _, kind in columns], found)
        # Rows end with the numbers of the released rows that each of them was made from.
        own = Sources.of(rows.columns[len(outer.measured) :], pieces, len(rows), outer.totals)
        bars = exact_bars(outer.measured, rows, own)
        if outer.question.wanted:
            sources = prepared, tables, plans, rows, released, virtual
            tried = tried_bars(*sources, sandbox, cancellation, consistent, limit)
            bars = tuple(tried.get(at, bar) for at, bar in enumerate(bars))
        over_groups = over_groups_bars(outer.over_groups, released, len(rows))
        bars = tuple(over_groups.get(at, bar) for at, bar in enumerate(bars))
        bars, chosen = selected_bars(prepared, rows, bars, released, pieces, self._opened.accountant.accounting)
        told = undefined_notes(rows, undefined=undefined) if released else ()
        if settings.empty is Empty.AUTO:
            told = (*told, *empty_notes(own))
        if consistent and not self._silent:
            told += cut_off_notes([name for name, _ in columns], outer.measured, rows, own)
        return Finished(columns, rows, bars, (*left_out, *chosen, *told))
