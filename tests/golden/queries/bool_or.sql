-- Two disjoint counts, which cost as much as one; above them, TRUE, FALSE or too few rows to tell.
SELECT region, BOOL_OR(smoker) AS any_smoker, EVERY(height_cm > 100) FILTER (WHERE sex = 'F') FROM patient GROUP BY region

-- ----
-- release 0
-- groups: public, at most 4
--   k0: region (text)
-- one unit moves: l1 2196, l2 √1049486
--   s0: weighted rows 1 (steps of 1/1024, at most 2196)
--   s1: weighted rows 2 (steps of 1/1024, at most 2196)
--   s2: weighted rows 3 (steps of 1/1024, at most 2196)
--   s3: weighted rows 4 (steps of 1/1024, at most 2196)
--   s4: weighted rows 5 (steps of 1/1024, at most 2196)
-- a0: BOOL_OR(smoker) (bigint) = 1/935 · s0 + -189/400180 · s1 + 1049/33978920 · s2 + 32519/1613998700 · s3 + 2022706619/3799352939800 · s4, rounded, at least 0
-- a1: BOOL_OR(smoker) (bigint) = 1/856 · s1 + 25/799504 · s2 + 155/7595288 · s3 + 866921/1625391632 · s4, rounded, at least 0
-- a2: BOOL_AND(height_cm > 100) FILTER(WHERE sex = 'F') (bigint) = 1/934 · s2 + -188/399285 · s3 + 68218/128170485 · s4, rounded, at least 0
-- a3: BOOL_AND(height_cm > 100) FILTER(WHERE sex = 'F') (bigint) = 1/855 · s3 + 293/548910 · s4, rounded, at least 0
-- a4: COUNT(*) (bigint) = 1/642 · s4, rounded, at least 0
-- note: 5 counts are measured together, which takes less noise: by sums in which some rows weigh more than others
-- note: rows whose region is not in region.name are in no group
WITH released AS (
  SELECT
    k0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 474 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 474 + CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS INT128) * 512 + CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS INT128) * (
        -83
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS INT128) * (
        -83
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 5) AS INT128) * (
        -45
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 6) AS INT128) * (
        -461
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 7) AS INT128) * (
        -461
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 8) AS INT128) * (
        -423
      )
    ) AS s0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * (
        -301
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * (
        -301
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS INT128) * (
        -276
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS INT128) * 555 + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS INT128) * 555 + CAST(COUNT(*) FILTER(WHERE
        g0 = 5) AS INT128) * 580 + CAST(COUNT(*) FILTER(WHERE
        g0 = 6) AS INT128) * (
        -301
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 7) AS INT128) * (
        -301
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 8) AS INT128) * (
        -276
      )
    ) AS s1,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 486 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * (
        -72
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS INT128) * (
        -448
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS INT128) * 486 + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS INT128) * (
        -72
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 5) AS INT128) * (
        -448
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 6) AS INT128) * 486 + CAST(COUNT(*) FILTER(WHERE
        g0 = 7) AS INT128) * (
        -72
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 8) AS INT128) * (
        -448
      )
    ) AS s2,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * (
        -293
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 562 + CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS INT128) * (
        -293
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS INT128) * (
        -293
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS INT128) * 562 + CAST(COUNT(*) FILTER(WHERE
        g0 = 5) AS INT128) * (
        -293
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 6) AS INT128) * (
        -293
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 7) AS INT128) * 562 + CAST(COUNT(*) FILTER(WHERE
        g0 = 8) AS INT128) * (
        -293
      )
    ) AS s3,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 642 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 642 + CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS INT128) * 642 + CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS INT128) * 642 + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS INT128) * 642 + CAST(COUNT(*) FILTER(WHERE
        g0 = 5) AS INT128) * 642 + CAST(COUNT(*) FILTER(WHERE
        g0 = 6) AS INT128) * 642 + CAST(COUNT(*) FILTER(WHERE
        g0 = 7) AS INT128) * 642 + CAST(COUNT(*) FILTER(WHERE
        g0 = 8) AS INT128) * 642
    ) AS s4
  FROM (
    SELECT
      t1."id" AS u,
      t1."region" AS k0,
      CASE
        WHEN t1."smoker"
        THEN CASE
          WHEN t1."sex" = 'F' AND NOT (
            t1."height_cm" > 100
          )
          THEN 0
          WHEN t1."sex" = 'F' AND t1."height_cm" > 100
          THEN 1
          ELSE 2
        END
        WHEN NOT t1."smoker"
        THEN CASE
          WHEN t1."sex" = 'F' AND NOT (
            t1."height_cm" > 100
          )
          THEN 3
          WHEN t1."sex" = 'F' AND t1."height_cm" > 100
          THEN 4
          ELSE 5
        END
        WHEN t1."sex" = 'F' AND NOT (
          t1."height_cm" > 100
        )
        THEN 6
        WHEN t1."sex" = 'F' AND t1."height_cm" > 100
        THEN 7
        ELSE 8
      END AS g0
    FROM "main"."patient" AS t1
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t1_7.x AS TEXT) AS k0
  FROM (
    SELECT DISTINCT
      "name" AS x
    FROM "main"."region"
    WHERE
      NOT "name" IS NULL
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t1_7
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
SELECT
  dpsql_release_0.k0 AS "region",
  CASE
    WHEN dpsql_release_0.a0 > COALESCE(dpsql_release_0.a0_margin, 0)
    THEN TRUE
    WHEN dpsql_release_0.a1 > COALESCE(dpsql_release_0.a1_margin, 0)
    THEN FALSE
  END AS "any_smoker",
  CASE
    WHEN dpsql_release_0.a2 > COALESCE(dpsql_release_0.a2_margin, 0)
    THEN FALSE
    WHEN dpsql_release_0.a3 > COALESCE(dpsql_release_0.a3_margin, 0)
    THEN TRUE
  END AS "every"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
