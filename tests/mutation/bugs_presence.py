"""Bugs of which groups act as rows, and of what totals are made to agree with."""

from __future__ import annotations

from tests.mutation.bug import Bug, bug

SHOWN = "tests/finish/test_shown_groups.py"
PRESENCE = "tests/finish/test_presence.py"
SAME = f"{PRESENCE}::test_without_noise_groups_are_those_that_sql_has"
JOINS = "tests/split/test_bi_joins.py"
NULLS = "tests/properties/test_meaning_groups.py::test_null_is_a_group"
TOTALS = "tests/inference/test_grouping_sets.py"

ORMS = "tests/split/test_orms.py"

PICKED = "tests/per_person/test_picked_values.py"

MARGINALS = "tests/finish/test_key_marginals.py"

BUGS: tuple[Bug, ...] = (
    bug(
        "a marginal is not charged",
        "dpsql.price.pricing:Priced.dues",
        "        for one in self.releases:\n",
        "        for one in self.releases[:1]:\n",
        f"{MARGINALS}::test_what_is_charged_covers_all_that_is_hidden",
    ),
    bug(
        "a marginal's sensitivity is that of one cell of the groups",
        "rewriter.planner.key_marginals:_planned",
        "    first = found.first\n",
        "    found = Options(tuple(replace(one, blocks=tuple(replace(block, sensitivity=replace(block.sensitivity,"
        " l1=block.sensitivity.l1 and 1, l2_squared=1)) for block in one.blocks)) for one in found.by_norm))\n"
        "    first = found.first\n",
        f"{MARGINALS}::test_one_person_moves_a_marginal_by_no_more_than_its_sensitivity",
    ),
    bug(
        "ends are chosen by the groups that are shown, though their keys were measured apart",
        "dpsql.finish.present_groups:_by_key",
        "    if apart is None:",
        "    if apart is None or groups.prefix is None:",
        f"{MARGINALS}::test_ends_are_found_and_the_groups_between_them_stay_unbiased",
    ),
    bug(
        "a marginal is paid for beside groups that cost nothing",
        "dpsql.price.pricing:Pricing.price",
        "if len(asked) < len(calibrations) and ",
        "if len(asked) > len(calibrations) and ",
        f"{MARGINALS}::test_nobody_pays_for_a_marginal_of_groups_that_are_kept",
    ),
    bug(
        "MIN with a FILTER is of some row, and never NULL",
        "rewriter.per_person.person_rows:picked_value",
        "optional = alone or aggregate.condition is not None",
        "optional = alone",
        f"{PICKED}::test_conditions_on_the_rows_narrow_what_is_picked_from_them",
    ),
    bug(
        "MIN and MAX of a person are of the same row",
        "rewriter.per_person.person_rows:_of_own_row",
        'alias=f"{behind.alias}{name}"',
        'alias=f"{behind.alias}own"',
        f"{PICKED}::test_two_values_are_picked_from_two_rows",
    ),
    bug(
        "EXISTS of LIMIT 0 is true of somebody",
        "rewriter.relations.membership:unlimited_rows",
        "int(most.name) > 0",
        "int(most.name) >= 0",
        f"{ORMS}::test_a_limit_that_takes_rows_away_is_refused",
    ),
    bug(
        "a COUNT of no rows is 0 where it has GROUP BY",
        "rewriter.split.correlated_values:_Correlated.join_to",
        " and not self.grouped",
        "",
        f"{ORMS}::test_a_subquery_for_one_value_may_be_grouped_by_what_ties_it",
    ),
    bug(
        "a subquery for one value may be grouped by anything",
        "rewriter.split.correlated_values:_is_of_ties",
        "all(unparenthesised(key) in tied for key in group.expressions)",
        "True",
        f"{ORMS}::test_a_subquery_for_one_value_of_another_group_is_refused",
    ),
    bug(
        "whether anybody is there is answered as if nobody were",
        "rewriter.split.previews:columns_alone",
        "not any(item.find(exp.Column, exp.Star) for item in tree.expressions)",
        "False",
        f"{ORMS}::test_several_rows_of_nothing_are_no_preview",
    ),
    bug(
        "an array of NULL is a list without it",
        "rewriter.statement.constant_arrays:_elements",
        "exp.Null() if text is None else exp.Literal.string(text)",
        'exp.Literal.string(text or "")',
        "tests/split/test_previews.py::test_what_is_missing_in_an_array_is_missing_in_the_list",
    ),
    bug(
        "groups that a condition chose are counted as all of them",
        "rewriter.split.presence:_is_plain",
        '"where", ',
        "",
        "tests/finish/test_over_groups.py::test_without_noise_it_is_the_engines_own_answer",
    ),
    bug(
        "each group between the ends has rows",
        "dpsql.inference.shown_groups.counted:counted_groups",
        "else round(bound)",
        "else size",
        "tests/inference/test_counted_groups.py::test_empty_groups_inside_do_not_make_the_mean_low",
    ),
    bug(
        "a mean over groups is off by its noise alone",
        "dpsql.inference.shown_groups.counted:ends_of_mean",
        "groups.least if high > 0",
        "groups.number if high > 0",
        "tests/inference/test_counted_groups.py",
    ),
    bug(
        "what a price cannot show is not told of means",
        "dpsql.price.unseen:_of_mean",
        "2 * width >= high - low",
        "False",
        "tests/price/test_unseen.py::test_a_mean_whose_bar_is_its_range_is_told",
    ),
    bug(
        "averages over groups count groups that nobody is in",
        "rewriter.split.presence:with_presence",
        "            if presence is not None:\n                _keep",
        "            if False:\n                _keep",
        SAME,
    ),
    bug(
        "where some grouping sets are chosen, the others show groups that nobody is in",
        "rewriter.split.presence:_declared",
        "    if not public:\n        return None",
        "    if len(public) < len(found):\n        return None",
        "tests/properties/test_meaning_groups.py::test_declared_totals_of_chosen_groups_have_no_empty_ones",
    ),
    bug(
        "LIMIT takes listed groups that nobody is in",
        "rewriter.split.presence:_Reader._select",
        "        if distinct or self._is_cut(select):",
        "        if distinct:",
        SAME,
    ),
    bug(
        "a join pairs groups that nobody is in",
        "rewriter.split.presence:_Reader._has_groups",
        "        return bool(read & self._keyed) or",
        "        return",
        SAME,
    ),
    bug(
        "sums over groups leave small groups out",
        "rewriter.split.presence:_Reader._select",
        "                return None if gathered is not None else rows.there",
        "                return rows.there",
        f"{PRESENCE}::test_sums_over_groups_have_all_groups",
    ),
    bug(
        "empty groups are told from noise in each group by itself",
        "dpsql.inference.shown_groups.speaking:chance_of_each",
        "return -math.expm1(math.log1p(-SURE) / max(cells, 1))",
        "return SURE",
        f"{PRESENCE}::test_in_99_of_100_answers_no_empty_group_is_taken_for_one_that_is_there",
    ),
    bug(
        "groups are there whatever their number of rows",
        "dpsql.finish.present_groups:_exceeds",
        "counts.known & above.astype(np.bool_) & np.isfinite(limits)",
        "counts.known",
        SAME,
    ),
    bug(
        "groups inside of an axis are left out by their own noise",
        "dpsql.finish.present_groups:_between",
        "    kept = np.ones(groups.size, dtype=np.bool_)",
        "    kept = certain.copy()",
        f"{SHOWN}::test_each_of_many_small_groups_is_shown_and_none_is_too_high",
    ),
    bug(
        "what is left out of a SELECT above may be most of the people",
        "dpsql.finish.present_groups:_is_clear",
        "<= _FEW * (sums[0] - errors[0])",
        "<= math.inf",
        f"{SHOWN}::test_a_select_above_small_groups_reads_all_of_them",
    ),
    bug(
        "an end is cut that may hold as much as what is shown",
        "dpsql.inference.shown_groups.speaking:may_go",
        "max(total, 0.0) + ONE_SIDED * error <= _LOST * shown",
        "True",
        "tests/inference/test_evidence_of_blocks.py::test_groups_as_small_as_their_noise_are_not_cut_for_the_few_that_are_lucky",
    ),
    bug(
        "groups at the ends have the bars of all others",
        "dpsql.inference.shown_groups.ends:distances_below",
        "for block in ends.blocks:",
        "for block in ends.blocks[:0]:",
        "tests/inference/test_evidence_of_blocks.py::test_groups_of_several_keys_at_the_ends_are_within_their_bars",
    ),
    bug(
        "each block speaks as often as if it were alone",
        "dpsql.inference.shown_groups.ends:_deciding",
        "noise.reaches(starts, length, 2 * SURE / number)",
        "noise.reaches(starts, length, 2 * SURE)",
        "tests/inference/test_evidence_of_blocks.py::test_over_empty_groups_ends_are_cut_once_in_a_hundred_times",
    ),
    bug(
        "a block of running sums is as uncertain as one of its groups",
        "dpsql.inference.estimates.running_estimates:RunningNoise._variances",
        "Frame(length - 1, 0)",
        "Frame(0, 0)",
        "tests/inference/test_evidence_of_blocks.py::test_over_empty_groups_running_sums_are_cut_once_in_a_hundred_times",
    ),
    bug(
        "running sums begin where the groups that are shown do",
        "rewriter.split.presence:_keep",
        "if after is not None:",
        "if after is None and False:",
        "tests/finish/test_presence.py::test_sums_over_groups_have_all_groups",
    ),
    bug(
        "rows without a person are left out without a word",
        "rewriter.relations.ownerless_rows:rows_of_nobody",
        "if catalog.unit is None or not block.owned:",
        "if True:",
        "tests/relations/test_rows_of_nobody.py",
    ),
    bug(
        "errors of means are foretold for 1,000 rows, whatever the profile tells",
        "dpsql.price.expected_error:ReleasedBefore.rows_of",
        "if plan.cells is None:",
        "if True:",
        "tests/price/test_profiles.py::test_errors_of_means_are_foretold_for_as_many_rows_as_it_tells",
    ),
    bug(
        "groups that are counted are those that are shown",
        "rewriter.split.splitter:split",
        "asked = counted_groups(counted_sets(plain, partial(lists_groups, persons=persons)), persons)",
        "asked = counted_sets(plain, partial(lists_groups, persons=persons))",
        SAME,
    ),
    bug(
        "a group without a value is not counted",
        "rewriter.split.counted_groups:_distinct",
        "    every = exp.Tuple(expressions=values if len(values) > 1 else [*values, exp.true()])",
        "    every = values[0]",
        SAME,
    ),
    bug(
        "a LEFT JOIN from rows that may be missing loses people without rows",
        "rewriter.relations.from_where:_is_own_parent",
        "child.optional or child.table.repeats_unit",
        "child.table.repeats_unit",
        f"{JOINS}::test_who_has_no_row_is_kept_by_joins_that_lead_back",
    ),
    bug(
        "any of several released values stands beside a group",
        "rewriter.split.values_beside_groups:_pairs",
        "    return found if found and is_unique(",
        "    return found if found or is_unique(",
        f"{JOINS}::test_a_value_that_differs_within_a_group_is_not_that_of_the_group",
    ),
    bug(
        "a symmetric sum adds a value once for each row",
        "rewriter.split.symmetric_sums:_Written._sums",
        "exp.Max(this=value.copy())",
        "exp.Sum(this=value.copy())",
        f"{JOINS}::test_each_key_adds_its_value_once",
    ),
    bug(
        "a symmetric sum over two keys is taken for one over the first",
        "rewriter.split.symmetric_sums:_symmetric",
        "    if len(keys) != 1 or any(",
        "    if not keys or any(",
        f"{JOINS}::test_other_distinct_sums_are_refused_with_the_form_that_works",
    ),
    bug(
        "totals over chosen groups are dropped",
        "rewriter.split.top_groups_as_having:conditions_as_having",
        "    if needs_totals(copy, tests):",
        "    if False:",
        SAME,
    ),
    bug(
        "a choice of people is moved above itself until nothing more can be nested",
        "rewriter.split.top_groups_as_having:conditions_as_having",
        " or _CHOSEN.is_on(select)",
        "",
        "tests/split/test_bi.py::test_a_choice_of_people_is_not_moved_above_itself",
    ),
    bug(
        "rows that an outer join finds nothing for are in no group",
        "rewriter.columns.value_lists:of_table",
        "    if variables[0].optional:",
        "    if False:",
        NULLS,
    ),
    bug(
        "a total is forced to be the sum of the groups that the policy lists",
        "dpsql.inference.consistency.infer:_open_keys",
        "        if not (plans[place].exhaustive or column.closed)",
        "        if False",
        f"{TOTALS}::test_rows_with_undeclared_values_move_no_group_where_noise_might_explain_them",
    ),
    bug(
        "the values that the owner lists are taken for all that there are",
        "rewriter.keys.undeclared_keys:Undeclared._of_column",
        "        if column.closed or column.type.kind is Kind.BOOLEAN:\n",
        "        if column.closed or column.values is not None or column.type.kind is Kind.BOOLEAN:\n",
        f"{TOTALS}::test_rows_with_undeclared_values_are_in_totals_and_move_no_group",
    ),
    bug(
        "a count with a condition exceeds the count that it is part of",
        "dpsql.inference.estimates.parts:_within_groups",
        "        checked |= {(part,) for part in component if plan.parts[part].estimator.minimum is not None}\n",
        "",
        f"{PRESENCE}::test_a_share_and_its_interval_do_not_exceed_one",
    ),
    bug(
        "the interval of a share goes beyond what a part can be of a whole",
        "dpsql.finish.propagate:_quotient_ends",
        "np.minimum(high + slack, most)",
        "high + slack",
        f"{PRESENCE}::test_a_share_and_its_interval_do_not_exceed_one",
    ),
    bug(
        "the widened bars of chosen rows leave the declared range",
        "dpsql.finish.error_bars:selected_bars",
        ".within(value_limits(measured[at], sources))",
        "",
        "tests/finish/test_selected.py::test_bars_of_chosen_rows_end_where_the_declared_range_ends",
    ),
    bug(
        "a lower end of chosen rows stops at 0 where values may be negative",
        "dpsql.finish.chosen_rows:stretched",
        "low = numbers - by * np.maximum(numbers - ends.low, 0.0)",
        "low = np.maximum(numbers - by * np.maximum(numbers - ends.low, 0.0), 0.0)",
        "tests/finish/test_selected.py::test_bars_of_chosen_rows_end_where_the_declared_range_ends",
    ),
    bug(
        "a row of NULL of times is not told of",
        "dpsql.finish.present_groups:_rules",
        "if key.may_lack",
        "if False",
        f"{SHOWN}::test_a_row_of_null_of_times_is_told_where_there_may_be_one",
    ),
    bug(
        "a share of the sum that it is a term of exceeds the whole",
        "rewriter.outer.name_scope:most_of",
        "        if parts[0].nonnegative and factor >= 0 and _is_sum_with(node.expression, part):",
        "        if False:",
        f"{PRESENCE}::test_a_share_and_its_interval_do_not_exceed_one",
    ),
)
