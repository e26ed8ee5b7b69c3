-- A person has at most 40 visits, however many prescriptions: groups by visit are bounded by them.
SELECT COUNT(*), SUM(n) FROM (
    SELECT p.id, r.visit_id, COUNT(*) AS n FROM prescription AS r JOIN visit AS v ON v.id = r.visit_id
    JOIN patient AS p ON p.id = v.patient_id GROUP BY p.id, r.visit_id
) AS t

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 2097152000
--   s0: Σ(n - 0) (steps of 1/524288, at most 2097152000)
--   s1: Σ(100 - n) (steps of 1/524288, at most 2097152000)
-- a0: COUNT(*) (bigint) = 1/52428800 · s0 + 1/52428800 · s1, rounded, at least 0
-- a1: SUM(n) (decimal(38,0)) = 1/524288 · s0, rounded
-- note: each person counts with at most 40 rows
-- note: n is clipped into [1, 100]
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 100
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t5.u AS u,
      CASE WHEN t5.c2 < 1 THEN 1 WHEN t5.c2 > 100 THEN 100 ELSE CAST(t5.c2 AS BIGINT) END AS v0
    FROM (
      SELECT
        t4.k0 AS c0,
        t4.k1 AS c1,
        t4.a0 AS c2,
        t4.u AS u
      FROM (
        SELECT
          t3."id" AS u,
          t3."id" AS k0,
          t1."visit_id" AS k1,
          COUNT(*) AS a0
        FROM "main"."prescription" AS t1
        JOIN "main"."visit" AS t2
          ON t1."visit_id" = t2."id"
        JOIN "main"."patient" AS t3
          ON t2."patient_id" = t3."id"
        GROUP BY
          t3."id",
          t1."visit_id"
      ) AS t4
    ) AS t5
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 4096000 THEN 4096000 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 4096000 THEN 4096000 ELSE s1 END AS BIGINT) AS s1,
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
  dpsql_release_0.a0 AS "count",
  dpsql_release_0.a1 AS "sum"
FROM dpsql_release_0;
