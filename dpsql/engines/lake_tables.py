"""Tables of a data lake: the Parquet files that the present version of a Delta or an Iceberg table has.

Guarantee: what is named are exact regular files inside the table's folder, all those that the table's log says to hold
the rows of one version, and no others. A table of which more than files and columns says what its rows are (deletion
vectors, delete files, columns mapped to other names, values of partitions that no path tells) is refused: no row is
read that the table does not have, and none is left out.

Logs are read by ``deltalake`` and ``pyiceberg``, where they are installed. No row is read here.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from dpsql.errors import OperationalError, install

if TYPE_CHECKING:
    from pyiceberg.table import FileScanTask

DELTA, ICEBERG = "delta", "iceberg"
_METADATA = ".metadata.json"
_READABLE = frozenset({"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
"""Features of Delta tables that say nothing of which rows there are beyond their files."""
_PARTITIONS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "BOOLEAN", "DATE", "VARCHAR"})
"""Types of a Delta partition's values, which stand in the names of its folders alone."""
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_DELTA_TYPES = {
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INTEGER",
    "long": "BIGINT",
    "float": "REAL",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "string": "VARCHAR",
    "timestamp": "TIMESTAMPTZ",
    "timestamp_ntz": "TIMESTAMP",
}
_ICEBERG_TYPES = {
    "int": "INTEGER",
    "long": "BIGINT",
    "float": "REAL",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "string": "VARCHAR",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "uuid": "UUID",
}


@dataclass(frozen=True, slots=True)
class LakeColumn:
    """A column of a table in some of its files: under which name, None where they lack it; ``type`` in DuckDB's words,
    None for one that is read as the files have it."""

    name: str
    stored: str | None
    type: str | None


