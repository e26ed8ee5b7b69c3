-- hiding the empty
SELECT p.sex, s.income, COUNT(*) AS n
FROM survey AS s JOIN patient AS p ON p.id = s.patient_id GROUP BY p.sex, s.income;

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- one unit moves: l1 1896, l2 √1049234
--   s0: weighted rows 1 (steps of 1/1024, at most 1896)
--   s1: weighted rows 2 (steps of 1/1024, at most 1896)
--   s2: weighted rows 3 (steps of 1/1024, at most 1896)
--   s3: weighted rows 4 (steps of 1/1024, at most 1896)
--   s4: weighted rows 5 (steps of 1/1024, at most 1896)
-- a0: COUNT(*) FILTER(WHERE (income = 1)) (bigint) = count by reports: 1.313 · (1/1024 · s0 + -235/1020928 · s1 + -190585/999488512 · s2 + -14293875/87864126464 · s3 + -188389099997/853424260344832 · s4) + -0.1565 · (1/997 · s1 + -186/976063 · s2 + -13950/85804811 · s3 + -184168929/833422129243 · s4) + -0.1565 · (1/979 · s2 + -14/86063 · s3 + -184755/835929919 · s4), of [1, 1], ±√(0 to 0.362); 1 rows a person
-- a1: COUNT(*) FILTER(WHERE (income = 2)) (bigint) = count by reports: -0.1565 · (1/1024 · s0 + -235/1020928 · s1 + -190585/999488512 · s2 + -14293875/87864126464 · s3 + -188389099997/853424260344832 · s4) + 1.313 · (1/997 · s1 + -186/976063 · s2 + -13950/85804811 · s3 + -184168929/833422129243 · s4) + -0.1565 · (1/979 · s2 + -14/86063 · s3 + -184755/835929919 · s4), of [1, 1], ±√(0 to 0.362); 1 rows a person
-- a2: COUNT(*) FILTER(WHERE (income = 3)) (bigint) = count by reports: -0.1565 · (1/1024 · s0 + -235/1020928 · s1 + -190585/999488512 · s2 + -14293875/87864126464 · s3 + -188389099997/853424260344832 · s4) + -0.1565 · (1/997 · s1 + -186/976063 · s2 + -13950/85804811 · s3 + -184168929/833422129243 · s4) + 1.313 · (1/979 · s2 + -14/86063 · s3 + -184755/835929919 · s4), of [1, 1], ±√(0 to 0.362); 1 rows a person
-- a3: COUNT(*) FILTER(WHERE (income IS NULL)) (bigint) = count by reports: 1 · (1/967 · s3 + -188/853861 · s4), of [1, 1], ±√(0 to 0); 1 rows a person
-- a4: COUNT(*) (bigint) = 1/1024 · s0 + 789/1020928 · s1 + 639879/999488512 · s2 + 47990925/87864126464 · s3 + 213001914915/853424260344832 · s4, rounded, at least 0
-- note: 5 counts are measured together, which takes less noise: by sums in which some rows weigh more than others
-- note: people randomized this column themselves, and answers are freed of it (income: randomized response of 3 values at ε = 2)
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH released AS (
  SELECT
    k0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 1024 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 235 + CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS INT128) * 235 + CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS INT128) * 235 + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS INT128) * 337
    ) AS s0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 997 + CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS INT128) * 186 + CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS INT128) * 186 + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS INT128) * 267
    ) AS s1,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS INT128) * 979 + CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS INT128) * 154 + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS INT128) * 221
    ) AS s2,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS INT128) * 967 + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS INT128) * 188
    ) AS s3,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS INT128) * 883
    ) AS s4
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
        ELSE 4
      END AS g0
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
  COALESCE(released.s4, 0) AS s4
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
-- note: rows whose report of income is of no declared value are in no group
-- note: values of income are left out unless somebody surely has them: in 99 of 100 answers all that are shown are there. All error bars of the 4 values hold together in a group of the other keys in 95 of 100 answers where each is 1.27 times as wide
SELECT
  dpsql_by_value.dpsql_k0 AS "sex",
  dpsql_by_value.dpsql_k1 AS "income",
  dpsql_by_value.dpsql_a0 AS "n"
