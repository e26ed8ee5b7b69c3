"""Bugs of the rewriter: what one person can move is more than what is said. Many more are hunted by the neighbour test
alone (:mod:`tests.properties.mutants`); these are in what came after counts and sums."""

from __future__ import annotations

from tests.mutation.bug import Bug, bug

HUNT = "tests/mutation/hunting.py"
MOMENTS = "tests/aggregates/test_moments.py"
REGRESSIONS = "tests/aggregates/test_regressions.py"
LARGEST = "tests/planner/test_largest.py"
DISTINCT = "tests/aggregates/test_distinct.py"
RANKS = "tests/bound/test_ranks.py"
ONE_SCAN, ONE_SCAN_WORLDS = "tests/planner/test_one_scan.py", "tests/properties/test_scans.py"
WINDOWS = "tests/per_person/test_person_windows.py"
TOTAL = "tests/expressions/test_total.py"
KEYS = "tests/relations/test_composite_keys.py"
DECLARED = "tests/keys/test_declared_keys.py::test_groups_that_were_seen_to_be_wrong"
BI = "tests/split/test_bi.py"
ZONES = "tests/expressions/test_zones.py"
INSTANTS = "tests/engines/test_instants.py"
VECTOR = "tests/measure/test_vector.py"
TOTALS = "tests/measure/test_max_total.py"
MERGING = "tests/split/test_merging.py"
MOVING = "tests/strategies/test_moving_windows.py"
ALIKE = "tests/properties/test_alike.py"
ONCE = "tests/planner/test_once.py"
SERIES, DRILLS = "tests/price/test_series.py", "tests/reuse/test_drill_downs.py"

SPANS = "tests/planner/test_spans.py"

BLOCKS = "tests/split/test_blocks_of_people.py"

