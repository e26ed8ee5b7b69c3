"""Clients in other languages ask the served clinic the same questions; what they print is compared here.

They have to be there: Debian's packages are named in the table and installed when this runs as root, npm's
and PyPI's are put into a folder of the user's cache. A client that is missing and cannot be installed is a failure, not a silent skip.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clients.served import Served

pytestmark = pytest.mark.clients
HERE = Path(__file__).parent
JDBC = "/usr/share/java/postgresql.jar"
TABLES = frozenset({"patient", "region", "visit"})
VISIT = ("patient_id int4", "day date", "cost numeric", "reason text")


@dataclass(frozen=True, slots=True)
class Client:
    """``command`` is followed by host and port, then by ``extra``; the fields after it are what else it prints."""

    name: str
    packages: tuple[str, ...]
    command: tuple[str, ...]
    extra: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()
    tables: frozenset[str] = frozenset()
    columns: tuple[str, ...] = ()
    refused: str = "42501"


JAVA = ("java", "-cp", JDBC, str(HERE / "Ask.java"))
JAVA_PACKAGES = ("default-jdk-headless", "libpostgresql-jdbc-java")
ODBC = ("odbc-postgresql", "unixodbc")
GO = ("env", "GO111MODULE=off", "GOPATH=/usr/share/gocode", "CGO_ENABLED=0", "go", "run")
CLIENTS = (
    Client("pgjdbc-extended", JAVA_PACKAGES, JAVA, ("extended",), tables=TABLES, columns=VISIT),
    Client("pgjdbc-simple", JAVA_PACKAGES, JAVA, ("simple",), tables=TABLES, columns=VISIT),
    Client("node-pg", ("nodejs", "npm"), ("node", str(HERE / "ask.js")), npm=("pg@8", "pg-cursor@2")),
    Client("perl-dbd-pg", ("libdbd-pg-perl",), ("perl", str(HERE / "ask.pl")), tables=TABLES),
    Client("php-pdo", ("php-cli", "php-pgsql"), ("php", str(HERE / "ask.php"))),
    Client("ruby-pg", ("ruby", "ruby-pg"), ("ruby", str(HERE / "ask.rb"))),
    Client("psqlodbc", ODBC, ("python", str(HERE / "client_odbc.py")), pip=("pyodbc==5.*",), tables=TABLES),
    Client("go-lib-pq", ("golang-go", "golang-github-lib-pq-dev"), (*GO, str(HERE / "ask.go"))),
    Client(
        "r-rpostgresql", ("r-base-core", "r-cran-rpostgresql"), ("Rscript", str(HERE / "ask.R")), refused="an error"
    ),
)
PROGRAMS = {"default-jdk-headless": "javac", "nodejs": "node", "npm": "npm"}
"""A package whose program may have come from elsewhere."""


def installed(package: str) -> bool:
    if package in PROGRAMS:
        return subprocess.run(["which", PROGRAMS[package]], capture_output=True).returncode == 0
    asked = subprocess.run(["dpkg-query", "-W", "-f", "${Status}", package], capture_output=True, text=True)
    return asked.stdout == "install ok installed"


def install(client: Client) -> dict[str, str]:
    """The environment in which the client runs, with what it needs in place."""
    missing = [package for package in client.packages if not installed(package)]
    if missing:
        subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", *missing], check=True, timeout=600)
    if not client.npm and not client.pip:
        return dict(os.environ)
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dpsql" / "clients"
    home = Path(os.environ.get("DPSQL_CLIENTS", cache)) / client.name
    if not (home / "ready").exists():
        home.mkdir(parents=True, exist_ok=True)
        if client.npm:
            subprocess.run(["npm", "install", "--silent", "--prefix", home, *client.npm], check=True, timeout=300)
        if client.pip:
            subprocess.run([sys.executable, "-m", "venv", home], check=True)
            subprocess.run([home / "bin" / "pip", "install", "--quiet", *client.pip], check=True, timeout=300)
        (home / "ready").touch()
    return {**os.environ, "NODE_PATH": str(home / "node_modules"), "PATH": f"{home}/bin:{os.environ['PATH']}"}


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_is_answered(client: Client, server: Served) -> None:
    environment = install(client)
    command = [*client.command, server.host, str(server.port), *client.extra]
    command[0] = shutil.which(command[0], path=environment["PATH"]) or command[0]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    said: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        name, _, rest = line.strip().partition(" ")
        said.setdefault(name, []).append(rest)
    print(client.name, said["version"])
    assert (said["one"], said["after"], said["refused"]) == (["1"], ["1"], [client.refused])
    counts = dict(row.split() for row in said["sex"])
    assert list(counts) == ["F", "M"]
    assert abs(int(counts["F"]) - 5170) < 100
    assert abs(int(counts["M"]) - 4830) < 100
    assert said["again"] == said["sex"], "the second connection was not answered from the store"
    assert len(set(said["born"])) == 1
    assert len(said["born"]) >= 3
    assert 1000 < int(said["born"][0]) < 9000
    assert len(said["inside"]) == 1
    assert abs(int(said["inside"][0]) - int(said["born"][0])) < 200
    assert 150 < float(said["height"][0]) < 190
    assert [row.split()[0] for row in said["region"]] == ["Bavaria", "Hesse"]
    assert [row.split()[0] for row in said["day"]] == ["2025-03-04", "2025-03-05", "2025-03-06"]
    assert frozenset(said.get("table", ())) == client.tables
    assert tuple(said.get("column", ())) == client.columns
