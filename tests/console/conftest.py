"""A console over the clinic, with an analyst who has a password and an owner."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from dpsql.interfaces.commands import demo_clinic as clinic
from dpsql.server.wire import make_verifier

ANALYST, OWNER = ("ana", "rose & <thorn>"), ("olga", "lily")


@dataclass(frozen=True, slots=True)
class Watched:
    """Where a console is, and the policy behind it."""

    url: str
    policy: Path

    def browser(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers={"Origin": self.url.rstrip("/")}, timeout=60)

    @contextmanager
    def signed_in(self, who: tuple[str, str]) -> Iterator[httpx.Client]:
        """A browser with a session, and with the token that its pages send."""
        with self.browser() as found:
            self._sign_in(found, who)
            yield found

    @staticmethod
    def _sign_in(found: httpx.Client, who: tuple[str, str]) -> None:
        assert found.post("/sign-in", data={"name": who[0], "password": who[1]}).status_code == 303
        page = found.get("/", follow_redirects=True).text
        token = re.search('<meta name="csrf" content="([^"]+)"', page)
        assert token is not None
        found.headers["X-CSRF-Token"] = token[1]


@pytest.fixture(scope="session")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with served_console(tmp_path_factory.mktemp("console")) as found:
        yield found


@contextmanager
def served_console(folder: Path, changed: Callable[[Path], None] = lambda folder: None) -> Iterator[Watched]:
    """A console of its own over a new clinic in a folder, ``changed`` before it is served."""
    clinic.build(folder)
    changed(folder)
    path = folder / clinic.POLICY
    text = path.read_text().replace("  ana: {}", f"  ana: {{password: '{make_verifier(ANALYST[1])}'}}")
    text = text.replace(
        "# A table or", f"owners:\n  {OWNER[0]}: {{password: '{make_verifier(OWNER[1])}'}}\n# A table or"
    )
    path.write_text(text.replace("max_epsilon: 1}", "max_epsilon: 1, stale: allow}"))
    shutil.rmtree(folder / "nothing", ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "dpsql",
        "serve",
        str(path),
        "--port",
        "0",
        "--console-port",
        "0",
        "--what-if",
        "--workers",
        "1",
    ]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        told = ""
        while "is the console" not in told:
            line = server.stderr.readline()
            if not line:
                raise RuntimeError(f"dpsql serve did not start: {told}")
            told += line
        found = re.search(r"(http://\S+)", told)
        assert found is not None
        yield Watched(found[1], path)
    finally:
        server.terminate()
        server.wait(30)