@dataclass(frozen=True, slots=True)
class LakeFiles:
    """Files that have the same columns. ``partitions``: the types of columns whose values are the files' folders."""

    paths: tuple[str, ...]
    columns: tuple[LakeColumn, ...]
    partitions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LakeVersion:
    """One version of a table."""

    parts: tuple[LakeFiles, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(path for part in self.parts for path in part.paths)


def lake_kind(path: str) -> str | None:
    """Which kind of table a folder is, or whose metadata a file is.

    >>> lake_kind("lake/visit/metadata/00003-1b7d.metadata.json"), lake_kind("/no/folder")
    ('iceberg', None)
    """
    if path.endswith(_METADATA):
        return ICEBERG
    if os.path.isdir(os.path.join(path, "_delta_log")):
        return DELTA
    folder = os.path.join(path, "metadata")
    if os.path.isdir(folder) and any(name.endswith(_METADATA) for name in os.listdir(folder)):
        return ICEBERG
    return None


def snapshot(path: str) -> LakeVersion:
    """The present version of the table in a folder, or the one that a file of metadata describes.

    Raises :class:`OperationalError`, whose text is for the owner.
    """
    place = os.path.realpath(path)
    log, read = ("_delta_log", _delta) if lake_kind(place) == DELTA else ("metadata", _iceberg)
    try:
        return read(place, _state(place if os.path.isfile(place) else os.path.join(place, log)))
    except OperationalError:
        raise
    except OSError as error:
        problem = error.strerror or type(error).__name__
    except Exception as error:  # whatever a reader of logs makes of one that is broken
        problem = type(error).__name__
    raise _unreadable(path, problem)


def _state(place: str) -> tuple[tuple[str, int, int], ...]:
    """What a log is told by: every version is a new file in it."""
    if os.path.isfile(place):
        known = os.stat(place)
        return ((place, known.st_size, known.st_mtime_ns),)
    with os.scandir(place) as found:
        return tuple(sorted((one.name, one.stat().st_size, one.stat().st_mtime_ns) for one in found))


# Delta


@lru_cache(64)
def _delta(folder: str, state: tuple[tuple[str, int, int], ...]) -> LakeVersion:
    try:
        from deltalake import DeltaTable
    except ImportError:
        raise _without_reader(folder, DELTA) from None
    table = DeltaTable(folder)
    about = table.metadata()
    _check_features(folder, table.protocol(), about.configuration)
    types = {one["name"]: _delta_type(one["type"]) for one in json.loads(table.schema().to_json())["fields"]}
    partitions = {name: _partition_type(folder, name, types[name]) for name in about.partition_columns}
    files = _dictionaries(table.get_add_actions(flatten=False))
    found = [_delta_file(folder, one, tuple(partitions)) for one in files]
    return _grouped(folder, found, lambda path: _columns_by_name(folder, path, types, partitions), partitions)


def _dictionaries(table: Any) -> list[dict[str, Any]]:
    import pyarrow as pa

    rows: list[dict[str, Any]] = pa.table(table).to_pylist()
    return rows


def _check_features(folder: str, protocol: Any, configuration: Mapping[str, str | None]) -> None:
    features = set(protocol.reader_features or ()) - _READABLE
    mapped = (configuration.get("delta.columnMapping.mode") or "none") != "none"
    if protocol.min_reader_version == 2 and not mapped:
        features.discard("columnMapping")
    elif mapped or protocol.min_reader_version not in (1, 3):
        features.add("columnMapping")
    if features:
        raise OperationalError(
            f"the Delta table {folder} has {', '.join(sorted(features))}: its files alone do not say what its rows are",
            sqlstate="0A000",
            hint="take it away (REORG TABLE … APPLY (PURGE), ALTER TABLE … DROP FEATURE), or read the table with Spark",
        )


def _delta_type(told: object) -> str | None:
    if isinstance(told, str):
        if found := re.fullmatch(r"decimal\((\d+), ?(\d+)\)", told):
            return f"DECIMAL({found[1]}, {found[2]})"
        return _DELTA_TYPES.get(told)
    return None


def _partition_type(folder: str, name: str, kind: str | None) -> str:
    if kind not in _PARTITIONS:
        raise OperationalError(
            f"the Delta table {folder} is partitioned by {name}, which is no text, date, boolean or whole number",
            sqlstate="0A000",
            hint="partition it by a date or a text, or read the table with Spark",
        )
    return str(kind)


def _delta_file(folder: str, told: Mapping[str, Any], partitions: Sequence[str]) -> str:
    """The path of a file, which says the values of its partitions as the log has them: they are read from it."""
    path = unquote(told["path"])
    parts = path.split("/")[:-1]
    values = told.get("partition") or {}
    wanted = [f"{name}={_folder_of(values.get(name))}" for name in partitions]
    # What is not encoded in a name means the same as what is.
    told_otherwise = [unquote(one) for one in parts] != [unquote(one) for one in wanted]
    if partitions and (told_otherwise or any(str(values.get(name)).upper() in ("NULL", "") for name in partitions)):
        raise OperationalError(
            f"a file of the Delta table {folder} lies in a folder that does not say the values of its partitions",
            sqlstate="0A000",
            hint="write the table anew, with folders such as year=2025, or read it with Spark",
        )
    return _inside(folder, os.path.join(folder, path))


def _folder_of(value: object) -> str:
    if value is None:
        return _NO_VALUE
    return quote(str(value).lower() if isinstance(value, bool) else str(value), safe="")


def _columns_by_name(
    folder: str, path: str, types: Mapping[str, str | None], partitions: Mapping[str, str]
) -> tuple[LakeColumn, ...]:
    stored = set(_stored(path).names)
    return tuple(
        _column(folder, name, name if name in stored or name in partitions else None, kind)
        for name, kind in types.items()
    )


# Iceberg


@lru_cache(64)
def _iceberg(place: str, state: tuple[tuple[str, int, int], ...]) -> LakeVersion:
    try:
        from pyiceberg.table import StaticTable
    except ImportError:
        raise _without_reader(place, ICEBERG) from None
    described = place if os.path.isfile(place) else _described(place, [name for name, _, _ in state])
    folder = str(Path(described).parent.parent)
    table = StaticTable.from_metadata(described)
    tasks = list(table.scan().plan_files()) if table.metadata.current_snapshot_id is not None else []
    fields = {one.field_id: (one.name, _iceberg_type(one.field_type)) for one in table.schema().fields}
    sources = {one.source_id for spec in table.specs().values() for one in spec.fields}
    found = [_iceberg_file(folder, task) for task in tasks]
    return _grouped(folder, found, lambda path: _columns_by_number(folder, path, fields, sources), {})


def _described(folder: str, names: Sequence[str]) -> str:
    """The file that describes the present version: the one that the table's hint names, or the one with the last
    number."""
    if "version-hint.text" in names:
        told = Path(folder, "metadata", "version-hint.text").read_text(encoding="utf-8").strip()
        found = [name for name in (f"v{told}{_METADATA}", f"{told}{_METADATA}", told) if name in names]
    else:
        numbered: dict[int, list[str]] = {}
        for name in names:
            if name.endswith(_METADATA) and (number := re.match(r"v?(\d+)", name)):
                numbered.setdefault(int(number[1]), []).append(name)
        found = numbered[max(numbered)] if numbered else []
    if len(found) != 1:
        raise OperationalError(
            f"which version of the Iceberg table {folder} is the present one cannot be told from its metadata",
            sqlstate="58000",
            hint=f"name the file that its catalog names: files: …/metadata/00003-….{_METADATA[1:]}",
        )
    return os.path.join(folder, "metadata", found[0])


def _iceberg_type(told: object) -> str | None:
    text = str(told)
    if found := re.fullmatch(r"decimal\((\d+), ?(\d+)\)", text):
        return f"DECIMAL({found[1]}, {found[2]})"
    return _ICEBERG_TYPES.get(text)


def _iceberg_file(folder: str, task: FileScanTask) -> str:
    if task.delete_files:
        raise OperationalError(
            f"the Iceberg table {folder} has files of deleted rows",
            sqlstate="0A000",
            hint="write its data anew without them (rewrite_data_files), or read the table with Spark",
        )
    if task.file.file_format != "PARQUET":
        raise OperationalError(
            f"the Iceberg table {folder} has files that are no Parquet", sqlstate="0A000", hint="read it with Spark"
        )
    place = urlsplit(task.file.file_path)
    if place.scheme not in ("", "file"):
        raise OperationalError(
            f"the files of the Iceberg table {folder} are not on this machine", sqlstate="58P01", hint="mount them"
        )
    return _inside(folder, place.path if place.scheme else task.file.file_path)


def _columns_by_number(
    folder: str, path: str, fields: Mapping[int, tuple[str, str | None]], sources: set[int]
) -> tuple[LakeColumn, ...]:
    """Columns are told by their numbers: a file that was written before one was renamed has it under another name."""
    stored: dict[int, str] = {}
    for one in _stored(path):
        number = (one.metadata or {}).get(b"PARQUET:field_id")
        if number is None:
            raise OperationalError(
                f"{path} does not number its columns", sqlstate="0A000", hint="write the Iceberg table anew"
            )
        stored[int(number)] = one.name
    if any(number in sources and number not in stored for number in fields):
        raise OperationalError(
            f"{path} has no column by which the Iceberg table {folder} is partitioned",
            sqlstate="0A000",
            hint="write the table anew, or read it with Spark",
        )
    return tuple(_column(folder, name, stored.get(number), kind) for number, (name, kind) in fields.items())


# Both


def _stored(path: str) -> Any:
    import pyarrow.parquet as pq

    return pq.read_schema(path)


def _column(folder: str, name: str, stored: str | None, kind: str | None) -> LakeColumn:
    if stored is None and kind is None:
        raise OperationalError(
            f"the column {name} of {folder} is in some of its files alone, and has a type that is not known here",
            sqlstate="0A000",
            hint="write the table anew, so that all of its files have the column",
        )
    return LakeColumn(name, stored, kind)


def _grouped(
    folder: str, paths: Sequence[str], columns: Callable[[str], tuple[LakeColumn, ...]], partitions: Mapping[str, str]
) -> LakeVersion:
    if not paths:
        raise OperationalError(f"the table {folder} has no file yet", sqlstate="58P01", hint="write its first rows")
    parts: dict[tuple[LakeColumn, ...], list[str]] = {}
    for path in sorted(paths):
        parts.setdefault(columns(path), []).append(path)
    return LakeVersion(tuple(LakeFiles(tuple(found), one, partitions) for one, found in parts.items()))


def _inside(folder: str, path: str) -> str:
    """An exact regular file of the table's folder."""
    found = os.path.normpath(path)
    if not found.startswith(folder + os.sep) or os.path.realpath(found) != found or not os.path.isfile(found):
        raise OperationalError(
            f"the table {folder} names {path}, which is no file of its folder",
            sqlstate="58P01",
            hint="copy the table as a whole (a deep clone), to where it was written",
        )
    return found


def _without_reader(place: str, kind: str) -> OperationalError:
    """Of a kind whose extra, which has its name, is not installed."""
    text = f"{place} is a table of {kind.title()}, and what reads its log is not installed"
    return OperationalError(text, sqlstate="58000", hint=install(kind))


def _unreadable(place: str, problem: str) -> OperationalError:
    return OperationalError(
        f"the table {place} cannot be read: {problem}", sqlstate="58030", hint="does the program that wrote it read it?"
    )
