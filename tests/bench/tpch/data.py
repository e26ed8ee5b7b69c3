"""TPC-H as a database about people: its customers are the privacy units. Generated once, then kept in a folder.

Bounds and ranges are what an owner can know without looking at the data: the specification's (TPC-H 3.0, 4.2.3).
Two customers in three have orders, 15 on average, as good as independent: more than 45 happens to one in 10¹⁰. An order
has 1 to 7 lines. About half of all orders and lines are finished, so one group may hold half of a customer's rows.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

import duckdb

CACHE = Path(tempfile.gettempdir()) / "dpsql-bench"

TABLES = ("region", "nation", "customer", "orders", "lineitem")
TABLES_OF_PARTS = ("part", "supplier", "partsupp")

SCHEMA = """
CREATE TABLE region (
    r_regionkey BIGINT PRIMARY KEY, r_name VARCHAR NOT NULL, r_comment VARCHAR NOT NULL
);
CREATE TABLE nation (
    n_nationkey BIGINT PRIMARY KEY, n_name VARCHAR NOT NULL,
    n_regionkey BIGINT NOT NULL REFERENCES region (r_regionkey), n_comment VARCHAR NOT NULL
);
CREATE TABLE customer (
    c_custkey BIGINT PRIMARY KEY, c_name VARCHAR NOT NULL, c_address VARCHAR NOT NULL,
    c_nationkey BIGINT NOT NULL REFERENCES nation (n_nationkey), c_phone VARCHAR NOT NULL,
    c_acctbal DECIMAL(15, 2) NOT NULL, c_mktsegment VARCHAR NOT NULL, c_comment VARCHAR NOT NULL
);
CREATE TABLE orders (
    o_orderkey BIGINT PRIMARY KEY, o_custkey BIGINT NOT NULL REFERENCES customer (c_custkey),
    o_orderstatus VARCHAR NOT NULL, o_totalprice DECIMAL(15, 2) NOT NULL, o_orderdate DATE NOT NULL,
    o_orderpriority VARCHAR NOT NULL, o_clerk VARCHAR NOT NULL, o_shippriority INTEGER NOT NULL,
    o_comment VARCHAR NOT NULL
);
CREATE TABLE lineitem (
    l_orderkey BIGINT NOT NULL REFERENCES orders (o_orderkey), l_partkey BIGINT NOT NULL, l_suppkey BIGINT NOT NULL,
    l_linenumber INTEGER NOT NULL, l_quantity DECIMAL(15, 2) NOT NULL, l_extendedprice DECIMAL(15, 2) NOT NULL,
    l_discount DECIMAL(15, 2) NOT NULL, l_tax DECIMAL(15, 2) NOT NULL, l_returnflag VARCHAR NOT NULL,
    l_linestatus VARCHAR NOT NULL, l_shipdate DATE NOT NULL, l_commitdate DATE NOT NULL, l_receiptdate DATE NOT NULL,
    l_shipinstruct VARCHAR NOT NULL, l_shipmode VARCHAR NOT NULL, l_comment VARCHAR NOT NULL
);
"""

SCHEMA_OF_PARTS = """
CREATE TABLE part (
    p_partkey BIGINT PRIMARY KEY, p_name VARCHAR NOT NULL, p_mfgr VARCHAR NOT NULL, p_brand VARCHAR NOT NULL,
    p_type VARCHAR NOT NULL, p_size INTEGER NOT NULL, p_container VARCHAR NOT NULL,
    p_retailprice DECIMAL(15, 2) NOT NULL, p_comment VARCHAR NOT NULL
);
CREATE TABLE supplier (
    s_suppkey BIGINT PRIMARY KEY, s_name VARCHAR NOT NULL, s_address VARCHAR NOT NULL,
    s_nationkey BIGINT NOT NULL REFERENCES nation (n_nationkey), s_phone VARCHAR NOT NULL,
    s_acctbal DECIMAL(15, 2) NOT NULL, s_comment VARCHAR NOT NULL
);
CREATE TABLE partsupp (
    ps_partkey BIGINT NOT NULL REFERENCES part (p_partkey), ps_suppkey BIGINT NOT NULL REFERENCES supplier (s_suppkey),
    ps_availqty INTEGER NOT NULL, ps_supplycost DECIMAL(15, 2) NOT NULL, ps_comment VARCHAR NOT NULL,
    PRIMARY KEY (ps_partkey, ps_suppkey)
);
"""

MOST_ORDERS, MOST_ORDERS_IN_A_GROUP = 45, 30
MOST_LINES, MOST_LINES_IN_A_GROUP = 180, 110

POLICY = f"""\
database: duckdb:{{database}}
ledger: sqlite:bench.ledger
privacy_unit: customer.c_custkey
budget: {{{{epsilon: 1000000, delta: 1e-6, accounting: zcdp}}}}
statement: {{{{epsilon: 1, max_epsilon: 1}}}}
tables:
  region: {{{{public: true}}}}
  nation: {{{{public: true}}}}
  customer:
    columns:
      c_custkey: {{{{}}}}
      c_nationkey: {{{{values_from: nation.n_nationkey}}}}
      c_acctbal: {{{{range: [-999.99, 9999.99]}}}}
      c_mktsegment: {{{{values: [AUTOMOBILE, BUILDING, FURNITURE, HOUSEHOLD, MACHINERY]}}}}
  orders:
    unit: o_custkey -> customer.c_custkey
    max_rows: {MOST_ORDERS}
    max_rows_per_group: {MOST_ORDERS_IN_A_GROUP}
    columns:
      o_orderkey: {{{{}}}}
      o_custkey: {{{{}}}}
      o_orderstatus: {{{{values: [F, O, P]}}}}
      o_totalprice: {{{{range: [900, 600000]}}}}
      o_orderdate: {{{{range: [1992-01-01, 1998-08-02]}}}}
      o_orderpriority: {{{{values: [1-URGENT, 2-HIGH, 3-MEDIUM, 4-NOT SPECIFIED, 5-LOW]}}}}
  lineitem:
    unit: [l_orderkey -> orders.o_orderkey, o_custkey -> customer.c_custkey]
    max_rows: {MOST_LINES}
    max_rows_per_group: {MOST_LINES_IN_A_GROUP}
    columns:
      l_orderkey: {{{{}}}}
      l_partkey: {{{{}}}}
      l_quantity: {{{{range: [1, 50]}}}}
      l_extendedprice: {{{{range: [900, 105000]}}}}
      l_discount: {{{{range: [0, 0.10]}}}}
      l_tax: {{{{range: [0, 0.08]}}}}
      l_returnflag: {{{{values: [R, A, N]}}}}
      l_linestatus: {{{{values: [O, F]}}}}
      l_shipdate: {{{{range: [1992-01-02, 1998-12-01]}}}}
      l_shipmode: {{{{values: [AIR, FOB, MAIL, RAIL, REG AIR, SHIP, TRUCK]}}}}
