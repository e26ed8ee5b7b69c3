SELECT MODE() WITHIN GROUP (ORDER BY region) FROM patient;

-- ----
-- refused: 0A000 at 8: MODE() WITHIN GROUP (ORDER BY region) is picked from values that the policy lists, and there are none | SELECT x, COUNT(*) … GROUP BY x ORDER BY 2 DESC LIMIT 1, with region for x
