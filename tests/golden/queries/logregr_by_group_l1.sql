-- clipped in l1; of visits, by groups, with a FILTER, through the origin
SELECT reason, (LOGREGR(cost > 100, ARRAY[cost]) FILTER (WHERE cost > 10)).odds_ratios FROM visit GROUP BY reason;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: reason (text)
-- one unit moves: l1 343597383680, l2 343597383680
--   s0: Σ 1 (steps of 1/2147483648, at most 343597383680)
--   s1: Σ u of cost (steps of 1/2147483426, at most 343597383680)
--   s2: Σ u of cost > 100 (steps of 1/2147483648, at most 343597383680)
--   s3: Σ (1 - u²) of cost (steps of 1/1073692312, at most 343597383680)
--   s4: Σ (1 - u²) of cost > 100 (steps of 1/1073741824, at most 343597383680)
--   s5: Σ u of cost · u of cost > 100 (steps of 1/2147483426, at most 343597383680)
-- one unit moves: l1 1342177280, l2 1342177280
--   s21: COUNT(*) (steps of 1/33554432, at most 1342177280)
-- one unit moves: l1 343597383680, l2 343597383680
--   s6: Σ (y - p) (steps of 1/4294967296, at most 343597383680)
--   s7: Σ (y - p) · u of cost (steps of 1/4292198400, at most 343597383680)
-- one unit moves: l1 343597383680, l2 343597383680
--   s8: Σ (y - p) (steps of 1/4294967296, at most 343597383680)
--   s9: Σ (y - p) · u of cost (steps of 1/4292198400, at most 343597383680)
-- one unit moves: l1 343597383680, l2 343597383680
--   s10: Σ (y - p) (steps of 1/4294967296, at most 343597383680)
--   s11: Σ (y - p) · u of cost (steps of 1/4292198400, at most 343597383680)
-- one unit moves: l1 257698037760, l2 257698037760
--   s12: Σ 4p(1 - p) (steps of 1/2147483648, at most 257698037760)
--   s13: Σ 4p(1 - p) · u of cost (steps of 1/2147376640, at most 257698037760)
--   s14: Σ 4p(1 - p) · u of cost · u of cost (steps of 1/2103560448, at most 257698037760)
-- one unit moves: l1 343597383680, l2 343597383680
--   s15: Σ (y - p) (steps of 1/4294967296, at most 343597383680)
--   s16: Σ (y - p) · u of cost (steps of 1/4292198400, at most 343597383680)
-- one unit moves: l1 343597383680, l2 343597383680
--   s17: Σ (y - p) (steps of 1/4294967296, at most 343597383680)
--   s18: Σ (y - p) · u of cost (steps of 1/4292198400, at most 343597383680)
-- one unit moves: l1 343597383680, l2 343597383680
--   s19: Σ (y - p) (steps of 1/4294967296, at most 343597383680)
--   s20: Σ (y - p) · u of cost (steps of 1/4292198400, at most 343597383680)
-- a0: (LOGREGR(cost > 100, ARRAY[cost]) FILTER(WHERE cost > 10)).odds_ratios[1] (double) = odds_ratios over [10, 5000], [0, 1], of s0, s1, s2, s3, s4, s5; s6, s7; s8, s9; s10, s11; s15, s16; s17, s18; s19, s20; curvature s12, s13, s14
-- a1: COUNT(*) (bigint) = 1/33554432 · s21, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost is clipped into [10, 5000]
-- note: a logistic regression takes 6 steps, which are paid for together before the first; each reads a gradient at the coefficients that were released before it
-- note: its numbers have no interval where noise may be as large as the curvature that they follow from
-- note: rows whose reason is not one of the 3 declared values are in no group
WITH suspect AS MATERIALIZED (
  SELECT
    u
  FROM (
    SELECT
      t1."patient_id" AS u
    FROM "main"."visit" AS t1
  ) AS r
  GROUP BY
    u
  HAVING
    COUNT(*) > 40
), partial AS (
  SELECT
    u,
    k0,
    (
      CAST(COUNT(*) FILTER(WHERE
        f2) AS INT128) * 2147483648
    ) AS s0,
    (
      COALESCE(SUM(d0) FILTER(WHERE
        f2), 0) * 4303574
    ) AS s1,
    (
      COALESCE(SUM(d1) FILTER(WHERE
        f2), 0) * 2147483648
    ) AS s2,
    (
      CAST(COUNT(*) FILTER(WHERE
        f2) AS INT128) * 1073692312 + COALESCE(SUM(d2) FILTER(WHERE
        f2), 0) * (
        -4312
      )
    ) AS s3,
    (
      CAST(COUNT(*) FILTER(WHERE
        f2) AS INT128) * 1073741824 + COALESCE(SUM(d3) FILTER(WHERE
        f2), 0) * (
        -1073741824
      )
    ) AS s4,
    (
      COALESCE(SUM(d4) FILTER(WHERE
        f2), 0) * 4303574
    ) AS s5,
    (
      COUNT(*)
    ) AS s21,
    COUNT(*) FILTER(WHERE
      f2) AS n0
  FROM (
    SELECT
      u,
      k0,
      v0,
      v1,
      f2,
      (
        2 * v0 - 501
      ) AS d0,
      (
        2 * v1 - 1
      ) AS d1,
      (
        2 * v0 - 501
      ) * (
        2 * v0 - 501
      ) AS d2,
      (
        2 * v1 - 1
      ) * (
        2 * v1 - 1
      ) AS d3,
      (
        2 * v0 - 501
      ) * (
        2 * v1 - 1
      ) AS d4
    FROM (
      SELECT
        t1."patient_id" AS u,
        t1."reason" AS k0,
        CASE
          WHEN t1."cost" < 10
          THEN 1
          WHEN t1."cost" > 5000
          THEN 500
          ELSE CAST(CAST(t1."cost" AS DOUBLE) * 0.1e0 AS BIGINT)
        END AS v0,
        CASE
          WHEN CASE
            WHEN t1."cost" > CAST(100 AS DECIMAL(8, 2))
            THEN 1
            WHEN NOT (
              t1."cost" > CAST(100 AS DECIMAL(8, 2))
            )
            THEN 0
          END < 0
          THEN 0
          WHEN CASE
            WHEN t1."cost" > CAST(100 AS DECIMAL(8, 2))
            THEN 1
            WHEN NOT (
              t1."cost" > CAST(100 AS DECIMAL(8, 2))
            )
            THEN 0
          END > 1
          THEN 1
          ELSE CAST(CASE
            WHEN t1."cost" > CAST(100 AS DECIMAL(8, 2))
            THEN 1
            WHEN NOT (
              t1."cost" > CAST(100 AS DECIMAL(8, 2))
            )
            THEN 0
          END AS BIGINT)
        END AS v1,
        (
          t1."cost" > CAST(10 AS DECIMAL(8, 2)) AND NOT t1."cost" IS NULL
        )
        AND NOT CASE
          WHEN t1."cost" > CAST(100 AS DECIMAL(8, 2))
          THEN 1
          WHEN NOT (
            t1."cost" > CAST(100 AS DECIMAL(8, 2))
          )
          THEN 0
        END IS NULL AS f2
      FROM "main"."visit" AS t1
    ) AS x
  ) AS r
  WHERE
    u IN (
      SELECT
        u
      FROM suspect
    )
  GROUP BY
    u,
    k0
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    CAST(CASE
      WHEN s0 > 351843720888320
      THEN 351843720888320
      WHEN s0 < (
        -351843720888320
      )
      THEN (
        -351843720888320
      )
      ELSE s0
    END AS BIGINT) AS s0,
    CAST(CASE
      WHEN s1 > 351843720888320
      THEN 351843720888320
      WHEN s1 < (
        -351843720888320
      )
      THEN (
        -351843720888320
      )
      ELSE s1
    END AS BIGINT) AS s1,
    CAST(CASE
      WHEN s2 > 351843720888320
      THEN 351843720888320
      WHEN s2 < (
        -351843720888320
      )
      THEN (
        -351843720888320
      )
      ELSE s2
    END AS BIGINT) AS s2,
    CAST(CASE
      WHEN s3 > 351843720888320
      THEN 351843720888320
      WHEN s3 < (
        -351843720888320
      )
      THEN (
        -351843720888320
      )
      ELSE s3
    END AS BIGINT) AS s3,
    CAST(CASE
      WHEN s4 > 351843720888320
      THEN 351843720888320
      WHEN s4 < (
        -351843720888320
      )
      THEN (
        -351843720888320
      )
      ELSE s4
    END AS BIGINT) AS s4,
    CAST(CASE
      WHEN s5 > 351843720888320
      THEN 351843720888320
      WHEN s5 < (
        -351843720888320
      )
      THEN (
        -351843720888320
      )
      ELSE s5
    END AS BIGINT) AS s5,
    s21,
    n0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE WHEN SUM(clamped.s21) > 40 THEN (
      39.99999999996362e0 / CAST(SUM(clamped.s21) AS DOUBLE)
    ) ELSE NULL END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(clamped.s21) > 40
), released AS (
  SELECT
    k0,
    SUM(s0) AS s0,
    SUM(s1) AS s1,
    SUM(s2) AS s2,
    SUM(s3) AS s3,
    SUM(s4) AS s4,
    SUM(s5) AS s5,
    SUM(s21) AS s21
  FROM (
    SELECT
      k0,
      (
        CAST(COUNT(*) FILTER(WHERE
          f2) AS INT128) * 2147483648
      ) AS s0,
      (
        COALESCE(SUM(d0) FILTER(WHERE
          f2), 0) * 4303574
      ) AS s1,
      (
        COALESCE(SUM(d1) FILTER(WHERE
          f2), 0) * 2147483648
      ) AS s2,
      (
        CAST(COUNT(*) FILTER(WHERE
          f2) AS INT128) * 1073692312 + COALESCE(SUM(d2) FILTER(WHERE
          f2), 0) * (
          -4312
        )
      ) AS s3,
      (
        CAST(COUNT(*) FILTER(WHERE
          f2) AS INT128) * 1073741824 + COALESCE(SUM(d3) FILTER(WHERE
          f2), 0) * (
          -1073741824
        )
      ) AS s4,
      (
        COALESCE(SUM(d4) FILTER(WHERE
          f2), 0) * 4303574
      ) AS s5,
      CAST((
        COUNT(*)
      ) AS INT128) * 33554432 AS s21
    FROM (
      SELECT
        u,
        k0,
        v0,
        v1,
        f2,
        (
          2 * v0 - 501
        ) AS d0,
        (
          2 * v1 - 1
        ) AS d1,
        (
          2 * v0 - 501
        ) * (
          2 * v0 - 501
        ) AS d2,
        (
          2 * v1 - 1
        ) * (
          2 * v1 - 1
        ) AS d3,
        (
          2 * v0 - 501
        ) * (
          2 * v1 - 1
        ) AS d4
      FROM (
        SELECT
          t1."patient_id" AS u,
          t1."reason" AS k0,
          CASE
            WHEN t1."cost" < 10
            THEN 1
            WHEN t1."cost" > 5000
            THEN 500
            ELSE CAST(CAST(t1."cost" AS DOUBLE) * 0.1e0 AS BIGINT)
          END AS v0,
          CASE
            WHEN CASE
              WHEN t1."cost" > CAST(100 AS DECIMAL(8, 2))
              THEN 1
              WHEN NOT (
                t1."cost" > CAST(100 AS DECIMAL(8, 2))
              )
              THEN 0
            END < 0
            THEN 0
            WHEN CASE
              WHEN t1."cost" > CAST(100 AS DECIMAL(8, 2))
              THEN 1
              WHEN NOT (
                t1."cost" > CAST(100 AS DECIMAL(8, 2))
              )
              THEN 0
            END > 1
            THEN 1
            ELSE CAST(CASE
              WHEN t1."cost" > CAST(100 AS DECIMAL(8, 2))
              THEN 1
              WHEN NOT (
                t1."cost" > CAST(100 AS DECIMAL(8, 2))
              )
              THEN 0
            END AS BIGINT)
          END AS v1,
          (
            t1."cost" > CAST(10 AS DECIMAL(8, 2)) AND NOT t1."cost" IS NULL
          )
          AND NOT CASE
            WHEN t1."cost" > CAST(100 AS DECIMAL(8, 2))
            THEN 1
            WHEN NOT (
              t1."cost" > CAST(100 AS DECIMAL(8, 2))
            )
            THEN 0
          END IS NULL AS f2
        FROM "main"."visit" AS t1
      ) AS x
    ) AS r
    WHERE
      NOT u IN (
        SELECT
          u
        FROM suspect
      )
    GROUP BY
      k0
    UNION ALL
    SELECT
      clamped.k0,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s0
        END
      ) AS s0,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s1 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s1
        END
      ) AS s1,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s2 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s2
        END
      ) AS s2,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s3 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s3
        END
      ) AS s3,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s4 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s4
        END
      ) AS s4,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s5 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s5
        END
      ) AS s5,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s21 AS DOUBLE) * scale.rows_factor * 33554432e0) AS BIGINT)
          ELSE LEAST(clamped.s21, 40) * 33554432
        END
      ) AS s21
    FROM clamped
    LEFT JOIN scale
      ON clamped.u = scale.u
    GROUP BY
      clamped.k0
  ) AS b
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t1_4.x AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('check-up' AS TEXT)),
      (CAST('acute' AS TEXT)),
      (CAST('chronic' AS TEXT))) AS v(x)
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t1_4
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2,
  COALESCE(released.s3, 0) AS s3,
  COALESCE(released.s4, 0) AS s4,
  COALESCE(released.s5, 0) AS s5,
  COALESCE(released.s21, 0) AS s21
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- step 1: s6, s7

