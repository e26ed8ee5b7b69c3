"""Bugs in answers over columns that people randomized themselves."""

from __future__ import annotations

from tests.mutation.bug import Bug, bug

LAW = "tests/randomize/test_reports.py"
SUMS = "tests/measure/test_debiased_sums.py"

BUGS: tuple[Bug, ...] = (
    bug(
        "what people reported counted as what they have",
        "rewriter.declared.randomization:Response.estimator",
        "return tuple((one - share) / (self.keep - self.other) for one in wanted)",
        "return tuple(map(Fraction, wanted))",
        f"{SUMS}::test_a_count_is_unbiased_and_its_variance_exact",
    ),
    bug(
        "the variance of people's reports forgotten",
        "rewriter.aggregates.debiased_calls:_part",
        "spread = joint.estimator(costs)",
        "spread = [Fraction(0) for _ in costs]",
        f"{SUMS}::test_a_count_is_unbiased_and_its_variance_exact",
    ),
    bug(
        "a report's variance counted once, however many rows the person has",
        "rewriter.measure.measurements:_estimator",
        "rows = 1 if how.once or builder.one_row else max(builder.rows, 1)",
        "rows = 1",
        f"{SUMS}::test_rows_of_a_person_share_the_report",
    ),
    bug(
        "values of one report put together as if each were a report of its own",
        "dpsql.inference.estimates.debiased_figures:Side.together",
        "spread = whole**2 - (values**2).T @ weights",
        "spread = (values**2).T @ (weights**2 - weights)",
        f"{SUMS}::test_sums_of_randomized_numbers_have_one_variance",
    ),
    bug(
        "parts of other rows taken for the same ones",
        "rewriter.debiased:clusters",
        "found.setdefault(place if part.counted is None else part.counted, []).append(place)",
        "found.setdefault(len(part.reports), []).append(place)",
        f"{SUMS}::test_a_sum_is_unbiased_and_its_variance_bounded",
    ),
    bug(
        "bits of a report read by the first cohort's hashes",
        "rewriter.declared.randomization:Rappor.patterns",
        "bloom = self.bloom(cohort, value)",
        "bloom = self.bloom(0, value)",
        f"{LAW}::test_a_report_supports_each_value_with_the_probability_that_is_inverted",
    ),
    bug(
        "the true value reported as rarely as another one",
        "dpsql.randomize.reports:_response",
        "if coin(keep, draws):",
        "if not coin(keep, draws):",
        f"{LAW}::test_a_report_supports_each_value_with_the_probability_that_is_inverted",
    ),
    bug(
        "a bit reported by the odds of the other one",
        "dpsql.randomize.reports:_rappor",
        "one if bit in bloom else zero",
        "zero if bit in bloom else one",
        f"{LAW}::test_a_report_supports_each_value_with_the_probability_that_is_inverted",
    ),
    bug(
        "reports read as values by any expression",
        "rewriter.expressions.compile:_column",
        "if REPORTED.is_on(node):",
        "if True:",
        "tests/golden/test_queries.py",
    ),
    bug(
        "a condition on what people reported lost beside a person's groups",
        "rewriter.split.splitter:_Splitter._private",
        "if block.reported or any(",
        "if any(",
        "tests/golden/test_queries.py",
    ),
    bug(
        "who reported nothing is a text among numbers",
        "rewriter.split.randomized_groups:RandomizedKey.constant",
        "str(self.type)",
        '"text"',
        "tests/properties/test_reported.py::test_what_people_truly_have_is_answered",
    ),
    bug(
        "a pattern that matches the beginning of a true value",
        "rewriter.aggregates.true_values:_like",
        "re.fullmatch(",
        "re.match(",
        f"{SUMS}::test_a_count_is_unbiased_and_its_variance_exact",
    ),
    bug(
        "an error of a file that quotes a person's answer",
        "dpsql.randomize.randomized_file:_declared",
        'f"{asked.column} holds a value that is not among those named"',
        'f"{asked.column} holds {value}, a value that is not among those named"',
        "tests/randomize/test_randomized_file.py::test_an_error_names_no_value_and_leaves_no_file",
    ),
    bug(
        "values are surely there by their own error bars, however many are listed",
        "rewriter.split.surely_present:SurelyPresent.times",
        "self._point(float(alpha) / values)",
        "self._point(float(alpha))",
        "tests/split/test_surely_present.py",
    ),
    bug(
        "values of many groups are surely there as those of one are",
        "rewriter.split.surely_present:SurelyPresent._in_groups",
        "self._point(float(BAR) / 2), self.times(values)",
        "1e9, self.times(values)",
        "tests/split/test_surely_present.py::test_rows_of_many_groups_are_shown_wrongly_as_rarely_as_those_of_one",
    ),
    bug(
        "values are surely there by the bar of another value",
        "rewriter.split.randomized_groups:by_true_values",
        "(counted or 0))\n",
        "(counted or 0) - 1)\n",
        "tests/split/test_surely_present.py",
    ),
)
