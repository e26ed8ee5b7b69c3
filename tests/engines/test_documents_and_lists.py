"""JSON and lists of people: both engines answer as PostgreSQL answers the same statement, and nothing raises."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql.proxy import Proxy
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server
from tests.policies import policy_text

PEOPLE = 240
TABLE = (
    "CREATE TABLE member (id INTEGER PRIMARY KEY, plan VARCHAR NOT NULL, attrs {json}, more {jsonb}, tags {texts}, "
    "nums INTEGER[], joined DATE NOT NULL)"
)
POLICY = policy_text("""
database: {database}; ledger: sqlite:{ledger}; privacy_unit: member.id
budget: {epsilon: 1e6, delta: 1e-6, accounting: zcdp}; statement: {epsilon: 100, max_epsilon: 1000}
tables:
  member: id, plan [free, pro], attrs {max_items: 3}, more {max_items: 3}, tags {max_items: 3}, nums {max_items: 4},
      joined 2024-01-01..2024-12-31
""")
_ATTRS = (
    '{"city": "Rome", "seats": 3, "in": {"on": true}, "l": ["a", "b"]}',
    '{"city": null, "seats": 12, "l": []}',
    '{"seats": "many", "in": {"on": false, "x": 1.5}, "l": ["b"]}',
    '{"a.b": "dot", "$c": "sign", "0": "zero"}',
    '["x", "y", "z"]',
    '"city"',
    "7",
    None,
)
_TAGS = (["a"], ["a", "b"], [], ["b", None], ["c", "a", "c"], None)
_NUMS = ([1], [2, 3], [], [None], [5, 5, 7, 9], None)
ANSWERED = (
    "SELECT attrs ->> 'city', COUNT(*) FROM member GROUP BY 1 HAVING COUNT(*) > 20",
    "SELECT COUNT(*) FROM member WHERE attrs -> 'in' ->> 'on' = 'true' OR more -> 'in' ->> 'on' = 'false'",
    "SELECT COUNT(*) FROM member WHERE attrs::json ->> 'seats' = '3' OR (more::json -> 'in')::json ->> 'x' = '1.5'",
    "SELECT COUNT(*) FROM member WHERE attrs #>> '{l,0}' = 'a' OR more #>> '{0}' = 'x' OR more #>> '{0}' = 'zero'",
    "SELECT COUNT(*) FROM member WHERE attrs ->> 'a.b' = 'dot' OR more ->> '$c' = 'sign' OR more ->> '0' = 'zero'",
    "SELECT COUNT(*) FROM member WHERE more ->> 0 = 'x' OR attrs -> 'l' ->> -1 = 'b'",
    'SELECT COUNT(*) FROM member WHERE NOT more @> \'{"city": "Rome", "seats": 3}\'',
    'SELECT COUNT(*) FROM member WHERE more @> \'{"in": {"on": true}}\'',
    "SELECT JSON_TYPEOF(attrs), JSONB_TYPEOF(more -> 'l'), COUNT(*) FROM member GROUP BY 1, 2 HAVING COUNT(*) > 20",
    "SELECT COUNT(*) FROM member WHERE CASE WHEN JSONB_TYPEOF(more -> 'l') = 'array' "
    "THEN JSONB_ARRAY_LENGTH(more -> 'l') END > 1",
    "SELECT SUM(LEAST(GREATEST((more ->> 'seats')::int, 0), 10)) FROM member WHERE JSONB_TYPEOF(more -> 'seats') = 'number'",
    "SELECT COUNT(more), COUNT(tags), COUNT(*) FILTER (WHERE attrs IS NULL) FROM member",
    "SELECT COUNT(*) FROM (SELECT id, attrs -> 'in' AS i FROM member) AS x WHERE i ->> 'x' = '1.5'",
    "SELECT COUNT(*) FROM member WHERE 'a' = ANY(tags)",
    "SELECT COUNT(*) FROM member WHERE NOT ('a' = ANY(tags))",
    "SELECT COUNT(*) FROM member WHERE 'b' <= ALL(tags)",
    "SELECT COUNT(*) FROM member WHERE NOT (5 <> ALL(nums)) OR 2 > ANY(nums)",
    "SELECT COUNT(*) FROM member WHERE 5 <> ANY(nums)",
    "SELECT COUNT(*) FROM member WHERE NOT tags @> ARRAY['a', 'b']",
    "SELECT COUNT(*) FROM member WHERE tags && ARRAY['b', 'c']",
    "SELECT CARDINALITY(tags), ARRAY_LENGTH(nums, 1), COUNT(*) FROM member GROUP BY 1, 2 HAVING COUNT(*) > 5",
    "SELECT ARRAY_TO_STRING(tags, '+'), COUNT(*) FROM member GROUP BY 1 HAVING COUNT(*) > 20",
    "SELECT tags[1], COUNT(*) FROM member GROUP BY 1 HAVING COUNT(*) > 20",
    "SELECT t, COUNT(*) FROM member, UNNEST(tags) AS t GROUP BY t HAVING COUNT(*) > 20",
    "SELECT COUNT(*) FROM (SELECT LAG(tags) OVER (PARTITION BY id ORDER BY n) AS b FROM member, UNNEST(nums) AS n) AS x"
    " WHERE 'a' = ANY(b)",
    "SELECT t, COUNT(*) FROM (SELECT FIRST_VALUE(tags) OVER (PARTITION BY id ORDER BY joined) AS b FROM member) AS x,"
    " UNNEST(b) AS t GROUP BY t HAVING COUNT(*) > 20",
    "SELECT COUNT(*) FROM (SELECT LEAD(nums, 2) OVER (PARTITION BY id ORDER BY n) AS b FROM member, UNNEST(nums) AS n)"
    " AS x WHERE CARDINALITY(b) > 3",
    "SELECT m.plan, SUM(LEAST(GREATEST(u.n, 0), 9)) FROM member AS m CROSS JOIN LATERAL UNNEST(m.nums) AS u(n) GROUP BY 1",
    "SELECT COUNT(*), COUNT(DISTINCT id) FROM (SELECT id, UNNEST(tags[1:2]) AS t FROM member) AS x WHERE t <> 'b'",
    "SELECT x, COUNT(*) FROM member, JSONB_ARRAY_ELEMENTS_TEXT(CASE WHEN TRUE THEN more -> 'l' END) AS x GROUP BY x",
    "SELECT v.n, COUNT(*) FROM (VALUES ('free', 1), ('pro', 2)) AS v(p, n) JOIN member AS m ON m.plan = v.p GROUP BY v.n",
    "SELECT COUNT(*) FROM member WHERE (joined, joined + 9) OVERLAPS (DATE '2024-03-01', INTERVAL '1 month')",
)
REFUSED = {
    "SELECT attrs, COUNT(*) FROM member GROUP BY attrs": "read a part of it",
    "SELECT MAX(tags) FROM member": "UNNEST",
    "SELECT COUNT(DISTINCT more) FROM member": "read a part of it",
    "SELECT COUNT(*) FROM member AS a JOIN member AS b USING (tags)": "UNNEST",
    "SELECT COUNT(*) FROM (SELECT id, more FROM member EXCEPT SELECT id, more FROM member) AS x": "parts",
    "SELECT COUNT(*) FROM member WHERE attrs ->> plan = 'x'": "write a key",
    "SELECT COUNT(*) FROM member, UNNEST(STRING_TO_ARRAY(plan, 'r')) AS t": "",
}
_UNLIKE = ANSWERED[25]
"""PostgreSQL raises on it, where a list is asked of what is none; here that has no item."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, Proxy]]]:
    folder: Path = tmp_path_factory.mktemp("nested")
    rows = [
        (n, ("free", "pro")[n % 2], _ATTRS[n % 8], _ATTRS[(n // 3) % 8], _TAGS[n % 6], _NUMS[(n // 2) % 6], n % 360)
        for n in range(PEOPLE)
    ]
    server = shared_server()
    database = server.database()
    insert = "INSERT INTO member VALUES ({marks}, DATE '2024-01-01' + {last})"
    with server.owner(database) as owner:
        owner.execute(TABLE.format(json="JSON", jsonb="JSONB", texts="TEXT[]"))
        with owner.cursor() as cursor:
            cursor.executemany(insert.format(marks=", ".join(["%s"] * 6), last="%s::int"), rows)
        server.grant(owner)
    with duckdb.connect(str(folder / "members.duckdb")) as file:
        file.execute(TABLE.format(json="JSON", jsonb="JSON", texts="VARCHAR[]"))
        file.executemany(insert.format(marks=", ".join("?" * 6), last="?::int"), rows)
    found = {}
    for name, source in {"duckdb": f"duckdb:{folder}/members.duckdb", "postgres": server.url(database)}.items():
        path = folder / f"{name}.yaml"
        path.write_text(POLICY.format(database=source, ledger=folder / f"{name}.ledger"), encoding="utf-8")
        found[name] = open_without_noise(path)
    yield database, found
    for proxy in found.values():
        proxy.close()


def test_both_engines_answer_as_postgres_does(opened: tuple[str, dict[str, Proxy]]) -> None:
    database, proxies = opened
    with shared_server().owner(database) as owner:
        for sql in ANSWERED:
            asked = sql if sql is not _UNLIKE else sql.replace("WHEN TRUE", "WHEN JSONB_TYPEOF(more -> 'l') = 'array'")
            expected = sorted(map(repr, (tuple(map(_plain, row)) for row in owner.execute(asked).fetchall())))  # type: ignore[arg-type]
            for name, proxy in proxies.items():
                ours = sql.replace("CASE WHEN TRUE THEN more -> 'l' END", "more -> 'l'")
                with dpsql.connect(proxy) as connection:
                    rows = connection.execute(ours).fetchall()
                assert sorted(map(repr, (tuple(map(_plain, row)) for row in rows))) == expected, (name, sql)


def _plain(value: object) -> object:
    return (
        int(value) if isinstance(value, int) or (hasattr(value, "as_integer_ratio") and value == int(value)) else value
    )  # type: ignore[call-overload]


@pytest.mark.parametrize("sql", REFUSED)
def test_documents_and_lists_are_read_part_by_part(sql: str, opened: tuple[str, dict[str, Proxy]]) -> None:
    for proxy in opened[1].values():
        with dpsql.connect(proxy) as connection, pytest.raises(dpsql.Error) as refused:
            connection.execute(sql)
        assert refused.value.sqlstate.startswith(("0A", "42"))
        assert REFUSED[sql] in (refused.value.hint or "")
