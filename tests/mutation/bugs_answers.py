"""Bugs of what stands around a release: what is kept and given again, post-processing, engines, the sandbox."""

from __future__ import annotations

from tests.mutation.bug import Bug, bug

STORE = "tests/releases/test_store.py"
DERIVE = "tests/reuse/test_derive.py"
ANSWER = "tests/answer/test_answer.py"
SANDBOX = "tests/sandbox/test_sandbox.py"
DUCKDB = "tests/engines/test_duckdb.py"
TOTAL = "tests/expressions/test_total.py"
FINISH = "tests/inference/test_finish.py"
OTHERS = "tests/finish/test_others.py"

REFRESH = "tests/answer/test_refresh.py"
WATCHES = "tests/answer/test_watches.py"
LIVING = "tests/answer/test_living_schemas.py"

MOVING = "tests/answer/test_moving_ranges.py"
SERIES, DRILLS = "tests/price/test_series.py", "tests/reuse/test_drill_downs.py"

BUGS: tuple[Bug, ...] = (
    # Other people's libraries
    bug(
        "Arrow looks for pandas after the charge",
        "dpsql.opened:open_here",
        "        try_arrow()\n",
        "",
        "tests/clients/test_broken_pandas.py::test_where_arrow_itself_does_not_work_nothing_is_opened",
    ),
    bug(
        "a program of which each warning is an error loses a long answer that it paid for",
        "dpsql.releases.arrow_types:let_copy",
        '    warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning)\n',
        "",
        "tests/sandbox/test_sandbox.py::test_a_long_answer_is_fetched_as_a_short_one",
    ),
    # Ranges that follow the clock, and grains
    bug(
        "a statement keeps the groups of the day on which it was prepared first",
        "dpsql.proxy:Proxy.prepare",
        "key: tuple[object, ...] = (sql, given, others, zone, empty, present.declared.ends)",
        "key: tuple[object, ...] = (sql, given, others, zone, empty)",
        f"{MOVING}::test_what_was_asked_is_free_until_the_groups_are_others",
    ),
    bug(
        "ranges of what refreshes at two move at midnight",
        "dpsql.living_catalog:LivingCatalog._compute",
        "refresh.begin(instant)",
        "refresh.begin(tick)",
        f"{MOVING}::test_ranges_end_with_the_refresh_whatever_the_tick_is",
    ),
    bug(
        "groups move within a period of refresh",
        "dpsql.living_catalog:LivingCatalog._compute",
        "tick if refresh is None else refresh.begin(instant)",
        "instant",
        f"{MOVING}::test_groups_stand_as_long_as_answers_do",
    ),
    bug(
        "spans of a range that follows the clock do not grow",
        "rewriter.declared.catalog:Table.at",
        "            spans = replace(spans, high=measure(ends[1]))\n",
        "",
        f"{MOVING}::test_spans_that_bound_rows_end_with_the_range",
    ),
    bug(
        "an upper end is moved down to its grain",
        "rewriter.expressions.literal_grain:outward",
        "down = lower is not context.negated",
        "down = True",
        f"{MOVING}::test_a_refresh_is_the_same_release_for_a_grain",
    ),
    bug(
        "under NOT instants are moved as without",
        "rewriter.expressions.literal_grain:outward",
        "down = lower is not context.negated",
        "down = lower",
        f"{MOVING}::test_under_not_no_row_is_lost",
    ),
    bug(
        "a moment that may be missing is read as if it were there",
        "rewriter.expressions.build:settled",
        " or not all(map(is_literal, inputs))",
        "",
        "tests/expressions/test_settled.py::test_what_may_be_missing_is_no_moment",
    ),
    bug(
        "a time since that is short is one that is long ago",
        "rewriter.columns.column_limits:_pushed",
        "sign = sign if linear.factor > 0 else _MIRRORED[sign]",
        "pass",
        f"{SERIES}::test_the_days_of_a_condition_on_the_time_since_are_those_that_have_rows",
    ),
    bug(
        "seconds cut by one number and multiplied by another are bins of the second",
        "rewriter.expressions.time_bins:_cut_seconds",
        " or _seconds(over.expression) != width",
        "",
        "tests/keys/test_time_forms.py::test_a_key_of_time_is_public_and_means_what_it_means",
    ),
    bug(
        "hours after negative days are printed without their sign",
        "dpsql.sandbox.interval_text:interval_text",
        'sign = clock[1] or ("+" if negative else "")',
        "sign = clock[1]",
        "tests/answer/test_interval_columns.py",
    ),
    bug(
        "months of an interval are lost on the wire",
        "dpsql.server.wire.wire_types:_interval_binary",
        '12 * parts.get("year", 0) + parts.get("mon", 0)',
        '12 * parts.get("year", 0)',
        "tests/answer/test_interval_columns.py",
    ),
    # Series and drill-downs
    bug(
        "a cell is kept that was measured while its day was open",
        "dpsql.opened:Opened.closed",
        "closing is not None and closing.is_closed(period.end, at, period.zone)",
        "closing is not None",
        f"{SERIES}::test_what_was_measured_while_a_day_was_open_is_not_kept",
    ),
    bug(
        "a day closes when it ends",
        "dpsql.closing:Closing.is_closed",
        "return ended + self.after <= (now if self.refresh is None else self.refresh.begin(now))",
        "return ended <= (now if self.refresh is None else self.refresh.begin(now))",
        f"{SERIES}::test_what_was_measured_while_a_day_was_open_is_not_kept",
    ),
    bug(
        "a day closes between two refreshes, and is bought twice in one",
        "dpsql.closing:Closing.is_closed",
        "(now if self.refresh is None else self.refresh.begin(now))",
        "now",
        f"{SERIES}::test_a_day_that_closes_between_two_refreshes_is_not_bought_twice",
    ),
    bug(
        "each period has the noise of the whole price, and pays a part of it",
        "dpsql.price.pricing:Pricing._series",
        "tuple(self._calibrated(series.of(place, period), each) for",
        "tuple(self._calibrated(series.of(place, period), share) for",
        f"{SERIES}::test_a_day_later_only_new_and_open_days_are_bought",
    ),
    bug(
        "only one of several periods is charged, as if nobody were in two",
        "dpsql.price.pricing:Priced.loss",
        "return sum(fresh, PrivacyLoss())",
        "return next(iter(sorted(fresh, key=lambda loss: loss.parts, reverse=True)), PrivacyLoss())",
        f"{SERIES}::test_a_day_later_only_new_and_open_days_are_bought",
    ),
    bug(
        "cells that do not satisfy a condition are added up with the others",
        "dpsql.reuse.derive:drilled",
        " if tuple(key[place] for place in places) in among]",
        "]",
        f"{DRILLS}::test_cells_add_up_to_exactly_what_a_narrower_question_measures",
    ),
    bug(
        "keys with undeclared values are added up over",
        "dpsql.reuse.derive:drilled",
        " or not (entry.facts.exhaustive or added_up <= set(entry.facts.closed))",
        "",
        f"{DRILLS}::test_what_cells_do_not_hold_is_bought",
    ),
    bug(
        "the days until yesterday are all days, in drill-downs",
        "rewriter.planner.ends_in_reach:ends_in_reach",
        "if not query.ends:",
        "if True:",
        f"{LIVING}::test_a_drill_down_over_a_range_that_ends_now_is_what_it_says",
    ),
    # Watches
    bug(
        "a threshold is drawn anew for each answer",
        "dpsql.watched:Watching._within",
        "mechanism.above(watched.sign * int(exact), state.threshold, self._sampler)",
        "mechanism.above(watched.sign * int(exact), mechanism.noisy(watched.least, self._sampler), self._sampler)",
        f"{WATCHES}::test_the_threshold_that_is_kept_is_the_one_that_answers",
    ),
    bug(
        "a watch goes on after TRUE",
        "dpsql.watched:Watching._within",
        "if state is None or state.answer or restored:",
        "if state is None or restored:",
        f"{WATCHES}::test_the_first_true_ends_it",
    ),
    bug(
        "a threshold is drawn and not kept",
        "dpsql.watched:Watching._within",
        "                        if not states.change(key, state, begun):\n"
        "                            continue  # another proxy has paid for it, too\n",
        "",
        f"{WATCHES}::test_false_is_free_for_years",
    ),
    bug(
        "an answer is given though another one was first",
        "dpsql.watched:Watching._within",
        "                if states.change(key, state, after):\n",
        "                states.change(key, state, after)\n                if True:\n",
        f"{WATCHES}::test_an_answer_that_came_late_is_thrown_away",
    ),
    bug(
        "noise of answers as if only one side moved",
        "dpsql.mechanisms.above_threshold:AboveThreshold.of",
        "for times in (1, 2))",
        "for times in (1, 1))",
        f"{WATCHES}::test_the_noise_is_that_of_the_proof",
    ),
    bug(
        "a watch that was paid for in one window answers in the next",
        "dpsql.watched:Watching._key",
        "*(one.isoformat() for one in windows)",
        "",
        WATCHES,
        "tests/properties/test_streams.py",
    ),
    bug(
        "shares renew, and watches do not see it",
        "dpsql.ledger.ledger:Ledger.windows",
        "for one in self._tally.periods}",
        "for one in self._tally.periods if one in [each.per for each in self._limits[EVERYBODY]]}",
        WATCHES,
    ),
    bug(
        "an answer that is read in the next window is not paid there",
        "dpsql.watched:Watching._within",
        "                    return None  # thrown away: what is read now is paid for in the window of now\n",
        "                    pass\n",
        WATCHES,
    ),
    bug(
        "a restored ledger revives a watch that has ended",
        "dpsql.watched:Watching._within",
        "restored = state is not None and opened.store.asked(state.charge) > state.asked",
        "restored = False",
        WATCHES,
    ),
    bug(
        "watches of one name share a threshold whatever they compare",
        "dpsql.watched:WatchedStatement",
        "self.sign, self.least, self.sensitivity)",
        "self.sign, self.sensitivity)",
        f"{WATCHES}::test_another_name_comparison_or_price_is_another_watch",
    ),
    bug(
        "a watch is asked more of than was paid for",
        "dpsql.watched:WatchedStatement",
        '(_TIME.sub("?", self.plan.sql), statistic.granularity, self.sign, self.least, self.sensitivity)',
        '(re.sub("[0-9]+", "?", self.plan.sql), statistic.granularity, self.sign, self.least)',
        f"{WATCHES}::test_a_window_that_touches_more_is_another_watch",
    ),
    bug(
        "the answer about one window is given for another",
        "dpsql.watched:Watching._within",
        'f"{opened.version(plan)} {plan.identity}"',
        "opened.version(plan)",
        f"{WATCHES}::test_no_answer_is_that_of_another_window",
    ),
    # Releases that age
    bug(
        "an answer stands for ever though its table refreshes",
        "dpsql.opened:Opened.version",
        'return " ".join((self.policy.data_version, *numbers))',
        "return self.policy.data_version",
        f"{REFRESH}::test_an_answer_stands_for_its_period",
    ),
    bug(
        "what is asked in a period is bought anew at each tick",
        "dpsql.opened:Opened.version",
        "refresh.number(now)",
        "now.isoformat()",
        f"{REFRESH}::test_an_answer_stands_for_its_period",
    ),
    bug(
        "what is read in one period is kept under the next",
        "dpsql.answer:Answering.released",
        "*kept[one.plan.identity])",
        "opened.version(one.plan), self.reuse.facts(one.plan))",
        f"{REFRESH}::test_what_is_read_in_one_period_is_kept_under_it",
    ),
    bug(
        "coarser answers are made of earlier periods",
        "dpsql.reuse.offers:Reuse.offer",
        "opened.store.related(sorted(families), version,",
        "opened.store.related(sorted(families), f'{opened.policy.data_version} patient: {opened.policy.refresh_of(\"patient\").number(opened.clock.read()) - 1}',",
        f"{REFRESH}::test_a_coarser_answer_is_made_of_its_own_period_alone",
    ),
    # What was released before
    bug(
        "a release of older data is given again",
        "dpsql.releases.store:ReleaseStore._find",
        "WHERE identity = ? AND data_version = ? AND ledger",
        "WHERE identity = ? AND ? IS NOT NULL AND ledger",
        f"{STORE}::test_another_plan_or_data_version_is_another_release",
    ),
    bug(
        "an answer is derived from older data",
        "dpsql.releases.store:ReleaseStore._related",
        ' AND data_version = ? AND ledger = {_THIS_LEDGER} AND charges <= {_ITS_CHARGES} ORDER BY number DESC",',
        ' AND ? IS NOT NULL AND ledger = {_THIS_LEDGER} AND charges <= {_ITS_CHARGES} ORDER BY number DESC",',
        f"{STORE}::test_nothing_is_found_of_other_families_data_or_policies",
    ),
    bug(
        "a release that another ledger paid for is given for nothing",
        "dpsql.releases.store:ReleaseStore._find",
        'AND data_version = ? AND ledger = {_THIS_LEDGER}"\n            f" AND charges <= {_ITS_CHARGES}',
        'AND data_version = ?"\n            f"',
        f"{STORE}::test_an_entry_is_checked_against_the_ledger_whenever_it_is_used",
    ),
    bug(
        "an answer is derived under another policy",
        "dpsql.releases.store:ReleaseStore._related",
        "if facts and facts.scope == scope",
        "if facts",
        f"{STORE}::test_nothing_is_found_of_other_families_data_or_policies",
    ),
    bug(
        "a damaged release is given again",
        "dpsql.releases.store:_digest",
        "def _digest(",
        "def _digest(*parts: str) -> str:\n    return ''\n\n\ndef _digest_of(",
        f"{STORE}::test_a_damaged_entry_is_a_miss",
    ),
    bug(
        "a table with groups missing is added up to a total",
        "dpsql.reuse.derive:source",
        "or not (entry.facts.exhaustive or set(wanted) == set(known))",
        "or False",
        f"{DERIVE}::test_nothing_is_made_of_what_measures_something_else",
    ),
    bug(
        "a sum of many noisy cells is as accurate as one",
        "dpsql.reuse.derive:StoredSource.variance",
        "return self.finer.noise[name].square * count",
        "return self.finer.noise[name].square * min(count, 1)",
        f"{DERIVE}::test_what_is_made_is_as_accurate_as_it_says_and_as_was_asked",
    ),
    bug(
        "an answer is remembered by its text and not by its numbers",
        "dpsql.finish.remembered:FinishedAnswers.get",
        "key = (id(prepared), how, *map(id, tables))",
        "key = (id(prepared), how)",
        f"{ANSWER}::test_what_is_bought_anew_is_shown_anew",
    ),
    bug(
        "statements are told apart by values and not by types",
        "dpsql.proxy:_frozen",
        "return _Given(parameters, tuple((type(value), value) for value in parameters))",
        "return _Given(parameters, tuple((None, value) for value in parameters))",
        f"{ANSWER}::test_parameters_of_another_type_are_another_statement",
    ),
    # The groups that are not shown
    bug(
        "what is left of a total is said to be as sure as the total",
        "dpsql.finish.other_notes:left",
        "(shown.noise[name], Fraction(theirs), len(shown.keys))]",
        "(shown.noise[name], Fraction(theirs), 0)]",
        f"{OTHERS}::test_what_is_left_is_the_exact_difference_with_the_noise_of_all",
        f"{OTHERS}::test_its_interval_holds_what_is_true",
    ),
    bug(
        "groups are taken from a total in the steps of the total",
        "dpsql.finish.other_notes:left",
        "nearest(total.statistics[name][0], one) - theirs * rounded",
        "nearest(total.statistics[name][0], one) - ours * rounded",
        f"{OTHERS}::test_what_is_left_is_the_exact_difference_with_the_noise_of_all",
    ),
    bug(
        "groups are rounded where they are shown, and not where they are taken from a total",
        "dpsql.finish.other_notes:_steps_shown",
        "return int(unit) if unit.denominator == 1 else 1",
        "return 1",
        f"{OTHERS}::test_what_is_left_is_the_exact_difference_with_the_noise_of_all",
    ),
    bug(
        "people who are in several groups are said to add up",
        "rewriter.split.other_groups:_adds_up",
        "return people and (query.bound.unique or all(key.value.constant for key in query.keys))",
        "return people",
        f"{OTHERS}::test_what_does_not_add_up_is_null",
    ),
    bug(
        "a group is called as the row of the others is",
        "rewriter.split.other_groups:label",
        '        name = f"({name})"\n',
        "        break\n",
        f"{OTHERS}::test_no_group_that_is_shown_has_its_name",
    ),
    # The owner's word
    bug(
        "a session asks at any price",
        "dpsql.settings:_epsilon",
        "if not 0 < epsilon <= owner.max_epsilon or",
        "if not 0 < epsilon or",
        f"{ANSWER}::test_settings_stay_within_the_owners_cap",
    ),
    bug(
        "nobody is turned away",
        "dpsql.proxy:Proxy.session",
        "if analyst is None or (names and analyst not in names):",
        "if analyst is None:",
        f"{ANSWER}::test_an_unknown_analyst_is_turned_away",
    ),
    # Error texts
    bug(
        "an internal error tells what it met",
        "dpsql.error_border:translated",
        'raise InternalError("internal error; the owner\'s log names the place", sqlstate="XX000") from None',
        'raise InternalError(f"internal error: {unforeseen}", sqlstate="XX000") from None',
        f"{ANSWER}::test_a_bug_of_ours_says_one_fixed_text",
    ),
    bug(
        "an engine's error is passed on",
        "dpsql.engines.sql_engine:SQLEngine._call",
        "self._is_too_large(error) else failed()\n",
        'self._is_too_large(error) else Error(str(error), sqlstate="58000")\n',
        f"{DUCKDB}::test_whatever_fails_says_one_thing",
    ),
    bug(
        "an engine's error is logged with its text",
        "dpsql.engines.sql_engine:SQLEngine._call",
        "failures.log(self._kind(error), error)",
        "failures.log(str(error), error)",
        f"{DUCKDB}::test_whatever_fails_says_one_thing",
    ),
    # Engines
    bug(
        "an engine that reads other files",
        "dpsql.engines.duckdb.duckdb_engine:",
        '    _ACCESS: "false",\n',
        '    _ACCESS: "true",\n',
        f"{DUCKDB}::test_whatever_fails_says_one_thing",
    ),
    bug(
        "an engine whose settings can be changed",
        "dpsql.engines.duckdb.duckdb_engine:_locked",
        '            connection.execute("SET GLOBAL lock_configuration = true")\n',
        "            pass\n",
        f"{DUCKDB}::test_time_is_utc_and_the_configuration_is_locked",
    ),
    bug(
        "an engine that computes a self-join once for both of its sides",
        "dpsql.engines.duckdb.duckdb_engine:",
        "statistics_propagation,common_subplan",
        "statistics_propagation",
        f"{DUCKDB}::test_the_two_sides_of_a_self_join_are_told_apart",
    ),
    bug(
        "an interrupt ends everybody's statements",
        "dpsql.engines.sql_engine:SQLEngine._call",
        "cancellation.watching(attempt.interrupt),",
        "cancellation.watching(lambda: [one.interrupt() for one in self._idle] and None),",
        "tests/engines/test_contract.py::TestTime::test_a_release_is_cancelled_from_another_thread",
    ),
    bug(
        "groups of another type are looked up as if they were alike",
        "dpsql.engines.known_groups:inhabited_table",
        "    if _types(described[:width]) != known.types:\n        return None\n",
        "",
        "tests/engines/test_known_groups.py::test_groups_of_another_type_are_read_by_the_whole_sql",
    ),
    bug(
        "the groups of a view are listed once for all",
        "dpsql.engines.duckdb.duckdb_engine:DuckDBEngine._can_list_groups",
        " if table.stored",
        "",
        "tests/engines/test_known_groups.py::test_the_table_is_that_of_the_whole_sql",
    ),
    bug(
        "groups are listed in a turn beside the statement's own",
        "dpsql.engines.duckdb.duckdb_engine:DuckDBEngine._known_groups",
        "known_groups(cursor.execute, plan)",
        "self._call(lambda other: known_groups(other.execute, plan), 1)",
        "tests/engines/test_known_groups.py::test_groups_are_listed_in_the_turn_of_the_statement",
    ),
    bug(
        "what is read without empty groups is that of another SQL",
        "dpsql.engines.known_groups:can_be_known",
        "plan.inhabited is not None and plan.inhabited.whole == plan.sql",
        "plan.inhabited is not None",
        "tests/engines/test_known_groups.py::test_what_is_not_the_plans_own_sql_is_not_read_in_its_place",
    ),
    # The sandbox
    bug(
        "a sandbox that reads files",
        "dpsql.sandbox.sandbox:Sandbox.open",
        '        connection.execute("SET GLOBAL enable_external_access = false")\n',
        "",
        f"{SANDBOX}::test_nothing_outside_is_reached",
    ),
    bug(
        "a sandbox that has four times as long",
        "dpsql.sandbox.sandbox:Sandbox._new_cursor",
        "max_execution_time = {int(self._seconds * 1000)}",
        "max_execution_time = {int(self._seconds * 4000)}",
        f"{SANDBOX}::test_the_engine_has_the_limit_that_was_asked_for",
    ),
    bug(
        "a sandbox that answers with any number of rows",
        "dpsql.sandbox.sandbox:_check_length",
        "    if rows > most:\n",
        "    if rows > most << 20:\n",
        f"{SANDBOX}::test_a_bomb_ends_within_the_limits",
    ),
    bug(
        "tables of a statement stay for the next one",
        "dpsql.sandbox.prepared_selects:PreparedSelect.run",
        "            self.places[name].table = table\n",
        "            self.places[name].table = table\n"
        '            self.cursor.execute(f\'CREATE OR REPLACE TABLE main."{name}" AS SELECT * FROM "{name}"\')\n',
        f"{SANDBOX}::test_tables_of_one_statement_are_not_seen_by_another",
    ),
    bug(
        "a prepared SELECT reads the tables of the last run",
        "dpsql.sandbox.prepared_selects:PreparedSelect.run",
        "            self.places[name].table = table\n",
        "            self.places[name].table = self.places[name].table or table\n",
        f"{SANDBOX}::test_a_select_that_comes_again_reads_the_tables_that_come_with_it",
    ),
    bug(
        "what a prepared SELECT has read stays with it",
        "dpsql.sandbox.prepared_selects:PreparedSelects.keep",
        "        select.clear()\n",
        "",
        f"{SANDBOX}::test_a_select_that_is_kept_holds_no_table",
    ),
    # Finishing
    bug(
        "cells are cut off at 0 before they are added up",
        "dpsql.inference.estimates.weighted_sums:SumEstimate._values",
        "(noisy, estimator, Fraction(1))\n        if estimator.integer:\n",
        "(noisy, estimator, Fraction(1))\n        totals = [max(one, 0) for one in totals]\n"
        "        if estimator.integer:\n",
        "tests/inference/test_grouping_sets.py::test_consistent_off_gives_the_measurements",
    ),
    # What the database is believed to hold
    bug(
        "texts that a collation calls one are groups of their own",
        "dpsql.engines.duckdb.duckdb_schema:_collated",
        "zip(names, row, strict=True) if count < len(_APART)]",
        "zip(names, row, strict=True) if count < 1]",
        f"{DUCKDB}::test_texts_that_a_collation_calls_one_are_not_read",
    ),
    bug(
        "numbers of a public table have no bounds",
        "dpsql.policy.declared_catalog:_Draft._column",
        "seen=profile.seen.get(real) if profile is not None and self.spec.public else None",
        "seen=None",
        "tests/relations/test_forms_mean.py",
    ),
    bug(
        "a public table that has one row will always have one",
        "dpsql.engines.sql_engine:SQLEngine.public_profile",
        "return Profile(max(rows, 2), seen=",
        "return Profile(rows, seen=",
        "tests/engines/test_postgres.py::test_what_public_tables_hold_today_bounds_nobody_tomorrow",
    ),
    bug(
        "what is charged is not the release that is measured",
        "dpsql.price.pricing:Priced.releases",
        "first.setdefault(calibration.plan.identity, calibration)",
        "first[calibration.plan.identity] = calibration",
        "dpsql/price/pricing.py",
    ),
    bug(
        "correlations with other columns are the same measurement",
        "rewriter.planner.lineage:measured_by",
        "one.condition, one.second, *one.row)",
        "one.condition)",
        "tests/aggregates/test_moments.py::test_parts_agree_with_totals_of_the_same_columns_alone",
    ),
)
