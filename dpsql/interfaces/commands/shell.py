"""``dpsql shell``: ask at a prompt that knows the tables, with error bars, prices and charts."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from rich.console import Console
from rich.text import Text

from dpsql.display import (
    FUNCTIONS,
    KEYWORDS,
    answer_table,
    chart_lines,
    explanation,
    grid,
    refusal,
    rows_line,
    vertical_lines,
)
from dpsql.errors import Error, install
from dpsql.guide import page
from dpsql.interfaces.commands.waiting import waiting
from dpsql.interfaces.python import Connection
from dpsql.price_text import left_over, price_line
from dpsql.reply import Answer
from dpsql.settings import NAMES
from rewriter.declared import Table

HELP = r"""A statement ends with ;  and the rest of a line that begins with \ is a command:
  \d            tables            \d TABLE      columns, as the owner declared them
  \budget       what is left      \explain SQL  what it would do and cost, free
  \x            rows one below the other, on and off
  \plot         a chart below each answer, on and off
  \guide PAGE   a page of the guide
  \?            this              \q            leave (or Ctrl+D)"""


class Shell:
    """One person's prompt. ``read`` asks for a line and raises EOFError at the end."""

    def __init__(self, connection: Connection, console: Console, *, plot: bool = False) -> None:
        self._connection = connection
        self._console = console
        self._vertical = False
        self._plot = plot
        self._commands: Mapping[str, Callable[[str], None]] = {
            "d": self._describe,
            "budget": self._budget,
            "explain": self._explain,
            "x": self._switch_vertical,
            "plot": self._switch_plot,
            "guide": lambda name: self._say(page(name or "README")),
            "?": lambda _: self._say(HELP),
        }

    def run(self, read: Callable[[str], str]) -> None:
        """Until the end, or ``\\q``."""
        pending = ""
        while True:
            try:
                line = read("dpsql> " if not pending else "   ... ")
            except KeyboardInterrupt:
                pending = ""
                continue
            except EOFError:
                return
            if not pending and line.strip().startswith("\\"):
                word, _, rest = line.strip()[1:].partition(" ")
                if word in ("q", "quit"):
                    return
                self._tried(lambda: self._command(word, rest.strip()), rest)  # noqa: B023
                continue
            pending = f"{pending}\n{line}" if pending else line
            if pending.rstrip().endswith(";"):
                text, pending = pending.strip().rstrip(";").strip(), ""
                if text:
                    self._tried(lambda: self._ask(text), text)  # noqa: B023
            elif not pending.strip():
                pending = ""

    def _tried(self, work: Callable[[], None], text: str) -> None:
        try:
            work()
        except Error as problem:
            self._say(refusal(problem, text))
        except KeyboardInterrupt:
            self._say("interrupted; what was charged stays charged")

    def _command(self, word: str, rest: str) -> None:
        found = self._commands.get(word)
        if found is None:
            self._say(f"there is no command \\{word}; \\? lists them")
        else:
            found(rest)

    def _ask(self, text: str) -> None:
        with waiting(self._console) as progress:
            answer = self._connection.answer(text, progress=progress)
        if answer.columns:
            self._show(answer)
        else:
            self._say(answer.tag)
        for notice in answer.notices:
            self._console.print(Text(f"NOTICE: {notice}", style="dim"))

    def _show(self, answer: Answer) -> None:
        if self._vertical:
            self._say("\n".join(vertical_lines(answer)))
        else:
            self._console.print(answer_table(answer))
        if self._plot and (lines := chart_lines(answer, min(self._console.width, 120))):
            self._say("\n".join(lines))
        self._say(rows_line(answer))
        self._say(price_line(answer))

    def _describe(self, name: str) -> None:
        tables = self._connection.catalog.tables
        if not name:
            kinds = ["public, exact" if table.public else "about people" for table in tables.values()]
            self._console.print(grid(["table", ""], [list(tables), kinds], [False, False]))
            return
        table = self._connection.catalog.find(name.strip('";'))
        if table is None:
            self._say(f"there is no table {name}")
            return
        columns = list(table.columns.values())
        said = [_declared(table, column.name) for column in columns]
        kinds = [str(column.type) for column in columns]
        self._console.print(
            grid(["column", "type", "declared"], [[one.name for one in columns], kinds, said], [False] * 3)
        )

    def _budget(self, _: str) -> None:
        self._say(f"Left: {left_over(self._connection.budget())}.")

    def _explain(self, text: str) -> None:
        self._console.print(explanation(self._connection.explain(text.rstrip(";")), sql=False), highlight=False)

    def _switch_vertical(self, _: str) -> None:
        self._vertical = not self._vertical
        self._say(f"Rows one below the other: {'on' if self._vertical else 'off'}.")

    def _switch_plot(self, _: str) -> None:
        self._plot = not self._plot
        self._say(f"Charts: {'on' if self._plot else 'off'}.")

    def _say(self, text: str) -> None:
        self._console.print(Text(text))


def _declared(table: Table, name: str) -> str:
    column = table.columns[name]
    if column.range is not None:
        return f"{column.range[0]} to {column.range[1]}"
    if column.values is not None:
        listed = ", ".join("NULL" if value is None else str(value) for value in column.values)
        return listed if len(listed) <= 60 else f"{len(column.values)} values"
    return "" if column.values_from is None else f"values of {'.'.join(column.values_from)}"


def words(connection: Connection) -> list[str]:
    """All that can be completed."""
    tables = connection.catalog.tables
    columns = {name for table in tables.values() for name in table.columns}
    return [*tables, *sorted(columns), *FUNCTIONS, *KEYWORDS, *NAMES, "\\d", "\\budget", "\\explain", "\\plot", "\\x"]


def prompt(known: Iterable[str]) -> Callable[[str], str]:
    """What reads a line: with completion and a history at a terminal where prompt_toolkit is there, else plainly."""
    if not sys.stdin.isatty():
        return _plain
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter
        from prompt_toolkit.history import FileHistory
    except ModuleNotFoundError:
        sys.stderr.write(f"Completion and a history: {install('shell')}\n")
        return input
    completer = WordCompleter(list(known), ignore_case=True, WORD=False)
    session: PromptSession[str] = PromptSession(
        history=FileHistory(str(_history())), completer=completer, complete_while_typing=False
    )
    return lambda text: session.prompt(text)


def _plain(text: str) -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def _history() -> Path:
    """A file that this user alone reads: statements may hold names."""
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "dpsql"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = home / "history"
    found.touch(mode=0o600)
    return found
