SELECT SUM(DISTINCT height_cm) FROM patient;

-- ----
-- refused: 0A000: SUM(DISTINCT) is not answered over people | SUM(v) FROM (SELECT key, MAX(x) AS v … GROUP BY key) reads x once for each key of a person; SUM(DISTINCT x) with GROUP BY the person is answered, and over people COUNT(DISTINCT x), or SUM(x)
