"""The files that an owner lists as the rows of tables, found once, and watched as long as they are open.

Guarantee: what is found are exact regular files, never a folder and never a link that somebody else may turn to another
file; and a difference between two fingerprints means that a file is not what it was when its keys were looked at. A
fingerprint is a file's device and number, size, times of change, and of a Parquet file the end, where it says which
rows it has. The time of change (``ctime``) is the system's own: nobody but root turns it back.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dpsql.engines.lake_tables import LakeVersion, lake_kind, snapshot
from dpsql.errors import OperationalError
from rewriter.declared import Type

KINDS = {".parquet": "parquet", ".csv": "csv", ".csv.gz": "csv", ".tsv": "tsv", ".tsv.gz": "tsv"}
"""What a file holds, by the end of its name."""

_GLOB = re.compile(r"[*?\[\]{}]")
_FOOTER = 64 * 1024
"""Bytes of the end of a Parquet file that count in its fingerprint."""

Fingerprint = tuple[int, int, int, int, int, bytes]


@dataclass(frozen=True, slots=True)
class ListedFiles:
    """The files of one table, as the owner wrote them: absolute paths, ``*`` and ``**`` allowed, or the folder of a
    table of a data lake, whose log says which files it has. ``types`` are those of columns whose files do not say any,
    and ``nulls`` the texts that stand for NULL in those. Rows that are ``numbered`` have their place in the files, in a
    column of its own, as what tells them apart."""

    patterns: tuple[str, ...]
    types: Mapping[str, Type] = field(default_factory=dict)
    nulls: tuple[str, ...] = ()
    numbered: bool = False

    def kind(self) -> str:
        """What all of them hold. Raises :class:`OperationalError`."""
        kinds = {kind_of(pattern) for pattern in self.patterns}
        if len(kinds) > 1 or None in kinds:
            raise _cannot(f"{', '.join(self.patterns)} are not all of one kind", f"name files of {_ENDS}")
        return str(kinds.pop())

    def snapshot(self) -> LakeVersion | None:
        """The present version of a table of a data lake; None where files are listed. Raises OperationalError."""
        if not any(map(lake_kind, self.patterns)):
            return None
        if len(self.patterns) > 1:
            raise _cannot(f"{', '.join(self.patterns)} are several tables", "name one, or the files themselves")
        return snapshot(self.patterns[0])

    def paths(self) -> tuple[str, ...]:
        """The exact files that there are now, in the order of their names. Raises :class:`OperationalError`."""
        if (version := self.snapshot()) is not None:
            return tuple(_plain(path, path) for path in sorted(version.paths))
        found = dict.fromkeys(path for pattern in self.patterns for path in _expanded(pattern))
        return tuple(sorted(found))


def kind_of(name: str) -> str | None:
    """What a file of this name holds, or what the files of a table of a data lake do.

    >>> kind_of("visits/2024.Parquet"), kind_of("visits/*.csv.gz"), kind_of("visits.xlsx")
    ('parquet', 'csv', None)
    """
    kind = next((kind for end, kind in KINDS.items() if name.lower().endswith(end)), None)
    return "parquet" if kind is None and lake_kind(name) is not None else kind


def holds_texts(name: str) -> bool:
    """Whether a file of this name does not say what its columns hold.

    >>> holds_texts("visits/*.csv.gz"), holds_texts("visits/2024.parquet")
    (True, False)
    """
    return kind_of(name) in ("csv", "tsv")


_ENDS = ", ".join(KINDS)


def _expanded(pattern: str) -> Iterator[str]:
    """The files of one pattern. What the owner wrote may lead through links; what a ``*`` stands for may not be one."""
    written = [part for part in Path(pattern).parts if not _GLOB.search(part)]
    if len(written) == len(Path(pattern).parts):
        yield _plain(os.path.realpath(pattern), pattern)
        return
    first = next(place for place, part in enumerate(Path(pattern).parts) if _GLOB.search(part))
    folder = os.path.realpath(os.path.join(*Path(pattern).parts[:first]))
    rest = os.path.join(*Path(pattern).parts[first:])
    names = sorted(glob.glob(rest, root_dir=folder, recursive=True))
    found = [name for name in names if not os.path.isdir(os.path.join(folder, name))]
    if not found:
        raise _cannot(f"there is no file {pattern}", "check the path: it starts at the folder of the policy")
    for name in found:
        path = os.path.join(folder, name)
        if os.path.realpath(path) != path:
            raise _cannot(f"{path} is a link", "name the file that it leads to: a link can be turned to another one")
        yield _plain(path, pattern)


def _plain(path: str, pattern: str) -> str:
    if not os.path.exists(path):
        raise _cannot(f"there is no file {pattern}", "check the path: it starts at the folder of the policy")
    if not os.path.isfile(path):
        hint = (
            f"name its files, such as {os.path.join(pattern, '*.parquet')}, or the folder of a Delta or Iceberg table"
        )
        raise _cannot(f"{pattern} is no file", hint)
    if _GLOB.search(path):
        raise _cannot(f"the name {path} has a character of * ? [ ] {{ }}", "give the file another name")
    return path


def _cannot(message: str, hint: str) -> OperationalError:
    return OperationalError(message, sqlstate="58P01", hint=hint)


class FilesChanged(Exception):
    """A file is not what it was when a statement began to read it."""


@dataclass(frozen=True, slots=True)
class WatchedFiles:
    """The files of tables, with the fingerprints that they had when they were opened."""

    listed: Mapping[str, ListedFiles] = field(default_factory=dict)
    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fingerprints: Mapping[str, Fingerprint] = field(default_factory=dict)

    @classmethod
    def of(cls, listed: Mapping[str, ListedFiles]) -> WatchedFiles:
        """The files that there are now. Raises OSError, and OperationalError for files that are none."""
        paths = {name: files.paths() for name, files in listed.items()}
        return cls(listed, paths, {path: fingerprint(path) for found in paths.values() for path in found})

    def check(self, tables: Iterable[str]) -> None:
        """Raises :class:`FilesChanged`."""
        try:
            same = all(fingerprint(path) == self.fingerprints[path] for name in tables for path in self.paths[name])
        except OSError:
            same = False
        if not same:
            raise FilesChanged

    def seem_same(self, tables: Iterable[str]) -> bool:
        """Whether the tables have the same files, of the same sizes and times: nothing of a file is read."""
        tables = tuple(tables)
        known = {name: tuple((path, self.fingerprints[path][:-1]) for path in self.paths[name]) for name in tables}
        return glances({name: self.listed[name] for name in tables}) == known

    def state(self, tables: Iterable[str]) -> str:
        """What tells the files of tables, and how they are read, from all others that they may have been, but for the
        device that they are on, which changes when a machine is started again."""
        told: list[object] = []
        for name in sorted(tables):
            told += [(name, path, self.fingerprints[path][1:]) for path in self.paths[name]]
            if (listed := self.listed[name]).types or listed.nulls:
                told.append((name, sorted((column, str(one)) for column, one in listed.types.items()), listed.nulls))
        return hashlib.blake2b(repr(told).encode(), digest_size=16).hexdigest()


def glances(listed: Mapping[str, ListedFiles]) -> Mapping[str, object]:
    """The files that tables have now, with their sizes and times; what is wrong with them, where that is so."""
    found: dict[str, object] = {}
    for name, files in listed.items():
        try:
            found[name] = tuple((path, _told(os.stat(path))) for path in files.paths())
        except (OSError, OperationalError) as problem:
            found[name] = str(problem)
    return found


def _told(known: os.stat_result) -> tuple[int, int, int, int, int]:
    return known.st_dev, known.st_ino, known.st_size, known.st_mtime_ns, known.st_ctime_ns


def fingerprint(path: str) -> Fingerprint:
    """What a file is told by. Raises OSError."""
    with open(path, "rb", buffering=0) as file:
        known = os.fstat(file.fileno())
        end = b""
        if kind_of(path) == "parquet":
            file.seek(max(0, known.st_size - _FOOTER))
            end = hashlib.blake2b(file.read(_FOOTER), digest_size=16).digest()
    return (*_told(known), end)
