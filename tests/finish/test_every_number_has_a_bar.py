"""Every measured number has an error bar, or ± ? where none is known, whatever the statement and the interface."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal

import pytest

from dpsql import connect
from dpsql.console.questions import shown_columns
from dpsql.display import answer_html, answer_table, as_json, vertical_lines
from dpsql.interfaces.commands.demo_clinic import POLICY, build
from dpsql.price_text import errors_line
from dpsql.proxy import Proxy, Session
from dpsql.releases import items_of
from dpsql.reply import Answer
from tests.finish.statement_shapes import SHAPES

BAR = re.compile(r" ± +(\?|[\d,.]+)")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("clinic")
    build(folder)
    policy = folder / POLICY
    policy.write_text(policy.read_text(encoding="utf-8").replace("epsilon: 10,", "epsilon: 100000,"))
    opened = Proxy.open(policy)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def ana(proxy: Proxy) -> Session:
    return proxy.session("ana")


def is_number(value: object) -> bool:
    array = isinstance(value, str) and value.startswith("{")
    return array or (isinstance(value, int | float | Decimal) and not isinstance(value, bool))


def measured_cells(answer: Answer, exact: tuple[str, ...]) -> list[tuple[int, int]]:
    """The rows and columns of the numbers that need a bar."""
    return [
        (row, at)
        for row, values in enumerate(answer.rows)
        for at, value in enumerate(values)
        if answer.columns[at].name not in exact and is_number(value)
    ]


@pytest.mark.parametrize(("sql", "exact"), SHAPES.items())
def test_on_every_interface(ana: Session, sql: str, exact: tuple[str, ...]) -> None:
    ana.execute("SET dpsql.intervals = off")
    answer = ana.execute(sql)
    cells = measured_cells(answer, exact)
    assert cells or all(column.name in exact for column in answer.columns) or not any(map(any, answer.rows))
    for number, row in enumerate(answer.every_margin):
        for at, margin in enumerate(row):
            if (number, at) not in cells:
                assert margin is None
                continue
            value = answer.rows[number][at]
            if isinstance(margin, tuple):
                assert len(margin) == len(items_of(str(value)))
            for one in margin if isinstance(margin, tuple) else (margin,):
                assert one is not None
                assert one >= 0

    texts = [list(column.cells) for column in answer_table(answer).columns]
    pages = [line for line in vertical_lines(answer) if not line.startswith("-[ ")]
    told = json.loads(as_json(answer))
    html = re.findall("<td[^>]*>(.*?)</td>", answer_html(answer))
    notice = errors_line(answer)
    for row, at in cells:
        assert BAR.search(str(texts[at][row]))
        assert BAR.search(pages[row * len(answer.columns) + at])
        assert BAR.search(html[row * len(answer.columns) + at])
        assert told["margins"][row][at] is not None
        assert f"{answer.columns[at].name} ± " in notice

    ana.execute("SET dpsql.intervals = on")
    wide = ana.execute(sql)
    rows = [tuple(map(of_the_wire, row)) for row in wide.rows]
    columns = shown_columns([column.name for column in wide.columns], rows)
    assert [column.name for column in columns] == [column.name for column in answer.columns]
    for row, at in cells:
        assert columns[at].error(row) or " ± " in columns[at].text(row)
    assert {(row, at) for at, column in enumerate(columns) for row in range(len(rows)) if column.error(row)} <= set(
        cells
    )


@pytest.mark.parametrize("sql", ["SELECT MAX(day) AS last FROM visit", "SELECT MEDIAN(day) AS last FROM visit"])
def test_the_interval_of_a_time_is_told(policy_without_ends: Proxy, sql: str) -> None:
    """A time has no half-width: a notice has the ends, which are those that SET dpsql.intervals = on shows."""
    ana = policy_without_ends.session("ana")
    told = [one for one in ana.execute(sql).notices if one.startswith("last is between")]
    grouped = ana.execute(sql.replace("FROM", ", reason FROM") + " GROUP BY reason").notices
    ana.execute("SET dpsql.intervals = on")
    wide = ana.execute(sql)
    ((value, low, high),) = wide.rows
    assert told == [f"last is between {low} and {high} (95 %)"]
    assert str(low) <= str(value) <= str(high)
    assert not any("is between" in one for one in wide.notices)
    assert "SET dpsql.intervals = on shows the 95 % intervals of last" in grouped


@pytest.fixture(scope="module")
def policy_without_ends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """The clinic, whose MIN and MAX are picked from the data."""
    folder = tmp_path_factory.mktemp("picked")
    build(folder)
    policy = folder / POLICY
    text = policy.read_text(encoding="utf-8").replace("epsilon: 10,", "epsilon: 100000,")
    policy.write_text("\n".join(line for line in text.splitlines() if not line.startswith("minmax:")))
    opened = Proxy.open(policy)
    yield opened
    opened.close()


def of_the_wire(value: object) -> object:
    """An array as a driver reads it."""
    return items_of(value) if isinstance(value, str) and value.startswith("{") else value


def test_data_frames_have_all_margins(proxy: Proxy) -> None:
    pytest.importorskip("pandas")
    cursor = connect(proxy, "ana").cursor()
    for sql, exact in SHAPES.items():
        cursor.execute(sql)
        columns = [one[0] for one in cursor.description or ()]
        frame = cursor.df(margins=True)
        for name in columns:
            if name in exact:
                assert f"{name}_margin" not in frame
            elif frame[name].notna().any():
                known = frame[f"{name}_margin"][frame[name].notna()]
                assert all(isinstance(one, list) or not math.isnan(one) for one in known)
