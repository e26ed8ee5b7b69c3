"""A seed says which world and which statements are drawn, in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from random import Random

from tests.properties import dirty_worlds
from tests.properties.analysts import Analyst
from tests.properties.drawing import world, worst_units
from tests.properties.questions import question
from tests.properties.relations import Relations


def drawn(seed: int) -> str:
    """Everything that is drawn with a seed, as text."""
    random = Random(seed)
    found: list[object] = []
    for tame in (True, False):
        place = world(random, tame=tame)
        found += [place, place.policy(), sorted(place.rows.items()), worst_units(random, place, 4)]
        found += [question(random, place).sql for _ in range(10)]
        if place.entity is not None:
            found += [Relations(random, place).statement() for _ in range(5)]
    dirty = dirty_worlds.world(random)
    found += [dirty, sorted(dirty.rows.items())]
    found += [Analyst(random, dirty).statement().sql for _ in range(10)]
    return repr(found)


def _in_a_process(hashes: str) -> str:
    """What seeds draw where texts have other hashes."""
    script = (
        "from hashlib import sha256; from tests.properties.test_drawing import drawn\n"
        "for seed in range(12): print(seed, sha256(drawn(seed).encode()).hexdigest())"
    )
    path = os.pathsep.join(sys.path)
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_a_seed_draws_the_same_in_every_process() -> None:
    """The order of a set of texts differs from process to process."""
    first = _in_a_process("1")
    assert len({line.split()[1] for line in first.splitlines()}) == 12
    assert _in_a_process("2") == first