FROM (
  SELECT
    dpsql_release_0.k0 AS dpsql_k0,
    CAST(1 AS INT) AS dpsql_k1,
    dpsql_release_0.a0 AS dpsql_a0
  FROM dpsql_release_0
  WHERE
    dpsql_release_0.a0 > dpsql_release_0.a0_margin * SQRT(
      2.0511578919382134e0 + LN(
        CASE
          WHEN CAST((
            SELECT
              COUNT(*)
            FROM dpsql_release_0 AS dpsql_every_group
          ) AS DOUBLE) IS NULL OR 1e0 IS NULL
          THEN NULL
          ELSE GREATEST(CAST((
            SELECT
              COUNT(*)
            FROM dpsql_release_0 AS dpsql_every_group
          ) AS DOUBLE), 1e0)
        END
      ) * 0.5206355432540113e0
    )
    AND dpsql_release_0.dpsql_certain_0
  UNION ALL
  SELECT
    dpsql_release_0.k0 AS dpsql_k0,
    CAST(2 AS INT) AS dpsql_k1,
    dpsql_release_0.a1 AS dpsql_a0
  FROM dpsql_release_0
  WHERE
    dpsql_release_0.a1 > dpsql_release_0.a1_margin * SQRT(
      2.0511578919382134e0 + LN(
        CASE
          WHEN CAST((
            SELECT
              COUNT(*)
            FROM dpsql_release_0 AS dpsql_every_group
          ) AS DOUBLE) IS NULL OR 1e0 IS NULL
          THEN NULL
          ELSE GREATEST(CAST((
            SELECT
              COUNT(*)
            FROM dpsql_release_0 AS dpsql_every_group
          ) AS DOUBLE), 1e0)
        END
      ) * 0.5206355432540113e0
    )
    AND dpsql_release_0.dpsql_certain_0
  UNION ALL
  SELECT
    dpsql_release_0.k0 AS dpsql_k0,
    CAST(3 AS INT) AS dpsql_k1,
    dpsql_release_0.a2 AS dpsql_a0
  FROM dpsql_release_0
  WHERE
    dpsql_release_0.a2 > dpsql_release_0.a2_margin * SQRT(
      2.0511578919382134e0 + LN(
        CASE
          WHEN CAST((
            SELECT
              COUNT(*)
            FROM dpsql_release_0 AS dpsql_every_group
          ) AS DOUBLE) IS NULL OR 1e0 IS NULL
          THEN NULL
          ELSE GREATEST(CAST((
            SELECT
              COUNT(*)
            FROM dpsql_release_0 AS dpsql_every_group
          ) AS DOUBLE), 1e0)
        END
      ) * 0.5206355432540113e0
    )
    AND dpsql_release_0.dpsql_certain_0
  UNION ALL
  SELECT
    dpsql_release_0.k0 AS dpsql_k0,
    CAST(NULL AS INT) AS dpsql_k1,
    dpsql_release_0.a3 AS dpsql_a0
  FROM dpsql_release_0
  WHERE
    dpsql_release_0.a3 > dpsql_release_0.a3_margin * SQRT(
      2.0511578919382134e0 + LN(
        CASE
          WHEN CAST((
            SELECT
              COUNT(*)
            FROM dpsql_release_0 AS dpsql_every_group
          ) AS DOUBLE) IS NULL OR 1e0 IS NULL
          THEN NULL
          ELSE GREATEST(CAST((
            SELECT
              COUNT(*)
            FROM dpsql_release_0 AS dpsql_every_group
          ) AS DOUBLE), 1e0)
        END
      ) * 0.5206355432540113e0
    )
    AND dpsql_release_0.dpsql_certain_0
) AS dpsql_by_value;
