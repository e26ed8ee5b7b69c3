SELECT MODE() WITHIN GROUP (ORDER BY diagnosis) FROM patient;

-- ----
-- refused: 0A000: MODE is not answered over people | PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) is answered; or GROUP BY x with COUNT(*)
