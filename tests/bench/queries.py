"""Twelve queries, each in three forms: as an analyst asks it, as DuckDB answers it without privacy, and bounded by hand.

By hand means what an expert would write for the same bounds: partial sums per customer and group, one factor per
customer whose counts are longer than the bound, the sum over customers. It has no lattice, no guards against NULL and
overflow, and lists only the groups that it finds.
"""

from __future__ import annotations

from dataclasses import dataclass

from .tpch.data import MOST_LINES, MOST_LINES_IN_A_GROUP, MOST_ORDERS, MOST_ORDERS_IN_A_GROUP

_ORDERS_SQUARED = MOST_ORDERS * MOST_ORDERS_IN_A_GROUP
_LINES_SQUARED = MOST_LINES * MOST_LINES_IN_A_GROUP


@dataclass(frozen=True, slots=True)
class Question:
    """``keys`` leading columns of an answer are its key. ``raw`` answers the same columns, truly."""

    name: str
    keys: int
    sql: str
    raw: str
    by_hand: str


COUNT = Question(
    "COUNT of orders",
    0,
    "SELECT COUNT(*) AS orders FROM orders",
    "SELECT COUNT(*) FROM orders",
    f"""
    SELECT SUM(CASE WHEN n > {MOST_ORDERS} THEN {MOST_ORDERS} ELSE n END)
    FROM (SELECT o_custkey, COUNT(*) AS n FROM orders GROUP BY o_custkey)
    """,
)

_Q1 = """
    SELECT l_returnflag, l_linestatus, COUNT(*) AS items, SUM(l_quantity) AS quantity,
        AVG(l_extendedprice) AS price, AVG(l_discount) AS discount
    FROM lineitem
    WHERE l_shipdate <= DATE '1998-09-02'
    GROUP BY l_returnflag, l_linestatus
    ORDER BY l_returnflag, l_linestatus
    """
Q1 = Question(
    "Q1-like: COUNT, SUM, 2 AVG by flag, status",
    2,
    _Q1,
    _Q1,
    f"""
    WITH partial AS MATERIALIZED (
        SELECT o_custkey, l_returnflag, l_linestatus, COUNT(*) AS n, SUM(l_quantity) AS quantity,
            SUM(l_extendedprice) AS price, SUM(l_discount) AS discount
        FROM lineitem JOIN orders ON l_orderkey = o_orderkey
        WHERE l_shipdate <= DATE '1998-09-02'
        GROUP BY ALL
    ), outside AS (
        SELECT o_custkey, SQRT({_LINES_SQUARED} / SUM(n * n)) AS factor
        FROM partial GROUP BY o_custkey HAVING SUM(n * n) > {_LINES_SQUARED}
    )
    SELECT l_returnflag, l_linestatus, SUM(n * COALESCE(factor, 1)), SUM(quantity * COALESCE(factor, 1)),
        SUM(price * COALESCE(factor, 1)) / SUM(n * COALESCE(factor, 1)),
        SUM(discount * COALESCE(factor, 1)) / SUM(n * COALESCE(factor, 1))
    FROM partial LEFT JOIN outside USING (o_custkey)
    GROUP BY l_returnflag, l_linestatus
    """,
)


def _orders_by(key: str, alias: str) -> tuple[str, str]:
    """Orders by a column: as it is asked, and by hand."""
    asked = f"SELECT {key} AS {alias}, COUNT(*) AS orders FROM orders GROUP BY {key} ORDER BY {key}"
    by_hand = f"""
    WITH partial AS MATERIALIZED (SELECT o_custkey, {key} AS key, COUNT(*) AS n FROM orders GROUP BY ALL),
    outside AS (
        SELECT o_custkey, SQRT({_ORDERS_SQUARED} / SUM(n * n)) AS factor
        FROM partial GROUP BY o_custkey HAVING SUM(n * n) > {_ORDERS_SQUARED}
    )
    SELECT key, SUM(n * COALESCE(factor, 1)) FROM partial LEFT JOIN outside USING (o_custkey) GROUP BY key
    """
    return asked, by_hand


_priority, _priority_by_hand = _orders_by("o_orderpriority", "priority")
PRIORITY = Question("orders by priority", 1, _priority, _priority, _priority_by_hand)

_DISTINCT = """
    SELECT n_name, COUNT(DISTINCT c_custkey) AS customers
    FROM customer JOIN orders ON c_custkey = o_custkey JOIN nation ON c_nationkey = n_nationkey
    GROUP BY n_name
    ORDER BY n_name
    """
DISTINCT = Question(
    "distinct customers by nation, joined",
    1,
    _DISTINCT,
    _DISTINCT,
    """
    SELECT n_name, COUNT(*)
    FROM (SELECT DISTINCT c_custkey, c_nationkey FROM customer JOIN orders ON c_custkey = o_custkey)
    JOIN nation ON c_nationkey = n_nationkey
    GROUP BY n_name
    """,
)

_DISTRIBUTION = """
    SELECT orders, COUNT(*) AS customers
    FROM (
        SELECT c_custkey, COUNT(o_orderkey) AS orders
        FROM customer LEFT JOIN orders ON c_custkey = o_custkey
        GROUP BY c_custkey
    ) AS per_customer
    GROUP BY orders
    ORDER BY orders
    """
DISTRIBUTION = Question(
    "distribution of orders per customer",
    1,
    _DISTRIBUTION,
    _DISTRIBUTION,
    f"""
    SELECT CASE WHEN orders > {MOST_ORDERS} THEN {MOST_ORDERS} ELSE orders END AS orders, COUNT(*)
    FROM (
        SELECT c_custkey, COUNT(o_orderkey) AS orders
        FROM customer LEFT JOIN orders ON c_custkey = o_custkey
        GROUP BY c_custkey
    )
    GROUP BY 1
    """,
)

