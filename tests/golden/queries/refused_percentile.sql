SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY height_cm) FROM patient;

-- ----
-- refused: 0A000: WITHINGROUP is not answered over people | over people, COUNT, SUM and AVG are answered
