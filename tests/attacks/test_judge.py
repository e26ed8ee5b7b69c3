"""The judge of what was sent finds planted differences, and forgives those that released numbers make."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from dpsql.finish.chosen_rows import NOTE
from tests.attacks.cases import Case, Expected
from tests.attacks.judge import judge_wire
from tests.attacks.wire_way import Exchange
from tests.clients.test_protocol import framed

USUAL = Expected.read("charged")
FIXED = Case("fixed", ("SELECT",), USUAL, (), False, False, "")
VARYING = replace(FIXED, name="varying", rows_vary=True)
CLIPPED = "each person counts with at most 4 rows"


def exchange(*rows: str, notices: tuple[str, ...] = (), column: str = "n", spent: int = 1) -> Exchange:
    """A paid answer of one column."""
    described = struct.pack("!h", 1) + f"{column}\0".encode() + struct.pack("!ihIhih", 0, 0, 25, -1, -1, 0)
    raw = framed(b"T", described)
    for row in rows:
        raw += framed(b"D", struct.pack("!hi", 1, len(row)) + row.encode())
    raw += framed(b"C", f"SELECT {len(rows)}\0".encode())
    for notice in notices:
        raw += framed(b"N", f"SNOTICE\0C00000\0M{notice}\0\0".encode())
    return Exchange(raw + framed(b"Z", b"I"), (0,), (spent,), 0.1)


def told_apart(case: Case, one: Exchange, other: Exchange) -> bool:
    try:
        judge_wire(case, [one], [other])
    except AssertionError:
        return True
    return False


HONEST = exchange("12", "7", notices=(CLIPPED,))


@pytest.mark.parametrize("case", [FIXED, VARYING], ids=["fixed", "varying"])
def test_only_values_may_differ_where_something_was_paid(case: Case) -> None:
    assert not told_apart(case, HONEST, exchange("13", "6,000", notices=(CLIPPED,)))
    assert told_apart(case, HONEST, exchange("12", "7"))
    assert told_apart(case, HONEST, exchange("12", "7", notices=("each person counts with at most 5 rows",)))
    assert told_apart(case, HONEST, exchange("12", "7", notices=(CLIPPED,), column="m"))
    assert told_apart(case, HONEST, exchange("12", "7", notices=(CLIPPED,), spent=2))
    assert told_apart(case, replace(HONEST, raw=HONEST.raw[:-6]), replace(HONEST, raw=HONEST.raw[:-6]))


def test_numbers_of_rows_differ_only_where_noise_decides_them() -> None:
    more = exchange("12", "7", "3", notices=(CLIPPED,))
    chosen = exchange("12", "7", "3", notices=(CLIPPED, NOTE))
    assert told_apart(FIXED, HONEST, more)
    assert told_apart(FIXED, HONEST, exchange("12", "7", notices=(CLIPPED, NOTE)))
    assert not told_apart(VARYING, HONEST, more)
    assert not told_apart(VARYING, HONEST, chosen)


def test_what_is_free_is_the_same_byte_for_byte() -> None:
    free = replace(FIXED, usual=Expected.read("free"))
    assert not told_apart(free, exchange("1", spent=0), exchange("1", spent=0))
    assert told_apart(free, exchange("1", spent=0), exchange("2", spent=0))
    assert told_apart(free, exchange("1", spent=1), exchange("1", spent=1))
