-- Sums of one column by conditions, in three spellings: one family.
SELECT SUM(cost) AS total, SUM(cost) FILTER (WHERE reason = 'acute') AS acute,
  SUM(CASE WHEN reason = 'chronic' THEN cost ELSE 0 END) AS chronic, SUM(CASE WHEN reason = 'acute' AND day >= DATE '2024-01-01' THEN cost END) AS lately
FROM visit;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 √419483600000000000000
--   s0: weighted Σ cost 1 (steps of 1/102400, at most 20481298786)
--   s1: weighted Σ cost 2 (steps of 1/102400, at most 20481298786)
--   s2: weighted Σ cost 3 (steps of 1/102400, at most 20481298786)
--   s3: weighted Σ cost 4 (steps of 1/102400, at most 20481298786)
-- a0: SUM(cost) (decimal(38,2)) = 1/102400 · s0 + 103/18186240 · s1 + 655333/90203750400 · s2 + 187800613/41403521433600 · s3
-- a1: SUM(cost) FILTER(WHERE reason = 'acute') (decimal(38,2)) = 1/102400 · s0 + 103/18186240 · s1 + -253979/90203750400 · s2 + -133186523/41403521433600 · s3
-- a2: SUM(CASE WHEN reason = 'chronic' THEN cost ELSE 0 END) (decimal(38,2)) = 1/99200 · s2 + -143/45532800 · s3
-- a3: SUM(CASE WHEN reason = 'acute' AND day >= CAST('2024-01-01' AS DATE) THEN cost END) (decimal(38,2)) = 1/102400 · s0 + -509/90931200 · s1 + -80923/90203750400 · s2 + -22323163/41403521433600 · s3
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: 4 sums of cost are measured together, which takes less noise: by sums in which some rows weigh more than others
-- note: cost is clipped into [0, 5000]
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0) FILTER(WHERE
        g1 = 0), 0) * 1024 + COALESCE(SUM(v0) FILTER(WHERE
        g1 = 1), 0) * 509 + COALESCE(SUM(v0) FILTER(WHERE
        g1 = 2), 0) * 188 + COALESCE(SUM(v0) FILTER(WHERE
        g1 = 3), 0) * 230
    ) AS s0,
    (
      COALESCE(SUM(v0) FILTER(WHERE
        g1 = 1), 0) * 888 + COALESCE(SUM(v0) FILTER(WHERE
        g1 = 2), 0) * 169 + COALESCE(SUM(v0) FILTER(WHERE
        g1 = 3), 0) * 267
    ) AS s1,
    (
      COALESCE(SUM(v0) FILTER(WHERE
        g1 = 2), 0) * 992 + COALESCE(SUM(v0) FILTER(WHERE
        g1 = 3), 0) * 286
    ) AS s2,
    (
      COALESCE(SUM(v0) FILTER(WHERE
        g1 = 3), 0) * 918
    ) AS s3
  FROM (
    SELECT
      t1."patient_id" AS u,
      CASE
        WHEN t1."cost" < 0
        THEN 0
        WHEN t1."cost" > 5000
        THEN 500000
        ELSE CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0,
      CASE
        WHEN t1."reason" = 'acute'
        THEN CASE
          WHEN (
            t1."reason" = 'acute'
          )
          AND (
            CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END >= CAST('2024-01-01' AS DATE)
          )
          THEN 0
          ELSE 1
        END
        WHEN t1."reason" = 'chronic'
        THEN 2
        ELSE 3
      END AS g1
    FROM "main"."visit" AS t1
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 20972849956864 THEN 20972849956864 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 20972849956864 THEN 20972849956864 ELSE s1 END AS BIGINT) AS s1,
    CAST(CASE WHEN s2 > 20972849956864 THEN 20972849956864 ELSE s2 END AS BIGINT) AS s2,
    CAST(CASE WHEN s3 > 20972849956864 THEN 20972849956864 ELSE s3 END AS BIGINT) AS s3
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor) AS BIGINT)
        ELSE measured.s0
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor) AS BIGINT)
        ELSE measured.s1
      END
    ) AS s1,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s2 AS DOUBLE) * measured.rows_factor) AS BIGINT)
        ELSE measured.s2
      END
    ) AS s2,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s3 AS DOUBLE) * measured.rows_factor) AS BIGINT)
        ELSE measured.s3
      END
    ) AS s3
  FROM (
    SELECT
      *,
      CASE
        WHEN CAST(clamped.s0 AS INT128) * clamped.s0 + CAST(clamped.s1 AS INT128) * clamped.s1 + CAST(clamped.s2 AS INT128) * clamped.s2 + CAST(clamped.s3 AS INT128) * clamped.s3 > 419483600000000000000
        THEN (
          20481298786.923573e0 / SQRT(
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
  dpsql_release_0.a0 AS "total",
  dpsql_release_0.a1 AS "acute",
  dpsql_release_0.a2 AS "chronic",
  dpsql_release_0.a3 AS "lately"
FROM dpsql_release_0;
