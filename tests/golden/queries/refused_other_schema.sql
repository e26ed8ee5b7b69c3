SELECT COUNT(*) FROM secret.patient;

-- ----
-- refused: 42P01 at 29: there is no table 'secret.patient' | write patient
