-- A clamp has the ends that it is written with, whatever the column holds.
SELECT SUM(GREATEST(0, LEAST(score, 100))) AS total FROM prescription;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 10000, l2 10000
--   s0: Σ GREATEST(0, LEAST(score, 100)) (steps of 1, at most 10000)
-- a0: SUM(GREATEST(0, LEAST(score, 100))) (decimal(38,0)) = s0, rounded
-- note: each person counts with at most 100 rows (max_rows of prescription)
-- note: GREATEST(0, LEAST(score, 100)) is clipped into [0, 100]
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0
  FROM (
    SELECT
      t1_0."patient_id" AS u,
      CASE
        WHEN GREATEST(CAST(0 AS BIGINT), LEAST(t1."score", CAST(100 AS BIGINT))) < 0
        THEN 0
        WHEN GREATEST(CAST(0 AS BIGINT), LEAST(t1."score", CAST(100 AS BIGINT))) > 100
        THEN 100
        ELSE CAST(GREATEST(CAST(0 AS BIGINT), LEAST(t1."score", CAST(100 AS BIGINT))) AS BIGINT)
      END AS v0
    FROM "main"."prescription" AS t1
    JOIN "main"."visit" AS t1_0
      ON t1."visit_id" = t1_0."id"
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 10000 THEN 10000 ELSE s0 END AS BIGINT) AS s0
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
  dpsql_release_0.a0 AS "total"
FROM dpsql_release_0;
