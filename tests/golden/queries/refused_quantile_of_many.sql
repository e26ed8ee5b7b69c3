SELECT QUANTILE_CONT(height_cm, height_cm) FROM patient;

-- ----
-- refused: 0A000 at 33: a percentile needs a literal fraction | write PERCENTILE_CONT(0.5)
