"""What the images run, without an engine to run images: the entrypoint, the health check, the seed, the compose file."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import yaml
from packaging.requirements import Requirement

from dpsql.interfaces.commands import demo_clinic as clinic
from dpsql.policy.policy import Policy
from dpsql.postgresql.process import PostgresProcess

DOCKER = Path(__file__).parents[2] / "docker"
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILES = ("Dockerfile", "superset.Dockerfile")
PATH = f"{Path(sys.executable).parent}:/usr/bin:/bin"
READER_PASSWORD = "it's a secret"  # noqa: S105


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def healthy(port: int) -> bool:
    command = [sys.executable, DOCKER / "healthcheck.py"]
    return subprocess.run(command, env={"DPSQL_PORT": str(port)}, timeout=120, check=False).returncode == 0


@contextmanager
def entrypoint(folder: Path, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The entrypoint's process and the first line that it says; it is told to end as Docker does, and ends well."""
    command = ["sh", DOCKER / "entrypoint.sh"]
    started = subprocess.Popen(
        command, env={"PATH": PATH, **environment}, cwd=folder, stderr=subprocess.PIPE, text=True
    )
    assert started.stderr is not None
    try:
        yield started, started.stderr.readline()
    finally:
        started.terminate()
        code = started.wait(120)
        started.stderr.close()
    assert code == 0, "the signal must reach the server: the shell is replaced by it"


@dataclass(frozen=True, slots=True)
class Seeded:
    """A private PostgreSQL that the seed has filled, and what it said."""

    server: PostgresProcess
    environment: dict[str, str]
    said: str


@pytest.fixture(scope="module")
def seeded() -> Iterator[Seeded]:
    with PostgresProcess.start(tcp=True) as server:
        with psycopg.connect(server.dsn(), autocommit=True) as owner:
            owner.execute("CREATE DATABASE clinic")
        environment = {
            "PATH": PATH,
            "PGHOST": "127.0.0.1",
            "PGPORT": str(server.port),
            "PGUSER": "dpsql_owner",
            "PGPASSWORD": server.password,
            "PGDATABASE": "clinic",
            "READER_PASSWORD": READER_PASSWORD,
        }
        yield Seeded(server, environment, seed(environment))


def seed(environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, DOCKER / "seed.py"], env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    return done.stderr.strip()


def test_the_seed_fills_an_empty_database_once(seeded: Seeded) -> None:
    assert seeded.said == "the clinic is seeded"
    with psycopg.connect(seeded.server.dsn("clinic")) as owner:
        before = owner.execute("SELECT COUNT(*), SUM(cost) FROM visit").fetchone()
        assert owner.execute("SELECT COUNT(*) FROM patient").fetchone() == (clinic.PATIENTS,)
    assert seed(seeded.environment) == "the clinic was there already"
    with psycopg.connect(seeded.server.dsn("clinic")) as owner:
        assert owner.execute("SELECT COUNT(*), SUM(cost) FROM visit").fetchone() == before


