WITH v AS (SELECT patient_id, COUNT(*) AS n, SUM(cost) AS s, MAX(cost) AS m FROM visit GROUP BY patient_id), w AS (SELECT patient_id, n, s / n AS mean, m + 1 AS more, LAG(n) OVER (PARTITION BY patient_id ORDER BY m) AS last FROM v WHERE m > 5) SELECT SUM(n), COUNT(*) FROM w;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 40, l2 40
--   s0: Σ(n - 0) (steps of 1, at most 40)
--   s1: Σ(40 - n) (steps of 1, at most 40)
-- a0: SUM(n) (decimal(38,0)) = s0, rounded
-- a1: COUNT(*) (bigint) = 1/40 · s0 + 1/40 · s1, rounded, at least 0
-- note: n is clipped into [1, 40]
WITH released AS (
  SELECT
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 40
    ) AS s1
  FROM (
    SELECT
      t4.u AS u,
      CASE WHEN t4.c0 < 1 THEN 1 WHEN t4.c0 > 40 THEN 40 ELSE CAST(t4.c0 AS BIGINT) END AS v0
    FROM (
      SELECT
        t3.c1 AS c0,
        t3.u AS u
      FROM (
        SELECT
          t2.k0 AS c0,
          t2.a0 AS c1,
          t2.a1 AS c2,
          t2.u AS u
        FROM (
          SELECT
            t1."patient_id" AS u,
            t1."patient_id" AS k0,
            COUNT(*) AS a0,
            MAX(t1."cost") AS a1
          FROM "main"."visit" AS t1
          GROUP BY
            t1."patient_id"
        ) AS t2
      ) AS t3
      WHERE
        t3.c2 > CAST(5 AS DECIMAL(8, 2))
    ) AS t4
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "sum",
  dpsql_release_0.a1 AS "count"
FROM dpsql_release_0;
