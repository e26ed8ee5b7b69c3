SELECT AVG(n) FROM (SELECT COUNT(*) OVER (PARTITION BY patient_id ORDER BY EXTRACT(YEAR FROM day)::INTEGER RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) AS n FROM visit) AS t;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 1635778560
--   s0: Σ(n - 1) (steps of 1/1048576, at most 1635778560)
--   s1: Σ(40 - n) (steps of 1/1048576, at most 1635778560)
-- a0: AVG(n) (double) = 1 + 39 · s0 / (s0 + s1)
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: n is clipped into [1, 40]
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * (
        -1
      )
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * 40
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t3.u AS u,
      CASE WHEN t3.c0 < 1 THEN 1 WHEN t3.c0 > 40 THEN 40 ELSE CAST(t3.c0 AS BIGINT) END AS v0
    FROM (
      SELECT
        t2.c2 AS c0,
        t2.u AS u
      FROM (
        SELECT
          t1."patient_id" AS c0,
          CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS c1,
          COUNT(*) OVER (
            PARTITION BY t1."patient_id"
            ORDER BY CAST(CAST(CAST(DATE_PART('year', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS DECIMAL(5, 0)) AS INT) AS BIGINT) ASC
            RANGE BETWEEN 2 PRECEDING AND CURRENT ROW
          ) AS c2,
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
    CAST(CASE WHEN s0 > 1597440 THEN 1597440 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 1597440 THEN 1597440 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 1048576e0) AS BIGINT)
        ELSE measured.s0 * 1048576
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 1048576e0) AS BIGINT)
        ELSE measured.s1 * 1048576
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
  dpsql_release_0.a0 AS "avg"
FROM dpsql_release_0;
