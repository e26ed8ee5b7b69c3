-- Of a row NULLs count, of values side by side they do not. A person has one row here.
SELECT COUNT(DISTINCT (sex, region)), COUNT(DISTINCT sex, smoker), APPROX_COUNT_DISTINCT(diagnosis) FROM patient

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: COUNT(DISTINCT (sex, region)) (steps of 1, at most 1)
-- one unit moves: l1 1, l2 1
--   s1: COUNT(DISTINCT CASE WHEN sex IS NULL THEN NULL WHEN smoker IS NULL THEN NULL ELSE (sex, smoker) END) (steps of 1, at most 1)
-- one unit moves: l1 1, l2 1
--   s2: APPROX_DISTINCT(diagnosis) (steps of 1, at most 1)
-- a0: COUNT(DISTINCT (sex, region)) (bigint) = s0, rounded, at least 0, at most 8
-- a1: COUNT(DISTINCT CASE WHEN sex IS NULL THEN NULL WHEN smoker IS NULL THEN NULL ELSE (sex, smoker) END) (bigint) = s1, rounded, at least 0, at most 4
-- a2: APPROX_DISTINCT(diagnosis) (bigint) = s2, rounded, at least 0
-- note: the number of different rows is at most 8: as many values are declared
-- note: the number of different rows is at most 4: as many values are declared
WITH released AS (
  SELECT
    (
      COUNT(DISTINCT (v0, v1))
    ) AS s0,
    (
      COUNT(DISTINCT (v0, v2)) FILTER(WHERE
        f3)
    ) AS s1,
    (
      COUNT(DISTINCT v4) FILTER(WHERE
        f5)
    ) AS s2
  FROM (
    SELECT
      t1."id" AS u,
      t1."sex" AS v0,
      t1."region" AS v1,
      t1."smoker" AS v2,
      NOT t1."smoker" IS NULL AS f3,
      t1."diagnosis" AS v4,
      NOT t1."diagnosis" IS NULL AS f5
    FROM "main"."patient" AS t1
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count",
  dpsql_release_0.a1 AS "count",
  dpsql_release_0.a2 AS "approx_count_distinct"
FROM dpsql_release_0;
