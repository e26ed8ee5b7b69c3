-- The days between visits: the range of a difference of dates follows from the declared days.
SELECT AVG(gap), COUNT(*) FILTER (WHERE gap > 90) FROM (
    SELECT day - LAG(day) OVER (PARTITION BY patient_id ORDER BY day) AS gap FROM visit
) AS t;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 1435893760
--   s0: Σ(gap - 0) (steps of 1/16384, at most 1435893760)
--   s1: Σ(2191 - gap) (steps of 1/16384, at most 1435893760)
-- one unit moves: l1 1342177280, l2 1342177280
--   s2: COUNT(*) FILTER(WHERE gap > 90) (steps of 1/33554432, at most 1342177280)
-- a0: AVG(gap) (double) = 0 + 2191 · s0 / (s0 + s1)
-- a1: COUNT(*) FILTER(WHERE gap > 90) (bigint) = 1/33554432 · s2, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: gap is clipped into [0, 2191]
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * 2191
    ) AS s1,
    (
      COUNT(*) FILTER(WHERE
        f2)
    ) AS s2,
    COUNT(*) FILTER(WHERE
      f1) AS n0
  FROM (
    SELECT
      t3.u AS u,
      CASE WHEN t3.c0 < 0 THEN 0 WHEN t3.c0 > 2191 THEN 2191 ELSE CAST(t3.c0 AS BIGINT) END AS v0,
      NOT t3.c0 IS NULL AS f1,
      t3.c0 > 90 AS f2
    FROM (
      SELECT
        t2.c2 AS c0,
        t2.u AS u
      FROM (
        SELECT
          CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS c0,
          t1."patient_id" AS c1,
          CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END - (
            LAG(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END, 1) OVER (
              PARTITION BY t1."patient_id"
              ORDER BY CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END ASC, t1."id" ASC
            )
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
    CAST(CASE WHEN s0 > 89743360 THEN 89743360 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 89743360 THEN 89743360 ELSE s1 END AS BIGINT) AS s1,
    s2,
    n0
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 16384e0) AS BIGINT)
        ELSE measured.s0 * 16384
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 16384e0) AS BIGINT)
        ELSE measured.s1 * 16384
      END
    ) AS s1,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s2 AS DOUBLE) * measured.rows_factor * 33554432e0) AS BIGINT)
        ELSE LEAST(measured.s2, 40) * 33554432
      END
    ) AS s2
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
          WHEN CAST(clamped.s2 AS INT128) * clamped.s2 > 1600
          THEN (
            39.99999999996362e0 / SQRT(CAST(CAST(clamped.s2 AS INT128) * clamped.s2 AS DOUBLE))
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
  COALESCE(released.s2, 0) AS s2
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "avg",
  dpsql_release_0.a1 AS "count"
FROM dpsql_release_0;
