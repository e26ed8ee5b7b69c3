SELECT COUNT(*) FROM visit a JOIN visit b ON a.patient_id = b.patient_id AND a.day = b.day JOIN visit c ON b.patient_id = c.patient_id AND b.day = c.day JOIN visit d ON c.patient_id = d.patient_id AND c.day = d.day;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1048576, l2 1048576
--   s0: COUNT(*) (steps of 1, at most 1048576)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: each person counts with at most 1,048,576 rows, of the many more that its joins could make
-- note: a row counts as up to 40, since it may meet so many of visit: with key: [day] for visit in the policy it meets one
-- note: a row counts as up to 40, since it may meet so many of visit: with key: [day] for visit in the policy it meets one
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
    JOIN "main"."visit" AS t2
      ON t1."patient_id" = t2."patient_id"
      AND CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END = CASE WHEN t2."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t2."day" END
    JOIN "main"."visit" AS t3
      ON t2."patient_id" = t3."patient_id"
      AND CASE WHEN t2."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t2."day" END = CASE WHEN t3."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t3."day" END
    JOIN "main"."visit" AS t4
      ON t3."patient_id" = t4."patient_id"
      AND CASE WHEN t3."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t3."day" END = CASE WHEN t4."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t4."day" END
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 1048576 THEN 1048576 ELSE s0 END AS BIGINT) AS s0
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
