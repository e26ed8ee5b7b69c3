SELECT COUNT(x) FROM (SELECT LAG(cost IGNORE NULLS) OVER (PARTITION BY patient_id ORDER BY day) AS x FROM visit) AS t;

-- ----
-- refused: 0A000: IGNORE NULLS and RESPECT NULLS are not answered | filter the NULLs out in a subquery, then use LAG
