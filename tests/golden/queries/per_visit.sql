-- Aggregates of one visit belong to its patient.
SELECT AVG(n) AS n FROM (SELECT visit_id, COUNT(*) AS n FROM prescription GROUP BY visit_id) AS t;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 2076180480
--   s0: Σ(n - 1) (steps of 1/524288, at most 2076180480)
--   s1: Σ(100 - n) (steps of 1/524288, at most 2076180480)
-- a0: AVG(n) (double) = 1 + 99 · s0 / (s0 + s1)
-- note: each person counts with at most 40 rows
-- note: n is clipped into [1, 100]
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * (
        -1
      )
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * 100
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t3.u AS u,
      CASE WHEN t3.c1 < 1 THEN 1 WHEN t3.c1 > 100 THEN 100 ELSE CAST(t3.c1 AS BIGINT) END AS v0
    FROM (
      SELECT
        t2.k0 AS c0,
        t2.a0 AS c1,
        t2.u AS u
      FROM (
        SELECT
          t1_0."patient_id" AS u,
          t1."visit_id" AS k0,
          COUNT(*) AS a0
        FROM "main"."prescription" AS t1
        JOIN "main"."visit" AS t1_0
          ON t1."visit_id" = t1_0."id"
        GROUP BY
          t1_0."patient_id",
          t1."visit_id"
      ) AS t2
    ) AS t3
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 4055040 THEN 4055040 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 4055040 THEN 4055040 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 524288e0) AS BIGINT)
        ELSE measured.s0 * 524288
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 524288e0) AS BIGINT)
        ELSE measured.s1 * 524288
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
  dpsql_release_0.a0 AS "n"
FROM dpsql_release_0;
