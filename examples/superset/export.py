"""Write the dashboard as the files that Superset exports and imports: `assets`, and with `--zip FILE` as one to upload.

    python examples/superset/export.py --zip clinic.zip      # Superset: Dashboards, Import dashboards

Names have UUIDs that are made of them, so that an import changes what an earlier one made.
"""

from __future__ import annotations

import argparse
import sys
import uuid
import zipfile
from collections.abc import Sequence
from pathlib import Path

import dashboard
import yaml
from dashboard import CHARTS, DATABASE, DATASETS, SLUG, TITLE, Chart
from rest import Json

FOLDER = Path(__file__).parent / "assets"
URL = "postgresql+psycopg2://ana@127.0.0.1:5433/clinic"
VERSION = "1.0.0"
NUMBERED_BY_SUPERSET = 0
"""The number of a dataset in a file: an import puts its own number in the place of any that it finds."""
COLUMNS = {
    "visit": {"patient_id": "INTEGER", "day": "DATE", "cost": "NUMERIC", "reason": "TEXT"},
    "patient": {
        "id": "INTEGER",
        "sex": "TEXT",
        "birth_year": "SMALLINT",
        "height_cm": "FLOAT",
        "weight_kg": "FLOAT",
        "smoker": "BOOLEAN",
        "diagnosis": "TEXT",
        "region": "TEXT",
    },
    "visit_of_patient": {
        "day": "DATE",
        "cost": "NUMERIC",
        "reason": "TEXT",
        "patient_id": "INTEGER",
        "sex": "TEXT",
        "region": "TEXT",
    },
}
"""What analysts see of each dataset: Superset asks for no column when it imports one."""


def identity(kind: str, name: str) -> str:
    """The UUID of a database, dataset, chart or dashboard, the same each time."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"https://dpsql.example/superset/{kind}/{name}"))


def assets(url: str = URL) -> dict[str, Json]:
    """Each file's name below the folder, and what is in it."""
    numbers = {chart.name: number for number, chart in enumerate(CHARTS, start=1)}
    files: dict[str, Json] = {
        "metadata.yaml": {"version": VERSION, "type": "Dashboard", "timestamp": "2026-01-01T00:00:00+00:00"},
        "databases/clinic.yaml": {
            "database_name": DATABASE,
            "sqlalchemy_uri": url,
            "expose_in_sqllab": True,
            "allow_run_async": False,
            "allow_ctas": False,
            "allow_cvas": False,
            "allow_dml": False,
            "extra": {"allows_virtual_table_explore": True},
            "uuid": identity("database", DATABASE),
            "version": VERSION,
        },
        f"dashboards/{SLUG}.yaml": _dashboard(numbers),
    }
    files |= {f"datasets/clinic/{name}.yaml": _dataset(name, text) for name, text in DATASETS.items()}
    files |= {f"charts/{_file(chart)}.yaml": _chart(chart) for chart in CHARTS}
    return files


def _file(chart: Chart) -> str:
    return chart.name.replace(" ", "_")


def _dataset(name: str, text: str | None) -> Json:
    columns = [
        {"column_name": column, "type": kind, "is_dttm": kind == "DATE", "groupby": True, "filterable": True}
        for column, kind in COLUMNS[name].items()
    ]
    return {
        "table_name": name,
        "main_dttm_col": "day" if "day" in COLUMNS[name] else None,
        "schema": "public",
        "sql": text,
        "columns": columns,
        "metrics": [{"metric_name": "count", "expression": "COUNT(*)", "verbose_name": "COUNT(*)"}],
        "uuid": identity("dataset", name),
        "database_uuid": identity("database", DATABASE),
        "version": VERSION,
    }


def _chart(chart: Chart) -> Json:
    return {
        "slice_name": chart.name,
        "viz_type": chart.kind,
        "params": chart.params(),
        "query_context": chart.context(NUMBERED_BY_SUPERSET),
        "uuid": identity("chart", chart.name),
        "dataset_uuid": identity("dataset", chart.dataset),
        "version": VERSION,
    }


def _dashboard(numbers: dict[str, int]) -> Json:
    position = dashboard.layout(numbers)
    for place in position.values():
        if isinstance(place, dict) and place["type"] == "CHART":
            place["meta"]["uuid"] = identity("chart", place["meta"]["sliceName"])
    metadata = dashboard.filters(dict.fromkeys(DATASETS, 0), numbers)
    for chosen in metadata["native_filter_configuration"]:
        for target in chosen["targets"]:
            del target["datasetId"]
            target["datasetUuid"] = identity("dataset", "visit")
    return {
        "dashboard_title": TITLE,
        "slug": SLUG,
        "published": True,
        "position": position,
        "metadata": metadata,
        "uuid": identity("dashboard", SLUG),
        "version": VERSION,
    }


def texts(url: str = URL) -> dict[str, str]:
    """The files as YAML."""
    return {name: yaml.safe_dump(content, sort_keys=False) for name, content in assets(url).items()}


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--database", default=URL, help="where dpsql listens, as seen from Superset (%(default)s)")
    options.add_argument("--zip", type=Path, help="one file to upload, in the place of the folder assets")
    chosen = options.parse_args(arguments)
    written = texts(chosen.database)
    if chosen.zip is not None:
        with zipfile.ZipFile(chosen.zip, "w") as archive:
            for name, text in written.items():
                archive.writestr(f"clinic/{name}", text)
        return 0
    for name, text in written.items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
