"""The demo's clinic: a made-up database about people, the same one every time, and the policy over it.

The seed below draws the *data*, which is public fiction. Noise has no seed anywhere.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from dpsql.releases import try_arrow

DATABASE = "clinic.duckdb"
LEDGER = "clinic.ledger"
POLICY = "policy.yaml"
MARK = "# Written by `dpsql demo`, which builds this folder anew each time it runs."

PATIENTS = 10_000
YEAR = 2025

REGIONS = (
    ("Bavaria", "Germany", 13_200_000, 0.34),
    ("Hesse", "Germany", 6_300_000, 0.20),
    ("Saxony", "Germany", 4_000_000, 0.14),
    ("Styria", "Austria", 1_270_000, 0.10),
    ("Tyrol", "Austria", 780_000, 0.07),
    ("Vienna", "Austria", 2_030_000, 0.15),
)
DIAGNOSES = {
    "hypertension": 1900,
    "back pain": 1500,
    "depression": 900,
    "type 2 diabetes": 820,
    "asthma": 680,
    "migraine": 640,
    "osteoarthritis": 560,
    "hypothyroidism": 410,
    "atrial fibrillation": 230,
    "epilepsy": 180,
    "multiple sclerosis": 110,
    "lupus": 12,
    "Huntington disease": 6,
    "Wilson disease": 3,
    "Gaucher disease": 2,
    "Fabry disease": 1,
}
"""How many patients have each diagnosis, out of those who have one."""
REASONS = (
    ("check-up", 0.35, 55),
    ("acute", 0.30, 85),
    ("chronic", 0.20, 110),
    ("vaccination", 0.10, 30),
    ("surgery", 0.05, 260),
)

SCHEMA = """
CREATE TABLE region (name TEXT PRIMARY KEY, country TEXT NOT NULL, population INTEGER NOT NULL);
CREATE TABLE patient (
    id INTEGER PRIMARY KEY,
    sex TEXT NOT NULL,
    birth_year SMALLINT NOT NULL,
    height_cm SMALLINT NOT NULL,
    weight_kg DOUBLE NOT NULL,
    smoker BOOLEAN,
    diagnosis TEXT,
    region TEXT NOT NULL REFERENCES region (name)
);
CREATE TABLE visit (
    id INTEGER PRIMARY KEY,
    patient_id INTEGER NOT NULL REFERENCES patient (id),
    day DATE NOT NULL,
    cost DECIMAL(8, 2) NOT NULL,
    reason TEXT NOT NULL
);
"""

POLICY_TEXT = f"""\
{MARK}
# The owner of the data writes this file; an analyst cannot change or loosen anything in it.
# `dpsql init DATABASE` writes a first one for a database of yours, `dpsql check POLICY` checks it.

database: duckdb:{DATABASE}
ledger: sqlite:{LEDGER}                 # every answer is paid for here before it is given

# Whom to protect: one patient, with all rows that belong to that patient in every table.
privacy_unit: patient.id

# What all answers to all analysts may ever give away together.
budget: {{epsilon: 10, delta: 1e-6, accounting: zcdp}}

# What one statement costs, and the most that an analyst may choose with SET dpsql.epsilon.
statement: {{epsilon: 0.25, max_epsilon: 1}}

# MIN and MAX of a column over people are the ends of what is declared of it, for free. Without this they are
# picked from the data, approximately, at a price.
minmax: declared

# Without a password they may connect from this machine only. A share also counts against the total.
analysts:
  ana: {{}}
  guest: {{budget: {{epsilon: 1.25}}}}

