"""A query that is answered is answered with its meaning, over tables as they are, and its error bar covers it.

Without noise, answers are compared with a reader that knows nothing of the rewriter; with noise, 95 % intervals hold
what it reads 93 to 98 % of the time. ``python -m tests.properties.meaning 0 40 25`` prints what is wrong of a thousand.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from dpsql.reply import Answer
from tests.properties.analysts import Analyst, Key, Measure, Source, Statement
from tests.properties.covering import LEAST, MOST, coverage
from tests.properties.dirty_worlds import World, world
from tests.properties.forms import FORMS, Drawn
from tests.properties.meaning import Reader, Tally, campaign, compare, opened


@pytest.fixture(scope="module")
def tally(tmp_path_factory: pytest.TempPathFactory) -> Tally:
    """Some statements about each of some worlds, on both engines."""
    folder = tmp_path_factory.mktemp("worlds")
    found = campaign(range(10, 13), 24, folder, Tally())
    return campaign(range(100, 101), 20, folder, found, "postgres")


@pytest.mark.parametrize("form", FORMS)
def test_answers_have_the_meaning_of_their_text(tally: Tally, form: str) -> None:
    assert tally.answered[form], "no statement of this form is answered"
    wrong = [found for found in tally.found if found.asked.form == form]
    assert not wrong, "\n".join(map(str, wrong[:5]))


def test_most_statements_are_answered(tally: Tally) -> None:
    assert sum(tally.answered.values()) >= 0.9 * tally.asked, tally.refused.most_common(5)
    assert tally.cells > 5 * tally.asked


@pytest.mark.campaign
@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
@pytest.mark.parametrize("part", range(10))
def test_answers_have_the_meaning_of_their_text_at_length(part: int, engine: str, tmp_path: Path) -> None:
    found = campaign(range(1000 + 100 * part, 1000 + 100 * part + 20), 25, tmp_path, Tally(), engine)
    assert sum(found.answered.values()) >= 0.9 * found.asked, found.refused.most_common(5)
    assert not found.found, "\n".join(map(str, found.found[:10]))


# Doubling


QUOTIENTS = [
    "AVG(v.minutes)",
    "SUM(v.cost) * 1.0 / COUNT(v.cost)",
    "STDDEV_POP(v.minutes)",
    "100.0 * COUNT(*) FILTER (WHERE v.reason = 'flu') / COUNT(*)",
    "SUM(v.minutes) * 1.0 / COUNT(*)",
]


def unmoved(seed: int, folder: Path) -> list[str]:
    """Quotients that move when all rows of everybody, who is beyond every bound, are there twice."""
    place = world(Random(seed), "beyond")
    key = Random(seed).choice(["", "p.smoker", "p.sex"])
    moved = []
    with opened(place, folder / "once") as once, opened(place.doubled(), folder / "twice") as twice:
        for shown in QUOTIENTS:
            head, tail = (f"{key} AS g0, ", " GROUP BY 1") if key else ("", "")
            sql = f"SELECT {head}{shown} AS m0 FROM visit AS v JOIN person AS p ON p.id = v.person_id{tail}"
            one, other = ({row[:-1]: row[-1] for row in proxy.session().execute(sql).rows} for proxy in (once, twice))
            for group in one.keys() & other.keys():
                a, b = one[group], other[group]
                if a is None or b is None:
                    continue
                if abs(float(a) - float(b)) > 0.02 * max(1.0, abs(float(a))):  # type: ignore[arg-type]
                    moved.append(f"{place.accounting}: {a} and {b} of {group}: {sql}")
    return moved


def test_quotients_do_not_move_when_everybody_s_rows_are_doubled(tmp_path: Path) -> None:
    assert not [text for seed in range(3) for text in unmoved(seed, tmp_path / str(seed))]


@pytest.mark.campaign
def test_quotients_do_not_move_when_everybody_s_rows_are_doubled_at_length(tmp_path: Path) -> None:
    assert not [text for seed in range(100, 140) for text in unmoved(seed, tmp_path / str(seed))]


# Error bars


def test_intervals_hold_what_the_reader_reads(tmp_path: Path) -> None:
    found = coverage(range(1), 5, 30, tmp_path, most=60)
    assert not found.bad, "\n".join(found.bad[:5])
    assert all(found.part(kind) >= LEAST - 0.04 for kind in found.shown if found.shown[kind] > 300)


@pytest.mark.campaign
@pytest.mark.parametrize("epsilon", ["0.3", "3"])
@pytest.mark.parametrize("part", range(4))
def test_intervals_hold_what_the_reader_reads_at_length(part: int, epsilon: str, tmp_path: Path) -> None:
    """Small counts, which cannot be negative, and spreads of few rows, which hardly are, hold more often; and a little so
    do shares near an end of what they can be, and differences of whole numbers whose noise is about 1."""
    found = coverage(range(10 * part, 10 * part + 10), 10, 100, tmp_path, epsilon)
    assert not found.bad, "\n".join(found.bad[:10])
    for kind, shown in found.shown.items():
        if shown > 10_000:
            assert found.part(kind) >= LEAST, kind
            most = {"share": 0.99, "difference": 0.99}.get(kind, MOST)
            assert found.part(kind) <= most or kind in ("spread", "variance", "count", "people"), kind


# The reader sees


WRONG = ["a group that is not there", "no NULL", "one more", "twice", "not a word"]


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_answer_is_seen(fault: str) -> None:
    """What is made of the reader's own answer is found wrong, and its own answer is not."""
    place = next(
        one
        for one in (world(Random(seed), "within", 14) for seed in range(99))
        if one.table("visit").column("reason").values
    )
    reader = Reader(place)
    try:
        asked = _asked(Random(5), place)
        cells = [tuple(row) for row in reader.read(asked.truth[0]) if row[0] != "¤"]
        said = ("each person counts with at most 4 rows (max_rows of visit)", "cost is clipped into [0, 400]")
        right = Answer((), tuple(cells), notices=said)
        assert not compare(asked, right, reader, place)
        *_, last = cells
        rows = {
            "a group that is not there": [*cells, ("nowhere", *last[1:])],
            "no NULL": [row for row in cells if row[0] is not None],
            "one more": [(last[0], last[1] + 1, last[2]), *cells[:-1]],  # type: ignore[operator]
            "twice": [*cells, last],
            "not a word": cells,
        }[fault]
        wrong = replace(right, rows=tuple(rows), notices=() if fault == "not a word" else said)
        assert compare(asked, wrong, reader, place)
    finally:
        reader.close()


def _asked(random: Random, place: World) -> Statement:
    """Counts and sums of visits by their reasons."""
    fields = {one.column.name: one for one in Analyst(random, place).fields("visit", "v")}
    source = Source("visit AS v", tuple(fields.values()), ("visit",), "v.person_id")
    drawn = Drawn(Analyst(random, place), 1, source=source)
    drawn.keys = [Key("v.reason", fields["reason"], "{x}", "text", listed=True)]
    drawn.measures = (Measure("COUNT(*)", "count"), Measure("SUM([v.cost])", "sum", (fields["cost"],)))
    drawn.conditions = []
    return drawn.statement("plain", drawn.select(False), drawn.select(True))
