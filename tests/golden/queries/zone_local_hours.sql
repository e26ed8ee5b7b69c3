-- Local days and hours: an instant is a plain timestamp of UTC until a clock is looked at.
-- in the zone Europe/Berlin
SELECT EXTRACT(HOUR FROM day::timestamp AT TIME ZONE 'UTC') AS hour,
    DATE_TRUNC('month', day::timestamp AT TIME ZONE 'UTC' + INTERVAL '36 hours') < '2025-01-01' AS early, COUNT(*)
FROM visit GROUP BY 1, 2;

-- ----
-- release 0
-- groups: public, at most 75
--   k0: EXTRACT(HOUR FROM CAST(day AS TIMESTAMP) AT TIME ZONE 'UTC') (decimal(5,0))
--   k1: DATE_TRUNC('MONTH', CAST(day AS TIMESTAMP) AT TIME ZONE 'UTC' + INTERVAL '36 HOURS') < '2025-01-01' (boolean)
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
  ) AS r
  GROUP BY
    u
  HAVING
    COUNT(*) > 40
), partial AS (
  SELECT
    u,
    k0,
    k1,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."patient_id" AS u,
      CAST(DATE_PART(
        'hour',
        CASE
          WHEN CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 22:59:59.999999' AS TIMESTAMP)
          THEN (
            (
              CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) AT TIME ZONE 'UTC'
            ) AT TIME ZONE 'Europe/Berlin'
          )
        END
      ) AS DECIMAL(5, 0)) AS k0,
      CASE
        WHEN (
          CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 129600000000 microseconds' AS INTERVAL)
        ) BETWEEN CAST('0001-01-01' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
        THEN CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 129600000000 microseconds' AS INTERVAL)
      END < CAST('2024-12-31 23:00:00' AS TIMESTAMP) AS k1
    FROM "main"."visit" AS t1
  ) AS r
  WHERE
    u IN (
      SELECT
        u
      FROM suspect
    )
  GROUP BY
    u,
    k0,
    k1
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    k1,
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
    k1,
    SUM(s0) AS s0
  FROM (
    SELECT
      k0,
      k1,
      CAST((
        COUNT(*)
      ) AS INT128) * 33554432 AS s0
    FROM (
      SELECT
        t1."patient_id" AS u,
        CAST(DATE_PART(
          'hour',
          CASE
            WHEN CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 22:59:59.999999' AS TIMESTAMP)
            THEN (
              (
                CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) AT TIME ZONE 'UTC'
              ) AT TIME ZONE 'Europe/Berlin'
            )
          END
        ) AS DECIMAL(5, 0)) AS k0,
        CASE
          WHEN (
            CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 129600000000 microseconds' AS INTERVAL)
          ) BETWEEN CAST('0001-01-01' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
          THEN CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 129600000000 microseconds' AS INTERVAL)
        END < CAST('2024-12-31 23:00:00' AS TIMESTAMP) AS k1
      FROM "main"."visit" AS t1
    ) AS r
    WHERE
      NOT u IN (
        SELECT
          u
        FROM suspect
      )
    GROUP BY
      k0,
      k1
    UNION ALL
    SELECT
      clamped.k0,
      clamped.k1,
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
      clamped.k0,
      clamped.k1
  ) AS b
  GROUP BY
    k0,
    k1
), keys AS (
  SELECT DISTINCT
    CAST(CAST(DATE_PART(
      'hour',
      CASE
        WHEN CAST(d_t1_2.x AS TIMESTAMP) BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 22:59:59.999999' AS TIMESTAMP)
        THEN (
          (
            CAST(d_t1_2.x AS TIMESTAMP) AT TIME ZONE 'UTC'
          ) AT TIME ZONE 'Europe/Berlin'
        )
      END
    ) AS DECIMAL(5, 0)) AS DECIMAL(5, 0)) AS k0,
    CAST(CASE
      WHEN (
        CAST(d_t1_2.x AS TIMESTAMP) + CAST('0 months 0 days 129600000000 microseconds' AS INTERVAL)
      ) BETWEEN CAST('0001-01-01' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
      THEN CAST(d_t1_2.x AS TIMESTAMP) + CAST('0 months 0 days 129600000000 microseconds' AS INTERVAL)
    END < CAST('2024-12-31 23:00:00' AS TIMESTAMP) AS BOOLEAN) AS k1
  FROM (
    SELECT
      CAST(g.n AS DATE) AS x
    FROM GENERATE_SERIES(
      CAST(CAST(CAST('2020-01-01' AS DATE) AS DATE) AS TIMESTAMP),
      CAST(CAST(CAST('2025-12-31' AS DATE) AS DATE) AS TIMESTAMP),
      CAST('0 months 1 days 0 microseconds' AS INTERVAL)
    ) AS g(n)
  ) AS d_t1_2
)
SELECT
  keys.k0,
  keys.k1,
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0 AND keys.k1 IS NOT DISTINCT FROM released.k1
ORDER BY
  keys.k0,
  keys.k1;

-- outer
SELECT
  dpsql_release_0.k0 AS "hour",
  dpsql_release_0.k1 AS "early",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0_1;
