"""Superset's own pages in a real browser over a clinic that ends today: relative times, its grains, and a dashboard of both.

Nothing is asked through its REST API but what makes the database, the dataset and the dashboard. ``DPSQL_SCREENSHOTS``
names a folder where what was seen is kept.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import psycopg
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from dpsql.interfaces.commands import demo_clinic as clinic
from tests.clients import superset_server
from tests.clients.served import served

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "superset"))
import dashboard
from rest import Json, Superset

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt install chromium"),
]
SCREENSHOTS = os.environ.get("DPSQL_SCREENSHOTS")
PASSWORD = "kept out of the log"  # noqa: S105
PATIENCE = 120_000
"""Milliseconds. The first page of a Superset that has just started takes most of a minute on a busy machine."""
GRAINS = (
    *("Day", "Second", "5 second", "30 second", "Minute", "5 minute", "10 minute", "15 minute", "30 minute", "Hour"),
    *("Week", "Month", "Quarter", "Year"),
)
"""All that Superset offers for a PostgreSQL, in its order."""
LIVING = """
ALTER TABLE visit ADD COLUMN made TIMESTAMP;
UPDATE visit SET made = day + to_minutes((current_date - DATE '2026-01-01') * 1440 + id % 8 * 180);
ALTER TABLE visit ALTER COLUMN made SET NOT NULL;
"""
"""The year of visits as if it ended at the last midnight, each at one of eight times of its day."""
DATASET = "SELECT made, reason, cost FROM visit"


@dataclass(frozen=True, slots=True)
class Shown:
    """A Superset with a dashboard over the living clinic, and the owner's view of it."""

    url: str
    port: int
    folder: Path
    charts: Mapping[str, int]

    def spent(self) -> float:
        with psycopg.connect(f"host=127.0.0.1 port={self.port} user=ana dbname=clinic") as connection:
            (row,) = connection.execute("SELECT spent_epsilon FROM dpsql.budget WHERE analyst IS NULL").fetchall()
        return float(row[0])

    def truth(self, sql: str) -> float:
        with duckdb.connect(str(self.folder / clinic.DATABASE), read_only=True) as connection:
            ((found,),) = connection.execute(sql).fetchall()
        return float(found)


def living(built: Path, folder: Path) -> Path:
    """The clinic in ``folder``, whose visits end today."""
    shutil.copy(built / clinic.DATABASE, folder)
    with duckdb.connect(str(folder / clinic.DATABASE)) as connection:
        connection.execute(LIVING)
    policy = re.sub(r"max_epsilon: [\d.]+", "max_epsilon: 30", (built / clinic.POLICY).read_text())
    declared = "      made: {range: [2020-01-01, now]}\n"
    found = re.sub(r"( +day: \{range: [^\n]*\n)", rf"\1{declared}", policy)
    assert found != policy
    (folder / clinic.POLICY).write_text(found)
    return folder


VISITS = dashboard.VISITS
MONTH = {"clause": "WHERE", "subject": "made", "operator": "TEMPORAL_RANGE", "comparator": "Last 30 days"}
CHARTS: Mapping[str, Json] = {
    "Visits of the last 30 days": {"viz_type": "big_number_total", "metric": VISITS},
    "By day": {
        "viz_type": "echarts_timeseries_line",
        "x_axis": "made",
        "time_grain_sqla": "P1D",
        "metrics": [VISITS],
        "groupby": [],
    },
    "By reason": {
        "viz_type": "echarts_timeseries_bar",
        "x_axis": "made",
        "time_grain_sqla": "P1W",
        "metrics": [VISITS],
        "groupby": ["reason"],
    },
    "Reasons": {"viz_type": "pie", "metric": VISITS, "groupby": ["reason"]},
    "Figures": {
        "viz_type": "table",
        "query_mode": "aggregate",
        "groupby": ["reason"],
        "metrics": [VISITS, dashboard.sql("AVG(cost)", "mean cost")],
    },
}
"""What is drawn, by its title, as the chart editor keeps it; each over the last 30 days."""


