-- Ages are compared as intervals are, and have days beyond their months.
SELECT EXTRACT(DAY FROM AGE(DATE '2025-12-31', day)) AS days, COUNT(*) FROM visit
WHERE AGE(DATE '2025-12-31', day) < INTERVAL '1 year 10 days' GROUP BY 1;

-- ----
-- release 0
-- groups: public, at most 64
--   k0: EXTRACT(DAY FROM AGE(CAST('2025-12-31' AS DATE), day)) (decimal(9,0))
-- one unit moves: l1 None, l2 1342177280
--   s0: COUNT(*) (steps of 1/33554432, at most 1342177280)
-- a0: COUNT(*) (bigint) = 1/33554432 · s0, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: rows whose day is outside of 2020-01-01 to 2025-12-31 are in no group
WITH suspect AS MATERIALIZED (
  SELECT
    u
  FROM (
    SELECT
      t1."patient_id" AS u
    FROM "main"."visit" AS t1
    WHERE
      (
        (
          CAST(CAST((
            (
              (
                CAST(DATE_PART('year', CAST('2025-12-31' AS DATE)) AS INT) * 12 + CAST(DATE_PART('month', CAST('2025-12-31' AS DATE)) AS INT)
              ) - (
                CAST(DATE_PART('year', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS INT) * 12 + CAST(DATE_PART('month', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS INT)
              )
            ) + CASE
              WHEN CAST('2025-12-31' AS DATE) >= CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END
              AND (
                (
                  CAST(DATE_PART('day', CAST('2025-12-31' AS DATE)) AS BIGINT) - 1
                ) * 86400000000
              ) < (
                (
                  CAST(DATE_PART('day', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS BIGINT) - 1
                ) * 86400000000
              )
              THEN (
                -1
              )
              WHEN CAST('2025-12-31' AS DATE) < CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END
              AND (
                (
                  CAST(DATE_PART('day', CAST('2025-12-31' AS DATE)) AS BIGINT) - 1
                ) * 86400000000
              ) > (
                (
                  CAST(DATE_PART('day', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS BIGINT) - 1
                ) * 86400000000
              )
              THEN 1
              ELSE 0
            END
          ) AS INT) AS BIGINT) * 2592000000000
        ) + (
          (
            (
              EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
            ) - (
              EPOCH_US(
                CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
              ) - EPOCH_US(
                DATE_TRUNC(
                  'MONTH',
                  CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                )
              )
            )
          ) + CASE
            WHEN CAST('2025-12-31 00:00:00' AS TIMESTAMP) >= CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
            AND (
              EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
            ) < (
              EPOCH_US(
                CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
              ) - EPOCH_US(
                DATE_TRUNC(
                  'MONTH',
                  CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                )
              )
            )
            THEN (
              EPOCH_US(
                (
                  DATE_TRUNC(
                    'MONTH',
                    CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                  ) + CAST('1 months 0 days 0 microseconds' AS INTERVAL)
                )
              ) - EPOCH_US(
                DATE_TRUNC(
                  'MONTH',
                  CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                )
              )
            )
            WHEN CAST('2025-12-31 00:00:00' AS TIMESTAMP) < CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
            AND (
              EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
            ) > (
              EPOCH_US(
                CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
              ) - EPOCH_US(
                DATE_TRUNC(
                  'MONTH',
                  CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                )
              )
            )
            THEN -(
              EPOCH_US(
                (
                  DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)) + CAST('1 months 0 days 0 microseconds' AS INTERVAL)
                )
              ) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
            )
            ELSE 0
          END
        )
      ) < 31968000000000
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
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."patient_id" AS u,
      CAST((
        (
          (
            EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
          ) - (
            EPOCH_US(
              CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
            ) - EPOCH_US(
              DATE_TRUNC(
                'MONTH',
                CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
              )
            )
          )
        ) + CASE
          WHEN CAST('2025-12-31 00:00:00' AS TIMESTAMP) >= CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
          AND (
            EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
          ) < (
            EPOCH_US(
              CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
            ) - EPOCH_US(
              DATE_TRUNC(
                'MONTH',
                CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
              )
            )
          )
          THEN (
            EPOCH_US(
              (
                DATE_TRUNC(
                  'MONTH',
                  CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                ) + CAST('1 months 0 days 0 microseconds' AS INTERVAL)
              )
            ) - EPOCH_US(
              DATE_TRUNC(
                'MONTH',
                CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
              )
            )
          )
          WHEN CAST('2025-12-31 00:00:00' AS TIMESTAMP) < CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
          AND (
            EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
          ) > (
            EPOCH_US(
              CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
            ) - EPOCH_US(
              DATE_TRUNC(
                'MONTH',
                CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
              )
            )
          )
          THEN -(
            EPOCH_US(
              (
                DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)) + CAST('1 months 0 days 0 microseconds' AS INTERVAL)
              )
            ) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
          )
          ELSE 0
        END
      ) // 86400000000 AS DECIMAL(9, 0)) AS k0
    FROM "main"."visit" AS t1
    WHERE
      (
        (
          CAST(CAST((
            (
              (
                CAST(DATE_PART('year', CAST('2025-12-31' AS DATE)) AS INT) * 12 + CAST(DATE_PART('month', CAST('2025-12-31' AS DATE)) AS INT)
              ) - (
                CAST(DATE_PART('year', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS INT) * 12 + CAST(DATE_PART('month', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS INT)
              )
            ) + CASE
              WHEN CAST('2025-12-31' AS DATE) >= CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END
              AND (
                (
                  CAST(DATE_PART('day', CAST('2025-12-31' AS DATE)) AS BIGINT) - 1
                ) * 86400000000
              ) < (
                (
                  CAST(DATE_PART('day', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS BIGINT) - 1
                ) * 86400000000
              )
              THEN (
                -1
              )
              WHEN CAST('2025-12-31' AS DATE) < CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END
              AND (
                (
                  CAST(DATE_PART('day', CAST('2025-12-31' AS DATE)) AS BIGINT) - 1
                ) * 86400000000
              ) > (
                (
                  CAST(DATE_PART('day', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS BIGINT) - 1
                ) * 86400000000
              )
              THEN 1
              ELSE 0
            END
          ) AS INT) AS BIGINT) * 2592000000000
        ) + (
          (
            (
              EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
            ) - (
              EPOCH_US(
                CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
              ) - EPOCH_US(
                DATE_TRUNC(
                  'MONTH',
                  CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                )
              )
            )
          ) + CASE
            WHEN CAST('2025-12-31 00:00:00' AS TIMESTAMP) >= CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
            AND (
              EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
            ) < (
              EPOCH_US(
                CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
              ) - EPOCH_US(
                DATE_TRUNC(
                  'MONTH',
                  CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                )
              )
            )
            THEN (
              EPOCH_US(
                (
                  DATE_TRUNC(
                    'MONTH',
                    CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                  ) + CAST('1 months 0 days 0 microseconds' AS INTERVAL)
                )
              ) - EPOCH_US(
                DATE_TRUNC(
                  'MONTH',
                  CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                )
              )
            )
            WHEN CAST('2025-12-31 00:00:00' AS TIMESTAMP) < CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
            AND (
              EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
            ) > (
              EPOCH_US(
                CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
              ) - EPOCH_US(
                DATE_TRUNC(
                  'MONTH',
                  CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                )
              )
            )
            THEN -(
              EPOCH_US(
                (
                  DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)) + CAST('1 months 0 days 0 microseconds' AS INTERVAL)
                )
              ) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
            )
            ELSE 0
          END
        )
      ) < 31968000000000
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
    s0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 1600
      THEN (
        39.99999999996362e0 / SQRT(CAST(SUM(CAST(clamped.s0 AS INT128) * clamped.s0) AS DOUBLE))
      )
      ELSE NULL
    END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 1600
), released AS (
  SELECT
    k0,
    SUM(s0) AS s0
  FROM (
    SELECT
      k0,
      CAST((
        COUNT(*)
      ) AS INT128) * 33554432 AS s0
    FROM (
      SELECT
        t1."patient_id" AS u,
        CAST((
          (
            (
              EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
            ) - (
              EPOCH_US(
                CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
              ) - EPOCH_US(
                DATE_TRUNC(
                  'MONTH',
                  CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                )
              )
            )
          ) + CASE
            WHEN CAST('2025-12-31 00:00:00' AS TIMESTAMP) >= CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
            AND (
              EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
            ) < (
              EPOCH_US(
                CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
              ) - EPOCH_US(
                DATE_TRUNC(
                  'MONTH',
                  CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                )
              )
            )
            THEN (
              EPOCH_US(
                (
                  DATE_TRUNC(
                    'MONTH',
                    CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                  ) + CAST('1 months 0 days 0 microseconds' AS INTERVAL)
                )
              ) - EPOCH_US(
                DATE_TRUNC(
                  'MONTH',
                  CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                )
              )
            )
            WHEN CAST('2025-12-31 00:00:00' AS TIMESTAMP) < CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
            AND (
              EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
            ) > (
              EPOCH_US(
                CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
              ) - EPOCH_US(
                DATE_TRUNC(
                  'MONTH',
                  CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                )
              )
            )
            THEN -(
              EPOCH_US(
                (
                  DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)) + CAST('1 months 0 days 0 microseconds' AS INTERVAL)
                )
              ) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
            )
            ELSE 0
          END
        ) // 86400000000 AS DECIMAL(9, 0)) AS k0
      FROM "main"."visit" AS t1
      WHERE
        (
          (
            CAST(CAST((
              (
                (
                  CAST(DATE_PART('year', CAST('2025-12-31' AS DATE)) AS INT) * 12 + CAST(DATE_PART('month', CAST('2025-12-31' AS DATE)) AS INT)
                ) - (
                  CAST(DATE_PART('year', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS INT) * 12 + CAST(DATE_PART('month', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS INT)
                )
              ) + CASE
                WHEN CAST('2025-12-31' AS DATE) >= CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END
                AND (
                  (
                    CAST(DATE_PART('day', CAST('2025-12-31' AS DATE)) AS BIGINT) - 1
                  ) * 86400000000
                ) < (
                  (
                    CAST(DATE_PART('day', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS BIGINT) - 1
                  ) * 86400000000
                )
                THEN (
                  -1
                )
                WHEN CAST('2025-12-31' AS DATE) < CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END
                AND (
                  (
                    CAST(DATE_PART('day', CAST('2025-12-31' AS DATE)) AS BIGINT) - 1
                  ) * 86400000000
                ) > (
                  (
                    CAST(DATE_PART('day', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS BIGINT) - 1
                  ) * 86400000000
                )
                THEN 1
                ELSE 0
              END
            ) AS INT) AS BIGINT) * 2592000000000
          ) + (
            (
              (
                EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
              ) - (
                EPOCH_US(
                  CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                ) - EPOCH_US(
                  DATE_TRUNC(
                    'MONTH',
                    CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                  )
                )
              )
            ) + CASE
              WHEN CAST('2025-12-31 00:00:00' AS TIMESTAMP) >= CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
              AND (
                EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
              ) < (
                EPOCH_US(
                  CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                ) - EPOCH_US(
                  DATE_TRUNC(
                    'MONTH',
                    CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                  )
                )
              )
              THEN (
                EPOCH_US(
                  (
                    DATE_TRUNC(
                      'MONTH',
                      CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                    ) + CAST('1 months 0 days 0 microseconds' AS INTERVAL)
                  )
                ) - EPOCH_US(
                  DATE_TRUNC(
                    'MONTH',
                    CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                  )
                )
              )
              WHEN CAST('2025-12-31 00:00:00' AS TIMESTAMP) < CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
              AND (
                EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
              ) > (
                EPOCH_US(
                  CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                ) - EPOCH_US(
                  DATE_TRUNC(
                    'MONTH',
                    CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                  )
                )
              )
              THEN -(
                EPOCH_US(
                  (
                    DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)) + CAST('1 months 0 days 0 microseconds' AS INTERVAL)
                  )
                ) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
              )
              ELSE 0
            END
          )
        ) < 31968000000000
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
          THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 33554432e0) AS BIGINT)
          ELSE LEAST(clamped.s0, 40) * 33554432
        END
      ) AS s0
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
    CAST(CAST((
      (
        (
          EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
        ) - (
          EPOCH_US(CAST(d_t1_2.x AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST(d_t1_2.x AS TIMESTAMP)))
        )
      ) + CASE
        WHEN CAST('2025-12-31 00:00:00' AS TIMESTAMP) >= CAST(d_t1_2.x AS TIMESTAMP)
        AND (
          EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
        ) < (
          EPOCH_US(CAST(d_t1_2.x AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST(d_t1_2.x AS TIMESTAMP)))
        )
        THEN (
          EPOCH_US((
            DATE_TRUNC('MONTH', CAST(d_t1_2.x AS TIMESTAMP)) + CAST('1 months 0 days 0 microseconds' AS INTERVAL)
          )) - EPOCH_US(DATE_TRUNC('MONTH', CAST(d_t1_2.x AS TIMESTAMP)))
        )
        WHEN CAST('2025-12-31 00:00:00' AS TIMESTAMP) < CAST(d_t1_2.x AS TIMESTAMP)
        AND (
          EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
        ) > (
          EPOCH_US(CAST(d_t1_2.x AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST(d_t1_2.x AS TIMESTAMP)))
        )
        THEN -(
          EPOCH_US(
            (
              DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)) + CAST('1 months 0 days 0 microseconds' AS INTERVAL)
            )
          ) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
        )
        ELSE 0
      END
    ) // 86400000000 AS DECIMAL(9, 0)) AS DECIMAL(9, 0)) AS k0
  FROM (
    SELECT
      CAST(g.n AS DATE) AS x
    FROM GENERATE_SERIES(
      CAST(CAST(CAST('2020-01-01' AS DATE) AS DATE) AS TIMESTAMP),
      CAST(CAST(CAST('2025-12-31' AS DATE) AS DATE) AS TIMESTAMP),
      CAST('0 months 1 days 0 microseconds' AS INTERVAL)
    ) AS g(n)
  ) AS d_t1_2
  WHERE
    (
      (
        CAST(CAST((
          (
            (
              CAST(DATE_PART('year', CAST('2025-12-31' AS DATE)) AS INT) * 12 + CAST(DATE_PART('month', CAST('2025-12-31' AS DATE)) AS INT)
            ) - (
              CAST(DATE_PART('year', d_t1_2.x) AS INT) * 12 + CAST(DATE_PART('month', d_t1_2.x) AS INT)
            )
          ) + CASE
            WHEN CAST('2025-12-31' AS DATE) >= d_t1_2.x
            AND (
              (
                CAST(DATE_PART('day', CAST('2025-12-31' AS DATE)) AS BIGINT) - 1
              ) * 86400000000
            ) < (
              (
                CAST(DATE_PART('day', d_t1_2.x) AS BIGINT) - 1
              ) * 86400000000
            )
            THEN (
              -1
            )
            WHEN CAST('2025-12-31' AS DATE) < d_t1_2.x
            AND (
              (
                CAST(DATE_PART('day', CAST('2025-12-31' AS DATE)) AS BIGINT) - 1
              ) * 86400000000
            ) > (
              (
                CAST(DATE_PART('day', d_t1_2.x) AS BIGINT) - 1
              ) * 86400000000
            )
            THEN 1
            ELSE 0
          END
        ) AS INT) AS BIGINT) * 2592000000000
      ) + (
        (
          (
            EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
          ) - (
            EPOCH_US(CAST(d_t1_2.x AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST(d_t1_2.x AS TIMESTAMP)))
          )
        ) + CASE
          WHEN CAST('2025-12-31 00:00:00' AS TIMESTAMP) >= CAST(d_t1_2.x AS TIMESTAMP)
          AND (
            EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
          ) < (
            EPOCH_US(CAST(d_t1_2.x AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST(d_t1_2.x AS TIMESTAMP)))
          )
          THEN (
            EPOCH_US((
              DATE_TRUNC('MONTH', CAST(d_t1_2.x AS TIMESTAMP)) + CAST('1 months 0 days 0 microseconds' AS INTERVAL)
            )) - EPOCH_US(DATE_TRUNC('MONTH', CAST(d_t1_2.x AS TIMESTAMP)))
          )
          WHEN CAST('2025-12-31 00:00:00' AS TIMESTAMP) < CAST(d_t1_2.x AS TIMESTAMP)
          AND (
            EPOCH_US(CAST('2025-12-31 00:00:00' AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
          ) > (
            EPOCH_US(CAST(d_t1_2.x AS TIMESTAMP)) - EPOCH_US(DATE_TRUNC('MONTH', CAST(d_t1_2.x AS TIMESTAMP)))
          )
          THEN -(
            EPOCH_US(
              (
                DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)) + CAST('1 months 0 days 0 microseconds' AS INTERVAL)
              )
            ) - EPOCH_US(DATE_TRUNC('MONTH', CAST('2025-12-31 00:00:00' AS TIMESTAMP)))
          )
          ELSE 0
        END
      )
    ) < 31968000000000
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "days",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
