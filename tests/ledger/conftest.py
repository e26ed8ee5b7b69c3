"""A PostgreSQL whose ledgers last, for all tests of ledgers that ask for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engines.postgres_server import Server
from tests.ledger.test_postgres_ledger import durable_server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with durable_server() as started:
        yield started
