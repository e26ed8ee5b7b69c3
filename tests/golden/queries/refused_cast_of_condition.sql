SELECT COUNT(*) FROM patient WHERE height_cm;

-- ----
-- refused: 42804 at 36: WHERE needs a condition, not an integer | compare it with something
