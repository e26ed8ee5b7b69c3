WITH suspect AS MATERIALIZED (
  SELECT
    u
  FROM (
    SELECT
      t1."patient_id" AS u
    FROM "public"."visit" AS t1
    WHERE
      CAST(CASE
        WHEN (
          CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
        ) BETWEEN CAST('0001-01-01' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
        THEN CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
      END AS TIME) < CAST('12:00:00' AS TIME)
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
      CAST(DATE_TRUNC(
        'HOUR',
        CAST(CASE
          WHEN (
            CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
          ) BETWEEN CAST('0001-01-01' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
          THEN CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
        END AS TIMESTAMP)
      ) AS TIME) AS k0
    FROM "public"."visit" AS t1
    WHERE
      CAST(CASE
        WHEN (
          CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
        ) BETWEEN CAST('0001-01-01' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
        THEN CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
      END AS TIME) < CAST('12:00:00' AS TIME)
    OFFSET 0
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
      WHEN SUM(CAST(clamped.s0 AS DECIMAL) * clamped.s0) > 1600
      THEN (
        CAST(39.99999999996362e0 AS DOUBLE PRECISION) / SQRT(CAST(SUM(CAST(clamped.s0 AS DECIMAL) * clamped.s0) AS DOUBLE PRECISION))
      )
      ELSE NULL
    END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.s0 AS DECIMAL) * clamped.s0) > 1600
), released AS (
  SELECT
    k0,
    SUM(s0) AS s0
  FROM (
    SELECT
      k0,
      CAST((
        COUNT(*)
      ) AS DECIMAL) * 33554432 AS s0
    FROM (
      SELECT
        t1."patient_id" AS u,
        CAST(DATE_TRUNC(
          'HOUR',
          CAST(CASE
            WHEN (
              CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
            ) BETWEEN CAST('0001-01-01' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
            THEN CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
          END AS TIMESTAMP)
        ) AS TIME) AS k0
      FROM "public"."visit" AS t1
      WHERE
        CAST(CASE
          WHEN (
            CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
          ) BETWEEN CAST('0001-01-01' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
          THEN CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
        END AS TIME) < CAST('12:00:00' AS TIME)
      OFFSET 0
    ) AS r
    WHERE
      NOT EXISTS(
        SELECT
          1
        FROM suspect
        WHERE
          suspect.u = r.u
      )
    GROUP BY
      k0
    UNION ALL
    SELECT
      clamped.k0,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE PRECISION) * scale.rows_factor * 33554432e0) AS BIGINT)
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
    CAST(CAST(DATE_TRUNC(
      'HOUR',
      CAST(CASE
        WHEN (
          CAST(d_t1_2.x AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
        ) BETWEEN CAST('0001-01-01' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
        THEN CAST(d_t1_2.x AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
      END AS TIMESTAMP)
    ) AS TIME) AS TIME) AS k0
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
    CAST(CASE
      WHEN (
        CAST(d_t1_2.x AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
      ) BETWEEN CAST('0001-01-01' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
      THEN CAST(d_t1_2.x AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
    END AS TIME) < CAST('12:00:00' AS TIME)
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON ARRAY[keys.k0] = ARRAY[released.k0]
ORDER BY
  keys.k0;
