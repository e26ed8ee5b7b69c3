SELECT sex, AVG(bmi) AS bmi FROM (SELECT sex, GREATEST(10, LEAST(60, weight_kg / (height_cm / 100.0) ^ 2)) AS bmi FROM patient WHERE height_cm > 100) AS t GROUP BY sex;

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- one unit moves: l1 1163628, l2 1163628
--   s0: Σ(bmi - 10) (steps of 1/4096, at most 1163628)
--   s1: Σ(294.089 - bmi) (steps of 1/4096, at most 1163628)
-- a0: AVG(bmi) (double) = 10 + 290907/1024 · s0 / (s0 + s1)
-- note: bmi is clipped into [10, 294.089]
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH released AS (
  SELECT
    k0,
    (
      COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * (
        -40960
      )
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * 1204588
    ) AS s1
  FROM (
    SELECT
      t1."id" AS u,
      t1."sex" AS k0,
      CASE
        WHEN GREATEST(
          10e0,
          LEAST(
            60e0,
            CASE
              WHEN (
                CASE WHEN t1."weight_kg" BETWEEN (
                  -1.7976931348623157e308
                ) AND 1.7976931348623157e308 THEN t1."weight_kg" END / CASE
                  WHEN POWER(
                    CASE
                      WHEN (
                        CAST(t1."height_cm" AS DOUBLE) / 100e0
                      ) BETWEEN (
                        -1.7976931348623157e308
                      ) AND 1.7976931348623157e308
                      THEN CAST(t1."height_cm" AS DOUBLE) / 100e0
                    END,
                    2e0
                  ) BETWEEN (
                    -1.7976931348623157e308
                  ) AND 1.7976931348623157e308
                  THEN POWER(
                    CASE
                      WHEN (
                        CAST(t1."height_cm" AS DOUBLE) / 100e0
                      ) BETWEEN (
                        -1.7976931348623157e308
                      ) AND 1.7976931348623157e308
                      THEN CAST(t1."height_cm" AS DOUBLE) / 100e0
                    END,
                    2e0
                  )
                END
              ) BETWEEN (
                -1.7976931348623157e308
              ) AND 1.7976931348623157e308
              THEN CASE WHEN t1."weight_kg" BETWEEN (
                -1.7976931348623157e308
              ) AND 1.7976931348623157e308 THEN t1."weight_kg" END / CASE
                WHEN POWER(
                  CASE
                    WHEN (
                      CAST(t1."height_cm" AS DOUBLE) / 100e0
                    ) BETWEEN (
                      -1.7976931348623157e308
                    ) AND 1.7976931348623157e308
                    THEN CAST(t1."height_cm" AS DOUBLE) / 100e0
                  END,
                  2e0
                ) BETWEEN (
                  -1.7976931348623157e308
                ) AND 1.7976931348623157e308
                THEN POWER(
                  CASE
                    WHEN (
                      CAST(t1."height_cm" AS DOUBLE) / 100e0
                    ) BETWEEN (
                      -1.7976931348623157e308
                    ) AND 1.7976931348623157e308
                    THEN CAST(t1."height_cm" AS DOUBLE) / 100e0
                  END,
                  2e0
                )
              END
            END
          )
        ) < 10e0
        THEN 40960
        WHEN GREATEST(
          10e0,
          LEAST(
            60e0,
            CASE
              WHEN (
                CASE WHEN t1."weight_kg" BETWEEN (
                  -1.7976931348623157e308
                ) AND 1.7976931348623157e308 THEN t1."weight_kg" END / CASE
                  WHEN POWER(
                    CASE
                      WHEN (
                        CAST(t1."height_cm" AS DOUBLE) / 100e0
                      ) BETWEEN (
                        -1.7976931348623157e308
                      ) AND 1.7976931348623157e308
                      THEN CAST(t1."height_cm" AS DOUBLE) / 100e0
                    END,
                    2e0
                  ) BETWEEN (
                    -1.7976931348623157e308
                  ) AND 1.7976931348623157e308
                  THEN POWER(
                    CASE
                      WHEN (
                        CAST(t1."height_cm" AS DOUBLE) / 100e0
                      ) BETWEEN (
                        -1.7976931348623157e308
                      ) AND 1.7976931348623157e308
                      THEN CAST(t1."height_cm" AS DOUBLE) / 100e0
                    END,
                    2e0
                  )
                END
              ) BETWEEN (
                -1.7976931348623157e308
              ) AND 1.7976931348623157e308
              THEN CASE WHEN t1."weight_kg" BETWEEN (
                -1.7976931348623157e308
              ) AND 1.7976931348623157e308 THEN t1."weight_kg" END / CASE
                WHEN POWER(
                  CASE
                    WHEN (
                      CAST(t1."height_cm" AS DOUBLE) / 100e0
                    ) BETWEEN (
                      -1.7976931348623157e308
                    ) AND 1.7976931348623157e308
                    THEN CAST(t1."height_cm" AS DOUBLE) / 100e0
                  END,
                  2e0
                ) BETWEEN (
                  -1.7976931348623157e308
                ) AND 1.7976931348623157e308
                THEN POWER(
                  CASE
                    WHEN (
                      CAST(t1."height_cm" AS DOUBLE) / 100e0
                    ) BETWEEN (
                      -1.7976931348623157e308
                    ) AND 1.7976931348623157e308
                    THEN CAST(t1."height_cm" AS DOUBLE) / 100e0
                  END,
                  2e0
                )
              END
            END
          )
        ) > 294.0888671875e0
        THEN 1204588
        ELSE CAST(GREATEST(
          10e0,
          LEAST(
            60e0,
            CASE
              WHEN (
                CASE WHEN t1."weight_kg" BETWEEN (
                  -1.7976931348623157e308
                ) AND 1.7976931348623157e308 THEN t1."weight_kg" END / CASE
                  WHEN POWER(
                    CASE
                      WHEN (
                        CAST(t1."height_cm" AS DOUBLE) / 100e0
                      ) BETWEEN (
                        -1.7976931348623157e308
                      ) AND 1.7976931348623157e308
                      THEN CAST(t1."height_cm" AS DOUBLE) / 100e0
                    END,
                    2e0
                  ) BETWEEN (
                    -1.7976931348623157e308
                  ) AND 1.7976931348623157e308
                  THEN POWER(
                    CASE
                      WHEN (
                        CAST(t1."height_cm" AS DOUBLE) / 100e0
                      ) BETWEEN (
                        -1.7976931348623157e308
                      ) AND 1.7976931348623157e308
                      THEN CAST(t1."height_cm" AS DOUBLE) / 100e0
                    END,
                    2e0
                  )
                END
              ) BETWEEN (
                -1.7976931348623157e308
              ) AND 1.7976931348623157e308
              THEN CASE WHEN t1."weight_kg" BETWEEN (
                -1.7976931348623157e308
              ) AND 1.7976931348623157e308 THEN t1."weight_kg" END / CASE
                WHEN POWER(
                  CASE
                    WHEN (
                      CAST(t1."height_cm" AS DOUBLE) / 100e0
                    ) BETWEEN (
                      -1.7976931348623157e308
                    ) AND 1.7976931348623157e308
                    THEN CAST(t1."height_cm" AS DOUBLE) / 100e0
                  END,
                  2e0
                ) BETWEEN (
                  -1.7976931348623157e308
                ) AND 1.7976931348623157e308
                THEN POWER(
                  CASE
                    WHEN (
                      CAST(t1."height_cm" AS DOUBLE) / 100e0
                    ) BETWEEN (
                      -1.7976931348623157e308
                    ) AND 1.7976931348623157e308
                    THEN CAST(t1."height_cm" AS DOUBLE) / 100e0
                  END,
                  2e0
                )
              END
            END
          )
        ) * 4096e0 AS BIGINT)
      END AS v0
    FROM "main"."patient" AS t1
    WHERE
      t1."height_cm" > 100
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t1_1.x AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('F' AS TEXT)),
      (CAST('M' AS TEXT))) AS v(x)
  ) AS d_t1_1
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "sex",
  dpsql_release_0.a0 AS "bmi"
FROM dpsql_release_0;
