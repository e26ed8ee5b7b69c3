SELECT STRING_AGG(diagnosis, ',') FROM patient;

-- ----
-- refused: 0A000: GROUP_CONCAT is not answered over people | values of people are not listed; use GROUP BY with COUNT(*)
