"""The clinic of the demo, answered without noise, and its rows beside it: for all tests that do not build their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from dpsql.interfaces.commands.demo_clinic import DATABASE, POLICY, build
from dpsql.proxy import Proxy, Session
from tests.doubles import open_without_noise


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("clinic")
    build(found)
    return found


@pytest.fixture(scope="module")
def proxy(folder: Path) -> Iterator[Proxy]:
    with closing(open_without_noise(folder / POLICY)) as opened:
        yield opened


@pytest.fixture
def ana(proxy: Proxy) -> Session:
    return proxy.session("ana")


@pytest.fixture(scope="module")
def data(folder: Path, proxy: Proxy) -> duckdb.DuckDBPyConnection:
    """The clinic's rows, beside the proxy that has its file open."""
    connection = duckdb.connect()
    connection.execute(f"ATTACH '{folder / DATABASE}' AS clinic (READ_ONLY)")
    connection.execute("USE clinic")
    return connection
