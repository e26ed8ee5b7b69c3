"""The same rows in every engine: the same question has the same catalog, the same groups and the same integers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pytest

from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.engines.engine import Engine
from dpsql.engines.postgres.postgres_engine import PostgresEngine
from dpsql.interfaces.commands import demo_clinic as clinic
from dpsql.interfaces.commands.demo import STEPS
from dpsql.policy.declared_catalog import catalog, fit
from dpsql.policy.policy import Policy
from dpsql.releases.tables import ExactTable
from rewriter.declared.catalog import Catalog
from rewriter.declared.contribution import Norm
from rewriter.plan import Plan
from rewriter.planner.one_scan import one_scans
from rewriter.planner.plan_release import plan
from rewriter.refused import Refused
from rewriter.split.splitter import split
from rewriter.statement.parser import Explain, Select, parse
from tests.doubles import open_without_noise
from tests.engines.postgres_server import Server, copy_tables, shared_server
from tests.golden.pairs import FOLDER, Pair, pairs
from tests.properties.step_by_step import read_in_steps

TABLES = ("region", "patient", "visit", "prescription", "sample", "referral")
SCANS: list[str] = []
"""The queries of which several plans were read together."""
ODD = (math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7e308, None)


def fill(connection: duckdb.DuckDBPyConnection) -> None:
    """The golden clinic, with what a generator of tame rows leaves out."""
    random = Random(7)
    connection.execute((FOLDER / "clinic.sql").read_text(encoding="utf-8"))

    def maybe(value: object, share: float = 0.1) -> object:
        return None if random.random() < share else value

    patients = [
        (
            n,
            random.choice("FMX"),
            maybe(random.randint(1850, 2060)),
            maybe(random.randint(-10, 400)),
            random.choice(ODD) if random.random() < 0.2 else random.uniform(-5, 320),
            maybe(random.random() < 0.3),
            maybe(random.choice(["flu", "Flu", "grippe é", "", "a\\b", "100%", "x_y", " flu "])),
            maybe(random.choice(["north", "south", "east", "nowhere"])),
        )
        for n in range(300)
    ]
    visits = [
        (
            n,
            int(300 * random.random() ** 3),
            date(2019, 6, 1) + timedelta(days=random.randrange(2600)),
            maybe(round(random.uniform(-50, 6000), 2)),
            maybe(random.choice(["check-up", "acute", "chronic", "other"])),
        )
        for n in range(4000)
    ]
    prescriptions = [
        (
            maybe(random.randrange(4500)),
            maybe(random.choice(["aspirin", "ASPIRIN", "", "b"])),
            random.choice(ODD) if random.random() < 0.2 else random.uniform(-1, 12),
            maybe(random.choice(["12", "-7.5", "2020-02-30", "2021-03-04", "none", ""])),
            maybe(random.choice([2**63 - 1, -(2**63), 0, 5, 10**6])),
        )
        for _ in range(3000)
    ]
    # Both ways of these lead to the same person, as the golden catalog has seen.
    samples = [
        (
            n,
            visit,
            visits[visit][1],
            maybe(random.randrange(40)),
            random.choice(ODD) if n % 5 == 0 else random.uniform(-9, 120),
        )
        for n, visit in enumerate(random.choices(range(len(visits)), k=2000))
    ]
    referrals = [
        (n, visits[visit][1], maybe(visit), date(2019, 11, 1) + timedelta(days=random.randrange(2400)))
        for n, visit in enumerate(random.choices(range(len(visits)), k=900))
    ]
    filled = {
        "patient": patients, "visit": visits, "prescription": prescriptions, "sample": samples, "referral": referrals,
    }  # fmt: skip
    for name, rows in filled.items():
        columns = [pa.array(column) for column in zip(*rows, strict=True)]
        connection.register("incoming", pa.table(columns, names=[f"c{place}" for place, _ in enumerate(columns)]))
        connection.execute(f"INSERT INTO {name} SELECT * FROM incoming")
        connection.unregister("incoming")


@dataclass(frozen=True, slots=True)
class Known:
    engine: Engine
    catalog: Catalog

    def run(self, sql: str, norm: Norm) -> list[ExactTable] | str:
        """The exact table of every release of a query; where it is refused, why."""
        try:
            statement = parse(sql)
            if isinstance(statement, Explain):
                statement = statement.query
            if not isinstance(statement, Select):
                return str(statement)
            dialect = self.engine.dialect
            plans = [plan(query, norm, dialect) for query in split(statement.tree, self.catalog, dialect).groupings]
        except Refused as refused:
            return f"{refused.sqlstate} {refused.message}"
        tables = {one.identity: read_in_steps(self.engine.run, one) for one in plans}
        for scan in one_scans(plans, dialect):
            # What is read together is what is read apart.
            assert self.engine.run_together(scan) == tuple(tables[one.identity] for one in scan.plans), sql
            SCANS.append(sql)
        return [_by_text(one, tables[one.identity]) for one in plans]


def _by_text(plan: Plan, table: ExactTable) -> ExactTable:
    """Each statistic under what it counts, with the conditions of an atom in the order of the alphabet: those of
    releases that became one are in the order of their own engine's spelling, which is free."""
    found: dict[str, tuple[int, ...]] = {}
    texts = {one.name: one.text for one in plan.statistics}
    for name, values in table.statistics.items():
        text = " and ".join(sorted(texts.get(name, name).removeprefix("rows with ").split(" and ")))
        found[text if text not in found else f"{name}: {text}"] = values
    assert len(found) == len(table.statistics)
    return replace(table, statistics=found)


@pytest.fixture(scope="module")
def postgres() -> Server:
    return shared_server()


