SELECT COUNT(*) FROM visit WHERE day >= DATE '2024-01-01' AND day < DATE '2024-01-01' + INTERVAL '3 months' AND EXTRACT(DOW FROM day) = 1;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 40, l2 40
--   s0: COUNT(*) (steps of 1, at most 40)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
WITH partial AS (
  SELECT
    u,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."patient_id" AS u
    FROM "main"."visit" AS t1
    WHERE
      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END >= CAST('2024-01-01' AS DATE)
      AND CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) < CAST('2024-04-01 00:00:00' AS TIMESTAMP)
      AND CAST(DATE_PART('dow', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS DECIMAL(5, 0)) = CAST(1 AS DECIMAL(5, 0))
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 40 THEN 40 ELSE s0 END AS BIGINT) AS s0
  FROM partial
), released AS (
  SELECT
    SUM(clamped.s0) AS s0
  FROM clamped
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
