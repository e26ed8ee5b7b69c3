-- Q17, each part's own mean
-- unit: customer
-- keys: 0
-- refused: a subquery for one value reads a column that its own tables do not have
-- better: release a mean of each part first, from some 30 lines each: little would be left of the price, and of the answer

SELECT SUM(l_extendedprice) / 7.0 AS avg_yearly
FROM lineitem, part
WHERE p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container = 'MED BOX'
    AND l_quantity < (SELECT 0.2 * AVG(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)
