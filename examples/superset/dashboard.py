"""Make a dashboard over the clinic in a running Superset, through dpsql: database, datasets, six charts, filters.

    python examples/superset/dashboard.py --superset http://127.0.0.1:8088 --user admin --password admin

Run again it changes what it made before, and prints the same numbers, for free.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from rest import Json, Superset, SupersetError

DATABASE = "Clinic (dpsql)"
TITLE = "Clinic"
SLUG = "clinic"
DATASETS = {
    "visit": None,
    "patient": None,
    "visit_of_patient": (
        "SELECT v.day, v.cost, v.reason, v.patient_id, p.sex, p.region\n"
        "FROM visit AS v JOIN patient AS p ON v.patient_id = p.id"
    ),
}
"""Each dataset's name, and its SQL where it is not simply a table."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of the dashboard: what Superset asks for it, and how it is drawn."""

    name: str
    dataset: str
    kind: str
    metrics: tuple[Json, ...]
    by: tuple[str, ...] = ()
    month: str = ""
    top: int = 0
    width: int = 4
    drawing: Json = field(default_factory=dict)

    def query(self) -> Json:
        """The chart's query, as Superset's own pages write it."""
        axis = [
            {
                "columnType": "BASE_AXIS",
                "sqlExpression": self.month,
                "label": self.month,
                "expressionType": "SQL",
                "timeGrain": "P1M",
            }
        ]
        query: Json = {
            "columns": [*(axis if self.month else []), *self.by],
            "metrics": list(self.metrics),
            "filters": [],
            "extras": {"having": "", "where": ""},
            "orderby": [[self.metrics[0], False]],
            "row_limit": 1000,
        }
        if self.top:
            query |= {"series_columns": list(self.by), "series_limit": self.top}
            query |= {"series_limit_metric": self.metrics[0]}
        return query

    def context(self, dataset: int) -> str:
        """The saved query of the chart: Superset answers ``chart/ID/data`` and reports from it, with no page open."""
        source, uid = {"id": dataset, "type": "table"}, f"{dataset}__table"
        asked: Json = {"datasource": source, "force": False, "queries": [self.query()]}
        asked |= {"form_data": {**self.params(), "datasource": uid}, "result_format": "json", "result_type": "full"}
        return json.dumps(asked)

    def params(self) -> Json:
        """The chart's controls, as the chart editor shows them."""
        one = {"metric": self.metrics[0]}
        many = {"metrics": list(self.metrics), "groupby": list(self.by)}
        params: Json = {"viz_type": self.kind, "row_limit": 1000, **(one | {"groupby": list(self.by)})}
        if self.kind.startswith("echarts") or self.kind == "table":
            params = {"viz_type": self.kind, "row_limit": 1000, **many, "query_mode": "aggregate"}
        if self.month:
            params |= {"x_axis": self.month, "time_grain_sqla": "P1M", "limit": self.top or None}
        elif self.kind.startswith("echarts"):
            params |= {"x_axis": self.by[0], "groupby": list(self.by[1:])}
        return params | self.drawing


def sql(expression: str, label: str) -> Json:
    """A metric that is written as SQL."""
    return {"expressionType": "SQL", "sqlExpression": expression, "label": label, "optionName": f"metric_{label}"}


VISITS = sql("COUNT(*)", "visits")
PATIENTS = sql("COUNT(*)", "patients")
CHARTS = (
    Chart("Visits in the year", "visit", "big_number_total", (VISITS,), width=3),
    Chart("Visits by reason", "visit", "echarts_timeseries_bar", (VISITS,), ("reason",), width=5),
    Chart("Patients by region", "patient", "pie", (PATIENTS,), ("region",), width=4),
    Chart("Visits by month", "visit", "echarts_timeseries_line", (VISITS,), ("reason",), "day", top=3, width=8),
    Chart(
        "Smokers",
        "patient",
        "table",
        (PATIENTS, sql("AVG(weight_kg)", "mean kg"), sql("AVG(height_cm)", "mean cm")),
        ("smoker",),
    ),
    Chart(
        "Visits by region",
        "visit_of_patient",
        "table",
        (VISITS, sql("COUNT(DISTINCT patient_id)", "patients"), sql("AVG(cost)", "mean cost")),
        ("region",),
        width=12,
    ),
)


def build(superset: Superset, database_url: str) -> dict[str, int]:
    """Make everything, or change what is there; returns the charts' ids by name. Reads no data."""
    database = superset.make(
        "database",
        {"database_name": DATABASE, "sqlalchemy_uri": database_url, "expose_in_sqllab": True},
        database_name=DATABASE,
    )
    datasets = {name: _dataset(superset, database, name, text) for name, text in DATASETS.items()}
    dashboard = superset.make("dashboard", {"dashboard_title": TITLE, "slug": SLUG, "published": True}, slug=SLUG)
    charts = {chart.name: _chart(superset, chart, datasets[chart.dataset], dashboard) for chart in CHARTS}
    page = {"position_json": json.dumps(layout(charts)), "json_metadata": json.dumps(filters(datasets, charts))}
    superset.call("PUT", f"dashboard/{dashboard}", page)
    return charts


