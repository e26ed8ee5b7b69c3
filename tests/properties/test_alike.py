"""Inference moves nothing where there is no noise: whatever it makes agree does agree, however people are shortened.

People are beyond every bound here, in rows, in groups, in rows of one group, and in what their values add up to. An
answer is compared with the measurements that it is made of, which ``SET dpsql.consistent = off`` shows.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import duckdb
import pytest

from dpsql.proxy import Session
from dpsql.testing import measure
from rewriter.declared.contribution import Norm
from tests.properties.planted import case

PEOPLE = 60
STATEMENTS = 2
"""Of each policy and accounting in the default run."""
EPSILON = 1
"""A usual price: its noise reaches farther than clipping moves. Where no noise reaches, nothing is made to agree."""

POLICIES = {
    "rows": "max_rows: 3",
    "many rows": "max_rows: 40",
    "rows of a group": "max_rows: 12, max_rows_per_group: 2",
    "groups": "max_rows: 12, max_groups: 2, max_rows_per_group: 3",
    "key": "max_rows: 5, key: [pid, day, place]",
    "total": "max_rows: 12",
}
COLUMNS = """
      pid: {{}}
      x: {{range: [0, 400]{total}}}
      y: {{range: [-50, 50]}}
      day: {{range: [2025-01-01, 2025-01-06]}}
      place: {{range: [1, 4]}}
      kind: {{values: [a, b, c]}}
"""
MEASURES = [
    "COUNT(*)",
    "SUM(x)",
    "SUM(y)",
    "SUM(x) - SUM(y)",
    "AVG(x)",
    "STDDEV_POP(x)",
    "COUNT(x)",
    "COUNT(*) FILTER (WHERE x > 100)",
    "SUM(x) FILTER (WHERE kind = 'a')",
    "SUM(x) FILTER (WHERE place > 1)",
    "COUNT(DISTINCT pid)",
    "COUNT(DISTINCT place)",
    "VAR_SAMP(y)",
]
KEYS = ["kind", "place", "day", "p.sex", "CASE WHEN x > 100 THEN 1 ELSE 0 END"]


def setup(seed: int) -> list[str]:
    """Rows as they come: from none to far beyond every bound, values and keys that are not declared, and NULLs."""
    random = Random(seed)
    rows = []
    for person in range(PEOPLE):
        for _ in range(random.choice([0, 1, 2, 3, 5, 13, 40])):
            x = random.choice(["NULL", "0", "400", "900", "-7", str(random.randrange(400))])
            y = random.choice(["NULL", "-50", "50", str(random.randrange(-60, 60))])
            day = f"'2025-01-0{random.choice([1, 1, 2, 3, 6, 9])}'"
            kind = random.choice(["'a'", "'a'", "'b'", "'z'", "NULL"])
            rows.append(f"({person}, {x}, {y}, {day}, {random.choice([1, 1, 2, 4, 7])}, {kind})")
    return [
        "CREATE TABLE person (id INTEGER PRIMARY KEY, sex TEXT)",
        f"INSERT INTO person SELECT i, CASE WHEN i % 3 = 0 THEN 'F' WHEN i % 3 = 1 THEN 'M' END FROM generate_series(0, {PEOPLE - 1}) AS t(i)",
        "CREATE TABLE visit (pid INTEGER, x INTEGER, y INTEGER, day DATE, place INTEGER, kind TEXT)",
        f"INSERT INTO visit VALUES {', '.join(rows)}",
    ]


def keyed(seed: int) -> list[str]:
    """The same with one row of a person for each day and place, which the database enforces."""
    return [
        *setup(seed),
        "CREATE TABLE one AS SELECT pid, day, place, MIN(x) AS x, MAX(y) AS y, MIN(kind) AS kind FROM visit GROUP BY 1, 2, 3",
        "DROP TABLE visit",
        "CREATE TABLE visit (pid INTEGER, x INTEGER, y INTEGER, day DATE, place INTEGER, kind TEXT, UNIQUE (pid, day, place))",
        "INSERT INTO visit SELECT pid, x, y, day, place, kind FROM one",
        "DROP TABLE one",
    ]


def tables_of(policy: str) -> str:
    """The policy's part of that name."""
    before, bracket, after = POLICIES[policy].partition("[")
    bounds = before.replace(", ", "\n    ") + bracket + after
    columns = COLUMNS.format(total=", max_total: 700" if policy == "total" else "")
    person = "  person: {columns: {id: {}, sex: {values: [F, M]}}}\n"
    return f"{person}  visit:\n    unit: pid -> person.id\n    {bounds}\n    columns:{columns}"


