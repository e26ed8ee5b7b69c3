"""What pgcli answers, line by line: what it completes from, what its prompt runs, and the program itself.

Arguments: host, port.
"""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import psycopg
from pgcli import __version__
from pgcli.pgexecute import PGExecute
from pgspecial.main import PGSpecial

host, port = sys.argv[1:]
BY_SEX = "SELECT sex, COUNT(*) FROM patient GROUP BY sex ORDER BY sex"
BORN = "SELECT COUNT(*) FROM patient WHERE birth_year > 1980"


def asked(sql: str) -> Iterable[tuple[object, ...]]:
    for _, rows, *_ in prompt.run(sql, PGSpecial()):
        yield from rows or ()


def show(name: str, rows: Iterable[tuple[object, ...]]) -> None:
    for row in rows:
        print(name, *row)


prompt = PGExecute(database="clinic", user="ana", host=host, port=port)
print("version", __version__)
show("one", asked("SELECT 1"))
show("sex", asked(BY_SEX))
for _ in range(3):
    show("born", asked(BORN))
show("height", asked("SELECT AVG(height_cm) FROM patient"))
show("region", asked("SELECT region, COUNT(*) FROM patient WHERE region < 'I' GROUP BY region ORDER BY region"))
between = "day BETWEEN '2025-03-04' AND '2025-03-06'"
show("day", asked(f"SELECT day, COUNT(*) FROM visit WHERE {between} GROUP BY day ORDER BY day"))
try:
    list(asked("SELECT * FROM patient"))
except psycopg.Error as refused:
    print("refused", refused.sqlstate)
show("after", asked("SELECT 1"))
show("inside", list(asked(f"BEGIN; {BORN}; COMMIT")))
show("table", [row[1:2] for row in asked("\\dt")])
show("column", [row[:2] for row in asked("\\d visit")])
assert {"public", "dpsql"} <= set(prompt.schemata())
assert ("public", "visit", "cost", "numeric") in [tuple(column[:4]) for column in prompt.table_columns()]
keys = sorted((key.parenttable, key.childtable) for key in prompt.foreignkeys())
assert keys == [("patient", "visit"), ("region", "patient")], keys
assert "clinic" in prompt.databases()
assert list(prompt.functions())
program = [Path(sys.executable).with_name("pgcli"), "-h", host, "-p", port, "-U", "ana", "-d", "clinic", "-t", "-c"]
done = subprocess.run([*program, BY_SEX], capture_output=True, text=True, check=True, timeout=60)
show("again", [tuple(line.split()) for line in done.stdout.splitlines() if line[:2] in ("F ", "M ")])
