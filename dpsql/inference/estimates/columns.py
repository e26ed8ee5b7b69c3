"""From noisy integers to the columns that were asked for. Post-processing: it costs nothing and sees no data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpsql.inference.estimates.estimate import Groups
from dpsql.inference.estimates.kinds_of_estimates import estimate_of
from dpsql.inference.estimates.parts import finished
from dpsql.inference.estimates.running_estimates import decoded
from dpsql.releases import NoisyTable, ReleasedColumn, ReleasedTable, ValueColumn, columns_of
from rewriter.plan import Plan
from rewriter.release import added_name


def infer(noisy: NoisyTable, plan: Plan, *, consistent: bool = True, summed: bool = False) -> ReleasedTable:
    """The released table: key columns, then outputs, in the order of the noisy table's groups.

    Each output comes with the half-width of its 95 % interval. Noisy integers are
    added up as they are; only a finished number is rounded or moved into its range, and where outputs are sums of the
    same parts, they still are afterwards. ``summed``: the groups' sum stays unbiased, too. Not ``consistent``: nothing
    is moved.

    >>> from fractions import Fraction
    >>> from dpsql.mechanisms import Laplace
    >>> from rewriter.declared.types import BIGINT
    >>> from rewriter.plan import Linear, Output
    >>> n = Output("n", BIGINT, Linear((("rows", Fraction(1)),), integer=True, minimum=0), "COUNT(*)")
    >>> noisy = NoisyTable(((),), {"rows": (-3,)}, {"rows": Laplace(Fraction(10))})
    >>> infer(noisy, Plan("SELECT …", "duckdb", (), (), (n,), None, 1)).columns[0]
    ReleasedColumn(name='n', type=Type(kind=<Kind.INTEGER: 'integer'>, bits=64, precision=0, scale=0),
                   values=(0,), margins=(30.0,), reaches=None, estimates=None)
    """
    found = decoded(noisy, plan, consistent=consistent)
    parts = finished(found.table, plan, summed=summed) if consistent else None
    return table_of(Groups(found.table, plan, parts, {}, found.factors))


def added_columns(
    names: Sequence[str], noisy: NoisyTable, plan: Plan, shown: ReleasedTable
) -> tuple[ReleasedColumn, ...]:
    """The outputs that windows add up over neighbouring groups, unbiased: no group is moved to 0.

    Where running sums were measured as such, the shown groups are the differences of sums that never fall.
    """
    if not names:
        return ()
    measured_as_sums = any(block.prefix is not None for block in plan.blocks)
    table = shown if measured_as_sums else infer(noisy, plan, consistent=False)
    return tuple(replace(one, name=added_name(one.name), margins=None) for one in table.columns if one.name in names)


def table_of(groups: Groups) -> ReleasedTable:
    """The released table of the groups."""
    noisy, plan, shrunk = groups.noisy, groups.plan, groups.shrunk
    columns = columns_of(noisy.keys, len(plan.keys))
    keys = tuple(ReleasedColumn(key.name, key.type, column) for key, column in zip(plan.keys, columns, strict=True))
    outputs = tuple(estimate_of(output.estimator).column(output, groups) for output in plan.outputs)
    return ReleasedTable(keys + outputs, None if shrunk is None else ValueColumn.of_floats(shrunk[: len(noisy.keys)]))
