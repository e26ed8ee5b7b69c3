-- Conditions that no logic relates are not multiplied out: their total and differences from it.
SELECT COUNT(*), COUNT(*) FILTER (WHERE diagnosis LIKE 'a%'), COUNT(*) FILTER (WHERE diagnosis LIKE 'b%'), COUNT(*) FILTER (WHERE diagnosis LIKE 'c%'),
  COUNT(*) FILTER (WHERE diagnosis LIKE 'd%'), COUNT(*) FILTER (WHERE diagnosis LIKE 'e%'), COUNT(*) FILTER (WHERE diagnosis LIKE 'f%'),
  COUNT(*) FILTER (WHERE diagnosis LIKE 'g%'), COUNT(*) FILTER (WHERE diagnosis LIKE 'h%'), COUNT(*) FILTER (WHERE diagnosis LIKE 'i%') FROM patient;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 10, l2 √10
--   s0: COUNT(*) (steps of 1, at most 10)
--   s1: 2 · COUNT(*) FILTER(WHERE diagnosis LIKE 'a%') - COUNT(*) (steps of 1, at most 10)
--   s2: 2 · COUNT(*) FILTER(WHERE diagnosis LIKE 'b%') - COUNT(*) (steps of 1, at most 10)
--   s3: 2 · COUNT(*) FILTER(WHERE diagnosis LIKE 'c%') - COUNT(*) (steps of 1, at most 10)
--   s4: 2 · COUNT(*) FILTER(WHERE diagnosis LIKE 'd%') - COUNT(*) (steps of 1, at most 10)
--   s5: 2 · COUNT(*) FILTER(WHERE diagnosis LIKE 'e%') - COUNT(*) (steps of 1, at most 10)
--   s6: 2 · COUNT(*) FILTER(WHERE diagnosis LIKE 'f%') - COUNT(*) (steps of 1, at most 10)
--   s7: 2 · COUNT(*) FILTER(WHERE diagnosis LIKE 'g%') - COUNT(*) (steps of 1, at most 10)
--   s8: 2 · COUNT(*) FILTER(WHERE diagnosis LIKE 'h%') - COUNT(*) (steps of 1, at most 10)
--   s9: 2 · COUNT(*) FILTER(WHERE diagnosis LIKE 'i%') - COUNT(*) (steps of 1, at most 10)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- a1: COUNT(*) FILTER(WHERE diagnosis LIKE 'a%') (bigint) = 1/2 · s0 + 1/2 · s1, rounded, at least 0
-- a2: COUNT(*) FILTER(WHERE diagnosis LIKE 'b%') (bigint) = 1/2 · s0 + 1/2 · s2, rounded, at least 0
-- a3: COUNT(*) FILTER(WHERE diagnosis LIKE 'c%') (bigint) = 1/2 · s0 + 1/2 · s3, rounded, at least 0
-- a4: COUNT(*) FILTER(WHERE diagnosis LIKE 'd%') (bigint) = 1/2 · s0 + 1/2 · s4, rounded, at least 0
-- a5: COUNT(*) FILTER(WHERE diagnosis LIKE 'e%') (bigint) = 1/2 · s0 + 1/2 · s5, rounded, at least 0
-- a6: COUNT(*) FILTER(WHERE diagnosis LIKE 'f%') (bigint) = 1/2 · s0 + 1/2 · s6, rounded, at least 0
-- a7: COUNT(*) FILTER(WHERE diagnosis LIKE 'g%') (bigint) = 1/2 · s0 + 1/2 · s7, rounded, at least 0
-- a8: COUNT(*) FILTER(WHERE diagnosis LIKE 'h%') (bigint) = 1/2 · s0 + 1/2 · s8, rounded, at least 0
-- a9: COUNT(*) FILTER(WHERE diagnosis LIKE 'i%') (bigint) = 1/2 · s0 + 1/2 · s9, rounded, at least 0
-- note: 10 counts are measured together, which takes less noise: as their total and how far each is from it
WITH released AS (
  SELECT
    (
      COUNT(*)
    ) AS s0,
    (
      CAST(COUNT(*) FILTER(WHERE
        f0) AS INT128) * 2 + CAST(COUNT(*) AS INT128) * (
        -1
      )
    ) AS s1,
    (
      CAST(COUNT(*) FILTER(WHERE
        f1) AS INT128) * 2 + CAST(COUNT(*) AS INT128) * (
        -1
      )
    ) AS s2,
    (
      CAST(COUNT(*) FILTER(WHERE
        f2) AS INT128) * 2 + CAST(COUNT(*) AS INT128) * (
        -1
      )
    ) AS s3,
    (
      CAST(COUNT(*) FILTER(WHERE
        f3) AS INT128) * 2 + CAST(COUNT(*) AS INT128) * (
        -1
      )
    ) AS s4,
    (
      CAST(COUNT(*) FILTER(WHERE
        f4) AS INT128) * 2 + CAST(COUNT(*) AS INT128) * (
        -1
      )
    ) AS s5,
    (
      CAST(COUNT(*) FILTER(WHERE
        f5) AS INT128) * 2 + CAST(COUNT(*) AS INT128) * (
        -1
      )
    ) AS s6,
    (
      CAST(COUNT(*) FILTER(WHERE
        f6) AS INT128) * 2 + CAST(COUNT(*) AS INT128) * (
        -1
      )
    ) AS s7,
    (
      CAST(COUNT(*) FILTER(WHERE
        f7) AS INT128) * 2 + CAST(COUNT(*) AS INT128) * (
        -1
      )
    ) AS s8,
    (
      CAST(COUNT(*) FILTER(WHERE
        f8) AS INT128) * 2 + CAST(COUNT(*) AS INT128) * (
        -1
      )
    ) AS s9
  FROM (
    SELECT
      t1."id" AS u,
      t1."diagnosis" LIKE 'a%' AS f0,
      t1."diagnosis" LIKE 'b%' AS f1,
      t1."diagnosis" LIKE 'c%' AS f2,
      t1."diagnosis" LIKE 'd%' AS f3,
      t1."diagnosis" LIKE 'e%' AS f4,
      t1."diagnosis" LIKE 'f%' AS f5,
      t1."diagnosis" LIKE 'g%' AS f6,
      t1."diagnosis" LIKE 'h%' AS f7,
      t1."diagnosis" LIKE 'i%' AS f8
    FROM "main"."patient" AS t1
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2,
  COALESCE(released.s3, 0) AS s3,
  COALESCE(released.s4, 0) AS s4,
  COALESCE(released.s5, 0) AS s5,
  COALESCE(released.s6, 0) AS s6,
  COALESCE(released.s7, 0) AS s7,
  COALESCE(released.s8, 0) AS s8,
  COALESCE(released.s9, 0) AS s9
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count",
  dpsql_release_0.a1 AS "count",
  dpsql_release_0.a2 AS "count",
  dpsql_release_0.a3 AS "count",
  dpsql_release_0.a4 AS "count",
  dpsql_release_0.a5 AS "count",
  dpsql_release_0.a6 AS "count",
  dpsql_release_0.a7 AS "count",
  dpsql_release_0.a8 AS "count",
  dpsql_release_0.a9 AS "count"
FROM dpsql_release_0;
