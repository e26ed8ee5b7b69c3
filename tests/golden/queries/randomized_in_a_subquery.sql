WITH s AS (SELECT drinks, income FROM survey WHERE patient_id > 10)
SELECT income, COUNT(*) AS n FROM s WHERE drinks <> 'no' GROUP BY income HAVING COUNT(*) > 5;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: rows with COUNT(*) FILTER(WHERE income = 1 AND drinks = 'yes') (steps of 1, at most 1)
--   s1: rows with COUNT(*) FILTER(WHERE income = 1 AND drinks = 'no') (steps of 1, at most 1)
--   s2: rows with COUNT(*) FILTER(WHERE income = 2 AND drinks = 'yes') (steps of 1, at most 1)
--   s3: rows with COUNT(*) FILTER(WHERE income = 2 AND drinks = 'no') (steps of 1, at most 1)
--   s4: rows with COUNT(*) FILTER(WHERE income = 3 AND drinks = 'yes') (steps of 1, at most 1)
--   s5: rows with COUNT(*) FILTER(WHERE income = 3 AND drinks = 'no') (steps of 1, at most 1)
--   s6: rows with COUNT(*) FILTER(WHERE income IS NULL AND drinks = 'yes') (steps of 1, at most 1)
--   s7: rows with COUNT(*) FILTER(WHERE income IS NULL AND drinks = 'no') (steps of 1, at most 1)
-- a0: COUNT(*) FILTER(WHERE ((drinks <> 'no')) AND (income = 1)) (bigint) = count by reports: 1.968 · (1 · s0) + -0.6552 · (1 · s1) + -0.2346 · (1 · s2) + 0.0781 · (1 · s3) + -0.2346 · (1 · s4) + 0.0781 · (1 · s5), of [1, 1], ±√(0 to 1.381); 1 rows a person
-- a1: COUNT(*) FILTER(WHERE ((drinks <> 'no')) AND (income = 2)) (bigint) = count by reports: -0.2346 · (1 · s0) + 0.0781 · (1 · s1) + 1.968 · (1 · s2) + -0.6552 · (1 · s3) + -0.2346 · (1 · s4) + 0.0781 · (1 · s5), of [1, 1], ±√(0 to 1.381); 1 rows a person
-- a2: COUNT(*) FILTER(WHERE ((drinks <> 'no')) AND (income = 3)) (bigint) = count by reports: -0.2346 · (1 · s0) + 0.0781 · (1 · s1) + -0.2346 · (1 · s2) + 0.0781 · (1 · s3) + 1.968 · (1 · s4) + -0.6552 · (1 · s5), of [1, 1], ±√(0 to 1.381); 1 rows a person
-- a3: COUNT(*) FILTER(WHERE ((drinks <> 'no')) AND (income IS NULL)) (bigint) = count by reports: 1.499 · (1 · s6) + -0.499 · (1 · s7), of [1, 1], ±√(0 to 0.7479); 1 rows a person
-- note: people randomized this column themselves, and answers are freed of it (income: randomized response of 3 values at ε = 2; drinks: randomized response of 2 values at ε = 1.1)
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
    ) AS s4,
    (
      COUNT(*) FILTER(WHERE
        g0 = 5)
    ) AS s5,
    (
      COUNT(*) FILTER(WHERE
        g0 = 6)
    ) AS s6,
    (
      COUNT(*) FILTER(WHERE
        g0 = 7)
    ) AS s7
  FROM (
    SELECT
      t1."patient_id" AS u,
      CASE
        WHEN (
          t1."income" = 1
        ) AND (
          t1."drinks" = 'yes'
        )
        THEN 0
        WHEN (
          t1."income" = 1
        ) AND (
          t1."drinks" = 'no'
        )
        THEN 1
        WHEN (
          t1."income" = 2
        ) AND (
          t1."drinks" = 'yes'
        )
        THEN 2
        WHEN (
          t1."income" = 2
        ) AND (
          t1."drinks" = 'no'
        )
        THEN 3
        WHEN (
          t1."income" = 3
        ) AND (
          t1."drinks" = 'yes'
        )
        THEN 4
        WHEN (
          t1."income" = 3
        ) AND (
          t1."drinks" = 'no'
        )
        THEN 5
        WHEN (
          t1."income" IS NULL
        ) AND (
          t1."drinks" = 'yes'
        )
        THEN 6
        WHEN (
          t1."income" IS NULL
        ) AND (
          t1."drinks" = 'no'
        )
        THEN 7
      END AS g0
    FROM "main"."survey" AS t1
    WHERE
      t1."patient_id" > 10
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
  COALESCE(released.s7, 0) AS s7
FROM released;

-- outer
SELECT
  dpsql_by_value.dpsql_k0 AS "income",
  dpsql_by_value.dpsql_a0 AS "n"
FROM (
  SELECT
    CAST(1 AS INT) AS dpsql_k0,
    dpsql_release_0.a0 AS dpsql_a0
  FROM dpsql_release_0
  UNION ALL
  SELECT
    CAST(2 AS INT) AS dpsql_k0,
    dpsql_release_0.a1 AS dpsql_a0
  FROM dpsql_release_0
  UNION ALL
  SELECT
    CAST(3 AS INT) AS dpsql_k0,
    dpsql_release_0.a2 AS dpsql_a0
  FROM dpsql_release_0
  UNION ALL
  SELECT
    CAST(NULL AS INT) AS dpsql_k0,
    dpsql_release_0.a3 AS dpsql_a0
  FROM dpsql_release_0
) AS dpsql_by_value
WHERE
  dpsql_by_value.dpsql_a0 > 5;
