"""Values that never raise, whatever a row holds."""

from rewriter.expressions.build import RISING, hull, is_literal, limits_of, literal, typed
from rewriter.expressions.capture_patterns import check_capture
from rewriter.expressions.casts import common_type, compared_as_doubles, hint_of_kinds, widen
from rewriter.expressions.clock_word import CLOCK_WORD, ClockWord
from rewriter.expressions.compile import IsInterval, compile_expression, compile_list, read_column
from rewriter.expressions.conjunction import both, present
from rewriter.expressions.constants import constant_point, constant_span
from rewriter.expressions.function_types import (
    ANY_KIND,
    FUNCTION_TYPES,
    MOMENTS,
    NUMBERS,
    NUMERIC_OR_DOUBLE,
    FunctionTypes,
    Kinds,
)
from rewriter.expressions.interval_length import DAY
from rewriter.expressions.interval_length import whole as length_of
from rewriter.expressions.literal_grain import moved_in
from rewriter.expressions.literals import fixed_zone
from rewriter.expressions.local_time import CUT, ZONE
from rewriter.expressions.scalar_functions import ANY_NUMBER, FUNCTIONS
from rewriter.expressions.series_of_rows import SERIES, items_of_series
from rewriter.expressions.stored_lists import PART, makes_rows
from rewriter.expressions.text_length import LENGTHS
from rewriter.expressions.text_matches import first_group, replacement_of
from rewriter.expressions.text_positions import called, in_place_of, keep_places, name_of, position_of, word_of
from rewriter.expressions.time import CYCLES, OF_TIMESTAMP, SHORTEST, SORTED, TEXTS, floor_to
from rewriter.expressions.time_bins import BINNED, WIDTH
from rewriter.expressions.value import (
    DOMAIN,
    LIMITS,
    LINEAR,
    LITERAL,
    REPORTED,
    ConditionalKey,
    Constant,
    Domain,
    IntegerRange,
    Scope,
    Value,
    Values,
    common_decimals,
    text_size,
)
from rewriter.expressions.value_lattice import (
    clip_of,
    clipped_once,
    clipped_steps,
    held,
    lattice,
    limit_of,
    stays_within,
)

__all__ = [
    "ANY_KIND",
    "ANY_NUMBER",
    "BINNED",
    "CLOCK_WORD",
    "CUT",
    "CYCLES",
    "DAY",
    "DOMAIN",
    "FUNCTIONS",
    "FUNCTION_TYPES",
    "LENGTHS",
    "LIMITS",
    "LINEAR",
    "LITERAL",
    "MOMENTS",
    "NUMBERS",
    "NUMERIC_OR_DOUBLE",
    "OF_TIMESTAMP",
    "PART",
    "REPORTED",
    "RISING",
    "SERIES",
    "SHORTEST",
    "SORTED",
    "TEXTS",
    "WIDTH",
    "ZONE",
    "ClockWord",
    "ConditionalKey",
    "Constant",
    "Domain",
    "FunctionTypes",
    "IntegerRange",
    "IsInterval",
    "Kinds",
    "Scope",
    "Value",
    "Values",
    "both",
    "called",
    "check_capture",
    "clip_of",
    "clipped_once",
    "clipped_steps",
    "common_decimals",
    "common_type",
    "compared_as_doubles",
    "compile_expression",
    "compile_list",
    "constant_point",
    "constant_span",
    "first_group",
    "fixed_zone",
    "floor_to",
    "held",
    "hint_of_kinds",
    "hull",
    "in_place_of",
    "is_literal",
    "items_of_series",
    "keep_places",
    "lattice",
    "length_of",
    "limit_of",
    "limits_of",
    "literal",
    "makes_rows",
    "moved_in",
    "name_of",
    "position_of",
    "present",
    "read_column",
    "replacement_of",
    "stays_within",
    "text_size",
    "typed",
    "widen",
    "word_of",
]
