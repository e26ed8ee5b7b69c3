-- Means over rows that exclude each other share one sensitivity.
SELECT AVG(cost) FILTER (WHERE reason = 'acute') AS acute, AVG(CASE WHEN reason = 'chronic' THEN cost END) AS chronic FROM visit;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 1280000000
--   s0: Σ(cost - 0) of AVG(cost) FILTER(WHERE reason = 'acute') (steps of 1/6400, at most 1280000000)
--   s1: Σ(5000 - cost) of AVG(cost) FILTER(WHERE reason = 'acute') (steps of 1/6400, at most 1280000000)
--   s2: Σ(cost - 0) of AVG(cost) FILTER(WHERE reason = 'chronic') (steps of 1/6400, at most 1280000000)
--   s3: Σ(5000 - cost) of AVG(cost) FILTER(WHERE reason = 'chronic') (steps of 1/6400, at most 1280000000)
-- a0: AVG(cost) FILTER(WHERE reason = 'acute') (double) = 0 + 5000 · s0 / (s0 + s1)
-- a1: AVG(CASE WHEN reason = 'chronic' THEN cost END) (double) = 0 + 5000 · s2 / (s2 + s3)
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost is clipped into [0, 5000]
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v1) FILTER(WHERE
        g0 = 0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v1) FILTER(WHERE
        g0 = 0), 0) + CAST(COUNT(v1) FILTER(WHERE
        g0 = 0) AS INT128) * 500000
    ) AS s1,
    (
      COALESCE(SUM(v1) FILTER(WHERE
        g0 = 1), 0)
    ) AS s2,
    (
      -COALESCE(SUM(v1) FILTER(WHERE
        g0 = 1), 0) + CAST(COUNT(v1) FILTER(WHERE
        g0 = 1) AS INT128) * 500000
    ) AS s3
  FROM (
    SELECT
      t1."patient_id" AS u,
      CASE WHEN t1."reason" = 'acute' THEN 0 WHEN t1."reason" = 'chronic' THEN 1 END AS g0,
      CASE
        WHEN t1."cost" < 0
        THEN 0
        WHEN t1."cost" > 5000
        THEN 500000
        ELSE CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v1
    FROM "main"."visit" AS t1
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 20480000000 THEN 20480000000 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 20480000000 THEN 20480000000 ELSE s1 END AS BIGINT) AS s1,
    CAST(CASE WHEN s2 > 20480000000 THEN 20480000000 ELSE s2 END AS BIGINT) AS s2,
    CAST(CASE WHEN s3 > 20480000000 THEN 20480000000 ELSE s3 END AS BIGINT) AS s3
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 64e0) AS BIGINT)
        ELSE measured.s0 * 64
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 64e0) AS BIGINT)
        ELSE measured.s1 * 64
      END
    ) AS s1,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s2 AS DOUBLE) * measured.rows_factor * 64e0) AS BIGINT)
        ELSE measured.s2 * 64
      END
    ) AS s2,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s3 AS DOUBLE) * measured.rows_factor * 64e0) AS BIGINT)
        ELSE measured.s3 * 64
      END
    ) AS s3
  FROM (
    SELECT
      *,
      CASE
        WHEN CAST(clamped.s0 AS INT128) * clamped.s0 + CAST(clamped.s1 AS INT128) * clamped.s1 + CAST(clamped.s2 AS INT128) * clamped.s2 + CAST(clamped.s3 AS INT128) * clamped.s3 > 400000000000000
        THEN (
          19999999.99998181e0 / SQRT(
            CAST(CAST(clamped.s0 AS INT128) * clamped.s0 + CAST(clamped.s1 AS INT128) * clamped.s1 + CAST(clamped.s2 AS INT128) * clamped.s2 + CAST(clamped.s3 AS INT128) * clamped.s3 AS DOUBLE)
          )
        )
        ELSE NULL
      END AS rows_factor
    FROM clamped
  ) AS measured
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2,
  COALESCE(released.s3, 0) AS s3
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "acute",
  dpsql_release_0.a1 AS "chronic"
FROM dpsql_release_0;
