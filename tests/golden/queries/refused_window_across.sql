SELECT AVG(r) FROM (SELECT RANK() OVER (PARTITION BY reason ORDER BY cost) AS r FROM visit) AS t;

-- ----
-- refused: 0A000 at 28: this window would compare people with each other | add PARTITION BY patient_id, so that it runs over the rows of one person; for the value in the middle ask for PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY cost)
