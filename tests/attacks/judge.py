"""What an attack may come to: the same on D and D′ but for the values of answers that were paid for."""

from __future__ import annotations

from itertools import takewhile

from dpsql.finish.chosen_rows import NOTE
from dpsql.releases.tables import ExactTable
from rewriter.plan import Plan
from tests.attacks.cases import Case
from tests.attacks.dbapi_way import SECONDS, TimeStep
from tests.attacks.wire_way import Exchange
from tests.foreseen_notices import TOLD_BY_NUMBERS
from tests.properties.neighbours import Table, compare

STAGED = "people are compared with released numbers"
"""How the notice begins that says what was released first."""


def judge(case: Case, here: list[TimeStep], there: list[TimeStep], *where: str) -> None:
    """Raises AssertionError where a case comes to anything else than it may."""
    expected = case.expected(*where)
    last = here[-1]
    got = f"{case.name} {last.kind} {last.error or ''}: {str(last.told)[:300]}"
    assert last.kind in expected.kinds, got
    assert last.error is None or not expected.codes or last.error in expected.codes, got
    paid = case.reuses
    for one, other in zip(here, there, strict=True):
        _alike(case, one, other, paid)
        paid = paid or bool(one.charged)


def _alike(case: Case, one: TimeStep, other: TimeStep, paid_before: bool) -> None:
    assert one.leak is None, f"{case.name}: {one.leak!r}"
    assert "XX000" not in (one.error, other.error), f"{case.name}: a bug of ours"
    assert max(one.seconds, other.seconds) < SECONDS, f"{case.name} took {one.seconds:.1f} s"
    released = case.rows_vary and len(one.rows) != len(other.rows)
    here, there = (_told(step.told, released) for step in (one, other))
    assert here == there, f"{case.name}: {here} is not {there}"
    assert one.charged == other.charged, f"{case.name}: {one.charged} is not {other.charged}"
    assert one.kind == other.kind
    if one.kind == "refused":
        assert not one.charged
        assert not one.asked
    if one.kind == "free":
        # A list of declared groups is computed by the engine, from the policy and public tables.
        assert not any(plan.blocks or plan.selection for plan, _ in one.asked), f"{case.name} reads people for nothing"
    if one.kind in ("refused", "free") and not paid_before:
        assert one.rows == other.rows, f"{case.name}: what is free tells D from D′"
    elif not case.rows_vary:
        assert len(one.rows) == len(other.rows), f"{case.name}: {len(one.rows)} rows, {len(other.rows)} rows"
    pairs = [*zip(one.asked, other.asked, strict=True)]
    alike = [*takewhile(lambda pair: pair[0][0].sql == pair[1][0].sql, pairs)]
    # What is planned with a released number has that number in its text, and is a statement of its own.
    assert alike == pairs or (alike and STAGED in str(one.told)), f"{case.name}: other texts are asked"
    for (plan, ours), (_, theirs) in alike:
        compare(plan, _table(plan, ours), _table(plan, theirs))


def _told(told: object, released: bool) -> object:
    """What has to be told alike: all, but where numbers of rows differ that noise decides, the notice of their choice.

    It follows from the number of rows that are shown, and from nothing else. Notices of what was released first, and of
    groups that are left out by their noisy numbers, and of the intervals of times, hold released numbers, as rows do.
    """
    return tuple(
        tuple(
            _without_numbers(one) for one in part if not (released and one == NOTE) and not _follows_from_numbers(one)
        )
        if isinstance(part, tuple)
        else part
        for part in (told if isinstance(told, tuple) else (told,))
    )


def _without_numbers(part: object) -> object:
    return STAGED if _is_staged(part) else part


_ALSO = (" is between ", "shows the 95 % intervals of ")


def _follows_from_numbers(part: object) -> bool:
    """Whether a notice holds released numbers, or follows from them."""
    text = part.decode("latin-1") if isinstance(part, bytes) else part
    return isinstance(text, str) and (bool(TOLD_BY_NUMBERS.search(text)) or any(words in text for words in _ALSO))


def _is_staged(part: object) -> bool:
    return isinstance(part, str) and part.startswith(STAGED)


def judge_wire(case: Case, here: list[Exchange], there: list[Exchange], *where: str) -> None:
    """The same for what was sent: byte for byte where nothing was paid, all but the values where something was."""
    expected = case.expected("wire", *where)
    last = here[-1]
    got = f"{case.name} {where} {last.kind} {last.error or ''}: {last.raw[:300]!r}"
    assert last.kind in expected.kinds, got
    assert last.error is None or not expected.codes or last.error in expected.codes, got
    paid = case.reuses
    for one, other in zip(here, there, strict=True):
        assert one.replies, f"{case.name}: the connection ended"
        assert one.replies[-1].kind == "Z" or one.error is not None, f"{case.name}: the connection ended"
        assert "XX000" not in (one.error, other.error), f"{case.name}: a bug of ours"
        assert one.after == other.after, f"{case.name} costs {one.after} here, {other.after} there"
        if "ended" in expected.kinds and {one.kind, other.kind} <= {"refused", "ended"}:
            continue  # Which limit it meets first, of time or of size, depends on how busy the computer is.
        assert one.kind == other.kind, f"{case.name}: {one.kind} is not {other.kind}"
        if one.kind != "ended":
            assert max(one.seconds, other.seconds) < SECONDS, f"{case.name} took {one.seconds:.1f} s"
        if one.charged or paid:
            rows = not case.rows_vary
            assert _outline(one, rows=rows) == _outline(other, rows=rows), f"{case.name}: not alike"
        else:
            assert one.raw == other.raw, f"{case.name}: {one.raw[:200]!r} is not {other.raw[:200]!r}"
        paid = paid or one.charged


def _outline(step: Exchange, *, rows: bool) -> list[tuple[str, object]]:
    """The same of an exchange."""
    return [
        (kind, STAGED if isinstance(body, bytes) and STAGED.encode() in body else body)
        for kind, body in step.outline(rows=rows)
        if kind != "N" or not isinstance(body, bytes) or not _is_of_rows(body, rows=rows)
    ]


def _is_of_rows(notice: bytes, *, rows: bool) -> bool:
    """Whether it may differ as rows do: it follows from released numbers, or from how many ``rows`` there are."""
    return _follows_from_numbers(notice) or (not rows and NOTE.encode() in notice)


def _table(plan: Plan, exact: ExactTable) -> Table:
    keys, statistics = exact.keys, exact.statistics
    spelt = [tuple((type(value).__name__, repr(value)) for value in key) for key in keys]
    return {key: {name: column[row] for name, column in statistics.items()} for row, key in enumerate(spelt)}
