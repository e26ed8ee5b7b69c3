-- The days between visits: the range of a difference of dates follows from the declared days.
SELECT AVG(gap), COUNT(*) FILTER (WHERE gap > 90) FROM (
    SELECT day - LAG(day) OVER (PARTITION BY patient_id ORDER BY day) AS gap FROM visit
) AS t;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 87640
--   s0: Σ(gap - 0) (steps of 1, at most 87640)
--   s1: Σ(2191 - gap) (steps of 1, at most 87640)
-- one unit moves: l1 40, l2 40
--   s2: COUNT(*) FILTER(WHERE gap > 90) (steps of 1, at most 40)
-- a0: AVG(gap) (double) = 0 + 2191 · s0 / (s0 + s1)
-- a1: COUNT(*) FILTER(WHERE gap > 90) (bigint) = s2, rounded, at least 0
-- note: each person counts with at most 40 rows
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
        f1)
    ) AS s2
  FROM (
    SELECT
      t3.u AS u,
      CASE WHEN t3.c0 < 0 THEN 0 WHEN t3.c0 > 2191 THEN 2191 ELSE CAST(t3.c0 AS BIGINT) END AS v0,
      t3.c0 > 90 AS f1
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
    CAST(CASE WHEN s0 > 87640 THEN 87640 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 87640 THEN 87640 ELSE s1 END AS BIGINT) AS s1,
    CAST(CASE WHEN s2 > 40 THEN 40 ELSE s2 END AS BIGINT) AS s2
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.m0 IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.m0) AS BIGINT)
        ELSE measured.s0
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.m0 IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.m0) AS BIGINT)
        ELSE measured.s1
      END
    ) AS s1,
    SUM(measured.s2) AS s2
  FROM (
    SELECT
      *,
      CASE
        WHEN clamped.s0 * clamped.s0 + clamped.s1 * clamped.s1 > 7680769600
        THEN (
          87639.99999992028e0 / SQRT(CAST(clamped.s0 * clamped.s0 + clamped.s1 * clamped.s1 AS DOUBLE))
        )
        ELSE NULL
      END AS m0
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
