"""Steps of a release: vectors that are measured one after another, each at numbers that were released before it.

Guarantee: the SQL of a step has the numbers as whole literals in the place of columns of their names, and nothing else
of it follows from them. The blocks are those that the same vectors would have alone, with the sensitivities that
:mod:`rewriter.bound.bounded_sql` enforces whatever the numbers are: adaptive composition asks no more than that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.bound import bound
from rewriter.columns import literal_of
from rewriter.declared import ContributionBound, Norm, Scalar
from rewriter.dialects import Dialect, number
from rewriter.keys import PublicKeys
from rewriter.measure import POINT, Vector, Workload
from rewriter.plan import Plan, PlanStep, Points
from rewriter.refused import TOO_COMPLEX, Refused
from rewriter.regression import LARGEST_POINT
from rewriter.release import Query, key_name

MOST_GROUPS = 100
"""A coefficient of a step is looked up among those of so many groups, row by row."""


@dataclass(frozen=True, slots=True)
class LaterSteps:
    """The steps of a plan, and 2ʳ by which the lattice of each of their statistics is finer."""

    steps: tuple[PlanStep, ...]
    refinement: Mapping[str, int]


def without_steps(work: Workload) -> Workload:
    """What is measured before the steps."""
    return _of(work, work.vectors) if work.steps else work


def check_steps(query: Query, cells: int | None) -> None:
    """Refuse steps where the groups are not known before, or where measurements of several groupings have to agree."""
    hint = "ask it in a statement of its own, one for each group: LOGREGR(…) FILTER (WHERE sex = 'F')"
    if query.blocks or query.sets or query.others or query.summed_with_total or query.only is not None:
        raise Refused("LOGREGR is not answered over blocks, nor beside totals of groups", hint=hint)
    if cells is None:
        raise Refused(
            "LOGREGR takes groups that the policy declares", hint=f"declare the values of the keys; or {hint}"
        )
    if cells > MOST_GROUPS:
        raise Refused(f"LOGREGR takes at most {MOST_GROUPS} groups", hint=hint, sqlstate=TOO_COMPLEX)


def steps_of(
    query: Query,
    work: Workload,
    norm: Norm,
    contribution: ContributionBound,
    public: PublicKeys | None,
    dialect: Dialect,
    *,
    one_group: bool,
) -> LaterSteps:
    """The steps of a grouping whose groups are public, if it has any."""
    steps: list[PlanStep] = []
    refinement: dict[str, int] = {}
    for vectors in work.steps:
        bounded = bound(query, _of(work, vectors), norm, contribution, public, dialect, one_group=one_group)
        tree = dialect.spelt(bounded.tree)
        # Its size put in is that of the first read, which is checked, and of columns of ours that are computed once.
        refinement |= bounded.refinement
        steps.append(PlanStep(dialect.sql(tree), bounded.blocks, _Written(tree, dialect, len(query.keys)).at))
    return LaterSteps(tuple(steps), refinement)


def with_steps(plan: Plan, found: LaterSteps) -> Plan:
    """The plan with its steps: it is read by itself, and no other measurement is made to agree with it."""
    if not found.steps:
        return plan
    return replace(
        plan,
        blocks=(*plan.blocks, *(block for step in found.steps for block in step.blocks)),
        steps=found.steps,
        alone=True,
        partials=None,
        inhabited=None,
    )


def _of(work: Workload, vectors: Sequence[Vector]) -> Workload:
    """Some of the vectors, with the computed columns that they are made of."""
    wanted = {name for vector in vectors for name in _read(vector)}
    for one in reversed(work.derived):
        if one.name in wanted:
            wanted.update(one.of)
    derived = tuple(one for one in work.derived if one.name in wanted)
    return replace(work, vectors=tuple(vectors), derived=derived, steps=())


def _read(vector: Vector) -> Iterable[str]:
    addends = [addend for cell in vector.cells for addend in cell.addends]
    for addend in (*addends, *([] if vector.rows is None else [vector.rows])):
        yield from filter(None, (addend.summed, addend.counted, addend.test, *addend.distinct))


@dataclass(frozen=True, slots=True)
class _Written:
    """The SQL of a step as a tree, with columns that stand for numbers."""

    tree: exp.Expr
    dialect: Dialect
    keys: int

    def at(self, keys: Sequence[tuple[Scalar | None, ...]], points: Points) -> str:
        """The SQL at the numbers of each group. Raises ValueError for numbers that sums of would overflow."""
        if any(abs(one) > LARGEST_POINT or type(one) is not int for some in points.values() for one in some):
            raise ValueError("a released number of a step is a whole one within its limit")
        tree = self.tree.copy()
        for column in list(tree.find_all(exp.Column)):
            if not column.table and column.name.startswith(POINT):
                column.replace(self._chosen(keys, points[column.name]))
        return self.dialect.sql(tree)

    def _chosen(self, keys: Sequence[tuple[Scalar | None, ...]], numbers: Sequence[int]) -> exp.Expr:
        if not self.keys:
            return number(numbers[0])
        if not keys:  # no group is left, and a CASE needs one
            return number(0)
        tests = (exp.and_(*map(self._is, range(self.keys), key), copy=False) for key in keys)
        ifs = [exp.If(this=test, true=number(one)) for test, one in zip(tests, numbers, strict=True)]
        return exp.Paren(this=exp.Case(ifs=ifs, default=number(0)))

    def _is(self, place: int, value: Scalar | None) -> exp.Expr:
        column = exp.column(key_name(place))
        if value is None:
            return exp.Is(this=column, expression=exp.Null())
        return exp.EQ(this=column, expression=literal_of(value, None, self.dialect))
