"""A tape: one entry for every statement, in a file of JSON lines, written by several processes."""

from __future__ import annotations

import gc
import gzip
import json
import multiprocessing
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpsql.server.collector import seldom
from tests.tape.collected_sources import Batch
from tests.tape.entries import Entry, record, refusal
from tests.tape.worlds import opened

_CHUNK = 40
"""So many statements of a world are recorded by one process in a row; each chunk opens the world."""


@dataclass(slots=True)
class Tape:
    """``entries`` by world and source, ``words`` of each world: names of tables and columns; ``seconds`` it took."""

    entries: dict[str, Entry] = field(default_factory=dict)
    words: dict[str, list[str]] = field(default_factory=dict)
    seconds: float = 0.0

    def write(self, path: Path) -> None:
        """Statements in order, so that two tapes can be compared line by line, too."""
        with _open(path, "wt") as file:
            print(json.dumps({"words": self.words, "seconds": round(self.seconds, 1)}, sort_keys=True), file=file)
            for name in sorted(self.entries):
                print(json.dumps({"name": name, **self.entries[name]}, ensure_ascii=False), file=file)

    @classmethod
    def read(cls, path: Path) -> Tape:
        with _open(path, "rt") as file:
            head = json.loads(next(file))
            entries = {}
            for line in file:
                entry = json.loads(line)
                entries[entry.pop("name")] = entry
        return cls(entries, head["words"], head["seconds"])


def _open(path: Path, mode: str) -> Any:
    if path.suffix == ".gz":
        return gzip.open(path, mode, encoding="utf-8", compresslevel=3)
    return path.open(mode, encoding="utf-8")


def recorded(batches: Iterable[Batch], jobs: int = 2) -> Tape:
    """What becomes of all statements. A statement's name is its world's and its source's."""
    began, tape = time.monotonic(), Tape()
    for world, words, entries in _mapped(list(_chunks(batches)), jobs):
        tape.words[world] = words or tape.words.get(world, [])
        tape.entries.update(entries)
    tape.seconds = time.monotonic() - began
    return tape


def _chunks(batches: Iterable[Batch]) -> Iterator[Batch]:
    for world, asked in batches:
        for start in range(0, len(asked), _CHUNK):
            yield world, asked[start : start + _CHUNK]


def _settle() -> None:
    """Garbage is collected as seldom as in a server."""
    gc.freeze()
    seldom()


_Recorded = tuple[str, list[str], dict[str, Entry]]


def _mapped(chunks: Sequence[Batch], jobs: int) -> Iterator[_Recorded]:
    if jobs == 1 or len(chunks) == 1:
        yield from map(_recorded, chunks)
        return
    with multiprocessing.get_context("spawn").Pool(jobs, _settle) as pool:
        # The longest first: none is left over at the end.
        yield from pool.imap_unordered(_recorded, sorted(chunks, key=lambda one: -sum(len(a.sql) for a in one[1])))


def _recorded(batch: Batch) -> _Recorded:
    world, statements = batch
    names = [f"{world.name}: {asked.source}" for asked in statements]
    try:
        with opened(world) as found:
            entries = [record(found, asked) for asked in statements]
            return world.name, sorted(found.words), dict(zip(names, entries, strict=True))
    except Exception as error:  # The policy is not valid any more: so is every statement under it.
        told = refusal(error)
        told["message"] = f"the world does not open: {told['message']}"
        return (
            world.name,
            [],
            {
                name: {"sql": asked.sql, "settings": {}, "refused": told}
                for name, asked in zip(names, statements, strict=True)
            },
        )
