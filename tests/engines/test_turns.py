"""A turn is a value: it lasts until it ends, once, whichever threads it is handed to."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from dpsql.engines import Load
from dpsql.engines.turns import TurnWithinTurn


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
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        first, second = one.submit(load.take, 0.01).result(), other.submit(load.take, 0.01).result()
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


def test_who_holds_a_turn_takes_none_beside_it() -> None:
    """Two such statements would wait for each other for as long as they may."""
    load = Load(2)
    turn = load.take(0.01)
    assert turn is not None
    with pytest.raises(TurnWithinTurn), load.within(0.01):
        pass
    with pytest.raises(TurnWithinTurn):
        load.take(0.01)
    assert (load.running, load.waiting) == (1, 0)
    with load.within(0.01, turn) as inside:
        assert inside
    turn.end()
    with load.within(0.01) as inside:
        assert inside