def test_the_role_that_the_seed_makes_reads_three_tables_and_changes_nothing(seeded: Seeded) -> None:
    given = {"host": "127.0.0.1", "port": seeded.server.port, "dbname": "clinic", "password": READER_PASSWORD}
    with psycopg.connect(user="dpsql_reader", autocommit=True, **given) as reader:  # type: ignore[arg-type]
        assert reader.execute("SELECT COUNT(*) FROM region").fetchone() == (len(clinic.REGIONS),)
        reader.execute("SET default_transaction_read_only = off")
        for statement in ("DELETE FROM visit", "CREATE TABLE mine (x int)", "UPDATE patient SET smoker = true"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute(statement.encode())


def test_the_entrypoint_serves_the_compose_files_policy_over_the_seeded_database(
    seeded: Seeded, tmp_path: Path
) -> None:
    place = f"dpsql_reader@127.0.0.1:{seeded.server.port}/clinic"
    text = (DOCKER / "policy.yaml").read_text()
    text = text.replace("dpsql_reader@postgres:5432/clinic", place).replace("/ledger/", f"{tmp_path}/")
    (tmp_path / "policy.yaml").write_text(text)
    (tmp_path / "secret").write_text(READER_PASSWORD + "\n")
    port = free_port()
    environment = {
        "DPSQL_POLICY": str(tmp_path / "policy.yaml"),
        "DPSQL_HOST": "127.0.0.1",
        "DPSQL_PORT": str(port),
        "PGPASSWORD_FILE": str(tmp_path / "secret"),
    }
    assert not healthy(port)
    with entrypoint(tmp_path, **environment) as (_, said):
        assert f"port {port}" in said
        assert healthy(port)
        url = superset_url().replace("+psycopg2", "").replace("@dpsql:5433", f"@127.0.0.1:{port}")
        with psycopg.connect(url) as analyst:
            rows = dict(analyst.execute("SELECT sex, COUNT(*) FROM patient GROUP BY sex").fetchall())
            assert rows.keys() == {"F", "M"}
            assert abs(sum(rows.values()) - clinic.PATIENTS) < 100
            (paid,) = analyst.execute("SELECT spent_epsilon FROM dpsql.budget WHERE analyst IS NULL").fetchone() or ()
            assert paid > 0
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url.replace("ana:clinic", "ana:wrong"))
        for _ in range(3):
            assert healthy(port), "health checks do not use the server up"
        assert READER_PASSWORD not in said
    assert not healthy(port)


def superset_url() -> str:
    (url,) = (part.partition("=")[2] for part in SERVICES["dashboard"]["entrypoint"] if part.startswith("--database="))
    return str(url)


def test_the_entrypoint_runs_any_other_command(tmp_path: Path) -> None:
    command = ["sh", DOCKER / "entrypoint.sh", "--version"]
    done = subprocess.run(command, env={"PATH": PATH}, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("dpsql ")


def test_the_entrypoint_says_what_is_missing(tmp_path: Path) -> None:
    command = ["sh", DOCKER / "entrypoint.sh"]
    environment = {"PATH": PATH, "DPSQL_POLICY": str(tmp_path / "none.yaml")}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (64, "")
    assert "mount one" in done.stderr


def test_half_of_a_certificate_is_no_reason_to_serve_without_encryption(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("")
    environment = {"PATH": PATH, "DPSQL_POLICY": str(tmp_path / "policy.yaml"), "DPSQL_TLS_KEY": "key.pem"}
    command = ["sh", DOCKER / "entrypoint.sh"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "DPSQL_TLS_CERTIFICATE" in done.stderr


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"", False),  # closes at once
        (b"R\0\0\0\x08\0\0\0\0", True),
        (b"E\0\0\0\x14SFATAL\0C28000\0\0\0", True),
        (b"E\0\0\0\x14SFATAL\0C57P03\0\0\0", False),  # it is starting up, or going down
        (b"E\0\0\0\x14SFATAL\0C2", False),  # and then nothing more
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", False),
    ],
)
def test_the_health_check_believes_only_a_postgresql_server(answer: bytes, expected: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def reply() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(answer)

        thread = threading.Thread(target=reply)
        thread.start()
        assert healthy(listener.getsockname()[1]) is expected
        thread.join()


def test_the_policy_of_the_compose_file_is_the_clinics() -> None:
    ours = Policy.parse((DOCKER / "policy.yaml").read_text())
    clinics = Policy.parse(clinic.POLICY_TEXT)
    for part in ("privacy_unit", "budget", "statement", "tables", "minmax"):
        assert getattr(ours, part) == getattr(clinics, part), part
    assert not ours.database.holds_password
    assert ours.analysts is not None
    assert all(str(analyst.password).startswith("SCRAM-SHA-256$") for analyst in ours.analysts.values())


def test_only_dpsql_reaches_both_the_database_and_the_analysts() -> None:
    networks = {name: set(service["networks"]) for name, service in SERVICES.items()}
    assert [name for name, found in networks.items() if found == {"owner", "analysts"}] == ["dpsql"]
    assert networks["superset"] == networks["grafana"] == networks["dashboard"] == {"analysts"}
    assert COMPOSE["networks"]["owner"]["internal"] is True
    assert "ports" not in SERVICES["postgres"]


def test_the_image_is_named_by_the_version_that_is_in_it() -> None:
    images = [service["image"] for service in COMPOSE["services"].values()]
    assert {image for image in images if image.startswith("dpsql:")} == {f"dpsql:{version('dpsql')}"}


def test_what_the_compose_file_names_exists() -> None:
    for name, service in SERVICES.items():
        if "build" in service:
            context = (DOCKER / service["build"]["context"]).resolve()
            assert (context / service["build"]["dockerfile"]).is_file(), name
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert (DOCKER / source).exists() if source.startswith(".") else source in COMPOSE["volumes"], volume
        assert set(service.get("depends_on", {})) <= set(SERVICES)
        assert set(service["networks"]) <= set(COMPOSE["networks"])
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), "published to this machine alone"
    assert urlsplit(superset_url()).port == 5433


