SELECT reason, COUNT(*) FROM visit GROUP BY reason QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id) = 1;

-- ----
-- refused: 0A000 at 60: QUALIFY is not answered here | name the window in a subquery: FROM (SELECT key, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) AS r … GROUP BY key) AS t WHERE r = 1
