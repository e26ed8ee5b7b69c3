"""What the SQLAlchemy of before answers, line by line, with two of its drivers. Arguments: host, port."""

import datetime
import sys

import sqlalchemy as sa
from sqlalchemy import func, select

host, port = sys.argv[1:]


def connected(driver: str) -> sa.Engine:
    return sa.create_engine(f"postgresql+{driver}://ana@{host}:{port}/clinic")


def show(name: str, query: sa.Executable) -> None:
    for row in connection.execute(query):
        print(name, *row)


engine = connected("psycopg")
tables = sa.MetaData()
patient, visit = (sa.Table(name, tables, autoload_with=engine) for name in ("patient", "visit"))
by_sex = select(patient.c.sex, func.count()).group_by(patient.c.sex).order_by(patient.c.sex)
born = select(func.count()).where(patient.c.birth_year > 1980)
print("version", sa.__version__)
with engine.connect() as connection:
    show("one", sa.text("SELECT 1"))
    show("sex", by_sex)
    for _ in range(3):
        show("born", born)
    show("height", select(func.avg(patient.c.height_cm)))
    region = patient.c.region
    show("region", select(region, func.count()).where(region < "I").group_by(region).order_by(region))
    first, last = datetime.date(2025, 3, 4), datetime.date(2025, 3, 6)
    day = visit.c.day
    show("day", select(day, func.count()).where(day.between(first, last)).group_by(day).order_by(day))
    try:
        connection.execute(select(patient))
    except sa.exc.DBAPIError as refused:
        print("refused", refused.orig.sqlstate)
    connection.rollback()
    show("after", sa.text("SELECT 1"))
    with connection.begin_nested():
        show("inside", born)
    seen = sa.inspect(connection)
    for name in seen.get_table_names():
        print("table", name)
    for column in seen.get_columns("visit"):
        print("column", column["name"], column["type"])
with connected("psycopg2").connect() as connection:
    show("again", by_sex)
