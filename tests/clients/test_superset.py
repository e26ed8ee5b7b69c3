"""Apache Superset 6.1 over `dpsql serve`: registered, synced, asked as its pages ask, twice: the second time is free.

Superset is asked through its REST API, so the SQL, the driver and the result handling are its own. Its cache is off.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

import dpsql
from dpsql.interfaces.commands import demo_clinic as clinic
from tests.clients import superset_server
from tests.clients.served import served

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "superset"))
import dashboard
from rest import Superset, SupersetError

pytestmark = pytest.mark.clients

PASSWORD = "kept out of the log"  # noqa: S105
Row = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Face:
    """Superset, what it asks, and the owner's view of both."""

    superset: Superset
    policy: Path
    port: int
    database: int
    datasets: Mapping[str, int]
    charts: Mapping[str, int]

    def spent(self) -> float:
        """What all analysts have paid, asked over the wire."""
        with psycopg.connect(f"host=127.0.0.1 port={self.port} user=ana dbname=clinic") as connection:
            (row,) = connection.execute("SELECT spent_epsilon FROM dpsql.budget WHERE analyst IS NULL").fetchall()
        return float(row[0])

    def price(self, action: Callable[[], object]) -> float:
        before = self.spent()
        action()
        return self.spent() - before

    def truth(self, sql: str) -> list[Row]:
        with duckdb.connect(str(self.policy.parent / clinic.DATABASE), read_only=True) as connection:
            return connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def face(built_clinic: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Face]:
    folder = tmp_path_factory.mktemp("superset")
    with (
        served(built_clinic, folder, epsilon="40", each="0.25") as server,
        superset_server.running(folder, PASSWORD) as url,
    ):
        superset = Superset.log_in(url, "admin", PASSWORD)
        charts = dashboard.build(superset, f"postgresql+psycopg2://ana@127.0.0.1:{server.port}/clinic")
        database = superset.find("database", database_name=dashboard.DATABASE)
        assert database is not None
        datasets = {name: superset.find("dataset", table_name=name, database=database) for name in dashboard.DATASETS}
        yield Face(superset, folder / clinic.POLICY, server.port, database, datasets, charts)  # type: ignore[arg-type]


def test_making_the_database_its_datasets_and_charts_is_free_and_can_be_repeated(face: Face) -> None:
    assert face.spent() == 0
    url = f"postgresql+psycopg2://ana@127.0.0.1:{face.port}/clinic"
    assert dashboard.build(face.superset, url) == face.charts
    assert face.superset.find("dashboard", slug=dashboard.SLUG) is not None
    assert face.spent() == 0


def test_superset_sees_the_tables_of_the_policy_and_nothing_else(face: Face) -> None:
    call = face.superset.call
    assert "public" in call("GET", f"database/{face.database}/schemas/?q=(force:!t)")["result"]
    tables = call("GET", f"database/{face.database}/tables/?q=(schema_name:public,force:!t)")["result"]
    assert sorted(table["value"] for table in tables) == ["patient", "region", "visit"]
    visit = call("GET", f"database/{face.database}/table_metadata/?name=visit&schema=public")
    assert [column["name"] for column in visit["columns"]] == ["patient_id", "day", "cost", "reason"]  # id: undeclared
    (key,) = visit["foreignKeys"]
    assert (key["referred_table"], key["referred_columns"]) == ("patient", ["id"])
    assert face.spent() == 0


def test_a_dataset_is_synced_with_its_types(face: Face) -> None:
    face.superset.call("PUT", f"dataset/{face.datasets['visit']}/refresh")
    columns = face.superset.call("GET", f"dataset/{face.datasets['visit']}")["result"]["columns"]
    found = {column["column_name"]: (column["type"], column["is_dttm"]) for column in columns}
    cost = ("NUMERIC(8, 2)", False)
    assert found == {"patient_id": ("INTEGER", False), "day": ("DATE", True), "cost": cost, "reason": ("TEXT", False)}
    virtual = face.superset.call("GET", f"dataset/{face.datasets['visit_of_patient']}")["result"]
    names = [column["column_name"] for column in virtual["columns"]]
    assert names == ["day", "cost", "reason", "patient_id", "sex", "region"]
    assert "1 = 0" not in virtual["sql"]
    assert face.spent() == 0


