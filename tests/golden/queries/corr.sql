-- One release: products of the degrees that are asked for.
SELECT CORR(weight_kg, height_cm) AS r, REGR_SLOPE(weight_kg, height_cm) AS b, REGR_COUNT(weight_kg, height_cm) AS n,
  REGR_AVGX(weight_kg, height_cm) AS m FROM patient;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 208861286400, l2 60563538000
--   s0: Σ (1-t)² of height_cm · (1-t)² of weight_kg (steps of 1/60557414400, at most 208861286400)
--   s1: Σ (1-t)² of height_cm · 2t(1-t) of weight_kg (steps of 1/112463769600, at most 208861286400)
--   s2: Σ (1-t)² of height_cm · t² of weight_kg (steps of 1/60557414400, at most 208861286400)
--   s3: Σ 2t(1-t) of height_cm · (1-t)² of weight_kg (steps of 1/112463769600, at most 208861286400)
--   s4: Σ 2t(1-t) of height_cm · 2t(1-t) of weight_kg (steps of 1/208861286400, at most 208861286400)
--   s5: Σ 2t(1-t) of height_cm · t² of weight_kg (steps of 1/112463769600, at most 208861286400)
--   s6: Σ t² of height_cm · (1-t)² of weight_kg (steps of 1/60557414400, at most 208861286400)
--   s7: Σ t² of height_cm · 2t(1-t) of weight_kg (steps of 1/112463769600, at most 208861286400)
--   s8: Σ t² of height_cm · t² of weight_kg (steps of 1/60557414400, at most 208861286400)
-- a0: CORR(weight_kg, height_cm) (double) = correlation over [40, 220] in degree 2 and [2, 300] in degree 2, of s0, s1, s2, s3, s4, s5, s6, s7, s8
-- a1: REGR_SLOPE(weight_kg, height_cm) (double) = slope over [40, 220] in degree 2 and [2, 300] in degree 2, of s0, s1, s2, s3, s4, s5, s6, s7, s8
-- a2: REGR_COUNT(weight_kg, height_cm) (bigint) = 1/60557414400 · s0 + 1/112463769600 · s1 + 1/60557414400 · s2 + 1/112463769600 · s3 + 1/208861286400 · s4 + 1/112463769600 · s5 + 1/60557414400 · s6 + 1/112463769600 · s7 + 1/60557414400 · s8, rounded, at least 0
-- a3: REGR_AVGX(weight_kg, height_cm) (double) = mean over [40, 220] in degree 2 and [2, 300] in degree 2, of s0, s1, s2, s3, s4, s5, s6, s7, s8
-- note: height_cm is clipped into [40, 220]
-- note: weight_kg is clipped into [2, 300]
WITH released AS (
  SELECT
    (
      CAST(COUNT(*) FILTER(WHERE
        f2) AS INT128) * 60557414400 + COALESCE(SUM(d2) FILTER(WHERE
        f2), 0) * (
        -3175200
      ) + COALESCE(SUM(d3) FILTER(WHERE
        f2), 0) * 1587600 + COALESCE(SUM(d0) FILTER(WHERE
        f2), 0) * (
        -672860160
      ) + COALESCE(SUM(d4) FILTER(WHERE
        f2), 0) * 35280 + COALESCE(SUM(d5) FILTER(WHERE
        f2), 0) * (
        -17640
      ) + COALESCE(SUM(d1) FILTER(WHERE
        f2), 0) * 1869056 + COALESCE(SUM(d6) FILTER(WHERE
        f2), 0) * (
        -98
      ) + COALESCE(SUM(d7) FILTER(WHERE
        f2), 0) * 49
    ) AS s0,
    (
      COALESCE(SUM(d2) FILTER(WHERE
        f2), 0) * 5896800 + COALESCE(SUM(d3) FILTER(WHERE
        f2), 0) * (
        -5896800
      ) + COALESCE(SUM(d4) FILTER(WHERE
        f2), 0) * (
        -65520
      ) + COALESCE(SUM(d5) FILTER(WHERE
        f2), 0) * 65520 + COALESCE(SUM(d6) FILTER(WHERE
        f2), 0) * 182 + COALESCE(SUM(d7) FILTER(WHERE
        f2), 0) * (
        -182
      )
    ) AS s1,
    (
      COALESCE(SUM(d3) FILTER(WHERE
        f2), 0) * 1587600 + COALESCE(SUM(d5) FILTER(WHERE
        f2), 0) * (
        -17640
      ) + COALESCE(SUM(d7) FILTER(WHERE
        f2), 0) * 49
    ) AS s2,
    (
      COALESCE(SUM(d0) FILTER(WHERE
        f2), 0) * 1249597440 + COALESCE(SUM(d4) FILTER(WHERE
        f2), 0) * (
        -65520
      ) + COALESCE(SUM(d5) FILTER(WHERE
        f2), 0) * 32760 + COALESCE(SUM(d1) FILTER(WHERE
        f2), 0) * (
        -6942208
      ) + COALESCE(SUM(d6) FILTER(WHERE
        f2), 0) * 364 + COALESCE(SUM(d7) FILTER(WHERE
        f2), 0) * (
        -182
      )
    ) AS s3,
    (
      COALESCE(SUM(d4) FILTER(WHERE
        f2), 0) * 121680 + COALESCE(SUM(d5) FILTER(WHERE
        f2), 0) * (
        -121680
      ) + COALESCE(SUM(d6) FILTER(WHERE
        f2), 0) * (
        -676
      ) + COALESCE(SUM(d7) FILTER(WHERE
        f2), 0) * 676
    ) AS s4,
    (
      COALESCE(SUM(d5) FILTER(WHERE
        f2), 0) * 32760 + COALESCE(SUM(d7) FILTER(WHERE
        f2), 0) * (
        -182
      )
    ) AS s5,
    (
      COALESCE(SUM(d1) FILTER(WHERE
        f2), 0) * 1869056 + COALESCE(SUM(d6) FILTER(WHERE
        f2), 0) * (
        -98
      ) + COALESCE(SUM(d7) FILTER(WHERE
        f2), 0) * 49
    ) AS s6,
    (
      COALESCE(SUM(d6) FILTER(WHERE
        f2), 0) * 182 + COALESCE(SUM(d7) FILTER(WHERE
        f2), 0) * (
        -182
      )
    ) AS s7,
    (
      COALESCE(SUM(d7) FILTER(WHERE
        f2), 0) * 49
    ) AS s8
  FROM (
    SELECT
      u,
      v0,
      v1,
      f2,
      (
        v0 - 40
      ) AS d0,
      (
        (
          v0 - 40
        ) * (
          v0 - 40
        )
      ) AS d1,
      (
        v1 - 256
      ) AS d2,
      (
        (
          (
            v1 - 256
          ) * (
            v1 - 256
          ) * 2 + 38144
        ) // 76288
      ) AS d3,
      (
        v0 - 40
      ) * (
        v1 - 256
      ) AS d4,
      (
        v0 - 40
      ) * (
        (
          (
            v1 - 256
          ) * (
            v1 - 256
          ) * 2 + 38144
        ) // 76288
      ) AS d5,
      (
        (
          v0 - 40
        ) * (
          v0 - 40
        )
      ) * (
        v1 - 256
      ) AS d6,
      (
        (
          v0 - 40
        ) * (
          v0 - 40
        )
      ) * (
        (
          (
            v1 - 256
          ) * (
            v1 - 256
          ) * 2 + 38144
        ) // 76288
      ) AS d7
    FROM (
      SELECT
        t1."id" AS u,
        CASE WHEN t1."height_cm" < 40 THEN 40 WHEN t1."height_cm" > 220 THEN 220 ELSE CAST(t1."height_cm" AS BIGINT) END AS v0,
        CASE
          WHEN CASE WHEN t1."weight_kg" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."weight_kg" END < 2e0
          THEN 256
          WHEN CASE WHEN t1."weight_kg" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."weight_kg" END > 300e0
          THEN 38400
          ELSE CAST(CASE WHEN t1."weight_kg" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."weight_kg" END * 128e0 AS BIGINT)
        END AS v1,
        NOT CASE WHEN t1."weight_kg" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."weight_kg" END IS NULL
        AND NOT t1."height_cm" IS NULL AS f2
      FROM "main"."patient" AS t1
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
  COALESCE(released.s8, 0) AS s8
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "r",
  dpsql_release_0.a1 AS "b",
  dpsql_release_0.a2 AS "n",
  dpsql_release_0.a3 AS "m"
FROM dpsql_release_0;
