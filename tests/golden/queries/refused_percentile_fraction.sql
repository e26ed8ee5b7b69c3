SELECT PERCENTILE_CONT(1.5) WITHIN GROUP (ORDER BY height_cm) FROM patient;

-- ----
-- refused: 22003 at 8: a percentile's fraction is from 0 to 1 | write PERCENTILE_CONT(0.5)
