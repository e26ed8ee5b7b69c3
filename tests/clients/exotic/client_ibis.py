"""What ibis's PostgreSQL backend answers, line by line. Arguments: host, port."""

import datetime
import sys

import ibis
import psycopg
from ibis import _

host, port = sys.argv[1:]


def connected() -> ibis.BaseBackend:
    return ibis.postgres.connect(host=host, port=int(port), user="ana", password="", database="clinic")


def show(name: str, table: ibis.Table) -> None:
    for row in table.to_pyarrow().to_pylist():
        print(name, *row.values())


connection = connected()
patient, visit = connection.table("patient"), connection.table("visit")
by_sex = patient.group_by("sex").agg(n=_.count()).order_by("sex")
born = patient.filter(_.birth_year > 1980).agg(n=_.count())
print("version", ibis.__version__)
print("one", connection.raw_sql("SELECT 1").fetchone()[0])
show("sex", by_sex)
for _turn in range(3):
    show("born", born)
print("height", patient.height_cm.mean().execute())
# It filters in a subquery, which does not narrow the declared groups.
show(
    "region",
    patient.filter(_.region < "I").group_by("region").agg(n=_.count()).filter(_.region < "I").order_by("region"),
)
days = (datetime.date(2025, 3, 4), datetime.date(2025, 3, 6))
show("day", visit.group_by("day").agg(n=_.count()).filter(_.day.between(*days)).order_by("day"))
try:
    patient.execute()
except psycopg.Error as refused:
    print("refused", refused.sqlstate)
print("after", connection.raw_sql("SELECT 1").fetchone()[0])
with connection.begin() as cursor:
    cursor.execute(ibis.to_sql(born))
    print("inside", cursor.fetchone()[0])
for name in connection.list_tables():
    print("table", name)
for name, kind in visit.schema().items():
    print("column", name, kind)
show("again", connected().table("patient").group_by("sex").agg(n=_.count()).order_by("sex"))
