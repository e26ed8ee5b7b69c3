"""Valid statements with parts dropped, doubled and put in each other's places: any of them is answered or refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from random import Random

import pytest
import sqlglot
from sqlglot import exp

from dpsql.errors import Error
from dpsql.proxy import Proxy, Session
from tests.fuzz.place import built

STATEMENTS = (
    "SELECT sex, COUNT(*) AS n, AVG(height_cm) FROM patient WHERE birth_year BETWEEN 1950 AND 1980 AND smoker GROUP BY sex"
    " HAVING COUNT(*) > 3 ORDER BY n DESC LIMIT 3",
    "SELECT region, MEDIAN(weight_kg), STDDEV(weight_kg), CORR(weight_kg, height_cm) FROM patient GROUP BY ROLLUP (region)",
    "SELECT date_trunc('month', day), SUM(cost) FILTER (WHERE reason IN ('acute', 'chronic')) FROM visit GROUP BY 1 ORDER BY 1",
    "SELECT p.sex, SUM(v.cost) / COUNT(DISTINCT p.id) FROM patient AS p JOIN visit AS v ON p.id = v.patient_id GROUP BY p.sex",
    "WITH t AS (SELECT patient_id, COUNT(*) AS n, MAX(cost) AS m FROM visit GROUP BY patient_id)"
    " SELECT n, COUNT(*), AVG(m) FROM t GROUP BY n",
    "SELECT region, SUM(n) OVER (ORDER BY region ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"
    " FROM (SELECT region, COUNT(*) AS n FROM patient GROUP BY region) AS t",
    "SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY weight_kg) FROM patient"
    " WHERE diagnosis LIKE 'a%' AND (sex, smoker) = ('F', TRUE)",
    "SELECT CASE WHEN weight_kg / (height_cm * height_cm) > 0.0025 THEN 'a' ELSE 'b' END, COUNT(*) FROM patient GROUP BY 1",
    "SELECT COUNT(*) FROM patient WHERE id IN (SELECT patient_id FROM visit WHERE cost > (SELECT AVG(cost) FROM visit))",
    "SELECT AVG(r) FROM (SELECT cost - LAG(cost) OVER (PARTITION BY patient_id ORDER BY day) AS r FROM visit) AS t",
    "SELECT COALESCE(region, 'x') || sex, COUNT(*) FROM patient GROUP BY region, sex UNION ALL SELECT 'all', COUNT(*) FROM patient",
    "SELECT dpsql.over_blocks(CORR(weight_kg, height_cm), blocks => 50), LINREGR(weight_kg, ARRAY[1, height_cm]) FROM patient",
    "SELECT name, (SELECT COUNT(*) FROM patient WHERE patient.region = region.name) FROM region",
    "SELECT REGR_SLOPE(weight_kg, height_cm), MODE() WITHIN GROUP (ORDER BY sex) FROM patient GROUP BY GROUPING SETS ((sex), ())",
    "SELECT ARRAY[1, 2][1], INTERVAL '1 day' * x, NULLIF(x, 2), GREATEST(x, 3), CAST(x AS TEXT) FROM generate_series(1, 3) AS g(x)",
)  # fmt: skip


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with closing(Proxy.open(built(tmp_path_factory.mktemp("parts") / "clinic"))) as proxy:
        yield proxy.session("ana")


def changed(random: Random, trees: list[exp.Expr], parts: list[exp.Expr]) -> str:
    """One of the statements, with one to three of its parts changed."""
    tree = random.choice(trees).copy()
    for _ in range(random.choice((1, 1, 2, 3))):
        part = random.choice([node for node in tree.walk() if node.parent is not None] or [tree])
        around, place = part.parent, part.arg_key
        if around is None or place is None:
            break
        listed = around.args.get(place)
        change = random.choice(("drop", "drop", "double", "null", "distinct", "row", *["replace"] * 4))
        if change == "drop":
            part.pop()
        elif change == "double" and isinstance(listed, list):
            around.set(place, [*listed, part.copy()])
        elif change == "null":
            part.replace(exp.Null())
        elif change == "distinct":
            part.replace(exp.Distinct(expressions=[part.copy()]))
        elif change == "row":
            part.replace(exp.Tuple(expressions=[part.copy()] * random.choice((0, 2))))
        else:
            part.replace(random.choice(parts).copy())
    return tree.sql("postgres")


def problems(session: Session, seeds: range) -> list[str]:
    """Statements that ended in an error of ours, or in an exception that is none of the interface."""
    trees: list[exp.Expr] = [sqlglot.parse_one(sql, read="postgres") for sql in STATEMENTS]
    parts = [node for tree in trees for node in tree.walk() if node.parent is not None]
    bad = []
    for seed in seeds:
        random = Random(seed)
        try:
            sql = changed(random, trees, parts)
        except (AttributeError, TypeError, ValueError, IndexError, KeyError):
            continue  # a tree that the generator of text does not know
        try:
            (session.execute if random.random() < 0.3 else session.describe)(sql)
        except Error as refused:
            if refused.sqlstate == "XX000":
                bad.append(f"seed {seed}: {sql}")
    return bad


def test_no_change_of_a_statement_is_our_error(session: Session) -> None:
    assert problems(session, range(400)) == []


@pytest.mark.campaign
def test_no_change_of_a_statement_is_our_error_in_many(session: Session) -> None:
    assert problems(session, range(400, 20_000)) == []
