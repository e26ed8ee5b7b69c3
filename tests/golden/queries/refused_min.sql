SELECT MIN(height_cm) FROM patient;

-- ----
-- refused: 0A000: MIN is not answered over people | use the declared range, or COUNT(*) … WHERE x < limit
