SELECT VARIANCE(DISTINCT height_cm) FROM patient;

-- ----
-- refused: 0A000 at 8: VARIANCE(DISTINCT) is not answered over people | use VARIANCE(x)
