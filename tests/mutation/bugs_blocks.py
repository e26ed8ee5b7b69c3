"""Bugs of what is answered in blocks of people: one person moves more than one block, or an answer is another figure."""

from __future__ import annotations

from tests.mutation.bug import Bug, bug

ANEW = "tests/engines/test_declared_anew.py"
BLOCKS = "tests/split/test_blocks_of_people.py"
NEAR = "tests/properties/test_block_neighbours.py"
GROWING = "tests/planner/test_growing_groups.py"
PERSONS = "tests/split/test_equality_of_persons.py"

BUGS: tuple[Bug, ...] = (
    bug(
        "the greatest value of a block taken for that of all people",
        "rewriter.split.blocks_of_people:_of_aggregate",
        "isinstance(called, _ENDS) or",
        "",
        f"{BLOCKS}::test_what_has_no_meaning_in_blocks_is_refused_with_what_has",
    ),
    bug(
        "a standard error of a block taken for that of all people",
        "rewriter.split.blocks_of_people:_power",
        "_power(node.this) / 2",
        "Fraction(0)",
        f"{BLOCKS}::test_what_has_no_meaning_in_blocks_is_refused_with_what_has",
    ),
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
    bug(
        "blocks by the hash of a row in place of its person, under the law of neighbours",
        "rewriter.split.blocks_of_people:_answers",
        "making.dialect.bucket(block.unit.copy(), BLOCK_KEY",
        'making.dialect.bucket(making.dialect.call("random"), BLOCK_KEY',
        NEAR,
    ),
    bug(
        "answers of a median over blocks taken to change in fewer groups than there are",
        "rewriter.planner.answers_changed:AnswersChanged.choice",
        "self.sensitivity(one.sensitivity)",
        "replace(self, groups=1).sensitivity(one.sensitivity)",
        NEAR,
    ),
    bug(
        "answers of a mean over blocks taken to change in fewer groups than there are",
        "rewriter.planner.answers_changed:AnswersChanged.block",
        "self.sensitivity(one.sensitivity,",
        "replace(self, groups=1).sensitivity(one.sensitivity,",
        NEAR,
    ),
    bug(
        "a law that looks at no group in which values are picked",
        "dpsql.audit.pick_law:picked_in",
        "if key in keys",
        "if key not in keys",
        f"{NEAR}::test_the_law_looks_at_every_group_that_is_released_and_at_no_other",
    ),
    bug(
        "a block of constants has a correlation",
        "rewriter.split.figures_of_blocks:_resolved",
        "2.0 ** (-37 * 2 / power)",
        "0.0",
        f"{BLOCKS}::test_what_lies_close_together_has_the_figures_of_its_differences_and_constants_have_none",
    ),
    bug(
        "figures of a block are computed of sums in steps as coarse as noise is",
        "rewriter.aggregates.sums:_exact",
        "fine=aggregate.fine)",
        "fine=False)",
        f"{BLOCKS}::test_what_lies_close_together_has_the_figures_of_its_differences_and_constants_have_none",
    ),
    bug(
        "sums of a block are those of a person",
        "rewriter.split.blocks_of_people:_answers",
        "replace(one, fine=True)",
        "replace(one, fine=False)",
        f"{BLOCKS}::test_a_block_adds_up_more_digits_than_are_released",
    ),
    bug(
        "half of the least double makes PostgreSQL raise",
        "rewriter.dialects.guarded_doubles:GuardedDoubles.half",
        "this=self.settled(sql)",
        "this=sql",
        "tests/engines/test_tiny_doubles.py",
    ),
    bug(
        "a person's two zeros are two persons",
        "rewriter.dialects.dialect:Dialect.person_key",
        "if type_.kind is not Kind.DOUBLE:",
        "if type_.keyed:",
        f"{PERSONS}::test_rows_of_one_person_lie_in_one_block_and_are_one_person_s",
    ),
    bug(
        "numerics of two scales are two persons",
        "rewriter.dialects.postgres:Postgres.person_key",
        'return call("trim_scale", key) if scaled else key',
        "return key",
        f"{PERSONS}::test_rows_of_one_person_lie_in_one_block_and_are_one_person_s",
    ),
    bug(
        "intervals taken for keys of people",
        "dpsql.policy.unit_path:unfit",
        "if key.type is None or not key.type.keyed:",
        "if key.type is not None and not key.type.keyed:",
        f"{PERSONS}::test_keys_without_one_spelling_are_refused_when_the_policy_is_opened",
    ),
)
