"""Bugs of the server: sessions that reach each other, passwords that do not count, answers that nobody asked to pay."""

from __future__ import annotations

from tests.mutation.bug import Bug, bug

SERVE = "tests/clients/test_serve.py"
SHADOW = "tests/clients/test_shadow.py"
PROTOCOL = "tests/clients/test_protocol.py"
SCRAM = "tests/server/test_scram.py"
ROUTE = "tests/server/test_route.py"
STATEMENT = "tests/server/test_statement.py"
WIRE = "tests/attacks/test_wire_attacks.py"
HANGING = "tests/operations/test_hanging_up.py"

BUGS: tuple[Bug, ...] = (
    bug(
        "the metrics are told to whoever is on this machine",
        "dpsql.server.operations.monitor:_has",
        "hmac.compare_digest(given, password.encode())",
        "True",
        "tests/operations/test_metrics.py::test_the_metrics_have_a_password_where_analysts_have_one",
    ),
    bug(
        "metrics without a password beside analysts with one",
        "dpsql.server.start:metrics_password",
        'if password == "" or (password is None and any(one.password for one in (policy.analysts or {}).values())):',
        'if password == "":',
        "tests/operations/test_metrics.py::test_the_metrics_have_a_password_where_analysts_have_one",
    ),
    bug(
        "nobody is told that answers were randomized before",
        "dpsql.randomize.randomized_file:_note",
        '.open("a", encoding="utf-8")',
        '.open("w", encoding="utf-8")',
        "tests/randomize/test_randomized_file.py::test_who_randomizes_a_column_twice_is_warned",
    ),
    bug(
        "constraints are those of another moment than the rows",
        "dpsql.engines.postgres.postgres_engine:PostgresEngine._on_one_state",
        "with line.connection.transaction():",
        "if line:",
        "tests/engines/test_postgres.py::test_constraints_and_rows_are_those_of_one_moment",
    ),
    bug(
        "constraints are looked up once, and believed for ever",
        "dpsql.engines.postgres.postgres_engine:PostgresEngine._verify",
        "if declared is None or declared != self._declared:",
        "if declared is None or not self._declared:",
        "tests/engines/test_postgres.py::test_every_change_of_what_is_declared_is_seen_at_the_next_statement",
    ),
    bug(
        "a key that is checked no more is seen by its own table alone",
        "dpsql.engines.postgres.postgres_schema:",
        "    UNION ALL SELECT 'trigger', t.oid, t.xmin, 0\n        FROM wanted JOIN pg_constraint k ON conrelid = wanted.oid JOIN pg_trigger t ON tgconstraint = k.oid\n",
        "",
        "tests/engines/test_postgres.py::test_every_change_of_what_is_declared_is_seen_at_the_next_statement",
    ),
    bug(
        "who hangs up in the line is charged all the same",
        "dpsql.server.session.protocol:Protocol.hung_up",
        "            self.session.hung_up()\n",
        "",
        f"{HANGING}::test_who_hangs_up_in_the_line_is_not_charged_and_nothing_runs",
    ),
    bug(
        "what stands behind a statement runs though its client has gone",
        "dpsql.server.session.protocol:Protocol.hung_up",
        "            self.closed = True\n",
        "",
        f"{HANGING}::test_what_was_paid_for_is_kept_and_nothing_behind_it_runs",
    ),
    bug(
        "what was paid for is lost with its client",
        "dpsql.engines.deadlines:Cancellation.leave",
        "            if not self._paid:\n                self._interrupt()",
        "            self._interrupt()",
        f"{HANGING}::test_what_was_paid_for_is_kept_and_nothing_behind_it_runs",
    ),
    bug(
        "a stranger who hangs up at once is not heard",
        "dpsql.server.session.protocol:Protocol.hung_up",
        "        if self.session is not None:\n            self.closed = True\n            self.session.hung_up()\n",
        "        self.closed = True\n        if self.session is not None:\n            self.session.hung_up()\n",
        f"{HANGING}::test_a_request_to_cancel_is_heard_though_its_sender_hangs_up_at_once",
    ),
    bug(
        "anybody cancels anybody's statement",
        "dpsql.server.serve:Server.cancel",
        "if found is not None and secrets.compare_digest(found.key[1], secret):",
        "if found is not None:",
        f"{SERVE}::test_a_cancel_request_needs_the_secret",
    ),
    bug(
        "what was sent before the handshake is read as if it were encrypted",
        "dpsql.server.serve:Server",
        "        if protocol.buffered:\n            raise EOFError\n",
        "",
        f"{SERVE}::test_bytes_before_the_handshake_end_the_connection",
    ),
    bug(
        "a wrong password is let in",
        "dpsql.server.wire.scram:ScramServer._on_final",
        "self.accepted = bound and same and right and len(proof) == 32",
        "self.accepted = bound and same and len(proof) == 32",
        f"{SCRAM}::test_a_right_password_and_wrong_ones",
    ),
    bug(
        "a proof of another exchange is let in",
        "dpsql.server.wire.scram:ScramServer._on_final",
        "self.accepted = bound and same and right",
        "self.accepted = bound and right",
        f"{SCRAM}::test_tampering_is_noticed",
    ),
    bug(
        "a channel that is not bound",
        "dpsql.server.wire.scram:ScramServer._on_final",
        "self.accepted = bound and same and right",
        "self.accepted = same and right",
        f"{SCRAM}::test_tampering_is_noticed",
    ),
    bug(
        "an unknown name is told from a wrong password",
        "dpsql.server.session.login:Gate.admit",
        "if not any(self._verifiers.values()):",
        "if user not in self._verifiers:",
        f"{SERVE}::test_a_wrong_password_and_an_unknown_name_are_refused_alike",
    ),
    bug(
        "an analyst without a password comes from anywhere",
        "dpsql.server.session.login:Gate.admit",
        "if verifier is None and not peer.loopback:",
        "if verifier is None and peer.certificate is not None:",
        f"{PROTOCOL}::test_an_analyst_without_a_password_comes_from_loopback_only",
    ),
    bug(
        "statements and portals of all sessions are one",
        "dpsql.server.session.session:WireSession.__init__",
        "        self.names = Names()\n",
        '        self.names = backend.__dict__.setdefault("names", Names())\n',
        f"{WIRE}::test_statements_and_portals_belong_to_their_session",
    ),
    bug(
        "a setting is everybody's",
        "dpsql.server.session.session:WireSession.__init__",
        "        self._inner = backend.proxy.session(analyst)\n",
        "        self._inner = backend.__dict__.setdefault(f'inner {analyst}', backend.proxy.session(analyst))\n",
        f"{WIRE}::test_a_setting_of_one_session_is_not_seen_by_another",
    ),
    bug(
        "describe runs the statement",
        "dpsql.server.session.session:WireSession._columns",
        "            return self._inner.describe(text, values)\n",
        "            return self._inner.execute(text, values).columns\n",
        f"{PROTOCOL}::test_describe_is_free_and_reads_no_data",
    ),
    bug(
        "a failed transaction goes on",
        "dpsql.server.session.transaction:TransactionBlock.fail",
        "        if self.status is Status.OPEN:\n            self.status = Status.FAILED\n",
        "        pass\n",
        f"{PROTOCOL}::test_a_failed_transaction_waits_for_its_end",
    ),
    bug(
        "a portal outlives its transaction",
        "dpsql.server.session.portals:Names.end_transaction",
        "for name, portal in self.portals.items() if portal.hold}",
        "for name, portal in self.portals.items()}",
        f"{PROTOCOL}::test_a_portal_ends_with_its_transaction",
    ),
    bug(
        "a connection holds any number of statements",
        "dpsql.server.session.portals:_check_room",
        "if len(held) >= MAX_NAMED or size + len(name) + more > MAX_HELD:",
        "if len(held) >= MAX_NAMED * 1000:",
        f"{PROTOCOL}::test_memory_of_a_connection_is_bounded",
    ),
    bug(
        "an aggregate over nothing is taken for no row",
        "dpsql.server.session.route:no_row",
        "if not isinstance(tree, exp.Select) or _makes_a_row_of_nothing(tree):",
        "if not isinstance(tree, exp.Select):",
        f"{ROUTE}::test_what_may_return_a_row_is_no_probe",
    ),
    bug(
        "a table of the policy hides behind a CTE of its name",
        "dpsql.server.session.route:_sources",
        "if table.db or source is NamedRelation.POLICY or table.name.lower() not in hidden:",
        "if table.db or table.name.lower() not in hidden:",
        f"{ROUTE}::test_tables_of_the_policy_and_what_does_not_exist_are_ours",
    ),
    bug(
        "analysts count what others ask of the catalog",
        "dpsql.server.shadow.rights:",
        "     OR p.proname ~ {literal(COUNTING)}\n",
        "",
        f"{SHADOW}::test_no_counter_tells_what_other_sessions_do",
    ),
    bug(
        "catalogs and people in one query go to the shadow",
        "dpsql.server.session.route:route",
        "    if theirs and NamedRelation.CATALOG in sources:\n",
        "    if len(theirs) > 1 and NamedRelation.CATALOG in sources:\n",
        f"{ROUTE}::test_catalogs_and_tables_of_the_policy_do_not_mix",
    ),
    bug(
        "an analyst becomes another",
        "dpsql.server.session.statements:_setting",
        '(words[0] == "SET" and words[1:2] in (["ROLE"], ["AUTHORIZATION"])) or',
        "False or",
        f"{STATEMENT}::test_what_is_refused",
    ),
    bug(
        "COPY of a table",
        "dpsql.server.session.statements:_copy",
        '    if words[1:2] != ["("]:\n        if "TO" in words',
        '    if words[1:2] != ["("] and "TO" in words:\n'
        '        return Copy("SELECT * FROM " + lexemes[1].text, (), lexemes[1].start)\n'
        '    if words[1:2] != ["("]:\n        if "TO" in words',
        f"{STATEMENT}::test_what_is_refused",
    ),
    bug(
        "a text is read up to its NUL",
        "dpsql.server.session.session:WireSession.bind",
        "        check_texts(bound.values, formats)\n",
        "",
        "tests/clients/test_wire_unreadable.py::test_no_type_reads_a_text_up_to_its_nul",
    ),
    bug(
        "a message that is no text ends the connection",
        "dpsql.server.wire.messages:Framer.next",
        "            if self.started:\n                return Unreadable(kind)\n",
        "",
        "tests/clients/test_wire_unreadable.py::test_a_statement_that_is_no_text_leaves_the_session_alive",
    ),
    bug(
        "a transaction goes on after a statement that is no text",
        "dpsql.server.session.protocol:Protocol._on",
        "            self.session.failed()\n            yield _error(_unreadable())",
        "            yield _error(_unreadable())",
        "tests/clients/test_wire_unreadable.py::test_a_transaction_fails_with_a_statement_that_is_no_text",
    ),
)
