"""Rows of the person whom a group names, beside the group: samples of several people, joined by MAX(patient_id).

Guarantee: where one person comes or goes, rows of no more groups change than groups alone would
(:mod:`rewriter.per_person.shared_groups`). So the groups stay the units, and what stands beside them is looked up.

Proof. MIN or MAX of the person's key over rows of a group is the key of somebody who has a row in the group, or NULL. A
row that is joined by it is that person's, and so are all that make it. So the rows of the join that come of one group
read rows of people who are in this group, and nobody else's: without a person, the groups that the person is in
change, as they do anyhow, and no others. How many rows a group has then is bounded as it is of a person's rows: as many
as the named person has, and clipped to that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rewriter.columns import Source
from rewriter.declared import Catalog
from rewriter.dialects import Dialect
from rewriter.relations.ownership import Equality, OuterCondition, Ties, own
from rewriter.relations.shared_rows import SharedRows


def people_beside_groups(
    sources: Sequence[Source],
    equalities: Sequence[Equality],
    outer: Mapping[str, OuterCondition],
    unmatched: frozenset[str],
    catalog: Catalog,
    dialect: Dialect,
) -> SharedRows | None:
    """The join, where one source has groups of several people, and all others' rows are of a person whom its group
    names; None where that is not so."""
    private = [source for source in sources if source.private]
    groups = [source for source in private if source.bound.shared is not None]
    if len(groups) != 1 or groups[0].optional:
        return None
    (group,) = groups
    ties = Ties.of(equalities, outer)
    if not all(_is_of_named(source, group, ties) for source in private if source is not group):
        return None
    beside = [_looked_up(source) if source.private and source is not group else source for source in sources]
    return SharedRows(tuple(beside), own(beside, equalities, outer, unmatched, catalog, dialect))


def _is_of_named(source: Source, group: Source, ties: Ties) -> bool:
    """Whether each row that is joined is of the person whom the group names, and there is a known number of these."""
    if source.bound.rows is None or source.bound.undeclared or source.bound.spans or source.said:
        return False
    people = replace(group, fields={name: value for name, value in group.fields.items() if value.named})
    units = [name for name, value in source.fields.items() if value.unit]
    return any(ties.tied(source, [name], [people]) for name in units)


def _looked_up(source: Source) -> Source:
    """The source as rows that are found for a group: nobody's, and as many as one person has."""
    fields = {name: value.unowned() for name, value in source.fields.items()}
    return replace(source, table=None, private=False, unit=None, fields=fields)
