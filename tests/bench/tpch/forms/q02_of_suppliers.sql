-- Q2, where suppliers are the people
-- unit: supplier
-- keys: 1
-- refused: people's values are asked to equal a released number, which has noise
-- better: ask for offers at most as dear as the released minimum: a part has four of them, so that no minimum is released

SELECT n_name, COUNT(*) AS offers, AVG(s_acctbal) AS balance
FROM part, supplier, partsupp, nation, region
WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size = 15 AND p_type LIKE '%BRASS'
    AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE'
    AND ps_supplycost = (
        SELECT MIN(ps_supplycost)
        FROM partsupp, supplier, nation, region
        WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey
            AND n_regionkey = r_regionkey AND r_name = 'EUROPE'
    )
GROUP BY n_name
ORDER BY n_name
