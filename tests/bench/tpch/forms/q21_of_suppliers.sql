-- Q21, where suppliers are the people
-- unit: supplier
-- keys: 1
-- refused: IN compares people with each other
-- better: nothing simple: whether a supplier kept an order waiting depends on the other suppliers of that order

SELECT n_name, COUNT(*) AS numwait
FROM supplier, lineitem l1, nation
WHERE s_suppkey = l1.l_suppkey AND l1.l_receiptdate > l1.l_commitdate
    AND NOT EXISTS (
        SELECT * FROM lineitem l3
        WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey AND l3.l_receiptdate > l3.l_commitdate
    )
    AND s_nationkey = n_nationkey
GROUP BY n_name
ORDER BY n_name
