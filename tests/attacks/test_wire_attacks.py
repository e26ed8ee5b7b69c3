"""What a hostile client tries over the wire: to learn of rows without paying, to pay once for twice, to end the server.

Two worlds share one policy: the clinic with a planted patient, and the clinic with nobody in it. Whatever is not paid
for has to be the same bytes in both.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from dpsql.interfaces.commands import demo_clinic as clinic
from dpsql.proxy import Proxy
from dpsql.server.session.backend import Backend
from dpsql.server.shadow.shadow import Shadow
from dpsql.server.start import analysts
from tests.clients.test_protocol import (
    FLUSH,
    SYNC,
    TERMINATE,
    Client,
    Reply,
    bind,
    describe,
    execute,
    parse,
    query,
)

CANARY = "Zzyzx-canary-41"
PLANTED = f"""
INSERT INTO patient VALUES (999999, 'F', 1977, 213, 123.456, true, '{CANARY}', 'Vienna');
INSERT INTO visit SELECT 990000 + i, 999999, DATE '2025-07-07', 399.99, 'surgery' FROM range(20) t(i);
"""
NOBODY = "DELETE FROM visit; DELETE FROM patient;"


@contextmanager
def world(folder: Path, change: str, epsilon: str = "100000") -> Iterator[Backend]:
    clinic.build(folder)
    with duckdb.connect(str(folder / clinic.DATABASE)) as connection:
        connection.execute(change)
    policy = folder / clinic.POLICY
    policy.write_text(policy.read_text().replace("epsilon: 10,", f"epsilon: {epsilon},"))
    proxy = Proxy.open(policy)
    shadow = Shadow.start(proxy.catalog, analysts(proxy.policy), "clinic")
    try:
        yield Backend(proxy, shadow)
    finally:
        shadow.close()
        proxy.close()


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    with world(tmp_path_factory.mktemp("planted"), PLANTED) as found:
        yield found


@pytest.fixture(scope="module")
def nobody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    with world(tmp_path_factory.mktemp("nobody"), NOBODY) as found:
        yield found


@pytest.fixture
def client(planted: Backend) -> Client:
    return Client(planted)


def raw(found: list[Reply]) -> list[tuple[str, bytes]]:
    return [(one.kind, one.body) for one in found]


def errors(found: list[Reply]) -> list[str]:
    return [one.fields["C"] for one in found if one.kind == "E"]


# What is not paid for

UNPAID = [
    f"SELECT * FROM patient WHERE diagnosis = '{CANARY}'",
    "SELECT height_cm FROM patient WHERE id = 999999",
    "SELECT CAST(diagnosis AS INTEGER) FROM patient",
    "SELECT 1 / (height_cm - 213) FROM patient",
    "SELECT (SELECT diagnosis FROM patient WHERE id = 999999)",
    "EXPLAIN SELECT 1 WHERE EXISTS (SELECT 1 FROM patient WHERE id = 999999)",
    "SELECT * FROM patient LIMIT 0",
    "SELECT diagnosis, COUNT(*) FROM patient WHERE 0 = 1 GROUP BY diagnosis",
    "SELECT MIN(height_cm), MAX(height_cm) FROM patient",
    "SELECT * FROM region ORDER BY name",
    "EXPLAIN SELECT diagnosis, COUNT(*) FROM patient GROUP BY diagnosis",
    "EXPLAIN ANALYZE SELECT COUNT(*) FROM patient",
    "COPY patient TO STDOUT",
    "COPY (SELECT * FROM patient) TO STDOUT",
    "COPY (SELECT diagnosis FROM patient) TO '/tmp/out'",
    "BEGIN; DECLARE c CURSOR FOR SELECT diagnosis FROM patient; FETCH ALL IN c; ROLLBACK",
    "PREPARE p AS SELECT diagnosis FROM patient WHERE id = $1; EXECUTE p(999999)",
    "SELECT reltuples FROM pg_class WHERE relname = 'patient'",
    "SELECT n_live_tup FROM pg_stat_user_tables WHERE relname = 'patient'",
    "SELECT most_common_vals FROM pg_stats WHERE tablename = 'patient'",
    "SELECT pg_relation_size('patient')",
    "SELECT query_to_xml('SELECT * FROM patient', true, true, '')",
    "SELECT pg_catalog.count(*) FROM patient, pg_class",
    "SELECT COUNT(*) FROM duckdb_tables()",
    "SELECT COUNT(*) FROM 'clinic.duckdb'",
    "SELECT error(diagnosis) FROM patient",
    "ANALYZE patient",
    "VACUUM patient",
    "LISTEN patient",
    "SHOW ALL",
]


@pytest.mark.parametrize("sql", UNPAID)
def test_what_is_not_paid_for_is_the_same_over_any_people(planted: Backend, nobody: Backend, sql: str) -> None:
    one, other = Client(planted), Client(nobody)
    before = one.spent(), other.spent()
    first, second = one.send(query(sql)), other.send(query(sql))
    assert first
    assert (one.spent(), other.spent()) == before
    assert raw(first) == raw(second)
    # The question is repeated in an error's text nowhere, so this holds for those that name the canary, too.
    assert not any(CANARY.encode() in one.body for one in first)


@pytest.mark.parametrize("sql", UNPAID)
def test_so_is_what_describe_tells(planted: Backend, nobody: Backend, sql: str) -> None:
    one, other = Client(planted), Client(nobody)
    before = one.spent(), other.spent()
    messages = (parse(sql), describe("S"), bind(), describe("P"), SYNC)
    assert raw(one.send(*messages)) == raw(other.send(*messages))
    assert (one.spent(), other.spent()) == before


def test_the_worlds_do_differ(planted: Backend, nobody: Backend) -> None:
    """Else all of the above would hold of two copies."""
    counts = [int((Client(one).rows("SELECT COUNT(*) FROM patient")[0][0]) or b"0") for one in (planted, nobody)]
    assert counts[0] > 9_000
    assert counts[1] < 1_000


# What is paid for: only the noisy values may differ

PAID = [
    "SELECT SUM(CAST(diagnosis AS INTEGER)) FROM patient",
    "SELECT SUM(1 / (height_cm - 213)) FROM patient",
    "SELECT SUM(CAST(height_cm * 30000 AS SMALLINT)) FROM patient",
    "SELECT SUM(SQRT(150 - height_cm)) FROM patient",
    "SELECT SUM(LN(height_cm - 213)) FROM patient",
    f"SELECT COUNT(*) FROM patient WHERE CAST(diagnosis AS DATE) > '2020-01-01' OR diagnosis = '{CANARY}'",
    "SELECT COUNT(*) FROM patient WHERE SUBSTRING(diagnosis, height_cm - 214, height_cm - 300) = 'x'",
    "SELECT COUNT(*) FROM patient WHERE CASE WHEN id = 999999 THEN 1 / 0 ELSE 1 END = 1",
    "SELECT AVG(weight_kg) FROM patient WHERE id = 999999",
    "SELECT sex, COUNT(*) FROM patient WHERE id = 999999 GROUP BY sex ORDER BY sex",
    "SELECT reason, SUM(cost) FROM visit GROUP BY reason ORDER BY reason",
]


def outline(found: list[Reply]) -> list[tuple[str, object]]:
    """All that is told but the values: kinds, columns, tags with their counts, errors, notices."""
    return [(one.kind, len(one.values) if one.kind == "D" else one.body) for one in found]


@pytest.mark.parametrize("sql", PAID)
def test_an_answer_tells_nothing_but_its_values(planted: Backend, nobody: Backend, sql: str) -> None:
    one, other = Client(planted), Client(nobody)
    quiet = query("SET dpsql.notices = off")
    first, second = one.send(quiet, query(sql)), other.send(quiet, query(sql))
    assert outline(first) == outline(second)
    assert not any(CANARY.encode() in reply.body for reply in first)


def test_the_planted_patient_is_answered_about_and_never_named(client: Client) -> None:
    answered = [sql for sql in PAID if not errors(client.send(query(sql)))]
    assert len(answered) >= 6, answered
    seen = b""
    for sql in (
        "SELECT diagnosis, COUNT(*) FROM patient GROUP BY diagnosis",
        "SELECT diagnosis, COUNT(*) FROM patient WHERE height_cm = 213 GROUP BY diagnosis",
        "SELECT DISTINCT diagnosis FROM patient",
        "SELECT MAX(diagnosis) FROM patient",
        "SELECT MIN(diagnosis), COUNT(*) FROM patient WHERE id = 999999",
        "SELECT STRING_AGG(diagnosis, ',') FROM patient",
    ):
        found = client.send(query(sql), parse(sql), describe("S"), bind(), execute(), SYNC)
        seen += b"".join(one.body for one in found)
    assert seen
    assert CANARY.encode() not in seen
    assert b"Gaucher" not in seen  # two patients: not enough to be named


# Paying once, and paying at all


def ways(sql: str) -> dict[str, tuple[bytes, ...]]:
    """Each way in which an answer to a query can be fetched."""
    return {
        "simple": (query(sql),),
        "extended": (parse(sql), bind(), describe("P"), execute(), SYNC),
        "binary": (parse(sql), bind(results=(1,)), execute(), SYNC),
        "row by row": (parse(sql), bind(), execute(1), execute(1), SYNC),
        "cursor": (query(f"BEGIN; DECLARE c CURSOR FOR {sql}; FETCH 1 IN c; COMMIT"),),
        "with hold": (query(f"DECLARE h CURSOR WITH HOLD FOR {sql}; FETCH ALL IN h; CLOSE h"),),
        "copy": (query(f"COPY ({sql}) TO STDOUT"),),
        "prepared": (query(f"PREPARE q AS {sql}; EXECUTE q; DEALLOCATE q"),),
    }


WAYS = tuple(ways("SELECT 1"))


def question(number: int) -> str:
    return f"SELECT COUNT(*) AS n FROM patient WHERE height_cm > {100 + number}"


@pytest.mark.parametrize("way", WAYS)
def test_every_way_pays_once_and_then_never_again(planted: Backend, way: str) -> None:
    sql = question(WAYS.index(way))
    client = Client(planted)
    before = client.spent()
    assert not errors(client.send(*ways(sql)[way]))
    paid = client.spent()
    assert paid != before
    for other in WAYS:
        assert not errors(Client(planted).send(*ways(sql)[other])), other
        assert Client(planted).spent() == paid, other


@pytest.mark.parametrize("way", WAYS)
def test_nothing_gives_a_payment_back(planted: Backend, way: str) -> None:
    """A rollback, a failure later in the message, a cancel or a lost connection: the noise was drawn."""
    sql = question(20 + WAYS.index(way))
    client = Client(planted)
    before = client.spent()
    if way != "cursor":
        client.send(query("BEGIN"))
    client.send(*ways(sql)[way])
    paid = client.spent()
    assert paid != before
    client.protocol.cancel()
    client.send(query("SELECT nonsense FROM nowhere; ROLLBACK"))
    client.send(query("ROLLBACK"))
    client.send(TERMINATE)
    assert client.protocol.closed
    assert client.spent() == paid


def test_a_spent_budget_is_spent_on_every_way(tmp_path: Path) -> None:
    with world(tmp_path, PLANTED, epsilon="3") as backend:
        client = Client(backend)
        outcomes: list[list[str]] = []
        while not outcomes or (not outcomes[-1] and len(outcomes) < 60):
            outcomes.append(errors(client.send(query(question(len(outcomes))))))
        assert outcomes[0] == []
        assert outcomes[-1] == ["53400"]
        spent = client.spent()
        for number, way in enumerate(WAYS):
            fresh = Client(backend)
            assert errors(fresh.send(*ways(question(90 + number))[way])) == ["53400"], way
            assert fresh.spent() == spent, way
            # What was paid for stays free.
            assert not errors(Client(backend).send(*ways(question(0))[way])), way
        assert client.spent() == spent


# Other sessions


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        ((parse("SELECT COUNT(*) FROM patient", "s"), SYNC), (bind((), "s"), execute(), SYNC)),
        ((parse("SELECT COUNT(*) FROM patient", "s"), SYNC), (describe("S", "s"), SYNC)),
        ((parse("SELECT 1"), bind((), "", "p"), FLUSH), (execute(0, "p"), SYNC)),
        ((query("PREPARE s AS SELECT COUNT(*) FROM patient"),), (query("EXECUTE s"),)),
        ((query("DECLARE c CURSOR WITH HOLD FOR SELECT 1; FETCH 1 IN c"),), (query("FETCH ALL IN c"),)),
    ],
)
def test_statements_and_portals_belong_to_their_session(
    planted: Backend, theirs: tuple[bytes, ...], mine: tuple[bytes, ...]
) -> None:
    one, other = Client(planted), Client(planted)
    assert not errors(one.send(*theirs))
    assert errors(other.send(*mine)) in (["26000"], ["34000"])


def test_a_setting_of_one_session_is_not_seen_by_another(planted: Backend) -> None:
    one, other = Client(planted), Client(planted)
    one.send(query("SET dpsql.epsilon = 0.5; SET application_name = 'spy'"))
    assert other.rows("SHOW dpsql.epsilon") != one.rows("SHOW dpsql.epsilon")
    assert b"spy" not in b"".join(reply.body for reply in other.send(query("SELECT * FROM pg_stat_activity")))


# Parameters made to be misread

BY_INT, BY_LIST = "SELECT COUNT(*) FROM patient WHERE height_cm > $1", "SELECT COUNT(*) FROM patient WHERE id = ANY($1)"


@pytest.mark.parametrize(
    ("sql", "oid", "value"),
    [
        (BY_INT, 23, b""),
        (BY_INT, 23, b"\0"),
        (BY_INT, 23, b"\0" * 5),
        (BY_INT, 20, b"\0" * 7),
        (BY_INT, 701, b"\x7f"),
        (BY_INT, 1700, struct.pack("!HhHH", 0xFFFF, 0, 0, 0)),
        (BY_INT, 1700, struct.pack("!HhHHH", 1, 0x7FFF, 0, 0, 1)),
        (BY_LIST, 1007, struct.pack("!iii", 1, 0, 23)),
        (BY_LIST, 1007, struct.pack("!iiiii", 1, 0, 23, 3, 1)),
        (BY_LIST, 1007, struct.pack("!iiiii", 1, 0, 23, 0x7FFFFFFF, 1)),
        (BY_LIST, 1007, struct.pack("!iiiiiii", 2, 0, 23, 0x10000, 1, 0x10000, 1)),
        (BY_LIST, 1007, struct.pack("!iiiiii", 1, 0, 23, 1, 1, 0x7FFFFFFF)),
        (BY_LIST, 1007, struct.pack("!iiiiii", 1, 0, 23, 1, 1, -2)),
        (BY_LIST, 1007, struct.pack("!iiiii", 0x7FFFFFFF, 0, 23, 1, 1)),
    ],
)
def test_a_parameter_of_wrong_length_is_an_error_and_is_free(client: Client, sql: str, oid: int, value: bytes) -> None:
    before = client.spent()
    found = client.send(parse(sql, types=(oid,)), bind((value,), formats=(1,)), describe("P"), execute(), SYNC)
    assert [code[:2] for code in errors(found)] == ["22"]
    assert client.rows("SELECT 1") == [[b"1"]]
    assert client.spent() == before


def test_a_short_number_cannot_become_a_long_one(client: Client) -> None:
    before = client.spent()
    found = client.send(parse(BY_INT, types=(1700,)), bind((b"1e99999",)), execute(), SYNC)
    assert [code[:2] for code in errors(found)] == ["22"]
    assert client.spent() == before


def test_a_parameter_is_a_value_and_never_sql(planted: Backend, nobody: Backend) -> None:
    sql = "SELECT COUNT(*) FROM patient WHERE sex = $1"
    for value in (b"F' OR '1'='1", b"'; DROP TABLE patient; --", b"$1", b"\\' OR 1=1 --", "ʼ OR 1=1".encode()):
        messages = (query("SET dpsql.notices = off"), parse(sql), bind((value,)), describe("P"), execute(), SYNC)
        assert outline(Client(planted).send(*messages)) == outline(Client(nobody).send(*messages))
    assert not errors(Client(planted).send(query("SELECT COUNT(*) FROM patient")))
