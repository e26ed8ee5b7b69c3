"""Errors of the sandbox's DuckDB, in our own words.

The sandbox knows released numbers, public tables and the analyst's own text, so its errors hold no secret; but they
name tables and functions that the analyst never wrote, and are another database's words. Only names are taken over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import duckdb

from dpsql.errors import Error, error

UNDEFINED = frozenset({"22000", "22003", "22008", "22P02", "21000"})
"""What is said where an operation has no result for some value."""

NEGATIVE_LIMIT = "2201W"
_CAST_OF_LIMIT = re.compile(r"with value -\S+ can't be cast because .* destination type UINT64")
"""DuckDB casts the numbers of LIMIT and OFFSET to this type, and the sandbox's SELECTs cast to it nowhere else."""
_NAME = r'"?([^"!\n]{1,64}?)"?'


@dataclass(frozen=True, slots=True)
class _Mistake:
    """A pattern of DuckDB's text for a mistake in a query, and what is said instead; {0} is the name in it."""

    pattern: re.Pattern[str]
    sqlstate: str
    message: str
    hint: str


_MISTAKES = tuple(
    _Mistake(re.compile(pattern), sqlstate, message, hint)
    for pattern, sqlstate, message, hint in (
        (rf"Referenced column {_NAME} (?:was )?not found", "42703", "there is no column {0}", "name a column of FROM"),
        (rf"Column {_NAME} referenced that exists", "42703", "there is no column {0}", "name a column of FROM"),
        (rf"does not have a column named {_NAME}", "42703", "there is no column {0}", "name a column of FROM"),
        (rf"Referenced table {_NAME} not found", "42P01", "there is no table {0} in FROM", "name it in FROM first"),
        (rf"Table with name {_NAME} does not exist", "42P01", "there is no table {0}", "check the names in FROM"),
        (rf"Ambiguous reference to (?:column name|table) {_NAME} ", "42702", "{0} is ambiguous", "write table.column"),
        (rf"Duplicate (?:CTE|alias) name {_NAME}", "42712", "{0} is named twice", "choose another name"),
        (rf"[Dd]uplicate alias {_NAME}", "42712", "{0} is named twice", "choose another name"),
        (rf"column {_NAME} must appear in the GROUP BY", "42803", "{0} is not grouped", "add it to GROUP BY"),
        (r"GROUP BY", "42803", "a column is neither grouped nor aggregated", "add it to GROUP BY"),
        (r"GROUPING", "42803", "GROUPING needs a grouped column", "name a column of GROUP BY"),
        (r"aggregate", "42803", "an aggregate stands where none may", "aggregate in a subquery, then compute with it"),
        (r"[Ww]indow", "42P20", "a window function stands where none may", "use it in a subquery, then filter it"),
        (r"No function matches|Could not choose", "42883", "no such operation for these types", "cast its arguments"),
        (r"does not exist", "42883", "there is no such function", "use the common functions of PostgreSQL"),
        (r"Cannot (?:compare|mix|combine)|[Tt]ype|cast", "42804", "these types do not go together", "cast one side"),
        (r"columns? in VALUES|same number|number of (?:result )?columns|[Ss]ubquery", "42601",
         "the number of columns does not fit", "select as many columns on both sides"),
        (r"ORDER term out of range", "42P10", "an ORDER BY position is not in the select list", "count from 1"),
        (r"LIMIT/OFFSET cannot be negative", NEGATIVE_LIMIT, "LIMIT and OFFSET are not below 0", "write LIMIT 10"),
        (r"ORDER BY|LIMIT|OFFSET|out of range", "42P10", "a position or limit is out of place", "name a column"),
    )
)  # fmt: skip


def too_long(seconds: float) -> Error:
    return error(
        f"computing with the released numbers took longer than {seconds:g} seconds",
        sqlstate="57014",
        hint="join or generate fewer rows above the aggregates",
    )


def too_much() -> Error:
    return error(
        "computing with the released numbers took too much memory",
        sqlstate="53200",
        hint="join or generate fewer rows above the aggregates",
    )


def sandbox_error(raised: Exception, seconds: float) -> Error:
    """One of a fixed set of errors; runtime errors depend on released values alone.

    >>> sandbox_error(duckdb.BinderException('Referenced column "x" not found in FROM clause!'), 1).message
    'there is no column x'
    """
    if isinstance(raised, duckdb.InterruptException):
        return too_long(seconds)
    if isinstance(raised, duckdb.OutOfMemoryException | MemoryError):
        return too_much()
    if isinstance(raised, duckdb.ConversionException):
        return error(
            "a value cannot be cast", sqlstate="22P02", hint="filter such values out with CASE before the cast"
        )
    if isinstance(raised, duckdb.OutOfRangeException | OverflowError):
        return error(
            "a number is out of range, or a function has no value there",
            sqlstate="22003",
            hint="cast to DOUBLE PRECISION, or guard it: CASE WHEN x > 0 THEN LN(x) END",
        )
    if isinstance(raised, duckdb.BinderException | duckdb.CatalogException):
        return _mistake(str(raised))
    if isinstance(raised, duckdb.InvalidInputException) and "More than one row" in str(raised):
        return error("a subquery has more than one row", sqlstate="21000", hint="aggregate in it, or add LIMIT 1")
    if isinstance(raised, duckdb.InvalidInputException) and _CAST_OF_LIMIT.search(str(raised)) is not None:
        return error(
            "LIMIT and OFFSET must not be negative, and a released number makes one of them so",
            sqlstate=NEGATIVE_LIMIT,
            hint="write LIMIT GREATEST(…, 0)",
        )
    if isinstance(raised, duckdb.InvalidInputException | ValueError | duckdb.DataError):
        return error("a value does not fit a function", sqlstate="22000", hint="guard it with CASE WHEN")
    if isinstance(raised, duckdb.ParserException | duckdb.SyntaxException | duckdb.NotImplementedException):
        return error(
            "this form is not answered above the aggregates", sqlstate="0A000", hint="write it in plain SELECTs"
        )
    return error("computing with the released numbers failed", sqlstate="XX000", hint="simplify what is above them")


def _mistake(text: str) -> Error:
    first = text.split("\n", 1)[0]
    for mistake in _MISTAKES:
        if (found := mistake.pattern.search(first)) is not None:
            name = found[1] if found.groups() else ""
            if name.startswith("dpsql_"):
                name = "of that name"
            return error(mistake.message.format(name), sqlstate=mistake.sqlstate, hint=mistake.hint)
    return error("the query is not valid above the aggregates", sqlstate="42601", hint="check names and types in it")
