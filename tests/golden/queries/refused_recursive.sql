WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < (SELECT COUNT(*) FROM patient)) SELECT COUNT(*) FROM t;

-- ----
-- refused: 0A000: WITH RECURSIVE is answered over constants alone | write WITH RECURSIVE d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < 12) SELECT …; levels of a table are written out, a join each
