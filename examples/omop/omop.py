"""A hospital in OMOP's tables, made up with a fixed seed, for the notebook beside this file.

pip install '.[notebook]'
python examples/omop/omop.py omop-demo        # the database and its policy
cd omop-demo && jupyter lab ../examples/omop/hospital.ipynb
"""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb

HERE = Path(__file__).parent
DATABASE, POLICY, NOTEBOOK = "omop.duckdb", "omop.yaml", "hospital.ipynb"
PEOPLE, SEED = 5_000, 20_250_107
FIRST, DAYS = date(2025, 1, 1), 365
MALE, FEMALE, INPATIENT, OUTPATIENT, EMERGENCY = 8507, 8532, 9201, 9202, 9203
CONDITIONS = {
    320128: ("Essential hypertension", 0.20, 0.5),
    201826: ("Type 2 diabetes mellitus", 0.08, 0.4),
    440383: ("Depressive disorder", 0.09, 0.0),
    317009: ("Asthma", 0.08, -0.1),
    255573: ("Chronic obstructive lung disease", 0.04, 0.6),
    313217: ("Atrial fibrillation", 0.03, 0.9),
    316139: ("Heart failure", 0.02, 0.9),
}
"""Each condition's name, how many have it at 50 years, and how that grows with each twenty years more."""

OTHERS = (
    (MALE, "MALE", "Gender"),
    (FEMALE, "FEMALE", "Gender"),
    (INPATIENT, "Inpatient Visit", "Visit"),
    (OUTPATIENT, "Outpatient Visit", "Visit"),
    (EMERGENCY, "Emergency Room Visit", "Visit"),
)
"""The other concepts, with the domain that each is of."""

SCHEMA = """
CREATE TABLE concept (concept_id INTEGER PRIMARY KEY, concept_name TEXT NOT NULL, domain_id TEXT NOT NULL);
CREATE TABLE person (
    person_id INTEGER PRIMARY KEY, gender_concept_id INTEGER NOT NULL, year_of_birth INTEGER NOT NULL
);
CREATE TABLE visit_occurrence (
    visit_occurrence_id INTEGER PRIMARY KEY, person_id INTEGER NOT NULL REFERENCES person (person_id),
    visit_concept_id INTEGER NOT NULL, visit_start_date DATE NOT NULL, visit_end_date DATE NOT NULL
);
CREATE TABLE condition_occurrence (
    condition_occurrence_id INTEGER PRIMARY KEY, person_id INTEGER NOT NULL REFERENCES person (person_id),
    condition_concept_id INTEGER NOT NULL, condition_start_date DATE NOT NULL
);
"""


@dataclass(frozen=True, slots=True)
class Hospital:
    """The rows of the four tables."""

    concept: list[tuple[Any, ...]]
    person: list[tuple[Any, ...]]
    visit_occurrence: list[tuple[Any, ...]]
    condition_occurrence: list[tuple[Any, ...]]


def generate(people: int = PEOPLE, seed: int = SEED) -> Hospital:
    """Conditions grow with age, visits with conditions, and a stay in hospital may be followed by another soon."""
    draw = random.Random(seed)  # noqa: S311 - nobody's secret: the patients are made up
    conditions = [(number, name, "Condition") for number, (name, _, _) in CONDITIONS.items()]
    found = Hospital([*OTHERS, *conditions], [], [], [])
    for person in range(1, people + 1):
        born = 2025 - min(99, max(0, int(draw.gauss(52, 20))))
        found.person.append((person, draw.choice((MALE, FEMALE)), born))
        older = (2025 - born - 50) / 20
        has = [
            number for number, (_, usual, grows) in CONDITIONS.items() if draw.random() < usual * 2 ** (grows * older)
        ]
        for number in has:
            day = FIRST + timedelta(days=draw.randrange(DAYS))
            found.condition_occurrence.append((len(found.condition_occurrence) + 1, person, number, day))
        day = draw.randrange(DAYS)
        while day < DAYS:
            kind = draw.choices((INPATIENT, OUTPATIENT, EMERGENCY), (0.1 + 0.08 * len(has), 0.7, 0.12))[0]
            stay = 1 + int(draw.expovariate(1 / (3 + len(has)))) if kind == INPATIENT else 0
            begin = FIRST + timedelta(days=day)
            number = len(found.visit_occurrence) + 1
            found.visit_occurrence.append((number, person, kind, begin, begin + timedelta(days=min(stay, 30))))
            soon = kind == INPATIENT and draw.random() < 0.08 + 0.03 * len(has)
            day += stay + 1 + (draw.randrange(25) if soon else int(draw.expovariate((0.6 + 0.4 * len(has)) / 180)))
    return found


def build(folder: Path, people: int = PEOPLE) -> Path:
    """The database and its policy, in a folder of their own; the policy's path."""
    folder.mkdir(parents=True, exist_ok=True)
    policy = Path(shutil.copy(HERE / POLICY, folder / POLICY))
    if (folder / DATABASE).exists():
        return policy
    hospital = generate(people)
    with duckdb.connect(str(folder / DATABASE)) as connection:
        connection.execute(SCHEMA)
        for table in ("concept", "person", "visit_occurrence", "condition_occurrence"):
            columns = {f"c{at}": list(values) for at, values in enumerate(zip(*getattr(hospital, table), strict=True))}
            listed = ", ".join(f"unnest(${name}) AS {name}" for name in columns)
            connection.execute(f"INSERT INTO {table} SELECT * FROM (SELECT {listed})", columns)
    return policy


def questions() -> dict[str, str]:
    """The notebook's questions: the statement of each cell by the name that it gives the answer."""
    cells = ["".join(cell["source"]) for cell in json.loads((HERE / NOTEBOOK).read_text())["cells"]]
    asked = [cell.partition("\n") for cell in cells if cell.startswith("%%dpsql ") and "--explain" not in cell]
    return {head.removeprefix("%%dpsql ").strip(): body for head, _, body in asked}


def main(arguments: Sequence[str]) -> None:
    print(f"{build(Path(arguments[0] if arguments else 'omop-demo'))} is there")


if __name__ == "__main__":
    main(sys.argv[1:])
