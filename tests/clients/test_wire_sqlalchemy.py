"""SQLAlchemy's PostgreSQL dialects, driver by driver, against ``dpsql serve`` on loopback."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import wire_sqlalchemy as wire


@pytest.fixture(scope="module")
def port(built_clinic: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    import shutil

    from dpsql.interfaces.commands import demo_clinic as clinic

    folder = tmp_path_factory.mktemp("served")
    for name in (clinic.DATABASE, clinic.POLICY):
        shutil.copy(built_clinic / name, folder / name)
    command = [sys.executable, "-m", "dpsql", "serve", str(folder / clinic.POLICY), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert server.stdout is not None
    try:
        said = ""
        for line in server.stdout:
            said += line
            if found := re.search(r"port (\d+)", line):
                yield int(found[1])
                break
        else:
            pytest.fail(f"the server did not start: {said}")
    finally:
        server.terminate()
        server.wait(30)


@pytest.mark.parametrize("check", wire.CHECKS)
@pytest.mark.parametrize("driver", wire.DRIVERS)
def test_sqlalchemy_over_the_wire(port: int, driver: str, check: str) -> None:
    wire.run(driver, "127.0.0.1", port, "ana", wire.CHECKS[check])
