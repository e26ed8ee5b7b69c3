-- COUNT and SUM of a CASE are counts.
SELECT COUNT(CASE WHEN smoker THEN 1 END) AS smokers, SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) AS women FROM patient;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 2, l2 √2
--   s0: COUNT(CASE WHEN smoker THEN 1 END) (steps of 1, at most 2)
--   s1: SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) (steps of 1, at most 2)
-- a0: COUNT(CASE WHEN smoker THEN 1 END) (bigint) = s0, rounded, at least 0
-- a1: SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) (bigint) = s1, rounded, at least 0
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
      t1."smoker" AS f0,
      t1."sex" = 'F' AS f1
    FROM "main"."patient" AS t1
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "smokers",
  dpsql_release_0.a1 AS "women"
FROM dpsql_release_0;
