"""Bugs of the accountant and the ledger: something is released that nobody has paid for, or for more than there is."""

from __future__ import annotations

from tests.mutation.bug import Bug, bug

ACCOUNTANT = "tests/accounting/test_accountant.py"
LEDGER = "tests/ledger/test_ledger.py"
COMMANDS = "tests/ledger/test_commands.py"
DISKS = "tests/ledger/test_disks.py"
POSTGRES = "tests/ledger/test_postgres_ledger.py"
CURVES = "tests/ledger/test_curves.py"
RENYI = "tests/accounting/test_rdp.py"
ANSWER = "tests/answer/test_answer.py"
BOUNDS = "tests/price/test_bounds.py"
WATCHES = "tests/answer/test_watches.py"
WINDOWS = "tests/ledger/test_budget_windows.py"

ORDERS = "tests/ledger/test_orders.py"
ROW_TIMES = "tests/ledger/test_row_times.py"
OF_ROWS = "tests/answer/test_budget_of_rows.py"

BUGS: tuple[Bug, ...] = (
    bug(
        "watches that a dump brought back are believed",
        "dpsql.ledger.watch_states:",
        "watched WHERE writer IS DISTINCT FROM {_SERVER} || ' ' || xmin::text",
        "watched WHERE writer IS NULL OR {_SERVER} IS NULL",
        f"{WATCHES}::test_a_ledger_that_pg_restore_wrote_has_no_watch",
    ),
    bug(
        "the numbers of an index are taken for those of the charges",
        "dpsql.ledger.sqlite_journal:SQLiteJournal._summed_totals",
        "FROM charge NOT INDEXED",
        "FROM charge",
        "tests/ledger/test_crashes.py::test_a_charge_whose_number_is_another_is_found",
    ),
    # Rows of each time
    bug(
        "a charge counts at the first of its times alone",
        "dpsql.ledger.row_times:RowTimeSums.add",
        "for place in range(first, last):",
        "for place in range(first, min(first + 1, last)):",
        f"{ROW_TIMES}::test_what_is_admitted_is_what_every_time_has_room_for",
        f"{ROW_TIMES}::test_sums_are_those_of_each_time",
    ),
    bug(
        "rows of several months are charged as one step",
        "dpsql.ledger.ledger:Ledger.charged",
        "return self._accountant.accounting.of_two_steps(due.loss)",
        "return due.loss",
        f"{ROW_TIMES}::test_what_is_admitted_is_what_every_time_has_room_for",
    ),
    bug(
        "two steps of zCDP cost twice",
        "dpsql.accounting.zcdp:Zcdp",
        "two_steps = 4",
        "two_steps = 2",
        f"{ROW_TIMES}::test_delta_has_no_price_of_several_periods",
        f"{OF_ROWS}::test_what_is_said_is_what_is_charged",
    ),
    bug(
        "what others charged since is counted at no time",
        "dpsql.ledger.postgres_sql:",
        "since < ends AND until > begins",
        "since < begins AND until > ends",
        f"{ROW_TIMES}::test_a_proxy_on_a_server_counts_what_others_charged_meanwhile",
    ),
    bug(
        "a charge is kept without the times of its rows",
        "dpsql.ledger.sqlite_journal:_newer",
        "_loss(parts), _span(span)",
        "_loss(parts), _span('2026-01-01T00:00:00+00:00/2026-02-01T00:00:00+00:00')",
        f"{ROW_TIMES}::test_what_is_admitted_is_what_every_time_has_room_for",
    ),
    bug(
        "a table whose rows are of all times is left out of what is charged",
        "dpsql.opened:Opened.span",
        "if self.policy.is_dated(one.table)]",
        "if self.policy.is_dated(one.table) and (one.begin or one.end)]",
        f"{OF_ROWS}::test_one_persons_rows_of_a_month_move_what_is_charged_to_it",
        f"{OF_ROWS}::test_rows_of_several_months_are_charged_to_each",
    ),
    bug(
        "who is not among those who came is charged to one month",
        "rewriter.planner.closed_windows:with_times",
        "until_of=query.rows if _needs_times(places, known, catalog) else None",
        "until_of=query.rows",
        f"{OF_ROWS}::test_one_persons_rows_of_a_month_move_what_is_charged_to_it",
    ),
    bug(
        "one place of a table that is bounded bounds the charge",
        "rewriter.planner.closed_windows:_until",
        "if len(last) == len(places) else None,\n        UTC",
        "if last else None,\n        UTC",
        f"{OF_ROWS}::test_rows_of_several_months_are_charged_to_each",
    ),
    bug(
        "the groups of all months of a chart have the noise of one release of their rows",
        "dpsql.price.pricing:Pricing._of_a_period",
        "self._of_one_step(period, share)",
        "self._of_one_step(plan, share)",
        f"{OF_ROWS}::test_explain_tells_the_error_that_a_month_of_a_series_has",
    ),
    bug(
        "what is left is that of the rows that have spent least",
        "dpsql.ledger.tally:Tally.fullest",
        "max(times, key=",
        "min(times, key=",
        f"{OF_ROWS}::test_what_is_left_is_that_of_the_rows_that_were_asked_for",
    ),
    # Windows
    bug(
        "a clock that goes back opens a window again",
        "dpsql.ledger.tally:Tally.at",
        "return max(time, self.latest)",
        "return time",
        f"{WINDOWS}::test_a_clock_that_goes_back_opens_no_window_twice",
    ),
    bug(
        "a charge is counted in a window and recorded in another",
        "dpsql.ledger.sqlite_journal:SQLiteJournal.append",
        "self.add([replace(charge, time=at) for charge in admission.admitted], admission.totals())",
        "self.add(admission.admitted, admission.totals())",
        f"{WINDOWS}::test_it_admits_what_a_list_and_sums_admit",
        f"{WINDOWS}::test_a_clock_that_goes_back_opens_no_window_twice",
    ),
    bug(
        "a window that has ended is still counted",
        "dpsql.ledger.tally:Tally.count",
        "            if began > since:\n",
        "            if began > since and not sums:\n",
        f"{WINDOWS}::test_a_window_renews_and_all_time_does_not",
    ),
    bug(
        "a budget that renews forgets its lifetime",
        "dpsql.ledger.charges:_Sums.admits",
        "all(one.admits(more) for _, one in self.filtered)",
        "all(one.admits(more) for _, one in self.filtered[:1])",
        f"{WINDOWS}::test_a_window_renews_and_all_time_does_not",
    ),
    bug(
        "charges that wait together are held to a window one by one",
        "dpsql.ledger.charges:_Sums.add",
        "for one in (self.ever, *windows):",
        "for one in (self.ever, *windows[1:]):",
        f"{WINDOWS}::test_charges_that_wait_together_are_held_to_their_window",
    ),
    bug(
        "what is charged while a window is open is counted from the last start of its proxy",
        "dpsql.ledger.tally:Tally.follow",
        "            for charge in newer(self.number, since):\n",
        "            for charge in newer(self.number, latest) if self.number == 0 else newer(self.number, since):\n",
        f"{WINDOWS}::test_windows_begin_with_what_is_in_the_ledger",
    ),
    bug(
        "a proxy on a server counts its own charges of a window alone",
        "dpsql.ledger.postgres_sql:",
        "epsilon + (SELECT coalesce(sum(recent.epsilon), 0) FROM recent WHERE recent.place = windows.place) AS epsilon,",
        "epsilon AS epsilon,",
        f"{WINDOWS}::test_windows_hold_when_proxies_are_killed_at_their_ends",
    ),
    bug(
        "a charge that arrives in a later window is held to the one before",
        "dpsql.ledger.postgres_journal:PostgresJournal._add_at",
        "        if not known and late:\n            raise _Late\n",
        "",
        f"{WINDOWS}::test_a_charge_is_decided_in_the_window_that_is_open_when_it_arrives",
    ),
    bug(
        "a charge that came between two questions is counted by both",
        "dpsql.ledger.tally:Tally.count",
        "        if number <= self.number:\n            return\n",
        "",
        f"{WINDOWS}::test_a_charge_between_two_questions_is_counted_once",
    ),
    bug(
        "the number of what was counted goes back",
        "dpsql.ledger.tally:Tally._pass",
        "max(self.number, number)",
        "number",
        f"{WINDOWS}::test_a_charge_between_two_questions_is_counted_once",
    ),
    # Watches
    bug(
        "a restored ledger revives a watch that has ended",
        "dpsql.ledger.watch_states:_drop_restored",
        "if kept is None or kept[0].encode() != mark:",
        "if kept is None:",
        f"{WATCHES}::test_a_restored_ledger_has_no_watch",
    ),
    bug(
        "a ledger without a mark is as its last change left it",
        "dpsql.ledger.watch_states:_drop_restored",
        "if kept is None or kept[0].encode() != mark:",
        "if kept is not None and kept[0].encode() != mark:",
        f"{WATCHES}::test_a_ledger_whose_lock_file_is_gone_has_no_watch",
    ),
    bug(
        "a change of a watch leaves the mark of the ledger as it was",
        "dpsql.ledger.watch_states:FileStates.change",
        "mark = os.urandom(_MARK // 2).hex()",
        'mark = "0" * _MARK',
        f"{WATCHES}::test_a_restored_ledger_has_no_watch",
    ),
    bug(
        "a watch of a dump is as good as the one that was dumped",
        "dpsql.ledger.watch_states:",
        " || ' ' || xmin::text",
        " || ' ' || split_part(writer, ' ', 3)",
        f"{WATCHES}::test_states_that_are_loaded_from_a_dump_are_dropped",
    ),
    bug(
        "a server that was recovered answers by the watches it had",
        "dpsql.ledger.watch_states:",
        "(SELECT system_identifier FROM pg_control_system()) || ' ' || left(pg_walfile_name(pg_current_wal_lsn()), 8)",
        "'0 0'",
        f"{WATCHES}::test_states_of_a_server_that_was_recovered_are_dropped",
    ),
    # The filter
    bug(
        "delta is never compared with its limit",
        "dpsql.accounting.loss:admits",
        "zip(parts[:3], limit[:3], strict=True)",
        "zip(parts[:2], limit[:2], strict=True)",
        f"{ACCOUNTANT}::test_each_part_is_held_to_its_own_limit",
    ),
    bug(
        "delta of key selection is spent twice",
        "dpsql.accounting.zcdp:Zcdp.limit",
        "rho=largest_rho(epsilon, delta - apart)",
        "rho=largest_rho(epsilon, delta)",
        f"{ACCOUNTANT}::test_extreme_totals_convert",
    ),
    bug(
        "a filter in floats",
        "dpsql.accounting.loss:admits",
        "box = all(mine <= most for",
        "box = all(float(mine) <= float(most) for",
        f"{ACCOUNTANT}::test_floats_never_decide",
    ),
    bug(
        "a conversion that forgets a term",
        "dpsql.accounting.conversion:largest_rho",
        "rho = (decimal(epsilon) + (1 + 1 / x).ln() +",
        "rho = (decimal(epsilon) + 2 * (1 + 1 / x).ln() +",
        f"{ACCOUNTANT}::test_published_conversions",
    ),
    bug(
        "a total is compared before the charge and not with it",
        "dpsql.ledger.charges:_Sum.admits",
        "return admits(_added((self.units, more)), self.most)",
        "return admits(self.units, self.most)",
        f"{LEDGER}::test_units_decide_as_fractions_do",
    ),
    bug(
        "charges that wait together are held to the total alone",
        "dpsql.ledger.charges:Admitted.decide",
        "if not alike or not all(self._sum(name).admits(units) for name, units in more.items()):",
        "if not alike or not self._sum(EVERYBODY).admits(more[EVERYBODY]):",
        f"{LEDGER}::test_what_waits_together_is_decided_as_one_after_the_other",
    ),
    bug(
        "an analyst's share is not compared",
        "dpsql.ledger.charges:Admitted._refuses",
        "if beyond or not (everybody.admits(more) and own.admits(more)):",
        "if beyond or not everybody.admits(more):",
        f"{LEDGER}::test_it_admits_what_a_list_and_a_sum_admit",
    ),
    bug(
        "a recorded loss is rounded down",
        "dpsql.ledger.charges:recorded",
        "Fraction(math.ceil(part * GRID), GRID)",
        "Fraction(math.floor(part * GRID), GRID)",
        f"{LEDGER}::test_losses_round_up_and_stay_short",
    ),
    # The file
    bug(
        "a charge that does not wait for the disk",
        "dpsql.ledger.sqlite_journal:SQLiteJournal._connect",
        '"synchronous=FULL"',
        '"synchronous=OFF"',
        f"{LEDGER}::test_every_commit_waits_for_the_disk",
    ),
    bug(
        "a running total that is remembered and not read",
        "dpsql.ledger.sqlite_journal:SQLiteJournal.append",
        "            admission = Admitted(self.total, orders.limits, windowed, at, orders.paused, times)\n",
        "            self._known = getattr(self, '_known', None) or Admitted(self.total, self._orders.limits)\n"
        "            admission = self._known\n            admission.admitted.clear()\n",
        f"{LEDGER}::test_eight_processes_admit_exactly_the_budget",
    ),
    bug(
        "totals are not compared with charges",
        "dpsql.ledger.sqlite_journal:SQLiteJournal._verify",
        "if self._kept_totals() != sums:",
        "if sums is None:",
        f"{LEDGER}::test_a_ledger_that_does_not_add_up_is_not_opened",
    ),
    bug(
        "charges can be taken away",
        "dpsql.ledger.sqlite_journal:",
        "CREATE TRIGGER charge_stays_in BEFORE DELETE ON charge",
        "CREATE TRIGGER charge_stays_in BEFORE DELETE ON total",
        f"{LEDGER}::test_charges_are_only_added",
    ),
    bug(
        "a backup that is restored under an open ledger is charged on",
        "dpsql.ledger.sqlite_journal:SQLiteJournal.append",
        "            if before < self._last:\n",
        "            if before < 0:\n",
        f"{LEDGER}::test_a_backup_that_is_restored_under_an_open_ledger_stops_it",
    ),
    bug(
        "a damaged row leaves as Python's error",
        "dpsql.ledger.sqlite_journal:_undamaged",
        "except (ValueError, TypeError, AttributeError, ArithmeticError) as cause:",
        "except TypeError as cause:",
        f"{COMMANDS}::test_one_damaged_byte_is_told_in_words",
    ),
    bug(
        "pages that nobody reads are not verified",
        "dpsql.ledger.sqlite_journal:SQLiteJournal.verify",
        'if said != "ok":',
        "if not said:",
        f"{COMMANDS}::test_a_damaged_page_that_nobody_reads_is_told",
    ),
    bug(
        "an empty file is taken for a new ledger",
        "dpsql.ledger.sqlite_journal:SQLiteJournal.__init__",
        "                if not os.path.exists(path):\n",
        "                if not os.path.exists(path) or not os.path.getsize(path):\n",
        f"{LEDGER}::test_an_empty_file_is_not_a_new_ledger",
    ),
    bug(
        "ids that are used again",
        "dpsql.ledger.ledger:_new_id",
        "{os.urandom(10).hex()}",
        "{bytes(10).hex()}",
        f"{LEDGER}::test_threads_share_the_budget_and_each_gets_its_own_answer",
    ),
    bug(
        "a ledger that goes on after a failed commit",
        "dpsql.ledger.group_commit:GroupCommit._fail",
        "                self._stopped = error\n",
        "                pass\n",
        f"{LEDGER}::test_a_commit_that_may_have_failed_is_spent_and_nothing_follows",
        f"{DISKS}::test_a_disk_that_fails_stops_the_ledger_until_it_is_opened_again",
    ),
    bug(
        "an answer before the commit",
        "dpsql.ledger.group_commit:GroupCommit._commit",
        "        refusals = self._journal.append(groups)\n",
        "        threading.Timer(0.2, self._journal.append, (groups,)).start()\n"
        "        refusals: list[Spent | None] = [None] * len(groups)\n",
        f"{LEDGER}::test_a_charge_is_in_the_files_when_it_returns",
    ),
    bug(
        "a refused charge is answered as if it were made",
        "dpsql.ledger.group_commit:GroupCommit._write",
        "                    if refusal is None:\n",
        "                    if refusal is None or waiting.charges:\n",
        f"{LEDGER}::test_it_admits_what_a_list_and_a_sum_admit",
    ),
    bug(
        "a forked child charges on its parent's file",
        "dpsql.ledger.ledger:Ledger._check_process",
        "    def _check_process(self) -> None:\n        if os.getpid() != self._pid:",
        "    def _check_process(self) -> None:\n        if os.getpid() == 0:",
        f"{LEDGER}::test_a_forked_child_cannot_charge",
    ),
    # Curves
    bug(
        "each order of a curve has all of delta",
        "dpsql.accounting.rdp:_divided",
        "others = delta / 2 / (len(ORDERS) - 1)",
        "others = delta / 2",
        f"{RENYI}::test_the_failures_of_all_orders_add_up_to_what_was_declared",
    ),
    bug(
        "a curve is admitted by an order that it is beyond",
        "dpsql.accounting.loss:admits",
        "(len(parts) == 3 or any(",
        "(bool(parts) or any(",
        f"{RENYI}::test_any_order_that_is_left_admits_and_none_admits_nothing",
    ),
    bug(
        "a server compares no curves",
        "dpsql.ledger.postgres_sql:",
        "AND (cardinality(more.curve) = 0 AND cardinality(spent.curve) = 0 OR EXISTS (",
        "AND (cardinality(more.curve) >= 0 OR EXISTS (",
        f"{CURVES}::test_charges_that_wait_together_are_decided_as_one_after_the_other",
    ),
    bug(
        "totals of curves are not compared with their charges",
        "dpsql.ledger.sqlite_journal:_loss",
        "(*box, *curve.split())",
        "box",
        f"{CURVES}::test_it_admits_what_a_list_and_the_filters_admit",
    ),
    bug(
        "a pure mechanism costs less than randomized response loses",
        "dpsql.accounting.curves:pure",
        "/ (1 + e.exp())",
        "/ (2 * e.exp())",
        f"{RENYI}::test_pure_curves_cover_laplace_noise_and_are_exact_for_one_step",
    ),
    bug(
        "a coin that nobody tossed makes noise cheaper",
        "dpsql.accounting.curves:_moment",
        "((k * k - k) * r).exp()",
        "((k * k - 2 * k) * r).exp()",
        f"{RENYI}::test_subsampled_gaussians_agree_with_dp_accounting",
    ),
    bug(
        "between two whole orders the divergence is that of the lower one",
        "dpsql.accounting.curves:subsampled",
        "chord = logarithms[low] + (logarithms[high] - logarithms[low]) * (order - low)",
        "chord = logarithms[low]",
        f"{RENYI}::test_subsampled_discrete_gaussians_are_covered_both_ways",
        f"{RENYI}::test_subsampled_gaussians_agree_with_dp_accounting",
    ),
    bug(
        "a conversion of a divergence forgets its constant",
        "dpsql.accounting.rdp:conversion",
        "(a - 1).ln() - (a * a.ln() + decimal(delta).ln()) / (a - 1)",
        "-(a.ln() * 2 + decimal(delta).ln()) / (a - 1)",
        f"{RENYI}::test_conversion_is_the_published_one",
    ),
    bug(
        "what a curve buys is as much noise as fits at its best order",
        "dpsql.accounting.rdp:Rdp.allowances",
        "flattest(share.curve)",
        "(max((part / order for part, order in zip(share.curve, ORDERS, strict=True)), default=0))",
        f"{RENYI}::test_noise_costs_no_more_at_any_order_than_its_share",
    ),
    bug(
        "the most noise of a price is paid with its cheapest order",
        "dpsql.accounting.curves:steepest",
        "max((part / order for",
        "min((part / order for",
        f"{RENYI}::test_a_day_of_gaussian_noise_is_nearly_that_of_zcdp_and_watches_cost_less",
        f"{RENYI}::test_noise_costs_no_more_at_any_order_than_its_share",
    ),
    # PostgreSQL
    bug(
        "nobody locks the row of the total",
        "dpsql.ledger.postgres_sql:",
        "SELECT FROM dpsql_ledger.total WHERE analyst = '' FOR NO KEY UPDATE;",
        "SELECT FROM dpsql_ledger.total WHERE analyst = '' /* FOR NO KEY UPDATE */;",
        f"{POSTGRES}::test_two_proxies_share_one_budget",
    ),
    bug(
        "a message that comes twice is charged twice",
        "dpsql.ledger.postgres_journal:PostgresJournal._add_at",
        "= self._repeated(lambda writer: _ask(writer, message))\n",
        "= self._repeated(lambda writer: _ask(writer, message))\n        known = 0\n",
        f"{POSTGRES}::test_an_unknown_outcome_is_found_out_and_nothing_is_charged_twice",
    ),
    bug(
        "an outcome that is not known is taken for a charge",
        "dpsql.ledger.postgres_journal:PostgresJournal._repeated",
        "                    problem = (Lost if sent else Failed)(reason(self._url, error))\n                    break\n",
        "                    return self.identity, self._last, 0, False, True, {}, []  # type: ignore\n",
        f"{POSTGRES}::test_a_server_that_stays_away_is_told_and_its_return_is_noticed",
    ),
    bug(
        "a server that forgets is trusted",
        "dpsql.ledger.postgres_journal:_check_server",
        'if fsync != "on":',
        'if fsync == "":',
        f"{POSTGRES}::test_a_server_that_does_not_wait_for_its_disk_is_refused",
    ),
    bug(
        "a server that has lost charges is believed",
        "dpsql.ledger.postgres_journal:PostgresJournal._add_at",
        "if identity != self.identity or before < self._last or known not in (0, len(charges)):",
        "if known not in (0, len(charges)):",
        f"{POSTGRES}::test_a_ledger_that_changes_under_us_stops",
    ),
    # The order of the flow
    Bug(
        "a charge after the read",
        "dpsql.answer:Answering.bought",
        (
            (
                "            paid = Paid.charged(opened.ledger, asked.analyst, dues, asked.receipt)\n",
                "",
            ),
            (
                "        return measured, paid\n",
                "        if turn is not None and paid is None:\n"
                "            paid = Paid.charged(opened.ledger, asked.analyst, dues, asked.receipt)\n"
                "        return measured, paid\n",
            ),
        ),
        (f"{ANSWER}::test_a_charge_is_durable_before_the_engine_reads",),
    ),
    Bug(
        "bounds are charged after they are read",
        "dpsql.answer:Answering._with_bounds",
        (
            (
                "            paid = Paid.charged(opened.ledger, asked.analyst, dues, asked.receipt)\n"
                "            read = partial(self.reader.reading(()).table, patience=patience, turn=turn, paid=paid)\n",
                "            read = partial(self.reader.reading(()).table, patience=patience, turn=turn)\n",
            ),
            (
                "        return replace(self.bounds.learned(settled, histograms), turn=turn, paid=paid)\n",
                "        paid = Paid.charged(opened.ledger, asked.analyst, dues, asked.receipt)\n"
                "        return replace(self.bounds.learned(settled, histograms), turn=turn, paid=paid)\n",
            ),
        ),
        (f"{BOUNDS}::test_all_is_charged_durably_before_anything_is_read",),
    ),
    bug(
        "only the bounds are charged, and the statement is free",
        "dpsql.price.learn_bounds:Purchase.dues",
        "return [*bought, Due(self.rest, sql, tables)]",
        "return bought",
        f"{BOUNDS}::test_all_charges_together_are_the_price_exactly",
    ),
    bug(
        "what an engine fails to read is not charged",
        "dpsql.answer:Answering.bought",
        "            paid = Paid.charged(opened.ledger, asked.analyst, dues, asked.receipt)\n",
        "            for one in priced.calibrations:\n"
        "                opened.engine.run(one.plan, patience.seconds, patience.cancellation, turn)\n"
        "            paid = Paid.charged(opened.ledger, asked.analyst, dues, asked.receipt)\n",
        f"{ANSWER}::test_a_failing_engine_keeps_the_charge_and_says_one_fixed_text",
    ),
    bug(
        "a paused analyst is charged and answered",
        "dpsql.ledger.charges:Admitted._is_stopped",
        "        return analyst in self._paused and any(more)",
        "        return False",
        f"{ORDERS}::test_who_is_paused_pays_nothing_until_resumed_and_others_go_on",
    ),
    bug(
        "a paused analyst is given what is free",
        "dpsql.proxy:Session.execute",
        "                self._opened.ledger.check_paused(self.analyst)",
        "                pass",
        "tests/console/test_console.py::test_an_owner_pauses_an_analyst_and_changes_a_share",
    ),
    bug(
        "an analyst's cheapest charge is an order",
        "dpsql.ledger.sqlite_journal:_orders",
        """        " AND epsilon = '0' AND rho = '0' AND delta = '0' AND curve = '' ORDER BY number",
""",
        """        " ORDER BY number",
""",
        f"{ORDERS}::test_no_statement_of_an_analyst_is_an_order",
    ),
    bug(
        "a share that is raised by order is one that the total does not bind",
        "dpsql.ledger.orders:Orders._take",
        "        self.limits = {**self._declared, **shares}",
        "        self.limits = {**dict.fromkeys(self._declared, next(iter(shares.values()), ())), **shares}",
        f"{ORDERS}::test_a_share_is_changed_for_all_who_have_the_ledger_open_and_the_total_stays",
    ),
)
