SELECT COUNT(*) FROM patient WHERE height_cm;

-- ----
-- refused: 42804: WHERE needs a condition, not a integer | compare it with something
