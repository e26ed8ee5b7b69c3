"""Groups that are computed with, by a number that nothing is known of: an order number, the number of a session.

Such groups are most often one person's each, and then none is large enough to be shown: what is computed of those that
are shown is NULL, or 0. That follows from the text and the policy, so it is said before anything is paid, unless the
groups that are not shown are a row of their own, or public rows are found by the number. Whoever means one person's
groups groups by the person as well; whoever means groups of many people says so by counting these.

A statement may say itself whose its groups are, by the MIN or MAX of the key of the person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from rewriter.aggregates import Grouped
from rewriter.columns import variable_behind
from rewriter.declared import Kind
from rewriter.dialects import Dialect
from rewriter.keys import public_keys
from rewriter.refused import Refused
from rewriter.release import Key, Query, is_released, release_name
from rewriter.statement import is_window_function


def named_person(grouped: Grouped) -> str | None:
    """The MIN or MAX by which a group says whose it is: of the key of the person, over all rows of a group.

    ``SELECT MAX(patient_id), … GROUP BY sample_id`` speaks of groups of one person each. They are grouped by the person
    as well, which adds nothing where that is so, and keeps people apart where it is not. Only what is known of a person
    is read of such groups, by a LEFT JOIN of them: how many there are would hang on the statement's word.
    """
    for one in grouped.aggregates:
        named = one.kind.same_of_one and one.argument is not None and one.argument.unit and not one.distinct
        if grouped.keys and named and one.condition is None and not one.value.nullable:
            return one.text
    return None


def check_groups(releases: Sequence[Query], outer: exp.Query, dialect: Dialect) -> None:
    """Refuse aggregates over such groups. Raises :class:`Refused`."""
    for number, query in enumerate(releases):
        key = next((key for key in query.keys if _is_any_number(key)), None)
        if key is None or query.others or query.blocks or query.bound.rows == 1 or _counts_people(query):
            continue
        if _names_public_rows(key, outer) or not _is_aggregated(release_name(number), outer):
            continue
        if public_keys(query.keys, query.filters, dialect) is None:
            raise Refused(
                f"groups by {key.text} may be one person's each, and groups of so few people are not shown",
                hint=f"where each is one person's, GROUP BY {key.text} and the key of the person; for groups of many"
                " people add HAVING COUNT(DISTINCT …) > 10 of that key, or the owner can declare a range of the column",
            )


def _is_any_number(key: Key) -> bool:
    """Whether a key is a column of whole numbers without declared values."""
    variable = variable_behind(key.value.sql)
    if variable is None or variable.table.public or variable.lister is not None:
        return False
    column = variable.column
    return column.type.kind is Kind.INTEGER and column.range is None and column.values is None


def _names_public_rows(key: Key, outer: exp.Query) -> bool:
    """Whether public rows are found by the key: the number of a shop, and not of a session."""
    variable = variable_behind(key.value.sql)
    ctes = {cte.alias for cte in outer.find_all(exp.CTE)}
    public = {
        table.alias_or_name
        for table in outer.find_all(exp.Table)
        if table.name not in ctes and not is_released(table.name)
    }
    for test in outer.find_all(exp.EQ):
        sides = (test.left, test.right)
        for one, other in (sides, sides[::-1]):
            columns = isinstance(one, exp.Column) and isinstance(other, exp.Column)
            if columns and variable is not None and one.name == variable.name and other.text("table") in public:
                return True
    return False


def _counts_people(query: Query) -> bool:
    """Whether groups are asked how many people they have."""
    return any(one.distinct and one.argument is not None and one.argument.unit for one in query.aggregates)


def _is_aggregated(name: str, outer: exp.Query) -> bool:
    """Whether an aggregate stands over the rows of a table, or of a WITH query that reads it."""
    for table in [one for one in outer.find_all(exp.Table) if one.name == name]:
        node: exp.Expr | None = table
        while node is not None:
            if isinstance(node, exp.Select) and any(_aggregates(node)):
                return True
            if isinstance(node, exp.CTE) and node.alias != name and _is_aggregated(node.alias, outer):
                return True
            node = node.parent
    return False


def _aggregates(select: exp.Select) -> Iterator[exp.Expr]:
    """The aggregates of a SELECT itself, which are no windows."""
    for item in select.expressions:
        for node in item.walk(prune=lambda inner: isinstance(inner, exp.Query)):
            if isinstance(node, exp.AggFunc) and not is_window_function(node):
                yield node
