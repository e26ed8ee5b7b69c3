-- Figures of one table in scalar subqueries are aggregates of one release: what they share stays in WHERE.
SELECT (SELECT COUNT(*) FROM patient WHERE region = 'north') AS people,
  (SELECT COUNT(*) FROM patient p WHERE region = 'north' AND p.sex = 'F') AS women,
  (SELECT AVG(height_cm) FROM patient WHERE sex = 'M' AND region = 'north') AS men_cm;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 180, l2 180
--   s0: Σ(height_cm - 40) (steps of 1, at most 180)
--   s1: Σ(220 - height_cm) (steps of 1, at most 180)
-- one unit moves: l1 1341, l2 √1048745
--   s2: weighted rows 1 (steps of 1/1024, at most 1341)
--   s3: weighted rows 2 (steps of 1/1024, at most 1341)
-- a0: AVG(height_cm) FILTER(WHERE sex = 'M') (double) = 40 + 180 · s0 / (s0 + s1)
-- a1: COUNT(*) (bigint) = 1/1024 · s2 + 627/966656 · s3, rounded, at least 0
-- a2: COUNT(*) FILTER(WHERE sex = 'F') (bigint) = 1/1024 · s2 + -397/966656 · s3, rounded, at least 0
-- note: height_cm is clipped into [40, 220]
-- note: 2 counts are measured together, which takes less noise: by sums in which some rows weigh more than others
WITH released AS (
  SELECT
    (
      COALESCE(SUM(v0) FILTER(WHERE
        f1), 0) + CAST(COUNT(v0) FILTER(WHERE
        f1) AS INT128) * (
        -40
      )
    ) AS s0,
    (
      -COALESCE(SUM(v0) FILTER(WHERE
        f1), 0) + CAST(COUNT(v0) FILTER(WHERE
        f1) AS INT128) * 220
    ) AS s1,
    (
      CAST(COUNT(*) FILTER(WHERE
        g3 = 0) AS INT128) * 1024 + CAST(COUNT(*) FILTER(WHERE
        g3 = 1) AS INT128) * 397
    ) AS s2,
    (
      CAST(COUNT(*) FILTER(WHERE
        g3 = 1) AS INT128) * 944
    ) AS s3
  FROM (
    SELECT
      t4."id" AS u,
      CASE WHEN t4."height_cm" < 40 THEN 40 WHEN t4."height_cm" > 220 THEN 220 ELSE CAST(t4."height_cm" AS BIGINT) END AS v0,
      t4."sex" = 'M' AS f1,
      t4."sex" = 'M' AND NOT t4."height_cm" IS NULL AS f2,
      CASE WHEN t4."sex" = 'F' THEN 0 ELSE 1 END AS g3
    FROM "main"."patient" AS t4
    WHERE
      t4."region" = 'north'
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2,
  COALESCE(released.s3, 0) AS s3
FROM released;

-- outer
SELECT
  dpsql_release_0.a1 AS people,
  dpsql_release_0.a2 AS women,
  dpsql_release_0.a0 AS men_cm
FROM dpsql_release_0;
