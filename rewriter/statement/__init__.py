"""Text to one plain tree, one rule a file."""

from rewriter.statement.and_branches import (
    branches,
    conjuncts,
    from_items,
    is_equality,
    null_safe,
    tested_for_null,
    unparenthesised,
)
from rewriter.statement.coarser_statements import CoarserGroups, coarser_groups
from rewriter.statement.comparison_to_watch import WATCHED_FORM, WatchedComparison, watched_comparison
from rewriter.statement.describe_words import SUMMARY
from rewriter.statement.first_groups import groups_first
from rewriter.statement.fold_constants import plain_constants
from rewriter.statement.function_names import function_name
from rewriter.statement.identifiers import alias_columns, folded, is_star, nodes_of, unaliased
from rewriter.statement.interval_columns import Shown, without_ends
from rewriter.statement.lexer import Lexeme, lexemes, pieces
from rewriter.statement.literal_logic import decided, known
from rewriter.statement.output_names import grouped_item, output_name
from rewriter.statement.parser import (
    MAX_BYTES,
    Explain,
    IntervalText,
    Parameters,
    Select,
    SetSetting,
    ShowSetting,
    Transaction,
    parse,
)
from rewriter.statement.ranked_row import counts_values, rank_of_row, row_of_order, value_of_order
from rewriter.statement.refused_parts import no_qualify, only
from rewriter.statement.select_shape import (
    children_of,
    has_aggregate,
    is_aggregate,
    is_grouped,
    is_window_function,
    star_of,
    walk,
)
from rewriter.statement.spell_blocks import plain_blocks
from rewriter.statement.spell_conditions import plain_conditions, plain_texts, values_of_row
from rewriter.statement.spell_functions import plain_functions
from rewriter.statement.spell_quantiles import listed_items, plain_quantiles
from rewriter.statement.spell_ranges import plain_ranges
from rewriter.statement.spell_regressions import COMPONENTS, REGRESSIONS, bare_regressions, number_of, plain_regressions
from rewriter.statement.spell_windows import plain_windows
from rewriter.statement.statement_time import at_instant
from rewriter.statement.three_part_names import plain_names, query_written, written
from rewriter.statement.time_buckets import plain_buckets
from rewriter.statement.whole_rows import named_rows

__all__ = [
    "COMPONENTS",
    "MAX_BYTES",
    "REGRESSIONS",
    "SUMMARY",
    "WATCHED_FORM",
    "CoarserGroups",
    "Explain",
    "IntervalText",
    "Lexeme",
    "Parameters",
    "Select",
    "SetSetting",
    "ShowSetting",
    "Shown",
    "Transaction",
    "WatchedComparison",
    "alias_columns",
    "at_instant",
    "bare_regressions",
    "branches",
    "children_of",
    "coarser_groups",
    "conjuncts",
    "counts_values",
    "decided",
    "folded",
    "from_items",
    "function_name",
    "grouped_item",
    "groups_first",
    "has_aggregate",
    "is_aggregate",
    "is_equality",
    "is_grouped",
    "is_star",
    "is_window_function",
    "known",
    "lexemes",
    "listed_items",
    "named_rows",
    "no_qualify",
    "nodes_of",
    "null_safe",
    "number_of",
    "only",
    "output_name",
    "parse",
    "pieces",
    "plain_blocks",
    "plain_buckets",
    "plain_conditions",
    "plain_constants",
    "plain_functions",
    "plain_names",
    "plain_quantiles",
    "plain_ranges",
    "plain_regressions",
    "plain_texts",
    "plain_windows",
    "query_written",
    "rank_of_row",
    "row_of_order",
    "star_of",
    "tested_for_null",
    "unaliased",
    "unparenthesised",
    "value_of_order",
    "values_of_row",
    "walk",
    "watched_comparison",
    "without_ends",
    "written",
]
