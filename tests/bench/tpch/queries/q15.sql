-- Q15, top supplier
-- unit: supplier
-- keys: 0
-- adapted: not the supplier of the highest revenue, but that revenue, beside the mean; MAX is a revenue that few are above
-- within: 0.4

WITH revenue (supplier_no, total_revenue) AS (
    SELECT l_suppkey, SUM(l_extendedprice * (1 - l_discount))
    FROM lineitem
    WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-01-01' + INTERVAL '3' MONTH
    GROUP BY l_suppkey
)
SELECT COUNT(*) AS suppliers, AVG(total_revenue) AS mean, MAX(total_revenue) AS highest
FROM supplier, revenue
WHERE s_suppkey = supplier_no