def _dataset(superset: Superset, database: int, name: str, text: str | None) -> int:
    known = superset.find("dataset", table_name=name, database=database)
    body: Json = {"database": database, "schema": "public", "table_name": name}
    if known is None:
        # Superset learns the columns of a statement from its first row: dpsql answers the columns, and no row.
        return int(superset.call("POST", "dataset/", body if text is None else body | {"sql": text})["id"])
    if text is not None:
        superset.call("PUT", f"dataset/{known}", {"sql": text})
    return known


def _chart(superset: Superset, chart: Chart, dataset: int, dashboard: int) -> int:
    body = {
        "slice_name": chart.name,
        "viz_type": chart.kind,
        "datasource_id": dataset,
        "datasource_type": "table",
        "params": json.dumps({**chart.params(), "datasource": f"{dataset}__table"}),
        "query_context": chart.context(dataset),
        "dashboards": [dashboard],
    }
    return superset.make("chart", body, slice_name=chart.name, datasource_id=dataset)


def layout(charts: dict[str, int]) -> Json:
    """Charts in rows of twelve columns, in their order."""
    rows: list[list[Chart]] = [[]]
    for chart in CHARTS:
        if sum(placed.width for placed in rows[-1]) + chart.width > 12:
            rows.append([])
        rows[-1].append(chart)
    places: Json = {
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["GRID_ID"]},
        "GRID_ID": {"type": "GRID", "id": "GRID_ID", "parents": ["ROOT_ID"], "children": []},
        "HEADER_ID": {"type": "HEADER", "id": "HEADER_ID", "meta": {"text": TITLE}},
    }
    for number, row in enumerate(rows):
        name = f"ROW-{number}"
        places["GRID_ID"]["children"].append(name)
        children = [f"CHART-{charts[chart.name]}" for chart in row]
        places[name] = {"type": "ROW", "id": name, "children": children, "parents": ["ROOT_ID", "GRID_ID"]}
        places[name]["meta"] = {"background": "BACKGROUND_TRANSPARENT"}
        for chart, child in zip(row, children, strict=True):
            meta = {"chartId": charts[chart.name], "sliceName": chart.name, "width": chart.width, "height": 40}
            places[child] = {"type": "CHART", "id": child, "children": [], "meta": meta}
            places[child]["parents"] = ["ROOT_ID", "GRID_ID", name]
    return places


def filters(datasets: dict[str, int], charts: dict[str, int]) -> Json:
    """A drop-down with the reasons: declared in the policy, so it costs nothing to fill."""
    return {
        "native_filter_configuration": [
            {
                "id": "NATIVE_FILTER-reason",
                "type": "NATIVE_FILTER",
                "name": "Reason",
                "filterType": "filter_select",
                "targets": [{"datasetId": datasets["visit"], "column": {"name": "reason"}}],
                "controlValues": {"multiSelect": True, "enableEmptyFilter": False},
                "defaultDataMask": {"extraFormData": {}, "filterState": {}},
                "cascadeParentIds": [],
                "scope": {"rootPath": ["ROOT_ID"], "excluded": []},
                "chartsInScope": [charts[chart.name] for chart in CHARTS if chart.dataset != "patient"],
            }
        ],
        "chart_configuration": {},
        "refresh_frequency": 0,
    }


def shown(rows: Sequence[Json]) -> str:
    """Rows as a table of plain text; a month is named by its first day."""
    if not rows:
        return "(no rows)"
    cells = [[str(name) for name in rows[0]], *([_cell(*item) for item in row.items()] for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(cells[0]))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in cells
    )


def _cell(name: str, value: object) -> str:
    if name == "day" and isinstance(value, int | float):  # Superset's JSON has milliseconds since 1970
        from datetime import UTC, datetime

        return datetime.fromtimestamp(value / 1000, UTC).date().isoformat()
    return f"{value:.2f}" if isinstance(value, float) and value % 1 else str(value)


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--superset", default="http://127.0.0.1:8088", help="(%(default)s)")
    options.add_argument("--user", default="admin", help="(%(default)s)")
    options.add_argument("--password", default="admin", help="(%(default)s)")
    options.add_argument(
        "--database",
        default="postgresql+psycopg2://ana@127.0.0.1:5433/clinic",
        help="where dpsql listens, as seen from Superset (%(default)s)",
    )
    chosen = options.parse_args(arguments)
    try:
        superset = Superset.log_in(chosen.superset, chosen.user, chosen.password)
        charts = build(superset, chosen.database)
        for name, chart in charts.items():
            print(f"{name}\n{shown(superset.drawn(chart))}\n")
    except SupersetError as problem:
        print(problem, file=sys.stderr)
        return 1
    print(f"{chosen.superset}/superset/dashboard/{SLUG}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
