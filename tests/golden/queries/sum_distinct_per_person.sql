SELECT SUM(s), COUNT(m) FROM (SELECT patient_id, SUM(DISTINCT cost) AS s, AVG(DISTINCT cost) AS m FROM visit GROUP BY patient_id) AS t;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 20000000, l2 20000000
--   s0: Σ s (steps of 1/100, at most 20000000)
-- one unit moves: l1 1, l2 1
--   s1: COUNT(m) (steps of 1, at most 1)
-- a0: SUM(s) (decimal(38,2)) = 1/100 · s0
-- a1: COUNT(m) (bigint) = s1, rounded, at least 0
-- note: s is clipped into [0, 200000]
WITH released AS (
  SELECT
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      COUNT(*) FILTER(WHERE
        f1)
    ) AS s1
  FROM (
    SELECT
      t3.u AS u,
      CASE
        WHEN t3.c1 < 0
        THEN 0
        WHEN t3.c1 > 200000
        THEN 20000000
        ELSE CAST(CAST(t3.c1 AS DECIMAL(8, 2)) * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0,
      NOT t3.c2 IS NULL AS f1
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
          TRY_CAST(SUM(DISTINCT t1."cost") AS DECIMAL(38, 2)) AS a0,
          (
            ROUND(CAST(SUM(DISTINCT t1."cost") AS DOUBLE) * 100e0) / (
              CAST(COUNT(DISTINCT t1."cost") AS DOUBLE) * 100e0
            )
          ) AS a1
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
  dpsql_release_0.a0 AS "sum",
  dpsql_release_0.a1 AS "count"
FROM dpsql_release_0;
