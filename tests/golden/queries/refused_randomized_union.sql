SELECT drinks, COUNT(*) FROM (SELECT drinks FROM survey UNION ALL SELECT drinks FROM survey) AS x GROUP BY drinks;

-- ----
-- refused: 0A000: UNION ALL over a column that people randomized is not answered | aggregate each side, and add the numbers up
