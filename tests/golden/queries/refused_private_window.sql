SELECT AVG(r) FROM (SELECT ROW_NUMBER() OVER (ORDER BY height_cm) AS r FROM patient) AS t;

-- ----
-- refused: 0A000 at 28: this window would compare people with each other; ranks among people are answered in a subquery, where they are only compared with constants | add PARTITION BY id, for the rows of one person; or ask for SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY height_cm) AS r FROM … WHERE height_cm IS NOT NULL) AS t WHERE r <= 100; or for SELECT COUNT(*) FROM (SELECT PERCENT_RANK() OVER (ORDER BY height_cm) AS r FROM … WHERE height_cm IS NOT NULL) AS t WHERE r > 0.9; the value at a rank is PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY height_cm), and the share of the rows below a value PERCENT_RANK(50) WITHIN GROUP (ORDER BY height_cm)