def asked(**query: Any) -> dict[str, Any]:
    """A chart query as the chart editor sends it."""
    usual = {"columns": [], "metrics": [], "filters": [], "orderby": [], "row_limit": 1000}
    return {**usual, "extras": {"having": "", "where": ""}, **query}


def simple(column: str, aggregate: str) -> dict[str, Any]:
    """A metric that is chosen from the two drop-downs."""
    label = f"{aggregate}({column})"
    return {"expressionType": "SIMPLE", "column": {"column_name": column}, "aggregate": aggregate, "label": label}


def by(grain: str) -> dict[str, Any]:
    """The time axis."""
    axis = {"columnType": "BASE_AXIS", "sqlExpression": "day", "label": "day", "expressionType": "SQL"}
    return {**axis, "timeGrain": grain}


VISITS = dashboard.VISITS
SPRING = {"col": "day", "op": "TEMPORAL_RANGE", "val": "2025-03-01 : 2025-06-01"}


@dataclass(frozen=True, slots=True)
class Case:
    """What a chart asks, and the owner's SQL for the truth; the first ``keys`` columns name a group."""

    name: str
    dataset: str
    query: dict[str, Any]
    truth: str
    keys: int = 0


CASES = (
    Case("big number", "visit", asked(metrics=[VISITS]), "SELECT COUNT(*) FROM visit"),
    Case(
        "bar",
        "visit",
        asked(columns=["reason"], metrics=[VISITS], orderby=[[VISITS, False]], row_limit=3),
        "SELECT reason, COUNT(*) AS n FROM visit GROUP BY ALL ORDER BY n DESC LIMIT 3",
        1,
    ),
    Case(
        "two keys",
        "patient",
        asked(columns=["sex", "smoker"], metrics=[VISITS]),
        "SELECT sex, smoker, COUNT(*) FROM patient GROUP BY ALL",
        2,
    ),
    Case(
        "time series by month",
        "visit",
        asked(columns=[by("P1M")], metrics=[simple("cost", "SUM")]),
        "SELECT DATE_TRUNC('month', day)::date, SUM(cost) FROM visit GROUP BY ALL",
        1,
    ),
    Case(
        "time series by week",
        "visit",
        asked(columns=[by("P1W")], metrics=[VISITS]),
        "SELECT DATE_TRUNC('week', day)::date, COUNT(*) FROM visit GROUP BY ALL",
        1,
    ),
    Case(
        "time range",
        "visit",
        asked(columns=[by("P1M")], metrics=[VISITS], filters=[SPRING]),
        "SELECT DATE_TRUNC('month', day)::date, COUNT(*) FROM visit "
        "WHERE day >= '2025-03-01' AND day < '2025-06-01' GROUP BY ALL",
        1,
    ),
    Case(
        "series limit",
        "visit",
        asked(
            columns=[by("P3M"), "reason"],
            metrics=[VISITS],
            series_columns=["reason"],
            series_limit=2,
            series_limit_metric=VISITS,
            orderby=[[VISITS, False]],
        ),
        "SELECT DATE_TRUNC('quarter', day)::date, reason, COUNT(*) FROM visit "
        "WHERE reason IN ('check-up', 'acute') GROUP BY ALL",
        2,
    ),
    Case(
        "table with a distinct count",
        "visit",
        asked(columns=["reason"], metrics=[VISITS, simple("patient_id", "COUNT_DISTINCT"), simple("cost", "AVG")]),
        "SELECT reason, COUNT(*), COUNT(DISTINCT patient_id), AVG(cost) FROM visit GROUP BY ALL",
        1,
    ),
    Case(
        "virtual dataset",
        "visit_of_patient",
        asked(columns=["region"], metrics=[simple("cost", "SUM"), simple("patient_id", "COUNT_DISTINCT")]),
        "SELECT region, SUM(cost), COUNT(DISTINCT patient_id) FROM visit JOIN patient ON patient_id = patient.id "
        "GROUP BY ALL",
        1,
    ),
    Case(
        "filters of all kinds",
        "patient",
        asked(
            columns=["sex"],
            metrics=[VISITS, simple("weight_kg", "AVG")],
            filters=[
                {"col": "region", "op": "IN", "val": ["Bavaria", "Hesse", "Saxony"]},
                {"col": "smoker", "op": "IS NOT NULL"},
                {"col": "diagnosis", "op": "NOT IN", "val": ["asthma"]},
                {"col": "height_cm", "op": ">=", "val": 150},
            ],
            extras={"where": "weight_kg < 120", "having": "COUNT(*) > 100"},
        ),
        "SELECT sex, COUNT(*), AVG(weight_kg) FROM patient WHERE region IN ('Bavaria', 'Hesse', 'Saxony') "
        "AND smoker IS NOT NULL AND diagnosis <> 'asthma' AND height_cm >= 150 AND weight_kg < 120 GROUP BY ALL",
        1,
    ),
    Case(
        "a column in SQL",
        "patient",
        asked(
            columns=[{"expressionType": "SQL", "label": "decade", "sqlExpression": "FLOOR(birth_year / 10) * 10"}],
            metrics=[VISITS],
        ),
        "SELECT birth_year // 10 * 10, COUNT(*) FROM patient GROUP BY ALL",
        1,
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_chart_data_is_near_the_truth_and_free_when_asked_again(face: Face, case: Case) -> None:
    before = face.spent()
    first = face.superset.rows(face.datasets[case.dataset], case.query)
    paid = face.spent()
    assert paid > before
    assert face.superset.rows(face.datasets[case.dataset], case.query) == first
    assert face.spent() == paid
    noisy = {row[: case.keys]: row[case.keys :] for row in map(plain, first)}
    margins = margins_in_process(face, case)
    truth = {row[: case.keys]: row[case.keys :] for row in face.truth(case.truth)}
    assert face.spent() == paid
    assert len(noisy) == len(first)
    assert noisy.keys() >= truth.keys(), "every true group is named: all keys are declared"
    for key, values in noisy.items():
        for value, margin, true in zip(values, margins[key], truth.get(key, (0,) * len(values)), strict=True):
            assert margin is not None
            if key in truth or not isinstance(value, float):  # the mean of an empty group is anything
                assert abs(float(value) - float(true)) <= 5 * margin + 0.01 * abs(float(true)), (key, value, true)  # type: ignore[arg-type]


GRAINS = "PT1S PT5S PT30S PT1M PT5M PT10M PT15M PT30M PT1H P1D P1W P1M P3M P1Y".split()


@pytest.fixture(scope="module")
def instants(face: Face) -> int:
    """A virtual dataset whose time axis has hours and minutes, at a price that shows the rows of a single day."""
    url = f"postgresql+psycopg2://ana@127.0.0.1:{face.port}/clinic?options=-c%20dpsql.epsilon%3D1"
    database = face.superset.make(
        "database", {"database_name": "by the day", "sqlalchemy_uri": url}, database_name="by the day"
    )
    body = {"database": database, "schema": "public", "table_name": "visit_at"}
    sql = "SELECT CAST(day AS timestamp) AS at, cost FROM visit"
    return face.superset.make("dataset", {**body, "sql": sql}, table_name="visit_at")


@pytest.mark.parametrize("grain", GRAINS)
def test_time_is_cut_into_every_grain_of_supersets_own(face: Face, instants: int, grain: str) -> None:
    axis = by(grain) | {"sqlExpression": "at", "label": "at"}
    march = {"col": "at", "op": "TEMPORAL_RANGE", "val": "2025-03-01 : 2025-03-15"}
    rows = face.superset.rows(instants, asked(columns=[axis], metrics=[VISITS], filters=[march]))
    ((true,),) = face.truth("SELECT COUNT(*) FROM visit WHERE day >= '2025-03-01' AND day < '2025-03-15'")
    assert rows
    assert abs(sum(row["visits"] for row in rows) - float(true)) < 500  # type: ignore[arg-type]


@pytest.mark.parametrize("range_", ["Last 30 days", "previous calendar month", "Last quarter", "10000 days ago : now"])
def test_a_relative_time_range_is_answered(face: Face, instants: int, range_: str) -> None:
    """Superset writes out the instants; where the data end before them there is no group."""
    for dataset, column in ((instants, "at"), (face.datasets["visit"], "day")):
        axis = by("P1M") | {"sqlExpression": column, "label": column}
        within = {"col": column, "op": "TEMPORAL_RANGE", "val": range_}
        rows = face.superset.rows(dataset, asked(columns=[axis], metrics=[VISITS], filters=[within]))
        if "ago" in range_:
            ((true,),) = face.truth("SELECT COUNT(*) FROM visit")
            assert abs(sum(row["visits"] for row in rows) - float(true)) < 1000  # type: ignore[arg-type]


def margins_in_process(face: Face, case: Case) -> Mapping[Row, tuple[float | None, ...]]:
    """The error bars of the SQL that Superset sent; from the answer that is kept, whose rows must be the same."""
    body = {"datasource": {"id": face.datasets[case.dataset], "type": "table"}, "queries": [case.query]}
    answer = face.superset.call("POST", "chart/data", {**body, "result_format": "json", "result_type": "query"})
    with dpsql.connect(face.policy, analyst="ana") as connection:
        cursor = connection.cursor().execute(answer["result"][0]["query"].strip().rstrip(";"))
        names = [tuple(map(comparable, row[: case.keys])) for row in cursor.fetchall()]
        return dict(zip(names, (margin[case.keys :] for margin in cursor.margins), strict=True))


def plain(row: Mapping[str, object]) -> Row:
    """Superset's JSON as values: a time is in milliseconds since 1970."""
    return tuple(
        datetime.fromtimestamp(value / 1000, UTC).date() if name == "day" and isinstance(value, int | float) else value
        for name, value in row.items()
    )


def comparable(value: object) -> object:
    if isinstance(value, datetime):
        return value.date()
    return float(value) if isinstance(value, Decimal) else value


def test_a_filter_with_declared_values_is_filled_for_free(face: Face) -> None:
    dataset = face.datasets["visit"]
    names = sorted(reason for reason, _, _ in clinic.REASONS)
    before = face.spent()
    query = asked(columns=["reason"], orderby=[["reason", True]])
    assert [row["reason"] for row in face.superset.rows(dataset, query)] == names
    found = face.superset.rows(dataset, query | {"filters": [{"col": "reason", "op": "ILIKE", "val": "%u%"}]})
    assert {row["reason"] for row in found} == {name for name in names if "u" in name}
    assert sorted(face.superset.call("GET", f"datasource/table/{dataset}/column/reason/values/")["result"]) == names
    assert face.spent() == before


def test_a_filter_with_undeclared_values_is_paid_once_and_names_no_rare_value(face: Face) -> None:
    query = asked(columns=["diagnosis"], orderby=[["diagnosis", True]])
    rows: list[dict[str, Any]] = []
    assert face.price(lambda: rows.extend(face.superset.rows(face.datasets["patient"], query))) > 0
    named = {row["diagnosis"] for row in rows} - {None}
    common = {name for name, count in clinic.DIAGNOSES.items() if count > 300}
    assert common <= named <= {name for name, count in clinic.DIAGNOSES.items() if count > 3}
    again: list[dict[str, Any]] = []
    assert face.price(lambda: again.extend(face.superset.rows(face.datasets["patient"], query))) == 0
    assert again == rows


def test_a_range_filter_gets_the_declared_range_for_free(face: Face) -> None:
    rows: list[dict[str, Any]] = []
    query = asked(metrics=[simple("cost", "MIN"), simple("cost", "MAX")])
    assert face.price(lambda: rows.extend(face.superset.rows(face.datasets["visit"], query))) == 0
    assert [list(map(float, row.values())) for row in rows] == [[0, 400]]


def test_sql_lab_answers_twice_and_charges_once(face: Face) -> None:
    sql = "SELECT smoker, COUNT(*) AS patients FROM patient GROUP BY smoker ORDER BY patients DESC"
    answers: list[list[dict[str, Any]]] = []
    assert face.price(lambda: answers.append(face.superset.run(face.database, sql))) > 0
    assert face.price(lambda: answers.append(face.superset.run(face.database, sql))) == 0
    assert answers[0] == answers[1]
    truth = dict(face.truth("SELECT smoker, COUNT(*) FROM patient GROUP BY smoker"))  # type: ignore[arg-type]
    assert {row["smoker"] for row in answers[0]} == set(truth)
    for row in answers[0]:
        assert abs(row["patients"] - truth[row["smoker"]]) < 100


def test_sql_lab_reads_a_public_table_exactly_and_for_free(face: Face) -> None:
    rows: list[dict[str, Any]] = []
    assert face.price(lambda: rows.extend(face.superset.run(face.database, "SELECT * FROM region ORDER BY name"))) == 0
    assert [tuple(row.values()) for row in rows] == [row[:3] for row in clinic.REGIONS]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT wieght_kg, COUNT(*) FROM patient GROUP BY 1", "did you mean weight_kg"),
        ("SELECT ANY_VALUE(cost) FROM visit", "not answered"),
    ],
)
def test_sql_lab_shows_why_a_statement_is_refused(face: Face, sql: str, reason: str) -> None:
    def refused() -> None:
        with pytest.raises(SupersetError, match=reason):
            face.superset.run(face.database, sql)

    assert face.price(refused) == 0


