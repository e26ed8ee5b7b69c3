"""Stand-ins for tests: a sampler without noise, and a proxy that has it. They break the promise on purpose."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import TypeVar

import duckdb

from dpsql.mechanisms.sampling import Law
from dpsql.opened import open_policy
from dpsql.policy import Kind
from dpsql.proxy import Proxy

Drawn = TypeVar("Drawn")


class NoNoise:
    """A sampler that hides nothing."""

    def draw(self, law: Law[Drawn]) -> Drawn:
        return law.nearest()


_LET_PASS: tuple[Kind, ...] = ("two people",)


def open_without_noise(policy: str | os.PathLike[str]) -> Proxy:
    """A proxy whose answers are exact but for clipping and rounding; charges are made as ever.

    It opens a table about two people, too, which is protected for one of them: without noise nobody is protected.
    """
    return Proxy(open_policy(policy, let_pass=_LET_PASS), NoNoise(), silent=True)


_NUMBERS = count()


@contextmanager
def opened_policy(
    folder: Path, policy: str, *, silent: bool = False, name: str = "", **words: object
) -> Iterator[Proxy]:
    """A proxy over a policy's text with these ``words``; ``{name}`` in it is the file's own, for a ledger of its own."""
    name = name or f"policy{next(_NUMBERS)}"
    path = folder / f"{name}.yaml"
    path.write_text(policy.format(name=name, **words))
    with closing(open_without_noise(path) if silent else Proxy.open(path)) as proxy:
        yield proxy


@contextmanager
def beside_duckdb(folder: Path, policy: str, setup: Iterable[str]) -> Iterator[tuple[Proxy, duckdb.DuckDBPyConnection]]:
    """A proxy without noise over the database that a policy names, and the same rows in a DuckDB of the test's own."""
    database = folder / policy.partition("database: duckdb:")[2].split()[0]
    with duckdb.connect() as own:
        with duckdb.connect(str(database)) as connection:
            for statement in setup:
                connection.execute(statement)
                own.execute(statement)
        (folder / "policy.yaml").write_text(policy)
        with closing(open_without_noise(folder / "policy.yaml")) as proxy:
            yield proxy, own
