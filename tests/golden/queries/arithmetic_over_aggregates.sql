SELECT sex, 100.0 * COUNT(*) FILTER (WHERE smoker) / NULLIF(COUNT(*), 0) AS share FROM patient GROUP BY sex;

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- one unit moves: l1 1341, l2 √1048745
--   s0: weighted rows 1 (steps of 1/1024, at most 1341)
--   s1: weighted rows 2 (steps of 1/1024, at most 1341)
-- a0: COUNT(*) (bigint) = 1/1024 · s0 + 627/966656 · s1, rounded, at least 0
-- a1: COUNT(*) FILTER(WHERE smoker) (bigint) = 1/1024 · s0 + -397/966656 · s1, rounded, at least 0
-- note: 2 counts are measured together, which takes less noise: by sums in which some rows weigh more than others
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH released AS (
  SELECT
    k0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 1024 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 397
    ) AS s0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 944
    ) AS s1
  FROM (
    SELECT
      t1."id" AS u,
      t1."sex" AS k0,
      CASE WHEN t1."smoker" THEN 0 ELSE 1 END AS g0
    FROM "main"."patient" AS t1
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t1_1.x AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('F' AS TEXT)),
      (CAST('M' AS TEXT))) AS v(x)
  ) AS d_t1_1
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "sex",
  100.0 * dpsql_release_0.a1 / NULLIF(dpsql_release_0.a0, 0) AS "share"
FROM dpsql_release_0;
