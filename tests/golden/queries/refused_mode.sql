SELECT MODE() WITHIN GROUP (ORDER BY diagnosis) FROM patient;

-- ----
-- refused: 0A000: WITHINGROUP is not answered over people | over people, COUNT, SUM and AVG are answered
