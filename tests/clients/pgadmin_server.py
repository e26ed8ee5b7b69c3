"""pgAdmin 4 as a process of its own on loopback, asked by the routes that its pages ask."""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.clients.superset_server import free_port

SCRIPT = Path(__file__).parent / "exotic" / "client_pgadmin.py"
VARIABLE = "DPSQL_PGADMIN"
PATIENCE = 120.0
NOT_A_ROUTE = re.compile(r"Unimplemented method|<title>40[45] ")
"""Types of nodes have not all tabs: pgAdmin's page does not ask for the others."""


def python() -> Path | None:
    """The Python of the virtual environment that DPSQL_PGADMIN names, if pgAdmin is installed there."""
    named = os.environ.get(VARIABLE)
    program = Path(named or "") / "bin" / "python"
    if named is None or not program.exists():
        return None
    probe = [program, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('pgadmin4') is None)"]
    return program if subprocess.run(probe).returncode == 0 else None


class PgAdminError(Exception):
    """An error that pgAdmin shows. Its text begins with the status of HTTP."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The grid and the messages of a statement, or the error in their place."""

    rows: list[list[Any]]
    columns: list[str]
    messages: str
    error: str = ""
    cell: Any = None
    """A command's tag, where there is no grid."""


@dataclass(frozen=True, slots=True)
class PgAdmin:
    """The session of one page."""

    url: str
    opener: urllib.request.OpenerDirector
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, url: str) -> PgAdmin:
        jar = http.cookiejar.CookieJar()
        page = cls(url, urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar)))
        page.text("GET", "/browser/")
        token = re.search(r"csrf_token'\] = '([^']+)'", page.text("GET", "/browser/js/utils.js")[1])
        assert token is not None
        page.headers["X-pgA-CSRFToken"] = token[1]
        return page

    def text(self, method: str, path: str, body: object = None) -> tuple[int, str]:
        """Status and text, whatever they are. A body that is no text is sent as JSON."""
        headers = {**self.headers, "Content-Type": "text/plain" if isinstance(body, str) else "application/json"}
        data = None if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)  # noqa: S310
        try:
            with self.opener.open(request, timeout=PATIENCE) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def call(self, method: str, path: str, body: object = None) -> Any:
        """The JSON of an answer. Raises :class:`PgAdminError`, also where an answer of status 200 says no."""
        status, text = self.text(method, path, body)
        try:
            found = json.loads(text)
        except ValueError:
            found = text
        if status != 200:
            raise PgAdminError(f"{status} {found['errormsg'] if isinstance(found, dict) else found}")
        if isinstance(found, dict) and found.get("success") == 0:
            raise PgAdminError(f"{status} {found['errormsg']}")
        return found

    def tab(self, path: str) -> Any:
        """The JSON of a tab, or None where a node of this type has no such tab."""
        try:
            return self.call("GET", path)
        except PgAdminError as error:
            if NOT_A_ROUTE.search(str(error)):
                return None
            raise

    def polled(self, transaction: int) -> Answer:
        """The grid of a statement that was started, once it is there."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            status, text = self.text("GET", f"/sqleditor/poll/{transaction}")
            found = json.loads(text)
            if status != 200:
                return Answer([], [], "", found["errormsg"])
            data = found["data"]
            if data["status"] != "Busy":
                grid = isinstance(data["result"], list)
                names = [column["name"] for column in data["colinfo"] or ()]
                rows = data["result"] if grid else []
                return Answer(rows, names, data["additional_messages"] or "", cell=None if grid else data["result"])
            time.sleep(0.02)
        raise AssertionError("a statement of pgAdmin does not end")

    def run(self, transaction: int, sql: str, plan: dict[str, object] | None = None) -> Answer:
        """What the button Execute shows; with ``plan``, the button Explain."""
        body = {"sql": sql, "explain_plan": plan}
        self.call("POST", f"/sqleditor/query_tool/start/{transaction}", body)
        return self.polled(transaction)


@contextmanager
def running(program: Path, folder: Path) -> Iterator[str]:
    """The URL of a pgAdmin without any server; it is stopped at the end."""
    port = free_port()
    log = folder / "out.log"
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    with log.open("wb") as out:
        command = [program, SCRIPT, folder, str(port)]
        server = subprocess.Popen(command, stdout=out, stderr=out, env=environment, cwd=folder)
    url = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                with urllib.request.urlopen(f"{url}/misc/ping", timeout=5):  # noqa: S310
                    break
            except (urllib.error.URLError, OSError):
                ended = server.poll() is not None or time.monotonic() > end
                assert not ended, f"pgAdmin did not start: {log.read_text(errors='replace')[-2000:]}"
                time.sleep(0.2)
        yield url
    finally:
        server.terminate()
        server.wait(PATIENCE)
