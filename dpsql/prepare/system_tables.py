"""The relations of the schema ``dpsql``: the budget, the charges and the declared columns, readable from SQL."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpsql.accounting import steepest
from dpsql.ledger import EVERYBODY
from dpsql.releases import ReleasedColumn, ReleasedTable
from rewriter.declared import VIRTUAL_COLUMNS, Scalar

if TYPE_CHECKING:
    from dpsql.opened import Opened


def virtual_table(name: str, opened: Opened, analyst: str) -> ReleasedTable:
    """The rows of one relation as ``analyst`` may see them: their own charges, the total and their own share."""
    rows = {"dpsql_budget": _budget, "dpsql_charges": _charges, "dpsql_columns": _columns}[name](opened, analyst)
    columns = VIRTUAL_COLUMNS[name]
    return ReleasedTable(
        tuple(
            ReleasedColumn(column, kind, tuple(row[place] for row in rows))
            for place, (column, kind) in enumerate(columns.items())
        )
    )


Row = tuple[Scalar | None, ...]


def _budget(opened: Opened, analyst: str) -> list[Row]:
    each = opened.accountant.price(opened.policy.statement.epsilon, Fraction(0))
    standings = (*opened.ledger.standings(), *opened.ledger.standings(analyst))
    return [
        (
            one.whose or None,
            str(accountant.accounting),
            float(accountant.epsilon),
            float(accountant.delta),
            accountant.epsilon_of(spent),
            max(0.0, float(accountant.epsilon) - accountant.epsilon_of(spent)),
            accountant.statements_left(spent, each),
            float(spent.part_of(accountant.limit)),
            None if accountant.per is None else str(accountant.per),
            one.renews,
        )
        for one in standings
        for accountant, spent in [(one.accountant, one.spent)]
    ]


def _charges(opened: Opened, analyst: str) -> list[Row]:
    """``used``: a part of the budget of all time where one is declared, else of that of a window."""
    whole = opened.ledger.limits[EVERYBODY][-1].limit
    return [
        (
            charge.time.replace(tzinfo=None),
            charge.analyst,
            float(charge.loss.epsilon),
            float(charge.loss.rho or steepest(charge.loss.curve)),
            float(charge.loss.delta),
            ", ".join(charge.tables),
            charge.statement,
            float(charge.loss.part_of(whole)),
        )
        for charge in opened.ledger.charges(analyst)
    ]


def _columns(opened: Opened, analyst: str) -> list[Row]:
    found: list[Row] = []
    for table in opened.catalog.tables.values():
        refresh = None if table.public else opened.policy.refresh_of(table.name)
        since = None if refresh is None else refresh.begin(opened.clock.read())
        for column in table.columns.values():
            low, high = (None, None) if column.range is None else (str(column.range[0]), str(column.range[1]))
            finite = column.values is not None or column.values_from is not None
            facts = (table.name, column.name, str(column.type), table.public, low, high, finite)
            found.append((*facts, None if refresh is None else str(refresh), since))
    return found
