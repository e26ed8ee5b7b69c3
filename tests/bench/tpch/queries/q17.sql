-- Q17, small-quantity-order revenue
-- unit: customer
-- keys: 0
-- adapted: a fifth of the mean quantity of all such parts, which is asked first, not of each part's own mean

SELECT 0.2 * AVG(l_quantity) AS small
FROM lineitem, part
WHERE p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container = 'MED BOX';

SELECT SUM(l_extendedprice) / 7.0 AS avg_yearly
FROM lineitem, part
WHERE p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container = 'MED BOX' AND l_quantity < ?
