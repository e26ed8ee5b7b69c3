"""Statements about TPC-H by chance, of forms and columns that a plan may trip over in another dialect."""

from __future__ import annotations

from random import Random

_SOURCES = {
    "customer": "customer",
    "orders": "orders",
    "lineitem": "lineitem",
    "customer, orders": "customer JOIN orders ON c_custkey = o_custkey",
    "customer, lineitem": "customer JOIN lineitem ON c_custkey = l_custkey",
    "customer, orders, outer": "customer LEFT JOIN orders ON c_custkey = o_custkey",
    "orders, lineitem": "orders JOIN lineitem ON o_orderkey = l_orderkey AND o_custkey = l_custkey",
    "customer, nation": "customer JOIN nation ON c_nationkey = n_nationkey",
}
_KEYS = {
    "customer": ("c_mktsegment", "c_nationkey", "FLOOR(c_acctbal / 2000)", "c_acctbal < 0", "LEFT(c_mktsegment, 1)"),
    "orders": (
        *("o_orderpriority", "o_orderstatus", "EXTRACT(YEAR FROM o_orderdate)", "DATE_TRUNC('quarter', o_orderdate)"),
        *("EXTRACT(DOW FROM o_orderdate)", "CASE WHEN o_totalprice > 200000 THEN 'dear' ELSE 'cheap' END"),
        *("TO_CHAR(o_orderdate, 'YYYY-MM')", "SUBSTRING(o_orderpriority FROM 1 FOR 1)"),
    ),
    "lineitem": (
        *("l_returnflag", "l_linestatus", "l_shipmode", "DATE_TRUNC('month', l_shipdate)", "l_quantity > 25"),
        *("EXTRACT(QUARTER FROM l_shipdate)", "WIDTH_BUCKET(l_quantity, 1, 51, 5)", "COALESCE(l_returnflag, 'none')"),
    ),
    "nation": ("n_name", "n_regionkey"),
}
_CONDITIONS = {
    "customer": (
        *("c_mktsegment = 'BUILDING'", "c_mktsegment IN ('MACHINERY', 'FURNITURE')", "c_acctbal BETWEEN -100 AND 4000"),
        *("c_mktsegment LIKE '%O%'", "c_nationkey IN (SELECT n_nationkey FROM nation WHERE n_name < 'G')"),
        "EXISTS (SELECT 1 FROM orders AS e WHERE e.o_custkey = c_custkey AND e.o_totalprice > 300000)",
        "c_custkey NOT IN (SELECT i.o_custkey FROM orders AS i WHERE i.o_orderdate < DATE '1993-01-01')",
    ),
    "orders": (
        *(
            "o_orderdate >= DATE '1995-03-15'",
            "o_orderstatus <> 'F'",
            "o_totalprice / 1000 > 150",
            "o_orderkey % 3 = 1",
        ),
        *("o_orderdate BETWEEN DATE '1994-01-01' AND DATE '1994-12-31'", "o_orderpriority ILIKE '%high%'"),
        *("EXTRACT(MONTH FROM o_orderdate) IN (1, 7)", "o_orderdate + INTERVAL '1 month' < DATE '1996-02-29'"),
    ),
    "lineitem": (
        *("l_shipdate <= DATE '1998-09-02'", "l_discount BETWEEN 0.05 AND 0.07", "l_quantity < 24"),
        *("l_shipmode IN ('AIR', 'REG AIR')", "NOT (l_returnflag = 'R' OR l_linestatus = 'O')"),
        *(
            "l_extendedprice * (1 - l_discount) > 20000",
            "l_receiptdate IS NOT NULL OR l_tax > 0.02",
            "l_partkey % 7 < 3",
        ),
    ),
    "nation": ("n_name <> 'CHINA'", "n_name SIMILAR TO '(A|B|I)%'", "UPPER(n_name) = n_name"),
}
_VALUES = {
    "customer": ("c_acctbal", "ABS(c_acctbal)", "ROUND(c_acctbal / 7, 1)"),
    "orders": ("o_totalprice", "CASE WHEN o_orderstatus = 'F' THEN o_totalprice END", "LN(o_totalprice)"),
    "lineitem": (
        *(
            "l_quantity",
            "l_extendedprice * (1 - l_discount)",
            "l_tax",
            "l_extendedprice * (1 - l_discount) * (1 + l_tax)",
        ),
        *("CAST(l_quantity AS INT)", "l_discount::float8", "GREATEST(l_quantity, 10)"),
    ),
    "nation": ("n_regionkey",),
}
_PERSON = {"customer": "c_custkey", "orders": "o_custkey", "lineitem": "l_custkey"}


