-- No domain is declared: groups of few people are not named.
SELECT diagnosis, COUNT(*) AS n FROM patient GROUP BY diagnosis;

-- ----
-- release 0
-- groups: selected
--   k0: diagnosis (text)
-- selection: weight s0 in 1/1, at most 1 groups
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      t1."diagnosis" AS k0
    FROM "main"."patient" AS t1
  ) AS r
  GROUP BY
    k0
)
SELECT
  released.k0,
  COALESCE(released.s0, 0) AS s0
FROM released
ORDER BY
  released.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "diagnosis",
  dpsql_release_0.a0 AS "n"
FROM dpsql_release_0;