_day, _day_by_hand = _orders_by("o_orderdate", "day")
DAY = Question("orders by day, 2,406 public groups", 1, _day, _day, _day_by_hand)

_THREE = """
    SELECT COUNT(*) AS items, SUM(l_extendedprice * (1 - l_discount)) AS revenue
    FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON o_orderkey = l_orderkey
    WHERE c_mktsegment = 'BUILDING' AND o_orderdate < DATE '1995-03-15' AND l_quantity < 25
    """
THREE = Question(
    "3-way join with filters: COUNT, SUM",
    0,
    _THREE,
    _THREE,
    f"""
    SELECT SUM(CASE WHEN n > {MOST_LINES} THEN {MOST_LINES} ELSE n END),
        SUM(CASE WHEN revenue > {MOST_LINES * 105_000} THEN {MOST_LINES * 105_000} ELSE revenue END)
    FROM (
        SELECT c_custkey, COUNT(*) AS n, SUM(l_extendedprice * (1 - l_discount)) AS revenue
        FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON o_orderkey = l_orderkey
        WHERE c_mktsegment = 'BUILDING' AND o_orderdate < DATE '1995-03-15' AND l_quantity < 25
        GROUP BY c_custkey
    )
    """,
)

_PARTS = "SELECT l_partkey % 20000 AS part, COUNT(*) AS items FROM lineitem GROUP BY 1 ORDER BY 1"
SELECTED = Question(
    "20,000 groups, selected",
    1,
    _PARTS,
    _PARTS,
    f"""
    WITH partial AS MATERIALIZED (
        SELECT o_custkey, l_partkey % 20000 AS part, COUNT(*) AS n
        FROM lineitem JOIN orders ON l_orderkey = o_orderkey
        GROUP BY ALL
    ), outside AS (
        SELECT o_custkey, SQRT({_LINES_SQUARED} / SUM(n * n)) AS factor, SQRT(COUNT(*)) AS groups
        FROM partial GROUP BY o_custkey
    )
    SELECT part, SUM(n * LEAST(factor, 1)), SUM(1 / groups)
    FROM partial JOIN outside USING (o_custkey)
    GROUP BY part
    """,
)

MEDIAN = Question(
    "median of the prices of orders",
    0,
    "SELECT MEDIAN(o_totalprice) AS price FROM orders",
    "SELECT MEDIAN(o_totalprice) FROM orders",
    f"""
    WITH kept AS MATERIALIZED (SELECT o_custkey, o_totalprice AS v FROM orders),
    outside AS (SELECT o_custkey, {MOST_ORDERS} / COUNT(*) AS w FROM kept GROUP BY o_custkey HAVING COUNT(*) > {MOST_ORDERS}),
    buckets AS (
        SELECT CAST(v * 100 AS BIGINT) // 29256 AS b, SUM(COALESCE(w, 1)) AS w
        FROM kept LEFT JOIN outside USING (o_custkey) GROUP BY b
    )
    SELECT b, w, SUM(w) OVER (ORDER BY b) FROM buckets ORDER BY b
    """,
)

_LEVELS = "l_returnflag, l_linestatus, l_shipmode"
_ROLLUP = f"SELECT {_LEVELS}, COUNT(*) AS items FROM lineitem GROUP BY ROLLUP ({_LEVELS}) ORDER BY {_LEVELS}"
_FINEST = f"SELECT {_LEVELS}, COUNT(*) AS items FROM lineitem GROUP BY {_LEVELS} ORDER BY {_LEVELS}"
_TOTALS = f"""
    SELECT {_LEVELS}, COUNT(*) AS items FROM lineitem GROUP BY {_LEVELS}
    UNION ALL SELECT l_returnflag, l_linestatus, NULL, COUNT(*) FROM lineitem GROUP BY l_returnflag, l_linestatus
    UNION ALL SELECT l_returnflag, NULL, NULL, COUNT(*) FROM lineitem GROUP BY l_returnflag
    UNION ALL SELECT NULL, NULL, NULL, COUNT(*) FROM lineitem
    """


def _levels_by_hand(grouped: str) -> str:
    return f"""
    WITH partial AS MATERIALIZED (
        SELECT o_custkey, {_LEVELS}, COUNT(*) AS n FROM lineitem JOIN orders ON l_orderkey = o_orderkey GROUP BY ALL
    ), outside AS (
        SELECT o_custkey, SQRT({_LINES_SQUARED} / SUM(n * n)) AS factor
        FROM partial GROUP BY o_custkey HAVING SUM(n * n) > {_LINES_SQUARED}
    )
    SELECT {_LEVELS}, SUM(n * COALESCE(factor, 1)) FROM partial LEFT JOIN outside USING (o_custkey)
    GROUP BY {grouped}
    """


FINEST = Question("the finest level alone", 3, _FINEST, _FINEST, _levels_by_hand(_LEVELS))
ROLLUP = Question("ROLLUP of 3 levels", 3, _ROLLUP, _ROLLUP, _levels_by_hand(f"ROLLUP ({_LEVELS})"))
TOTALS = Question("the same levels by UNION ALL", 3, _TOTALS, _TOTALS, _levels_by_hand(f"ROLLUP ({_LEVELS})"))

QUESTIONS = (COUNT, Q1, PRIORITY, DISTINCT, DISTRIBUTION, DAY, SELECTED, MEDIAN, FINEST, ROLLUP, TOTALS, THREE)