BUGS: tuple[Bug, ...] = (
    # Blocks of people
    bug(
        "one who comes taken to change an answer by no more than an answer adds",
        "rewriter.planner.answers_changed:AnswersChanged.sensitivity",
        "2 * self.groups * one.l1",
        "self.groups * one.l1",
        f"{BLOCKS}::test_one_person_moves_one_block",
    ),
    bug(
        "a person's answers taken to change in as many groups as max_rows says",
        "rewriter.split.blocks_of_people:release_over_blocks",
        "changed=1 if alone else None",
        "changed=1",
        f"{BLOCKS}::test_one_person_moves_one_block",
    ),
    bug(
        "a block's answer that is not clipped into its range",
        "rewriter.split.blocks_of_people:_bounded",
        'replace(fields[f"v{place}"], interval=interval)',
        'replace(fields[f"v{place}"], interval=Interval(interval.low * 1000, interval.high * 1000))',
        BLOCKS,
    ),
    bug(
        "people in the same blocks in every reading",
        "dpsql.read:PlanReading.table",
        "plan = plan.with_block_key(self._sampler.draw(BlockKey()))",
        "plan = plan.with_block_key(BlockKey().nearest())",
        f"{BLOCKS}::test_a_secret_is_drawn_for_each_reading_and_nobody_sees_it",
    ),
    bug(
        "blocks of rows in place of blocks of people",
        "rewriter.split.blocks_of_people:_answers",
        "making.dialect.bucket(block.unit.copy(), BLOCK_KEY",
        'making.dialect.bucket(exp.column("cost", "t1"), BLOCK_KEY',
        f"{BLOCKS}::test_one_person_moves_one_block",
    ),
    # Bounds in spans of time
    bug(
        "MIN has all values of a person, and a bound of one",
        "rewriter.bound.ranks:_choice",
        "    if column.extreme is not None:\n",
        "    if column.extreme is None:\n",
        "tests/bound/test_extremes.py",
    ),
    bug(
        "thirty days are one month",
        "rewriter.declared.spans:Spans.touched",
        "_number(last, unit) - _number(first, unit) + 1)",
        "_number(last, unit) - _number(first, unit))",
        f"{SPANS}::test_the_sensitivity_is_that_of_the_spans_that_are_touched",
    ),
    bug(
        "a bound in spans is clipped for one and declared for another",
        "rewriter.planner.plan_release:plan",
        "    unique = query.bound.unique\n",
        "    unique = query.bound.unique\n    contribution = replace(contribution, rows=contribution.rows and max(1, contribution.rows // 2))\n",
        f"{SPANS}::test_the_sensitivity_is_that_of_the_spans_that_are_touched",
    ),
    bug(
        "conditions on other tables' times say which spans are touched",
        "rewriter.planner.touched_spans:touched_by",
        "if (variable.alias, variable.name) == (spans.alias, spans.column)",
        "if variable.column.type.temporal",
        f"{SPANS}::test_the_sensitivity_is_that_of_the_spans_that_are_touched",
    ),
    # Series
    bug(
        "a month of days is clipped with the bound of one day",
        "rewriter.declared.spans:touched_by_one",
        '        return _DAYS_OF[period] * (24 if span == "hour" else 1)\n',
        "        return 1\n",
        f"{SERIES}::test_no_period_touches_more_spans_than_is_said",
    ),
    bug(
        "a period is clipped over all that came after it",
        "rewriter.planner.period_series:_within",
        "((exp.GTE, period.begin), (exp.LT, period.end))",
        "((exp.GTE, period.begin),)",
        f"{SERIES}::test_people_are_clipped_within_each_day",
    ),
    bug(
        "a period is measured with the bound of all spans",
        "rewriter.planner.period_series:series_of",
        "query.bound.touching(_in_one(query, unit, spans))",
        "query.bound.touching(touched_by(query))",
        f"{SERIES}::test_people_are_clipped_within_each_day",
    ),
    bug(
        "a condition that a period satisfies in part is left out",
        "rewriter.planner.period_series:_all_satisfy",
        "(low is None or low <= measure(period.begin)) and (high is None or last <= high)",
        "(low is None or low <= last) and (high is None or measure(period.begin) <= high)",
        f"{SERIES}::test_part_of_a_day_is_no_day",
    ),
    bug(
        "a time that may be missing is a series",
        "rewriter.planner.period_series:_periods",
        "    if variable.column.nullable and not facts.is_given(variable):\n        return ()\n",
        "",
        f"{SERIES}::test_rows_without_a_time_are_not_lost",
    ),
    # Drill-downs
    bug(
        "a condition that varies within a person is asked of cells",
        "rewriter.planner.drill_downs:_separable",
        "constant = query.bound.unique or condition.constant",
        "constant = True",
        f"{DRILLS}::test_what_cells_do_not_hold_is_bought",
    ),
    bug(
        "rows with undeclared values satisfy a condition and are in no cell",
        "rewriter.planner.drill_downs:_drill_down",
        "if public is None or not all(public.closed[of_conditions]):",
        "if public is None:",
        f"{DRILLS}::test_cells_add_up_to_exactly_what_a_narrower_question_measures",
    ),
    bug(
        "keys that vary within a person are added up over",
        "rewriter.planner.lineage:with_families",
        "if not key.value.constant)",
        "if False)",
        f"{DRILLS}::test_what_cells_do_not_hold_is_bought",
    ),
    # What is found once of each tree
    bug(
        "what one tree is spelt as, given for another",
        "rewriter.once:once",
        "one if isinstance(one, str) else id(one) for one",
        "one if isinstance(one, str) else type(one) for one",
        f"{ONCE}::test_each_tree_has_its_own_text",
    ),
    bug(
        "facts taken off rows that are planned again",
        "rewriter.planner.canonical_sql:_marked_text",
        "without_facts(tree.copy())",
        "without_facts(tree)",
        f"{ONCE}::test_no_tree_is_changed_after_it_was_asked",
    ),
    bug(
        "what was found for one statement, given for the next",
        "rewriter.once:remembering",
        "_KNOWN.set({})",
        '_KNOWN.set(remembering.__dict__.setdefault("ever", {}))',
        f"{ONCE}::test_nothing_is_remembered_of_another_rewrite",
    ),
    # Figures of the same rows, sums of aggregates, windows that move
    bug(
        "a condition that one figure has alone asked of none",
        "rewriter.split.merged_releases:_filtered",
        "for call in list(_calls(copy)) if moved else ():",
        "for call in ():",
        f"{MERGING}::test_without_noise_all_of_them_are_right",
    ),
    bug(
        "a join of figures on a condition taken for one on none",
        "rewriter.split.one_row_queries:_is_free",
        "(on is None or _is_true(on))",
        "True",
        f"{MERGING}::test_without_noise_all_of_them_are_right",
    ),
    bug(
        "what a row adds to a difference never below 0",
        "rewriter.split.combinations:_ends",
        "return min(lows), max(highs)",
        "return nothing, max(highs)",
        f"{MERGING}::test_without_noise_all_of_them_are_right",
    ),
    bug(
        "a factor of a sum forgotten",
        "rewriter.split.combinations:_sum",
        "times = term.factor * int(term.granularity / step)",
        "times = int(term.granularity / step)",
        f"{MERGING}::test_without_noise_all_of_them_are_right",
    ),
    bug(
        "a sum measured itself whose parts another column reads",
        "rewriter.split.combinations:_alone",
        "return all(id(column) in inside for column in read)",
        "return True",
        f"{MERGING}::test_what_is_measured",
    ),
    bug(
        "the error bar of another branch of UNION ALL",
        "rewriter.outer.tracing:_Tracer._side_by_side",
        "_pad(node.expression, left.slots, right.slots, 0)",
        "_pad(node.expression, 0, right.slots, left.slots)",
        f"{MERGING}::test_branches_of_a_union_are_one_release_and_keep_their_error_bars",
    ),
    bug(
        "entries of a matrix that are negative taken off what one person moves",
        "rewriter.strategies.prefix_strategies:_longest",
        "accumulate(map(abs, root))",
        "accumulate(root)",
        "tests/strategies/test_cumulative.py::test_no_column_is_longer_than_declared",
    ),
    bug(
        "a window with the variance of all groups up to its end",
        "dpsql.inference.estimates.running_estimates:_summed",
        "np.square(running[last + 1] - running[first])",
        "np.square(running[last + 1])",
        f"{MOVING}::test_the_variance_of_a_window_is_that_of_least_squares",
    ),
    # Time zones
    bug(
        "a time that a clock shows twice taken for the first of the two",
        "rewriter.declared.time_zones:instant",
        "return moment - min(",
        "return moment - max(",
        f"{ZONES}::test_rules_of_a_zone_are_those_of_postgresql",
    ),
    bug(
        "a time zone that is set and not looked at",
        "dpsql.proxy:Proxy.planned",
        "replace(opened.engine.dialect, zone=zone)",
        "opened.engine.dialect",
        f"{INSTANTS}::test_literals_and_days_are_local",
    ),
    bug(
        "an hour that a clock shows twice counted as one",
        "rewriter.expressions.time:_trunc_instant",
        'if _TRUNCATIONS.index(unit) >= _TRUNCATIONS.index("day"):',
        "if unit:",
        f"{ZONES}::test_an_expression_over_instants_is_postgresqls",
    ),
    bug(
        "a unit that is known by an engine's word for it",
        "rewriter.dialects.calendar_nodes:start_of",
        "call(Read.START.value, text(unit), moment)",
        'call("date_trunc", text(unit), moment)',
        "tests/engines/test_dialects.py::test_a_plan_has_the_same_shape_in_every_dialect",
    ),
    bug(
        "a filter in every engine's SQL, whether it has any or not",
        "rewriter.bound.bounded_sql:_filter",
        "    return dialect.filtered(node, test)",
        "    return exp.Filter(this=node, expression=exp.Where(this=test))",
        "tests/engines/test_dialects.py::test_a_plan_has_the_same_shape_in_every_dialect",
    ),
    bug(
        "a dialect that lacks a spelling",
        "rewriter.dialects.dialect:Dialect.__init_subclass__",
        "missing = [] if family else _missing(cls)",
        "missing = []",
        "tests/engines/test_dialects.py::test_a_dialect_that_lacks_a_spelling_cannot_be_made",
    ),
    bug(
        "local days listed as those of UTC",
        "rewriter.dialects.local_days:zoned_days",
        "first, last = local(low, step.zone), local(high, step.zone)",
        "first, last = low, high",
        f"{ZONES}::test_listed_days_and_hours_are_those_that_instants_have",
    ),
    bug(
        "days added to an instant in UTC",
        "rewriter.expressions.time:_shift_instant",
        "    if months or days:",
        "    if months:",
        f"{ZONES}::test_an_expression_over_instants_is_postgresqls",
    ),
    bug(
        "instants that leave the calendar in another zone",
        "rewriter.expressions.local_time:_moved",
        "    if ends is not None:",
        "    if ends is not None and type_ == TIMESTAMPTZ:",
        f"{ZONES}::test_no_instant_leaves_the_calendar",
    ),
    bug(
        "a literal instant compared as a local time where a clock is set",
        "rewriter.expressions.local_time:as_local_literal",
        "or not is_steady(scalar, zone)",
        "or zone is None",
        f"{ZONES}::test_an_expression_over_instants_is_postgresqls",
    ),
    # Moments
    bug(
        "a middle of the range counted more finely than the norm has room for",
        "rewriter.measure.moments:",
        "MIDDLE = Fraction(13, 7)",
        "MIDDLE = Fraction(15, 7)",
        f"{MOMENTS}::test_the_middle_of_the_range_may_be_counted_more_finely_and_no_more_than_that",
    ),
    bug(
        "a row that adds more than one unit",
        "rewriter.measure.moments:_Variable.cells",
        "{(self.i,): twice, (self.square,): -2}",
        "{(self.i,): twice, (self.square,): -1}",
        f"{MOMENTS}::test_a_row_adds_exactly_one_unit_whatever_it_holds",
    ),
    bug(
        "two variables with the norm of one",
        "rewriter.measure.moments:_measure",
        "l2_squared *= variable.row_l2_squared",
        "l2_squared = max(l2_squared, variable.row_l2_squared // 4)",
        f"{MOMENTS}::test_a_row_adds_exactly_one_unit_whatever_it_holds",
    ),
    bug(
        "a square of what was not clipped",
        "rewriter.measure.moments:_variable",
        'column = builder.column("v", clipped_steps(value, interval, granularity, builder.dialect))',
        'column = builder.column("v", clipped_steps(value, Interval(interval.low * 9 - 9, interval.high * 9 + 9),'
        " granularity, builder.dialect))",
        f"{MOMENTS}::test_a_row_adds_exactly_one_unit_whatever_it_holds",
    ),
    # Regressions
    bug(
        "squares of a regression counted more finely than the norm has room for",
        "rewriter.measure.second_moments:_finer_squares",
        "(size + 1) // 2",
        "(size + 1) * 4",
        f"{REGRESSIONS}::test_no_row_leaves_its_norm_whatever_it_holds",
    ),
    bug(
        "the products of a regression are not in its norm",
        "rewriter.measure.second_moments:_measured",
        "largest = 1 + size * (size + 1) // 2",
        "largest = 1 + size",
        f"{REGRESSIONS}::test_no_row_leaves_its_norm_whatever_it_holds",
    ),
    bug(
        "a regressor that is not clipped",
        "rewriter.measure.second_moments:_variable",
        "clipped_steps(value, interval, granularity, builder.dialect)",
        "clipped_steps(value, Interval(interval.low * 9 - 9, interval.high * 9 + 9), granularity, builder.dialect)",
        f"{REGRESSIONS}::test_no_row_leaves_its_norm_whatever_it_holds",
    ),
    bug(
        "rows that lack a regressor are in some of the sums",
        "rewriter.measure.second_moments:regressions",
        "*map(present, values)",
        "present(values[-1])",
        f"{REGRESSIONS}::test_coefficients_are_those_of_least_squares",
    ),
    Bug(
        "two numbers of a regression are taken for one",
        "rewriter.split.merged_releases:_place",
        (
            ("replace(one, wording=_UNWRITTEN)", "replace(one, wording=_UNWRITTEN, regression=None)"),
            ("replace(aggregate, wording=_UNWRITTEN)", "replace(aggregate, wording=_UNWRITTEN, regression=None)"),
        ),
        (f"{REGRESSIONS}::test_numbers_of_one_regression_in_two_subqueries_are_two",),
    ),
    # Quantiles
    bug(
        "people with too many rows weigh all of them in a quantile",
        "rewriter.bound.ranks:_scale",
        "        limit = weights.reach_squared\n",
        "        limit = weights.reach_squared * 9\n",
        HUNT,
    ),
    bug(
        "rows of a quantile are clipped in L2 where epsilon is counted",
        "rewriter.bound.ranks:_scale",
        "    if weights.norm is Norm.L1 or weights.one_group:\n        source",
        "    if weights.one_group:\n        source",
        HUNT,
        seed=9,
    ),
    bug(
        "values near the quantile are left out",
        "rewriter.bound.ranks:_Window._near",
        "limit = number(self.size * parts)",
        "limit = number(max(self.size // 4, 1))",
        RANKS,
    ),
    # Several plans in one scan
    bug(
        "a person's finer groups are clipped as several people in a coarser level",
        "rewriter.planner.one_scan:_tables",
        "tables.append(by_keys[mine])",
        'tables.append("shared0")',
        f"{ONE_SCAN_WORLDS}::test_reading_together_gives_the_integers_of_reading_apart",
    ),
    bug(
        "a level counts the people of each finer group twice",
        "rewriter.planner.one_scan:_Pool._added",
        "        return dialect.cast(dialect.sum(exp.column(name), BIGINT), BIGINT)\n",
        "        return exp.Mul(this=dialect.cast(dialect.sum(exp.column(name), BIGINT), BIGINT), expression=number(2))\n",
        f"{ONE_SCAN_WORLDS}::test_reading_together_gives_the_integers_of_reading_apart",
    ),
    bug(
        "a level is scaled by the factor of the finest",
        "rewriter.planner.one_scan:_rows_of",
        "    tree = level.partials.tree.copy()\n",
        "    tree = level.partials.tree.copy()\n"
        "    for old in tree.args['with_'].expressions:\n"
        "        if old.alias == 'scale':\n"
        "            old.this.set('from_', exp.From(this=exp.alias_(exp.select('*', *("
        "exp.alias_(exp.column(pool.names[sql.sql()]), name) for name, sql in level.partials.sums))"
        ".from_('shared0').subquery(), 'clamped', table=True)))\n",
        f"{ONE_SCAN_WORLDS}::test_reading_together_gives_the_integers_of_reading_apart",
    ),
    bug(
        "plans over other rows share a scan",
        "rewriter.planner.one_scan:_Level.of",
        '"\\n".join((plan.dialect, source.sql(), rows.unit.sql(), having))',
        "plan.dialect",
        f"{ONE_SCAN}::test_others_are_read_apart",
    ),
    # Largest groups
    bug(
        "sums that can fall pay for one way",
        "rewriter.planner.plan_top_k:plan_top",
        "reach=statistic.bound * (1 if _only_grows(query, ranked) else 2)",
        "reach=statistic.bound",
        f"{LARGEST}::test_sums_that_can_fall_pay_for_both_ways",
    ),
    bug(
        "k measured groups with the sensitivity of one",
        "rewriter.planner.plan_top_k:plan_top",
        "groups = 1 if in_one_group(query) else ranked.count",
        "groups = 1",
        f"{LARGEST}::test_each_group_that_is_picked_is_measured_at_its_price",
    ),
    bug(
        "groups are sorted where they are better picked",
        "rewriter.planner.picks_or_sorts:_picked_error",
        "missed = math.log(20 * cells * count) * reach * math.sqrt(count / 8)",
        "missed = math.log(20 * cells * count) * reach * count",
        "tests/planner/test_picks_or_sorts.py",
    ),
    bug(
        "a negative sum is taken to grow with people",
        "rewriter.planner.plan_top_k:_only_grows",
        "return within is not None and within.low >= 0",
        "return within is not None and within.high >= 0",
        f"{LARGEST}::test_sums_that_can_fall_pay_for_both_ways",
    ),
    bug(
        "rows without a value come before none",
        "rewriter.aggregates.hypothetical:_one_or_zero",
        'if order.args.get("nulls_first"):',
        "if False:",
        "tests/properties/test_meaning_vectors.py::test_quotients_keep_their_value",
    ),
    # Distinct values
    bug(
        "several values of a person in a group claimed as one",
        "rewriter.bound.credited_values:Kept.sensitivity",
        "return Sensitivity(l1=self.most, l2_squared=self.most * self.within)",
        "return Sensitivity(l1=self.most, l2_squared=self.most)",
        HUNT,
    ),
    bug(
        "one value more is kept than is claimed",
        "rewriter.bound.credited_values:_kept_of",
        'exp.LTE(this=_column("q"), expression=number(most.most))',
        'exp.LTE(this=_column("q"), expression=number(most.most + 1))',
        HUNT,
    ),
    bug(
        "values are kept of all people together",
        "rewriter.bound.credited_values:_kept_of",
        'place = exp.alias_(_place(["u"], order), "q")',
        'place = exp.alias_(_place(["h"], order), "q")',
        HUNT,
    ),
    # Conditions
    bug(
        "BOOL_OR is true of noise alone",
        "rewriter.aggregates.booleans_as_counts:_exceeds",
        "return exp.GT(this=count, expression=exp.Coalesce(this=margin, expressions=[exp.Literal.number(0)]))",
        "return exp.GT(this=count, expression=exp.Literal.number(0))",
        f"{DISTINCT}::test_noise_alone_decides_as_rarely_as_the_notice_says",
    ),
    bug(
        "a share counts its rows twice",
        "rewriter.aggregates.booleans_as_counts:_share",
        "both(aggregate.condition, every)",
        "aggregate.condition",
        f"{DISTINCT}::test_booleans_and_shares_mean_what_the_engine_says",
    ),
    # Windows of one person
    Bug(
        "a window over the rows of everybody",
        "rewriter.per_person.windows:",
        (
            (
                "if self.block.unit is None or not any(key.keys or key.ways for key in keys):",
                "if self.block.unit is None:",
            ),
            (
                "return tuple(dict.fromkeys([unit.copy(), *(key.sql for key in keys if not is_literal(key))]))",
                "return tuple(dict.fromkeys([key.sql for key in keys if not is_literal(key)]))",
            ),
        ),
        (f"{WINDOWS}::test_a_window_that_mixes_people_is_refused_with_the_key_that_is_missing",),
    ),
    bug(
        "a window breaks ties as rows are stored",
        "rewriter.per_person.windows:_Reader._over",
        "ties=self._ties(),",
        "ties=(),",
        f"{WINDOWS}::test_the_order_in_which_rows_are_stored_changes_nothing",
    ),
    bug(
        "what is numbered is believed to be one row per person",
        "rewriter.per_person.windows:_Reader._over",
        "one_partition=all(key.constant or (key.unit and not key.nullable) for key in keys),",
        "one_partition=True,",
        f"{WINDOWS}::test_a_number_is_one_of_a_person_only_where_all_rows_of_the_person_are_numbered",
    ),
    # Bounding
    bug(
        "people inside of the ball are scaled by the norm of one cell",
        "rewriter.bound.ball:Ball.size",
        "result = exp.Add(this=result, expression=term)",
        "result = term",
        HUNT,
    ),
    bug(
        "a ball that is a little too large",
        "rewriter.bound.ball:Ball.shortening",
        "exp.Div(this=double(radius * SHRINK), expression=divisor)",
        "exp.Div(this=double(radius * 1.01), expression=divisor)",
        HUNT,
    ),
    bug(
        "cells are cut at the radius before they are scaled, which changes their direction",
        "rewriter.bound.ball:Ball.beyond",
        "return radius << _BEYOND_BITS if self.scaled else radius",
        "return radius",
        f"{VECTOR}::test_people_with_as_many_rows_have_the_engines_quotients",
    ),
    bug(
        "a mean and a count of the same rows are shortened each by itself",
        "rewriter.bound.ball:factors",
        "return tuple((of_people if ball.vector.distinct else of_rows) if ball.scaled else None for ball in balls)",
        'return tuple(Factor(f"m{n}", (ball,)) if ball.scaled else None for n, ball in enumerate(balls))',
        f"{VECTOR}::test_people_with_as_many_rows_have_the_engines_quotients",
    ),
    bug(
        "scaled people are counted in 1/4096 of the radius, and truncated",
        "rewriter.bound.ball:",
        "_REFINE_BITS = 30",
        "_REFINE_BITS = 12",
        f"{VECTOR}::test_scaled_people_are_not_lost_in_truncation",
    ),
    bug(
        "what is shortened by the number of rows is shortened by a number that was cut",
        "rewriter.bound.ball:Ball.clamped",
        "if self._counts:\n            return column",
        "if False:\n            return column",
        f"{VECTOR}::test_a_person_far_beyond_every_bound_moves_no_vector_further",
    ),
    bug(
        "a sum is taken for one that was clipped with others",
        "rewriter.planner.lineage:with_families",
        "(*ball, *factors[vector.distinct])",
        "ball",
        "tests/reuse/test_derive.py::test_sums_are_not_made_of_ones_that_were_clipped_with_others",
    ),
    bug(
        "a count beside a mean counts the rows with a value alone",
        "rewriter.measure.pair_cells:Pair.count",
        "terms = self.rows if every else _added((ONE, self.above), (ONE, self.below))",
        "terms = _added((ONE, self.above), (ONE, self.below))",
        f"{VECTOR}::test_what_is_read_off_one_vector_is_what_the_engine_answers",
    ),
    bug(
        "rows without a value are left out of the pair of a sum and a count of all rows",
        "rewriter.measure.pair_cells:_cells",
        "counted = None if wanted.nulls is Nulls.ZERO else value",
        "counted = value",
        f"{VECTOR}::test_what_is_read_off_one_vector_is_what_the_engine_answers",
    ),
    bug(
        "several means of the same rows claim what one of them moves",
        "rewriter.measure.pair_cells:in_one",
        "l1, l2_squared = l1 + one.steps[2] * factor, l2_squared + (one.steps[2] * factor) ** 2",
        "l1, l2_squared = l1, l2_squared",
        f"{VECTOR}::test_a_person_far_beyond_every_bound_moves_no_vector_further",
    ),
    bug(
        "a mean keeps what rows without a value add to its sides",
        "rewriter.measure.pair_cells:_pair",
        "values = _added((ONE, rows), (-Fraction(WEIGHTS.empty, WEIGHTS.rows), lacking))",
        "values = rows",
        f"{VECTOR}::test_what_is_read_off_one_vector_is_what_the_engine_answers",
    ),
    bug(
        "a mean beside COUNT(*) claims what rows without a value move",
        "rewriter.measure.pair_cells:Weights.l2_squared",
        "return max(self.rows**2 + self.difference**2, self.empty**2 + self.missing**2)",
        "return max(self.rows**2, self.empty**2)",
        f"{VECTOR}::test_a_person_far_beyond_every_bound_moves_no_vector_further",
    ),
    bug(
        "a row without a value moves its cell more than a row at an end of the range",
        "rewriter.measure.pair_cells:_difference",
        "without = _without(value, test, factor * one.steps[2])",
        "without = _without(value, test, 4 * factor * one.steps[2])",
        f"{VECTOR}::test_a_person_far_beyond_every_bound_moves_no_vector_further",
    ),
    bug(
        "a mean of the same rows counts those without a value",
        "rewriter.measure.pair_cells:_of_difference",
        "(_added((HALF, rows), (-HALF, missing), (sign * HALF, difference)) for sign in (1, -1))",
        "(_added((HALF, rows), (sign * HALF, difference)) for sign in (1, -1))",
        f"{VECTOR}::test_what_is_read_off_one_vector_is_what_the_engine_answers",
    ),
    bug(
        "a difference leaves rows without a value out of a sum that counts them as 0",
        "rewriter.measure.pair_cells:_difference",
        "counted = None if one.nulls is Nulls.ZERO else value",
        "counted = value",
        f"{VECTOR}::test_what_is_read_off_one_vector_is_what_the_engine_answers",
    ),
    bug(
        "rows are counted under another condition than the one of the means",
        "rewriter.measure.pair_cells:in_one",
        "every = Addend(1, test=builder.condition(base.aggregate.condition))",
        "every = Addend(0, test=builder.condition(base.aggregate.condition))",
        f"{VECTOR}::test_a_person_far_beyond_every_bound_moves_no_vector_further",
    ),
    bug(
        "values of the same rows are one vector whatever becomes farther off",
        "rewriter.measure.same_rows:_Trial.is_better",
        "return never_worse and sum(joint)",
        "return sum(joint)",
        "tests/properties/test_same_rows.py::test_nothing_is_farther_off_than_with_pairs_apart",
    ),
    bug(
        "a vector of values of the same rows has the share of one pair",
        "rewriter.measure.same_rows:_Trial.weight",
        "return sum(self._shares, Fraction(0))",
        "return self._shares[0]",
        "tests/properties/test_same_rows.py::test_nothing_is_farther_off_than_with_pairs_apart",
    ),
    bug(
        "a difference is read without the noise of the number of rows",
        "rewriter.measure.same_rows:_Trial._joint",
        "yield norm * (self._rows * reading.rows**2 / first**2 + own)",
        "yield norm * own",
        "tests/properties/test_same_rows.py::test_nothing_is_farther_off_than_with_pairs_apart",
    ),
    bug(
        "a total that is declared is claimed, and rows are clipped by their number alone",
        "rewriter.bound.ball:deciding",
        "or by_norm not in whole or vector.most_rows is not None:",
        "or by_norm not in whole:",
        f"{TOTALS}::test_a_person_far_beyond_the_total_moves_no_vector_further",
    ),
    bug(
        "people with few rows are taken to be inside of a ball that a total makes small",
        "rewriter.bound.bounded_sql:_harmless_rows",
        "and not whole and all(vector.most_rows is None for vector in work.vectors)",
        "and not whole",
        f"{TOTALS}::test_a_person_far_beyond_the_total_moves_no_vector_further",
    ),
    bug(
        "twice a value adds up to no more than the value",
        "rewriter.columns.most_total:_multiple",
        "return None if inner is None else inner * (abs(factor) if isinstance(node, exp.Mul) else 1 / abs(factor))",
        "return inner",
        f"{TOTALS}::test_a_sum_moves_by_no_more_than_the_total_and_no_more_is_claimed",
    ),
    bug(
        "people in too many groups are named all the same",
        "rewriter.bound.bounded_sql:_weight",
        "(exp.GT(this=groups.copy(), expression=number(selection.max_groups)), number(0)),",
        "(exp.GT(this=groups.copy(), expression=number(selection.max_groups)), number(steps)),",
        HUNT,
    ),
    # What one person has once
    bug(
        "the greater end of what is written is believed to be the greater end",
        "rewriter.relations.row_number_bounds:_most",
        '*(["low"] if condition.args.get("symmetric") else [])',
        "",
        f"{WINDOWS}::test_a_number_is_one_of_a_person_only_where_all_rows_of_the_person_are_numbered",
    ),
    bug(
        "what a person has once is had once beside rows without a match",
        "rewriter.columns.source:Source.as_optional",
        "constant=value.constant and by_unit)",
        "constant=value.constant)",
        f"{BI}::test_what_a_person_has_once_is_missing_beside_rows_without_a_match",
    ),
    bug(
        "a NaN in a column that is declared NOT NULL is no match",
        "rewriter.columns.source:may_be_missing",
        "return column.nullable or _is_numeric(column) or _may_read_null(column)",
        "return column.nullable",
        f"{BI}::test_numbers_and_days_that_are_none_are_matches_all_the_same",
    ),
    bug(
        "a key is met once by whatever is compared with it",
        "rewriter.relations.from_where:_compares_exactly",
        "return not compared_as_doubles(one, other)",
        "return True",
        f"{KEYS}::test_what_is_taken_to_be_one_row_or_one_group_is_one",
    ),
    bug(
        "of two equalities one is inexact, and the other is believed to be all",
        "rewriter.relations.from_where:_join",
        "complete = len(equalities) == len(tests) and all(map(is_equality, tests))",
        "complete = all(map(is_equality, tests))",
        f"{KEYS}::test_what_is_taken_to_be_one_row_or_one_group_is_one",
    ),
    bug(
        "less than a day is one day",
        "rewriter.columns.value_lists:periods",
        "math.floor(bounds.high * each) - math.floor(bounds.low * each) + 1",
        "math.floor((bounds.high - bounds.low) * each) + 1",
        f"{KEYS}::test_what_is_taken_to_be_one_row_or_one_group_is_one",
    ),
    bug(
        "a day is on one side of a condition on its times",
        "rewriter.keys.declared_lists:DeclaredLists.item",
        "query = moments(bounds, use.step or TimeStep(Period.DAY), cuts, self.dialect)",
        "query = moments(bounds, use.step or TimeStep(Period.DAY), (), self.dialect)",
        DECLARED,
    ),
    bug(
        "lists that a condition ties to each other are listed apart",
        "rewriter.keys.separate_keys:parts",
        "for node in (*keys, *conditions):",
        "for node in keys:",
        "tests/keys/test_coarse.py::test_keys_of_their_own_columns_are_multiplied",
    ),
    bug(
        "keys of one list are listed apart",
        "rewriter.keys.separate_keys:parts",
        "together = [one for one in together if not one & tables] + ([tables.union(*near)] if tables else [])",
        "together = [*together, tables] if tables else together",
        "tests/keys/test_coarse.py",
    ),
    bug(
        "a LEFT JOIN is an inner one where WHERE tests a column for NULL",
        "rewriter.relations.from_where:_rejects_missing",
        'negated ^ bool(node.args.get("negate"))',
        "True",
        "tests/properties/test_meaning_groups.py::test_a_condition_on_an_outer_join_narrows_like_one_on_an_inner_join",
    ),
    bug(
        "the part of an OR that is decided decides it",
        "rewriter.keys.enumeration:Enumeration._possible",
        "return None if None in parts else exp.or_(*parts, copy=False)",
        "return exp.or_(*(part for part in parts if part is not None), copy=False)",
        DECLARED,
    ),
    bug(
        "NULL is no group",
        "rewriter.keys.enumeration:Enumeration.may_be_null",
        "if table_for(variable) in self.present:",
        "if use.whole:",
        DECLARED,
    ),
    bug(
        "rows keep to their declared range",
        "rewriter.keys.undeclared_keys:Undeclared._of_column",
        'return "" if column.range is None else _beyond(column.name, column.range, limits)',
        'return ""',
        DECLARED,
    ),
    bug(
        "0.0 and -0.0 are told apart",
        "rewriter.expressions.mathematics:arctangent2",
        "sides = (one_zero(value.sql, context.dialect) for value in (one, other))",
        "sides = (value.sql for value in (one, other))",
        WINDOWS,
    ),
    # Groupings that are shown together
    bug(
        "the ball of a grouping that bounds rows of one group is forgotten",
        "rewriter.bound.common_factor:limits",
        "if whole is not None and ball.radius_squared < whole:",
        "if whole is not None and ball.radius_squared < 0:",
        f"{ALIKE}::test_one_person_moves_every_grouping_by_no_more_than_it_says",
    ),
    bug(
        "a declared bound of the rows of one group is taken for one that data keep",
        "rewriter.planner.alike:said",
        "return Alike(tuple(found), not smaller or _enforced(query, contribution))",
        "return Alike(tuple(found), True)",
        f"{ALIKE}::test_inference_moves_nothing_where_there_is_no_noise",
    ),
    bug(
        "measurements agree however people are shortened",
        "dpsql.inference.consistency.infer:_alike",
        "found.setdefault(plans[place].sums, [])",
        'found.setdefault("", [])',
        f"{ALIKE}::test_inference_moves_nothing_where_there_is_no_noise",
    ),
    bug(
        "estimates that no noise can have made are shown",
        "dpsql.inference.numeric.least_squares:check_reach",
        "if not (np.abs(number[told] - measured[told]) <= far).all():",
        "if not (np.abs(number[told] - measured[told]) <= np.inf).all():",
        "tests/properties/test_tiny_noise.py::test_what_no_noise_can_have_made_is_not_shown",
    ),
    bug(
        "a regression's interval leaves out the noise of its matrix",
        "dpsql.inference.estimates.regression_figures:_coefficient",
        "cells.forms(rows[:, place], fit.residual)",
        "cells.forms(rows[:, place], fit.explained)",
        f"{REGRESSIONS}::test_intervals_cover",
    ),
    bug(
        "a regression that noise alone made has an interval",
        "dpsql.inference.estimates.regression_figures:_least_squares",
        "tau = (2 * math.sqrt(size) + 2) * spread",
        "tau = 0 * spread",
        f"{REGRESSIONS}::test_where_noise_is_larger_than_the_spread_there_is_a_ridge_and_no_interval",
    ),
    bug(
        "a correlation beyond 1 is certain",
        "dpsql.inference.estimates.moment_figures:_ends",
        "np.where(low >= 1, 1 - half, low)",
        "np.where(low >= 1, 1, low)",
        "tests/aggregates/test_moments.py::test_a_correlation_that_noise_took_beyond_1_is_not_certain",
    ),
    bug(
        "the low end of a share is below 0 by a digit",
        "dpsql.finish.propagate:_mean_ends",
        "np.maximum(numbers - down, least)",
        "(numbers - down)",
        "tests/finish/test_intervals_shown.py::test_ends_of_means_are_in_the_range_to_the_last_digit",
    ),
    # Functions and conditions in other words
    bug(
        "a pattern with several ways to match taken for one with one",
        "rewriter.expressions.capture_patterns:_Reader._sequence",
        "if overlaps and not (ends or fixed_behind):",
        "if overlaps and not (ends or fixed_behind or part):",
        "tests/expressions/test_total_postgres.py::test_a_pattern_takes_the_same_part_as_in_duckdb",
    ),
    bug(
        "a character asked for by a number that has none",
        "rewriter.expressions.text_forms:character",
        "sql = when(known, context.dialect.character(context.dialect.cast(value.sql, INTEGER)))",
        "sql = context.dialect.character(context.dialect.cast(value.sql, INTEGER))",
        f"{TOTAL}::test_no_row_makes_an_expression_raise",
    ),
    bug(
        "seconds since 1970 beyond the calendar",
        "rewriter.expressions.elapsed:at_microsecond",
        "sql = when(within, sql)",
        "pass",
        "tests/expressions/test_total_postgres.py::test_a_chosen_expression_never_raises_and_has_the_value_of_duckdb",
    ),
    bug(
        "bits of negative numbers taken to reach no further than those of others",
        "rewriter.expressions.bits:_combined",
        "if one[0] >= 0 and other[0] >= 0:",
        "if one[0] >= 0 or other[0] >= 0:",
        f"{TOTAL}::test_results_lie_in_the_interval_and_in_the_domain",
    ),
    bug(
        "a quotient by a whole number bounded as if it were never negative",
        "rewriter.expressions.arithmetic:_by_whole_numbers",
        "for a, b in ((low, -1), (1, high)) if a <= b]",
        "for a, b in ((1, high),) if a <= b]",
        f"{TOTAL}::test_declared_ranges_propagate",
    ),
    bug(
        "rows of values compared by their first value alone where it is equal",
        "rewriter.statement.spell_conditions",
        "exp.LTE: exp.LT, exp.GT: exp.GT",
        "exp.LTE: exp.LTE, exp.GT: exp.GT",
        "tests/properties/test_meaning_functions.py::test_a_condition_holds_for_as_many_people",
    ),
    bug(
        "a row of a table, with columns of ours, as a value",
        "rewriter.outer.checks:check_outer",
        "    _check_rows(tree, tables)\n",
        "",
        "tests/outer/test_outer.py::test_what_reads_more_than_its_inputs_is_refused_with_a_hint",
    ),
)
