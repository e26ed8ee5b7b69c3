-- The seeds' four counts, as two conditional counts per sex.
SELECT sex, COUNT(*) FILTER (WHERE weight_kg / (height_cm / 100.0) ^ 2 < 25) AS light, COUNT(*) AS n FROM patient GROUP BY sex;

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- one unit moves: l1 1341, l2 √1048745
--   s0: weighted rows 1 (steps of 1/1024, at most 1341)
--   s1: weighted rows 2 (steps of 1/1024, at most 1341)
-- a0: COUNT(*) FILTER(WHERE weight_kg / POWER((height_cm / 100.0), 2) < 25) (bigint) = 1/1024 · s0 + -397/966656 · s1, rounded, at least 0
-- a1: COUNT(*) (bigint) = 1/1024 · s0 + 627/966656 · s1, rounded, at least 0
-- note: 2 counts are measured together, which takes less noise: by sums in which some rows weigh more than others
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH released AS (
  SELECT
    k0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 1024 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 397
    ) AS s0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 944
    ) AS s1
  FROM (
    SELECT
      t1."id" AS u,
      t1."sex" AS k0,
      CASE
        WHEN CASE
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
        END < 25e0
        THEN 0
        ELSE 1
      END AS g0
    FROM "main"."patient" AS t1
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
  dpsql_release_0.a0 AS "light",
  dpsql_release_0.a1 AS "n"
FROM dpsql_release_0;
