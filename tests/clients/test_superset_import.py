"""The exported dashboard in a Superset of its own: each chart is answered by the query that its file saves."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients import superset_server
from tests.clients.served import served

FOLDER = Path(__file__).parents[2] / "examples" / "superset"
sys.path.insert(0, str(FOLDER))
import export  # noqa: E402
from dashboard import CHARTS, DATASETS  # noqa: E402
from rest import Superset  # noqa: E402

pytestmark = pytest.mark.clients
PASSWORD = "of this test alone"  # noqa: S105


def test_an_imported_chart_is_answered_by_its_saved_query_alone(built_clinic: Path, tmp_path: Path) -> None:
    with (
        served(built_clinic, tmp_path, epsilon="40", each="0.25") as server,
        superset_server.running(tmp_path, PASSWORD) as url,
    ):
        archive = tmp_path / "clinic.zip"
        export.main(["--zip", str(archive), "--database", f"postgresql+psycopg2://ana@127.0.0.1:{server.port}/clinic"])
        programs = superset_server.programs()
        environment = os.environ | {
            "PATH": f"{programs}:/usr/bin:/bin",
            "HOME": str(tmp_path),
            "SUPERSET_HOME": str(tmp_path),
            "SUPERSET_SECRET_KEY": secrets.token_urlsafe(32),
            "SUPERSET_CONFIG_PATH": str(superset_server.DOCKER / "superset_config.py"),
            "FLASK_APP": "superset.app:create_app()",
        }
        command = [programs / "superset", "import-dashboards", "-p", archive, "-u", "admin"]
        subprocess.run(command, check=True, env=environment, capture_output=True)
        superset = Superset.log_in(url, "admin", PASSWORD)
        for chart in CHARTS:
            number = superset.find("chart", slice_name=chart.name)
            assert number is not None
            rows = superset.drawn(number)
            labels = [*([chart.month] if chart.month else []), *chart.by, *(one["label"] for one in chart.metrics)]
            assert rows, chart.name
            assert list(rows[0]) == labels
        assert len(DATASETS) == len(superset.call("GET", "dataset/")["result"])
