"""What psqlODBC answers, line by line. Arguments: host, port."""

import datetime
import sys

import pyodbc

host, port = sys.argv[1:]
BY_SEX = "SELECT sex, COUNT(*) FROM patient GROUP BY sex ORDER BY sex"


def connected() -> pyodbc.Connection:
    driver = "PostgreSQL Unicode"
    given = f"DRIVER={{{driver}}};SERVER={host};PORT={port};UID=ana;DATABASE=clinic;SSLMODE=disable"
    return pyodbc.connect(given, autocommit=True)


def show(name: str, rows: pyodbc.Cursor) -> None:
    for row in rows.fetchall():
        print(name, *row)


connection = connected()
print("version", connection.getinfo(pyodbc.SQL_DRIVER_VER))
show("one", connection.execute("SELECT 1"))
show("sex", connection.execute(BY_SEX))
for _ in range(3):
    show("born", connection.execute("SELECT COUNT(*) FROM patient WHERE birth_year > ?", 1980))
show("height", connection.execute("SELECT AVG(height_cm) FROM patient"))
region = "SELECT region, COUNT(*) FROM patient WHERE region < ? GROUP BY region ORDER BY region"
show("region", connection.execute(region, "I"))
day = "SELECT day, COUNT(*) FROM visit WHERE day BETWEEN ? AND ? GROUP BY day ORDER BY day"
show("day", connection.execute(day, datetime.date(2025, 3, 4), datetime.date(2025, 3, 6)))
try:
    connection.execute("SELECT * FROM patient")
except pyodbc.Error as error:
    print("refused", error.args[0])
show("after", connection.execute("SELECT 1"))
connection.autocommit = False
show("inside", connection.execute("SELECT COUNT(*) FROM patient WHERE birth_year > 1980"))
connection.commit()
connection.autocommit = True
for row in connection.cursor().tables(schema="public", tableType="TABLE").fetchall():
    print("table", row.table_name)
connection.close()
show("again", connected().execute(BY_SEX))
