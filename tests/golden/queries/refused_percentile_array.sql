SELECT PERCENTILE_CONT(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY height_cm) FROM patient;

-- ----
-- refused: 0A000: a percentile of several fractions at once is not answered | write one PERCENTILE_CONT(…) WITHIN GROUP (ORDER BY x) for each: they are read together
