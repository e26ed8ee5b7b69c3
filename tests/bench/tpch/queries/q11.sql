-- Q11, important stock identification
-- unit: supplier
-- keys: 1
-- adapted: not single parts, each offered by four suppliers, but brands; more than 4 % of the value, not 0.01 %

SELECT p_brand, SUM(ps_supplycost * ps_availqty) AS value
FROM partsupp, supplier, nation, part
WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY' AND p_partkey = ps_partkey
GROUP BY p_brand
HAVING SUM(ps_supplycost * ps_availqty) > (
    SELECT SUM(ps_supplycost * ps_availqty) * 0.04
    FROM partsupp, supplier, nation
    WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY'
)
ORDER BY value DESC
