-- Whoever asks for totals has them.
-- with others
SELECT diagnosis, sex, COUNT(*) FROM patient GROUP BY ROLLUP (diagnosis, sex);

-- ----
-- release 0
-- groups: selected
--   k0: diagnosis (text)
--   k1: sex (text)
-- selection: weight s0 in 1/1, at most 1 groups
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
WITH released AS (
  SELECT
    k0,
    k1,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      t1."diagnosis" AS k0,
      t1."sex" AS k1
    FROM "main"."patient" AS t1
  ) AS r
  GROUP BY
    k0,
    k1
)
SELECT
  released.k0,
  released.k1,
  COALESCE(released.s0, 0) AS s0
FROM released
ORDER BY
  released.k0,
  released.k1;

-- release 1
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

-- release 2
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
WITH released AS (
  SELECT
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u
    FROM "main"."patient" AS t1
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
-- note: there is no row of the groups that are not shown: the totals of grouping sets tell what they add up to
SELECT
  dpsql_release_0.k0 AS "diagnosis",
  dpsql_release_0.k1 AS "sex",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