"""


_REFERENCE = re.compile(r" REFERENCES \w+ \(\w+\)")


def database(scale: float, cache: Path = CACHE, *, references: bool = True) -> Path:
    """A DuckDB file with TPC-H at a scale, its keys declared and its rows in the generator's order.

    Without ``references`` no foreign key is declared, as in most databases that are made for analysis.
    """
    path = cache / f"tpch-{scale:g}-{'all' if references else 'keys'}.duckdb"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            _generate(scale, Path(scratch))
            _load(Path(scratch), Path(scratch) / path.name, references=references)
            os.replace(Path(scratch) / path.name, path)
    return path


def policy(folder: Path, database: Path) -> Path:
    """Write a policy over ``database`` into a folder; its ledger will lie there too."""
    path = folder / "policy.yaml"
    path.write_text(POLICY.format(database=database), encoding="utf-8")
    return path


def _generate(scale: float, folder: Path) -> None:
    beside = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
    program = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
    if program is None:
        raise SystemExit("tpchgen-cli is not installed: pip install '.[test]'")
    subprocess.run([program, "parquet", "-s", f"{scale:g}", f"--output-dir={folder}"], check=True, capture_output=True)


def _load(folder: Path, path: Path, *, references: bool) -> None:
    schema = SCHEMA + SCHEMA_OF_PARTS
    connection = duckdb.connect(str(path))
    try:
        connection.execute(schema if references else _REFERENCE.sub("", schema))
        for table in TABLES + TABLES_OF_PARTS:
            connection.execute(f"INSERT INTO {table} FROM read_parquet('{folder / table}.parquet')")
        connection.execute("CHECKPOINT")
    finally:
        connection.close()
