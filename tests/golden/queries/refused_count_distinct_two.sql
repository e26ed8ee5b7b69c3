SELECT COUNT(DISTINCT (sex, region)) FROM patient;

-- ----
-- refused: 0A000 at 24: rows of values are not answered | compare the columns one by one with AND
