-- A person has at most 40 visits, however many prescriptions: groups by visit are bounded by them.
SELECT COUNT(*), SUM(n) FROM (
    SELECT p.id, r.visit_id, COUNT(*) AS n FROM prescription AS r JOIN visit AS v ON v.id = r.visit_id
    JOIN patient AS p ON p.id = v.patient_id GROUP BY p.id, r.visit_id
) AS t

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 4000, l2 4000
--   s0: Σ n (steps of 1, at most 4000)
-- one unit moves: l1 40, l2 40
--   s1: COUNT(*) (steps of 1, at most 40)
-- a0: COUNT(*) (bigint) = s1, rounded, at least 0
-- a1: SUM(n) (bigint) = s0, rounded
-- note: each person counts with at most 40 rows
-- note: n is clipped into [1, 100]
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      COUNT(*)
    ) AS s1
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
          ON t2."id" = t1."visit_id"
        JOIN "main"."patient" AS t3
          ON t3."id" = t2."patient_id"
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
    CAST(CASE WHEN s0 > 4000 THEN 4000 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 40 THEN 40 ELSE s1 END AS BIGINT) AS s1
  FROM partial
), released AS (
  SELECT
    SUM(clamped.s0) AS s0,
    SUM(clamped.s1) AS s1
  FROM clamped
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
