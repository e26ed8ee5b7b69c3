"""What dbt answers, line by line: `dbt show` reads, `dbt run` is refused. Arguments: host, port."""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from dbt.cli.main import dbtRunner
from dbt.version import installed

host, port = sys.argv[1:]
BY_SEX = "select sex, count(*) as n from {{ source('people', 'patient') }} group by sex"
BORN = "select count(*) as n from {{ source('people', 'patient') }} where birth_year > 1980"
DAYS = "'2025-03-04' and '2025-03-06'"
FILES = {
    "dbt_project.yml": {"name": "clinic", "version": "1.0", "profile": "clinic", "model-paths": ["models"]},
    "profiles.yml": {
        "clinic": {
            "target": "dpsql",
            "outputs": {
                "dpsql": {
                    "type": "postgres", "host": host, "port": int(port), "user": "ana", "password": "",
                    "dbname": "clinic", "schema": "public", "threads": 1,
                }
            },
        }
    },
    "models/people.yml": {
        "sources": [{"name": "people", "schema": "public", "tables": [{"name": "patient"}, {"name": "visit"}]}]
    },
}  # fmt: skip
"""JSON is YAML."""


def invoked(*words: str) -> object:
    return dbtRunner().invoke([*words, "--project-dir", str(home), "--profiles-dir", str(home)]).result


def show(name: str, sql: str) -> None:
    for row in invoked("--quiet", "show", "--output", "json", "--inline", sql).results[0].agate_table.rows:
        told.append(" ".join([name, *(str(cell) for cell in row)]))


told = [f"version {installed.to_version_string(skip_matcher=True)}"]
with TemporaryDirectory() as folder:
    home = Path(folder)
    (home / "models").mkdir()
    for path, content in FILES.items():
        (home / path).write_text(json.dumps(content))
    (home / "models" / "by_sex.sql").write_text(BY_SEX)
    show("one", "select 1 as n")
    show("sex", f"{BY_SEX} order by sex")
    for _ in range(3):
        show("born", BORN)
    show("height", "select avg(height_cm) as h from {{ source('people', 'patient') }}")
    source = "from {{ source('people', 'patient') }} where region < 'I'"
    show("region", f"select region, count(*) as n {source} group by region order by region")
    source = "from {{ source('people', 'visit') }} where day between"
    show("day", f"select day, count(*) as n {source} {DAYS} group by day order by day")
    made = invoked("--quiet", "run").results[0]
    told.append(f"refused {made.message.splitlines()[1].strip()}")
    show("after", "select 1 as n")
    show("inside", BORN)
    for table in invoked("--quiet", "docs", "generate").sources.values():
        told.append(f"table {table.metadata.name}")
        if table.metadata.name == "visit":
            told.extend(f"column {column.name} {column.type}" for column in table.columns.values())
    show("again", f"{BY_SEX} order by sex")
print("\n".join(told))
