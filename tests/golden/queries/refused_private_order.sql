SELECT region FROM patient ORDER BY height_cm;

-- ----
-- refused: 42501 at 8: this query returns rows of people | ask for aggregates over people: COUNT(*), SUM(x), AVG(x), with GROUP BY for groups