def images() -> list[str]:
    named = [str(service["image"]) for service in SERVICES.values()]
    for name in DOCKERFILES:
        named += re.findall(r"^FROM (\S+)", (DOCKER / name).read_text(), re.MULTILINE)
    return named


@pytest.mark.parametrize("image", sorted(set(images())))
def test_every_image_is_pinned(image: str) -> None:
    assert re.fullmatch(r"[a-z/-]+:\d+\.\d+(\.\d+)?(-[a-z-]+)?", image)


@pytest.mark.parametrize("name", DOCKERFILES)
def test_an_image_runs_as_a_user_without_rights_and_checks_its_health(name: str) -> None:
    text = (DOCKER / name).read_text()
    lines = [line.split() for line in text.splitlines() if line and line[0].isalpha()]
    users = [words[1] for words in lines if words[0] == "USER"]
    order = [words[0] for words in lines]
    assert users, "USER is missing"
    assert users[-1] not in {"root", "0"}
    assert f"--uid 1000{DOCKERFILES.index(name) + 1}" in text
    assert order.index("USER") < order.index("ENTRYPOINT")
    assert order.index("USER") > max(place for place, word in enumerate(order) if word in {"RUN", "COPY"})
    assert "HEALTHCHECK" in order
    root = DOCKER.parent if name == "Dockerfile" else DOCKER
    for words in lines:
        if words[0] == "COPY":
            assert all((root / source).exists() for source in words[1:-1] if not source.startswith("--")), words


def test_a_script_that_is_an_entrypoint_can_be_executed_and_is_posix() -> None:
    for name in ("entrypoint.sh", "superset.sh"):
        assert os.access(DOCKER / name, os.X_OK)
        assert (DOCKER / name).read_text().startswith("#!/bin/sh\n")
        subprocess.run(["sh", "-n", DOCKER / name], check=True)


def test_every_variable_of_the_entrypoint_is_documented() -> None:
    used = set(re.findall(r"\$\{([A-Z_]+)", (DOCKER / "entrypoint.sh").read_text()))
    assert {"DPSQL_POLICY", "PGPASSWORD_FILE"} <= used
    documented = (DOCKER / "README.md").read_text()
    assert [name for name in sorted(used) if f"`{name}`" not in documented] == []


def test_the_image_is_built_from_the_sources_alone() -> None:
    ignored = [line for line in (DOCKER / "Dockerfile.dockerignore").read_text().splitlines() if line[0] != "#"]
    assert ignored[0] == "*", "everything is left out that is not named"
    assert {"!dpsql", "!rewriter"} < set(ignored)
    assert not {"!.", "!tests", "!.git", "!*"} & set(ignored)


