SELECT STDDEV(total) AS s FROM (SELECT patient_id, SUM(cost) AS total FROM visit GROUP BY patient_id) AS t;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 893100000000, l2 480900000027
--   s0: Σ (1-t)² of total (steps of 1/480900000000, at most 893100000000)
--   s1: Σ 2t(1-t) of total (steps of 1/893100000000, at most 893100000000)
--   s2: Σ t² of total (steps of 1/480900000000, at most 893100000000)
-- a0: STDDEV(total) (double) = deviation over [0, 200000] in degree 2, of s0, s1, s2
-- note: total is clipped into [0, 200000]
WITH released AS (
  SELECT
    (
      CAST(COUNT(*) FILTER(WHERE
        f1) AS INT128) * 480900000000 + COALESCE(SUM(d0) FILTER(WHERE
        f1), 0) * (
        -48090
      ) + COALESCE(SUM(d1) FILTER(WHERE
        f1), 0) * 7
    ) AS s0,
    (
      COALESCE(SUM(d0) FILTER(WHERE
        f1), 0) * 89310 + COALESCE(SUM(d1) FILTER(WHERE
        f1), 0) * (
        -26
      )
    ) AS s1,
    (
      COALESCE(SUM(d1) FILTER(WHERE
        f1), 0) * 7
    ) AS s2
  FROM (
    SELECT
      u,
      v0,
      f1,
      v0 AS d0,
      (
        (
          v0 * v0 * 6870 + 20000000
        ) // 40000000
      ) AS d1
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
        NOT t3.c1 IS NULL AS f1
      FROM (
        SELECT
          t2.k0 AS c0,
          t2.a0 AS c1,
          t2.u AS u
        FROM (
          SELECT
            t1."patient_id" AS u,
            t1."patient_id" AS k0,
            TRY_CAST(SUM(t1."cost") AS DECIMAL(38, 2)) AS a0
          FROM "main"."visit" AS t1
          GROUP BY
            t1."patient_id"
        ) AS t2
      ) AS t3
    ) AS x
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "s"
FROM dpsql_release_0;
