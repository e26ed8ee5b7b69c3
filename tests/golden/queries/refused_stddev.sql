SELECT STDDEV(height_cm) FROM patient;

-- ----
-- refused: 0A000: STDDEV is not answered over people | ask for AVG(x) and AVG(x * x)
