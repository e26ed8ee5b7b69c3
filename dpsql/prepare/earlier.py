"""Statements in stages: what an earlier query releases is a constant of the statement, which is planned with it then.

Guarantee: what is refused is refused before anything is charged, but for what hangs on the size of a released table.
A statement is planned first with rows of which nothing but their types is known, and a released row changes neither
its columns nor which groups, bounds and statistics it has (:mod:`rewriter.declared.earlier_answer`).
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from dpsql.memory import Memory
from dpsql.prepare.prepared import Earlier, Prepared, prepare
from dpsql.prepare.released_range import released_range
from dpsql.releases import ColumnarRows
from dpsql.sandbox import Sandbox
from rewriter.at_rest import AtRest
from rewriter.declared import AnsweredColumn, Catalog, EarlierAnswer, Scalar
from rewriter.front_door import Program
from rewriter.refused import NeedsAnswer, Refused

MAX_STAGES = 8
"""Queries of one statement that are charged one after another."""
_REMEMBERED = 8
"""So many released answers of one statement: they change when its first queries are bought again."""

Rewritten = Callable[[exp.Query, Catalog, bool], Program]
"""A query, rewritten under what a catalog knows; whether it is asked for the sake of another one."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A query as it was parsed, and what parses it again for whoever remembers what was made of it."""

    tree: exp.Query
    read_again: Callable[[], exp.Query]

    @classmethod
    def kept(cls, tree: exp.Query) -> Parsed:
        """A query that is kept instead of being parsed again."""
        kept = AtRest.of(tree)
        return cls(tree, lambda: kept.in_use)


def prepare_in_stages(rewritten: Rewritten, parsed: Parsed, catalog: Catalog, sql: str, sandbox: Sandbox) -> Prepared:
    """A query, prepared; with what it asks first, where rows of people are compared with aggregates over people."""
    return _prepared(rewritten, parsed, catalog, sql, sandbox, inner=False)


def _prepared(
    rewritten: Rewritten, parsed: Parsed, catalog: Catalog, sql: str, sandbox: Sandbox, *, inner: bool
) -> Prepared:
    try:
        return prepare(rewritten(parsed.tree, catalog, inner), sql, sandbox, parsed.read_again)
    except NeedsAnswer as found:
        # Not the error itself, which holds all that was under way when it was raised.
        text, query = found.text, found.query
    if len(catalog.answers) >= MAX_STAGES - 1:
        raise Refused(
            f"the query compares people with more than {MAX_STAGES - 1} aggregates over people",
            hint="ask for some of them first, and write their numbers into the query",
        )
    first = _prepared(rewritten, Parsed.kept(query), catalog, f"a subquery, for: {sql}", sandbox, inner=True)
    if first.program.selects and query.find(exp.AggFunc) is None:
        raise Refused(
            "rows of people are joined with a list of people's values, of which only frequent ones are released",
            hint="declare these values in the policy, or ask for the frequent ones: GROUP BY … HAVING COUNT(*) > 20",
        )
    known: Memory[EarlierAnswer, Prepared] = Memory("plans with released constants", _REMEMBERED)

    def with_answer(answer: EarlierAnswer, whole: Parsed) -> Prepared:
        return _prepared(rewritten, whole, catalog.with_answer(text, answer), sql, sandbox, inner=inner)

    draft = with_answer(EarlierAnswer(answered_columns(first), (), _groups(first)).unknown, parsed)
    if not any(text in stage.program.answers for stage in draft.stages):
        # It was only looked at on the way to another plan.
        return draft
    read_again = parsed.read_again

    def then(answer: EarlierAnswer) -> Prepared:
        return known.get(answer, lambda: with_answer(answer, Parsed(read_again(), read_again)))

    earlier = Earlier(text, first, draft, then)
    return replace(draft, earlier=earlier)


def answered_columns(prepared: Prepared) -> tuple[AnsweredColumn, ...]:
    """The columns of what a query releases."""
    return tuple(
        AnsweredColumn(name, kind, one.noisy, released_range(prepared, place))
        for place, ((name, kind), one) in enumerate(zip(prepared.columns, prepared.outer.measured, strict=True))
    )


def earlier_answer(prepared: Prepared, rows: ColumnarRows) -> EarlierAnswer:
    """The released rows of a query, as constants. What PostgreSQL's numbers cannot be is NULL."""
    width = len(prepared.columns)
    constants = tuple(tuple(map(_constant, row)) for row in rows.among(range(width)))
    return EarlierAnswer(answered_columns(prepared), constants, _groups(prepared))


def _groups(prepared: Prepared) -> int | None:
    """How many groups a query releases at most, where its one release declares them."""
    plans = [one.first for one in prepared.program.asked]
    return plans[0].cells if len(plans) == 1 else None


def _constant(value: Scalar | None) -> Scalar | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.UTC).replace(tzinfo=None)
    return value
