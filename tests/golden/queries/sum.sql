-- Clipped into the declared range.
SELECT SUM(cost) AS total FROM visit;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 20000000, l2 20000000
--   s0: Σ cost (steps of 1/100, at most 20000000)
-- a0: SUM(cost) (decimal(38,2)) = 1/100 · s0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost is clipped into [0, 5000]
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0
  FROM (
    SELECT
      t1."patient_id" AS u,
      CASE
        WHEN t1."cost" < 0
        THEN 0
        WHEN t1."cost" > 5000
        THEN 500000
        ELSE CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0
    FROM "main"."visit" AS t1
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 20000000 THEN 20000000 ELSE s0 END AS BIGINT) AS s0
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
