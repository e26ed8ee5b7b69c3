"""A default run draws the same noise every time, so that a change is judged by what it changed, as with random examples.

A bar of 95 % misses once in twenty, and a test that allows for a miss in ten thousand fails once a day where there are ten
thousand of them. The modules that draw ask their source anew for each draw: here it is one that begins anew with each test
and each fixture, from their names. Tests that share a server or a session stay on one worker (``--dist loadfile``), in one
order. Processes that a test starts draw as they do elsewhere, and so do campaigns and ``pytest
--hypothesis-profile=default``: laws are tried with fresh noise there.
"""

from __future__ import annotations

import importlib
import os
import random
import secrets
from collections.abc import Generator
from typing import Protocol

import pytest

DRAWING = """dpsql.mechanisms.sampling.block_key dpsql.mechanisms.sampling.chain dpsql.mechanisms.sampling.exponential
    dpsql.mechanisms.sampling.permute_and_flip dpsql.mechanisms.sampling.product dpsql.mechanisms.sampling.walks
    dpsql.randomize.reports dpsql.audit.policy_audit""".split()
COLUMNS = "dpsql.mechanisms.sampling.vector_draws"
"""Whatever draws by ``secrets``. Columns of noise are made of bytes of the system."""


class Source:
    """What ``secrets`` and ``os`` give to those who draw, from a generator that begins anew where ``begin`` says so.

    >>> source = Source()
    >>> source.begin("a test")
    >>> drawn = source.randbits(64), source.urandom(4)
    >>> source.begin("a test")
    >>> drawn == (source.randbits(64), source.urandom(4))
    True
    """

    def __init__(self) -> None:
        self._random: random.Random = random.SystemRandom()
        self._process = os.getpid()

    def begin(self, name: str) -> None:
        self._random, self._process = random.Random(name), os.getpid()

    @property
    def _drawn(self) -> random.Random:
        """A forked child does not draw what its parent draws."""
        return self._random if os.getpid() == self._process else random.SystemRandom()

    def randbelow(self, bound: int) -> int:
        return self._drawn.randrange(bound)

    def randbits(self, bits: int) -> int:
        return self._drawn.getrandbits(bits)

    def token_hex(self, number: int) -> str:
        return self.urandom(number).hex()

    def urandom(self, number: int) -> bytes:
        return self._drawn.randbytes(number)


SOURCE = Source()


class _Defined(Protocol):
    baseid: str
    argname: str
    scope: str


def pytest_configure(config: pytest.Config) -> None:
    if "not campaign" not in config.option.markexpr or config.getoption("--hypothesis-profile") != "fixed":
        return
    for name, source in [*((name, secrets) for name in DRAWING), (COLUMNS, os)]:
        module = importlib.import_module(name)
        assert vars(module)[source.__name__] is source
        setattr(module, source.__name__, SOURCE)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: _Defined, request: pytest.FixtureRequest) -> Generator[None, object, object]:
    place = request.node.nodeid if fixturedef.scope == "function" else fixturedef.baseid
    SOURCE.begin(f"{place} {fixturedef.argname} {getattr(request, 'param_index', 0)}")
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    SOURCE.begin(item.nodeid)
