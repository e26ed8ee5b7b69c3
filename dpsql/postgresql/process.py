"""A private PostgreSQL that lives exactly as long as this process, in a folder that nobody else can open.

A small shell holds the server and reads from a pipe whose other end is ours: when we close it, or die in whatever way,
the shell stops the server and removes its folder. Nothing survives, and no signal handler of ours is involved.

Connections over the socket need no password: its folder is open to the server's own system user, who owns the data
files in any case, and to root. Connections over TCP, which any local user could try, need the random password.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, TypedDict

from dpsql.errors import OperationalError
from dpsql.postgresql.binaries import Binaries, find_binaries, machine_binaries, wheel_binaries

__all__ = ["SUPERUSER", "Binaries", "PostgresProcess", "find_binaries", "machine_binaries", "reap", "wheel_binaries"]

SUPERUSER = "dpsql_owner"
PREFIX = "dpsql-postgres-"
PATIENCE = 60.0
"""Seconds for the server to start or to stop; then it is given up, or killed."""

THROWN_AWAY = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
    "shared_buffers": "16MB",
    "log_destination": "stderr",
    "logging_collector": "off",
    "listen_addresses": "",
}
"""Durability costs time, and buys nothing for a server that is thrown away."""

# The shell's standard input is the pipe; a background command's is /dev/null, so the server does not hold it.
HOLD = """
folder=$1; keep=$2; memory=$3; shift 3
[ -z "$memory" ] || ulimit -v "$memory"
"$@" &
server=$!
read -r _
if [ -n "$keep" ]; then kill -INT $server; else kill -QUIT $server; fi 2>/dev/null
wait $server
[ -n "$keep" ] || rm -rf "$folder"
"""


@dataclass(slots=True)
class PostgresProcess:
    """A running server. Its folder, its processes and its data are gone after ``close``, or when this process dies.

    ``folder`` holds ``data`` and ``socket``. A folder that the caller named is kept, with its data, for a later start.
    """

    folder: Path
    version: int
    port: int
    password: str
    tcp: bool
    _holder: subprocess.Popen[bytes]
    _lock: IO[bytes] | None

    @classmethod
    def start(
        cls,
        folder: Path | str | None = None,
        tcp: bool = False,
        settings: Mapping[str, str] | None = None,
        binaries: Binaries | None = None,
        memory: int | None = None,
    ) -> PostgresProcess:
        """Make the data folder if there is none, start, and return when connections are accepted.

        ``memory`` bounds the address space of each of the server's processes, in KiB.
        """
        binaries = binaries or find_binaries()
        reap()
        home = Path(folder).resolve() if folder is not None else Path(tempfile.mkdtemp(prefix=PREFIX))
        lock = None
        try:
            user = _server_user()
            _make(home, user)
            if folder is None:
                lock = (home / "owner").open("wb")
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            programs = _reachable(binaries, home, user)
            if not (home / "data" / "PG_VERSION").exists():
                _initdb(programs, home / "data", user)
            port = _free_port() if tcp else 5432
            options = _options(home, port, tcp, settings or {})
            holder = _hold(home, lock is None, memory, [programs / "postgres", "-D", home / "data", *options], user)
        except BaseException:
            if folder is None:
                shutil.rmtree(home, ignore_errors=True)
            raise
        server = cls(home, binaries.version, port, secrets.token_hex(16), tcp, holder, lock)
        try:
            server._wait()
            if tcp:
                server._set_password()
        except BaseException:
            server.close()
            raise
        return server

    @property
    def socket(self) -> Path:
        """The folder of the unix socket: what libpq calls ``host``."""
        return self.folder / "socket"

    @property
    def running(self) -> bool:
        return self._holder.poll() is None and bool(self._state())

    @property
    def process_id(self) -> int:
        return int(self._state()[0])

    def dsn(self, database: str = "postgres", user: str = SUPERUSER) -> str:
        """A connection string for libpq; over TCP where the server was started with it."""
        where = f"host=127.0.0.1 password={self.password}" if self.tcp else f"host={self.socket}"
        return f"{where} port={self.port} dbname={database} user={user}"

    def url(self, database: str = "postgres", user: str = SUPERUSER) -> str:
        """The same as a URL."""
        if self.tcp:
            return f"postgresql://{user}:{self.password}@127.0.0.1:{self.port}/{database}"
        return f"postgresql://{user}@/{database}?host={self.socket}&port={self.port}"

    def close(self) -> None:
        """Stop the server and remove what is ours. Idempotent."""
        if self._holder.stdin is not None:
            self._holder.stdin.close()
        try:
            self._holder.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(self._holder.pid, 9)
            self._holder.wait()
        if self._lock is not None:
            self._lock.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> PostgresProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _state(self) -> list[str]:
        """What the server says of itself: its process first, whether it is ready last."""
        try:
            return (self.folder / "data" / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return []

    def _wait(self) -> None:
        end = time.monotonic() + PATIENCE
        log = self.folder / "log"
        while time.monotonic() < end and self._holder.poll() is None:
            state = self._state()
            if len(state) > 7 and state[7].strip() == "ready":
                return
            if "FATAL" in log.read_text(errors="replace"):
                break
            time.sleep(0.005)
        said = log.read_text(errors="replace").strip()[-500:]
        raise OperationalError(f"PostgreSQL did not start: {said}", sqlstate="58000")

    def _set_password(self) -> None:
        import psycopg  # only where TCP is asked for

        local = f"host={self.socket} port={self.port} dbname=postgres user={SUPERUSER}"
        with psycopg.connect(local, autocommit=True) as connection:
            connection.execute(f"ALTER ROLE {SUPERUSER} PASSWORD '{self.password}'".encode())


def reap() -> None:
    """Remove the folders of servers whose owner and whose shell were both killed.

    A server whose data folder is gone stops by itself within a minute, so no process is looked for and none is killed.
    """
    mine = {os.getuid(), _server_user().pw_uid}
    for folder in Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        try:
            status = folder.lstat()
            old = time.time() - status.st_mtime > PATIENCE and not folder.is_symlink()
            if old and status.st_uid in mine and _abandoned(folder / "owner"):
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue


def _abandoned(lock: Path) -> bool:
    if not lock.exists():
        return True
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class _Switch(TypedDict, total=False):
    """What ``subprocess`` needs to become another user."""

    user: int
    group: int
    extra_groups: Iterable[int]


def _as(user: pwd.struct_passwd) -> _Switch:
    if os.getuid() != 0:
        return {}
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _server_user() -> pwd.struct_passwd:
    """Ourselves; where we are root, as whom PostgreSQL refuses to run, ``postgres`` or else ``nobody``."""
    if os.getuid() != 0:
        return pwd.getpwuid(os.getuid())
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise OperationalError("PostgreSQL refuses to run as root, and there is no user nobody", sqlstate="58000")


def _make(home: Path, user: pwd.struct_passwd) -> None:
    for made in (home, home / "socket"):
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.getuid() == 0:
            os.chown(made, user.pw_uid, user.pw_gid)


def _reachable(binaries: Binaries, home: Path, user: pwd.struct_passwd) -> Path:
    """The binaries' folder, or a copy of it in ``home`` where the server's user may not enter a folder above it."""
    try:
        subprocess.run(  # noqa: S603
            [binaries.folder / "postgres", "--version"],
            capture_output=True,
            cwd="/",
            timeout=PATIENCE,
            check=True,
            **_as(user),
        )
    except PermissionError:
        return binaries.copied_to(home / "binaries").folder
    return binaries.folder


def _initdb(programs: Path, data: Path, user: pwd.struct_passwd) -> None:
    command: list[str | Path] = [programs / "initdb", "-D", data, "-U", SUPERUSER, "-A", "trust"]
    done = subprocess.run(  # noqa: S603
        [*command, "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"],
        capture_output=True,
        text=True,
        cwd=data.parent,
        env=_environment(),
        timeout=PATIENCE,
        check=False,
        **_as(user),
    )
    if done.returncode:
        raise OperationalError(f"initdb failed: {done.stderr.strip()[-500:]}", sqlstate="58000")
    (data / "pg_hba.conf").write_text("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n")


def _options(home: Path, port: int, tcp: bool, settings: Mapping[str, str]) -> list[str]:
    chosen = {**THROWN_AWAY, "unix_socket_directories": str(home / "socket"), "port": str(port)}
    if tcp:
        chosen["listen_addresses"] = "127.0.0.1"
    return [part for name, value in {**chosen, **settings}.items() for part in ("-c", f"{name}={value}")]


def _hold(
    home: Path, kept: bool, memory: int | None, command: list[str | Path], user: pwd.struct_passwd
) -> subprocess.Popen[bytes]:
    held: list[str | Path] = ["/bin/sh", "-c", HOLD, "dpsql", home, "keep" if kept else "", str(memory or "")]
    (home / "data" / "postmaster.pid").unlink(missing_ok=True)
    with (home / "log").open("wb") as log:
        return subprocess.Popen(  # noqa: S603
            [*held, *command],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=home,
            env=_environment(),
            start_new_session=True,
            **_as(user),
        )


def _environment() -> dict[str, str]:
    """Nothing of ours: PG variables and locales would change what the server does."""
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C", "TZ": "UTC"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
