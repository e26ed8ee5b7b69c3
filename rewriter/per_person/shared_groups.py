"""Groups of rows that may be several people's: samples of which a statement says, by MAX(patient_id), whose they are.

Guarantee: where one person comes or goes, at most :attr:`rewriter.declared.SharedUnits.changes` of such groups come or
go, whatever the data. So a group is planned as a unit of its own, with one row, and all that one of them moves is
multiplied by that number (:mod:`rewriter.planner.answers_changed`).

Proof. Of each person, rows beyond ``max_rows`` are left out before anything is grouped, in an order that hangs on this
person's rows alone. So a person has rows in at most ``max_rows`` groups; each of these goes with the person, or is
another group without: one that goes and one that comes. No other group reads a row of this person.

What a group holds is whatever SQL says of its rows: MIN, MAX and the like have the bounds of their arguments, and how
many rows a group has is not bounded, since any number of people may be in it. Where groups have one key, it is the key
of their unit, and equal values of it are one group. MIN and MAX of the person's key name somebody who has a
row in the group, whose rows may stand beside it (:mod:`rewriter.relations.shared_rows`).
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewriter.aggregates import Grouped
from rewriter.columns import Source
from rewriter.declared import ONE, Catalog, ContributionBound, OwnerKey, SharedUnits
from rewriter.dialects import Dialect
from rewriter.per_person.person_rows import of_units
from rewriter.relations import SelectRows, is_bounded, limited_rows
from rewriter.release import Aggregate, aggregate_name, key_name


def groups_of_several(
    grouped: Grouped, block: SelectRows, alias: str, catalog: Catalog, dialect: Dialect
) -> Source | None:
    """The groups of one table's rows as rows that nobody owns; None where a person has no bounded number of them."""
    sources = block.scope.sources
    if len(sources) != 1 or not grouped.keys or block.reported or not is_bounded(sources[0]):
        return None
    limited = limited_rows(sources[0], catalog, dialect)
    if limited is None:
        return None
    rows = exp.Select(**{**block.rows.args, "from_": exp.From(this=limited)})
    people = replace(block, rows=rows, unit=None, bound=ContributionBound(), everybody=None)
    source = of_units(grouped, people, alias, catalog, dialect)
    alone = len(grouped.keys) == 1
    columns: list[exp.Expr] = [exp.column(key_name(place), alias) for place in range(len(grouped.keys))]
    named = {aggregate_name(place) for place, one in enumerate(grouped.aggregates) if _is_of_group(one)}
    fields = {
        name: replace(value.unowned(), constant=False, named=name in named) for name, value in source.fields.items()
    }
    if alone:
        tells = frozenset({OwnerKey(alias, key_name(0), null=True)})
        fields[key_name(0)] = replace(fields[key_name(0)], constant=True, keys=tells)
    return replace(
        source,
        private=True,
        unit=columns[0] if alone else exp.Tuple(expressions=columns),
        bound=replace(ONE, shared=SharedUnits(((sources[0].table_name, sources[0].bound.rows or 1, 2),), grouped=True)),
        fields=fields,
        unique_keys=(),
        said="",
    )


def _is_of_group(one: Aggregate) -> bool:
    """Whether an aggregate is the key of somebody who is in the group: the sum of two keys is a third person's."""
    return issubclass(one.kind.node, exp.Min | exp.Max) and one.argument is not None and one.argument.unit
