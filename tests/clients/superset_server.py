"""Superset in a virtual environment of its own, installed once, and served on loopback by the script of ``docker/``."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DOCKER = Path(__file__).parents[2] / "docker"
REQUIREMENTS = DOCKER / "superset-requirements.txt"
PATIENCE = 300.0
LOG = "superset.log"


def programs() -> Path:
    """The folder of Superset's programs. The first time takes about two minutes and 800 MB, and says so.

    ``DPSQL_CLIENTS`` names where clients are kept that are installed for tests; by default in the user's cache.
    """
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dpsql" / "clients"
    version = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]
    home = Path(os.environ.get("DPSQL_CLIENTS", default)) / f"superset-{version}"
    if not (home / "ready").exists():
        print(f"\nSuperset is installed into {home}: about two minutes, once", file=sys.__stderr__, flush=True)
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        install = [home / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        (home / "ready").touch()
    return home / "bin"


def prepared(password: str) -> Path:
    """A folder with Superset's own database after its migrations, with a user admin: the first time takes a minute.

    Workers of one run each ask for it; whoever is first makes it, and a folder that is not whole is never seen.
    """
    found = programs()
    what = (DOCKER / "superset.sh").read_bytes() + (DOCKER / "superset_config.py").read_bytes() + password.encode()
    home = found.parent / f"prepared-{hashlib.sha256(what).hexdigest()[:12]}"
    if not home.exists():
        with tempfile.TemporaryDirectory(dir=found.parent) as folder:
            with _started(found, Path(folder), password):
                pass
            (Path(folder) / LOG).unlink()
            with contextlib.suppress(OSError):  # Another worker was first.
                Path(folder).rename(home)
                Path(folder).mkdir()
    return home


@contextmanager
def running(folder: Path, password: str) -> Iterator[str]:
    """The URL of a Superset with an empty database in ``folder``, and a user admin; it is stopped at the end."""
    shutil.copytree(prepared(password), folder, dirs_exist_ok=True)
    with _started(programs(), folder, password) as url:
        yield url


@contextmanager
def _started(found: Path, folder: Path, password: str) -> Iterator[str]:
    port = free_port()
    environment = {
        "PATH": f"{found}:/usr/bin:/bin",
        "HOME": str(folder),
        "SUPERSET_HOME": str(folder),
        "SUPERSET_PORT": str(port),
        "SUPERSET_SECRET_KEY": secrets.token_urlsafe(32),
        "SUPERSET_ADMIN_PASSWORD": password,
    }
    log = folder / LOG
    with log.open("wb") as out:
        server = subprocess.Popen(["sh", DOCKER / "superset.sh"], stdout=out, stderr=out, env=environment, cwd=folder)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url, server, log)
        yield url
    finally:
        server.terminate()
        server.wait(PATIENCE)


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):  # noqa: S310
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    raise AssertionError(f"Superset did not start: {log.read_text(errors='replace')[-2000:]}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
