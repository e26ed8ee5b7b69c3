"""The demo's clinic, built once, and fresh copies of it with an empty ledger."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpsql.interfaces.commands import demo_clinic as clinic
from tests.clients.served import Served, served


@pytest.fixture(scope="session")
def built_clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic")
    clinic.build(folder)
    return folder


@pytest.fixture
def policy(built_clinic: Path, tmp_path: Path) -> Path:
    """The path of the policy of a clinic that nobody has asked anything."""
    for name in (clinic.DATABASE, clinic.POLICY):
        shutil.copy(built_clinic / name, tmp_path / name)
    return tmp_path / clinic.POLICY


@pytest.fixture(scope="session")
def server(built_clinic: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """``dpsql serve`` over a clinic of its own, for real clients."""
    with served(built_clinic, tmp_path_factory.mktemp("served")) as found:
        yield found
