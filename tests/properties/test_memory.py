"""What is remembered is the latest, the first that was found, and forgotten in one place."""

from __future__ import annotations

import threading

import pytest

from dpsql.memory import Memories, Memory


@pytest.mark.quick
def test_the_oldest_is_forgotten_and_what_is_asked_again_is_young() -> None:
    memory: Memory[str, str] = Memory("letters", 2)
    for key in "abac":
        memory.get(key, lambda key=key: key)  # type: ignore[misc]
    assert [memory.known(key) for key in "abc"] == ["a", None, "c"]


def test_large_values_are_not_kept_and_small_ones_make_room() -> None:
    memory: Memory[int, str] = Memory("texts", 20, len)
    assert memory.get(0, lambda: "xyz") == "xyz"
    assert memory.known(0) is None
    for key in range(30):
        memory.get(key, lambda: "x")
    assert len(memory) == 20


def test_a_new_value_takes_the_place_of_the_old_one_with_its_size() -> None:
    memory: Memory[int, str] = Memory("texts", 20, len)
    for _ in range(30):
        memory.keep(1, "xy")
    memory.keep(2, "x")
    assert (memory.known(1), memory.known(2)) == ("xy", "x")


def test_an_error_is_not_remembered() -> None:
    memory: Memory[int, int] = Memory("numbers", 2)
    with pytest.raises(ZeroDivisionError):
        memory.get(1, lambda: 1 // 0)
    assert memory.get(1, lambda: 7) == 7


def test_all_threads_get_what_was_found_first() -> None:
    memory: Memory[int, object] = Memory("objects", 2)
    start = threading.Barrier(4)
    found: list[object] = []

    def ask() -> None:
        start.wait()
        found.append(memory.get(1, object))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


def test_all_is_forgotten_in_one_place() -> None:
    store: Memory[int, int] = Memory("stored", 2)
    memories = Memories([store])
    prices: Memory[int, int] = memories.memory("prices", 2)
    store.keep(1, 1)
    prices.keep(1, 1)
    assert memories.sizes == {"stored": 1, "prices": 1}
    memories.forget()
    assert memories.sizes == {"stored": 0, "prices": 0}
