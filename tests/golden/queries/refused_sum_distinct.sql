SELECT SUM(DISTINCT height_cm) FROM patient;

-- ----
-- refused: 0A000: SUM(DISTINCT) is not answered over people | use SUM(x)
