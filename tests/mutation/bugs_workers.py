"""Bugs of a server of several processes: each of them believes that it is alone."""

from __future__ import annotations

from tests.mutation.bug import Bug, bug

WORKERS = "tests/operations/test_workers.py"
PROCESSES = "tests/operations/test_processes.py"
HANGING = "tests/operations/test_hanging_parts.py"

BUGS: tuple[Bug, ...] = (
    bug(
        "a watch waits for its ledger's lock file for ever",
        "dpsql.ledger.lock_file:locked",
        "            if time.monotonic() > deadline:\n                raise Busy from cause\n",
        "",
        f"{HANGING}::test_a_watch_does_not_wait_for_ever_for_the_file_of_its_ledger",
    ),
    bug(
        "a watch waits for its ledger's server for ever",
        "dpsql.ledger.watch_states:ServerStates._run",
        'for name in ("lock_timeout", "statement_timeout"):',
        "for name in ():",
        f"{HANGING}::test_a_watch_does_not_wait_for_ever_for_the_server_of_its_ledger",
    ),
    bug(
        "settings of a catalog's backend wait for it for ever",
        "dpsql.server.shadow.pool:ShadowConnection.command",
        "            for _ in self.results(lambda connection: connection.send_query(sql), limits):\n                pass\n",
        "            self.connection.exec_(sql)\n",
        f"{HANGING}::test_a_query_does_not_wait_for_ever_for_the_catalog",
    ),
    bug(
        "a query of the catalog goes on when nobody waits for it",
        "dpsql.server.shadow.rights:",
        '    "client_connection_check_interval": "500",\n',
        "",
        f"{HANGING}::test_a_query_of_the_catalog_that_nobody_waits_for_ends_in_its_server_too",
    ),
    bug(
        "a server waits for its nursery to end for ever",
        "dpsql.server.workers.nursery:Nursery.close",
        "                os.kill(self._process, signal.SIGKILL)\n",
        "                pass\n",
        f"{HANGING}::test_a_server_does_not_wait_for_ever_for_its_nursery_to_end",
    ),
    bug(
        "a worker reads before the foreman says that it is paid for",
        "dpsql.server.workers.worker:AskingWriter.submit",
        "        return self._line.ask(ChargeCall(charges))\n",
        "        self._line.tell(ChargeCall(charges))\n"
        "        durable: Future[None] = Future()\n        durable.set_result(None)\n        return durable\n",
        f"{WORKERS}::test_nothing_is_read_before_the_charge_is_durable",
        f"{PROCESSES}::test_a_charge_that_nobody_answers_is_not_made",
    ),
    bug(
        "the foreman answers before the charge is on the disk",
        "dpsql.ledger.group_commit:GroupCommit._commit",
        "        refusals = self._journal.append(groups)\n",
        "        threading.Thread(target=self._journal.append, args=(groups,)).start()\n"
        "        refusals: list[Spent | None] = [None] * len(groups)\n",
        f"{WORKERS}::test_nothing_is_read_before_the_charge_is_durable",
    ),
    bug(
        "each worker has the whole budget",
        "dpsql.server.workers.foreman:Foreman._answer",
        "                return self._ledger.admit(charges)\n",
        "                from dpsql.errors import BudgetExceeded\n"
        "                from dpsql.ledger.charges import NOTHING, Admitted\n"
        "                known = self.__dict__.setdefault('known', {})\n"
        "                limits, orders = self._ledger.limits, self._ledger._writer._journal._orders\n"
        "                orders._declared, orders.limits = {}, {}\n"
        "                spent = known.setdefault(hand.process, Admitted(lambda name: NOTHING, limits))\n"
        "                if spent.decide([charges])[0] is not None:\n"
        "                    raise BudgetExceeded('spent', sqlstate='53400')\n"
        "                return self._ledger.admit(charges)\n",
        f"{WORKERS}::test_many_buyers_spend_the_budget_and_no_more",
    ),
    bug(
        "an analyst has as many statements in each worker as there may be",
        "dpsql.server.operations.statement_turns:Turns._take",
        "        taken = () if self.seats is None else self._seated(self.seats, analyst)\n",
        "        taken = ()\n",
        f"{WORKERS}::test_limits_hold_for_all_workers_together",
        f"{PROCESSES}::test_seats_are_shared_and_those_of_the_dead_are_free",
    ),
    bug(
        "a cancellation reaches the worker that it came to",
        "dpsql.server.workers.foreman:Foreman._answer",
        "                    guest.hand.line.tell(call)\n",
        "                    hand.line.tell(call)\n",
        f"{WORKERS}::test_a_statement_is_cancelled_from_any_worker",
    ),
    bug(
        "an analyst's connections are not counted",
        "dpsql.server.workers.foreman:Foreman._crowded",
        "            guest.analyst = analyst\n",
        "            guest.analyst = str(number)\n",
        f"{WORKERS}::test_limits_hold_for_all_workers_together",
    ),
    bug(
        "workers go on without a foreman",
        "dpsql.server.workers.worker:Worker.run",
        "self._line.open(self._answer, lambda: os._exit(1))",
        "self._line.open(self._answer, lambda: None)",
        f"{WORKERS}::test_many_buyers_spend_the_budget_and_no_more",
    ),
    bug(
        "a worker that has ended is missed by nobody",
        "dpsql.server.workers.foreman:Foreman._gone",
        "        hand.gone.set()\n",
        "        pass\n",
        f"{WORKERS}::test_a_worker_that_is_killed_takes_nobody_else_along",
    ),
    bug(
        "what runs is cut off when the server stops",
        "dpsql.server.workers.foreman:Foreman",
        "        self._tell(StopCall())\n        if self._told > 1:\n",
        "        self._tell(StopCall())\n        if self._told > 0:\n",
        f"{WORKERS}::test_workers_draw_noise_of_their_own_and_finish_what_runs",
    ),
    bug(
        "the schema is read in a turn beside the statement's",
        "dpsql.opened:_open",
        "    engine.schema()  # now: a statement that holds a turn of the engine must not wait for another one\n",
        "",
        "tests/operations/test_first_statements.py::test_first_statements_of_declared_groups_wait_for_nobody",
    ),
    bug(
        "who holds a turn waits for another one",
        "dpsql.engines.turns:Load.take",
        "            raise TurnWithinTurn\n",
        "            pass\n",
        "tests/engines/test_turns.py",
    ),
    bug(
        "a statement that the stopping server ends does not say that it was paid",
        "dpsql.server.session.protocol:Protocol.abandon",
        "self._ended_paid or (self.session is not None and self.session.paying)",
        "self._ended_paid",
        "tests/operations/test_workers.py::test_a_statement_that_the_stopping_server_ends_says_that_it_was_paid",
    ),
    bug(
        "who has nothing to fork from goes on serving",
        "dpsql.server.workers.foreman:Foreman._lost_the_nursery",
        "            self.stop()\n",
        "",
        "tests/operations/test_workers.py::test_a_server_that_cannot_fork_any_more_ends_with_an_error",
    ),
)