def built(superset: Superset, port: int) -> Mapping[str, int]:
    """The database, a virtual dataset, the charts and a dashboard of them. Reads no rows of people."""
    url = f"postgresql+psycopg2://ana@127.0.0.1:{port}/clinic"
    database = superset.make(
        "database", {"database_name": "living", "sqlalchemy_uri": url, "expose_in_sqllab": True}, database_name="living"
    )
    body = {"database": database, "schema": "public", "table_name": "visits", "sql": DATASET}
    dataset = superset.make("dataset", body, table_name="visits")
    page = superset.make("dashboard", {"dashboard_title": "Living", "slug": "living", "published": True}, slug="living")
    charts = {}
    for name, drawing in CHARTS.items():
        params = {**drawing, "adhoc_filters": [{**MONTH, "expressionType": "SIMPLE"}], "row_limit": 1000}
        chart = {
            "slice_name": name,
            "viz_type": drawing["viz_type"],
            "datasource_id": dataset,
            "datasource_type": "table",
            "params": json.dumps({**params, "datasource": f"{dataset}__table"}),
            "dashboards": [page],
        }
        charts[name] = superset.make("chart", chart, slice_name=name)
    superset.call("PUT", f"dashboard/{page}", {"position_json": json.dumps(placed(charts))})
    return charts


def placed(charts: Mapping[str, int]) -> Json:
    """Charts two in a row."""
    places: Json = {
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["GRID_ID"]},
        "GRID_ID": {"type": "GRID", "id": "GRID_ID", "parents": ["ROOT_ID"], "children": []},
        "HEADER_ID": {"type": "HEADER", "id": "HEADER_ID", "meta": {"text": "Living"}},
    }
    names = list(charts)
    for row in range(0, len(names), 2):
        pair, at = names[row : row + 2], f"ROW-{row}"
        places["GRID_ID"]["children"].append(at)
        children = [f"CHART-{charts[name]}" for name in pair]
        parents = ["ROOT_ID", "GRID_ID"]
        places[at] = {"type": "ROW", "id": at, "children": children, "parents": parents}
        places[at]["meta"] = {"background": "BACKGROUND_TRANSPARENT"}
        for name, child in zip(pair, children, strict=True):
            meta = {"chartId": charts[name], "sliceName": name, "width": 6, "height": 40}
            places[child] = {"type": "CHART", "id": child, "children": [], "parents": [*parents, at], "meta": meta}
    return places


