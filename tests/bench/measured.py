"""One question over one database: four forms of it timed in turn, and how far the answers lie from the truth."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np

from dpsql.proxy import Proxy
from dpsql.reply import Answer

from .queries import Question
from .stages import shares

_STAGE_REPETITIONS = 10


@dataclass(frozen=True, slots=True)
class Result:
    """Median milliseconds of each form, the median relative error in all and by column, milliseconds by stage.

    ``bounded`` is the engine's part alone; ``whole`` is the statement from text (seen before) to answer. ``cpu`` has
    each form's milliseconds of processor time, all threads together: steadier where other programs compete.
    """

    name: str
    raw: float
    by_hand: float
    bounded: float
    whole: float
    error: float
    errors: dict[str, float]
    stages: dict[str, float]
    cpu: dict[str, float]

    @property
    def of_raw(self) -> dict[str, float]:
        """Each form's processor time, in that of the raw query."""
        return {form: self.cpu[form] / self.cpu["raw"] for form in ("by_hand", "bounded", "whole")}

    @property
    def beyond(self) -> float:
        """Milliseconds of the processor above 1.3 times the bounded SQL of an expert: the goal is a fixed cost."""
        return self.cpu["whole"] - 1.3 * self.cpu["by_hand"]


def measured(proxy: Proxy, connection: duckdb.DuckDBPyConnection, question: Question, repetitions: int) -> Result:
    """Run a question ``repetitions`` times in each form, the forms by turns. All share one DuckDB instance."""
    session = proxy.session()
    session.execute("SET dpsql.epsilon = 1")
    session.execute("SET dpsql.reuse = off")
    every = [release.plan for release in session.explain(question.sql).releases]
    plans = [text for plan in every for text in (plan.sql, *(choice.sql for choice in plan.choices)) if text]
    cursor = connection.cursor()
    answers: list[Answer] = []

    def run(*texts: str) -> Callable[[], object]:
        return lambda: [cursor.execute(text).fetchall() for text in texts]

    forms: dict[str, Callable[[], object]] = {
        "raw": run(question.raw),
        "by_hand": run(question.by_hand),
        "bounded": run(*plans),
        "whole": lambda: answers.append(session.execute(question.sql)),
    }
    times, cpu = by_turns(forms, repetitions)
    truth = cursor.execute(question.raw).fetchall()
    errors = relative_errors(question, truth, answers)
    stages = shares(lambda: session.execute(question.sql), min(repetitions, _STAGE_REPETITIONS))
    return Result(
        name=question.name,
        **{form: float(np.median(taken)) * 1e3 for form, taken in times.items()},
        error=float(np.median(np.concatenate(list(errors.values())))),
        errors={name: float(np.median(found)) for name, found in errors.items()},
        stages={name: seconds * 1e3 for name, seconds in stages.items()},
        cpu={form: float(np.median(taken)) * 1e3 for form, taken in cpu.items()},
    )


Times = dict[str, list[float]]


def by_turns(forms: dict[str, Callable[[], object]], repetitions: int) -> tuple[Times, Times]:
    """Seconds on the clock and of the processor by form, after a round to warm up. Each round starts one form later."""
    times: Times = {name: [] for name in forms}
    cpu: Times = {name: [] for name in forms}
    order = list(forms)
    for round_ in range(repetitions + 1):
        for name in order:
            begun, begun_cpu = time.perf_counter(), time.process_time()
            forms[name]()
            if round_:
                times[name].append(time.perf_counter() - begun)
                cpu[name].append(time.process_time() - begun_cpu)
        order = [*order[1:], order[0]]
    return times, cpu


Rows = Sequence[tuple[object, ...]]


def relative_errors(question: Question, truth: Rows, answers: Sequence[Answer]) -> dict[str, np.ndarray]:
    """By column, |answer - truth| / |truth| of every group of every answer whose truth is not 0."""
    names = [column.name for column in answers[0].columns][question.keys :]
    found: dict[str, list[float]] = {name: [] for name in names}
    true = {row[: question.keys]: row[question.keys :] for row in truth}
    for answer in answers:
        for key, values in _by_key(answer, question.keys):
            for name, value, exact in zip(names, values, true.get(key, ()), strict=False):
                if exact and value is not None:
                    found[name].append(abs(float(value) - float(exact)) / abs(float(exact)))  # type: ignore[arg-type]
    return {name: np.array(values) for name, values in found.items()}


def _by_key(answer: Answer, keys: int) -> Iterator[tuple[tuple[object, ...], tuple[object, ...]]]:
    for row in answer.rows:
        yield row[:keys], row[keys:]
