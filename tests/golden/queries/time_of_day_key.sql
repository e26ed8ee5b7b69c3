-- Times of day are keys of the hours that they are cut to.
SELECT DATE_TRUNC('hour', day::timestamp + INTERVAL '90 minutes')::time AS t, COUNT(*) FROM visit
WHERE (day::timestamp + INTERVAL '1 hour 30 minutes')::time < '12:00' GROUP BY 1;

-- ----
-- release 0
-- groups: public, at most 2192
--   k0: CAST(DATE_TRUNC('HOUR', CAST(day AS TIMESTAMP) + INTERVAL '90 MINUTES') AS TIME) (time)
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
        CASE
          WHEN (
            CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
          ) BETWEEN CAST('0001-01-01' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
          THEN CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
        END
      ) AS TIME) AS k0
    FROM "main"."visit" AS t1
    WHERE
      CAST(CASE
        WHEN (
          CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
        ) BETWEEN CAST('0001-01-01' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
        THEN CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
      END AS TIME) < CAST('12:00:00' AS TIME)
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
        CAST(DATE_TRUNC(
          'HOUR',
          CASE
            WHEN (
              CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
            ) BETWEEN CAST('0001-01-01' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
            THEN CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
          END
        ) AS TIME) AS k0
      FROM "main"."visit" AS t1
      WHERE
        CAST(CASE
          WHEN (
            CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
          ) BETWEEN CAST('0001-01-01' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
          THEN CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
        END AS TIME) < CAST('12:00:00' AS TIME)
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
    CAST(CAST(DATE_TRUNC(
      'HOUR',
      CASE
        WHEN (
          CAST(d_t1_2.x AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
        ) BETWEEN CAST('0001-01-01' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
        THEN CAST(d_t1_2.x AS TIMESTAMP) + CAST('0 months 0 days 5400000000 microseconds' AS INTERVAL)
      END
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
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "t",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
