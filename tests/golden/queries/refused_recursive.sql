WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT COUNT(*) FROM t;

-- ----
-- refused: 0A000: WITH RECURSIVE is not answered | write the levels out
