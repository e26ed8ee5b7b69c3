-- A running sum with a frame, and one over the peers of a day.
SELECT AVG(recent), AVG(whole) FROM (
    SELECT SUM(cost) OVER (PARTITION BY patient_id ORDER BY day ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS recent,
        MAX(cost) OVER (PARTITION BY patient_id ORDER BY day) AS whole
    FROM visit
) AS t;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 1920000000
--   s0: Σ(recent - 0) (steps of 1/3200, at most 1920000000)
--   s1: Σ(15000 - recent) (steps of 1/3200, at most 1920000000)
-- one unit moves: l1 None, l2 1280000000
--   s2: Σ(whole - 0) (steps of 1/6400, at most 1280000000)
--   s3: Σ(5000 - whole) (steps of 1/6400, at most 1280000000)
-- a0: AVG(recent) (double) = 0 + 15000 · s0 / (s0 + s1)
-- a1: AVG(whole) (double) = 0 + 5000 · s2 / (s2 + s3)
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: recent is clipped into [0, 15000]
-- note: whole is clipped into [0, 5000]
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * 1500000
    ) AS s1,
    (
      COALESCE(SUM(v2), 0)
    ) AS s2,
    (
      -COALESCE(SUM(v2), 0) + CAST(COUNT(v2) AS INT128) * 500000
    ) AS s3,
    COUNT(*) FILTER(WHERE
      f1) AS n0,
    COUNT(*) FILTER(WHERE
      f3) AS n1
  FROM (
    SELECT
      t3.u AS u,
      CASE
        WHEN t3.c0 < 0
        THEN 0
        WHEN t3.c0 > 15000
        THEN 1500000
        ELSE CAST(CAST(t3.c0 AS DECIMAL(7, 2)) * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0,
      NOT t3.c0 IS NULL AS f1,
      CASE WHEN t3.c1 < 0 THEN 0 WHEN t3.c1 > 5000 THEN 500000 ELSE CAST(t3.c1 * CAST(100 AS DECIMAL(3, 0)) AS BIGINT) END AS v2,
      NOT t3.c1 IS NULL AS f3
    FROM (
      SELECT
        t2.c3 AS c0,
        t2.c4 AS c1,
        t2.u AS u
      FROM (
        SELECT
          t1."patient_id" AS c0,
          t1."cost" AS c1,
          CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS c2,
          TRY_CAST(SUM(t1."cost") OVER (
            PARTITION BY t1."patient_id"
            ORDER BY CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END ASC, t1."id" ASC
            ROWS BETWEEN 2 PRECEDING AND CURRENT ROW
          ) AS DECIMAL(38, 2)) AS c3,
          MAX(t1."cost") OVER (
            PARTITION BY t1."patient_id"
            ORDER BY CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END ASC
          ) AS c4,
          t1."patient_id" AS u
        FROM "main"."visit" AS t1
      ) AS t2
    ) AS t3
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 61440000000 THEN 61440000000 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 61440000000 THEN 61440000000 ELSE s1 END AS BIGINT) AS s1,
    CAST(CASE WHEN s2 > 20480000000 THEN 20480000000 ELSE s2 END AS BIGINT) AS s2,
    CAST(CASE WHEN s3 > 20480000000 THEN 20480000000 ELSE s3 END AS BIGINT) AS s3,
    n0,
    n1
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 32e0) AS BIGINT)
        ELSE measured.s0 * 32
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 32e0) AS BIGINT)
        ELSE measured.s1 * 32
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
      LEAST(
        CASE
          WHEN CAST(clamped.n0 AS INT128) * clamped.n0 > 1600
          THEN (
            39.99999999996362e0 / SQRT(CAST(CAST(clamped.n0 AS INT128) * clamped.n0 AS DOUBLE))
          )
          ELSE NULL
        END,
        CASE
          WHEN CAST(clamped.n1 AS INT128) * clamped.n1 > 1600
          THEN (
            39.99999999996362e0 / SQRT(CAST(CAST(clamped.n1 AS INT128) * clamped.n1 AS DOUBLE))
          )
          ELSE NULL
        END
      ) AS rows_factor
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
  dpsql_release_0.a0 AS "avg",
  dpsql_release_0.a1 AS "avg"
FROM dpsql_release_0;
