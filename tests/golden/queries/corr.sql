-- One release: products of the degrees that are asked for.
SELECT CORR(weight_kg, height_cm) AS r, REGR_SLOPE(weight_kg, height_cm) AS b, REGR_COUNT(weight_kg, height_cm) AS n,
  REGR_AVGX(weight_kg, height_cm) AS m FROM patient;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1937837260800, l2 556167708000
--   s0: Σ (1-t)² of height_cm · (1-t)² of weight_kg (steps of 1/556139520000, at most 1937837260800)
--   s1: Σ (1-t)² of height_cm · 2t(1-t) of weight_kg (steps of 1/1038127104000, at most 1937837260800)
--   s2: Σ (1-t)² of height_cm · t² of weight_kg (steps of 1/556139520000, at most 1937837260800)
--   s3: Σ 2t(1-t) of height_cm · (1-t)² of weight_kg (steps of 1/1038127104000, at most 1937837260800)
--   s4: Σ 2t(1-t) of height_cm · 2t(1-t) of weight_kg (steps of 1/1937837260800, at most 1937837260800)
--   s5: Σ 2t(1-t) of height_cm · t² of weight_kg (steps of 1/1038127104000, at most 1937837260800)
--   s6: Σ t² of height_cm · (1-t)² of weight_kg (steps of 1/556139520000, at most 1937837260800)
--   s7: Σ t² of height_cm · 2t(1-t) of weight_kg (steps of 1/1038127104000, at most 1937837260800)
--   s8: Σ t² of height_cm · t² of weight_kg (steps of 1/556139520000, at most 1937837260800)
-- a0: CORR(weight_kg, height_cm) (double) = correlation over [40, 220] in degree 2 and [2, 300] in degree 2, of s0, s1, s2, s3, s4, s5, s6, s7, s8
-- a1: REGR_SLOPE(weight_kg, height_cm) (double) = slope over [40, 220] in degree 2 and [2, 300] in degree 2, of s0, s1, s2, s3, s4, s5, s6, s7, s8
-- a2: REGR_COUNT(weight_kg, height_cm) (bigint) = 1/556139520000 · s0 + 1/1038127104000 · s1 + 1/556139520000 · s2 + 1/1038127104000 · s3 + 1/1937837260800 · s4 + 1/1038127104000 · s5 + 1/556139520000 · s6 + 1/1038127104000 · s7 + 1/556139520000 · s8, rounded, at least 0
-- a3: REGR_AVGX(weight_kg, height_cm) (double) = mean over [40, 220] in degree 2 and [2, 300] in degree 2, of s0, s1, s2, s3, s4, s5, s6, s7, s8
-- note: height_cm is clipped into [40, 220]
-- note: weight_kg is clipped into [2, 300]
WITH released AS (
  SELECT
    (
      CAST(COUNT(*) FILTER(WHERE
        f2) AS INT128) * 556139520000 + COALESCE(SUM(d2) FILTER(WHERE
        f2), 0) * (
        -14580000
      ) + COALESCE(SUM(d3) FILTER(WHERE
        f2), 0) * 7290000 + COALESCE(SUM(d0) FILTER(WHERE
        f2), 0) * (
        -6179328000
      ) + COALESCE(SUM(d4) FILTER(WHERE
        f2), 0) * 162000 + COALESCE(SUM(d5) FILTER(WHERE
        f2), 0) * (
        -81000
      ) + COALESCE(SUM(d1) FILTER(WHERE
        f2), 0) * 17164800 + COALESCE(SUM(d6) FILTER(WHERE
        f2), 0) * (
        -450
      ) + COALESCE(SUM(d7) FILTER(WHERE
        f2), 0) * 225
    ) AS s0,
    (
      COALESCE(SUM(d2) FILTER(WHERE
        f2), 0) * 27216000 + COALESCE(SUM(d3) FILTER(WHERE
        f2), 0) * (
        -27216000
      ) + COALESCE(SUM(d4) FILTER(WHERE
        f2), 0) * (
        -302400
      ) + COALESCE(SUM(d5) FILTER(WHERE
        f2), 0) * 302400 + COALESCE(SUM(d6) FILTER(WHERE
        f2), 0) * 840 + COALESCE(SUM(d7) FILTER(WHERE
        f2), 0) * (
        -840
      )
    ) AS s1,
    (
      COALESCE(SUM(d3) FILTER(WHERE
        f2), 0) * 7290000 + COALESCE(SUM(d5) FILTER(WHERE
        f2), 0) * (
        -81000
      ) + COALESCE(SUM(d7) FILTER(WHERE
        f2), 0) * 225
    ) AS s2,
    (
      COALESCE(SUM(d0) FILTER(WHERE
        f2), 0) * 11534745600 + COALESCE(SUM(d4) FILTER(WHERE
        f2), 0) * (
        -302400
      ) + COALESCE(SUM(d5) FILTER(WHERE
        f2), 0) * 151200 + COALESCE(SUM(d1) FILTER(WHERE
        f2), 0) * (
        -64081920
      ) + COALESCE(SUM(d6) FILTER(WHERE
        f2), 0) * 1680 + COALESCE(SUM(d7) FILTER(WHERE
        f2), 0) * (
        -840
      )
    ) AS s3,
    (
      COALESCE(SUM(d4) FILTER(WHERE
        f2), 0) * 564480 + COALESCE(SUM(d5) FILTER(WHERE
        f2), 0) * (
        -564480
      ) + COALESCE(SUM(d6) FILTER(WHERE
        f2), 0) * (
        -3136
      ) + COALESCE(SUM(d7) FILTER(WHERE
        f2), 0) * 3136
    ) AS s4,
    (
      COALESCE(SUM(d5) FILTER(WHERE
        f2), 0) * 151200 + COALESCE(SUM(d7) FILTER(WHERE
        f2), 0) * (
        -840
      )
    ) AS s5,
    (
      COALESCE(SUM(d1) FILTER(WHERE
        f2), 0) * 17164800 + COALESCE(SUM(d6) FILTER(WHERE
        f2), 0) * (
        -450
      ) + COALESCE(SUM(d7) FILTER(WHERE
        f2), 0) * 225
    ) AS s6,
    (
      COALESCE(SUM(d6) FILTER(WHERE
        f2), 0) * 840 + COALESCE(SUM(d7) FILTER(WHERE
        f2), 0) * (
        -840
      )
    ) AS s7,
    (
      COALESCE(SUM(d7) FILTER(WHERE
        f2), 0) * 225
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
        v1 - 512
      ) AS d2,
      (
        (
          (
            v1 - 512
          ) * (
            v1 - 512
          ) * 2 + 76288
        ) // 152576
      ) AS d3,
      (
        v0 - 40
      ) * (
        v1 - 512
      ) AS d4,
      (
        v0 - 40
      ) * (
        (
          (
            v1 - 512
          ) * (
            v1 - 512
          ) * 2 + 76288
        ) // 152576
      ) AS d5,
      (
        (
          v0 - 40
        ) * (
          v0 - 40
        )
      ) * (
        v1 - 512
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
            v1 - 512
          ) * (
            v1 - 512
          ) * 2 + 76288
        ) // 152576
      ) AS d7
    FROM (
      SELECT
        t1."id" AS u,
        CASE WHEN t1."height_cm" < 40 THEN 40 WHEN t1."height_cm" > 220 THEN 220 ELSE CAST(t1."height_cm" AS BIGINT) END AS v0,
        CASE
          WHEN CASE WHEN t1."weight_kg" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."weight_kg" END < 2e0
          THEN 512
          WHEN CASE WHEN t1."weight_kg" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."weight_kg" END > 300e0
          THEN 76800
          ELSE CAST(CASE WHEN t1."weight_kg" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."weight_kg" END * 256e0 AS BIGINT)
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
