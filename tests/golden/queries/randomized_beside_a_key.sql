SELECT p.sex, s.income, COUNT(*) AS n, AVG(p.height_cm) AS height
FROM survey AS s JOIN patient AS p ON p.id = s.patient_id GROUP BY p.sex, s.income;

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- one unit moves: l1 180, l2 180
--   s0: Σ(height_cm - 40) of AVG(height_cm) FILTER(WHERE income = 1) (steps of 1, at most 180)
--   s1: Σ(220 - height_cm) of AVG(height_cm) FILTER(WHERE income = 1) (steps of 1, at most 180)
--   s2: Σ(height_cm - 40) of AVG(height_cm) FILTER(WHERE income = 2) (steps of 1, at most 180)
--   s3: Σ(220 - height_cm) of AVG(height_cm) FILTER(WHERE income = 2) (steps of 1, at most 180)
--   s4: Σ(height_cm - 40) of AVG(height_cm) FILTER(WHERE income = 3) (steps of 1, at most 180)
--   s5: Σ(220 - height_cm) of AVG(height_cm) FILTER(WHERE income = 3) (steps of 1, at most 180)
--   s6: Σ(height_cm - 40) of AVG(height_cm) FILTER(WHERE income IS NULL) (steps of 1, at most 180)
--   s7: Σ(220 - height_cm) of AVG(height_cm) FILTER(WHERE income IS NULL) (steps of 1, at most 180)
-- one unit moves: l1 1, l2 1
--   s8: rows with COUNT(*) FILTER(WHERE income = 1) (steps of 1, at most 1)
--   s9: rows with COUNT(*) FILTER(WHERE income = 2) (steps of 1, at most 1)
--   s10: rows with COUNT(*) FILTER(WHERE income = 3) (steps of 1, at most 1)
--   s11: rows with COUNT(*) FILTER(WHERE income IS NULL) (steps of 1, at most 1)
-- a0: COUNT(*) FILTER(WHERE (income = 1)) (bigint) = count by reports: 1.313 · (1 · s8) + -0.1565 · (1 · s9) + -0.1565 · (1 · s10), of [1, 1], ±√(0 to 0.362); 1 rows a person
-- a1: AVG(height_cm) FILTER(WHERE (income = 1)) (double) = mean by reports: 1.313 · (1/180 · s0 + 1/180 · s1) + -0.1565 · (1/180 · s2 + 1/180 · s3) + -0.1565 · (1/180 · s4 + 1/180 · s5), of [40, 220], ±√(0 to 0.362); 1 rows a person
-- a2: COUNT(*) FILTER(WHERE (income = 2)) (bigint) = count by reports: -0.1565 · (1 · s8) + 1.313 · (1 · s9) + -0.1565 · (1 · s10), of [1, 1], ±√(0 to 0.362); 1 rows a person
-- a3: AVG(height_cm) FILTER(WHERE (income = 2)) (double) = mean by reports: -0.1565 · (1/180 · s0 + 1/180 · s1) + 1.313 · (1/180 · s2 + 1/180 · s3) + -0.1565 · (1/180 · s4 + 1/180 · s5), of [40, 220], ±√(0 to 0.362); 1 rows a person
-- a4: COUNT(*) FILTER(WHERE (income = 3)) (bigint) = count by reports: -0.1565 · (1 · s8) + -0.1565 · (1 · s9) + 1.313 · (1 · s10), of [1, 1], ±√(0 to 0.362); 1 rows a person
-- a5: AVG(height_cm) FILTER(WHERE (income = 3)) (double) = mean by reports: -0.1565 · (1/180 · s0 + 1/180 · s1) + -0.1565 · (1/180 · s2 + 1/180 · s3) + 1.313 · (1/180 · s4 + 1/180 · s5), of [40, 220], ±√(0 to 0.362); 1 rows a person
-- a6: COUNT(*) FILTER(WHERE (income IS NULL)) (bigint) = count by reports: 1 · (1 · s11), of [1, 1], ±√(0 to 0); 1 rows a person
-- a7: AVG(height_cm) FILTER(WHERE (income IS NULL)) (double) = mean by reports: 1 · (1/180 · s6 + 1/180 · s7), of [40, 220], ±√(0 to 0); 1 rows a person
-- note: height_cm is clipped into [40, 220]
-- note: people randomized this column themselves, and answers are freed of it (income: randomized response of 3 values at ε = 2)
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH released AS (
  SELECT
    k0,
    (
      COALESCE(SUM(v1) FILTER(WHERE
        g0 = 0), 0) + CAST(COUNT(v1) FILTER(WHERE
        g0 = 0) AS INT128) * (
        -40
      )
    ) AS s0,
    (
      -COALESCE(SUM(v1) FILTER(WHERE
        g0 = 0), 0) + CAST(COUNT(v1) FILTER(WHERE
        g0 = 0) AS INT128) * 220
    ) AS s1,
    (
      COALESCE(SUM(v1) FILTER(WHERE
        g0 = 1), 0) + CAST(COUNT(v1) FILTER(WHERE
        g0 = 1) AS INT128) * (
        -40
      )
    ) AS s2,
    (
      -COALESCE(SUM(v1) FILTER(WHERE
        g0 = 1), 0) + CAST(COUNT(v1) FILTER(WHERE
        g0 = 1) AS INT128) * 220
    ) AS s3,
    (
      COALESCE(SUM(v1) FILTER(WHERE
        g0 = 2), 0) + CAST(COUNT(v1) FILTER(WHERE
        g0 = 2) AS INT128) * (
        -40
      )
    ) AS s4,
    (
      -COALESCE(SUM(v1) FILTER(WHERE
        g0 = 2), 0) + CAST(COUNT(v1) FILTER(WHERE
        g0 = 2) AS INT128) * 220
    ) AS s5,
    (
      COALESCE(SUM(v1) FILTER(WHERE
        g0 = 3), 0) + CAST(COUNT(v1) FILTER(WHERE
        g0 = 3) AS INT128) * (
        -40
      )
    ) AS s6,
    (
      -COALESCE(SUM(v1) FILTER(WHERE
        g0 = 3), 0) + CAST(COUNT(v1) FILTER(WHERE
        g0 = 3) AS INT128) * 220
    ) AS s7,
    (
      COUNT(*) FILTER(WHERE
        g0 = 0)
    ) AS s8,
    (
      COUNT(*) FILTER(WHERE
        g0 = 1)
    ) AS s9,
    (
      COUNT(*) FILTER(WHERE
        g0 = 2)
    ) AS s10,
    (
      COUNT(*) FILTER(WHERE
        g0 = 3)
    ) AS s11
  FROM (
    SELECT
      t2."id" AS u,
      t2."sex" AS k0,
      CASE
        WHEN t1."income" = 1
        THEN 0
        WHEN t1."income" = 2
        THEN 1
        WHEN t1."income" = 3
        THEN 2
        WHEN t1."income" IS NULL
        THEN 3
      END AS g0,
      CASE WHEN t2."height_cm" < 40 THEN 40 WHEN t2."height_cm" > 220 THEN 220 ELSE CAST(t2."height_cm" AS BIGINT) END AS v1
    FROM "main"."survey" AS t1
    JOIN "main"."patient" AS t2
      ON t1."patient_id" = t2."id"
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t2_1.x AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('F' AS TEXT)),
      (CAST('M' AS TEXT))) AS v(x)
  ) AS d_t2_1
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2,
  COALESCE(released.s3, 0) AS s3,
  COALESCE(released.s4, 0) AS s4,
  COALESCE(released.s5, 0) AS s5,
  COALESCE(released.s6, 0) AS s6,
  COALESCE(released.s7, 0) AS s7,
  COALESCE(released.s8, 0) AS s8,
  COALESCE(released.s9, 0) AS s9,
  COALESCE(released.s10, 0) AS s10,
  COALESCE(released.s11, 0) AS s11
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_by_value.dpsql_k0 AS "sex",
  dpsql_by_value.dpsql_k1 AS "income",
  dpsql_by_value.dpsql_a0 AS "n",
  dpsql_by_value.dpsql_a1 AS "height"
