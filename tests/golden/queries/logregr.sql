-- One release in seven reads: second moments, then six gradients at released coefficients, and the curvature beside the third.
SELECT LOGREGR(smoker, ARRAY[1, height_cm]) AS coef, dpsql.predict(LOGREGR(smoker, ARRAY[1, height_cm]), ARRAY[1, 170])
FROM patient WHERE sex = 'F';

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 442381631488, l2 137438953472
--   s0: Σ 1 (steps of 1/68719476736, at most 442381631488)
--   s1: Σ u of height_cm (steps of 1/68719476600, at most 442381631488)
--   s2: Σ u of smoker (steps of 1/68719476736, at most 442381631488)
--   s3: Σ (1 - u²) of height_cm (steps of 1/83751861600, at most 442381631488)
--   s4: Σ (1 - u²) of smoker (steps of 1/83751862272, at most 442381631488)
--   s5: Σ u of height_cm · u of smoker (steps of 1/68719476600, at most 442381631488)
-- one unit moves: l1 274877906944, l2 √37778931862957161709568
--   s6: Σ (y - p) (steps of 1/137438953472, at most 274877906944)
--   s7: Σ (y - p) · u of height_cm (steps of 1/137437839360, at most 274877906944)
-- one unit moves: l1 274877906944, l2 √37778931862957161709568
--   s8: Σ (y - p) (steps of 1/137438953472, at most 274877906944)
--   s9: Σ (y - p) · u of height_cm (steps of 1/137437839360, at most 274877906944)
-- one unit moves: l1 274877906944, l2 √37778931862957161709568
--   s10: Σ (y - p) (steps of 1/137438953472, at most 274877906944)
--   s11: Σ (y - p) · u of height_cm (steps of 1/137437839360, at most 274877906944)
-- one unit moves: l1 206158430208, l2 √14167099448608935641088
--   s12: Σ 4p(1 - p) (steps of 1/68719476736, at most 206158430208)
--   s13: Σ 4p(1 - p) · u of height_cm (steps of 1/68719472640, at most 206158430208)
--   s14: Σ 4p(1 - p) · u of height_cm · u of height_cm (steps of 1/68710809600, at most 206158430208)
-- one unit moves: l1 274877906944, l2 √37778931862957161709568
--   s15: Σ (y - p) (steps of 1/137438953472, at most 274877906944)
--   s16: Σ (y - p) · u of height_cm (steps of 1/137437839360, at most 274877906944)
-- one unit moves: l1 274877906944, l2 √37778931862957161709568
--   s17: Σ (y - p) (steps of 1/137438953472, at most 274877906944)
--   s18: Σ (y - p) · u of height_cm (steps of 1/137437839360, at most 274877906944)
-- one unit moves: l1 274877906944, l2 √37778931862957161709568
--   s19: Σ (y - p) (steps of 1/137438953472, at most 274877906944)
--   s20: Σ (y - p) · u of height_cm (steps of 1/137437839360, at most 274877906944)
-- a0: (LOGREGR(smoker, ARRAY[1, height_cm])).coef[2] (double) = coef over [40, 220], [0, 1], of s0, s1, s2, s3, s4, s5; s6, s7; s8, s9; s10, s11; s15, s16; s17, s18; s19, s20; curvature s12, s13, s14
-- a1: (LOGREGR(smoker, ARRAY[1, height_cm])).coef[1] (double) = coef over [40, 220], [0, 1], of s0, s1, s2, s3, s4, s5; s6, s7; s8, s9; s10, s11; s15, s16; s17, s18; s19, s20; curvature s12, s13, s14
-- a2: dpsql.predict(LOGREGR(smoker, ARRAY[1, height_cm]), ARRAY[1, 170]) (double) = predict over [40, 220], [0, 1], of s0, s1, s2, s3, s4, s5; s6, s7; s8, s9; s10, s11; s15, s16; s17, s18; s19, s20; curvature s12, s13, s14
-- note: height_cm is clipped into [40, 220]
-- note: a logistic regression takes 6 steps, which are paid for together before the first; each reads a gradient at the coefficients that were released before it
-- note: its numbers have no interval where noise may be as large as the curvature that they follow from
WITH released AS (
  SELECT
    (
      CAST(COUNT(*) FILTER(WHERE
        f2) AS INT128) * 68719476736
    ) AS s0,
    (
      COALESCE(SUM(d0) FILTER(WHERE
        f2), 0) * 381774870
    ) AS s1,
    (
      COALESCE(SUM(d1) FILTER(WHERE
        f2), 0) * 68719476736
    ) AS s2,
    (
      CAST(COUNT(*) FILTER(WHERE
        f2) AS INT128) * 83751861600 + COALESCE(SUM(d2) FILTER(WHERE
        f2), 0) * (
        -2584934
      )
    ) AS s3,
    (
      CAST(COUNT(*) FILTER(WHERE
        f2) AS INT128) * 83751862272 + COALESCE(SUM(d3) FILTER(WHERE
        f2), 0) * (
        -83751862272
      )
    ) AS s4,
    (
      COALESCE(SUM(d4) FILTER(WHERE
        f2), 0) * 381774870
    ) AS s5
  FROM (
    SELECT
      u,
      v0,
      v1,
      f2,
      (
        2 * v0 - 260
      ) AS d0,
      (
        2 * v1 - 1
      ) AS d1,
      (
        2 * v0 - 260
      ) * (
        2 * v0 - 260
      ) AS d2,
      (
        2 * v1 - 1
      ) * (
        2 * v1 - 1
      ) AS d3,
      (
        2 * v0 - 260
      ) * (
        2 * v1 - 1
      ) AS d4
    FROM (
      SELECT
        t1."id" AS u,
        CASE WHEN t1."height_cm" < 40 THEN 40 WHEN t1."height_cm" > 220 THEN 220 ELSE CAST(t1."height_cm" AS BIGINT) END AS v0,
        CASE
          WHEN CASE WHEN t1."smoker" THEN 1 WHEN NOT t1."smoker" THEN 0 END < 0
          THEN 0
          WHEN CASE WHEN t1."smoker" THEN 1 WHEN NOT t1."smoker" THEN 0 END > 1
          THEN 1
          ELSE CAST(CASE WHEN t1."smoker" THEN 1 WHEN NOT t1."smoker" THEN 0 END AS BIGINT)
        END AS v1,
        NOT t1."height_cm" IS NULL AND NOT CASE WHEN t1."smoker" THEN 1 WHEN NOT t1."smoker" THEN 0 END IS NULL AS f2
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
  COALESCE(released.s5, 0) AS s5
FROM released;

-- step 1: s6, s7

-- step 2: s8, s9

-- step 3: s10, s11, s12, s13, s14
WITH released AS (
  SELECT
    (
      COALESCE(SUM(d15) FILTER(WHERE
        f2), 0) * 8388608
    ) AS s10,
    (
      COALESCE(SUM(d16) FILTER(WHERE
        f2), 0) * 46603
    ) AS s11,
    (
      COALESCE(SUM(d17) FILTER(WHERE
        f2), 0) * 134217728
    ) AS s12,
    (
      COALESCE(SUM(d18) FILTER(WHERE
        f2), 0) * 745654
    ) AS s13,
    (
      COALESCE(SUM(d19) FILTER(WHERE
        f2), 0) * 4142
    ) AS s14
  FROM (
    SELECT
      u,
      v0,
      v1,
      f2,
      d0,
      d1,
      d13,
      d14,
      d15,
      d17,
      d16,
      d18,
      d18 * d0 AS d19
    FROM (
      SELECT
        u,
        v0,
        v1,
        f2,
        d0,
        d1,
        d13,
        d14,
        d15,
        d17,
        d15 * d0 AS d16,
        d17 * d0 AS d18
      FROM (
        SELECT
          u,
          v0,
          v1,
          f2,
          d0,
          d1,
          d13,
          d14,
          (
            (
              d1 + 1
            ) * 8192 - LEAST(GREATEST(CAST(TRUNC(16384e0 / (
              1e0 + EXP(-d14)
            ) + 0.5e0) AS BIGINT), 0), 16384)
          ) AS d15,
          LEAST(GREATEST(CAST(TRUNC(2048e0 / (
            2e0 + EXP(d14) + EXP(-d14)
          ) + 0.5e0) AS BIGINT), 0), 512) AS d17
        FROM (
          SELECT
            u,
            v0,
            v1,
            f2,
            d0,
            d1,
            d13,
            CAST(CASE WHEN d13 > 128849018880 THEN 128849018880 WHEN d13 < (
              -128849018880
            ) THEN (
              -128849018880
            ) ELSE d13 END AS DOUBLE) * 2.3283064365386963e-10 AS d14
          FROM (
            SELECT
              u,
              v0,
              v1,
              f2,
              d0,
              d1,
              CAST((
                dpsql_point_4 + dpsql_point_5 * d0
              ) AS BIGINT) AS d13
            FROM (
              SELECT
                u,
                v0,
                v1,
                f2,
                (
                  2 * v0 - 260
                ) AS d0,
                (
                  2 * v1 - 1
                ) AS d1
              FROM (
                SELECT
                  t1."id" AS u,
                  CASE WHEN t1."height_cm" < 40 THEN 40 WHEN t1."height_cm" > 220 THEN 220 ELSE CAST(t1."height_cm" AS BIGINT) END AS v0,
                  CASE
                    WHEN CASE WHEN t1."smoker" THEN 1 WHEN NOT t1."smoker" THEN 0 END < 0
                    THEN 0
                    WHEN CASE WHEN t1."smoker" THEN 1 WHEN NOT t1."smoker" THEN 0 END > 1
                    THEN 1
                    ELSE CAST(CASE WHEN t1."smoker" THEN 1 WHEN NOT t1."smoker" THEN 0 END AS BIGINT)
                  END AS v1,
                  NOT t1."height_cm" IS NULL AND NOT CASE WHEN t1."smoker" THEN 1 WHEN NOT t1."smoker" THEN 0 END IS NULL AS f2
                FROM "main"."patient" AS t1
                WHERE
                  t1."sex" = 'F'
              ) AS x
            ) AS x
          ) AS x
        ) AS x
      ) AS x
    ) AS x
  ) AS r
)
SELECT
  COALESCE(released.s10, 0) AS s10,
  COALESCE(released.s11, 0) AS s11,
  COALESCE(released.s12, 0) AS s12,
  COALESCE(released.s13, 0) AS s13,
  COALESCE(released.s14, 0) AS s14
FROM released;

-- step 4: s15, s16

-- step 5: s17, s18

-- step 6: s19, s20

-- outer
SELECT
  [dpsql_release_0.a1, dpsql_release_0.a0] AS "coef",
  dpsql_release_0.a2 AS "predict"
FROM dpsql_release_0;
