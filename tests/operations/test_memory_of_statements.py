"""What remembered statements take, in bytes: a bound for each, and no growth once there is no room for more."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dpsql import proxy
from dpsql.proxy import Proxy
from tests.bench import small

_TEXTS = {
    "a count": small.STATEMENTS["COUNT"],
    "a dashboard": small.STATEMENTS[small.DASHBOARD],
    "a condition of many terms": "SELECT SUM(CASE WHEN ward IN (1, 2, 3, 4, 5) THEN cost ELSE 0 END) FROM visit"
    " WHERE cost < 400.{number} AND " + " AND ".join(f"(ward <> {at} OR cost > {at})" for at in range(30)),
    "an earlier answer": "SELECT COUNT(*) FROM visit WHERE cost > (SELECT AVG(cost) FROM visit WHERE cost < 390.{number})",
    "quantiles": "SELECT kind, MEDIAN(cost) FROM visit WHERE cost < 400.{number} GROUP BY kind",
}
_EACH = 2


@pytest.fixture
def opened(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Proxy]:
    with duckdb.connect(str(tmp_path / "small.duckdb")) as database:
        database.execute(small._DATA)
    (tmp_path / "small.yaml").write_text(small._POLICY)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(proxy, "_CHARACTERS", request.param)
        found = Proxy.open(tmp_path / "small.yaml")
    yield found
    found.close()


def _taken(opened: Proxy, text: str, first: int, many: int) -> int:
    """Bytes more that are held after so many other statements."""
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(first, first + many):
        opened.prepare(text.replace("{number}", f"{number:06d}"), ())
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    return after - before


@pytest.mark.parametrize("opened", [1_000_000], indirect=True)
@pytest.mark.parametrize("name", _TEXTS)
def test_a_statement_takes_as_many_bytes_as_its_weight_says(name: str, opened: Proxy) -> None:
    text = _TEXTS[name]
    weight = opened.questions([text.replace("{number}", "5")])[0].characters
    tracemalloc.start()
    try:
        _taken(opened, text, 10, 1)
        each = _taken(opened, text, 100, _EACH) / _EACH
        assert 4 * weight < each < 40 * weight, f"{each:,.0f} bytes, {each / weight:.0f} for each character"
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("opened", [20_000], indirect=True)
def test_many_statements_take_no_more_than_some(opened: Proxy) -> None:
    text = _TEXTS["a count"]
    tracemalloc.start()
    try:
        _taken(opened, text, 1000, 25)
        assert _taken(opened, text, 2000, 20) < 20 * 2_000
    finally:
        tracemalloc.stop()
