"""A database that has no policy yet: where it is, as somebody writes it in a command."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dpsql.engines import ENGINES, FILES, KINDS, Address, ListedFiles, kind_of, lake_kind
from dpsql.errors import OperationalError
from dpsql.policy.fields import Place
from dpsql.policy.secrets import without_secret


@dataclass(frozen=True, slots=True)
class FirstDatabase:
    """A database without a policy: where it is, and how a policy names it, without any password. ``files`` are those
    that are tables, by the table, and ``named`` how a policy names them."""

    place: Place
    written: str
    files: Mapping[str, ListedFiles] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)


def database_to_write(written: str, start: Path) -> FirstDatabase:
    """A database as a policy in the folder ``start`` names it. Raises :class:`OperationalError`.

    >>> database_to_write("postgresql://ana:secret@localhost/clinic", Path()).written
    'postgresql://ana@localhost/clinic'
    """
    address = address_of(written)
    if address.is_server:
        place = Place.of(written, Path())
        return FirstDatabase(place, without_secret(place.target))
    path = Path(written.removeprefix(f"{address.scheme}:"))
    if address == FILES or path.is_dir() or kind_of(written) is not None:
        return _tables_of_files(path, start)
    if not path.is_file():
        servers = ", ".join(str(address) for address in ENGINES.addresses if address.follows)
        raise OperationalError(
            f"there is no database {path}",
            sqlstate="58P01",
            hint=f"write one of {servers}, or a folder of Parquet or CSV files",
        )
    return FirstDatabase(Place(address, os.path.abspath(path)), f"{address.scheme}:{os.path.relpath(path, start)}")


def address_of(written: str) -> Address:
    """The kind of a database; a path alone is that of a file of the first kind."""
    first, *_ = addresses = ENGINES.addresses
    for address in addresses:
        mark = f":{address.follows if address.is_server else ''}" if address.follows else ""
        words = tuple(f"{scheme}{mark}" for scheme in (address.scheme, *address.also))
        if written.startswith(words) if mark else written in words:
            return address
    return first


def _tables_of_files(path: Path, start: Path) -> FirstDatabase:
    """A folder's files as tables. Files that differ by numbers alone are one table, named after the folder; any other
    is a table by itself, named after the file."""
    found = list(_patterns(path)) if path.is_dir() else [(path.name.split(".")[0], path)]
    if not found or not path.exists():
        hint = "its files end in .parquet, .csv or .tsv"
        raise OperationalError(f"there are no files of tables in {path}", sqlstate="58P01", hint=hint)
    tables = {re.sub(r"[^A-Za-z0-9_]", "_", name): os.path.abspath(pattern) for name, pattern in found}
    listed = {name: ListedFiles((pattern,)) for name, pattern in tables.items()}
    named = {name: os.path.relpath(pattern, start.absolute()) for name, pattern in tables.items()}
    return FirstDatabase(Place(FILES, ""), FILES.scheme, listed, named)


def _patterns(folder: Path) -> Iterator[tuple[str, Path]]:
    if lake_kind(os.fspath(folder)) is not None:
        yield folder.absolute().name, folder
        return
    inner = sorted(one for one in folder.iterdir() if one.is_dir() and not one.name.startswith((".", "_")))
    files = sorted(one for one in folder.iterdir() if one.is_file() and kind_of(one.name) is not None)
    partitioned = any("=" in one.name for one in inner)
    parts = len({_stem(one) for one in files}) == 1 and (len(files) > 1 or _is_part(files[0]))
    if partitioned or (parts and not inner):
        inside = next((one for one in sorted(folder.rglob("*")) if kind_of(one.name) is not None), None)
        if inside is not None:
            yield folder.absolute().name, folder / ("**" if partitioned else "") / f"*{_end(inside)}"
        return
    for file in files:
        yield file.name.split(".")[0], file
    for one in inner:
        yield from _patterns(one)


def _stem(file: Path) -> str:
    """A name without its numbers: files that differ by numbers alone are parts of one table.

    >>> _stem(Path("visits-2024-01.parquet")) == _stem(Path("visits-2024-02.parquet"))
    True
    """
    return "part-" if file.name.startswith("part-") else re.sub(r"[0-9]+", "0", file.name)


def _is_part(file: Path) -> bool:
    """Whether a program has named a file by its number, so that the folder's name alone says what its rows are.

    >>> _is_part(Path("part-00000.parquet")), _is_part(Path("data_0.parquet")), _is_part(Path("tests.csv"))
    (True, True, False)
    """
    return re.fullmatch(r"(?i)(part|data|file)?[-_]?[0-9]+.*", file.name.split(".")[0]) is not None


def _end(file: Path) -> str:
    """The end of a file's name that says its kind."""
    return next(end for end in sorted(KINDS, key=len, reverse=True) if file.name.lower().endswith(end))
