-- What groups that are not shown add up to is what they leave of the total, which is the plan of any total.
-- with others
SELECT diagnosis, COUNT(*) AS n, AVG(height_cm) FROM patient GROUP BY diagnosis HAVING COUNT(*) > 20 ORDER BY n DESC LIMIT 10;

-- ----
-- release 0
-- groups: selected
--   k0: diagnosis (text)
-- selection: weight w in 1/1, at most 1 groups
-- one unit moves: l1 5580, l2 √15584400
--   s0: rows, each without height_cm as 9/16 (steps of 1/2880, at most 5580)
--   s1: Σ(2·height_cm - 260) (steps of 1/15, at most 5580)
--   s2: rows without height_cm (steps of 1/3600, at most 5580)
-- a0: COUNT(*) (bigint) = 1/2880 · s0 + 7/57600 · s2, rounded, at least 0
-- a1: AVG(height_cm) (double) = 40 + 180 · a / (a + b), a = 1/5760 · s0 + -1/12800 · s2 + 1/5400 · s1, b = 1/5760 · s0 + -1/12800 · s2 + -1/5400 · s1
-- note: height_cm is clipped into [40, 220]
WITH released AS (
  SELECT
    k0,
    (
      CAST(COUNT(*) AS INT128) * 1620 + CAST(COUNT(v0) AS INT128) * 1260
    ) AS s0,
    (
      COALESCE(SUM(v0), 0) * 30 + CAST(COUNT(v0) AS INT128) * (
        -3900
      )
    ) AS s1,
    (
      CAST(COUNT(*) AS INT128) * 3600 + CAST(COUNT(v0) AS INT128) * (
        -3600
      )
    ) AS s2,
    COUNT(*) AS w
  FROM (
    SELECT
      t1."id" AS u,
      t1."diagnosis" AS k0,
      CASE WHEN t1."height_cm" < 40 THEN 40 WHEN t1."height_cm" > 220 THEN 220 ELSE CAST(t1."height_cm" AS BIGINT) END AS v0
    FROM "main"."patient" AS t1
  ) AS r
  GROUP BY
    k0
)
SELECT
  released.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2,
  COALESCE(released.w, 0) AS w
FROM released
ORDER BY
  released.k0;

-- release 1
-- groups: one group
-- one unit moves: l1 5580, l2 √15584400
--   s0: rows, each without height_cm as 9/16 (steps of 1/2880, at most 5580)
--   s1: Σ(2·height_cm - 260) (steps of 1/15, at most 5580)
--   s2: rows without height_cm (steps of 1/3600, at most 5580)
-- a0: COUNT(*) (bigint) = 1/2880 · s0 + 7/57600 · s2, rounded, at least 0
-- a1: AVG(height_cm) (double) = 40 + 180 · a / (a + b), a = 1/5760 · s0 + -1/12800 · s2 + 1/5400 · s1, b = 1/5760 · s0 + -1/12800 · s2 + -1/5400 · s1
-- note: height_cm is clipped into [40, 220]
WITH released AS (
  SELECT
    (
      CAST(COUNT(*) AS INT128) * 1620 + CAST(COUNT(v0) AS INT128) * 1260
    ) AS s0,
    (
      COALESCE(SUM(v0), 0) * 30 + CAST(COUNT(v0) AS INT128) * (
        -3900
      )
    ) AS s1,
    (
      CAST(COUNT(*) AS INT128) * 3600 + CAST(COUNT(v0) AS INT128) * (
        -3600
      )
    ) AS s2
  FROM (
    SELECT
      t1."id" AS u,
      CASE WHEN t1."height_cm" < 40 THEN 40 WHEN t1."height_cm" > 220 THEN 220 ELSE CAST(t1."height_cm" AS BIGINT) END AS v0
    FROM "main"."patient" AS t1
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2
FROM released;

-- outer
-- note: the groups that are not shown are added up in one row, where diagnosis is '(other)' and GROUPING(diagnosis) is 1
SELECT
  dpsql_release_0.k0 AS "diagnosis",
  dpsql_release_0.a0 AS "n",
  dpsql_release_0.a1 AS "avg"
FROM dpsql_release_0
WHERE
  dpsql_release_0.a0 > 20
ORDER BY
  "n" DESC NULLS FIRST
LIMIT 10;
