-- Q18, large volume customer
-- unit: customer
-- keys: 1
-- adapted: not the hundred customers and orders, but how many there are and of what size, by market segment

SELECT c_mktsegment, COUNT(DISTINCT c_custkey) AS customers, COUNT(*) AS orders, SUM(quantity) AS quantity
FROM (
    SELECT c_custkey, c_mktsegment, o_orderkey, SUM(l_quantity) AS quantity
    FROM customer, orders, lineitem
    WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING SUM(l_quantity) > 300)
        AND c_custkey = o_custkey AND o_orderkey = l_orderkey
    GROUP BY c_custkey, c_mktsegment, o_orderkey
) AS large
GROUP BY c_mktsegment
ORDER BY c_mktsegment
