"""Bugs of mechanisms and of what they are paid: noise that hides less than the price says."""

from __future__ import annotations

from tests.mutation.bug import Bug, bug

CONCENTRATION = "tests/accounting/test_concentration.py"
LOSSES = "tests/calibrate/test_losses.py"
PERTURB = "tests/calibrate/test_perturb.py"
SAMPLING = "tests/mechanisms/test_sampling.py"
VECTORS = "tests/mechanisms/test_vector_draws.py"
SELECTION = "tests/mechanisms/test_selection.py"
QUANTILE = "tests/mechanisms/test_quantile.py"
JOINT = "tests/mechanisms/test_joint.py"
TOP = "tests/mechanisms/test_top_k.py"
MODE = "tests/aggregates/test_mode.py"
ANSWER = "tests/answer/test_answer.py"
EVERY_CELL = f"{PERTURB}::test_every_cell_has_its_own_draw_and_none_is_drawn_in_vain"
HIDDEN = f"{QUANTILE}::test_every_neighbour_of_every_small_database_is_hidden"
COLUMNS = "tests/inference/test_columns_and_cells.py"
DUCKDB = "tests/engines/test_duckdb.py"

BUGS: tuple[Bug, ...] = (
    # Noise
    Bug(
        "Laplace noise of half the scale, and half the loss claimed",
        "dpsql.mechanisms.laplace:Laplace",
        (
            ("max(sensitivity.l1, 1) / epsilon", "max(sensitivity.l1, 1) / epsilon / 2"),
            ("epsilon=sensitivity.l1 / self.scale", "epsilon=sensitivity.l1 / self.scale / 2"),
        ),
        (f"{SAMPLING}::test_opendp_derives_no_larger_loss_than_we_do",),
    ),
    Bug(
        "Gaussian noise that takes the variance for twice the variance",
        "dpsql.mechanisms.gaussian:Gaussian",
        (("1) / (2 * rho)", "1) / (4 * rho)"), ("/ (2 * self.scale**2)", "/ (4 * self.scale**2)")),
        (f"{SAMPLING}::test_opendp_derives_no_larger_loss_than_we_do",),
    ),
    bug(
        "what is purely private costs what continuous Laplace noise does",
        "dpsql.accounting.concentration:rho_of_pure",
        "found = e * (1 - less) + MARGIN * e",
        "found = e + (-e).exp() - 1",
        f"{CONCENTRATION}::test_no_pure_mechanism_costs_more_and_the_price_is_rounded_up",
    ),
    bug(
        "a bounded range costs half",
        "dpsql.accounting.concentration:rho_of_range",
        "width * width / 8",
        "width * width / 16",
        f"{CONCENTRATION}::test_a_bounded_range_costs_an_eighth_of_its_square",
    ),
    bug(
        "a scale is rounded to the nearest float",
        "dpsql.mechanisms.sampling.sampler:float_at_least",
        "return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)",
        "return nearest",
        f"{LOSSES}::test_scales_round_up_and_only_to_the_next_float",
    ),
    bug(
        "noise is drawn once and remembered",
        "dpsql.mechanisms.laplace:Laplace.draws",
        "    def draws(self, count: int) -> IntegerColumn:\n        return IntegerColumn.of(laplace_draws",
        "    @functools.lru_cache\n    def draws(self, count: int) -> IntegerColumn:\n        return IntegerColumn.of(laplace_draws",
        f"{SAMPLING}::test_no_draw_repeats_from_call_to_call_whatever_is_seeded",
    ),
    bug(
        "a digit of a column's draws has the next one's probability",
        "dpsql.mechanisms.sampling.vector_draws:_Geometric.digit_bounds",
        "(1 << digit) / self.scale",
        "(2 << digit) / self.scale",
        f"{VECTORS}::test_the_words_of_digits_are_their_probabilities",
    ),
    bug(
        "a column's draws end at their last digit",
        "dpsql.mechanisms.sampling.vector_draws:_Geometric.draw",
        "total[row] += self._beyond() <<",
        "total[row] += 0 <<",
        f"{VECTORS}::test_more_than_the_digits_is_geometric_too",
    ),
    bug(
        "a comparison that is near is decided the wrong way round",
        "dpsql.mechanisms.sampling.vector_draws:_kept",
        "kept[row] = is_below(",
        "kept[row] = not is_below(",
        f"{VECTORS}::test_comparisons_that_are_not_decided_at_once_are_decided_exactly",
    ),
    bug(
        "a Gaussian column keeps draws around another centre",
        "dpsql.mechanisms.sampling.vector_draws:_bell",
        "return float(sigma**2 / scale), float(sigma)",
        "return float(sigma), float(sigma)",
        f"{VECTORS}::test_draws_follow_the_exact_law_and_a_scale_that_is_off_by_a_tenth_is_seen",
    ),
    bug(
        "noise that could meet the ends of 64 bits",
        "dpsql.mechanisms.sampling.sampler:float_at_least",
        "if number >= WIDEST:",
        "if number >= WIDEST << 12:",
        f"{SAMPLING}::test_noise_that_could_meet_the_ends_of_64_bits_is_refused",
    ),
    bug(
        "statistics of a group share their noise",
        "dpsql.perturb:perturb",
        "noise[number * size : (number + 1) * size]",
        "noise[:size]",
        EVERY_CELL,
    ),
    bug(
        "groups share their noise",
        "dpsql.perturb:perturb",
        "one.mechanism.sample(sampler, size * len(one.block.statistics))",
        "IntegerColumn.of(list(one.mechanism.sample(sampler, 1)) * size * len(one.block.statistics))",
        EVERY_CELL,
        f"{PERTURB}::test_six_hundred_empty_cells_do_not_look_alike",
    ),
    bug(
        "what is measured once and paid for once is noised twice, to select and to be shown",
        "dpsql.perturb:perturb",
        "if one.block == calibration.plan.selecting:",
        "if False:",
        f"{PERTURB}::test_what_selects_and_is_asked_for_is_measured_once_with_the_whole_price",
    ),
    bug(
        "a count that selects has another noise than the one that was paid for",
        "dpsql.calibrate.calibration:Calibration.__post_init__",
        "if self.selected is not None and self.selected.measured is not self._selects(self.selected):",
        "if False:",
        f"{PERTURB}::test_a_calibration_whose_count_selects_behind_other_noise_is_impossible",
    ),
    bug(
        "empty cells get no noise",
        "dpsql.perturb:perturb",
        "column.plus(noise[number * size : (number + 1) * size])",
        "IntegerColumn(column.plus(noise[number * size : (number + 1) * size]).array * (column.array != 0))",
        f"{PERTURB}::test_six_hundred_empty_cells_do_not_look_alike",
    ),
    bug(
        "a sum beyond 64 bits wraps around",
        "dpsql.releases.integer_column:weighted",
        "if sum(abs(weight) * max(column.reach, 1) for column, weight in terms) < _LIMIT:",
        "if all(column.is_narrow and abs(weight) < _LIMIT for column, weight in terms):",
        f"{COLUMNS}::test_sums_are_exact_at_any_size",
    ),
    bug(
        "noise beyond 64 bits wraps around",
        "dpsql.releases.integer_column:IntegerColumn.plus",
        " and more.reach < _LIMIT // 2",
        "",
        f"{COLUMNS}::test_secret_integers_and_noise_are_added_exactly",
    ),
    bug(
        "one noise is for as many numbers as there are",
        "dpsql.releases.integer_column:IntegerColumn.plus",
        "if len(self) != len(more):",
        "if len(self) != len(more) and len(more) != 1:",
        f"{COLUMNS}::test_every_number_has_noise_of_its_own",
    ),
    bug(
        "integers are 64 bits wide whatever was declared",
        "dpsql.releases.integer_column:fits",
        "return bound * _PEOPLE < _LIMIT // 2",
        "return True",
        f"{DUCKDB}::test_a_long_answer_is_read_as_a_short_one",
    ),
    bug(
        "a group that comes twice in a long answer is two groups",
        "dpsql.engines.exact_table:_order",
        "if same.any():",
        "if False:",
        f"{DUCKDB}::test_a_long_answer_of_another_shape_is_an_error",
    ),
    bug(
        "groups without anybody are dropped before noise",
        "dpsql.perturb:perturb",
        "groups, places = exact.keys, None\n",
        "groups, places = exact.keys, np.flatnonzero(sum(column.array != 0 for column in columns.values()))\n",
        f"{ANSWER}::test_released_groups_of_public_keys_do_not_depend_on_the_rows",
    ),
    bug(
        "post-processing knows which groups are empty",
        "dpsql.perturb:perturb",
        "statistics[statistic.name] = column.plus(noise[number * size : (number + 1) * size]).narrowed()",
        "summed = column.plus(noise[number * size : (number + 1) * size])\n"
        "            hidden = np.where(column.array == 0, np.maximum(summed.array, 0), summed.array)\n"
        "            statistics[statistic.name] = IntegerColumn(hidden).narrowed()",
        f"{PERTURB}::test_what_is_released_is_the_integer_and_its_noise_whatever_either_is",
    ),
    # Prices
    bug(
        "two releases pay one price together",
        "dpsql.calibrate.price_shares:_parts",
        "Fraction(1, asked) if family.beside is None",
        "Fraction(1) if family.beside is None",
        f"{ANSWER}::test_several_releases_share_one_price",
    ),
    bug(
        "quantiles are picked beside the price",
        "dpsql.calibrate.calibration:calibrate",
        "    whole += sum(choice.size for choice in plan.choices)\n",
        "    whole = whole or Fraction(1)\n",
        f"{MODE}::test_without_noise_it_is_the_most_common_declared_value",
    ),
    bug(
        "a threshold is set beside the price",
        "dpsql.calibrate.calibration:calibrate",
        "Fraction(apart))",
        "Fraction(0)) or Fraction(1)",
        f"{LOSSES}::test_zcdp_derived_again_is_within_the_charge_and_the_charge_within_the_price",
    ),
    bug(
        "the delta of Gaussian noise under approx is not charged",
        "dpsql.accounting.approx:Approx.allowances",
        "yield Allowance(PrivacyLoss(rho=rho), share)",
        "yield Allowance(PrivacyLoss(rho=rho), share.of_noise)",
        f"{LOSSES}::test_approx_derived_again_is_within_the_charge_and_the_charge_within_the_price",
    ),
    bug(
        "a loss in rho is compared with a price in epsilon",
        "dpsql.accounting.payment:covers",
        "        return epsilon > 0 and delta > 0 and loss.rho <= largest_rho(epsilon, delta)\n",
        "        return epsilon > 0 and delta > 0 and loss.rho <= epsilon\n",
        f"{LOSSES}::test_a_price_in_epsilon_covers_a_loss_in_rho_by_the_conversion_alone",
    ),
    # Selected groups
    bug(
        "a group of nobody is named by noise",
        "dpsql.mechanisms.threshold:Threshold.named",
        "(exact.array >= 1) & (noisy.array >= self.steps)",
        "noisy.array >= self.steps",
        f"{PERTURB}::test_a_key_without_weight_is_not_named_by_any_noise",
    ),
    bug(
        "a threshold that forgets the person behind it",
        "dpsql.mechanisms.threshold:threshold_steps",
        "max(best, weight + mechanism.distance(",
        "max(best, mechanism.distance(",
        f"{SELECTION}::test_a_laplace_threshold_is_the_least_that_a_lone_person_hardly_ever_reaches",
    ),
    bug(
        "a threshold for a person of one group",
        "dpsql.mechanisms.threshold:threshold_steps",
        "    while first <= max_groups * units:\n",
        "    while first <= 1:\n",
        f"{SELECTION}::test_gaussian_threshold_is_enough_and_hardly_more",
    ),
    bug(
        "a delta for each group and not for all",
        "dpsql.mechanisms.threshold:_log_each",
        "math.log1p(-float(delta)) / count",
        "math.log1p(-float(delta))",
        f"{SELECTION}::test_gaussian_threshold_is_enough_and_hardly_more",
    ),
    # Quantiles
    bug(
        "values are left out that a shifted quantile looks at",
        "dpsql.mechanisms.quantiles.one:Quantile.sees",
        "(self.cap + self.inside + abs(self.shift))",
        "(self.cap + self.inside)",
        QUANTILE,
    ),
    bug(
        "values are left out that the ends of a quantile look at",
        "dpsql.calibrate.quantile_picks:OneByOne.sees",
        "(*self.quantiles, *ends)",
        "self.quantiles",
        "tests/bound/test_ranks.py::test_what_is_not_asked_for_at_a_price_moves_no_distance",
    ),
    bug(
        "a quantile scored with the smaller side of a person's move",
        "dpsql.mechanisms.quantiles.one:Quantile.reach",
        "return 2 if self.is_extreme else int(self.scale * max(share, 1 - share))",
        "return 2 if self.is_extreme else int(self.scale * min(share, 1 - share) or 1)",
        HIDDEN,
    ),
    bug(
        "a quantile without the factor of two",
        "dpsql.mechanisms.quantiles.one:Quantile.rate",
        "return self.mechanism.epsilon / (2 * self.reach",
        "return self.mechanism.epsilon / (self.reach",
        HIDDEN,
    ),
    bug(
        "MIN and MAX without the factor of two",
        "dpsql.mechanisms.quantiles.one:Quantile.reach",
        "return 2 if self.is_extreme else int(",
        "return 1 if self.is_extreme else int(",
        HIDDEN,
    ),
    bug(
        "an absolute rank is as sensitive as a share",
        "dpsql.mechanisms.quantiles.one:Quantile.reach",
        "int(self.scale * max(share, 1 - share))",
        "int(self.scale * max(share, 1 - share)) if 0 < share < 1 else 1",
        HIDDEN,
    ),
    bug(
        "a row beyond the last is looked for beyond all",
        "rewriter.bound.ranks:_Window._target",
        "beyond = exp.LT(this=everything, expression=far)",
        "beyond = exp.false()",
        "tests/bound/test_ranks.py::test_what_the_engine_leaves_out_moves_no_distance",
    ),
    bug(
        "a stretch is as far as its first value",
        "dpsql.mechanisms.quantiles.steps:StepwisePick.draw",
        "min(near.at(first), near.at(first + count - 1))",
        "near.at(first)",
        "tests/mechanisms/test_picks_by_steps.py::test_a_median_of_many_values_has_the_law_of_its_distances",
    ),
    bug(
        "a stretch's candidates are all as likely",
        "dpsql.mechanisms.sampling.exponential:least_first",
        "        weight = powers.at(distance - nearest)\n",
        "        weight = powers.at(least[place] - nearest)\n",
        "tests/mechanisms/test_picks_by_steps.py::test_draws_have_the_exact_law_and_that_of_looking_at_each",
    ),
    bug(
        "the weights within a bucket are not below its values",
        "dpsql.engines.exact_table:_placed",
        "starts + before - before[first]",
        "starts",
        "tests/bound/test_ranks.py",
    ),
    bug(
        "the range of a quantile ends where the data ends",
        "dpsql.mechanisms.quantiles.one:Quantile.stretches",
        "        if next_ <= self.choice.high:\n",
        "        if not found:\n",
        f"{QUANTILE}::test_distances_are_those_of_the_definition_whatever_the_engine_leaves_out",
        HIDDEN,
    ),
    bug(
        "many fractions pay as half of them",
        "dpsql.mechanisms.quantiles.one:_spread",
        "return ((1 - q if left else q) + most) / (2 * most)",
        "return ((1 - q if left else q) + most) / (4 * most)",
        HIDDEN,
    ),
    bug(
        "the ends of a quantile are picked for nothing",
        "dpsql.mechanisms.quantiles.one:together",
        "if ends and q not in (0, 1) else (Fraction(1), Fraction(1))",
        "if ends and q in (0, 1) else (Fraction(1), Fraction(1))",
        HIDDEN,
    ),
    # Quantiles that are picked together
    bug(
        "several quantiles at twice the exponent that is paid",
        "dpsql.mechanisms.quantiles.several:Joint.rate",
        "return self.mechanism.epsilon / (2 * self.unit)",
        "return self.mechanism.epsilon / self.unit",
        f"{JOINT}::test_every_neighbour_of_every_small_database_is_hidden",
    ),
    bug(
        "the weight of a group is measured for nothing",
        "dpsql.calibrate.quantile_picks:joint_cost",
        "return 1 + COUNT + share + extremes, 1 + 4 * COUNT**2 + share**2 + extremes",
        "return 1 + share + extremes, 1 + share**2 + extremes",
        f"{JOINT}::test_all_that_is_picked_is_paid",
    ),
    bug(
        "a vector whose rows are not all known is told from others",
        "dpsql.mechanisms.quantiles.spread:Around.product",
        "cap = max(window - (1 + _FARTHEST) * most - away, 0)",
        "cap = window",
        f"{JOINT}::test_what_is_picked_around_quantiles_hides_a_row_whatever_the_engine_leaves_out",
    ),
    bug(
        "the last gap between quantiles does not count",
        "dpsql.mechanisms.sampling.chain:Chain.distance",
        "return min(total + abs(self.end - last), self.cap)",
        "return min(total, self.cap)",
        f"{JOINT}::test_distances_are_those_of_the_definition_whatever_the_engine_leaves_out",
    ),
    bug(
        "vectors that are not known are never picked",
        "dpsql.mechanisms.sampling.chain:Chain.draw",
        "within / (within + beyond)",
        "Fraction(1) if within else Fraction(0)",
        f"{JOINT}::test_vectors_have_the_probabilities_of_the_definition",
    ),
    # Modes, the largest, picks
    bug(
        "a mode at twice the exponent that is paid",
        "dpsql.mechanisms.quantiles.mode:Commonest.rate",
        "return self.mechanism.epsilon / unit_weight(",
        "return 2 * self.mechanism.epsilon / unit_weight(",
        f"{MODE}::test_it_is_picked_by_the_law_that_is_paid_for",
    ),
    bug(
        "a mode of nobody is a value",
        "dpsql.mechanisms.quantiles.mode:Commonest.distances",
        "scores.append(self.nobody)",
        "scores.append(0)",
        f"{MODE}::test_nobody_is_null",
    ),
    Bug(
        "k picks paid and charged as one",
        "dpsql.mechanisms.top_k:TopK",
        (
            ("PrivacyLoss(rho=self.top.count * each * each / 8)", "PrivacyLoss(rho=each * each / 8)"),
            ("root_at_most(8 * rho / top.count)", "root_at_most(8 * rho)"),
        ),
        (f"{TOP}::test_picks_and_numbers_together_cost_no_more_than_the_price",),
    ),
    bug(
        "picked groups are those with the most, without noise",
        "dpsql.mechanisms.top_k:TopK._exponential",
        "counts = [len(alike[score]) for score in known]",
        "counts = [len(alike[score]) if score == known[0] else 0 for score in known]",
        f"{TOP}::test_picks_by_rho_are_exponential_mechanisms_peeled",
    ),
    bug(
        "groups that were not picked are measured too",
        "dpsql.perturb:perturb",
        "        places = np.array(sorted(top.picked(columns[top.top.name], sampler)), dtype=np.int64)\n",
        "        top.picked(columns[top.top.name], sampler)\n",
        f"{TOP}::test_only_the_groups_that_were_picked_are_in_the_table",
    ),
    bug(
        "permute-and-flip without permuting",
        "dpsql.mechanisms.sampling.permute_and_flip:permute_and_flip",
        "swapped = turn + secrets.randbelow(len(order) - turn)",
        "swapped = turn",
        f"{TOP}::test_picks_by_epsilon_are_permute_and_flip",
    ),
    bug(
        "a pick by rounded weights",
        "dpsql.mechanisms.sampling.exponential:Powers.at",
        "if byte := distance & 255:",
        "if byte := distance & 254:",
        f"{QUANTILE}::test_a_pick_among_many_is_as_likely_as_its_number",
        f"{QUANTILE}::test_picks_have_the_probabilities_of_the_definition",
    ),
)
