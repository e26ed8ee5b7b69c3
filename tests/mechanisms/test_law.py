"""Laws hide people only where they are drawn from."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpsql
from dpsql.mechanisms.sampling.law import Law
from dpsql.mechanisms.sampling.sampler import ExactSampler


class Coin(Law[str]):
    """A law that tells by which of its two ways it was asked."""

    def draw(self) -> str:
        return "drawn"

    def nearest(self) -> str:
        return "told"


@pytest.mark.quick
def test_the_sampler_that_guards_people_draws() -> None:
    assert ExactSampler().draw(Coin()) == "drawn"


@pytest.mark.quick
def test_the_product_asks_no_law_for_what_hides_nobody() -> None:
    """Only the sampler of the tests does."""
    package = Path(dpsql.__file__).parent
    asking = [path.name for path in package.rglob("*.py") if ".nearest(" in path.read_text()]
    assert asking == []
