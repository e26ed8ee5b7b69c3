-- The seeds' four counts in one SELECT. Under Laplace noise, four disjoint atoms.
-- clipped in l1
SELECT COUNT(*) FILTER (WHERE sex = 'M' AND birth_year < 1980) AS mu, COUNT(*) FILTER (WHERE sex = 'M') AS m,
  COUNT(*) FILTER (WHERE sex = 'F' AND birth_year < 1980) AS fu, COUNT(*) FILTER (WHERE sex = 'F') AS f FROM patient;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: rows with COUNT(*) FILTER(WHERE sex = 'M' AND birth_year < 1980) (steps of 1, at most 1)
--   s1: rows with COUNT(*) FILTER(WHERE sex = 'M') and not COUNT(*) FILTER(WHERE sex = 'M' AND birth_year < 1980) (steps of 1, at most 1)
--   s2: rows with COUNT(*) FILTER(WHERE sex = 'F' AND birth_year < 1980) (steps of 1, at most 1)
--   s3: rows with COUNT(*) FILTER(WHERE sex = 'F') and not COUNT(*) FILTER(WHERE sex = 'F' AND birth_year < 1980) (steps of 1, at most 1)
-- a0: COUNT(*) FILTER(WHERE sex = 'M' AND birth_year < 1980) (bigint) = s0, rounded, at least 0
-- a1: COUNT(*) FILTER(WHERE sex = 'M') (bigint) = s0 + s1, rounded, at least 0
-- a2: COUNT(*) FILTER(WHERE sex = 'F' AND birth_year < 1980) (bigint) = s2, rounded, at least 0
-- a3: COUNT(*) FILTER(WHERE sex = 'F') (bigint) = s2 + s3, rounded, at least 0
-- note: 4 counts are measured together, which takes less noise: as 4 parts that share no rows, added up
WITH released AS (
  SELECT
    (
      COUNT(*) FILTER(WHERE
        g0 = 0)
    ) AS s0,
    (
      COUNT(*) FILTER(WHERE
        g0 = 1)
    ) AS s1,
    (
      COUNT(*) FILTER(WHERE
        g0 = 2)
    ) AS s2,
    (
      COUNT(*) FILTER(WHERE
        g0 = 3)
    ) AS s3
  FROM (
    SELECT
      t1."id" AS u,
      CASE
        WHEN t1."sex" = 'M'
        THEN CASE WHEN (
          t1."sex" = 'M'
        ) AND (
          CAST(t1."birth_year" AS INT) < 1980
        ) THEN 0 ELSE 1 END
        WHEN (
          t1."sex" = 'F'
        ) AND (
          CAST(t1."birth_year" AS INT) < 1980
        )
        THEN 2
        WHEN t1."sex" = 'F'
        THEN 3
      END AS g0
    FROM "main"."patient" AS t1
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
  dpsql_release_0.a0 AS "mu",
  dpsql_release_0.a1 AS "m",
  dpsql_release_0.a2 AS "fu",
  dpsql_release_0.a3 AS "f"
FROM dpsql_release_0;
