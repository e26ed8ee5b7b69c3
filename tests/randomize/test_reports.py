"""The law of reports, exactly: every path of draws is walked, so that nothing here depends on chance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from math import exp, log

import pytest

from dpsql.randomize.reports import Secret, drawing, reports
from rewriter.declared.randomization import Randomization, Rappor, Response

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
SMALL = Rappor(("a", "b", "c"), 3, 2, HALF, QUARTER, 3 * QUARTER, 2)
LAWS: list[Randomization] = [
    Response(("yes", "no"), Fraction("1.1")),
    Response((1, 2, 3, 4), Fraction(2)),
    Response((True, False), Fraction("0.01")),
    SMALL,
    Rappor(("a", "b"), 4, 1, Fraction(1, 3), Fraction(0), Fraction(1), 1),
]


class _Path:
    """Coins along one path of outcomes. A coin of a/b has two: below a, and not."""

    def __init__(self, path: list[int]) -> None:
        self.path = path
        self.bounds: list[int] = []

    def below(self, bound: int) -> int:
        self.bounds.append(bound)
        at = len(self.bounds) - 1
        return self.path[at] if at < len(self.path) else 0


def exact_law(
    draw: Callable[[_Path], object], steps: Callable[[int], list[tuple[int, Fraction]]]
) -> dict[object, Fraction]:
    """The probability of each outcome; ``steps`` are the representatives of a uniform integer, with their shares."""
    found: dict[object, Fraction] = defaultdict(Fraction)
    open_: list[tuple[list[int], Fraction]] = [([], Fraction(1))]
    while open_:
        path, share = open_.pop()
        walked = _Path(path)
        outcome = draw(walked)
        if len(walked.bounds) == len(path):
            found[outcome] += share
        else:
            open_ += [([*path, value], share * part) for value, part in steps(walked.bounds[len(path)])]
    return found


def _steps(law: Randomization) -> Callable[[int], list[tuple[int, Fraction]]]:
    """Each integer where there are few; of a large bound, the two sides of the one coin that has it."""

    def of(bound: int) -> list[tuple[int, Fraction]]:
        if bound <= 8:
            return [(value, Fraction(1, bound)) for value in range(bound)]
        assert isinstance(law, Response)
        assert law.keep.denominator == bound
        return [(0, law.keep), (law.keep.numerator, 1 - law.keep)]

    return of


def _law_of(law: Randomization, place: int) -> dict[object, Fraction]:
    return exact_law(lambda draws: drawing(law, draws)(place), _steps(law))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.words)
def test_a_report_supports_each_value_with_the_probability_that_is_inverted(law: Randomization) -> None:
    size = len(law.values)
    for truth in range(size):
        found = _law_of(law, truth)
        assert sum(found.values()) == 1
        for value in range(size):
            weights = law.estimator([Fraction(at == value) for at in range(size)])
            mean = sum(share * _weight(law, weights, one) for one, share in found.items())
            assert abs(mean - (truth == value)) < Fraction(1, 10**9)
            square = sum(share * _weight(law, weights, one) ** 2 for one, share in found.items())
            assert abs(square - mean * mean - law.spread(weights)[truth]) < Fraction(1, 10**9)


def _weight(law: Randomization, weights: tuple[Fraction, ...], one: object) -> Fraction:
    if not law.patterns(0):
        return weights[law.values.index(one)]  # type: ignore[arg-type]
    supported = (any(_like(one, pattern) for pattern in law.patterns(at)) for at in range(len(law.values)))
    return sum((weight for weight, is_ in zip(weights, supported, strict=True) if is_), Fraction(0))


def _like(text: object, pattern: str) -> bool:
    assert isinstance(text, str)
    assert len(text) == len(pattern)
    return all(wanted in ("_", own) for own, wanted in zip(text, pattern, strict=True))


@pytest.mark.parametrize("law", [*LAWS[:3], SMALL], ids=lambda law: law.words)
def test_no_report_tells_two_values_apart_by_more_than_epsilon(law: Randomization) -> None:
    laws = [_law_of(law, truth) for truth in range(len(law.values))]
    worst = max(log(one[report_] / other[report_]) for one in laws for other in laws for report_ in one)
    assert worst <= law.epsilon + 1e-9
    if isinstance(law, Response):
        assert worst == pytest.approx(law.epsilon)
        assert law.epsilon <= float(law.declared)
        assert law.epsilon > float(law.declared) - 1e-6


def test_the_seeds_of_the_textbook() -> None:
    """Two values at odds 3: p = 3/4, and the variance of the share of N reports is (1/N)·(1/(16·(p-1/2)²) - (π-1/2)²)."""
    law = Response(("yes", "no"), Fraction(str(log(3))))
    assert float(law.keep) == pytest.approx(0.75, abs=1e-6)
    share, people, p = 0.3, 1000, 0.75
    weights = law.estimator([Fraction(1), Fraction(0)])
    yes, no = (float(one) for one in law.spread(weights))
    reported = (share * yes + (1 - share) * no) / people
    # Warner 1965: the variance of a sample's share, of which (1/N)·π·(1-π) is that of the sample itself.
    warner = (1 / (16 * (p - 0.5) ** 2) - (share - 0.5) ** 2) / people
    assert reported == pytest.approx(warner - share * (1 - share) / people, rel=1e-4)
    larger = Response(tuple(range(10)), Fraction(1))
    assert float(larger.keep) == pytest.approx(exp(1) / (exp(1) + 9), abs=1e-6)
    rappor = Rappor(tuple("ab"), 64, 2, HALF, QUARTER, 3 * QUARTER, 8)
    assert (rappor.one, rappor.zero) == (Fraction(5, 8), Fraction(3, 8))


def test_who_says_nothing_reports_nothing_and_an_unknown_value_is_an_error() -> None:
    law = Response(("yes", "no"), Fraction(1))
    assert list(reports(law, [None, None], Secret())) == [None, None]
    with pytest.raises(KeyError):
        list(reports(law, ["perhaps"], Secret()))


def test_the_secret_source_draws_all_of_a_range() -> None:
    assert {Secret().below(3) for _ in range(300)} == {0, 1, 2}
