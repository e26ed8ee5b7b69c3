"""Tables of Delta Lake and Iceberg: the rows of their present version, and no others, without any Spark."""

from __future__ import annotations

import datetime
import json
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import LongType, StringType

from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.engines.lake_tables import _iceberg_file
from dpsql.engines.listed_files import ListedFiles
from dpsql.errors import OperationalError
from dpsql.interfaces.commands.commands import main
from dpsql.mechanisms.sampling import ExactSampler
from dpsql.opened import open_policy
from dpsql.proxy import Proxy
from dpsql.testing import measure
from tests.policies import policy_text

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")

ROWS = pa.table(
    {
        "patient_id": [0, 1, 2, 3],
        "city": ["a b", "x/y", None, "ü=1%"],
        "day": [datetime.date(2024, 1, day) for day in (1, 1, 2, 3)],
        "cost": [1.0, 2.0, 3.0, 4.0],
    }
)
MORE = pa.table({"patient_id": [9], "city": ["q"], "day": [datetime.date(2025, 1, 1)], "cost": [5.0], "note": ["n"]})
EVERY = [
    (0, "a b", datetime.date(2024, 1, 1), 1.0, None),
    (1, "x/y", datetime.date(2024, 1, 1), 2.0, None),
    (2, None, datetime.date(2024, 1, 2), 3.0, None),
    (3, "ü=1%", datetime.date(2024, 1, 3), 4.0, None),
    (9, "q", datetime.date(2025, 1, 1), 5.0, "n"),
]


def rows_of(place: Path, names: tuple[str, ...] = ("patient_id", "city", "day", "cost", "note")) -> list[Any]:
    engine = DuckDBEngine.over({"visit": ListedFiles((str(place),))})
    with closing(engine):
        return sorted(zip(*(column.to_pylist() for column in engine.public_rows("visit", names).columns), strict=True))


def delta(folder: Path, partition_by: list[str] | None = None) -> Path:
    place = folder / "visit"
    write_deltalake(place, ROWS, partition_by=partition_by)
    write_deltalake(place, MORE, mode="append", schema_mode="merge")
    return place


def catalog_of(folder: Path) -> SqlCatalog:
    catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    catalog.create_namespace("shop")
    return catalog


def iceberg(folder: Path) -> tuple[SqlCatalog, Path]:
    """A table of which a column was renamed and one added since its first file."""
    catalog = catalog_of(folder)
    table = catalog.create_table(
        "shop.visit", schema=ROWS.rename_columns(["patient_id", "city", "day", "price"]).schema
    )
    table.append(ROWS.rename_columns(["patient_id", "city", "day", "price"]))
    with table.update_schema() as change:
        change.rename_column("price", "cost")
        change.add_column("note", StringType())
    table = catalog.load_table("shop.visit")
    table.append(MORE)
    return catalog, folder / "shop" / "visit"


@pytest.mark.parametrize("partition_by", [None, ["city"], ["day"], ["day", "city"], ["patient_id", "city"]], ids=str)
def test_a_delta_table_has_the_rows_of_its_version(tmp_path: Path, partition_by: list[str] | None) -> None:
    """Values of partitions stand in the names of folders, encoded twice; a file that is older than a column has NULL."""
    assert rows_of(delta(tmp_path, partition_by)) == sorted(EVERY, key=lambda row: row[0])


def test_rows_that_were_deleted_are_not_read(tmp_path: Path) -> None:
    place = delta(tmp_path)
    DeltaTable(place).delete("cost > 3.5")
    assert [row[0] for row in rows_of(place)] == [0, 1, 2]
    assert len(list(place.glob("*.parquet"))) > len(DeltaTable(place).file_uris())


def test_an_iceberg_table_tells_columns_by_their_numbers(tmp_path: Path) -> None:
    _, place = iceberg(tmp_path)
    assert rows_of(place) == EVERY
    first = min(place.glob("metadata/00001-*.metadata.json"))
    assert [row[3] for row in rows_of(first, ("patient_id", "city", "day", "price"))] == [1.0, 2.0, 3.0, 4.0]


def test_a_column_of_a_name_that_another_had_is_another(tmp_path: Path) -> None:
    """The old one's values are not read for the new one's, nor a whole number that became a longer one wrongly."""
    catalog, place = iceberg(tmp_path)
    table = catalog.load_table("shop.visit")
    with table.update_schema(allow_incompatible_changes=True) as change:
        change.delete_column("cost")
    with catalog.load_table("shop.visit").update_schema() as change:
        change.add_column("cost", LongType())
    assert [row[0] for row in rows_of(place, ("cost", "patient_id"))] == [None] * 5


POLICY = policy_text("""
database: files; ledger: sqlite:clinic.ledger; privacy_unit: patient.id; budget: {epsilon: 10, delta: 1e-6}
tables:
  patient(files: patient): id
  visit(patient_id -> patient.id, files: visit, max_rows: 5): cost 0..200
""")


def served(folder: Path) -> Path:
    write_deltalake(folder / "patient", pa.table({"id": list(range(40))}))
    path = folder / "clinic.yaml"
    path.write_text(POLICY)
    return path


