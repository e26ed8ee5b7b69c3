-- Q18, large volume customer
-- unit: customer
-- keys: 1
-- adapted: not the hundred customers and orders, but how many there are and of what size, by market segment
-- refused: IN compares people with each other

SELECT c_mktsegment, COUNT(DISTINCT c_custkey) AS customers, COUNT(DISTINCT o_orderkey) AS orders,
    SUM(l_quantity) AS quantity
FROM customer, orders, lineitem
WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING SUM(l_quantity) > 300)
    AND c_custkey = o_custkey AND o_orderkey = l_orderkey
GROUP BY c_mktsegment
ORDER BY c_mktsegment
