"""Every fact that lowers noise, with the theorem that makes it true: what is not here, no sensitivity may rest on.

A sensitivity is the smaller, the more is known of how few rows, groups and values one person has. Where the bounded
SQL cuts people down to what is claimed, a false fact costs rightness and never privacy: such a fact is *enforced*. All
others are *trusted*, and need a proof, a border at which they are held against what is really there, and a test that
lies about them. ``tests/rooms/test_proved_facts.py`` checks that every place exists, that a bug is planted at
one place of every fact at least, and that the guide's table (``trust.md``) is made of this list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Basis(Enum):
    """Why a fact is true, whatever the rows are."""

    CONSTRAINT = "a constraint of the database, looked at in the snapshot that is read"
    LASTING = "rows that nobody changes while the policy is open"
    FORM = "the form of the statement"
    LISTED = "a list that is in the engine's own SQL"
    ENFORCED = "the bounded SQL clips each person"
    TIME = "the calendar and the proxy's clock"


@dataclass(frozen=True, slots=True)
class ProvedFact:
    """One fact: where it is ``claimed``, where a sensitivity trusts it, and what happens where it is false.

    Places are ``module:definition``.

    >>> next(fact.basis.name for fact in FACTS if fact.name == "an earlier answer has one row")
    'FORM'
    """

    name: str
    theorem: str
    basis: Basis
    claimed: tuple[str, ...]
    trusted: tuple[str, ...]
    otherwise: str

    @property
    def enforced(self) -> bool:
        """Whether a lie about it moves nothing further than is claimed."""
        return self.basis is Basis.ENFORCED


FACTS: Sequence[ProvedFact] = (
    ProvedFact(
        "two rows are one person's",
        "Equality of persons is an equivalence on stored keys, and each type that may be a key has one spelling of each"
        " class on every engine; a type without one is no key of people.",
        Basis.FORM,
        ("rewriter.dialects.dialect:Dialect.person_key", "dpsql.policy.unit_path:unfit"),
        ("rewriter.columns.source:_person_key", "rewriter.split.blocks_of_people:_answers"),
        "types without one spelling are refused as keys when the policy is opened",
    ),
    ProvedFact(
        "a row stands for itself",
        "An engine's name of a row is unique within its table, and the table's number among the tables of people tells"
        " rows of several tables apart.",
        Basis.FORM,
        ("rewriter.columns.source:_row_identity",),
        ("rewriter.columns.source:_bound",),
        "an engine without such a name takes no policy that protects rows",
    ),
    ProvedFact(
        "a person has one row of a table",
        "A unique column that holds the person's key has each person once. A declared key alone says where people are"
        " clipped, and never that they are not.",
        Basis.CONSTRAINT,
        (
            "dpsql.policy.unique_keys:UniqueKeys._people",
            "rewriter.columns.source:_bound",
            "rewriter.relations.ownership:_multiplied",
            "rewriter.relations.ownership:own_both",
        ),
        ("rewriter.bound.ball:reach_squared", "rewriter.relations.ownership:_row_bound"),
        "nothing is answered once the constraint is gone",
    ),
    ProvedFact(
        "a row of a table is met once",
        "Rows that agree with one row in all columns of a unique key are at most one. Equality has to be that of the"
        " key: of values that compare exactly, and of all of its columns; with a column, or with what is computed of"
        " other rows than those that are looked for, or of none.",
        Basis.CONSTRAINT,
        (
            "dpsql.policy.unique_keys:UniqueKeys._declared",
            "rewriter.columns.source:base_table",
            "rewriter.relations.from_where:_compares_exactly",
            "rewriter.relations.from_where:_determined",
            "rewriter.relations.ownership:_Classes.follows",
        ),
        ("rewriter.relations.ownership:_meets_by_key", "rewriter.relations.ownership:_determined"),
        "of a public table, the first row of each key is read; of people's, nothing is answered",
    ),
    ProvedFact(
        "public rows are so many, and repeat no value",
        "What was counted at opening holds of rows that nobody can change. Of a view, a generated column, and a table"
        " on a server, it holds of none: there is room for more rows, at least two, and people are clipped.",
        Basis.LASTING,
        ("dpsql.engines.sql_engine:SQLEngine.public_profile", "dpsql.engines.schema:SchemaTable.stored"),
        ("rewriter.relations.ownership:_with_public",),
        "people are clipped by as many rows as there is room for",
    ),
    ProvedFact(
        "an earlier answer has one row",
        "An aggregation without GROUP BY has one row; a projection of it alone, HAVING, LIMIT and DISTINCT make none.",
        Basis.FORM,
        ("rewriter.split.earlier_answers:told_apart",),
        ("rewriter.split.earlier_answers:_relation",),
        "what was released is held against it, and more rows are not read",
    ),
    ProvedFact(
        "columns tell the rows of an earlier answer apart",
        "An aggregation has one row for each combination of its keys, which are all among its columns.",
        Basis.FORM,
        ("rewriter.split.earlier_answers:told_apart",),
        ("rewriter.split.earlier_answers:_relation",),
        "what was released is held against it, and rows that are not told apart are not read",
    ),
    ProvedFact(
        "written rows repeat no value",
        "VALUES are literals: that no two are equal is seen, where they compare exactly.",
        Basis.FORM,
        ("rewriter.split.public_rows:written_rows",),
        ("rewriter.relations.ownership:_meets_by_key",),
        "cannot be: the literals are in the engine's SQL",
    ),
    ProvedFact(
        "the columns of a subquery hold a key",
        "A projection of one source alone, without a join, keeps its rows, and so its keys where all of their columns"
        " are kept; groups are told apart by the keys of their GROUP BY.",
        Basis.FORM,
        (
            "rewriter.per_person.person_rows:unique_places",
            "rewriter.per_person.person_rows:of_units",
            "rewriter.per_person.person_rows:_determining",
            "rewriter.relations.relation:Relation.source",
        ),
        ("rewriter.relations.ownership:_meets_by_key",),
        "cannot be, where the source's key holds",
    ),
    ProvedFact(
        "a person's rows are numbered",
        "ROW_NUMBER over the person's rows alone has each whole number from 1 once for each person, so that a condition"
        " on it leaves as many rows as numbers satisfy it.",
        Basis.FORM,
        (
            "rewriter.per_person.windows:_Reader._over",
            "rewriter.per_person.windows:_Reader.source",
            "rewriter.relations.row_number_bounds:_most",
            "rewriter.relations.row_number_bounds:_at_most",
        ),
        ("rewriter.relations.row_number_bounds:limited", "rewriter.relations.ownership:_keys_of"),
        "cannot be: the number is made in the same SQL",
    ),
    ProvedFact(
        "all rows of a release are of these times",
        "A SELECT depends only on joined rows that its WHERE keeps, and a comparison with an instant keeps no other"
        " time, nor NULL: where each place of each table with a time has such conditions, rows of other times move"
        " nothing. Where each row of the release needs such a row, who has none there moves nothing at all.",
        Basis.FORM,
        (
            "rewriter.planner.closed_windows:with_times",
            "rewriter.planner.closed_windows:_rows_until",
            "rewriter.planner.closed_windows:_needs_times",
        ),
        ("rewriter.planner.plan_release:plan",),
        "cannot be: the conditions are in the engine's SQL; where a place has none, rows of all times are charged",
    ),
    ProvedFact(
        "a person is one row after an aggregation",
        "Grouped by the person, and by keys that are the same in all of the person's rows, the person has one group;"
        " the least of a person's values is one value.",
        Basis.FORM,
        (
            "rewriter.per_person.person_rows:of_units",
            "rewriter.planner.bound_histogram:bin_of",
            "rewriter.planner.bound_histogram:histograms",
            "rewriter.planner.rows_profile:means_query",
            "rewriter.planner.rows_profile:profile_queries",
            "rewriter.planner.rows_profile:profile_queries.over_people",
            "rewriter.planner.rows_profile:values_query",
            "rewriter.bound.ranks:_once_in_each_group",
        ),
        ("rewriter.bound.ball:reach_squared",),
        "cannot be, where the keys are the same",
    ),
    ProvedFact(
        "a group is measured by itself",
        "A statistic of one group alone, of one period alone, or of one value of a key alone, has rows of that one:"
        " what a person moves elsewhere is charged with the others.",
        Basis.FORM,
        (
            "rewriter.planner.plan_top_k:plan_top",
            "rewriter.planner.period_series:_within",
        ),
        ("rewriter.planner.plan_release:plan",),
        "cannot be: the engine's SQL reads that group alone, or each group is paid",
    ),
    ProvedFact(
        "a person is in one block",
        "Each person is in one block, and a block has one row in a group: one person changes one row of each group that"
        " there is.",
        Basis.FORM,
        ("rewriter.split.blocks_of_people:_answers", "rewriter.split.blocks_of_people:_bounded"),
        ("rewriter.planner.answers_changed:AnswersChanged.sensitivity",),
        "cannot be, where there are no more groups than were planned",
    ),
    ProvedFact(
        "a value is the same in all rows of a person",
        "An expression of constant columns is constant; columns of a table with one row of a person are; what an outer"
        " join may find nothing for is not; an aggregate or a window over the person is.",
        Basis.FORM,
        (
            "rewriter.columns.source:Source.as_optional",
            "rewriter.columns.source:Source.constant",
            "rewriter.per_person.person_rows:of_units",
            "rewriter.per_person.window_functions:_aggregate",
            "rewriter.per_person.window_functions:_first",
            "rewriter.per_person.window_functions:_last",
            "rewriter.per_person.window_functions:_nth",
            "rewriter.relations.from_where:_of_owner",
            "rewriter.relations.membership:Subqueries._in",
            "rewriter.relations.membership:Subqueries.scalar",
            "rewriter.expressions.build:derive",
            "rewriter.expressions.build:literal",
            "rewriter.expressions.literals:interval_of",
        ),
        ("rewriter.planner.plan_release:plan", "rewriter.relations.ownership:_constant_public"),
        "cannot be, where the facts about rows hold that it is made of",
    ),
    ProvedFact(
        "no row of a joined table is left",
        "After LEFT JOIN … ON a = b, a row whose b is NULL met none, where b is never NULL in the table or is compared"
        " by an equality that rejects NULL.",
        Basis.FORM,
        ("rewriter.relations.from_where:_unmatched", "rewriter.columns.source:may_be_missing"),
        ("rewriter.relations.ownership:_multiplied",),
        "cannot be, where the column's constraint holds",
    ),
    ProvedFact(
        "there are so many groups",
        "Combinations of lists are no more than the product of their lengths. A list that may grow is cut in the"
        " engine's SQL, in the order of its keys, at as many as there was room for.",
        Basis.LISTED,
        ("rewriter.keys.key_sets:_counted", "rewriter.keys.key_sets:_values"),
        ("rewriter.planner.plan_release:plan", "rewriter.planner.answers_changed:AnswersChanged.sensitivity"),
        "no noise is drawn for more groups than were planned, and nothing is told",
    ),
    ProvedFact(
        "groups are all combinations of their values",
        "Lists of keys are multiplied with each other, so that each combination of their values is one group. Then all"
        " columns of a projection onto components are equally long.",
        Basis.LISTED,
        ("dpsql.reuse.completed:Base.components",),
        (
            "rewriter.strategies.missing_components:MissingComponents.sensitivity",
            "rewriter.strategies.missing_components:MissingComponents.measured",
        ),
        "no noise is drawn for other groups, and nothing is told",
    ),
    ProvedFact(
        "a list along a key is so long",
        "A declared range and its steps leave so many values; where public rows lie today bounds none.",
        Basis.LISTED,
        ("rewriter.keys.groups_along:steps_along",),
        ("rewriter.bound.series:with_prefixes",),
        "no noise is drawn for a longer one, and nothing is told",
    ),
    ProvedFact(
        "a period is closed, and lies in so many spans",
        "The calendar alone says in how many months a range of days lies, and whether a period ended long enough ago.",
        Basis.TIME,
        (
            "rewriter.declared.spans:touched_by_one",
            "rewriter.planner.period_series:_within",
            "rewriter.planner.closed_windows:_until",
        ),
        ("rewriter.planner.period_series:series_of", "rewriter.planner.touched_spans:touched_by"),
        "cannot be: it depends on no row",
    ),
    ProvedFact(
        "so many rows are of several people",
        "A person is in no more rows of others than keys let in, and those are limited by the bounded SQL; a row that"
        " becomes another is two changes.",
        Basis.CONSTRAINT,
        ("rewriter.relations.shared_rows:shared_rows", "rewriter.per_person.person_rows:groups_of_several"),
        ("rewriter.planner.answers_changed:answers_changed",),
        "nothing is answered once the constraint is gone",
    ),
    ProvedFact(
        "one person more makes no number smaller",
        "Persons are added up, each by integers that are not below 0: rows, and values of a range that begins at 0 or"
        " above. Of rows that several people share it holds of none.",
        Basis.FORM,
        (
            "rewriter.bound.ball:measured",
            "rewriter.bound.credited_values:credited",
            "rewriter.planner.answers_changed:AnswersChanged.block",
        ),
        ("dpsql.watched:watched_statement", "rewriter.planner.plan_top_k:plan_top"),
        "cannot be: values are clipped into their range",
    ),
    ProvedFact(
        "groupings of the same rows are clipped alike",
        "Balls of the same rows under one factor shorten each person by the same factor in all groupings, so that parts"
        " add up to their whole.",
        Basis.FORM,
        ("rewriter.planner.alike:said",),
        ("dpsql.inference.consistency.infer:_alike",),
        "cannot be: noise does not rest on it, estimates do",
    ),
    ProvedFact(
        "a person has so many rows, groups, and rows in a group",
        "A person's vector outside of the ball of the bound is scaled into it, after all values are clipped. How many"
        " rows a join has (none more along a foreign key, the product otherwise) says where that ball ends, no more.",
        Basis.ENFORCED,
        (
            "rewriter.bound.ball:Ball.shortening",
            "rewriter.declared.contribution:ContributionBound.times",
            "rewriter.relations.ownership:_is_parent",
        ),
        ("rewriter.bound.ball:reach_squared",),
        "cannot be",
    ),
    ProvedFact(
        "a row adds no more than its range",
        "NULL and NaN first, then each value is moved into its range on the lattice, whatever the row holds.",
        Basis.ENFORCED,
        ("rewriter.expressions.value_lattice:clip_of", "dpsql.prepare.released_range:released_range"),
        ("rewriter.measure.moments:_measure", "rewriter.measure.second_moments:measured_moments"),
        "cannot be",
    ),
    ProvedFact(
        "a person is credited with so many different values",
        "The values of a person are numbered, and those beyond the bound are not counted.",
        Basis.ENFORCED,
        ("rewriter.bound.credited_values:_kept_of",),
        ("rewriter.bound.credited_values:Kept.sensitivity",),
        "cannot be",
    ),
    ProvedFact(
        "a person names so many groups",
        "A person in more groups than the bound weighs less in each, in the vector that a threshold looks at.",
        Basis.ENFORCED,
        ("rewriter.bound.bounded_sql:_weight",),
        ("dpsql.mechanisms.threshold:threshold_steps",),
        "cannot be",
    ),
)


def table(facts: Sequence[ProvedFact] = FACTS) -> str:
    """The facts as a table, as the guide shows them."""
    rows = ["| fact | theorem | rests on | where it does not hold |", "|---|---|---|---|"]
    rows += [f"| {fact.name} | {fact.theorem} | {fact.basis.value} | {fact.otherwise} |" for fact in facts]
    return "\n".join(rows)
