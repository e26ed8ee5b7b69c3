SELECT COUNT(DISTINCT patient_id), COUNT(*) FROM sample;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: COUNT(DISTINCT patient_id) (steps of 1, at most 1)
-- one unit moves: l1 200, l2 200
--   s1: COUNT(*) (steps of 1, at most 200)
-- a0: COUNT(DISTINCT patient_id) (bigint) = s0, rounded, at least 0
-- a1: COUNT(*) (bigint) = s1, rounded, at least 0
-- note: each person counts with at most 200 rows (max_rows of sample)
WITH partial AS (
  SELECT
    u,
    (
      COUNT(*)
    ) AS s0,
    (
      COUNT(*)
    ) AS s1
  FROM (
    SELECT
      t1."patient_id" AS u
    FROM (
      SELECT
        t1."id",
        t1."visit_id",
        t1."patient_id",
        t1."batch_id",
        t1."result"
      FROM "main"."sample" AS t1
      JOIN "main"."visit" AS t1_0
        ON t1."visit_id" = t1_0."id" AND t1_0."patient_id" = t1."patient_id"
    ) AS t1
    WHERE
      NOT t1."patient_id" IS NULL
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CASE WHEN s0 > 0 THEN 1 ELSE 0 END AS s0,
    CAST(CASE WHEN s1 > 200 THEN 200 ELSE s1 END AS BIGINT) AS s1
  FROM partial
), released AS (
  SELECT
    SUM(clamped.s0) AS s0,
    SUM(clamped.s1) AS s1
  FROM clamped
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count",
  dpsql_release_0.a1 AS "count"
FROM dpsql_release_0;