def statement(random: Random, measures: list[str]) -> str:
    keys = random.sample(KEYS, random.choice([1, 2, 2]))
    sets = [f"ROLLUP ({', '.join(keys)})", f"CUBE ({', '.join(keys)})"]
    sets.append(f"GROUPING SETS ({', '.join(f'({key})' for key in keys)}, ())")
    source = "FROM visit v JOIN person p ON p.id = v.pid"
    where = random.choice(["", " WHERE place < 3", " WHERE day < '2025-01-05' AND x IS NOT NULL"])
    shown = ", ".join(measures)
    if random.random() < 0.25:
        one, *_ = keys
        return (
            f"SELECT CAST({one} AS TEXT), {shown} {source}{where} GROUP BY {one} "
            f"UNION ALL SELECT NULL, {shown} {source}{where}"
        )
    return f"SELECT {', '.join(keys)}, {shown} {source}{where} GROUP BY {random.choice(sets)}"


def moved(session: Session, sql: str, width: int) -> str | None:
    """What an answer differs by from what was measured, by more than rounding to whole numbers does."""
    found = []
    for switch in ("off", "on"):
        session.execute(f"SET dpsql.consistent = {switch}")
        found.append(session.execute(sql))
    if found[0].rows and len(found[0].rows) != len(found[1].rows):
        return f"{len(found[0].rows)} rows, and {len(found[1].rows)}"
    places = len(found[0].rows[0]) - width if found[0].rows else 0
    raw = {(row[:places], at): row[places:] for at, row in enumerate(found[0].rows)}
    for at, row in enumerate(found[1].rows):
        before = raw.get((row[:places], at))
        if before is None:
            return f"another order: {row}"
        for one, other in zip(before, row[places:], strict=True):
            # Whole numbers that add up are rounded together, and where keys cross by more than 1.
            if (one is None) != (other is None) or (one is not None and abs(float(one) - float(other)) > 3):  # type: ignore[arg-type]
                return f"{before} became {row[places:]} in {row[:places]}"
    return None


@pytest.mark.spread
@pytest.mark.parametrize("accounting", ["zcdp", "pure", pytest.param("approx", marks=pytest.mark.campaign)])
@pytest.mark.parametrize("policy", POLICIES)
def test_inference_moves_nothing_where_there_is_no_noise(tmp_path: Path, policy: str, accounting: str) -> None:
    random = Random(f"{policy} {accounting}")
    made = (keyed if policy == "key" else setup)(random.randrange(1000))
    with case(tmp_path, made, tables_of(policy), accounting, EPSILON) as session:
        session.execute("SET dpsql.reuse = off")
        session.execute("SET dpsql.empty_groups = show")
        for _ in range(STATEMENTS):
            measures = random.sample(MEASURES, random.choice([1, 2, 3]))
            sql = statement(random, measures)
            assert moved(session, sql, len(measures)) is None, sql


@pytest.mark.spread
@pytest.mark.parametrize("norm", [Norm.L1, Norm.L2])
@pytest.mark.parametrize("policy", POLICIES)
def test_one_person_moves_every_grouping_by_no_more_than_it_says(tmp_path: Path, policy: str, norm: Norm) -> None:
    random = Random(f"{policy} {norm} moves")
    made = (keyed if policy == "key" else setup)(random.randrange(1000))
    texts = [statement(random, random.sample(MEASURES, random.choice([1, 2, 3]))) for _ in range(STATEMENTS)]
    with case(tmp_path, made, tables_of(policy)):
        pass
    found = [measure(sql, tmp_path / "policy.yaml", norm=norm) for sql in texts]
    with duckdb.connect(str(tmp_path / "case.duckdb")) as connection:
        connection.execute(
            "DELETE FROM visit WHERE pid = (SELECT pid FROM visit GROUP BY 1 ORDER BY COUNT(*) DESC, 1 LIMIT 1)"
        )
    for sql, before in zip(texts, found, strict=True):
        for one, other in zip(before, measure(sql, tmp_path / "policy.yaml", norm=norm), strict=True):
            assert one.plan == other.plan
            for names, most in one.blocks:
                moves = [one.groups[group][name] - other.groups[group][name] for group in one.groups for name in names]
                assert most.l1 is None or sum(map(abs, moves)) <= most.l1, sql
                assert most.l2_squared is None or sum(move * move for move in moves) <= most.l2_squared, sql