@pytest.fixture(scope="module")
def shown(built_clinic: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    folder = tmp_path_factory.mktemp("living")
    (folder / "built").mkdir()
    (folder / "superset").mkdir()
    living(built_clinic, folder / "built")
    with (
        served(folder / "built", folder, each="30") as server,
        superset_server.running(folder / "superset", PASSWORD) as url,
    ):
        yield Shown(url, server.port, folder, built(Superset.log_in(url, "admin", PASSWORD), server.port))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def context(chromium: Browser, shown: Shown) -> Iterator[BrowserContext]:
    """Where somebody has signed in, by the form."""
    found = chromium.new_context(base_url=shown.url, viewport={"width": 1400, "height": 1300})
    found.set_default_timeout(PATIENCE)
    page = found.new_page()
    page.goto("/login/")
    page.get_by_label("Username").fill("admin")
    page.locator("input[type=password]").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/superset/welcome/**")
    page.close()
    yield found
    found.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page that fails its test where a script fails, or where data of a chart are an error."""
    found = context.new_page()
    wrong: list[str] = []
    found.on("pageerror", lambda problem: wrong.append(str(problem)))
    found.on("response", lambda told: wrong.append(told.url) if told.status >= 400 and "/api/" in told.url else None)
    yield found
    alerts = found.get_by_role("alert").all_inner_texts()
    found.close()
    assert not [text for text in alerts if "rror" in text]
    assert not wrong


def kept(page: Page, name: str) -> None:
    if SCREENSHOTS:
        page.wait_for_timeout(2_000)  # Until what is drawn has moved to its place.
        page.screenshot(path=str(Path(SCREENSHOTS) / f"superset-{name}.png"), full_page=True)


def number(text: str) -> float:
    """What Superset writes short, as 6.01k."""
    return float(text.removesuffix("k")) * (1000 if text.endswith("k") else 1)


def drawn(page: Page) -> None:
    page.goto("/superset/dashboard/living/")
    expect(page.locator(".chart-container")).to_have_count(len(CHARTS), timeout=PATIENCE)
    expect(page.locator(".chart-container canvas")).to_have_count(3, timeout=PATIENCE)
    expect(page.get_by_text("Waiting on")).to_have_count(0, timeout=PATIENCE)
    expect(page.locator(".chart-container tbody tr")).to_have_count(len(clinic.REASONS), timeout=PATIENCE)


def test_a_dashboard_of_the_last_30_days_is_drawn_and_paid_once(page: Page, shown: Shown) -> None:
    drawn(page)
    kept(page, "dashboard")
    month = "FROM visit WHERE made >= current_date - 30 AND made < current_date"
    total = number(page.locator(".chart-container").first.inner_text().strip())
    assert total == pytest.approx(shown.truth(f"SELECT COUNT(*) {month}"), rel=0.01)
    rows = [row.split() for row in page.locator(".chart-container tbody tr").all_inner_texts()]
    assert {row[0] for row in rows} == {name for name, _, _ in clinic.REASONS}
    for reason, visits, mean in rows:
        assert number(visits) == pytest.approx(
            shown.truth(f"SELECT COUNT(*) {month} AND reason = '{reason}'"), rel=0.05
        )
        assert number(mean) == pytest.approx(shown.truth(f"SELECT AVG(cost) {month} AND reason = '{reason}'"), rel=0.1)
    spent = shown.spent()
    assert spent > 0
    drawn(page)
    assert shown.spent() == spent


def explored(page: Page, shown: Shown) -> None:
    """The chart editor with the line by day."""
    page.goto(f"/explore/?slice_id={shown.charts['By day']}")
    expect(page.locator("[data-test=row-count-label]")).to_have_text("30 rows", timeout=PATIENCE)


def asked_anew(page: Page) -> Json:
    """What Superset is answered after Update."""
    with page.expect_response(lambda told: "/chart/data" in told.url) as told:
        page.locator("[data-test=run-query-button]").click()
    (result,) = told.value.json()["result"]
    return dict(result)


def test_each_of_supersets_grains_is_chosen_and_drawn(page: Page, shown: Shown) -> None:
    explored(page, shown)
    true = shown.truth("SELECT COUNT(*) FROM visit WHERE made >= current_date - 30 AND made < current_date")
    for grain in GRAINS[1:]:
        page.get_by_label("Time Grain").first.click()
        options = page.locator(".ant-select-dropdown:visible .ant-select-item-option")
        for name in GRAINS:
            expect(options.get_by_text(name, exact=True)).to_have_count(1)
        options.get_by_text(grain, exact=True).click()
        expect(options).to_have_count(0)
        result = asked_anew(page)
        assert result["error"] is None, grain
        assert sum(row["visits"] for row in result["data"]) == pytest.approx(true, rel=0.25), grain
        expect(page.locator("[data-test=row-count-label]")).to_have_text(re.compile("^[1-9]"))
    kept(page, "grain")


@pytest.mark.parametrize(
    ("range_", "days"), [("Last day", 1), ("Last week", 7), ("Last month", 28), ("Last quarter", 88)]
)
def test_another_relative_range_is_chosen(page: Page, shown: Shown, range_: str, days: int) -> None:
    explored(page, shown)
    page.locator("[data-test=adhoc_filters] [data-test=option-label]").first.click()
    page.locator("[data-test=time-range-trigger]").click()
    page.get_by_label("Range type").first.click()
    page.locator(".ant-select-dropdown:visible .ant-select-item-option").get_by_text("Last", exact=True).click()
    page.get_by_role("radio", name=range_, exact=True).check()
    page.locator("[data-test=date-filter-control__apply-button]").click()
    page.locator("[data-test=adhoc-filter-edit-popover-save-button]").click()
    result = asked_anew(page)
    assert result["error"] is None
    assert days <= len(result["data"]) <= days + 4
    kept(page, "range")


def test_a_sample_has_columns_and_no_row(page: Page, shown: Shown) -> None:
    explored(page, shown)
    spent = shown.spent()
    with page.expect_response(lambda told: "/datasource/samples" in told.url) as told:
        page.get_by_role("tab", name="Samples").click()
    result = told.value.json()["result"]
    assert (result["colnames"], result["data"]) == (["made", "reason", "cost"], [])
    assert shown.spent() == spent
    kept(page, "samples")
