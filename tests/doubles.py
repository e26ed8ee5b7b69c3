"""Stand-ins for tests: a sampler without noise, and a proxy that has it. They break the promise on purpose."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction

from dpsql.mechanisms.sampling import Candidate, Chain, Product
from dpsql.opened import open_policy
from dpsql.policy import Kind
from dpsql.proxy import Proxy


class NoNoise:
    """A sampler that hides nothing."""

    def laplace(self, scale: Fraction, count: int) -> list[int]:
        return [0] * count

    def gaussian(self, sigma: Fraction, count: int) -> list[int]:
        return [0] * count

    def pick(self, counts: Sequence[int], distances: Sequence[int], rate: Fraction) -> tuple[int, int]:
        """The first of the nearest; where all are as near, the last, which is NULL: there is nobody."""
        if len(set(distances)) == 1:
            return len(distances) - 1, 0
        return min(range(len(counts)), key=distances.__getitem__), 0

    def vector(self, chain: Chain) -> tuple[Candidate, ...] | None:
        return chain.nearest()

    def product(self, product: Product) -> tuple[int, ...]:
        return product.nearest()

    def permute_and_flip(self, distances: Sequence[int], rate: Fraction) -> int:
        return min(range(len(distances)), key=distances.__getitem__)


_LET_PASS: tuple[Kind, ...] = ("two people",)


def open_without_noise(policy: str | os.PathLike[str]) -> Proxy:
    """A proxy whose answers are exact but for clipping and rounding; charges are made as ever.

    It opens a table about two people, too, which is protected for one of them: without noise nobody is protected.
    """
    return Proxy(open_policy(policy, let_pass=_LET_PASS), NoNoise(), silent=True)
