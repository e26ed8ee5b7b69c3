"""The library of the attack suite, served in this process: one server for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.library import POLICY, duckdb_library
from tests.operations.operated import Operated, operated

LIMITS = "limits: {statements: 6, statements_per_analyst: 3, connections_per_analyst: 60, wait: 0.5}\n"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a policy with low limits."""
    folder = tmp_path_factory.mktemp("operated") / "library"
    return duckdb_library(folder, with_person=True, policy=POLICY + LIMITS).policy


@pytest.fixture(scope="module")
def server(library: Path) -> Iterator[Operated]:
    with operated(library) as found:
        yield found
