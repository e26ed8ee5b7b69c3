-- Q20, potential part promotion
-- unit: supplier
-- keys: 1
-- adapted: not the suppliers' names and addresses, but how many there are, by nation; what was shipped is joined

SELECT n_name, COUNT(*) AS suppliers
FROM supplier, nation
WHERE s_suppkey IN (
        SELECT ps_suppkey
        FROM partsupp, (
            SELECT l_partkey, l_suppkey, 0.5 * SUM(l_quantity) AS half
            FROM lineitem
            WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR
            GROUP BY l_partkey, l_suppkey
        ) AS shipped
        WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%')
            AND l_partkey = ps_partkey AND l_suppkey = ps_suppkey AND ps_availqty > half
    )
    AND s_nationkey = n_nationkey
GROUP BY n_name
ORDER BY n_name
