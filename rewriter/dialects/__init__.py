"""How each engine spells what a checked expression needs."""

from rewriter.dialects.calendar_nodes import (
    CalendarReading,
    Read,
    field_of,
    number_print_of,
    print_of,
    reading_of,
    start_of,
)
from rewriter.dialects.dialect import WORDS, Dialect
from rewriter.dialects.double_operand import ANY, Double, Magnitude, reaching
from rewriter.dialects.duckdb import DUCKDB
from rewriter.dialects.fact import Fact, fact_of, is_fact, without_facts
from rewriter.dialects.grammar import plain_text, tokens_of
from rewriter.dialects.local_days import ZonedDays, zoned_days
from rewriter.dialects.nested_values import DocumentStep
from rewriter.dialects.nodes import (
    MIRRORED,
    binary,
    call,
    double,
    duplicate,
    named_table,
    number,
    refuse,
    text,
    when,
    wrap,
)
from rewriter.dialects.number_format import NumberFormat, format_of
from rewriter.dialects.number_print import number_printed
from rewriter.dialects.postgres import POSTGRES
from rewriter.dialects.spark import SPARK
from rewriter.dialects.strftime import printed
from rewriter.dialects.time_format import (
    FormatField,
    fields,
    is_in_order,
    is_of_clock,
    letters_of,
    most_texts,
    pattern_of,
    period_told,
)
from rewriter.dialects.time_step import Period, TimeStep

__all__ = [
    "ANY",
    "DUCKDB",
    "MIRRORED",
    "POSTGRES",
    "SPARK",
    "WORDS",
    "CalendarReading",
    "Dialect",
    "DocumentStep",
    "Double",
    "Fact",
    "FormatField",
    "Magnitude",
    "NumberFormat",
    "Period",
    "Read",
    "TimeStep",
    "ZonedDays",
    "binary",
    "call",
    "double",
    "duplicate",
    "fact_of",
    "field_of",
    "fields",
    "format_of",
    "is_fact",
    "is_in_order",
    "is_of_clock",
    "letters_of",
    "most_texts",
    "named_table",
    "number",
    "number_print_of",
    "number_printed",
    "pattern_of",
    "period_told",
    "plain_text",
    "print_of",
    "printed",
    "reaching",
    "reading_of",
    "refuse",
    "start_of",
    "text",
    "tokens_of",
    "when",
    "without_facts",
    "wrap",
    "zoned_days",
]
