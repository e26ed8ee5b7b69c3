"""What it would change if each step of a logistic regression read a secret random sample of people, at the same price.

``python -m tests.bench subsampling`` prints, for sampling rates and numbers of steps, the noise of the mean of all
gradients, the part of it that comes from the sample and not from the mechanism, and how far coefficients are from those
of most likelihood.

Every row costs the same: the ε of all steps at δ = 10⁻⁶, by the curve of the sampled Gaussian (Mironov, Talwar, Zhang
2019) and the best order, is that of ρ = ½, which is ε = 1 in a ``zcdp`` ledger. Rounding and the price of second
moments and of the curvature are left out, for all rows alike, and the curvature is the true one: what differs is the
sample alone. A step is Newton's, from the coefficients of most likelihood of a tenth of the people, and the last half
of the ends is averaged.
"""

from __future__ import annotations

import argparse
import math
from fractions import Fraction

import numpy as np

from dpsql.accounting import RDP
from dpsql.accounting.curves import subsampled
from dpsql.accounting.loss import PrivacyLoss
from dpsql.inference.numeric import FloatArray

DELTA = Fraction(1, 10**6)
WHOLE = Fraction(1, 2)
PEOPLE, REGRESSORS, REPEATS = 20_000, 5, 30
RATES = (Fraction(1), Fraction(1, 2), Fraction(1, 10), Fraction(1, 50))
STEPS = (6, 60)


def epsilon_of(rate: Fraction, rho: Fraction, steps: int) -> Fraction:
    """Of so many steps of a Gaussian of ρ over a sample of people."""
    curve = tuple(steps * part for part in subsampled(rate, rho))
    found = RDP.alone(PrivacyLoss(curve=curve), DELTA)
    assert found is not None
    return found[0]


def affordable(rate: Fraction, steps: int) -> Fraction:
    """The most ρ of one step, to a thousandth of it, with which all steps cost as much as :data:`WHOLE`.

    >>> affordable(Fraction(1), 6) == WHOLE / 6
    True
    """
    if rate == 1:
        return WHOLE / steps
    most, low, high = epsilon_of(Fraction(1), WHOLE, 1), WHOLE / steps, Fraction(100)
    while high - low > low / 1000:
        middle = Fraction(math.sqrt(low * high)).limit_denominator(10**9)
        low, high = (middle, high) if epsilon_of(rate, middle, steps) <= most else (low, middle)
    return low


def noise_of(rate: Fraction, steps: int) -> float:
    """The standard deviation that the mechanism adds to the mean of all steps' gradients, each scaled up to all people,
    for a person who moves a gradient by 1."""
    return 1 / math.sqrt(2 * affordable(rate, steps)) / float(rate) / math.sqrt(steps)


def people(rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    u = np.clip(rng.normal(0, 0.4, size=(PEOPLE, REGRESSORS)), -1, 1)
    z = np.c_[np.ones(PEOPLE), u]
    odds = z @ np.array([-0.5, 2.0, -1.0, 0.5, 0.0, 1.0])
    return z, (rng.random(PEOPLE) < 1 / (1 + np.exp(-odds))).astype(float)


def most_likely(z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The coefficients, and the inverse of the curvature there."""
    found = np.zeros(z.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-z @ found))
        inverse = np.linalg.inv((z * (p * (1 - p))[:, None]).T @ z)
        found = found + inverse @ z.T @ (y - p)
    return found, inverse


def distance(rate: Fraction, steps: int, repeats: int) -> tuple[float, float]:
    """How far coefficients are from those of most likelihood, as a root of the mean of squares; and the standard
    deviation of the mean of all steps' gradients that the samples cause."""
    rng = np.random.default_rng(11)
    z, y = people(rng)
    best, inverse = most_likely(z, y)
    start, _ = most_likely(z[: PEOPLE // 10], y[: PEOPLE // 10])
    norm = math.sqrt(z.shape[1])
    scale = norm / math.sqrt(2 * affordable(rate, steps))
    q, far, sampled = float(rate), [], []
    for _ in range(repeats):
        at, ends, errors = start, [], []
        for _ in range(steps):
            rows = (y - 1 / (1 + np.exp(-z @ at)))[:, None] * z
            chosen = rows if rate == 1 else rows[rng.random(PEOPLE) < q]
            gradient = (chosen.sum(axis=0) + rng.normal(0, scale, z.shape[1])) / q
            errors.append(chosen.sum(axis=0) / q - rows.sum(axis=0))
            at = at + inverse @ gradient
            ends.append(at)
        far.append(np.mean(ends[steps // 2 :], axis=0) - best)
        sampled.append(np.mean(errors, axis=0))
    return float(np.sqrt(np.mean(np.square(far)))), float(np.std(sampled))


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bench subsampling")
    options.add_argument("--repeats", type=int, default=REPEATS)
    asked = options.parse_args()
    print("| people in a step | steps | noise of the mean gradient | of the samples | coefficients are off by |")
    print("|---|---|---|---|---|")
    for rate in RATES:
        for steps in STEPS:
            noise = noise_of(rate, steps) * math.sqrt(REGRESSORS + 1)
            off, sampled = distance(rate, steps, asked.repeats)
            row = f"{100 * float(rate):g} % | {steps} | {noise:.3g} | {sampled:.3g} | {off:.4f}"
            print(f"| {row} |", flush=True)


if __name__ == "__main__":
    main()
