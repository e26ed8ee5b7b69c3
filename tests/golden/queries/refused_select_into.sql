SELECT COUNT(*) INTO t FROM patient;

-- ----
-- refused: 0A000 at 22: SELECT INTO is not answered in a SELECT over people | leave it out
