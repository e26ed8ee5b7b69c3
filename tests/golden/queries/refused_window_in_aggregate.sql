SELECT AVG(day - LAG(day) OVER (PARTITION BY patient_id ORDER BY day)) FROM visit;

-- ----
-- refused: 0A000 at 18: a window function is not answered here | compute it in the select list of a subquery in FROM, with PARTITION BY the key of the person