# A table or column that is not named here does not exist for analysts.
tables:
  region:
    public: true                      # no people in it: answered exactly, for free

  patient:
    columns:
      id: {{}}
      sex: {{values: [F, M]}}           # listed groups are shown even if empty
      birth_year: {{range: [1920, 2025]}}
      height_cm: {{range: [40, 220]}}   # values are moved into the range before they are summed
      weight_kg: {{range: [2, 200]}}
      smoker: {{values: [true, false, null]}}
      diagnosis: {{}}                   # not listed: a group is named only when enough people are in it
      region: {{values_from: region.name}}

  visit:
    unit: patient_id -> patient.id    # whose row it is
    max_rows: 24                      # of one patient; what goes beyond weighs less
    columns:
      patient_id: {{}}
      day: {{range: [{YEAR}-01-01, {YEAR}-12-31]}}
      cost: {{range: [0, 400]}}
      reason: {{values: [check-up, acute, chronic, vaccination, surgery]}}
"""


def build(folder: Path) -> None:
    """Write the database and its policy into an existing folder; the ledger starts with the first charge."""
    try_arrow()
    random = np.random.default_rng(20250101)
    patients = _patients(random)
    visits = _visits(random)
    regions = pa.table(dict(zip(("name", "country", "population"), list(zip(*REGIONS, strict=True))[:3], strict=True)))
    connection = duckdb.connect(str(folder / DATABASE))
    try:
        connection.execute(SCHEMA)
        for name, rows in (("region", regions), ("patient", patients), ("visit", visits)):
            connection.register("incoming", rows)
            connection.execute(f"INSERT INTO {name} SELECT * FROM incoming")
            connection.unregister("incoming")
    finally:
        connection.close()
    (folder / POLICY).write_text(POLICY_TEXT, encoding="utf-8")


def _patients(random: np.random.Generator) -> pa.Table:
    sex = random.choice(["F", "M"], PATIENTS, p=[0.52, 0.48])
    men = sex == "M"
    birth_year = YEAR - np.clip(random.gamma(9.0, 6.0, PATIENTS), 18, 100).astype(np.int16)
    height = np.clip(random.normal(np.where(men, 179, 166), 7), 140, 212).round().astype(np.int16)
    index = np.clip(random.lognormal(np.log(np.where(men, 26.3, 25.2)), 0.17), 15, 60)
    weight = (index * (height / 100.0) ** 2).round(1)
    smoker = random.choice(np.array([True, False, None], dtype=object), PATIENTS, p=[0.22, 0.73, 0.05])
    ill = [name for name, count in DIAGNOSES.items() for _ in range(count)]
    diagnosis = random.permutation(np.array(ill + [None] * (PATIENTS - len(ill)), dtype=object))
    region = random.choice([row[0] for row in REGIONS], PATIENTS, p=[row[3] for row in REGIONS])
    return pa.table(
        {
            "id": np.arange(1, PATIENTS + 1, dtype=np.int32),
            "sex": sex,
            "birth_year": birth_year,
            "height_cm": height,
            "weight_kg": weight,
            "smoker": pa.array(smoker.tolist(), pa.bool_()),
            "diagnosis": pa.array(diagnosis.tolist(), pa.string()),
            "region": region,
        }
    )


def _visits(random: np.random.Generator) -> pa.Table:
    per_patient = np.minimum(random.negative_binomial(2.4, 0.286, PATIENTS), 30)
    patient = np.repeat(np.arange(1, PATIENTS + 1, dtype=np.int32), per_patient)
    count = len(patient)
    # More visits in winter than in summer.
    weight = 1 + 0.3 * np.cos(2 * np.pi * (np.arange(365) - 20) / 365)
    day = np.datetime64(f"{YEAR}-01-01") + random.choice(365, count, p=weight / weight.sum())
    kind = random.choice(len(REASONS), count, p=[row[1] for row in REASONS])
    mean = np.array([row[2] for row in REASONS])[kind]
    return pa.table(
        {
            "id": np.arange(1, count + 1, dtype=np.int32),
            "patient_id": patient,
            "day": day,
            "cost": random.gamma(4.0, mean / 4.0).round(2),
            "reason": np.array([row[0] for row in REASONS])[kind],
        }
    )
