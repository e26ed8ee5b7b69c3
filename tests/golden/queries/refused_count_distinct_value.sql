SELECT COUNT(DISTINCT diagnosis) FROM patient;

-- ----
-- refused: 0A000: COUNT(DISTINCT diagnosis) is not answered: one person can add many values | COUNT(DISTINCT …) of the key of the person is answered
