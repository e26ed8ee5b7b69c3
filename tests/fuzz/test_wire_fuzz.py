"""Whatever is sent, the server lives, says nothing of its inside, charges nothing, and forgets it.

The default run is short, and judges no time: that is for ``python -m tests.fuzz``.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from dpsql.server.operations.fairness import Pace
from dpsql.server.session.portals import MAX_HELD, MAX_NAME, MAX_NAMED
from dpsql.server.session.protocol import MAX_REQUESTS
from dpsql.server.wire import messages as m
from tests.clients.test_protocol import replies
from tests.fuzz.campaign import run, shown
from tests.fuzz.conversations import DAMAGE, MESSAGES, OPEN, SSL, conversation
from tests.fuzz.frames import bind, describe, framed, parse, startup, text
from tests.fuzz.in_process import Direct, speak
from tests.fuzz.judged import problem_with
from tests.fuzz.place import built

SEED = 20


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Direct]:
    found = Direct(built(tmp_path_factory.mktemp("fuzz") / "clinic"))
    yield found
    found.close()


def test_no_conversation_ends_in_an_exception(direct: Direct) -> None:
    before = direct.proxy.ledger.spent()
    found = speak(direct, 2_000, SEED, seconds=60)
    assert found.problems == []
    assert found.messages > 200
    assert direct.proxy.ledger.spent() == before


def test_the_pieces_that_bytes_come_in_make_no_difference(direct: Direct) -> None:
    found = [direct.same_in_pieces(seed) for seed in range(SEED, SEED + 40)]
    assert [problem for problem in found if problem is not None] == []


def test_every_kind_of_damage_is_done() -> None:
    """Else the others would pass over nothing. Each is named in at least one of so many conversations, whose seeds do
    not change."""
    done = {name for seed in range(400) for name in conversation(Random(seed)).names}
    wanted = {one.__name__ for one in (*DAMAGE, *MESSAGES)} | {"request", "cancel", "startup", "sasl", "login", "large"}
    assert wanted <= done


def test_floods_leave_nothing(tmp_path: Path) -> None:
    results = run(0, seconds=1, floods=("conversations",), slower=math.inf, turn=0.2)
    assert results.problems == [], shown(results)
    assert all(flood.done.messages for flood in results.floods)


@pytest.mark.campaign
def test_the_whole_campaign() -> None:
    results = run(200_000)
    assert results.problems == [], shown(results)


def test_the_judge_sees_what_is_of_the_inside() -> None:
    said = framed(b"E", b'SERROR\0MTraceback (most recent call last): File "x.py"\0\0')
    assert problem_with(said) is not None
    assert problem_with(framed(b"E", b"SFATAL\0CXX000\0\0")) is not None
    assert problem_with(b"HTTP/1.1 200 OK") is not None
    assert problem_with(b"N" + framed(b"Z", b"I")) is None


# Limits before and after the login


def said_to(direct: Direct, *messages: bytes, login: bool = True) -> list[tuple[str, str]]:
    """Kinds and SQLSTATEs of what is answered, after the greeting."""
    protocol = direct.protocol()
    if login:
        protocol.feed(startup(OPEN))
        b"".join(protocol.respond())
    protocol.feed(b"".join(messages))
    found = replies(b"".join(protocol.respond()))
    return [(one.kind, one.fields.get("C", "") if one.kind == "E" else "") for one in found]


@pytest.mark.parametrize("kind", "EDCHSXpdcfF")
def test_a_message_without_a_text_is_short(direct: Direct, kind: str) -> None:
    """It is refused at its head: nothing is waited for, and nothing held."""
    head = kind.encode() + struct.pack("!i", m.LONGEST_OTHER + 1)
    assert said_to(direct, head) == [("E", "08P01")]


def test_a_statement_that_is_too_long_is_told_so_and_a_longer_one_ends_the_connection(direct: Direct) -> None:
    assert said_to(direct, framed(b"Q", text(f"SELECT '{'x' * 100_000}'"))) == [("E", "54001"), ("Z", "")]
    assert said_to(direct, b"Q" + struct.pack("!i", m.LONGEST_TEXT + 1)) == [("E", "08P01")]


def test_a_type_that_there_is_not_is_refused_in_our_words(direct: Direct) -> None:
    found = said_to(direct, parse("SELECT $1", types=(2**31,)), describe("S"), framed(b"S"))
    assert found == [("1", ""), ("t", ""), ("E", "0A000"), ("Z", "")]


def test_an_unknown_kind_is_refused_at_its_head(direct: Direct) -> None:
    assert said_to(direct, b"z" + struct.pack("!i", 1 << 20)) == [("E", "08P01")]


def test_requests_for_encryption_have_an_end(direct: Direct) -> None:
    protocol = direct.protocol()
    protocol.feed(struct.pack("!ii", 8, SSL) * (MAX_REQUESTS + 1))
    assert b"".join(protocol.respond())[:MAX_REQUESTS] == b"N" * MAX_REQUESTS
    assert protocol.closed


def test_a_name_has_an_end(direct: Direct) -> None:
    assert said_to(direct, parse("SELECT 1", "n" * (MAX_NAME + 1))) == [("E", "42622")]


def test_what_a_connection_holds_has_an_end(direct: Direct) -> None:
    """Counted are the formats too, which may be more than the values."""
    formats = (0,) * 32_000
    held = MAX_HELD // (8 * len(formats))
    many = [bind(results=formats, portal=f"p{number}") for number in range(held + 1)]
    assert held < MAX_NAMED
    assert said_to(direct, parse(""), *many)[-2:] == [("2", ""), ("E", "54000")]


def test_connections_are_accepted_at_a_pace() -> None:
    pace = Pace(burst=16, rate=128)
    waits = [pace.wait(1.0) for _ in range(80)]
    assert waits[:16] == [0.0] * 16
    assert waits[-1] == pytest.approx(0.5)
    assert pace.wait(9.0) == 0.0