@pytest.mark.parametrize("sql", ["SELECT * FROM patient", "SELECT diagnosis FROM patient WHERE id = 7"])
def test_rows_of_people_are_a_preview_of_columns(face: Face, sql: str) -> None:
    """Superset adds a LIMIT to what it is asked."""
    rows: list[dict[str, Any]] = []
    assert face.price(lambda: rows.extend(face.superset.run(face.database, sql))) == 0
    assert rows == []


def test_the_sample_pane_has_columns_and_no_row_and_is_free(face: Face) -> None:
    body = {"datasource": {"id": face.datasets["visit"], "type": "table"}, "queries": [asked()], "force": True}
    found: list[dict[str, Any]] = []

    def samples() -> None:
        answer = face.superset.call("POST", "chart/data", {**body, "result_format": "json", "result_type": "samples"})
        found.extend(answer["result"])

    assert face.price(samples) == 0
    assert found[0]["colnames"] == ["patient_id", "day", "cost", "reason"]
    assert found[0]["data"] == []


def test_the_dashboard_is_drawn_twice_and_paid_once(face: Face, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"postgresql+psycopg2://ana@127.0.0.1:{face.port}/clinic"
    arguments = ["--superset", face.superset.url, "--password", PASSWORD, "--database", url]
    assert dashboard.main(arguments) == 0
    first = capsys.readouterr().out
    assert face.price(lambda: dashboard.main(arguments)) == 0
    assert capsys.readouterr().out == first
    assert all(chart.name in first for chart in dashboard.CHARTS)
    assert all(region in first for region, *_ in clinic.REGIONS)


def test_a_dashboard_shows_that_the_budget_is_gone(face: Face) -> None:
    url = f"postgresql+psycopg2://guest@127.0.0.1:{face.port}/clinic"
    body = {"database_name": "guest", "sqlalchemy_uri": url, "expose_in_sqllab": True}
    guest = face.superset.make("database", body, database_name="guest")
    with pytest.raises(SupersetError, match="budget"):
        for year in range(1950, 1970):
            face.superset.run(guest, f"SELECT COUNT(*) FROM patient WHERE birth_year > {year}")
    # What is public or was released before is still shown.
    assert len(face.superset.run(guest, "SELECT * FROM region")) == len(clinic.REGIONS)


def test_settings_in_the_database_url_price_what_follows(face: Face) -> None:
    url = f"postgresql+psycopg2://ana@127.0.0.1:{face.port}/clinic?options=-c%20dpsql.epsilon%3D0.5"
    body = {"database_name": "precise", "sqlalchemy_uri": url, "expose_in_sqllab": True}
    precise = face.superset.make("database", body, database_name="precise")
    sql = "SELECT COUNT(*) AS n FROM patient WHERE height_cm > {}"
    usual = charged(face, face.database, sql.format(170))
    assert charged(face, precise, sql.format(171)) == 4 * usual  # ρ grows with the square of ε


def charged(face: Face, database: int, sql: str) -> float:
    """The ρ of the charge that a statement makes."""
    face.superset.run(database, sql)
    with psycopg.connect(f"host=127.0.0.1 port={face.port} user=ana dbname=clinic") as connection:
        (row,) = connection.execute("SELECT rho FROM dpsql.charges ORDER BY time DESC LIMIT 1").fetchall()
    return float(row[0])


def test_the_password_of_nobody_is_in_the_log(face: Face) -> None:
    assert PASSWORD not in (face.policy.parent / "superset.log").read_text(errors="replace")
