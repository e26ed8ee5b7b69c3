SELECT ARRAY_AGG(diagnosis) FROM patient;

-- ----
-- refused: 0A000 at 8: ARRAY_AGG is not answered over people | values of people are not listed; use GROUP BY with COUNT(*)
