-- The mean, the sum and the count of the same rows come with the moments.
SELECT STDDEV(height_cm) AS s, VAR_POP(height_cm) AS v, AVG(height_cm) AS m, COUNT(height_cm) AS n FROM patient;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 421200, l2 226800
--   s0: Σ (1-t)² of height_cm (steps of 1/226800, at most 421200)
--   s1: Σ 2t(1-t) of height_cm (steps of 1/421200, at most 421200)
--   s2: Σ t² of height_cm (steps of 1/226800, at most 421200)
-- a0: STDDEV(height_cm) (double) = deviation over [40, 220] in degree 2, of s0, s1, s2
-- a1: VAR_POP(height_cm) (double) = variance of all over [40, 220] in degree 2, of s0, s1, s2
-- a2: AVG(height_cm) (double) = mean over [40, 220] in degree 2, of s0, s1, s2
-- a3: COUNT(height_cm) (bigint) = 1/226800 · s0 + 1/421200 · s1 + 1/226800 · s2, rounded, at least 0
-- note: height_cm is clipped into [40, 220]
WITH released AS (
  SELECT
    (
      CAST(COUNT(*) FILTER(WHERE
        f1) AS INT128) * 226800 + COALESCE(SUM(d0) FILTER(WHERE
        f1), 0) * (
        -2520
      ) + COALESCE(SUM(d1) FILTER(WHERE
        f1), 0) * 7
    ) AS s0,
    (
      COALESCE(SUM(d0) FILTER(WHERE
        f1), 0) * 4680 + COALESCE(SUM(d1) FILTER(WHERE
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
      (
        v0 - 40
      ) AS d0,
      (
        (
          v0 - 40
        ) * (
          v0 - 40
        )
      ) AS d1
    FROM (
      SELECT
        t1."id" AS u,
        CASE WHEN t1."height_cm" < 40 THEN 40 WHEN t1."height_cm" > 220 THEN 220 ELSE CAST(t1."height_cm" AS BIGINT) END AS v0,
        NOT t1."height_cm" IS NULL AS f1
      FROM "main"."patient" AS t1
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
  dpsql_release_0.a0 AS "s",
  dpsql_release_0.a1 AS "v",
  dpsql_release_0.a2 AS "m",
  dpsql_release_0.a3 AS "n"
FROM dpsql_release_0;
