"""The battery cannot rot: what is answered and what is refused is what the queries' headers say, at a small scale."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from dpsql.proxy import Proxy
from tests.doubles import open_without_noise

from . import data
from .battery import ask, ask_raw, beside, cells, measured, policies, refusal, session
from .written import FORMS, QUERIES, Written, read

SCALE = 0.1
ANSWERED = [query for query in (*read(QUERIES), *read(FORMS)) if not query.refused]
REFUSED = [query for query in (*read(QUERIES), *read(FORMS)) if query.refused]


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Proxy]]:
    """Proxies without noise, by whose people they protect."""
    with ExitStack() as stack:
        paths = policies(tmp_path_factory.mktemp("tpch"), data.database(SCALE))
        yield {unit: stack.enter_context(closing(open_without_noise(path))) for unit, path in paths.items()}


@pytest.mark.parametrize("query", ANSWERED, ids=lambda query: query.name)
def test_without_noise_an_answer_is_what_duckdb_says(query: Written, exact: dict[str, Proxy]) -> None:
    """Nobody here is beyond a bound, so that nothing is clipped; sums are rounded to their lattice.

    Groups that DuckDB does not list are 0. Those that are missing were left out by the query, or have too few people.
    """
    proxy = exact[query.unit]
    *_, answer = ask(session(proxy, query), query)
    found = cells(answer.rows, query.keys)
    truth = cells(ask_raw(beside(proxy), query, every_group=True), query.keys)
    for cell, value in found.items():
        there = truth.get(cell, 0)
        assert value == (there if isinstance(there, str) else pytest.approx(there, rel=query.within, abs=1e-9)), cell
    listed = cells(ask_raw(beside(proxy), query), query.keys)
    few = any("are not shown" in notice for notice in answer.notices)
    assert listed.keys() <= found.keys() or few
    assert len(listed.keys() & found.keys()) > len(listed) / 2


@pytest.mark.parametrize("query", REFUSED, ids=lambda query: query.name)
def test_a_refusal_has_the_reason_that_is_written_beside_it(query: Written, exact: dict[str, Proxy]) -> None:
    assert refusal(session(exact[query.unit], query), query) == query.refused


@pytest.mark.quick
def test_an_answered_query_is_measured_at_its_price(tmp_path: Path) -> None:
    paths = policies(tmp_path, data.database(SCALE))
    (query,) = (query for query in ANSWERED if query.name == "q12")
    with closing(Proxy.open(paths[query.unit])) as proxy:
        found = measured(proxy, query, repetitions=2)
    assert float(found.price.rho) == pytest.approx(0.5)
    assert found.groups == (2, 2)
    assert 0 < found.error < 10
    assert found.raw > 0
    assert found.whole > 0


def test_the_battery_is_whole() -> None:
    assert [query.name for query in read(QUERIES)] == [f"q{number:02}" for number in range(1, 23)]
