"""How many finished answers are remembered: each holds its statement in memory, however short it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from dpsql.finish.remembered import Finished, FinishedAnswers
from dpsql.memory import Memories
from dpsql.prepare import Prepared
from dpsql.releases import ColumnarRows
from rewriter.declared import BIGINT


def _statement(characters: int) -> Prepared:
    return cast("Prepared", SimpleNamespace(characters=characters))


def test_short_answers_of_many_statements_are_forgotten() -> None:
    memories = Memories()
    answers = FinishedAnswers(memories, cells=100_000)
    finished = Finished((("n", BIGINT),), ColumnarRows.of([BIGINT], [(1,)]))
    statements = [_statement(1_000) for _ in range(1_000)]
    for statement in statements:
        assert answers.get(statement, (), (), lambda: finished) is finished
    assert memories.sizes["finished answers"] < 30
    asked: list[int] = []
    assert answers.get(statements[-1], (), (), lambda: asked.append(1) or finished) is finished  # type: ignore[func-returns-value]
    assert not asked


def test_the_longer_the_statements_the_fewer_answers_are_kept() -> None:
    memories = Memories()
    answers = FinishedAnswers(memories, cells=100_000)
    finished = Finished((("n", BIGINT),), ColumnarRows.of([BIGINT], [(1,)]))
    for _ in range(100):
        answers.get(_statement(2_400), (), (), lambda: finished)
    assert memories.sizes["finished answers"] == 10
    memories.forget()
    answers.get(_statement(2_500), (), (), lambda: finished)
    assert memories.sizes["finished answers"] == 0
