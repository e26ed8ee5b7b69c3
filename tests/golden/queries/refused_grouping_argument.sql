SELECT GROUPING(region), COUNT(*) FROM patient GROUP BY ROLLUP (sex);

-- ----
-- refused: 42803: an argument of GROUPING is not in GROUP BY | name a key of GROUP BY
