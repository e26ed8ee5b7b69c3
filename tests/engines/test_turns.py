"""A turn is a value: it lasts until it ends, once, whichever threads it is handed to."""

from __future__ import annotations

import threading

import pytest

from dpsql.engines import Load


@pytest.mark.quick
def test_a_turn_is_kept_on_another_thread() -> None:
    load = Load(1)
    turn = load.take(0.01)
    assert turn is not None
    seen: list[tuple[bool, int]] = []

    def read() -> None:
        with load.within(0.01, turn) as inside:
            seen.append((inside, load.running))
        with load.within(0.01) as inside:
            seen.append((inside, load.running))

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert seen == [(True, 1), (False, 1)]
    turn.end()
    assert load.running == 0


def test_a_turn_ends_once() -> None:
    load = Load(2)
    first, second = load.take(0.01), load.take(0.01)
    assert first is not None
    assert second is not None
    first.end()
    first.end()
    assert load.running == 1
    with load.within(0.01, first) as inside:
        assert (inside, load.running) == (True, 2), "a turn that has ended is none"
    second.end()
    assert load.running == 0


def test_a_turn_ends_where_its_block_fails() -> None:
    load = Load(1)
    try:
        with load.within(0.01):
            raise KeyError
    except KeyError:
        assert load.running == 0
