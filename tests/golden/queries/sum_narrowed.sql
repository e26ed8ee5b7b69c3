-- A condition on the summed value bounds it where no range is declared.
SELECT SUM(score) AS total FROM prescription WHERE score BETWEEN 0 AND 100;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 10000, l2 10000
--   s0: Σ score (steps of 1, at most 10000)
-- a0: SUM(score) (decimal(38,0)) = s0, rounded
-- note: each person counts with at most 100 rows (max_rows of prescription)
-- note: score is clipped into [0, 100]
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0
  FROM (
    SELECT
      t1_0."patient_id" AS u,
      CASE WHEN t1."score" < 0 THEN 0 WHEN t1."score" > 100 THEN 100 ELSE CAST(t1."score" AS BIGINT) END AS v0
    FROM "main"."prescription" AS t1
    JOIN "main"."visit" AS t1_0
      ON t1."visit_id" = t1_0."id"
    WHERE
      t1."score" BETWEEN CAST(0 AS BIGINT) AND CAST(100 AS BIGINT)
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
