-- Branches of UNION ALL over the same rows are one release.
-- clipped in l1
SELECT 'all' AS what, COUNT(*) AS n FROM visit
UNION ALL SELECT 'acute', COUNT(*) FROM visit WHERE reason = 'acute'
UNION ALL SELECT 'dear', COUNT(*) FROM visit WHERE cost > 100;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1342177280, l2 1342177280
--   s0: rows with COUNT(*) FILTER(WHERE cost > 100) and COUNT(*) FILTER(WHERE reason = 'acute') (steps of 1/33554432, at most 1342177280)
--   s1: rows with COUNT(*) FILTER(WHERE cost > 100) and not COUNT(*) FILTER(WHERE reason = 'acute') (steps of 1/33554432, at most 1342177280)
--   s2: rows with COUNT(*) FILTER(WHERE reason = 'acute') and not COUNT(*) FILTER(WHERE cost > 100) (steps of 1/33554432, at most 1342177280)
--   s3: rows with not COUNT(*) FILTER(WHERE cost > 100) and not COUNT(*) FILTER(WHERE reason = 'acute') (steps of 1/33554432, at most 1342177280)
-- a0: COUNT(*) (bigint) = 1/33554432 · s0 + 1/33554432 · s1 + 1/33554432 · s2 + 1/33554432 · s3, rounded, at least 0
-- a1: COUNT(*) FILTER(WHERE cost > 100) (bigint) = 1/33554432 · s0 + 1/33554432 · s1, rounded, at least 0
-- a2: COUNT(*) FILTER(WHERE reason = 'acute') (bigint) = 1/33554432 · s0 + 1/33554432 · s2, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: 3 counts are measured together, which takes less noise: as 4 parts that share no rows, added up
WITH partial AS (
  SELECT
    u,
    (
      COUNT(*) FILTER(WHERE
        g0 = 0)
    ) AS s0,
    (
      COUNT(*) FILTER(WHERE
        g0 = 1)
    ) AS s1,
    (
      COUNT(*) FILTER(WHERE
        g0 = 2)
    ) AS s2,
    (
      COUNT(*) FILTER(WHERE
        g0 = 3)
    ) AS s3,
    COUNT(*) AS n0
  FROM (
    SELECT
      t4."patient_id" AS u,
      CASE
        WHEN t4."cost" > CAST(100 AS DECIMAL(8, 2))
        THEN CASE WHEN t4."reason" = 'acute' THEN 0 ELSE 1 END
        WHEN t4."reason" = 'acute'
        THEN 2
        ELSE 3
      END AS g0
    FROM "main"."visit" AS t4
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 40960 THEN 40960 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 40960 THEN 40960 ELSE s1 END AS BIGINT) AS s1,
    CAST(CASE WHEN s2 > 40960 THEN 40960 ELSE s2 END AS BIGINT) AS s2,
    CAST(CASE WHEN s3 > 40960 THEN 40960 ELSE s3 END AS BIGINT) AS s3,
    n0
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 33554432e0) AS BIGINT)
        ELSE measured.s0 * 33554432
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 33554432e0) AS BIGINT)
        ELSE measured.s1 * 33554432
      END
    ) AS s1,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s2 AS DOUBLE) * measured.rows_factor * 33554432e0) AS BIGINT)
        ELSE measured.s2 * 33554432
      END
    ) AS s2,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s3 AS DOUBLE) * measured.rows_factor * 33554432e0) AS BIGINT)
        ELSE measured.s3 * 33554432
      END
    ) AS s3
  FROM (
    SELECT
      *,
      CASE WHEN clamped.n0 > 40 THEN (
        39.99999999996362e0 / CAST(clamped.n0 AS DOUBLE)
      ) ELSE NULL END AS rows_factor
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
  'all' AS "what",
  dpsql_release_0.a0 AS "n"
FROM dpsql_release_0
UNION ALL
SELECT
  'acute' AS "?column?",
  dpsql_release_0.a2 AS "count"
FROM dpsql_release_0
UNION ALL
SELECT
  'dear' AS "?column?",
  dpsql_release_0.a1 AS "count"
FROM dpsql_release_0;
