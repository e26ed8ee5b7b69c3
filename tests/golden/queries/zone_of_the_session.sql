-- A literal instant is compared with days as the local time that clocks show in the session's zone.
-- in the zone Europe/Berlin
SELECT COUNT(*) FROM visit WHERE day >= '2024-12-31 23:00Z'::timestamptz AND day < '2025-07-01';

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
      CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) >= CAST('2025-01-01 00:00:00' AS TIMESTAMP)
      AND CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END < CAST('2025-07-01' AS DATE)
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
