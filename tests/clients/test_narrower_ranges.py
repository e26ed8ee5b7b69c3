"""``dpsql check --data`` proposes a narrower range, and whoever follows it gets the errors that it names."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console
from sqlglot import exp

from dpsql.engines import cut_scan
from dpsql.interfaces.commands.data_check import check_data
from dpsql.narrower_ranges import CutOff, NarrowRange, narrow_ranges
from dpsql.policy import Policy
from dpsql.proxy import Proxy
from dpsql.what_if import tried, with_range
from tests.engines.postgres_server import copy_tables, shared_server
from tests.policies import policy_text

PEOPLE = 40_000
POLICY = policy_text("""
database: duckdb:shop.duckdb; ledger: sqlite:shop.ledger; privacy_unit: customer.id
budget: {epsilon: 10, delta: 1e-6}; statement: {epsilon: 0.25}
tables:
  customer(key: [id]): id, shop 0..7, place 0..49, spent 0..5000
""")


def shop(folder: Path, spent: np.ndarray) -> Path:
    ids = np.arange(len(spent))
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.register("made", pa.table({"id": ids, "shop": ids % 8, "place": ids % 50, "spent": spent}))
        connection.execute("CREATE TABLE customer AS SELECT * FROM made")
        connection.execute("ALTER TABLE customer ADD PRIMARY KEY (id)")
    (folder / "policy.yaml").write_text(POLICY)
    return folder / "policy.yaml"


def told(path: Path) -> str:
    page = io.StringIO()
    check_data(Policy.load(path), Console(file=page, force_terminal=True, color_system=None, width=200))
    return page.getvalue()


def root_mean_square(policy: Policy, key: str, truth: Sequence[float]) -> float:
    """The error of a mean by a key, over answers with fresh noise."""
    off = []
    with tried(policy) as proxy:
        for _ in range(12):
            session = proxy.session()
            session.execute("SET dpsql.reuse = off")
            rows = session.execute(f"SELECT {key}, AVG(spent) FROM customer GROUP BY {key} ORDER BY 1").rows
            means = {at: float(mean) for at, mean in rows if at is not None}
            off += [means[at] - true for at, true in enumerate(truth)]
    return math.sqrt(np.mean(np.square(off)))


def test_whoever_follows_the_advice_errs_as_it_says(tmp_path: Path) -> None:
    spent = np.minimum(np.exp(np.random.default_rng(3).normal(math.log(60), 0.7, PEOPLE)), 5000.0)
    path = shop(tmp_path, spent)
    page = told(path)
    found = re.search(r"customer\.spent: range: \[(\d+), (\d+)\] takes (\d+) % from the errors", page)
    assert found is not None, page
    low, high = Fraction(found[1]), Fraction(found[2])
    assert low == 0
    assert high < 1500
    named = re.findall(r"of (8|50), ± ([\d.,]+), not ± ([\d.,]+)", page)
    assert [groups for groups, _, _ in named] == ["8", "50"]
    policy = Policy.load(path)
    for (groups, then, now), key in zip(named, ("shop", "place"), strict=True):
        many = int(groups)
        truth = [float(spent[np.arange(PEOPLE) % many == at].mean()) for at in range(many)]
        before = root_mean_square(policy, key, truth)
        after = root_mean_square(with_range(policy, "customer", "spent", low, high), key, truth)
        # Foretold is a mean at the end of its range, whose noise is up to √2 times that in the middle.
        for measured, foretold in ((before, now), (after, then)):
            assert 0.6 < 1.96 * measured / float(foretold.replace(",", "")) < 1.15
        assert after < before / 3


def test_a_group_unlike_all_others_loses_nothing(tmp_path: Path) -> None:
    """One place of fifty has all of the values that are far off: they are not many, and all of its mean."""
    spent = np.random.default_rng(4).uniform(0, 60, 4_000)
    unlike = np.arange(len(spent)) % 50 == 3
    spent[unlike & (np.arange(len(spent)) % 400 < 200)] = 150.0
    path = shop(tmp_path, spent)
    page = told(path)
    found = re.search(r"customer\.spent: range: \[(\d+), (\d+)\] takes", page)
    assert found is not None, page
    low, high = Fraction(found[1]), Fraction(found[2])
    policy, true = Policy.load(path), float(spent[unlike].mean())
    moved = abs(float(np.clip(spent[unlike], float(low), float(high)).mean()) - true)
    with tried(policy) as proxy:
        margins = proxy.session().execute("SELECT place, AVG(spent) FROM customer GROUP BY place ORDER BY 1").margins
    with tried(with_range(policy, "customer", "spent", low, high)) as proxy:
        then = proxy.session().execute("SELECT place, AVG(spent) FROM customer GROUP BY place ORDER BY 1").margins
    before, after = margins[3][1], then[3][1]
    assert before is not None
    assert after is not None
    assert math.hypot(after / 1.96, moved) < before / 1.96


@pytest.mark.parametrize("groups", [8, 50, 400])
@pytest.mark.parametrize("noise", [0.001, 0.1, 2.0, 10.0])
def test_no_group_loses_that_has_all_that_is_cut_off(noise: float, groups: int) -> None:
    values = np.concatenate([np.linspace(0, 50, 990), np.linspace(500, 1000, 10)])
    for one in proposed(values, noise):
        cut = np.abs(np.clip(values, float(one.low), float(one.high)) - values).mean()
        narrow = float(one.high - one.low) / 1000
        assert math.hypot(noise * groups * narrow, groups * cut) <= math.sqrt(0.5) * noise * groups * (1 + 1e-9)


def proposed(values: np.ndarray, noise: float) -> tuple[NarrowRange, ...]:
    """The ranges for values from 0 to 1000."""
    ends = [Fraction(end) for end in (0, 5, 10, 20, 50, 100, 300, 500, 800, 1000)]
    below = [np.maximum(float(end) - values, 0) for end in ends]
    above = [np.maximum(values - float(end), 0) for end in ends]
    sides = [
        [CutOff(end, float((far > 0).mean()), float(far.mean())) for end, far in zip(ends, side, strict=True)]
        for side in (below, above)
    ]
    return narrow_ranges(*sides, noise)


def test_what_is_cut_off_follows_the_noise() -> None:
    """One value in a hundred lies far off: it is cut off only where the noise is larger than what it adds to a mean."""
    values = np.concatenate([np.linspace(0, 50, 990), np.linspace(500, 1000, 10)])
    assert proposed(values, 0.1) == ()
    assert [(one.low, one.high) for one in proposed(values, 10.0)] == [(0, 50)]
    assert [(one.low, one.high, one.part) for one in proposed(np.linspace(20, 50, 99), 0.1)] == [(20, 50, 0.0)]
    assert proposed(np.linspace(0, 1000, 99), 10.0) == ()


def test_a_proxy_is_not_charged_for_it(tmp_path: Path) -> None:
    path = shop(tmp_path, np.full(PEOPLE, 70.0))
    assert "customer.spent: range: [" in told(path)
    proxy = Proxy.open(path)
    assert not proxy.ledger.charges(limit=10)
    proxy.close()


def test_what_is_beyond_each_end_is_told_alike_by_engines(tmp_path: Path) -> None:
    spent = np.array([-3.0, 0.0, 1.0, 4.0, 10.0, 12.0, np.nan])
    path = shop(tmp_path, spent)
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute("UPDATE customer SET spent = NULL WHERE isnan(spent)")
    server = shared_server()
    name = server.database("CREATE TABLE customer (id BIGINT PRIMARY KEY, shop BIGINT, place BIGINT, spent FLOAT8)")
    with duckdb.connect(str(tmp_path / "shop.duckdb"), read_only=True) as rows, server.owner(name) as connection:
        copy_tables(rows, connection, ("customer",))
    ends = [exp.Literal.number(end) for end in ("0", "2.5", "5", "10")]
    scan = partial(cut_scan, table="customer", column="spent", ends=ends)
    for url in ("duckdb:shop.duckdb", server.url(name)):
        path.write_text(POLICY.replace("duckdb:shop.duckdb", url))
        proxy = Proxy.open(path)
        found = [float(one) for one in proxy.answering.opened.engine.figures(scan)]
        proxy.close()
        # Of 0, 0, 1, 4, 10 and 10: below, how far, above, how far.
        assert found == [6, *(0, 0, 4, 25), *(3, 6.5, 3, 16.5), *(4, 15, 2, 10), *(4, 35, 0, 0)]
