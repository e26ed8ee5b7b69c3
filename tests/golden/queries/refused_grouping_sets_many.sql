SELECT COUNT(*) FROM patient GROUP BY CUBE (id, sex, birth_year, height_cm, weight_kg, smoker, diagnosis);

-- ----
-- refused: 54001: GROUP BY has more than 64 grouping sets | ask for fewer at once
