"""The world in which a page's examples run: a folder with the demo's clinic, servers where a page starts them."""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import dpsql
from dpsql.console import console_beside
from dpsql.interfaces.commands.command_line import parser
from dpsql.interfaces.commands.commands import _certificate, main
from dpsql.policy import Policy
from dpsql.proxy import Proxy
from dpsql.server.door import Door
from dpsql.server.operations import logs
from dpsql.server.shadow.shadow import Shadow
from dpsql.server.start import Listening, Serving, _announce, all_problems, analysts, made, monitor_of
from tests.engines.postgres_server import Server, start
from tests.guide.blocks import ROOT, Block, alike, shape
from tests.operations.operated import eventually

PORT, METRICS_PORT = 5433, 9187
OURS = re.compile(
    r"(?P<given>(?:\w+=\S+ )*)(?P<command>dpsql (?:[^|<>&'\"]|'[^']*'|\"[^\"]*\")*)(?:\|(?P<pipe>[^<>&]*))?", re.DOTALL
)
"""A command that needs no shell but for its pipe."""

PATIENCE = 120.0

TERMINAL = ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE")
"""What a shell may say of the terminal that started the tests: pages show what is printed without one."""


class World:
    """Runs blocks one after another in ``folder``; each sees what those before it made."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._connection: dpsql.Connection | None = None
        self._postgres: Server | None = None
        self._database = ""
        self._ports: dict[int, int] = {}
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._printed = ""
        self._programs()

    def run(self, block: Block) -> None:
        """Run one block. Raises AssertionError where what it shows is not what comes out."""
        if block.said == "file":
            (self._folder / block.more).write_text(self._here(block.text), encoding="utf-8")
        elif block.said == "output":
            self._compare(block, block.text, self._printed)
        elif block.said == "on PostgreSQL":
            self._on_postgres(block)
        else:
            getattr(self, f"_{block.language}")(block)

    # Languages

    def _console(self, block: Block) -> None:
        for command, expected in commands(block.text):
            if command.startswith("psql ") and expected.startswith("clinic=>"):
                statements, expected = conversation(expected)
                printed = self._shell(f"stdbuf -oL {command} -f -", statements)
                printed = re.sub(r"^psql:[^ ]*: ", "", printed, flags=re.MULTILINE)
            elif command.startswith("dpsql serve ") and "--host" not in command:
                printed = self._serve(command, len(expected.splitlines()))
            elif found := OURS.fullmatch(command):
                printed = self._ours(found)
            else:
                printed = self._shell(command)
            self._compare(block, expected, printed)

    def _sh(self, block: Block) -> None:
        for command, _ in commands("".join(f"$ {line}\n" for line in block.text.replace("\\\n", "").splitlines())):
            self._shell(command, check=True)

    def _sql(self, block: Block) -> None:
        for statement in filter(str.strip, re.split(r";\s*(?:--.*)?\n", block.text)):
            try:
                self._asked.execute(statement.rstrip().rstrip(";"))
            except dpsql.Error as problem:
                assert problem.sqlstate == block.more, f"{block}: {statement.strip()}: {problem}"
            else:
                assert block.said != "refused", f"{block}: {statement.strip()}: answered"

    def _python(self, block: Block) -> None:
        self._hang_up()
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(self._here(block.text), str(block), "exec"), self._names)  # noqa: S102
        self._printed = printed.getvalue()

    def _yaml(self, block: Block) -> None:
        """A policy, or a part of the clinic's that takes the place of what is there."""
        tree = yaml.safe_load(block.text)
        if block.said == "part of the policy":
            tree = merged(yaml.safe_load((self._folder / "dpsql-demo" / "policy.yaml").read_text()), tree)
        Policy.parse(yaml.safe_dump(tree), self._folder / "policy.yaml")

    # What they need

    @property
    def _asked(self) -> dpsql.Connection:
        if self._connection is None:
            self._connection = dpsql.connect("dpsql-demo/policy.yaml", analyst="ana")
        return self._connection

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ours(self, found: re.Match[str]) -> str:
        """A command of dpsql in this process, which is quicker than its own: stdout, then stderr."""
        self._hang_up()
        for name, value in (word.split("=", 1) for word in found["given"].split()):
            os.environ[name] = value
        streams = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
        before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = streams
        try:
            with contextlib.suppress(SystemExit):
                main(shlex.split(self._here(found["command"]))[1:])
        finally:
            sys.stdout, sys.stderr = before
        out, errors = map(self._flushed, streams)
        return (self._shell(found["pipe"], out) if found["pipe"] else out) + errors

    @staticmethod
    def _flushed(stream: io.TextIOWrapper) -> str:
        stream.flush()
        return stream.buffer.getvalue().decode()  # type: ignore[attr-defined, no-any-return]

    def _shell(self, command: str, given: str = "", *, check: bool = False) -> str:
        self._hang_up()
        done = subprocess.run(
            ["bash", "-c", self._here(command)], input=given, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert not check or done.returncode == 0, f"{command}: {done.stdout}"
        return done.stdout

    def _serve(self, command: str, lines: int) -> str:
        """A server in a thread of this process, with the catalog of the clinic that all of them share."""
        self._hang_up()
        options = parser().parse_args(shlex.split(command.rstrip("& "))[1:])
        served = Serving(
            options.policy, port=0, certificate=_certificate(options), audit=options.audit,
            metrics_port=None if options.metrics_port is None else 0, log_format=options.log_format,
        )  # fmt: skip
        said = bytearray()
        log = logs.Log.start(served.log_format, served.log_level, engine_errors=False, write=written(said))
        self._stack.callback(log.close)
        proxy = Proxy.open(served.policy)
        self._stack.callback(proxy.close)
        door, catalog = Door(served.host, served.port, proxy.policy.limits), catalog_of(proxy)
        parts = made(served, proxy, catalog, log, self._stack, door)
        registry, alive = parts.metrics.registry, parts.server.alive
        problems = all_problems(parts.problems, proxy.ledger, catalog)
        monitor = monitor_of(served, proxy.ledger, proxy.policy, registry, alive, problems, self._stack)
        beside = None
        if options.console_port is not None:
            host, number = door.address
            listening = Listening(proxy.policy, proxy.ledger, host, number, "clinic", None, problems, ())
            beside = console_beside(options.console_host, 0)(listening)
            self._stack.callback(beside.close)
            self._ports[options.console_port] = beside.address[1]
        thread = threading.Thread(
            target=parts.server.run,
            args=(lambda: _announce(served, proxy.policy, "clinic", door, monitor, log, beside),),
        )
        thread.start()
        self._stack.callback(thread.join, PATIENCE)
        self._stack.callback(parts.server.stop)
        eventually(lambda: said.count(b"\n") >= lines)
        self._ports[PORT] = door.address[1]
        if monitor is not None:
            self._ports[METRICS_PORT] = monitor.port
        return said.decode()

    def _on_postgres(self, block: Block) -> None:
        """As the server's superuser, in the database that the page made last."""
        self._postgres = owners_postgres()
        for statement in filter(str.strip, re.split(r";\s*(?:--.*)?\n", block.text)):
            with self._postgres.owner(self._database or "postgres") as connection:
                connection.execute(statement.encode())
            if made := re.search(r"CREATE DATABASE (\w+)", statement):
                self._database = made[1]

    def _here(self, text: str) -> str:
        """The text with the servers of this world in the place of those that a reader has."""
        for port, real in self._ports.items():
            text = text.replace(str(port), str(real))
        if self._postgres is not None:
            text = text.replace("db.example", f"127.0.0.1:{self._postgres.process.port}")
        return text

    def _programs(self) -> None:
        """``dpsql`` and ``python`` of this environment, whatever else is on the machine."""
        programs = self._folder / ".programs"
        programs.mkdir()
        for name, words in (("python", ""), ("dpsql", " -m dpsql")):
            (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{words} "$@"\n')
            (programs / name).chmod(0o755)

    def _compare(self, block: Block, expected: str, printed: str) -> None:
        wanted, got = shape(expected), shape(printed.replace(str(self._folder), "/srv"))
        assert alike(wanted, got), f"{block} shows\n" + "\n".join(wanted) + "\nand this came out\n" + printed


def written(said: bytearray) -> Callable[[bytes], int]:
    def write(data: bytes) -> int:
        said.extend(data)
        return len(data)

    return write


@cache
def owners_postgres() -> Server:
    """One server for all pages, each of which makes databases and roles of its own. A ledger wants it to wait for its disk."""
    server = start(fsync="on")
    atexit.register(server.process.close)
    return server


_CATALOGS: list[Shadow] = []


def catalog_of(proxy: Proxy) -> Shadow:
    """The PostgreSQL without rows, started once: every page's clinic has the same tables."""
    if not _CATALOGS:
        _CATALOGS.append(Shadow.start(proxy.catalog, analysts(proxy.policy), "clinic"))
        atexit.register(_CATALOGS[0].close)
    return _CATALOGS[0]


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command after ``$ ``, continued where a line ends in a backslash or a quote is open, and its output."""
    command, output = "", ""
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            if command:
                yield command.strip(), output
            command, output = line[2:], ""
        elif command.endswith("\\\n") or command.count('"') % 2:
            command = command.removesuffix("\\\n") + line
        else:
            output += line
    if command:
        yield command.strip(), output


def conversation(text: str) -> tuple[str, str]:
    """What was typed at psql's prompts, and what came back."""
    lines = text.splitlines(keepends=True)
    typed = [re.sub(r"^clinic[=-]> ", "", line) for line in lines if re.match(r"clinic[=-]> ", line)]
    return "".join(typed), "".join(line for line in lines if not re.match(r"clinic[=-]> ", line))


def merged(one: Any, other: Any) -> Any:
    """``other`` over ``one``, key by key."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return other
    return one | {key: merged(one.get(key), value) for key, value in other.items()}


@contextmanager
def world(built: Path) -> Iterator[World]:
    """A folder with the clinic that was built in ``built``, as the working directory."""
    before, environment = Path.cwd(), dict(os.environ)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        shutil.copytree(built, folder / "dpsql-demo")
        made = World(folder, stack)
        os.chdir(folder)
        for name in TERMINAL:
            os.environ.pop(name, None)
        os.environ |= {
            "PATH": f"{folder / '.programs'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "PSQLRC": "/dev/null",
            "PAGER": "cat", "LC_ALL": "C.UTF-8", "PYTHONWARNINGS": "ignore",
        }  # fmt: skip
        try:
            yield made
        finally:
            made._hang_up()
            stack.close()
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)
