"""Bugs of how rows of people are tied, compared and grouped: whose a row is, and what its meaning is."""

from __future__ import annotations

from tests.mutation.bug import Bug, bug

MOVES = "tests/relations/test_relational_forms.py::test_one_more_person_moves_no_form_further"
MEANS = "tests/relations/test_forms_mean.py"
RANKS = "tests/split/test_ranked_quantiles.py"
UNREAD = "tests/split/test_unread_columns.py"

NESTED = "tests/properties/test_neighbours.py::test_one_more_person_moves_no_statistic_of_documents_and_lists_further"

BUGS: tuple[Bug, ...] = (
    bug(
        "the ends of a series are whatever the row holds",
        "rewriter.expressions.series_of_rows:series",
        "(dialect.cast(_clipped(*one), BIGINT) for one in",
        "(dialect.cast(one[0], BIGINT) for one in",
        "tests/per_person/test_series_of_rows.py",
    ),
    bug(
        "a row of which a series makes many counts as one",
        "rewriter.expressions.series_of_rows:series",
        "max(1, most)))",
        "1))",
        "tests/per_person/test_series_of_rows.py",
    ),
    bug(
        "the bound of a join of many is told and not taken",
        "rewriter.declared.contribution:ContributionBound.times",
        "rows, beyond = max(MOST_JOINED, self.rows or 1, factor or 1), beyond or rows",
        "beyond = beyond or rows",
        "tests/relations/test_many_joined_rows.py",
    ),
    bug(
        "a rank of some rows is taken for that of all",
        "rewriter.split.ranked_quantiles:_plain",
        'chosen = picks.by_case if copy.args.get("where") is None else picks.by_where',
        "chosen = picks.by_case",
        RANKS,
    ),
    bug(
        "what rounding moves is forgotten where it is multiplied",
        "rewriter.split.rank_tests:_Line.times",
        "self.rounded * abs(factor)",
        "self.rounded",
        RANKS,
    ),
    bug(
        "columns of distinct rows are left out",
        "rewriter.split.unread_columns:_is_read_by_name",
        'or select.args.get("distinct"):',
        "or False:",
        UNREAD,
    ),
    bug(
        "what says whose a group is is left out",
        "rewriter.split.unread_columns:_Reading.unread",
        "or _says_whose(one.node, self.persons):",
        "or False:",
        UNREAD,
    ),
    bug(
        "keys of groups are left out",
        "rewriter.split.unread_columns:_makes",
        "or (grouped and not has_aggregate(item))",
        "or False",
        UNREAD,
    ),
    bug(
        "the names of USING are not read",
        "rewriter.split.unread_columns:_Reading.of",
        'read.update(name.name.lower() for name in node.args.get("using") or ())',
        "pass",
        UNREAD,
    ),
    bug(
        "a column of a key of several ties people",
        "rewriter.columns.source:_keys",
        "for hop in (hop for hop in table.path[:1] if not hop.also):",
        "for hop in table.path[:1]:",
        "tests/policy/test_ways_to_people.py::test_a_part_of_a_key_ties_nobody",
    ),
    bug(
        "a key of several columns holds in any order",
        "rewriter.relations.ownership:_unite",
        "tuple(map(classes.find, values))",
        "tuple(sorted(map(classes.find, values)))",
        "tests/policy/test_ways_to_people.py::test_a_part_of_a_key_ties_nobody",
    ),
    bug(
        "rows of a key of several columns are joined by the first",
        "rewriter.columns.source:way_joins",
        "for ours, theirs in hop.pairs)",
        "for ours, theirs in hop.pairs[:1])",
        "tests/policy/test_ways_to_people.py",
    ),
    bug(
        "rows that another way ties are believed to be one person's",
        "rewriter.relations.ownership:own",
        "conditions = {one.alias: _same_owner(kept[0], carrying[one.alias]) for one in compared}",
        "conditions = {}",
        MOVES,
    ),
    bug(
        "a column that repeats the person's key is believed",
        "rewriter.columns.source:reached",
        'joins[-1].set("on", exp.and_(joins[-1].args["on"], same, copy=False))',
        'joins[-1].set("on", joins[-1].args["on"] if same is not None else None)',
        MOVES,
    ),
    bug(
        "rows of a FULL JOIN without a match on the left are nobody's",
        "rewriter.relations.ownership:own_both",
        "unit = exp.Coalesce(this=one.unit.copy(), expressions=[other.unit.copy()])",
        "unit = one.unit.copy()",
        MEANS,
    ),
    bug(
        "a FULL JOIN by another way mixes people",
        "rewriter.relations.ownership:own_both",
        "compared = {} if tied else {other.alias: _same_owner(one, other)}",
        "compared = {}",
        "tests/golden/test_queries.py",
    ),
    bug(
        "EXCEPT keeps as many rows as there are",
        "rewriter.relations.relation:kept_of",
        "found = _combined(kind, one, other, alias, dialect, distinct=True)",
        "found = _combined(exp.Union, one, other, alias, dialect, distinct=True)",
        MEANS,
    ),
    bug(
        "UNION keeps rows twice",
        "rewriter.split.set_operations:SetOperations._of_people",
        "return self._distinct(both) if once else both",
        "return both",
        MEANS,
    ),
    bug(
        "any MAX says whose a group is",
        "rewriter.split.said_persons:named_person",
        "one.argument is not None and one.argument.unit and not one.distinct",
        "one.argument is not None and not one.distinct",
        "tests/golden/test_queries.py",
    ),
    bug(
        "a public number of several rows is one of them",
        "rewriter.relations.membership:Subqueries.scalar",
        "exp.LTE(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))",
        "exp.GTE(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))",
        "tests/golden/test_queries.py",
    ),
    bug(
        "columns of any table follow from a key",
        "rewriter.aggregates.grouped_select:_determined",
        "any({(source.alias, one) for one in key} <= grouped for key in own)",
        "any(True for key in own)",
        "tests/golden/test_queries.py",
    ),
    bug(
        "a percentile of as many rows as anybody counts",
        "rewriter.split.numbered_rows:counts_all",
        'if any(select.args.get(part) != rows.args.get(part) for part in ("from_", "where")) or rows.args.get("joins"):',
        'if rows.args.get("joins"):',
        RANKS,
    ),
    bug(
        "a percentile by the order of something else",
        "rewriter.split.ranked_quantiles:_Picks._is_ranked_by",
        "return same_columns(order.expressions[0].this, value) and partitions(",
        "return partitions(",
        RANKS,
    ),
    bug(
        "a list that other columns decide on is taken for the row's own",
        "rewriter.split.own_values_joined:_List.of",
        "if len(same) != 1 or {pair[1] for pair in pairs if pair is not None} != read:",
        "if len(same) != 1:",
        MEANS,
    ),
    bug(
        "groups by a statement's word are counted",
        "rewriter.split.splitter:_Splitter._private",
        "if block.said:",
        "if not block.unit:",
        "tests/golden/test_queries.py",
    ),
    bug(
        "rows of items count as the one row that they are made of",
        "rewriter.per_person.person_rows:selected",
        "bound = replace(block.bound.times(most), unique=False, apart=())",
        "bound = block.bound",
        NESTED,
    ),
    bug(
        "an item is computed anew wherever it is read",
        "rewriter.relations.relation:_outside",
        "if MADE.of(value.sql):",
        "if value.unit:",
        "tests/engines/test_documents_and_lists.py",
    ),
    bug(
        "a document whose parts no text can hold is read",
        "rewriter.dialects.postgres_nested:_readable",
        "if type_.kind is Kind.JSONB:",
        "if type_.document:",
        NESTED,
    ),
    bug(
        "documents are values of any expression",
        "rewriter.expressions.build:Context.compile",
        "if value.type.nested:",
        "if value.type.nested and self.negated:",
        "tests/engines/test_documents_and_lists.py",
    ),
    bug(
        "different values of one person are added up as often as they are there",
        "rewriter.aggregates.sums:_distinct",
        "if aggregate.distinct:",
        "if not aggregate.kind.word:",
        MEANS,
    ),
)
