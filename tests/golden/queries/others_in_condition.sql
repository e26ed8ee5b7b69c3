-- What a condition looks groups up in has no row of others.
-- with others
SELECT diagnosis, COUNT(*) FROM patient
WHERE diagnosis IN (SELECT diagnosis FROM patient GROUP BY diagnosis ORDER BY COUNT(*) DESC LIMIT 3) GROUP BY diagnosis;

-- ----
-- release 0
-- groups: selected
--   k0: diagnosis (text)
-- selection: weight w in 1/1, at most 1 groups
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0,
    COUNT(*) AS w
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
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.w, 0) AS w
FROM released
ORDER BY
  released.k0;

-- release 1
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

-- release 2
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
      t2."id" AS u,
      t2."diagnosis" AS k0
    FROM "main"."patient" AS t2
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
-- note: the groups that are not shown are added up in one row, where diagnosis is '(other)' and GROUPING(diagnosis) is 1
SELECT
  dpsql_release_0.k0 AS "diagnosis",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.k0 IN (
    SELECT
      dpsql_release_1.k0 AS "diagnosis"
    FROM dpsql_release_1
    ORDER BY
      dpsql_release_1.a0 DESC NULLS FIRST
    LIMIT 3
  );
