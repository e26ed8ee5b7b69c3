-- Counts that exclude each other.
SELECT COUNT(*) FILTER (WHERE sex = 'F') AS f, COUNT(*) FILTER (WHERE sex = 'M') AS m FROM patient;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) FILTER(WHERE sex = 'F') (steps of 1, at most 1)
--   s1: COUNT(*) FILTER(WHERE sex = 'M') (steps of 1, at most 1)
-- a0: COUNT(*) FILTER(WHERE sex = 'F') (bigint) = s0, rounded, at least 0
-- a1: COUNT(*) FILTER(WHERE sex = 'M') (bigint) = s1, rounded, at least 0
WITH released AS (
  SELECT
    (
      COUNT(*) FILTER(WHERE
        f0)
    ) AS s0,
    (
      COUNT(*) FILTER(WHERE
        f1)
    ) AS s1
  FROM (
    SELECT
      t1."id" AS u,
      t1."sex" = 'F' AS f0,
      t1."sex" = 'M' AS f1
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
