"""pgAdmin 4 over ``dpsql serve``: its own server is asked for what its pages show, so SQL, driver and results are its own.

DPSQL_PGADMIN names a virtual environment with it: ``python -m venv E && E/bin/pip install pgadmin4``.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from dpsql.interfaces.commands import demo_clinic as clinic
from tests.clients import pgadmin_server
from tests.clients.pgadmin_server import PgAdmin, PgAdminError
from tests.clients.served import Served, served

PYTHON = pgadmin_server.python()
pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(
        PYTHON is None, reason="DPSQL_PGADMIN names no virtual environment in which pgadmin4 is installed"
    ),
]

VIEW = """
  dear:
    unit: patient_id -> patient.id
    max_rows: 24
    key: [id]
    columns: {id: {}, patient_id: {}, cost: {range: [0, 400]}}
"""
TABS = ("obj", "sql", "stats", "dependency", "dependent")
NO_OPTIONS = dict.fromkeys(
    ("analyze", "verbose", "buffers", "costs", "summary", "timing", "settings", "generic_plan", "wal", "memory"), False
)
PLAN = {"format": "json", **NO_OPTIONS, "serialize": False}
REFUSED_BY_POSTGRESQL = {
    "subscription/obj": "permission denied for table pg_subscription",
    "tablespace/stats": "permission denied for tablespace pg_global",
}
"""What every role that is no superuser is told by PostgreSQL, too."""
PEOPLE = "this query returns rows of people"
ONLY_READS = "is not allowed: dpsql only reads"


@dataclass(frozen=True, slots=True)
class Page:
    """pgAdmin's page with one connected server, and the clinic behind it."""

    admin: PgAdmin
    server: Served
    sid: int
    did: int
    schemas: dict[str, int]
    tables: dict[str, int]
    truth: Path
    transactions: Iterator[int] = field(default_factory=lambda: iter(range(7_000_001, 8_000_000)))

    @property
    def database(self) -> str:
        return f"1/{self.sid}/{self.did}"

    @property
    def public(self) -> str:
        return f"{self.database}/{self.schemas['public']}"

    def table(self, what: str, name: str) -> Any:
        return self.admin.call("GET", f"/browser/table/{what}/{self.public}/{self.tables[name]}")

    def query_tool(self) -> int:
        transaction = next(self.transactions)
        self.admin.call("POST", f"/sqleditor/initialize/sqleditor/{transaction}/{self.database}", {"dbname": "clinic"})
        return transaction

    def view_data(self, kind: int, table: str, where: str | None = None) -> int:
        """Opens View/Edit Data: 1 are the first 100 rows, 2 the last 100, 3 all of them, 4 those of a filter."""
        transaction = next(self.transactions)
        path = f"{transaction}/{kind}/table/{self.database}/{self.tables[table]}"
        self.admin.call("POST", f"/sqleditor/initialize/viewdata/{path}", {"dbname": "clinic", "sql_filter": where})
        return transaction

    def shown(self, transaction: int) -> pgadmin_server.Answer:
        self.admin.call("GET", f"/sqleditor/view_data/start/{transaction}")
        return self.admin.polled(transaction)

    def exact(self, sql: str) -> int:
        with duckdb.connect(str(self.truth), read_only=True) as connection:
            return int(connection.execute(sql).fetchall()[0][0])

    def spent(self) -> float:
        with psycopg.connect(self.server.dsn) as connection:
            (row,) = connection.execute("SELECT spent_epsilon FROM dpsql.budget WHERE analyst IS NULL").fetchall()
        return float(row[0])


