-- Of who drinks everybody is counted, of others the smokers.
SELECT COUNT(*) FILTER (WHERE s.drinks = 'yes' OR p.smoker) AS n
FROM survey AS s JOIN patient AS p ON p.id = s.patient_id;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1341, l2 √1048745
--   s0: weighted rows 1 (steps of 1/1024, at most 1341)
--   s1: weighted rows 2 (steps of 1/1024, at most 1341)
--   s2: weighted rows 3 (steps of 1/1024, at most 1341)
--   s3: weighted rows 4 (steps of 1/1024, at most 1341)
-- a0: COUNT(*) FILTER(WHERE drinks = 'yes' OR smoker) (bigint) = count by reports: 1.499 · (1/1024 · s0 + 627/966656 · s1) + -0.499 · (1/1024 · s2 + 627/966656 · s3), of [1, 1], ±√(0.7479 to 0.7479); -0.499 · (1/1024 · s0 + -397/966656 · s1) + 1.499 · (1/1024 · s2 + -397/966656 · s3), of [1, 1], ±√(0.7479 to 0.7479); 2 rows a person
-- note: 4 counts are measured together, which takes less noise: by sums in which some rows weigh more than others
-- note: people randomized this column themselves, and answers are freed of it (drinks: randomized response of 2 values at ε = 1.1)
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
      t2."id" AS u,
      CASE
        WHEN t1."drinks" = 'yes'
        THEN CASE WHEN t2."smoker" AND (
          t1."drinks" = 'yes'
        ) THEN 0 ELSE 1 END
        WHEN NOT (
          t1."drinks" = 'no'
        )
        THEN NULL
        WHEN t2."smoker" AND (
          t1."drinks" = 'no'
        )
        THEN 2
        ELSE 3
      END AS g0
    FROM "main"."survey" AS t1
    JOIN "main"."patient" AS t2
      ON t1."patient_id" = t2."id"
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
  dpsql_release_0.a0 AS "n"
FROM dpsql_release_0;
