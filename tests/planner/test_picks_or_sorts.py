"""Plans of picks are left out only where the price, whatever it is, would not have taken them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.accounting import ACCOUNTINGS
from dpsql.accounting.loss import PrivacyLoss
from dpsql.calibrate.calibration import calibrate
from dpsql.calibrate.sort_or_pick import ranked
from dpsql.errors import DataError
from rewriter.declared.contribution import Norm
from rewriter.dialects.duckdb import DUCKDB
from rewriter.planner.picks_or_sorts import only_sorts
from rewriter.planner.plan_release import plan
from rewriter.planner.plan_top_k import plan_top
from rewriter.release import Query
from rewriter.split.splitter import split
from rewriter.statement.parser import Select, parse
from tests.golden.pairs import clinic

CLINIC = clinic()
PRICES = tuple(Fraction(1, 1000) * 10**power for power in range(5))
PRICED = {
    "zcdp": lambda price: PrivacyLoss(rho=price),
    "pure": lambda price: PrivacyLoss(epsilon=price),
}
BOUNDS = ((40, 1, 40), (40, 40, 1), (12, 4, 3), (1, 1, 1), (365, 30, 30))


def asked(sql: str) -> Query:
    statement = parse(sql)
    assert isinstance(statement, Select)
    (query,) = split(statement.tree, CLINIC, DUCKDB).groupings
    return query


@pytest.mark.parametrize(("accounting", "norms"), [("zcdp", (Norm.L2,)), ("pure", (Norm.L1,))])
@pytest.mark.parametrize("what", ["COUNT(*)", "COUNT(*), SUM(cost)", "COUNT(*), AVG(cost), COUNT(DISTINCT patient_id)"])
def test_what_is_not_picked_would_have_been_sorted(accounting: str, norms: tuple[Norm, ...], what: str) -> None:
    decided = set()
    for count in (1, 3, 20, 300):
        for rows, groups, in_group in BOUNDS:
            query = asked(f"SELECT day, {what} FROM visit GROUP BY day ORDER BY 2 DESC LIMIT {count}")
            bound = replace(query.bound, rows=rows, groups=groups, rows_per_group=in_group)
            query = replace(query, bound=bound)
            every = [plan(query, norm, DUCKDB) for norm in norms]
            sorts = only_sorts(query, norms, every)
            decided.add(sorts)
            if not sorts:
                continue
            picks = [plan_top(query, norm, DUCKDB) for norm in norms]
            for price in PRICES:
                paid = PRICED[accounting](price)
                try:
                    picked = [calibrate(one, ACCOUNTINGS[accounting], paid) for one in picks if one is not None]
                except DataError:
                    continue  # It has noise of more than 64 bits.
                sorted_ = [calibrate(one, ACCOUNTINGS[accounting], paid) for one in every]
                assert ranked(sorted_, picked).plan.top is None
    assert decided == {True, False}