def statement(chance: Random) -> str:
    """One statement. Not each of them has an answer: those that are refused are drawn anew.

    >>> statement(Random(1)) == statement(Random(1)), statement(Random(2)).startswith("SELECT")
    (True, True)
    """
    name = chance.choice(list(_SOURCES))
    tables = [table for table in name.split(", ") if table in _KEYS]
    if chance.random() < 0.15 and tables[0] in _PERSON:
        return _per_person(chance, name, tables)
    keys = chance.sample([key for table in tables for key in _KEYS[table]], chance.choice((0, 0, 1, 1, 1, 2)))
    items = [*(f"{key} AS k{place}" for place, key in enumerate(keys))]
    items += [f"{_aggregate(chance, tables)} AS a{place}" for place in range(chance.randint(1, 3))]
    grouped = f" GROUP BY {_grouping(chance, keys)}" if keys else ""
    return f"SELECT {', '.join(items)} FROM {_SOURCES[name]}{_where(chance, tables)}{grouped}"


def _grouping(chance: Random, keys: list[str]) -> str:
    spelt = ", ".join(keys)
    return f"{chance.choice(('ROLLUP', 'CUBE'))} ({spelt})" if len(keys) > 1 and chance.random() < 0.2 else spelt


def _where(chance: Random, tables: list[str]) -> str:
    every = [condition for table in tables for condition in _CONDITIONS[table]]
    some = chance.sample(every, chance.choice((0, 1, 1, 2)))
    return f" WHERE {chance.choice((' AND ', ' OR ')).join(some)}" if some else ""


def _aggregate(chance: Random, tables: list[str]) -> str:
    value = chance.choice(_VALUES[chance.choice(tables)])
    person = _PERSON[tables[0]]
    form = chance.choice(
        (
            *(
                "COUNT(*)",
                f"COUNT(DISTINCT {person})",
                f"COUNT({value})",
                f"SUM({value})",
                f"SUM({value})",
                f"AVG({value})",
            ),
            *(f"STDDEV({value})", f"VAR_POP({value})", f"MEDIAN({value})"),
            f"PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY {value})",
        )
    )
    condition = chance.choice(_CONDITIONS[chance.choice(tables)])
    asked = chance.random() < 0.25 and "MEDIAN" not in form and "PERCENTILE" not in form and "SELECT" not in condition
    return f"{form} FILTER (WHERE {condition})" if asked else form


def _per_person(chance: Random, name: str, tables: list[str]) -> str:
    """A number of each person's, and what all of them have together."""
    person, value = _PERSON[tables[0]], chance.choice(_VALUES[tables[-1]])
    inner = chance.choice(("COUNT(*)", f"SUM({value})", f"MAX({value})", f"MIN({value})", f"AVG({value})"))
    outer = chance.choice(("COUNT(*)", "AVG(x)", "SUM(x)", "COUNT(*) FILTER (WHERE x > 10)", "STDDEV(x)"))
    rows = f"SELECT {person}, {inner} AS x FROM {_SOURCES[name]}{_where(chance, tables)} GROUP BY {person}"
    return f"SELECT {outer} AS a0 FROM ({rows}) AS per_person"