FROM (
  SELECT
    dpsql_release_0.k0 AS dpsql_k0,
    CAST(1 AS INT) AS dpsql_k1,
    dpsql_release_0.a0 AS dpsql_a0,
    dpsql_release_0.a1 AS dpsql_a1
  FROM dpsql_release_0
  UNION ALL
  SELECT
    dpsql_release_0.k0 AS dpsql_k0,
    CAST(2 AS INT) AS dpsql_k1,
    dpsql_release_0.a2 AS dpsql_a0,
    dpsql_release_0.a3 AS dpsql_a1
  FROM dpsql_release_0
  UNION ALL
  SELECT
    dpsql_release_0.k0 AS dpsql_k0,
    CAST(3 AS INT) AS dpsql_k1,
    dpsql_release_0.a4 AS dpsql_a0,
    dpsql_release_0.a5 AS dpsql_a1
  FROM dpsql_release_0
  UNION ALL
  SELECT
    dpsql_release_0.k0 AS dpsql_k0,
    CAST(NULL AS INT) AS dpsql_k1,
    dpsql_release_0.a6 AS dpsql_a0,
    dpsql_release_0.a7 AS dpsql_a1
  FROM dpsql_release_0
  WHERE
    dpsql_release_0.a6 > dpsql_release_0.a6_margin
) AS dpsql_by_value;
