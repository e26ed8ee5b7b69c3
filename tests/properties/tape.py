"""A tape of all that chance decided: what was released of one database is played back over another.

Guarantee: under a tape that plays, whatever leaves the border between people's rows and released numbers is what was
recorded, whichever rows there are. The border has three gates: ``perturb``, the comparison of a watch, and a draw of the
sampler, of which the secret of blocks reaches an engine. Each asks for the next entry by what it is about; another order,
another plan, another noise or another price is :class:`Diverged`, and so is an entry that nobody asked for.

What a gate does is done over the other database too, without noise, and thrown away: it may not raise, and the groups of
a public key set are the same.

Why a folder: the workers of a server are processes, and one tape is for all of them.
``python -m tests.properties.tape FOLDER CLOCK serve POLICY …`` is the command line with a tape, which plays where it was
rewound, by the clock in a file.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import pytest

import dpsql.answer
import dpsql.proxy
from dpsql.calibrate import Calibration
from dpsql.engines.duckdb import duckdb_engine
from dpsql.engines.postgres.line import Line
from dpsql.mechanisms import AboveThreshold
from dpsql.mechanisms.sampling import ExactSampler, Law, Sampler
from dpsql.releases import ExactTable, NoisyTable
from tests.doubles import NoNoise
from tests.properties.clock_file import ClockFile

Drawn = TypeVar("Drawn")
_PLAYS, _DIVERGED = "plays", "diverged"


class Diverged(AssertionError):
    """Something that nobody's rows may decide was decided by them."""


class Tape:
    """Entries in their order, in a folder. Statements are asked one after the other, in whatever process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    @property
    def plays(self) -> bool:
        return (self.folder / _PLAYS).exists()

    def rewind(self) -> None:
        """From now on it plays, from its beginning."""
        for path in self.folder.glob("*.played"):
            path.rename(path.with_suffix(".entry"))
        (self.folder / _PLAYS).touch()

    def next(self, gate: str, about: object, honest: Callable[[], Drawn]) -> Drawn:
        """What a gate lets through: recorded now, or what was recorded. Raises :class:`Diverged`."""
        mark = f"{gate} {about}"
        if not self.plays:
            came = honest()
            number = len(list(self.folder.glob("*.entry")))
            (self.folder / f"{number:06}.entry").write_bytes(pickle.dumps((mark, came)))
            return came
        number = len(list(self.folder.glob("*.played")))
        path = self.folder / f"{number:06}.entry"
        if not path.exists():
            self.diverged(f"nothing more was released, and now there is {mark}")
        recorded, came = pickle.loads(path.read_bytes())  # noqa: S301  we have written it
        if recorded != mark:
            self.diverged(f"this was released: {recorded}\nand now it is {mark}")
        path.rename(path.with_suffix(".played"))
        return came  # type: ignore[no-any-return]

    def diverged(self, how: str) -> NoReturn:
        """Write it down, since the border of errors turns every exception into the same one."""
        (self.folder / _DIVERGED).write_text(how)
        raise Diverged(how)

    def check(self, asked: str) -> None:
        """Raise :class:`Diverged` where a gate has, in whatever process."""
        if (self.folder / _DIVERGED).exists():
            raise Diverged(f"{(self.folder / _DIVERGED).read_text()}\n{asked}")

    @property
    def position(self) -> int:
        """How many entries have been recorded, or played."""
        return len(list(self.folder.glob("*.played" if self.plays else "*.entry")))

    def asked(self, sql: str) -> None:
        """An engine is asked something."""
        with (self.folder / f"sql {self.plays}").open("a") as log:
            log.write(sql + "\0")

    @property
    def heard(self) -> list[str]:
        """All that an engine was asked since this was looked at."""
        path = self.folder / f"sql {self.plays}"
        found = path.read_text().split("\0") if path.exists() else [""]
        path.unlink(missing_ok=True)
        return found[:-1]


def _about(calibration: Calibration) -> str:
    """A calibration by all that matters: what is read, and how it is hidden at which price."""
    plan, groups = calibration.plan, (calibration.selected, calibration.peeled)
    parts = (plan.identity, plan.sql, calibration.read.sql, sorted(calibration.noise.items()), groups, calibration.loss)
    return repr((*parts, [choice.sql for choice in calibration.read.choices], calibration.picked))


class TapedSampler:
    """Draws of a tape."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def draw(self, law: Law[Drawn]) -> Drawn:
        return self._tape.next("drawn", repr(law), law.draw)


class _Listened:
    """A cursor of DuckDB whose statements are written down."""

    def __init__(self, cursor: Any, tape: Tape) -> None:
        self._cursor, self._tape = cursor, tape

    def execute(self, statement: Any, *more: Any) -> Any:
        self._tape.asked(statement if isinstance(statement, str) else statement.query)
        return self._cursor.execute(statement, *more)

    def sql(self, statement: str) -> Any:
        self._tape.asked(statement)
        return self._cursor.sql(statement)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


def install(tape: Tape, patch: pytest.MonkeyPatch) -> None:
    """Put the tape into the gates of this process, and listen to what its engines are asked."""
    perturb, above = dpsql.answer.perturb, AboveThreshold.above
    cursor, line = duckdb_engine._Cursor, Line.execute

    def gate(exact: ExactTable, calibration: Calibration, sampler: Sampler) -> NoisyTable:
        if tape.plays:
            now = perturb(exact, calibration, NoNoise())
        came = tape.next("released", _about(calibration), lambda: perturb(exact, calibration, ExactSampler()))
        if tape.plays and not (calibration.selected or calibration.peeled) and list(now.keys) != list(came.keys):
            tape.diverged(f"public groups are {list(came.keys)[:5]} … and {list(now.keys)[:5]} …")
        return came

    def compared(self: AboveThreshold, integer: int, noisy: int, sampler: Sampler) -> bool:
        return tape.next("compared", (self, noisy), lambda: above(self, integer, noisy, ExactSampler()))

    def execute(self: Line, sql: str) -> Any:
        tape.asked(sql)
        return line(self, sql)

    patch.setattr(dpsql.answer, "perturb", gate)
    patch.setattr(AboveThreshold, "above", compared)
    patch.setattr(dpsql.proxy, "ExactSampler", lambda: TapedSampler(tape))
    patch.setattr(duckdb_engine, "_Cursor", lambda database, found: cursor(database, _Listened(found, tape)))
    patch.setattr(Line, "execute", execute)


@contextmanager
def taped(folder: Path) -> Iterator[Tape]:
    """A tape in the gates of this process."""
    with pytest.MonkeyPatch.context() as patch:
        tape = Tape(folder)
        install(tape, patch)
        yield tape


def main() -> None:
    from dpsql.interfaces.commands.commands import main as command

    patch = pytest.MonkeyPatch()
    install(Tape(Path(sys.argv[1])), patch)
    ClockFile(Path(sys.argv[2])).install(patch)
    sys.exit(command(sys.argv[3:]))


if __name__ == "__main__":
    main()
