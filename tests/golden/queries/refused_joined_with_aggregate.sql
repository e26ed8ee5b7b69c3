SELECT COUNT(*) FROM patient p JOIN (SELECT region, AVG(height_cm) AS h FROM patient GROUP BY region) AS t ON p.region = t.region AND p.height_cm > t.h;

-- ----
-- refused: 0A000: rows of people are joined with an aggregate over people | aggregate the rows first, then join the aggregated subqueries
