SELECT sex, COUNT(*) FROM patient GROUP BY GROUPING SETS ((sex), ());

-- ----
-- refused: 0A000: this GROUP BY is not answered | GROUP BY ROLLUP, CUBE and GROUPING SETS are not answered yet: send one GROUP BY per level
