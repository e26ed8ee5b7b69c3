SELECT * FROM patient;

-- ----
-- refused: 42501: this query returns rows of people | ask for aggregates over people: COUNT(*), SUM(x), AVG(x), with GROUP BY for groups
