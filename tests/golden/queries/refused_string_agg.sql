SELECT STRING_AGG(diagnosis, ',') FROM patient;

-- ----
-- refused: 0A000 at 30: STRING_AGG is not answered over people | values of people are not listed; use GROUP BY with COUNT(*)
