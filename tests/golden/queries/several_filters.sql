-- Counts that exclude each other.
SELECT COUNT(*) FILTER (WHERE sex = 'F') AS f, COUNT(*) FILTER (WHERE sex = 'M') AS m FROM patient;

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
      t1."id" AS u,
      CASE WHEN t1."sex" = 'F' THEN 0 WHEN t1."sex" = 'M' THEN 1 END AS g0
    FROM "main"."patient" AS t1
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "f",
  dpsql_release_0.a1 AS "m"
FROM dpsql_release_0;
