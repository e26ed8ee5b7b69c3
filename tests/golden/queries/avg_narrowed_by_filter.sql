-- A FILTER narrows the declared range.
SELECT AVG(cost) FILTER (WHERE cost >= 10 AND cost < 100) AS middling FROM visit;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 1474560000
--   s0: Σ(cost - 10) (steps of 1/409600, at most 1474560000)
--   s1: Σ(100 - cost) (steps of 1/409600, at most 1474560000)
-- a0: AVG(cost) FILTER(WHERE cost >= 10 AND cost < 100) (double) = 10 + 90 · s0 / (s0 + s1)
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost is clipped into [10, 100]
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0) FILTER(WHERE
        f1), 0) + CAST(COUNT(v0) FILTER(WHERE
        f1) AS INT128) * (
        -1000
      )
    ) AS s0,
    (
      -COALESCE(SUM(v0) FILTER(WHERE
        f1), 0) + CAST(COUNT(v0) FILTER(WHERE
        f1) AS INT128) * 10000
    ) AS s1,
    COUNT(*) FILTER(WHERE
      f2) AS n0
  FROM (
    SELECT
      t1."patient_id" AS u,
      CASE
        WHEN t1."cost" < 10
        THEN 1000
        WHEN t1."cost" > 100
        THEN 10000
        ELSE CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0,
      (
        t1."cost" >= CAST(10 AS DECIMAL(8, 2))
      ) AND (
        t1."cost" < CAST(100 AS DECIMAL(8, 2))
      ) AS f1,
      (
        (
          t1."cost" >= CAST(10 AS DECIMAL(8, 2))
        ) AND (
          t1."cost" < CAST(100 AS DECIMAL(8, 2))
        )
      )
      AND NOT t1."cost" IS NULL AS f2
    FROM "main"."visit" AS t1
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 368640000 THEN 368640000 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 368640000 THEN 368640000 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 4096e0) AS BIGINT)
        ELSE measured.s0 * 4096
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 4096e0) AS BIGINT)
        ELSE measured.s1 * 4096
      END
    ) AS s1
  FROM (
    SELECT
      *,
      CASE
        WHEN CAST(clamped.n0 AS INT128) * clamped.n0 > 1600
        THEN (
          39.99999999996362e0 / SQRT(CAST(CAST(clamped.n0 AS INT128) * clamped.n0 AS DOUBLE))
        )
        ELSE NULL
      END AS rows_factor
    FROM clamped
  ) AS measured
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "middling"
FROM dpsql_release_0;