def total(path: Path) -> int:
    [found] = measure("SELECT SUM(cost) FROM visit", path)
    [cells] = found.groups.values()
    return sum(cells.values())


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_new_version_is_answered_and_bought_anew(tmp_path: Path, kind: str) -> None:
    path = served(tmp_path)
    catalog = None
    if kind == "delta":
        delta(tmp_path)
    else:
        catalog, place = iceberg(tmp_path)
        path.write_text(POLICY.replace("files: visit", f"files: {place.relative_to(tmp_path)}"))
    assert main(["check", str(path)]) == 0
    before = total(path)
    with closing(Proxy(open_policy(path), ExactSampler())) as proxy:
        session = proxy.session()
        prices = [session.execute("SELECT SUM(cost) FROM visit").price for _ in range(2)]
        if catalog is None:
            write_deltalake(tmp_path / "visit", MORE, mode="append")
        else:
            catalog.load_table("shop.visit").append(MORE)
        prices += [session.execute("SELECT SUM(cost) FROM visit").price for _ in range(2)]
    assert [bool(price) for price in prices] == [True, False, True, False]
    assert total(path) - before == before // 3  # 15 and 5 more, whatever a step of the lattice is


def test_init_knows_tables_of_a_lake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    served(tmp_path)
    delta(tmp_path, ["day"])
    assert main(["init", str(tmp_path), "--output", str(tmp_path / "policy.yaml"), "--yes"]) == 0
    text = (tmp_path / "policy.yaml").read_text()
    assert "files: patient\n" in text
    assert "files: visit\n" in text
    capsys.readouterr()


def _feature(place: Path, **protocol: object) -> None:
    log = place / "_delta_log"
    number = len(list(log.glob("*.json")))
    (log / f"{number:020}.json").write_text(json.dumps({"protocol": protocol}) + "\n")


def _deletion_vectors(place: Path) -> None:
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    _feature(place, minReaderVersion=3, minWriterVersion=7, **features)


def _columns_mapped(place: Path) -> None:
    first = place / "_delta_log" / f"{0:020}.json"
    text = first.read_text()
    assert '"configuration":{}' in text
    first.write_text(text.replace('"configuration":{}', '"configuration":{"delta.columnMapping.mode":"name"}'))


def _a_file_outside(place: Path) -> None:
    shutil.copy(next(place.glob("*.parquet")), place.parent / "other.parquet")
    _renamed(place, "../other.parquet")


def _a_link(place: Path) -> None:
    file = next(place.glob("*.parquet"))
    os.rename(file, place.parent / "real.parquet")
    os.symlink(place.parent / "real.parquet", file)


def _a_file_that_is_gone(place: Path) -> None:
    next(place.glob("*.parquet")).unlink()


def _renamed(place: Path, name: str) -> None:
    first = place / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in first.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["path"] = name
    first.write_text("\n".join(map(json.dumps, lines)) + "\n")


def _a_log_of_nothing(place: Path) -> None:
    (place / "_delta_log" / f"{0:020}.json").write_text("{}\n")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_deletion_vectors, "deletionVectors|cannot be read"),
        (_columns_mapped, "columnMapping|cannot be read"),
        (_a_file_outside, "no file of its folder"),
        (_a_link, "no file of its folder"),
        (_a_file_that_is_gone, "no file of its folder"),
        (_a_log_of_nothing, "cannot be read"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_a_delta_table_of_more_than_files_is_refused(tmp_path: Path, spoil: Callable[[Path], None], said: str) -> None:
    place = tmp_path / "visit"
    write_deltalake(place, ROWS)
    spoil(place)
    with pytest.raises(OperationalError, match=said) as caught:
        rows_of(place)
    assert caught.value.__context__ is None


def test_a_partition_by_a_number_with_a_point_is_refused(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "visit", ROWS, partition_by=["cost"])
    with pytest.raises(OperationalError, match="partitioned by cost"):
        rows_of(tmp_path / "visit")


def test_a_partition_whose_value_reads_as_none_is_refused(tmp_path: Path) -> None:
    """What the engine reads out of a folder's name is what the log says, or nothing is read."""
    write_deltalake(tmp_path / "visit", pa.table({"id": [1, 2], "city": ["NULL", "a"]}), partition_by=["city"])
    with pytest.raises(OperationalError, match="does not say the values"):
        rows_of(tmp_path / "visit")


def test_an_iceberg_table_with_deleted_rows_is_refused(tmp_path: Path) -> None:
    file = SimpleNamespace(file_path=str(tmp_path / "a.parquet"), file_format="PARQUET")
    (tmp_path / "a.parquet").touch()
    assert _iceberg_file(str(tmp_path), SimpleNamespace(file=file, delete_files=set())) == file.file_path  # type: ignore[arg-type]
    with pytest.raises(OperationalError, match="files of deleted rows"):
        _iceberg_file(str(tmp_path), SimpleNamespace(file=file, delete_files={"d"}))  # type: ignore[arg-type]


def test_of_two_last_versions_none_is_taken(tmp_path: Path) -> None:
    _, place = iceberg(tmp_path)
    last = max(place.glob("metadata/*.metadata.json"))
    shutil.copy(last, last.with_name(last.name.replace("-", "-0", 1)))
    with pytest.raises(OperationalError, match="which version of the Iceberg table"):
        rows_of(place)
    assert rows_of(last) == EVERY


def test_a_table_without_a_row_says_so(tmp_path: Path) -> None:
    catalog_of(tmp_path).create_table("shop.visit", schema=ROWS.schema)
    with pytest.raises(OperationalError, match="has no file yet"):
        rows_of(tmp_path / "shop" / "visit")
