SELECT AVG(r) FROM (SELECT ROW_NUMBER() OVER (ORDER BY height_cm) AS r FROM patient) AS t;

-- ----
-- refused: 0A000 at 28: this window would compare people with each other | add PARTITION BY id, so that it runs over the rows of one person; for the value in the middle ask for PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY height_cm)
