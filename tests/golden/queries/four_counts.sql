-- The seeds' four counts in one SELECT. Under Gaussian noise, weighted sums of four disjoint atoms.
SELECT COUNT(*) FILTER (WHERE sex = 'M' AND birth_year < 1980) AS mu, COUNT(*) FILTER (WHERE sex = 'M') AS m,
  COUNT(*) FILTER (WHERE sex = 'F' AND birth_year < 1980) AS fu, COUNT(*) FILTER (WHERE sex = 'F') AS f FROM patient;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1341, l2 √1048745
--   s0: weighted rows 1 (steps of 1/1024, at most 1341)
--   s1: weighted rows 2 (steps of 1/1024, at most 1341)
--   s2: weighted rows 3 (steps of 1/1024, at most 1341)
--   s3: weighted rows 4 (steps of 1/1024, at most 1341)
-- a0: COUNT(*) FILTER(WHERE sex = 'M' AND birth_year < 1980) (bigint) = 1/1024 · s0 + -397/966656 · s1, rounded, at least 0
-- a1: COUNT(*) FILTER(WHERE sex = 'M') (bigint) = 1/1024 · s0 + 627/966656 · s1, rounded, at least 0
-- a2: COUNT(*) FILTER(WHERE sex = 'F' AND birth_year < 1980) (bigint) = 1/1024 · s2 + -397/966656 · s3, rounded, at least 0
-- a3: COUNT(*) FILTER(WHERE sex = 'F') (bigint) = 1/1024 · s2 + 627/966656 · s3, rounded, at least 0
-- note: 4 counts are measured together, which takes less noise: by sums in which some rows weigh more than others
WITH released AS (
  SELECT
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 1024 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 397
    ) AS s0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 944
    ) AS s1,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS INT128) * 1024 + CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS INT128) * 397
    ) AS s2,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS INT128) * 944
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