-- step 2: s8, s9

-- step 3: s10, s11, s12, s13, s14
WITH suspect AS MATERIALIZED (
  SELECT
    u
  FROM (
    SELECT
      t1."patient_id" AS u
    FROM "main"."visit" AS t1
  ) AS r
  GROUP BY
    u
  HAVING
    COUNT(*) > 40
), partial AS (
  SELECT
    u,
    k0,
    (
      COALESCE(SUM(d15) FILTER(WHERE
        f2), 0) * 262144
    ) AS s10,
    (
      COALESCE(SUM(d16) FILTER(WHERE
        f2), 0) * 525
    ) AS s11,
    (
      COALESCE(SUM(d17) FILTER(WHERE
        f2), 0) * 8388608
    ) AS s12,
    (
      COALESCE(SUM(d18) FILTER(WHERE
        f2), 0) * 16810
    ) AS s13,
    (
      COALESCE(SUM(d19) FILTER(WHERE
        f2), 0) * 33
    ) AS s14,
    COUNT(*) FILTER(WHERE
      f2) AS n0
  FROM (
    SELECT
      u,
      k0,
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
        k0,
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
          k0,
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
          LEAST(GREATEST(CAST(TRUNC(1024e0 / (
            2e0 + EXP(d14) + EXP(-d14)
          ) + 0.5e0) AS BIGINT), 0), 256) AS d17
        FROM (
          SELECT
            u,
            k0,
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
              k0,
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
                k0,
                v0,
                v1,
                f2,
                (
                  2 * v0 - 501
                ) AS d0,
                (
                  2 * v1 - 1
                ) AS d1
              FROM (
                SELECT
                  t1."patient_id" AS u,
                  t1."reason" AS k0,
                  CASE
                    WHEN t1."cost" < 10
                    THEN 1
                    WHEN t1."cost" > 5000
                    THEN 500
                    ELSE CAST(CAST(t1."cost" AS DOUBLE) * 0.1e0 AS BIGINT)
                  END AS v0,
                  CASE
                    WHEN CASE
                      WHEN t1."cost" > CAST(100 AS DECIMAL(8, 2))
                      THEN 1
                      WHEN NOT (
                        t1."cost" > CAST(100 AS DECIMAL(8, 2))
                      )
                      THEN 0
                    END < 0
                    THEN 0
                    WHEN CASE
                      WHEN t1."cost" > CAST(100 AS DECIMAL(8, 2))
                      THEN 1
                      WHEN NOT (
                        t1."cost" > CAST(100 AS DECIMAL(8, 2))
                      )
                      THEN 0
                    END > 1
                    THEN 1
                    ELSE CAST(CASE
                      WHEN t1."cost" > CAST(100 AS DECIMAL(8, 2))
                      THEN 1
                      WHEN NOT (
                        t1."cost" > CAST(100 AS DECIMAL(8, 2))
                      )
                      THEN 0
                    END AS BIGINT)
                  END AS v1,
                  (
                    t1."cost" > CAST(10 AS DECIMAL(8, 2)) AND NOT t1."cost" IS NULL
                  )
                  AND NOT CASE
                    WHEN t1."cost" > CAST(100 AS DECIMAL(8, 2))
                    THEN 1
                    WHEN NOT (
                      t1."cost" > CAST(100 AS DECIMAL(8, 2))
                    )
                    THEN 0
                  END IS NULL AS f2
                FROM "main"."visit" AS t1
              ) AS x
            ) AS x
          ) AS x
        ) AS x
      ) AS x
    ) AS x
  ) AS r
  WHERE
    u IN (
      SELECT
        u
      FROM suspect
    )
  GROUP BY
    u,
    k0
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    CAST(CASE
      WHEN s10 > 351843720888320
      THEN 351843720888320
      WHEN s10 < (
        -351843720888320
      )
      THEN (
        -351843720888320
      )
      ELSE s10
    END AS BIGINT) AS s10,
    CAST(CASE
      WHEN s11 > 351843720888320
      THEN 351843720888320
      WHEN s11 < (
        -351843720888320
      )
      THEN (
        -351843720888320
      )
      ELSE s11
    END AS BIGINT) AS s11,
    CAST(CASE
      WHEN s12 > 263882790666240
      THEN 263882790666240
      WHEN s12 < (
        -263882790666240
      )
      THEN (
        -263882790666240
      )
      ELSE s12
    END AS BIGINT) AS s12,
    CAST(CASE
      WHEN s13 > 263882790666240
      THEN 263882790666240
      WHEN s13 < (
        -263882790666240
      )
      THEN (
        -263882790666240
      )
      ELSE s13
    END AS BIGINT) AS s13,
    CAST(CASE
      WHEN s14 > 263882790666240
      THEN 263882790666240
      WHEN s14 < (
        -263882790666240
      )
      THEN (
        -263882790666240
      )
      ELSE s14
    END AS BIGINT) AS s14,
    n0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE WHEN SUM(clamped.n0) > 40 THEN (
      39.99999999996362e0 / CAST(SUM(clamped.n0) AS DOUBLE)
    ) ELSE NULL END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(clamped.n0) > 40
), released AS (
  SELECT
    k0,
    SUM(s10) AS s10,
    SUM(s11) AS s11,
    SUM(s12) AS s12,
    SUM(s13) AS s13,
    SUM(s14) AS s14
  FROM (
    SELECT
      k0,
      (
        COALESCE(SUM(d15) FILTER(WHERE
          f2), 0) * 262144
      ) AS s10,
      (
        COALESCE(SUM(d16) FILTER(WHERE
          f2), 0) * 525
      ) AS s11,
      (
        COALESCE(SUM(d17) FILTER(WHERE
          f2), 0) * 8388608
      ) AS s12,
      (
        COALESCE(SUM(d18) FILTER(WHERE
          f2), 0) * 16810
      ) AS s13,
      (
        COALESCE(SUM(d19) FILTER(WHERE
          f2), 0) * 33
      ) AS s14
    FROM (
      SELECT
        u,
        k0,
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
          k0,
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
            k0,
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
            LEAST(GREATEST(CAST(TRUNC(1024e0 / (
              2e0 + EXP(d14) + EXP(-d14)
            ) + 0.5e0) AS BIGINT), 0), 256) AS d17
          FROM (
            SELECT
              u,
              k0,
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
                k0,
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
                  k0,
                  v0,
                  v1,
                  f2,
                  (
                    2 * v0 - 501
                  ) AS d0,
                  (
                    2 * v1 - 1
                  ) AS d1
                FROM (
                  SELECT
                    t1."patient_id" AS u,
                    t1."reason" AS k0,
                    CASE
                      WHEN t1."cost" < 10
                      THEN 1
                      WHEN t1."cost" > 5000
                      THEN 500
                      ELSE CAST(CAST(t1."cost" AS DOUBLE) * 0.1e0 AS BIGINT)
                    END AS v0,
                    CASE
                      WHEN CASE
                        WHEN t1."cost" > CAST(100 AS DECIMAL(8, 2))
                        THEN 1
                        WHEN NOT (
                          t1."cost" > CAST(100 AS DECIMAL(8, 2))
                        )
                        THEN 0
                      END < 0
                      THEN 0
                      WHEN CASE
                        WHEN t1."cost" > CAST(100 AS DECIMAL(8, 2))
                        THEN 1
                        WHEN NOT (
                          t1."cost" > CAST(100 AS DECIMAL(8, 2))
                        )
                        THEN 0
                      END > 1
                      THEN 1
                      ELSE CAST(CASE
                        WHEN t1."cost" > CAST(100 AS DECIMAL(8, 2))
                        THEN 1
                        WHEN NOT (
                          t1."cost" > CAST(100 AS DECIMAL(8, 2))
                        )
                        THEN 0
                      END AS BIGINT)
                    END AS v1,
                    (
                      t1."cost" > CAST(10 AS DECIMAL(8, 2)) AND NOT t1."cost" IS NULL
                    )
                    AND NOT CASE
                      WHEN t1."cost" > CAST(100 AS DECIMAL(8, 2))
                      THEN 1
                      WHEN NOT (
                        t1."cost" > CAST(100 AS DECIMAL(8, 2))
                      )
                      THEN 0
                    END IS NULL AS f2
                  FROM "main"."visit" AS t1
                ) AS x
              ) AS x
            ) AS x
          ) AS x
        ) AS x
      ) AS x
    ) AS r
    WHERE
      NOT u IN (
        SELECT
          u
        FROM suspect
      )
    GROUP BY
      k0
    UNION ALL
    SELECT
      clamped.k0,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s10 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s10
        END
      ) AS s10,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s11 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s11
        END
      ) AS s11,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s12 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s12
        END
      ) AS s12,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s13 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s13
        END
      ) AS s13,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s14 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s14
        END
      ) AS s14
    FROM clamped
    LEFT JOIN scale
      ON clamped.u = scale.u
    GROUP BY
      clamped.k0
  ) AS b
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t1_4.x AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('check-up' AS TEXT)),
      (CAST('acute' AS TEXT)),
      (CAST('chronic' AS TEXT))) AS v(x)
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t1_4
)
SELECT
  keys.k0,
  COALESCE(released.s10, 0) AS s10,
  COALESCE(released.s11, 0) AS s11,
  COALESCE(released.s12, 0) AS s12,
  COALESCE(released.s13, 0) AS s13,
  COALESCE(released.s14, 0) AS s14
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- step 4: s15, s16

-- step 5: s17, s18

-- step 6: s19, s20

-- outer
SELECT
  dpsql_release_0.k0 AS "reason",
  [dpsql_release_0.a0] AS "odds_ratios"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
