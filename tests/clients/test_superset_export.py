"""The dashboard that Superset imports: whole, current, and answered statement by statement as Superset writes them.

Superset itself is not asked here (:mod:`tests.clients.test_superset` does): its SQL goes through its driver.
"""

from __future__ import annotations

import contextlib
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy
import yaml

from tests.clients.served import Served
from tests.doubles import open_without_noise

FOLDER = Path(__file__).parents[2] / "examples" / "superset"
sys.path.insert(0, str(FOLDER))
import export  # noqa: E402
from dashboard import CHARTS, DATASETS, Chart  # noqa: E402

OF_PATIENT = DATASETS["visit_of_patient"]
STATEMENTS = {
    "Visits in the year": "SELECT COUNT(*) AS visits \nFROM public.visit ORDER BY visits DESC \n LIMIT 1000",
    "Visits by reason": "SELECT reason AS reason, COUNT(*) AS visits \nFROM public.visit GROUP BY reason"
    " ORDER BY visits DESC \n LIMIT 1000",
    "Patients by region": "SELECT region AS region, COUNT(*) AS patients \nFROM public.patient GROUP BY region"
    " ORDER BY patients DESC \n LIMIT 1000",
    "Visits by month": "SELECT DATE_TRUNC('month', day) AS day, reason AS reason, COUNT(*) AS visits \n"
    "FROM public.visit JOIN (SELECT reason AS reason__, COUNT(*) AS mme_inner__ \nFROM public.visit"
    " GROUP BY reason ORDER BY mme_inner__ DESC \n LIMIT 3) AS anon_1 ON reason = reason__"
    " GROUP BY DATE_TRUNC('month', day), reason ORDER BY visits DESC \n LIMIT 1000",
    "Smokers": 'SELECT smoker AS smoker, COUNT(*) AS patients, AVG(weight_kg) AS "mean kg", AVG(height_cm) AS "mean cm" \n'
    "FROM public.patient GROUP BY smoker ORDER BY patients DESC \n LIMIT 1000",
    "Visits by region": "SELECT region AS region, COUNT(*) AS visits, COUNT(DISTINCT patient_id) AS patients,"
    f' AVG(cost) AS "mean cost" \nFROM ({OF_PATIENT}\n) AS virtual_table GROUP BY region ORDER BY visits DESC \n LIMIT 1000',
}
"""What Superset 6.1 sends for each chart."""
FILTERED = "WHERE reason IN ('acute', 'chronic')"
ROWS = {"Visits in the year": 1, "Visits by reason": 5, "Patients by region": 6, "Visits by month": 36, "Smokers": 3}


@pytest.fixture(scope="module")
def engine(server: Served) -> Iterator[sqlalchemy.Engine]:
    engine = sqlalchemy.create_engine(server.url.replace("postgresql:", "postgresql+psycopg2:"))
    yield engine
    engine.dispose()


def named(path: str) -> Any:
    return yaml.safe_load((FOLDER / "assets" / path).read_text())


def test_the_files_are_those_of_the_script_and_each_refers_to_one_that_is_there(tmp_path: Path) -> None:
    folder = FOLDER / "assets"
    texts = export.texts()
    assert {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.yaml")} == texts
    files = {name: yaml.safe_load(text) for name, text in texts.items()}
    known = {one["uuid"] for one in files.values() if "uuid" in one}
    assert len(known) == len(files) - 1, "all but metadata.yaml have one, and no two the same"
    referred = {one[key] for one in files.values() for key in ("database_uuid", "dataset_uuid") if key in one}
    page = files["dashboards/clinic.yaml"]
    placed = {
        one["meta"]["uuid"] for one in page["position"].values() if isinstance(one, dict) and one["type"] == "CHART"
    }
    targets = {t["datasetUuid"] for f in page["metadata"]["native_filter_configuration"] for t in f["targets"]}
    assert referred | placed | targets <= known
    assert len(placed) == len(CHARTS)
    assert export.main(["--zip", str(tmp_path / "clinic.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "clinic.zip") as archive:
        assert {name.removeprefix("clinic/") for name in archive.namelist()} == set(texts)


def test_datasets_have_the_columns_that_analysts_see(engine: sqlalchemy.Engine) -> None:
    with engine.connect() as connection:
        for name, text in DATASETS.items():
            rows = f"({text}) AS virtual_table" if text else f"public.{name}"
            found = connection.exec_driver_sql(f"SELECT * FROM {rows} LIMIT 0").keys()
            assert list(found) == [one["column_name"] for one in named(f"datasets/clinic/{name}.yaml")["columns"]]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_each_chart_is_answered_over_the_wire_and_free_when_it_is_drawn_again(
    engine: sqlalchemy.Engine, chart: Chart
) -> None:
    sql = STATEMENTS[chart.name]
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(sql).fetchall()
        spent = "SELECT spent_epsilon FROM dpsql.budget WHERE analyst IS NULL"
        before = connection.exec_driver_sql(spent).scalar_one()
        again = connection.exec_driver_sql(sql)
        labels = [*([chart.month] if chart.month else []), *chart.by, *(metric["label"] for metric in chart.metrics)]
        assert list(again.keys()) == labels
        assert again.fetchall() == rows
        assert connection.exec_driver_sql(spent).scalar_one() == before
        assert len(rows) == ROWS.get(chart.name, 6)
        if chart.dataset == "visit":
            filtered = sql.replace("public.visit ", f"public.visit {FILTERED} ").replace(f"{FILTERED} JOIN", "JOIN")
            assert connection.exec_driver_sql(filtered).fetchall()


def test_without_noise_each_chart_is_the_truth(policy: Path) -> None:
    with duckdb.connect(str(policy.parent / "clinic.duckdb"), read_only=True) as true:
        truths = {
            chart.name: true.execute(STATEMENTS[chart.name].replace("public.", "")).fetchall() for chart in CHARTS
        }
    with contextlib.closing(open_without_noise(policy)) as proxy:
        session = proxy.session("ana")
        for chart in CHARTS:
            keys = len(chart.by) + bool(chart.month)
            found = {plain(row[:keys]): row[keys:] for row in session.execute(STATEMENTS[chart.name]).rows}
            truth = {plain(row[:keys]): row[keys:] for row in truths[chart.name]}
            assert truth.keys() <= found.keys(), chart.name
            for key, values in truth.items():
                assert list(map(float, found[key])) == pytest.approx(list(map(float, values)), rel=0.02), chart.name


def plain(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(f"{cell:%Y-%m-%d}" if hasattr(cell, "year") else cell for cell in key)
