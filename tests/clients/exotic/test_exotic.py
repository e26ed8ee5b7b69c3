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

import duckdb
import pytest

from dpsql.interfaces.commands import demo_clinic as clinic
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
PGX = ("golang-go", "golang-github-jackc-pgx-v4-dev")
GO = ("env", "GO111MODULE=off", "GOPATH=/usr/share/gocode", "CGO_ENABLED=0", "go", "run")
DEBIAN = "/usr/share/cargo/registry"
RUST = (
    *("cargo", "run", "--quiet", "--offline", "--manifest-path", str(HERE / "rust" / "Cargo.toml"), "--config"),
    *('source.crates-io.replace-with="debian"', "--config", f'source.debian.directory="{DEBIAN}"', "--"),
)
CLIENTS = (
    Client("pgjdbc-extended", JAVA_PACKAGES, JAVA, ("extended",), tables=TABLES, columns=VISIT),
    Client("pgjdbc-simple", JAVA_PACKAGES, JAVA, ("simple",), tables=TABLES, columns=VISIT),
    Client("node-pg", ("nodejs", "npm"), ("node", str(HERE / "ask.js")), npm=("pg@8", "pg-cursor@2")),
    Client("perl-dbd-pg", ("libdbd-pg-perl",), ("perl", str(HERE / "ask.pl")), tables=TABLES),
    Client("php-pdo", ("php-cli", "php-pgsql"), ("php", str(HERE / "ask.php"))),
    Client("ruby-pg", ("ruby", "ruby-pg"), ("ruby", str(HERE / "ask.rb"))),
    Client("psqlodbc", ODBC, ("python", str(HERE / "client_odbc.py")), pip=("pyodbc==5.*",), tables=TABLES),
    Client("go-lib-pq", ("golang-go", "golang-github-lib-pq-dev"), (*GO, str(HERE / "ask.go"))),
    Client("go-pgx-extended", PGX, (*GO, str(HERE / "ask_pgx.go")), ("extended",)),
    Client("go-pgx-simple", PGX, (*GO, str(HERE / "ask_pgx.go")), ("simple",)),
    Client("rust-tokio-postgres", ("cargo", "librust-tokio-postgres-dev"), RUST),
    Client(
        "pgcli",
        (),
        ("python", str(HERE / "client_pgcli.py")),
        pip=("pgcli==4.*",),
        tables=TABLES,
        columns=("patient_id integer", "day date", "cost numeric(8,2)", "reason text"),
    ),
    Client(
        "sqlalchemy-2.0",
        (),
        ("python", str(HERE / "client_sqlalchemy.py")),
        pip=("SQLAlchemy==2.0.*", "psycopg[binary]", "psycopg2-binary"),
        tables=TABLES,
        columns=("patient_id INTEGER", "day DATE", "cost NUMERIC(8, 2)", "reason TEXT"),
    ),
    Client(
        "ibis",
        (),
        ("python", str(HERE / "client_ibis.py")),
        pip=("ibis-framework[postgres]==12.*", "packaging"),
        tables=TABLES,
        columns=("patient_id !int32", "day !date", "cost !decimal(8, 2)", "reason !string"),
    ),
    # Newer ones fetch a parser from elsewhere while they are installed. A model would create a view.
    Client(
        "dbt-postgres",
        ("git",),
        ("python", str(HERE / "client_dbt.py")),
        pip=("dbt-core==1.10.*", "dbt-postgres==1.9.*"),
        tables=frozenset({"patient", "visit"}),
        refused="CREATE is not allowed: dpsql only reads",
        columns=("patient_id integer", "day date", "cost numeric(8,2)", "reason text"),
    ),
    # It lists the tables of every schema, and tells no SQLSTATE.
    Client(
        "r-rpostgresql",
        ("r-base-core", "r-cran-rpostgresql"),
        ("Rscript", str(HERE / "ask.R")),
        tables=TABLES | {"budget", "charges", "columns"},
        refused="this query returns rows of people",
    ),
)
BORN = "SELECT COUNT(*) FROM patient WHERE birth_year > 1980"
QUESTIONS = {
    "sex": ("SELECT sex, COUNT(*) FROM patient GROUP BY sex ORDER BY sex", 100),
    "born": (BORN, 100),
    "inside": (BORN, 100),
    "height": ("SELECT AVG(height_cm) FROM patient", 5),
    "region": ("SELECT region, COUNT(*) FROM patient WHERE region < 'I' GROUP BY region ORDER BY region", 100),
    "day": (
        "SELECT day, COUNT(*) FROM visit WHERE day BETWEEN '2025-03-04' AND '2025-03-06' GROUP BY day ORDER BY day", 400,
    ),
}  # fmt: skip
"""What every client asks, by the name that it prints before the rows, and how far noise and bounds may lead."""
PROGRAMS = {"cargo": "cargo", "default-jdk-headless": "javac", "nodejs": "node", "npm": "npm"}
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
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dpsql" / "clients"
    home = Path(os.environ.get("DPSQL_CLIENTS", cache)) / client.name
    if (client.npm or client.pip) and not (home / "ready").exists():
        home.mkdir(parents=True, exist_ok=True)
        if client.npm:
            subprocess.run(["npm", "install", "--silent", "--prefix", home, *client.npm], check=True, timeout=300)
        if client.pip:
            subprocess.run([sys.executable, "-m", "venv", home], check=True)
            subprocess.run([home / "bin" / "pip", "install", "--quiet", *client.pip], check=True, timeout=300)
        (home / "ready").touch()
    found = {"NODE_PATH": str(home / "node_modules"), "PATH": f"{home}/bin:{os.environ['PATH']}"}
    return {**os.environ, **found, "CARGO_TARGET_DIR": str(home / "target")}


@pytest.fixture(scope="module")
def truth(built_clinic: Path) -> dict[str, list[tuple[object, ...]]]:
    """What the database itself answers."""
    with duckdb.connect(str(built_clinic / clinic.DATABASE), read_only=True) as database:
        return {sql: database.execute(sql).fetchall() for sql, _ in QUESTIONS.values()}


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_is_answered(client: Client, server: Served, truth: dict[str, list[tuple[object, ...]]]) -> None:
    environment = install(client)
    command = [*client.command, server.host, str(server.port), *client.extra]
    command[0] = shutil.which(command[0], path=environment["PATH"]) or command[0]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    said: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        name, _, rest = line.strip().partition(" ")
        said.setdefault(name, []).append(rest)
    print(client.name, said["version"])
    assert (said["one"], said["after"], said["refused"]) == (["1"], ["1"], [client.refused])
    assert said["again"] == said["sex"], "the second connection was not answered from the store"
    assert len(said["born"]) >= 3
    for name, (sql, margin) in QUESTIONS.items():
        near(name, said[name], truth[sql], margin)
    assert frozenset(said.get("table", ())) == client.tables
    assert tuple(said.get("column", ())) == client.columns


def near(name: str, told: list[str], rows: list[tuple[object, ...]], margin: int) -> None:
    """Keys as they are, numbers as far from the truth as noise is at most; what was asked again is the same number."""
    if name == "born":
        assert len(set(told)) == 1
        told = told[:1]
    assert [line.split()[:-1] for line in told] == [[str(cell) for cell in row[:-1]] for row in rows], name
    for line, row in zip(told, rows, strict=True):
        assert abs(float(line.split()[-1]) - float(str(row[-1]))) < margin, (name, line, row)
