-- Of a quotient both sides are read, and measured together.
WITH f AS (SELECT COUNT(*) AS n FROM patient WHERE sex = 'F'), m AS (SELECT COUNT(*) AS n FROM patient WHERE sex = 'M')
SELECT f.n * 1.0 / NULLIF(m.n, 0) AS ratio FROM f CROSS JOIN m;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: rows with COUNT(*) FILTER(WHERE sex = 'F') (steps of 1, at most 1)
--   s1: rows with COUNT(*) FILTER(WHERE sex = 'M') (steps of 1, at most 1)
-- a0: COUNT(*) FILTER(WHERE sex = 'F') (bigint) = s0, rounded, at least 0
-- a1: COUNT(*) FILTER(WHERE sex = 'M') (bigint) = s1, rounded, at least 0
WITH released AS (
  SELECT
    (
      COUNT(*) FILTER(WHERE
        g0 = 0)
    ) AS s0,
    (
      COUNT(*) FILTER(WHERE
        g0 = 1)
    ) AS s1
  FROM (
    SELECT
      t3."id" AS u,
      CASE WHEN t3."sex" = 'F' THEN 0 WHEN t3."sex" = 'M' THEN 1 END AS g0
    FROM "main"."patient" AS t3
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 * 1.0 / NULLIF(dpsql_release_0.a1, 0) AS ratio
FROM dpsql_release_0;
