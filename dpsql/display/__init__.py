"""Answers, plans, budgets and ledgers as a person reads them."""

from dpsql.display.answers import answer_table, explanation, explanation_lines, refusal, rows_line, vertical_lines
from dpsql.display.budget_table import budget
from dpsql.display.charges_table import as_json_lines, charges_as_csv, faults, summary
from dpsql.display.completed_words import FUNCTIONS, KEYWORDS
from dpsql.display.csv_json import answer_data, as_csv, as_json, field, plain
from dpsql.display.explained_plan import code
from dpsql.display.html_tables import answer_html, explanation_html
from dpsql.display.terminal_charts import chart_lines
from dpsql.display.terminal_tables import column, grid

__all__ = [
    "FUNCTIONS",
    "KEYWORDS",
    "answer_data",
    "answer_html",
    "answer_table",
    "as_csv",
    "as_json",
    "as_json_lines",
    "budget",
    "charges_as_csv",
    "chart_lines",
    "code",
    "column",
    "explanation",
    "explanation_html",
    "explanation_lines",
    "faults",
    "field",
    "grid",
    "plain",
    "refusal",
    "rows_line",
    "summary",
    "vertical_lines",
]
