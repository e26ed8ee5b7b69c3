"""Answers, plans, budgets and ledgers as a person reads them."""

from dpsql.display.answers import answer_table, explanation, explanation_lines, refusal, rows_line
from dpsql.display.budget_table import budget
from dpsql.display.charges_table import as_json_lines, charges_as_csv, faults, summary
from dpsql.display.csv_json import as_csv, as_json
from dpsql.display.explained_plan import code
from dpsql.display.terminal_tables import column, grid

__all__ = [
    "answer_table",
    "as_csv",
    "as_json",
    "as_json_lines",
    "budget",
    "charges_as_csv",
    "code",
    "column",
    "explanation",
    "explanation_lines",
    "faults",
    "grid",
    "refusal",
    "rows_line",
    "summary",
]
