"""Engines are found by the entry points of installed packages, and imported when they are used."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from dpsql.engines import ENGINES
from dpsql.engines.registry import FIRST, GROUP, Engines
from dpsql.errors import OperationalError
from tests.policies import policy_text

ROOT = Path(__file__).parents[2]
PLUGIN = """
from dpsql.engines import PATH, Address, EngineKind
from tests.engines.toy_dialect import TOY

class Spelt:
    \"\"\"A DuckDB that is spoken to in the toy's words: for plans alone.\"\"\"

    def __init__(self, engine):
        self.engine, self.dialect = engine, TOY

    def __getattr__(self, name):
        return getattr(self.engine, name)

def opened(path, resources, files):
    from dpsql.engines.duckdb import DuckDBEngine

    return Spelt(DuckDBEngine.open(path))

TOY_FILE = EngineKind(Address("toy", PATH, also=("plaything",)), TOY, opened)
"""
POLICY = policy_text("""
database: {place}; ledger: sqlite:ledger.sqlite; privacy_unit: person.id; budget: {epsilon: 10}
analysts: {ana: {}}
tables:
  person: name [ana, ben]
""")


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, GROUP)


def run(code: str, *paths: Path) -> str:
    """What a new Python prints whose search path begins with these folders."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (*paths, ROOT)))}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder into which a package is installed that gives an engine called ``toy``."""
    (tmp_path / "toy_engine.py").write_text(PLUGIN)
    about = tmp_path / "toy_engine-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-engine\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\ntoy = toy_engine:TOY_FILE\n")
    return tmp_path


def test_our_own_engines_are_found_and_no_driver_is_imported() -> None:
    drivers = "{'duckdb', 'psycopg', 'pyspark'} & {*sys.modules}"
    code = f"import sys; from dpsql.engines import ENGINES; print(*ENGINES, *ENGINES.addresses, {drivers})"
    assert run(code).split() == [
        *("duckdb", "files", "postgresql", "spark"),
        *("duckdb:PATH", "files", "postgresql://…", "spark:sc://…", "set()"),
    ]


@pytest.mark.parametrize("place", ["toy", "plaything"])
def test_a_policy_names_the_engine_of_another_package(installed: Path, place: str) -> None:
    import duckdb

    with duckdb.connect(str(installed / "people.duckdb")) as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT)")
    (installed / "policy.yaml").write_text(POLICY.format(place=f"{place}:people.duckdb"))
    code = f"""
import dpsql
with dpsql.connect({str(installed / "policy.yaml")!r}) as connection:
    print(connection.explain("SELECT COUNT(*) FROM person WHERE LOWER(name) = 'ana'").releases[0].plan.sql)
"""
    assert "TOY_LOWER" in run(code, installed)
    shown = run("from dpsql.interfaces.commands.commands import main; main(['init', '--help'])", installed)
    assert "toy:PATH" in " ".join(shown.split())


def test_an_unknown_scheme_is_answered_with_those_that_are_installed(tmp_path: Path) -> None:
    from dpsql.policy import Policy

    path = tmp_path / "policy.yaml"
    path.write_text(POLICY.format(place="oracle://people"))
    with pytest.raises(OperationalError, match=r"write one of duckdb:PATH, files, postgresql://…, spark:sc://…"):
        Policy.load(path)


def test_the_engine_of_a_path_without_a_scheme_is_the_first_whatever_else_is_installed() -> None:
    found = Engines(
        [point("aaa", "nowhere:A"), *(point(name, f"dpsql.engines.own_kinds:{value}") for name, value in OWN)]
    )
    assert list(found) == [FIRST, "aaa", "files"]
    assert [str(address) for address in found.addresses] == ["duckdb:PATH", "files"]
    assert found.address_of("files") == ENGINES["files"].address


OWN = [("files", "LISTED_FILES"), ("duckdb", "DUCKDB_FILE")]


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        ([point("x", "nowhere_at_all:X")], "the engine x of nowhere_at_all does not load: ModuleNotFoundError"),
        ([point("x", "dpsql.engines.own_kinds:MISSING")], "does not load: AttributeError"),
        ([point("x", "dpsql.engines.own_kinds:FILES")], "is no dpsql.engines.EngineKind of the scheme x"),
        ([point("x", "dpsql.engines.own_kinds:DUCKDB_FILE")], "is no dpsql.engines.EngineKind of the scheme x"),
        ([point("x", "one:X"), point("x", "other:X")], "one and other both give the engine x"),
    ],
)
def test_an_engine_that_cannot_be_told_is_refused_and_no_other(points: list[EntryPoint], reason: str) -> None:
    found = Engines([*points, point("files", "dpsql.engines.own_kinds:LISTED_FILES")])
    with pytest.raises(OperationalError, match=reason):
        found.address_of("x")
    assert found.address_of("files") == ENGINES["files"].address


def test_a_second_package_for_our_own_scheme_is_refused_before_anything_is_opened(installed: Path) -> None:
    about = next(installed.glob("*.dist-info"))
    (about / "entry_points.txt").write_text(f"[{GROUP}]\nduckdb = toy_engine:TOY_FILE\n")
    code = """
from pathlib import Path
from dpsql.engines import ENGINES
try:
    ENGINES.address_of("duckdb")
except Exception as refused:
    print(refused)
"""
    assert "dpsql and toy-engine both give the engine duckdb" in run(code, installed)
