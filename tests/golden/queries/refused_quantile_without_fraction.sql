SELECT QUANTILE_CONT(height_cm) FROM patient;

-- ----
-- refused: 42883: QUANTILE_CONT takes a column and a fraction | write QUANTILE_CONT(x, 0.5)
