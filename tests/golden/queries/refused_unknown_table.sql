SELECT COUNT(*) FROM patients;

-- ----
-- refused: 42P01 at 22: there is no table 'patients' | did you mean patient?
