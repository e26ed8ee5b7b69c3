"""Tables whose bounds the policy leaves open, so that a statement has to buy them first.

A bound is learned of a whole column, once: no worlds side by side in one table. So each world is a table of its own, and its
200 groups are 200 columns without a range, each bought by a statement of its own. The target of a column is one more
person, who has a number there that nobody else comes near to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import duckdb

from dpsql.audit.telling_events import Bits

SHAPE = "open"
_OTHERS = 12


def declared(numbers: Iterable[int], cells: int) -> str:
    """What the policy says of the tables: whose they are, and nothing of numbers."""
    numbers_of_people = ", ".join(f"c{cell}: {{}}" for cell in range(cells))
    return "".join(
        f"  open{number}: {{unit: member_id -> member.id, max_rows: 1, columns: {{member_id: {{}}, {numbers_of_people}}}}}\n"
        for number in numbers
    )


def columns(cells: int) -> str:
    """What a table is created with."""
    return ", ".join(["member_id BIGINT", *(f"c{cell} BIGINT" for cell in range(cells))])


def write(connection: duckdb.DuckDBPyConnection, coins: Mapping[int, Bits]) -> None:
    """A table for each world: twelve people who have a 3 everywhere, and the targets. Their own rows are in ``member``."""
    for number, bits in coins.items():
        connection.execute(f"CREATE TABLE open{number} ({columns(len(bits))})")
        threes = ", ".join("3" for _ in bits)
        people = f"SELECT {number}::BIGINT * 10000 + i, {threes} FROM range({_OTHERS}) t(i)"
        connection.execute(f"INSERT INTO open{number} {people}")
        theirs = ", ".join(f"CASE WHEN i = {cell} THEN {2**40} END" for cell in range(len(bits)))
        there = ", ".join(str(cell) for cell, bit in enumerate(bits) if bit) or "NULL"
        targets = (
            f"SELECT {number}::BIGINT * 10000 + 100 + i, {theirs} FROM range({len(bits)}) t(i) WHERE i IN ({there})"
        )
        connection.execute(f"INSERT INTO open{number} {targets}")
        connection.execute(
            f"INSERT INTO member (id, world) SELECT DISTINCT member_id, {number} FROM open{number}"
            f" WHERE member_id NOT IN (SELECT id FROM member)"
        )
