-- For one person the engine counts, rows of values too.
SELECT AVG(n) FROM (SELECT patient_id, COUNT(DISTINCT (reason, day)) AS n FROM visit GROUP BY patient_id) AS t

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 39, l2 39
--   s0: Σ(n - 1) (steps of 1, at most 39)
--   s1: Σ(40 - n) (steps of 1, at most 39)
-- a0: AVG(n) (double) = 1 + 39 · s0 / (s0 + s1)
-- note: n is clipped into [1, 40]
WITH released AS (
  SELECT
    (
      COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * (
        -1
      )
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * 40
    ) AS s1
  FROM (
    SELECT
      t3.u AS u,
      CASE WHEN t3.c1 < 1 THEN 1 WHEN t3.c1 > 40 THEN 40 ELSE CAST(t3.c1 AS BIGINT) END AS v0
    FROM (
      SELECT
        t2.k0 AS c0,
        t2.a0 AS c1,
        t2.u AS u
      FROM (
        SELECT
          t1."patient_id" AS u,
          t1."patient_id" AS k0,
          COUNT(
            DISTINCT (
              t1."reason",
              CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END
            )
          ) AS a0
        FROM "main"."visit" AS t1
        GROUP BY
          t1."patient_id"
      ) AS t2
    ) AS t3
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "avg"
FROM dpsql_release_0;
