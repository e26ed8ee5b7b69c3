"""What is remembered is the latest, the first that was found, and forgotten in one place."""

from __future__ import annotations

import threading
import weakref

import pytest

from dpsql.memory import Memories, Memory, by_identity


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


def test_what_is_remembered_by_identity_is_of_the_very_objects() -> None:
    @by_identity(4)
    def doubled(numbers: list[int], times: float = 2) -> list[float]:
        return [times * number for number in numbers]

    # Each list goes before the next one comes, often in its place.
    assert all(doubled([number]) == [2 * number] for number in range(200))
    kept = [7]
    assert doubled(kept) is doubled(kept)
    assert doubled(kept, 2) is not doubled(kept, 2.0)
    assert doubled(kept, times=3) == [21]
    assert doubled(kept, 1) == doubled(kept, True)
    assert doubled(kept, True) is not doubled(kept, 1)


def test_the_oldest_that_is_remembered_by_identity_is_forgotten_and_errors_are_not_kept() -> None:
    calls: list[object] = []

    @by_identity(2)
    def inverse(number: int) -> float:
        calls.append(number)
        return 1 / number

    for number in (1, 2, 1, 4, 1):
        inverse(number)
    assert calls == [1, 2, 4, 1]
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            inverse(0)
    assert calls[-2:] == [0, 0]


def test_what_is_remembered_by_identity_goes_with_the_plan_that_it_is_of() -> None:
    class Large:
        """What can be referred to weakly, such as a plan."""

    found: list[Large] = []

    @by_identity(1000)
    def known(plan: Large, noise: list[int]) -> list[int]:
        found.append(plan)
        return [*noise]

    noise, plans = [1], [Large() for _ in range(100)]
    first = [known(plan, noise) for plan in plans]
    assert all(known(plan, noise) is before for plan, before in zip(plans, first, strict=True))
    assert len(found) == 100
    alive = [weakref.ref(plan) for plan in plans]
    found.clear()
    plans.clear()
    assert [one() for one in alive] == [None] * 100