def agreeing(policy: Policy, engine: Engine) -> Catalog:
    """The catalog of rows that lead to one person by every way."""
    # Where others may write, there is room for some rows more: planned for as many, both measure the same.
    schema, seen = engine.schema(), engine.public_profile("region")
    public = {"region": replace(seen, rows=3, grows=False)}
    agreed = dict.fromkeys(fit(policy, schema, public).agreements, True)
    return catalog(policy, schema, public, agreed=agreed)


@pytest.fixture(scope="module")
def known(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Known, Known]]:
    path = tmp_path_factory.mktemp("same") / "clinic.duckdb"
    setup = (FOLDER / "clinic.sql").read_text(encoding="utf-8").replace("DOUBLE", "DOUBLE PRECISION")
    name = postgres.database(setup.partition("INSERT")[0])
    with duckdb.connect(str(path)) as connection:
        fill(connection)
        with postgres.owner(name) as target:
            copy_tables(connection, target, TABLES)
    engines: tuple[Engine, Engine] = (DuckDBEngine.open(path), PostgresEngine.open(postgres.url(name)))
    policy = Policy.load(FOLDER / "clinic.yaml")
    duck, elephant = (Known(engine, agreeing(policy, engine)) for engine in engines)
    yield duck, elephant
    for engine in engines:
        engine.close()


@pytest.mark.parametrize("pair", pairs(), ids=lambda pair: pair.path.stem)
def test_the_same_question_has_the_same_integers(known: tuple[Known, Known], pair: Pair) -> None:
    ours, theirs = (one.run(pair.sql, pair.norm) for one in known)
    if isinstance(ours, str) or isinstance(theirs, str):
        assert ours == theirs
        return
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one.keys == other.keys
        assert [[type(part) for part in key] for key in one.keys] == [
            [type(part) for part in key] for key in other.keys
        ]
        assert one.statistics == other.statistics


def test_levels_and_totals_are_read_together(known: tuple[Known, Known]) -> None:
    rows = "FROM visit JOIN patient ON patient_id = patient.id"
    asked = f"SELECT reason, smoker, COUNT(*), COUNT(DISTINCT patient.id), SUM(cost) {rows}"
    for grouping in ("ROLLUP (reason, smoker)", "CUBE (reason, smoker)", "GROUPING SETS ((reason, smoker), (smoker))"):
        SCANS.clear()
        for norm in Norm:
            ours, theirs = (one.run(f"{asked} GROUP BY {grouping}", norm) for one in known)
            assert ours == theirs
        assert len(SCANS) == 4


TRICKY = (
    r"'a\b'", r"E'a\\b'", r"'a\\b'", "''''", r"'\''", "'--'", "'/*'", "'$$'", "'%s'", "'%(x)s'", "':x'", "'?'",
    "'$1'", "'{}'", "';'", "'grippe é'", "'GRIPPE É'", "' flu '", "'flu'", "''", "'\n'", "'\u202e'", "'\U0001f600'",
)  # fmt: skip
CONDITIONS = ("diagnosis = X", "diagnosis <> X", "diagnosis < X", "diagnosis LIKE X", "diagnosis IN (X, 'x')")


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_literal_means_the_same(known: tuple[Known, Known], condition: str) -> None:
    answered = 0
    for literal in TRICKY:
        sql = f"SELECT COUNT(*) FROM patient WHERE {condition.replace('X', literal)}"
        ours, theirs = (one.run(sql, Norm.L2) for one in known)
        if isinstance(ours, str) or isinstance(theirs, str):
            assert ours == theirs, sql
        else:
            assert [one.statistics for one in ours] == [one.statistics for one in theirs], sql
            answered += 1
    assert answered >= len(TRICKY) - 3


@pytest.mark.quick
def test_the_catalogs_differ_by_the_engines_types_alone(known: tuple[Known, Known]) -> None:
    def plain(one: Catalog) -> dict[str, object]:
        """Without what only a file that nobody writes to is known to keep unique."""
        return {
            name: replace(
                table,
                columns={
                    c.name: replace(c, engine_type="", unique=c.unique and c.name != "population")
                    for c in table.columns.values()
                },
            )
            for name, table in one.tables.items()
        }

    ours, theirs = (plain(one.catalog) for one in known)
    assert ours == theirs


def test_the_demo_answers_the_same_without_noise(postgres: Server, tmp_path: Path) -> None:
    """The whole path: policy, catalog, public tables in the sandbox, release, outer SELECT."""
    clinic.build(tmp_path)
    name = postgres.database(clinic.SCHEMA.replace("DOUBLE", "DOUBLE PRECISION"))
    with duckdb.connect(str(tmp_path / clinic.DATABASE), read_only=True) as source, postgres.owner(name) as target:
        target.execute("SET session_replication_role = replica")
        copy_tables(source, target, ("region", "patient", "visit"))
    policy = (tmp_path / clinic.POLICY).read_text(encoding="utf-8")
    other = policy.replace(f"duckdb:{clinic.DATABASE}", postgres.url(name)).replace(clinic.LEDGER, "other.ledger")
    (tmp_path / "other.yaml").write_text(other, encoding="utf-8")
    proxies = [open_without_noise(tmp_path / path) for path in (clinic.POLICY, "other.yaml")]
    try:
        for step in STEPS:
            if step.refused:
                continue
            ours, theirs = (proxy.session("ana").execute(step.sql) for proxy in proxies)
            assert ours.columns == theirs.columns
            assert ours.rows == theirs.rows, step.title
            assert ours.rows
        [public] = {proxy.session("ana").execute("SELECT * FROM region ORDER BY name").rows for proxy in proxies}
        assert len(public) == 6
    finally:
        for proxy in proxies:
            proxy.close()
