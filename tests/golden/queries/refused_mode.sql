SELECT MODE() WITHIN GROUP (ORDER BY diagnosis) FROM patient;

-- ----
-- refused: 0A000: MODE is not answered over people | count by ranges: GROUP BY FLOOR(x / 10)
