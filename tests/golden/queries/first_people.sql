-- The 100 people who cost most: compared with the value at that rank, which is released first.
SELECT COUNT(*), SUM(s) FROM (
    SELECT patient_id, SUM(cost) AS s FROM visit GROUP BY patient_id ORDER BY s DESC LIMIT 100
) AS t;

-- ----
-- refused: 0A000: this window would compare people with each other; ranks among people are answered in a subquery, where they are only compared with constants | add PARTITION BY v0, for the rows of one person; or ask for SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY v1) AS r FROM … WHERE v1 IS NOT NULL) AS t WHERE r <= 100; or for SELECT COUNT(*) FROM (SELECT PERCENT_RANK() OVER (ORDER BY v1) AS r FROM … WHERE v1 IS NOT NULL) AS t WHERE r > 0.9; the value at a rank is PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY v1), and the share of the rows below a value PERCENT_RANK(50) WITHIN GROUP (ORDER BY v1)
