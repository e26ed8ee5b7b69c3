SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY height_cm) FROM patient;

-- ----
-- refused: 0A000: PERCENTILE_CONT is not answered over people | count by ranges: GROUP BY FLOOR(x / 10)
