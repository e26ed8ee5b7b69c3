-- One release: centred second moments of three columns, and the numbers of three regressors.
SELECT LINREGR(weight_kg, ARRAY[1, height_cm, birth_year]) AS coef, (LINREGR(weight_kg, ARRAY[1, height_cm, birth_year])).r2
FROM patient WHERE sex = 'F';

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 417685569536, l2 √9716822440826506313728
--   s0: Σ 1 (steps of 1/34359738368, at most 417685569536)
--   s1: Σ u of height_cm (steps of 1/34359738300, at most 417685569536)
--   s2: Σ u of birth_year (steps of 1/34359738336, at most 417685569536)
--   s3: Σ u of weight_kg (steps of 1/40802188608, at most 417685569536)
--   s4: Σ (1 - u²) of height_cm (steps of 1/52613323200, at most 417685569536)
--   s5: Σ (1 - u²) of birth_year (steps of 1/52613333892, at most 417685569536)
--   s6: Σ (1 - u²) of weight_kg (steps of 1/52560601088, at most 417685569536)
--   s7: Σ u of height_cm · u of birth_year (steps of 1/34359723720, at most 417685569536)
--   s8: Σ u of height_cm · u of weight_kg (steps of 1/40800729600, at most 417685569536)
--   s9: Σ u of birth_year · u of weight_kg (steps of 1/40801759488, at most 417685569536)
-- a0: (LINREGR(weight_kg, ARRAY[1, height_cm, birth_year])).coef[3] (double) = coef over [40, 220], [1900, 2026], [2, 300], of s0, s1, s2, s3, s4, s5, s6, s7, s8, s9
-- a1: (LINREGR(weight_kg, ARRAY[1, height_cm, birth_year])).coef[2] (double) = coef over [40, 220], [1900, 2026], [2, 300], of s0, s1, s2, s3, s4, s5, s6, s7, s8, s9
-- a2: (LINREGR(weight_kg, ARRAY[1, height_cm, birth_year])).coef[1] (double) = coef over [40, 220], [1900, 2026], [2, 300], of s0, s1, s2, s3, s4, s5, s6, s7, s8, s9
-- a3: (LINREGR(weight_kg, ARRAY[1, height_cm, birth_year])).r2 (double) = r2 over [40, 220], [1900, 2026], [2, 300], of s0, s1, s2, s3, s4, s5, s6, s7, s8, s9
-- note: height_cm is clipped into [40, 220]
-- note: birth_year is clipped into [1900, 2026]
-- note: weight_kg is clipped into [2, 300]
WITH released AS (
  SELECT
    (
      CAST(COUNT(*) FILTER(WHERE
        f3) AS INT128) * 34359738368
    ) AS s0,
    (
      COALESCE(SUM(d0) FILTER(WHERE
        f3), 0) * 190887435
    ) AS s1,
    (
      COALESCE(SUM(d1) FILTER(WHERE
        f3), 0) * 272696336
    ) AS s2,
    (
      COALESCE(SUM(d2) FILTER(WHERE
        f3), 0) * 4278753
    ) AS s3,
    (
      CAST(COUNT(*) FILTER(WHERE
        f3) AS INT128) * 52613323200 + COALESCE(SUM(d3) FILTER(WHERE
        f3), 0) * (
        -1623868
      )
    ) AS s4,
    (
      CAST(COUNT(*) FILTER(WHERE
        f3) AS INT128) * 52613333892 + COALESCE(SUM(d4) FILTER(WHERE
        f3), 0) * (
        -3314017
      )
    ) AS s5,
    (
      CAST(COUNT(*) FILTER(WHERE
        f3) AS INT128) * 52560601088 + COALESCE(SUM(d5) FILTER(WHERE
        f3), 0) * (
        -578
      )
    ) AS s6,
    (
      COALESCE(SUM(d6) FILTER(WHERE
        f3), 0) * 1514979
    ) AS s7,
    (
      COALESCE(SUM(d7) FILTER(WHERE
        f3), 0) * 23770
    ) AS s8,
    (
      COALESCE(SUM(d8) FILTER(WHERE
        f3), 0) * 33958
    ) AS s9
  FROM (
    SELECT
      u,
      v0,
      v1,
      v2,
      f3,
      (
        2 * v0 - 260
      ) AS d0,
      (
        2 * v1 - 3926
      ) AS d1,
      (
        2 * v2 - 9664
      ) AS d2,
      (
        2 * v0 - 260
      ) * (
        2 * v0 - 260
      ) AS d3,
      (
        2 * v1 - 3926
      ) * (
        2 * v1 - 3926
      ) AS d4,
      (
        2 * v2 - 9664
      ) * (
        2 * v2 - 9664
      ) AS d5,
      (
        2 * v0 - 260
      ) * (
        2 * v1 - 3926
      ) AS d6,
      (
        2 * v0 - 260
      ) * (
        2 * v2 - 9664
      ) AS d7,
      (
        2 * v1 - 3926
      ) * (
        2 * v2 - 9664
      ) AS d8
    FROM (
      SELECT
        t1."id" AS u,
        CASE WHEN t1."height_cm" < 40 THEN 40 WHEN t1."height_cm" > 220 THEN 220 ELSE CAST(t1."height_cm" AS BIGINT) END AS v0,
        CASE
          WHEN t1."birth_year" < 1900
          THEN 1900
          WHEN t1."birth_year" > 2026
          THEN 2026
          ELSE CAST(t1."birth_year" AS BIGINT)
        END AS v1,
        CASE
          WHEN CASE WHEN t1."weight_kg" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."weight_kg" END < 2e0
          THEN 64
          WHEN CASE WHEN t1."weight_kg" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."weight_kg" END > 300e0
          THEN 9600
          ELSE CAST(CASE WHEN t1."weight_kg" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."weight_kg" END * 32e0 AS BIGINT)
        END AS v2,
        (
          NOT t1."height_cm" IS NULL AND NOT t1."birth_year" IS NULL
        )
        AND NOT CASE WHEN t1."weight_kg" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."weight_kg" END IS NULL AS f3
      FROM "main"."patient" AS t1
      WHERE
        t1."sex" = 'F'
    ) AS x
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
  [dpsql_release_0.a2, dpsql_release_0.a1, dpsql_release_0.a0] AS "coef",
  dpsql_release_0.a3 AS "r2"
FROM dpsql_release_0;
