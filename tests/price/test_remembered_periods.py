"""Plans of periods that are remembered from statement to statement: those that would be made afresh."""

from __future__ import annotations

import datetime
from contextlib import closing
from pathlib import Path

import pytest
from sqlglot import exp

from dpsql.mechanisms.sampling import ExactSampler
from dpsql.opened import compared, load_policy, open_here
from dpsql.proxy import Proxy
from rewriter.dialects import Fact
from rewriter.once import distrusting
from rewriter.planner.same_query import by_value
from tests.price.test_series import Clinic

BEGUN = datetime.datetime(2026, 3, 10, 22, 30, tzinfo=datetime.UTC)
ROWS = "FROM visit JOIN patient ON id = patient_id WHERE made >= '2026-03-06 {0}' AND made < '2026-03-{1} {0}'"
STATEMENTS = (
    "SELECT COUNT(*) " + ROWS,
    "SELECT COUNT(*) " + ROWS + " AND cost >= 10",
    "SELECT COUNT(*) FILTER (WHERE cost >= 20) " + ROWS,
    "SELECT COUNT(*) " + ROWS + " AND made >= '2026-03-08'",
    "SELECT COUNT(*) " + ROWS + " AND EXTRACT(HOUR FROM made) < 12",
    "SELECT sex, AVG(cost) " + ROWS + " GROUP BY 1",
    "SELECT made::date, sex, COUNT(*) " + ROWS + " GROUP BY 1, 2",
)


@pytest.mark.parametrize("end", ["2026-12-31", "now"])
def test_plans_of_periods_are_those_that_would_be_made_afresh(tmp_path: Path, end: str) -> None:
    """Each remembered plan is made again and compared, hour by hour and over midnight; so are prices and notices."""
    clinic = Clinic(tmp_path, most="6 per month, 1 per day", closed="closed_after: 1 hour")
    path = tmp_path / "policy.yaml"
    text = path.read_text().replace("1 day at 02:00", "1 hour")
    path.write_text(text.replace("made: {range: [2026-01-01, 2026-12-31]}", f"made: {{range: [2026-01-01, {end}]}}"))
    opened = open_here(compared(load_policy(path)), read=lambda: clinic.now)
    with closing(Proxy(opened, ExactSampler())) as proxy:

        def foretold() -> list[object]:
            known = f"{clinic.now:%H}:00", f"{clinic.now:%d}"
            found = [proxy.session().explain(sql.format(*known)) for sql in STATEMENTS]
            return [(one.price, one.notices) for one in found]

        remembered = []
        for hour in (0, 1, 2):
            clinic.now = BEGUN + datetime.timedelta(hours=hour)
            with distrusting():
                warm = foretold()
            remembered.append(proxy.memories.sizes["plans of periods"])
            if hour:
                proxy.memories.forget()
                assert foretold() == warm
    first, second, third = remembered
    assert second <= first + len(STATEMENTS) * 2, "an hour later nearly all periods are the same"
    assert third > 0


def test_trees_with_other_facts_are_others() -> None:
    noted: Fact[object] = Fact("noted for a test")
    one, same, other = (noted.on(exp.column("x"), fact) for fact in ((1, "a"), (1, "a"), (True, "a")))
    assert one == same == other
    assert by_value(one) == by_value(same) != by_value(other)
    assert by_value(noted.on(exp.column("x"), one)) != by_value(noted.on(exp.column("x"), other))
    assert by_value(exp.column("x")) != by_value(one)
    assert by_value(object()) != by_value(object())
