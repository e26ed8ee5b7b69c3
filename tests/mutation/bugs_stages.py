"""Bugs of statements in stages: what is released first, charged when, and what is known of it."""

from __future__ import annotations

from tests.mutation.bug import Bug, bug

STAGES = "tests/answer/test_stages.py"
MEANS = "tests/relations/test_forms_mean.py"
MOVES = "tests/relations/test_relational_forms.py::test_one_more_person_moves_no_form_further"
MULTIPLIED = "tests/answer/test_multiplied_people.py"
GOLDEN = "tests/golden/test_queries.py"

BUGS: tuple[Bug, ...] = (
    bug(
        "each stage costs what a whole statement does",
        "dpsql.price.pricing:Pricing._whole_price",
        "return whole if stages == 1 else rounded_down(whole / stages)",
        "return whole",
        STAGES,
    ),
    bug(
        "the first of several stages is bought though the others do not fit",
        "dpsql.answer:Answering.answer",
        "self.opened.ledger.check(asked.analyst, most)",
        "self.opened.ledger.check(asked.analyst, most / len(asked.prepared.stages))",
        STAGES,
    ),
    bug(
        "what was paid for earlier stages is not told",
        "dpsql.answer:Answering.reply",
        "price = before.loss + released.loss",
        "price = released.loss",
        STAGES,
    ),
    bug(
        "a statement is answered as if nothing was known of what was released for it",
        "dpsql.answer:Answering._after_earlier",
        "asked = replace(asked, prepared=earlier.then(earlier_answer(first.prepared, finished.rows)))",
        "asked = replace(asked, prepared=earlier.draft)",
        MEANS,
    ),
    bug(
        "a released number that was moved has the range of what it was made of",
        "dpsql.prepare.released_range:released_range",
        "return Interval(moved.low + form.constant - form.slack, moved.high + form.constant + form.slack)",
        "return moved",
        MEANS,
    ),
    bug(
        "a watch of a statement with an earlier one is asked without it",
        "dpsql.watched:watched_statement",
        "unknown = prepared.program.missing or prepared.earlier is not None",
        "unknown = prepared.program.missing",
        STAGES,
    ),
    bug(
        "people are clipped by how many groups were released",
        "rewriter.split.earlier_answers:_relation",
        "else max(2, answer.groups)",
        "else max(2, len(answer.rows))",
        STAGES,
    ),
    bug(
        "who is joined with an answer of one declared group is not clipped",
        "rewriter.split.earlier_answers:_relation",
        "else max(2, answer.groups)",
        "else answer.groups",
        MULTIPLIED,
    ),
    bug(
        "an answer of nobody knows how many rows has as many as it has groups",
        "rewriter.split.earlier_answers:_relation",
        "_MANY if unique is None or answer.groups is None else max(2, answer.groups)",
        "_MANY if answer.groups is None else answer.groups",
        MULTIPLIED,
    ),
    bug(
        "an answer has one row whatever stands beside it",
        "rewriter.split.earlier_answers:_kept",
        "if len(read) != 1 or read[0] is None",
        "if not read or read[0] is None",
        MULTIPLIED,
    ),
    bug(
        "an aggregation has one row, and makes rows in its select list",
        "rewriter.split.earlier_answers:told_apart",
        "if any(makes_rows(node) for item in query.expressions for node in walk(item)):",
        "if False:",
        "rewriter/split/earlier_answers.py",
    ),
    bug(
        "more rows than a query's form allows reach the engine",
        "rewriter.split.earlier_answers:_relation",
        "raise MoreRowsThanClaimed",
        "pass",
        f"{MULTIPLIED}::test_more_rows_than_a_form_allows_never_reach_the_engine",
    ),
    bug(
        "a range leaves one group, and another one is listed",
        "rewriter.keys.key_sets:_values",
        "if _WITHOUT_NULL.isdisjoint(map(_function, nodes_behind(key.value.sql))):",
        "if True:",
        MULTIPLIED,
    ),
    bug(
        "public groups that have come since are listed, and nobody is clipped for them",
        "rewriter.keys.key_sets:_counted",
        "cut=part.grows",
        "cut=False",
        MULTIPLIED,
    ),
    bug(
        "where public rows lie today bounds how long a series is",
        "rewriter.keys.groups_along:steps_along",
        "None if _grows(key) else _distinct(key.value)",
        "_distinct(key.value)",
        "tests/engines/test_postgres.py::test_what_public_tables_hold_today_bounds_nobody_tomorrow",
    ),
    bug(
        "more groups than were planned for are given noise",
        "dpsql.perturb:_checked",
        "if planned is not None and len(exact.keys) > planned:",
        "if False:",
        "tests/calibrate/test_perturb.py",
    ),
    bug(
        "a public view that has one row will always have one",
        "dpsql.engines.sql_engine:SQLEngine.public_profile",
        "return Profile(with_room(rows), grows=True, seen=",
        "return Profile(rows, seen=",
        MULTIPLIED,
    ),
    bug(
        "what a view has today it has for ever",
        "dpsql.engines.schema:SchemaTable.stored",
        "return not (self.view or self.computed)",
        "return not self.computed",
        MULTIPLIED,
    ),
    bug(
        "what a generated column has today it has for ever",
        "dpsql.engines.schema:SchemaTable.stored",
        "return not (self.view or self.computed)",
        "return not self.view",
        MULTIPLIED,
    ),
    bug(
        "people are looked up in a list of the frequent values of people",
        "dpsql.prepare.earlier:_prepared",
        "if first.program.selects and query.find(exp.AggFunc) is None:",
        "if first.program.missing and query.find(exp.AggFunc) is None:",
        STAGES,
    ),
    bug(
        "rows that differ by nothing are told apart",
        "rewriter.split.earlier_answers:told_apart",
        "return frozenset(map(items.index, keys)) if all(key in items for key in keys) else None",
        "return frozenset(items.index(key) for key in keys if key in items)",
        "rewriter/split/earlier_answers.py",
    ),
    bug(
        "people's values are asked to equal a noisy number",
        "rewriter.split.earlier_answers:check_equalities",
        "if any(map(_is_measured, test.iter_expressions())):",
        "if all(map(_is_measured, test.iter_expressions())):",
        STAGES,
    ),
    bug(
        "an earlier query forgets the WITH queries that it reads",
        "rewriter.split.earlier_answers:EarlierAnswers._complete",
        "if around:",
        "if around and own is not None:",
        MEANS,
    ),
    bug(
        "a COUNT of no rows is missing",
        "rewriter.split.correlated_values:_Correlated.join_to",
        "if isinstance(self.item, exp.Count) and",
        "if isinstance(self.item, exp.Sum) and",
        MEANS,
    ),
    bug(
        "rows of different people are compared one by one",
        "rewriter.split.earlier_answers:EarlierAnswers.relation",
        "item.alias == ROWS_OF_PEOPLE",
        "item.alias == ''",
        MEANS,
    ),
    bug(
        "rows that are compared with a missing value are lost",
        "rewriter.split.correlated_values:_compare_with_list",
        "or not all(map(_is_comparison, tied))",
        "",
        MEANS,
    ),
    bug(
        "rows beside a list are counted for each time that a value is listed",
        "rewriter.split.correlated_values:_compare_with_list",
        "exp.Select(expressions=values, distinct=exp.Distinct())",
        "exp.Select(expressions=values)",
        MEANS,
    ),
    bug(
        "one more than a COUNT of no rows is missing",
        "rewriter.split.correlated_values:_is_null_without_rows",
        "if isinstance(item, _NULL_OF_NONE):",
        "if isinstance(item, (*_NULL_OF_NONE, exp.Count)):",
        MEANS,
    ),
    bug(
        "rows without a value to look up are left out",
        "rewriter.split.correlated_values:_Correlated.join_to",
        'side="LEFT"',
        'side=""',
        MEANS,
    ),
    bug(
        "a column that may be missing is that of people",
        "rewriter.split.earlier_answers:by_own_keys",
        'if not join.side and join.args.get("on") is not None:',
        'if join.args.get("on") is not None:',
        MEANS,
    ),
)
