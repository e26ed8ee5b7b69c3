SELECT CORR(height_cm) FROM patient;

-- ----
-- refused: 42601 at 22: syntax error near ')' | write CORR(y, x), with two arguments
