SELECT DISTINCT ON (sex) sex, height_cm FROM patient;

-- ----
-- refused: 0A000: DISTINCT ON is not answered over people | use GROUP BY with an aggregate
