-- Nested conditions: five thresholds have five atoms, and whoever has no year is in none.
-- clipped in l1
SELECT COUNT(*) FILTER (WHERE birth_year < 1940), COUNT(*) FILTER (WHERE birth_year < 1960), COUNT(*) FILTER (WHERE birth_year < 1980),
  COUNT(*) FILTER (WHERE birth_year < 2000), COUNT(*) FILTER (WHERE birth_year < 2020) FROM patient;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: rows with COUNT(*) FILTER(WHERE birth_year < 1940) (steps of 1, at most 1)
--   s1: rows with COUNT(*) FILTER(WHERE birth_year < 1960) and not COUNT(*) FILTER(WHERE birth_year < 1940) (steps of 1, at most 1)
--   s2: rows with COUNT(*) FILTER(WHERE birth_year < 1980) and not COUNT(*) FILTER(WHERE birth_year < 1960) (steps of 1, at most 1)
--   s3: rows with COUNT(*) FILTER(WHERE birth_year < 2000) and not COUNT(*) FILTER(WHERE birth_year < 1980) (steps of 1, at most 1)
--   s4: rows with COUNT(*) FILTER(WHERE birth_year < 2020) and not COUNT(*) FILTER(WHERE birth_year < 2000) (steps of 1, at most 1)
-- a0: COUNT(*) FILTER(WHERE birth_year < 1940) (bigint) = s0, rounded, at least 0
-- a1: COUNT(*) FILTER(WHERE birth_year < 1960) (bigint) = s0 + s1, rounded, at least 0
-- a2: COUNT(*) FILTER(WHERE birth_year < 1980) (bigint) = s0 + s1 + s2, rounded, at least 0
-- a3: COUNT(*) FILTER(WHERE birth_year < 2000) (bigint) = s0 + s1 + s2 + s3, rounded, at least 0
-- a4: COUNT(*) FILTER(WHERE birth_year < 2020) (bigint) = s0 + s1 + s2 + s3 + s4, rounded, at least 0
-- note: 5 counts are measured together, which takes less noise: as 5 parts that share no rows, added up
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
    ) AS s3,
    (
      COUNT(*) FILTER(WHERE
        g0 = 4)
    ) AS s4
  FROM (
    SELECT
      t1."id" AS u,
      CASE
        WHEN CAST(t1."birth_year" AS INT) < 1980
        THEN CASE WHEN CAST(t1."birth_year" AS INT) < 1940 THEN 0 WHEN CAST(t1."birth_year" AS INT) < 1960 THEN 1 ELSE 2 END
        WHEN CAST(t1."birth_year" AS INT) < 2000
        THEN 3
        WHEN CAST(t1."birth_year" AS INT) < 2020
        THEN 4
      END AS g0
    FROM "main"."patient" AS t1
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2,
  COALESCE(released.s3, 0) AS s3,
  COALESCE(released.s4, 0) AS s4
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count",
  dpsql_release_0.a1 AS "count",
  dpsql_release_0.a2 AS "count",
  dpsql_release_0.a3 AS "count",
  dpsql_release_0.a4 AS "count"
FROM dpsql_release_0;
