-- Q15, who has the highest revenue
-- unit: supplier
-- keys: 0
-- refused: people's values are asked to equal a released number, which has noise
-- better: ask for those who are not below the highest revenue, which is released first: about one supplier, nothing accurate

WITH revenue (supplier_no, total_revenue) AS (
    SELECT l_suppkey, SUM(l_extendedprice * (1 - l_discount))
    FROM lineitem
    WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-01-01' + INTERVAL '3' MONTH
    GROUP BY l_suppkey
)
SELECT COUNT(*) AS suppliers, AVG(total_revenue) AS revenue
FROM revenue
WHERE total_revenue = (SELECT MAX(total_revenue) FROM revenue)
