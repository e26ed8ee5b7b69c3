"""How many groups one person's rows make, where they are grouped by more than the person.

The data need not keep to this number, nor to any bound: a person with more of these rows is clipped. The number only
has to be so large that nobody who keeps to the owner's bounds is clipped.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.columns import variable_behind
from rewriter.declared import Catalog, ContributionBound, least
from rewriter.release import Key, key_name


def groups_of_one_person(
    keys: Sequence[Key], of_rows: ContributionBound, alias: str, catalog: Catalog
) -> ContributionBound:
    """The bound on groups that are rows again, as columns ``k0``, ``k1``, … of ``alias``; ``of_rows`` is that of rows.

    There are no more groups than rows; where an order is a key, or what an order has alone, no more than orders.
    """
    varying = [place for place, key in enumerate(keys) if not key.value.constant and not key.value.unit]
    parents = _rows_behind([keys[place] for place in varying], catalog)
    most = least([of_rows.rows, parents])
    apart = frozenset((alias, key_name(place)) for place in varying)
    undeclared = of_rows.undeclared if parents is None else frozenset[str]()
    return ContributionBound(most, most, undeclared=undeclared, apart=(apart,))


def _rows_behind(keys: Sequence[Key], catalog: Catalog) -> int | None:
    """The ``max_rows`` of the table that all keys are columns of, or that the one key refers to; and one more for rows
    without a match, where an outer join has them."""
    variables = [variable_behind(key.value.sql) for key in keys]
    known = [variable for variable in variables if variable is not None and not variable.table.public]
    if not known or len(known) < len(keys) or len({variable.alias for variable in known}) > 1:
        return None
    table = known[0].table
    found = table.max_rows
    if len(known) == 1 and table.path and known[0].name == table.path[0].column:
        found = least([found, catalog.tables[table.path[0].parent].max_rows])
    return found + 1 if found is not None and any(variable.optional for variable in known) else found
