-- A person's median is the mean of two of the person's rows, picked from below and from above.
SELECT AVG(m) FROM (SELECT patient_id, MEDIAN(cost) FILTER (WHERE reason = 'acute') AS m FROM visit GROUP BY patient_id) AS t;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1280000, l2 1280000
--   s0: Σ(m - 0) (steps of 1/256, at most 1280000)
--   s1: Σ(5000 - m) (steps of 1/256, at most 1280000)
-- a0: AVG(m) (double) = 0 + 5000 · s0 / (s0 + s1)
-- note: m is clipped into [0, 5000]
WITH released AS (
  SELECT
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * 1280000
    ) AS s1
  FROM (
    SELECT
      t3.u AS u,
      CASE WHEN t3.c1 < 0e0 THEN 0 WHEN t3.c1 > 5000e0 THEN 1280000 ELSE CAST(t3.c1 * 256e0 AS BIGINT) END AS v0,
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
          (
            CAST(QUANTILE_DISC(t1."cost", 0.500000 ORDER BY t1."cost" ASC) FILTER(WHERE
              t1."reason" = 'acute') AS DOUBLE) * 0.5e0 + CAST(QUANTILE_DISC(t1."cost", 0.500000 ORDER BY t1."cost" DESC NULLS FIRST) FILTER(WHERE
              t1."reason" = 'acute') AS DOUBLE) * 0.5e0
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
