SELECT MEDIAN(height_cm) FROM patient;

-- ----
-- refused: 0A000: MEDIAN is not answered over people | count by ranges: GROUP BY FLOOR(x / 10)