@pytest.fixture(scope="module")
def page(built_clinic: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The demo's clinic with a view of expensive visits."""
    built, folder = tmp_path_factory.mktemp("with_view"), tmp_path_factory.mktemp("pgadmin")
    for name in (clinic.DATABASE, clinic.POLICY):
        shutil.copy(built_clinic / name, built)
    with duckdb.connect(str(built / clinic.DATABASE)) as connection:
        connection.execute("CREATE VIEW dear AS SELECT id, patient_id, cost FROM visit WHERE cost > 100")
    policy = built / clinic.POLICY
    policy.write_text(policy.read_text().rstrip() + "\n" + VIEW)
    assert PYTHON is not None
    with (
        served(built, tmp_path_factory.mktemp("clinic")) as server,
        pgadmin_server.running(PYTHON, folder) as url,
    ):
        admin = PgAdmin.open(url)
        added = {"name": "dpsql", "gid": 1, "host": server.host, "port": server.port, "db": server.database,
                 "username": server.user, "sslmode": "prefer", "connection_params": []}  # fmt: skip
        sid = int(admin.call("POST", "/browser/server/obj/1/", added)["node"]["_id"])
        connected = admin.call("POST", f"/browser/server/connect/1/{sid}", {"password": ""})["data"]
        assert (connected["type"], connected["db"], connected["user"]["name"]) == ("pg", "clinic", "ana")
        assert not any(connected["user"][right] for right in ("is_superuser", "can_create_role", "can_create_db"))
        did = connected["did"]
        schemas = named(admin.call("GET", f"/browser/schema/nodes/1/{sid}/{did}/"))
        tables = named(admin.call("GET", f"/browser/table/nodes/1/{sid}/{did}/{schemas['public']}/"))
        yield Page(admin, server, sid, did, schemas, tables, built / clinic.DATABASE)


def named(nodes: dict[str, Any]) -> dict[str, int]:
    return {node["label"]: node["_id"] for node in nodes["data"]}


@dataclass(slots=True)
class Walk:
    """Opens nodes as a person who unfolds the whole tree, the first few of each collection, and looks at their tabs."""

    admin: PgAdmin
    few: int
    answered: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    seen: dict[str, set[str]] = field(default_factory=dict)

    def get(self, kind: str, what: str, path: Sequence[int], end: str = "") -> Any:
        try:
            found = self.admin.tab(f"/browser/{kind}/{what}/{'/'.join(map(str, path))}{end}")
        except PgAdminError as error:
            self.refused[f"{kind}/{what}"] = str(error)
            return None
        if found is not None:
            self.answered.add(f"{kind}/{what}")
        return found

    def open(self, node: dict[str, Any], path: list[int]) -> None:
        kind = str(node["_type"])
        if kind.startswith("coll-"):
            kind = kind.removeprefix("coll-")
            nodes = self.get(kind, "nodes", path, "/")["data"]
            self.get(kind, "obj", path, "/")
            self.seen.setdefault(kind, set()).update(str(each["label"]) for each in nodes)
            for each in nodes[: self.few]:
                self.open(each, [*path, each["_id"]])
            return
        for tab in TABS:
            self.get(kind, tab, path)
        if node.get("inode"):
            for child in self.get(kind, "children", path)["data"]:
                self.open(child, path if child["_type"].startswith("coll-") else [*path, child["_id"]])


def test_the_whole_tree_unfolds_and_every_tab_of_it_is_answered_for_free(page: Page) -> None:
    before = page.spent()
    walk = Walk(page.admin, few=3)
    walk.open({"_type": "server", "inode": True}, [1, page.sid])
    assert walk.refused.keys() == REFUSED_BY_POSTGRESQL.keys()
    assert all(text in walk.refused[route] for route, text in REFUSED_BY_POSTGRESQL.items())
    assert len(walk.answered) >= 100
    assert walk.seen["database"] == {"clinic"}
    assert walk.seen["schema"] == {"public", "dpsql"}
    assert {"patient", "visit", "region", "budget", "charges", "columns"} <= walk.seen["table"]
    assert "dear" in walk.seen["view"]
    assert walk.seen["constraints"] == {"patient_pkey", "patient_region_fkey", "region_pkey", "visit_patient_id_fkey"}
    assert walk.seen["extension"] == {"plpgsql"}
    assert {"ana", "guest"} <= walk.seen["role"]
    assert page.spent() == before


def test_a_table_has_its_columns_keys_and_comments(page: Page) -> None:
    path = f"{page.public}/{page.tables['visit']}"
    columns = page.admin.call("GET", f"/browser/column/obj/{path}/")
    assert [(column["name"], column["cltype"]) for column in columns] == [
        ("patient_id", "integer"), ("day", "date"), ("cost", "numeric"), ("reason", "text"),
    ]  # fmt: skip
    cost = page.admin.call("GET", f"/browser/column/obj/{path}/3")
    assert (cost["attlen"], cost["attprecision"], cost["attnotnull"]) == ("8", "2", True)
    assert cost["description"] == "private, range 0 to 400"
    found = page.table("obj", "visit")
    assert found["description"] == "private: aggregates only, at most 24 rows of one person count"
    assert found["rows_cnt"] == 0  # of the catalog: a table that was never analyzed
    (key,) = found["foreign_key"]
    assert (key["name"], key["columns"][0]["references_table_name"]) == ("visit_patient_id_fkey", "public.patient")
    assert "public.visit.visit_patient_id_fkey" in {each["name"] for each in page.table("dependent", "patient")}


def test_the_sql_tab_shows_what_the_policy_declares(page: Page) -> None:
    text = page.table("sql", "patient")
    assert "CREATE TABLE IF NOT EXISTS public.patient" in text
    assert "weight_kg double precision NOT NULL" in text
    assert "CONSTRAINT patient_pkey PRIMARY KEY (id)" in text
    assert "REFERENCES public.region (name)" in text
    assert "IS 'private, key set region.name';" in text
    assert page.table("select_sql", "region") == "SELECT name, country, population\n\tFROM public.region;"
    view = named(page.admin.call("GET", f"/browser/view/nodes/{page.public}/"))["dear"]
    body = page.admin.call("GET", f"/browser/view/sql/{page.public}/{view}")
    assert "CREATE OR REPLACE VIEW public.dear" in body
    assert "100" not in body  # the view's text in the database is the owner's
    assert "CREATE SCHEMA IF NOT EXISTS public" in page.admin.call(
        "GET", f"/browser/schema/sql/{page.database}/{page.schemas['public']}"
    )


def test_statistics_are_of_the_catalog_and_say_nothing_of_rows(page: Page) -> None:
    (row,) = page.table("stats", "patient")["data"]["rows"]
    assert {row[name] for name in ("Live tuples", "Sequential tuples read", "Tuples inserted")} <= {"0", 0}
    everywhere = page.admin.call("GET", f"/browser/table/stats/{page.public}/")["data"]["rows"]
    assert {each["Table name"] for each in everywhere} == {"patient", "region", "visit"}
    assert {str(each["Live tuples"]) for each in everywhere} == {"0"}
    column = page.admin.call("GET", f"/browser/column/stats/{page.public}/{page.tables['patient']}/4")["data"]
    assert "Most common values" in {each["name"] for each in column["columns"]}
    assert column["rows"] == []


def test_counting_rows_is_paid_for_once(page: Page) -> None:
    before = page.spent()
    first = int(page.table("count_rows", "visit")["data"]["total_rows"])
    assert page.spent() > before
    paid = page.spent()
    assert int(page.table("count_rows", "visit")["data"]["total_rows"]) == first
    assert page.spent() == paid
    assert abs(first - page.exact("SELECT COUNT(*) FROM visit")) < 500
    assert int(page.table("count_rows", "region")["data"]["total_rows"]) == 6


def test_the_query_tool_shows_rows_and_notices(page: Page) -> None:
    tool = page.query_tool()
    answer = page.admin.run(tool, "SELECT region, COUNT(*) AS n FROM patient GROUP BY region ORDER BY 1;")
    assert answer.columns == ["region", "n"]
    for region, count in answer.rows:
        assert abs(int(count) - page.exact(f"SELECT COUNT(*) FROM patient WHERE region = '{region}'")) < 100
    assert [region for region, _ in answer.rows] == [row[0] for row in clinic.REGIONS]
    assert "95 %: n ±" in answer.messages
    assert "Paid:" in answer.messages
    status = page.admin.call("GET", f"/sqleditor/status/{tool}")["data"]
    assert status["message"] == "The session is idle and there is no current transaction."


def test_the_query_tool_shows_errors_and_where_they_are(page: Page) -> None:
    tool = page.query_tool()
    error = page.admin.run(tool, "SELECT nope FROM patient").error
    assert "there is no column 'nope'" in error
    assert "SQL state: 42703\nCharacter: 8" in error
    assert PEOPLE in page.admin.run(tool, "SELECT * FROM patient").error
    assert f"DELETE {ONLY_READS}" in page.admin.run(tool, "DELETE FROM patient").error
    assert page.admin.run(tool, "SELECT 1 AS x").rows == [[1]]


def test_explain_draws_a_plan_for_free_and_analyze_is_refused(page: Page) -> None:
    tool, before = page.query_tool(), page.spent()
    sql = "SELECT sex, COUNT(*) FROM patient GROUP BY sex"
    ((text,),) = page.admin.run(tool, sql, PLAN).rows
    plan = json.loads(text)[0]["Plan"]
    assert plan["Plans"][0]["Group Key"] == ["sex"]
    everything = {**PLAN, **dict.fromkeys(NO_OPTIONS, True), "analyze": False, "timing": False, "wal": False}
    assert json.loads(page.admin.run(tool, sql, everything).rows[0][0])[0]["Plan"] == plan
    assert "it would run the statement, which is paid for" in page.admin.run(tool, sql, {**PLAN, "analyze": True}).error
    assert page.spent() == before


def test_results_are_paged_and_fetched_whole(page: Page) -> None:
    tool = page.query_tool()
    sql = "SELECT g, g * 2 AS d FROM generate_series(1, 3500) AS g"
    assert page.admin.run(tool, sql).rows == [[g, 2 * g] for g in range(1, 1001)]
    window = page.admin.call("GET", f"/sqleditor/fetch_window/{tool}/3001/4000")["data"]
    assert window["result"] == [[g, 2 * g] for g in range(3001, 3501)]
    assert window["pagination"]["page_count"] == 4
    whole = page.admin.call("GET", f"/sqleditor/fetch_all_from_start/{tool}/3500")["data"]["result"]
    assert len(whole) == 3500


def test_a_server_cursor_pages_too(page: Page) -> None:
    tool = page.query_tool()
    page.admin.call("POST", f"/sqleditor/server_cursor/{tool}", True)
    assert len(page.admin.run(tool, "SELECT g FROM generate_series(1, 1500) AS g").rows) == 1000
    assert page.admin.call("GET", f"/sqleditor/fetch_window/{tool}/1001/2000")["data"]["result"][-1] == [1500]
    answer = page.admin.run(tool, "SELECT sex, COUNT(*) FROM patient GROUP BY sex ORDER BY sex")
    assert [sex for sex, _ in answer.rows] == ["F", "M"]


def test_a_result_is_downloaded_as_csv_with_the_same_numbers(page: Page) -> None:
    tool = page.query_tool()
    sql = "SELECT region, COUNT(*) AS n FROM patient GROUP BY region ORDER BY 1"
    shown = page.admin.run(tool, sql).rows
    asked = {"query": sql, "filename": "regions.csv", "query_commited": True}
    status, text = page.admin.text("POST", f"/sqleditor/query_tool/download/{tool}", asked)
    assert status == 200
    assert list(csv.reader(io.StringIO(text)))[1:] == [[region, str(count)] for region, count in shown]


def test_a_statement_is_cancelled(page: Page) -> None:
    tool = page.query_tool()
    body = {"sql": "SELECT COUNT(*) FROM pg_class a, pg_class b, pg_class c, pg_class d"}
    page.admin.call("POST", f"/sqleditor/query_tool/start/{tool}", body)
    time.sleep(0.5)
    page.admin.call("POST", f"/sqleditor/cancel/{tool}")
    assert "SQL state: 57014" in page.admin.polled(tool).error
    assert page.admin.run(tool, "SELECT 2 AS x").rows == [[2]]


def test_without_auto_commit_a_transaction_stays_open(page: Page) -> None:
    tool = page.query_tool()
    page.admin.call("POST", f"/sqleditor/auto_commit/{tool}", False)
    assert page.admin.run(tool, "SELECT COUNT(*) FROM region").rows == [["6"]]
    assert "transaction block" in page.admin.call("GET", f"/sqleditor/status/{tool}")["data"]["message"]
    assert page.admin.run(tool, "COMMIT;").cell == "COMMIT"
    assert "no current transaction" in page.admin.call("GET", f"/sqleditor/status/{tool}")["data"]["message"]
    page.admin.call("DELETE", f"/sqleditor/close/{tool}")
    with pytest.raises(PgAdminError, match="404"):
        page.admin.call("GET", f"/sqleditor/fetch_window/{tool}/1/2")


def test_completion_knows_tables_and_columns(page: Page) -> None:
    tool = page.query_tool()
    path = f"/sqleditor/autocomplete/{tool}"
    assert "patient" in page.admin.call("POST", path, ["SELECT * FROM pat", "SELECT * FROM pat"])["data"]["result"]
    assert "birth_year" in page.admin.call("POST", path, ["SELECT  FROM patient", "SELECT "])["data"]["result"]


@pytest.mark.parametrize(("what", "has"), [("database", "clinic"), ("user", "ana"), ("role", "guest")])
def test_the_dialog_of_a_new_connection_lists(page: Page, what: str, has: str) -> None:
    found = page.admin.call("GET", f"/sqleditor/new_connection_{what}/1/{page.sid}")["data"]["result"]["data"]
    assert has in {each["label"] for each in found}


@pytest.mark.parametrize("kind", [1, 2])
def test_a_hundred_rows_of_people_are_none(page: Page, kind: int) -> None:
    before, tool = page.spent(), page.view_data(kind, "patient")
    answer = page.shown(tool)
    assert answer.columns[:3] == ["id", "sex", "birth_year"]
    assert answer.rows == []
    assert "no row is shown, since each is about one person" in answer.messages
    page.admin.call("POST", f"/sqleditor/filter/inclusive/{tool}", {"region": "Tyrol"})
    assert page.shown(tool).rows == []
    ordered = {"sql": "region = 'Tyrol'", "data_sorting": [{"name": "birth_year", "order": "desc"}]}
    page.admin.call("PUT", f"/sqleditor/filter_dialog/{tool}", ordered)
    assert page.shown(tool).rows == []
    assert page.spent() == before


@pytest.mark.parametrize(("kind", "where"), [(3, None), (4, "region = 'Tyrol'")])
def test_all_rows_of_people_are_refused(page: Page, kind: int, where: str | None) -> None:
    assert PEOPLE in page.shown(page.view_data(kind, "patient", where)).error


def test_public_rows_are_shown_filtered_and_ordered(page: Page) -> None:
    names = [row[0] for row in clinic.REGIONS]
    assert [row[0] for row in page.shown(page.view_data(3, "region")).rows] == names
    assert [row[0] for row in page.shown(page.view_data(2, "region")).rows] == names[::-1]
    assert page.shown(page.view_data(4, "region", "population < 1000000")).rows == [["Tyrol", "Austria", 780_000]]
    tool = page.view_data(1, "region")
    page.admin.call("POST", f"/sqleditor/filter/exclusive/{tool}", {"country": "Germany"})
    assert [row[0] for row in page.shown(tool).rows] == ["Styria", "Tyrol", "Vienna"]
    page.admin.call("POST", f"/sqleditor/filter/remove/{tool}")
    assert [row[0] for row in page.shown(tool).rows] == names
    validate = f"/sqleditor/filter/validate/{page.sid}/{page.did}/{page.tables['region']}"
    assert page.admin.call("PUT", validate, {"filter_sql": "name = 'Tyrol'"})["data"]["status"] is True
    with pytest.raises(PgAdminError, match="there is no column nome"):
        page.admin.call("PUT", validate, {"filter_sql": "nome = 'Tyrol'"})


@pytest.mark.parametrize(
    ("table", "column"), [("budget", "left_epsilon"), ("charges", "statement"), ("columns", "low")]
)
def test_the_budget_and_what_is_declared_are_tables_to_open(page: Page, table: str, column: str) -> None:
    assert page.admin.run(page.query_tool(), "SELECT COUNT(*) FROM patient").rows
    before = page.spent()
    schema = f"{page.database}/{page.schemas['dpsql']}"
    oid = named(page.admin.call("GET", f"/browser/table/nodes/{schema}/"))[table]
    transaction = next(page.transactions)
    path = f"{transaction}/1/table/{page.database}/{oid}"
    page.admin.call("POST", f"/sqleditor/initialize/viewdata/{path}", {"dbname": "clinic"})
    answer = page.shown(transaction)
    assert column in answer.columns
    assert answer.rows
    assert page.spent() == before


def test_an_edited_cell_is_not_saved(page: Page) -> None:
    tool = page.view_data(1, "region")
    page.shown(tool)
    columns = [{"name": "population", "type": "integer", "column_type_internal": "integer", "not_null": True,
                "has_default_val": False, "can_edit": True, "cell": "number", "label": "population"}]  # fmt: skip
    changed = {"1": {"err": False, "data": {"population": "5"}, "primary_keys": {"name": "Tyrol"}}}
    nothing: dict[str, object] = {"added": {}, "staged_rows": {}, "deleted": {}, "updated_index": {}, "added_index": {}}
    saved = page.admin.call("POST", f"/sqleditor/save/{tool}", {"updated": changed, "columns": columns, **nothing})
    assert saved["data"]["status"] is False
    assert f"UPDATE {ONLY_READS}" in saved["data"]["result"]
    assert page.exact("SELECT population FROM region WHERE name = 'Tyrol'") == 780_000


@pytest.mark.parametrize(
    ("method", "path", "body", "word"),
    [
        ("POST", "schema/obj/{database}/", {"name": "s", "namespaceowner": "ana"}, "CREATE"),
        ("DELETE", "table/delete/{public}/{region}", None, "DROP"),
        ("PUT", "table/truncate/{public}/{region}", {"cascade": False}, "TRUNCATE"),
        ("PUT", "table/obj/{public}/{region}", {"description": "x"}, "COMMENT"),
    ],
)
def test_a_dialog_that_writes_is_refused(page: Page, method: str, path: str, body: object, word: str) -> None:
    filled = path.format(database=page.database, public=page.public, region=page.tables["region"])
    with pytest.raises(PgAdminError, match=f"{word} {ONLY_READS}"):
        page.admin.call(method, f"/browser/{filled}", body)


CHARTS = "session_stats,tps_stats,ti_stats,to_stats,bio_stats"


@pytest.mark.parametrize("where", ["{sid}", "{sid}/{did}"])
def test_the_dashboard_shows_no_session_and_no_activity_of_others(page: Page, where: str) -> None:
    here = where.format(sid=page.sid, did=page.did)
    call = page.admin.call
    assert call("GET", f"/dashboard/activity/{here}") == [{"activity": [], "locks": [], "prepared": []}]
    assert call("GET", f"/dashboard/locks/{here}") == []
    assert call("GET", f"/dashboard/prepared/{here}") == []
    assert call("GET", f"/dashboard/check_extension/system_statistics/{here}") == {"ss_present": False}
    charts = call("GET", f"/dashboard/dashboard_stats/{here}?chart_names={CHARTS}")
    assert charts.keys() == set(CHARTS.split(","))
    assert {number for chart in charts.values() for number in chart.values()} == {0}


def test_the_dashboard_shows_settings_and_no_logs(page: Page) -> None:
    settings = {row["name"] for row in page.admin.call("GET", f"/dashboard/config/{page.sid}")}
    assert {"work_mem", "server_version", "TimeZone"} <= settings
    assert page.admin.call("GET", f"/dashboard/replication_stats/{page.sid}") == []
    assert page.admin.call("GET", f"/dashboard/replication_slots/{page.sid}") == []
    with pytest.raises(PgAdminError, match="permission denied for function pg_stat_file"):
        page.admin.call("GET", f"/dashboard/logs/C/plain/{page.sid}")


def test_another_session_is_neither_cancelled_nor_ended(page: Page) -> None:
    with psycopg.connect(page.server.dsn) as other:
        pid = other.info.backend_pid
        with psycopg.connect(page.server.dsn.replace("user=ana", "user=guest")) as guest:
            path = f"/dashboard/cancel_query/{page.sid}/{page.did}/{guest.info.backend_pid}"
            assert page.admin.call("DELETE", path) == "Failed"
        with pytest.raises(PgAdminError, match="permission denied for function pg_terminate_backend"):
            page.admin.call("DELETE", f"/dashboard/terminate_session/{page.sid}/{page.did}/{pid}")
        assert other.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize(
    ("kind", "text", "has"),
    [
        ("all", "pat", "patient_id"), ("table", "visit", "visit"), ("column", "region", "region"),
        ("constraints", "pkey", "patient_pkey"), ("view", "dea", "dear"),
    ],
)  # fmt: skip
def test_objects_are_searched(page: Page, kind: str, text: str, has: str) -> None:
    types = page.admin.call("GET", f"/search_objects/types/{page.sid}/{page.did}")["data"]
    assert kind == "all" or kind in types
    path = f"/search_objects/search/{page.sid}/{page.did}?type={kind}&text={text}"
    assert has in {each["name"] for each in page.admin.call("GET", path)["data"]}


def test_a_diagram_of_entities_has_all_tables_and_their_keys(page: Page) -> None:
    """The tables of ERD are asked over socket.io, here as long polling."""
    transaction = next(page.transactions)
    started = page.admin.call("POST", f"/erd/initialize/{transaction}/{page.database}", {})["data"]
    assert started["database"] == "clinic"
    needed = page.admin.call("GET", f"/erd/prequisite/{transaction}/{page.database}")["data"]
    assert {"integer", "text", "numeric"} <= {each["label"] for each in needed["col_types"]}
    socket = "/socket.io/?EIO=4&transport=polling"
    socket += "&sid=" + json.loads(page.admin.text("GET", socket)[1][1:])["sid"]
    page.admin.text("POST", socket, "40/erd,")
    asked = {"trans_id": transaction, "sgid": 1, "sid": page.sid, "did": page.did}
    page.admin.text("POST", socket, "42/erd," + json.dumps(["tables", asked]))
    end, heard = time.monotonic() + 30, ""
    while "tables_" not in heard and time.monotonic() < end:
        heard = page.admin.text("GET", socket)[1]
    message = next(part for part in heard.split("\x1e") if "tables_" in part)
    event, tables = json.loads(message.removeprefix("42/erd,"))
    assert event == "tables_success"
    keys = {table["name"]: [key["name"] for key in table.get("foreign_key", ())] for table in tables}
    assert keys["visit"] == ["visit_patient_id_fkey"]
    assert {"patient", "visit", "region"} <= keys.keys()
    nodes = {str(table["oid"]): table for table in tables if table["name"] in ("patient", "visit", "region")}
    text = page.admin.call("POST", f"/erd/sql/{transaction}/{page.database}", {"nodes": nodes})["data"]
    assert len(re.findall(r"CREATE TABLE IF NOT EXISTS public\.\w+", text)) == 3
    page.admin.call("DELETE", f"/erd/close/{transaction}/{page.database}")


def test_a_comparison_of_schemas_finds_the_server(page: Page) -> None:
    assert page.admin.call("GET", f"/schema_diff/initialize/{next(page.transactions)}")["success"] == 1
    (server,) = page.admin.call("GET", "/schema_diff/servers")["data"]["Servers"]
    assert (server["label"], server["connected"]) == ("dpsql", True)
    (database,) = page.admin.call("GET", f"/schema_diff/databases/{page.sid}")["data"]
    assert database["label"] == "clinic"
    schemas = page.admin.call("GET", f"/schema_diff/schemas/{page.sid}/{page.did}")["data"]
    assert {each["label"] for each in schemas} == {"public", "dpsql"}
