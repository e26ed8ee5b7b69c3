WITH patient AS (SELECT 1 AS x) SELECT COUNT(*) FROM patient;

-- ----
-- outer
SELECT
  COUNT(*) AS "count"
FROM (
  SELECT
    1 AS x
) AS patient;
