SELECT AVG(r) FROM (SELECT RANK() OVER (PARTITION BY reason ORDER BY cost) AS r FROM visit) AS t;

-- ----
-- refused: 0A000 at 28: this window would compare people with each other, and is no share that is only compared with constants | add PARTITION BY patient_id, for the rows of one person; or ask for SELECT COUNT(*) FROM (SELECT PERCENT_RANK() OVER (PARTITION BY reason ORDER BY cost) AS r FROM … WHERE cost IS NOT NULL AND reason IS NOT NULL) AS t WHERE r > 0.9; the value at a rank is PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY cost), and the share of the rows below a value PERCENT_RANK(50) WITHIN GROUP (ORDER BY cost)
