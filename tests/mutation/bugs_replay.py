"""Bugs by which something else than a released number follows people's rows: what record and replay has to find."""

from __future__ import annotations

from tests.mutation.bug import Bug, bug

_TESTS = "tests/properties/test_replay.py"
REPLAY = f"{_TESTS}::test_stages_watches_and_learned_bounds_follow_nobody"
WIRE = f"{_TESTS}::test_no_byte_of_the_wire_follows_a_person"
WORKERS = f"{_TESTS}::test_no_byte_of_several_workers_follows_a_person"
WINDOWS = f"{_TESTS}::test_nothing_in_several_windows_of_a_budget_follows_a_person"

_MEASURED = "dpsql.answer:Answering._measured"
_PERTURBED = "noisy = noisy.beside(perturb(read(now.read), now, self._sampler))"
_READ = "exact = read(now.read)\n            "
_EMPTY = "any(0 in column for column in exact.statistics.values())"

BUGS: tuple[Bug, ...] = (
    bug(
        "a notice counts the groups that people are in",
        "dpsql.answer:Answering._notices",
        "return (*settled.notices,",
        "exact = [self.opened.engine.run(one.plan.first_read).statistics.values() for one in priced.calibrations]\n"
        '        seen = [f"{sum(map(any, zip(*one)))} groups have people" for one in exact]\n'
        "        return (*seen, *settled.notices,",
        REPLAY,
    ),
    bug(
        "steps end where groups are empty",
        _MEASURED,
        _PERTURBED,
        f"{_READ}noisy = noisy.beside(perturb(exact, now, self._sampler))\n"
        "            if list(next(iter(exact.statistics.values()), ())).count(0) > 1:\n                break",
        REPLAY,
    ),
    bug(
        "groups come in the order of what was counted in them",
        _MEASURED,
        _PERTURBED,
        f"{_READ}noisy = noisy.beside(perturb(exact, now, self._sampler))\n"
        "            if len(parts) == 1 and len(noisy.keys) == len(exact.keys) and exact.statistics and not noisy.chosen:\n"
        "                first = [int(count) for count in next(iter(exact.statistics.values()))]\n"
        "                order = sorted(range(len(first)), key=lambda place: -first[place])\n"
        "                columns = {name: [column[at] for at in order] for name, column in noisy.statistics.items()}\n"
        "                noisy = replace(noisy, keys=tuple(noisy.keys[at] for at in order), statistics=columns)",
        REPLAY,
    ),
    bug(
        "a table of nobody is not perturbed",
        _MEASURED,
        _PERTURBED,
        f"{_READ}if exact.statistics and not any(map(any, exact.statistics.values())):\n"
        "                return NoisyTable(exact.keys, exact.statistics, calibration.noise)\n"
        "            noisy = noisy.beside(perturb(exact, now, self._sampler))",
        REPLAY,
    ),
    bug(
        "a column has the type of what was counted",
        "dpsql.answer:Answering.reply",
        "columns=shown.columns,",
        "columns=tuple(replace(one, type=shown.columns[0].type) for one in shown.columns) if any(0 in column for one in\n"
        "            released.priced.calibrations for column in self.opened.engine.run(one.plan.first_read)"
        ".statistics.values()) else\n            shown.columns,",
        REPLAY,
    ),
    bug(
        "half of the price where a group is empty",
        "dpsql.answer:Answering.bought",
        "            dues = priced.dues(asked.prepared.sql, tables)\n",
        "            empty = any(0 in column for one in fresh if one is not None for column in\n"
        "                opened.engine.run(one.plan.first_read, None, None, turn).statistics.values())\n"
        "            dues = [replace(one, loss=one.loss / (2 if empty else 1)) for one in priced.dues(asked.prepared.sql, tables)]\n",
        REPLAY,
    ),
    bug(
        "a table with an empty group is read once more",
        "dpsql.engines.exact_table:read_table",
        "return with_ranks(exact, execute, plan)",
        f"if {_EMPTY}:\n        exact = exact_table(execute(plan.sql), plan)\n    return with_ranks(exact, execute, plan)",
        REPLAY,
    ),
    bug(
        "a count of nobody is an error",
        "dpsql.perturb:_checked",
        "if len(column) != len(exact.keys) or not whole:",
        "if len(column) != len(exact.keys) or not whole or (len(column) == 1 and 0 in column):",
        REPLAY,
    ),
    bug(
        "what is looked up of a public key set is what people have",
        "dpsql.perturb:perturb",
        "keys = groups if places is None else _taken(groups, places)",
        "if places is None and len(groups) > 1 and not calibration.picked and not calibration.plan.steps:\n"
        "        there = [at for at in range(len(groups)) if any(column[at] for column in columns.values())]\n"
        "        places = np.array(there, dtype=np.int64)\n"
        "    keys = groups if places is None else _taken(groups, places)",
        REPLAY,
    ),
    bug(
        "a watch that is far from its number pays nothing in a later window",
        "dpsql.watched:Watching.answer",
        "begun = self._paid(one, due)",
        "counts = opened.engine.run(plan, None, None, turn).statistics.values()\n"
        "                    far = 16 * int(next(iter(counts))[0]) < watched.least\n"
        "                    begun = due if far and None not in due.values() else self._paid(one, due)",
        WINDOWS,
    ),
    bug(
        "empty groups are free in a later window",
        "dpsql.answer:Answering.bought",
        "            dues = priced.dues(asked.prepared.sql, tables)\n",
        "            later = opened.ledger.spent() != opened.ledger.standings()[0].spent\n"
        "            empty = sum(list(column).count(0) for one in fresh if one is not None and later for column in\n"
        "                opened.engine.run(one.plan.first_read, None, None, turn).statistics.values())\n"
        "            dues = [replace(one, loss=one.loss / (1 + empty)) for one in priced.dues(asked.prepared.sql, tables)]\n",
        WINDOWS,
    ),
    bug(
        "a tag counts the people that were read",
        "dpsql.server.session.session:WireSession._query",
        'return Outcome(f"SELECT {rows.count}",',
        'people = self._backend.proxy.answering.opened.engine.public_rows("patient", ["id"]).num_rows\n'
        '        return Outcome(f"SELECT {people}",',
        WIRE,
    ),
    bug(
        "a worker bounds rows by the most that a person has",
        "dpsql.opened:open_beside",
        "    return open_here(ComparedPolicy(policy, known, engine), writer)",
        '    had = engine.public_rows("visit", ["patient_id"]).column(0).value_counts().field("counts")\n'
        '    least = replace(known.tables["visit"], max_rows=min(40, max(had.to_pylist())))\n'
        '    known = replace(known, tables={**known.tables, "visit": least})\n'
        "    return open_here(ComparedPolicy(policy, known, engine), writer)",
        WORKERS,
    ),
)
