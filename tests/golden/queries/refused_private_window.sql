SELECT AVG(r) FROM (SELECT ROW_NUMBER() OVER (ORDER BY height_cm) AS r FROM patient) AS t;

-- ----
-- refused: 0A000 at 28: a window function is not answered here | put it over an aggregate, in an outer SELECT
