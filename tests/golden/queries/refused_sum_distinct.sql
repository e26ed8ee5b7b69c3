SELECT SUM(DISTINCT height_cm) FROM patient;

-- ----
-- refused: 0A000: SUM(DISTINCT) is not answered over people | SUM(DISTINCT x) with GROUP BY the person is; over people COUNT(DISTINCT x), or SUM(x)
