-- Q10, returned item reporting
-- unit: customer
-- keys: 1
-- adapted: not the twenty customers who returned most, but how many returned anything and for how much, by nation

SELECT n_name, COUNT(*) AS customers, SUM(revenue) AS lost, AVG(revenue) AS lost_each, AVG(c_acctbal) AS balance
FROM (
    SELECT c_custkey, c_acctbal, n_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue
    FROM customer, orders, lineitem, nation
    WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= DATE '1993-10-01'
        AND o_orderdate < DATE '1993-10-01' + INTERVAL '3' MONTH AND l_returnflag = 'R' AND c_nationkey = n_nationkey
    GROUP BY c_custkey, c_acctbal, n_name
) AS returned
GROUP BY n_name
ORDER BY lost DESC
LIMIT 20
