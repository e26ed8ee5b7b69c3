-- The range follows by interval arithmetic.
SELECT SUM(2 * cost - 100) AS total FROM visit;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 39600000, l2 39600000
--   s0: Σ 2 * cost - 100 (steps of 1/100, at most 39600000)
-- a0: SUM(2 * cost - 100) (decimal(38,2)) = 1/100 · s0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: 2 * cost - 100 is clipped into [-100, 9900]
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
        WHEN (
          (
            CAST(2 AS DECIMAL(1, 0)) * t1."cost"
          ) - CAST(100 AS DECIMAL(3, 0))
        ) < (
          -100
        )
        THEN (
          -10000
        )
        WHEN (
          (
            CAST(2 AS DECIMAL(1, 0)) * t1."cost"
          ) - CAST(100 AS DECIMAL(3, 0))
        ) > 9900
        THEN 990000
        ELSE CAST((
          (
            CAST(2 AS DECIMAL(1, 0)) * t1."cost"
          ) - CAST(100 AS DECIMAL(3, 0))
        ) * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0
    FROM "main"."visit" AS t1
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 39600000 THEN 39600000 WHEN s0 < (
      -39600000
    ) THEN (
      -39600000
    ) ELSE s0 END AS BIGINT) AS s0
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
