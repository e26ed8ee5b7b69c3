"""One more person moves no statistic by more than its declared sensitivity: the definition, on random worlds."""

from __future__ import annotations

import pytest

from tests.properties.campaign import Tally, campaign

PAIRS = 2_000
"""In the default run; ten times as many in a campaign."""

COVERED = frozenset(
    {
        "aggregate count", "aggregate count x", "aggregate units", "aggregate sum", "aggregate avg", "aggregate case",
        "filter", "case", "arithmetic", "several aggregates", "where", "is null", "text test", "date test",
        "group by", "group by ordinals", "group by aliases", "several keys", "key column", "key selected", "key case",
        "key of time", "key of number", "select distinct", "one hop", "missing middle table",
        "join along a foreign key", "left join of private tables", "join of siblings", "chain of joins",
        "self-join on the unit", "unit of an outer join", "public join", "public left join", "public range join",
        "public cross join", "two public tables", "subquery", "cte", "union all", "per-person aggregate",
        "per-person aggregate by another key", "per-person having", "in private", "exists private",
        "not exists private", "in public", "exists public", "post-processing", "several releases",
    }
)  # fmt: skip
"""Every form that is answered."""


def assert_sound(tally: Tally, pairs: int) -> None:
    """No violation, and a campaign that means something: it ran, covered the language, and came near the bounds."""
    assert not tally.leaks, f"{len(tally.leaks)} violations, the first:\n{tally.leaks[0]}"
    assert tally.pairs >= pairs, f"only {tally.pairs} pairs"
    assert tally.executed >= 0.9 * tally.asked, f"refused: {tally.refused.most_common(5)}"
    assert tally.features.keys() >= COVERED, f"not covered: {sorted(COVERED - tally.features.keys())}"
    assert tally.attained(0.9) > 0.1, "hardly a unit comes near a bound: they are loose, or the data is tame"


@pytest.mark.parametrize("part", range(2))
def test_one_more_person_moves_no_statistic_by_more_than_its_sensitivity(part: int) -> None:
    seeds = range(1_000 * part, 1_000 * part + 30)
    assert_sound(campaign(seeds, questions=20, neighbours=2, tally=Tally()), PAIRS // 2)


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(10))
def test_one_more_person_moves_no_statistic_by_more_than_its_sensitivity_at_length(part: int) -> None:
    seeds = range(10_000 + 1_000 * part, 10_000 + 1_000 * part + 60)
    assert_sound(campaign(seeds, questions=25, neighbours=2, tally=Tally()), PAIRS)
