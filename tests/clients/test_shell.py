"""``dpsql shell``: what is typed, and what comes back."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

import dpsql
from dpsql.interfaces.commands.shell import Shell, words


@pytest.fixture
def connection(policy: Path) -> Iterator[dpsql.Connection]:
    with dpsql.connect(policy, "ana") as found:
        yield found


def typed(connection: dpsql.Connection, *lines: str) -> str:
    page = io.StringIO()
    waiting = iter(lines)

    def read(_: str) -> str:
        line = next(waiting, None)
        if line is None:
            raise EOFError
        if line == "^C":
            raise KeyboardInterrupt
        return line

    Shell(connection, Console(file=page, width=100, color_system=None)).run(read)
    return page.getvalue()


def test_a_statement_may_take_several_lines(connection: dpsql.Connection) -> None:
    text = typed(connection, "SELECT sex, COUNT(*) AS n", "FROM patient", "GROUP BY sex;")
    assert "±" in text
    assert "(ε = 0.25)" in text
    assert "NOTICE: " in text


def test_commands(connection: dpsql.Connection) -> None:
    assert "about people" in typed(connection, r"\d")
    assert "1920 to 2025" in typed(connection, r"\d patient")
    assert "there is no table nobody" in typed(connection, r"\d nobody")
    assert "Left: 100 % of the total budget" in typed(connection, r"\budget")
    told = typed(connection, r"\explain SELECT COUNT(*) FROM visit")
    assert "(ε = 0.25)" in told
    assert "Bounded SQL" not in told
    assert r"\plot" in typed(connection, r"\?")
    assert "# Glossary" in typed(connection, r"\guide glossary")
    assert "there is no command" in typed(connection, r"\nonsense")
    assert typed(connection, r"\q", "SELECT COUNT(*) FROM patient;") == ""


def test_vertical_rows_and_charts(connection: dpsql.Connection) -> None:
    text = typed(connection, r"\x", r"\plot", "SELECT sex, COUNT(*) AS n FROM patient GROUP BY sex;")
    assert "-[ 2 ]" in text
    assert "sex | F" in text
    assert "n, with 95 % intervals" in text
    assert "█" in text


def test_what_goes_wrong_is_told_and_the_prompt_goes_on(connection: dpsql.Connection) -> None:
    text = typed(connection, "SELECT * FROM patient;", "SELECT", "^C", ";", "SELECT name FROM region LIMIT 1;")
    assert "ERROR 42501" in text
    assert "Free." in text


def test_names_are_known(connection: dpsql.Connection) -> None:
    assert {"patient", "weight_kg", "COUNT", "SELECT", "dpsql.epsilon", "\\budget"} <= set(words(connection))


def test_it_reads_a_pipe_and_the_policy_from_the_environment(policy: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dpsql", "shell", "--analyst", "ana"],
        input="SELECT COUNT(*) FROM patient;\n\\budget\n", capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "DPSQL_POLICY": str(policy), "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "± 8" in done.stdout
    assert done.stdout.count("Left: ") == 2


def test_every_command_has_examples_and_exit_codes() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dpsql", "query", "--help"], capture_output=True, text=True, check=True
    )
    assert "examples:" in done.stdout
    assert "exit codes:" in done.stdout
