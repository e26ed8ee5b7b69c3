WITH patient AS (SELECT 1 AS x) SELECT COUNT(*) FROM patient;

-- ----
-- outer
WITH patient_1 AS (
  SELECT
    1 AS x
)
SELECT
  COUNT(*) AS "count"
FROM patient_1 AS patient;
