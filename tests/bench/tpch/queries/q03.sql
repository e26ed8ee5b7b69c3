-- Q3, shipping priority
-- unit: customer
-- keys: 2
-- adapted: not the ten orders of the highest revenue, but the ten months

SELECT date_trunc('month', o_orderdate) AS month, o_shippriority, SUM(l_extendedprice * (1 - l_discount)) AS revenue
FROM customer, orders, lineitem
WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
    AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
GROUP BY month, o_shippriority
ORDER BY revenue DESC, month
LIMIT 10