def test_the_image_pins_every_dependency_within_its_bounds() -> None:
    pins = [line for line in (DOCKER / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    versions = {}
    for pin in pins:
        name, _, version = pin.partition("==")
        assert version, pin
        versions[canonical(name)] = version
    for text in requires("dpsql") or []:
        requirement = Requirement(text)
        if "extra" not in str(requirement.marker):
            assert requirement.specifier.contains(versions[canonical(requirement.name)]), text
    superset = (DOCKER / "superset-requirements.txt").read_text().splitlines()
    assert all(line.startswith("#") or "==" in line for line in superset)
    assert "apache_superset==6.1.0" in superset


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def instructions(name: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile, each on one line."""
    text = re.sub(r"\\\n\s*", "", (DOCKER / name).read_text())
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


@pytest.mark.parametrize("name", DOCKERFILES)
def test_a_dockerfile_is_written_as_hadolint_would_have_it(name: str) -> None:
    """The rules of hadolint that apply here, by their numbers."""
    found = instructions(name)
    words = [word for word, _ in found]
    runs = [rest for word, rest in found if word == "RUN"]
    assert words[0] == "FROM"
    assert "ADD" not in words, "DL3020: COPY says what is copied"
    assert "MAINTAINER" not in words, "DL4000"
    assert words.count("CMD") <= 1, "DL4003"
    assert words.count("ENTRYPOINT") == 1, "DL4004"
    assert words.count("HEALTHCHECK") == 1, "DL3012"
    assert words.count("EXPOSE") == 1
    assert not any(re.search(r"\b(sudo|ssh|vim|service|shutdown|cd)\s", run) for run in runs), "DL3001, DL3003, DL3004"
    for run in runs:
        if "apt-get install" in run:
            assert "--no-install-recommends" in run, "DL3015"
            assert "-y" in run.split(), "DL3014"
            assert "rm -rf /var/lib/apt/lists/*" in run, "DL3009"
        assert "apt-get upgrade" not in run, "DL3005"
        assert "| " not in run or "pipefail" in run, "DL4006"
        for install in re.findall(r"pip install ([^&|;]+)", run):
            given = [part for part in install.split() if not part.startswith("-")]
            assert all(part.startswith("/opt/") or "==" in part for part in given), f"DL3013: {given}"
    environment = " ".join(rest for word, rest in found if word == "ENV")
    assert "PIP_NO_CACHE_DIR=1" in environment, "DL3042"
    for word, rest in found:
        if word in ("ENTRYPOINT", "CMD"):
            assert rest.startswith("["), "DL3025: an array, so that signals reach the program"
        if word == "COPY":
            *sources, target = [part for part in rest.split() if not part.startswith("--")]
            assert target.startswith("/"), "DL3045: a place that is no relative one"
            assert len(sources) == 1 or target.endswith("/"), "DL3021"
        if word == "EXPOSE":
            assert 0 < int(rest) < 65_536, "DL3011"
        assert not re.search(r"(?i)(password|secret|token)=\S", rest), "no secret is in an image"


@pytest.mark.clients
def test_the_copied_files_alone_are_a_package_that_runs_in_a_clean_prefix(tmp_path: Path) -> None:
    """What the image's steps do: copy, install without dependencies, and run the entrypoint as a command."""
    source, prefix = tmp_path / "source", tmp_path / "prefix"
    for word, rest in instructions("Dockerfile"):
        parts = [part for part in rest.split() if not part.startswith("--")]
        if word == "COPY" and parts[-1].startswith("/opt/dpsql/source"):
            target = source / parts[-1].removeprefix("/opt/dpsql/source").strip("/")
            for part in parts[:-1]:
                if (DOCKER.parent / part).is_dir():
                    shutil.copytree(DOCKER.parent / part, target, dirs_exist_ok=True)
                else:
                    target.mkdir(parents=True, exist_ok=True)
                    shutil.copy(DOCKER.parent / part, target)
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--prefix", prefix, source]
    subprocess.run(install, check=True, capture_output=True, timeout=300)
    (packages,) = prefix.glob("lib/python*/site-packages")
    environment = {"PATH": f"{prefix}/bin:{PATH}", "PYTHONPATH": str(packages)}
    command = ["sh", DOCKER / "entrypoint.sh"]
    for arguments, expected in (("--version",), "dpsql "), (("guide", "audit"), "# How to audit"):
        done = subprocess.run(
            [*command, *arguments], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stdout.startswith(expected)
    assert (packages / "dpsql" / "guide" / "pictures" / "answer.png").is_file()
