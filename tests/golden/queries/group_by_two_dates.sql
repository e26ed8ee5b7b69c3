-- Days of which only the month or the year matters are listed as such: 6 years · 72 months, not days · days.
SELECT EXTRACT(YEAR FROM a.day) AS year, DATE_TRUNC('month', b.day) AS month, COUNT(*)
FROM visit AS a JOIN visit AS b ON a.patient_id = b.patient_id AND a.day < b.day
WHERE a.day BETWEEN DATE '2021-03-04' AND DATE '2023-06-30'
GROUP BY 1, 2

-- ----
-- release 0
-- groups: public, at most 216
--   k0: EXTRACT(YEAR FROM day) (decimal(5,0))
--   k1: DATE_TRUNC('MONTH', day) (timestamp)
-- one unit moves: l1 None, l2 1677721600
--   s0: COUNT(*) (steps of 1/1048576, at most 1677721600)
-- a0: COUNT(*) (bigint) = 1/1048576 · s0, rounded, at least 0
-- note: each person counts with at most 1600 rows
-- note: rows whose day is outside of 2020-01-01 to 2025-12-31 are in no group
WITH partial AS (
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
      CAST(DATE_PART('year', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS DECIMAL(5, 0)) AS k0,
      DATE_TRUNC('MONTH', CASE WHEN t2."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t2."day" END) AS k1
    FROM "main"."visit" AS t1
    JOIN "main"."visit" AS t2
      ON t1."patient_id" = t2."patient_id"
    WHERE
      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END < CASE WHEN t2."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t2."day" END
      AND CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END BETWEEN CAST('2021-03-04' AS DATE) AND CAST('2023-06-30' AS DATE)
  ) AS r
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
      WHEN SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 2560000
      THEN (
        1599.9999999985448e0 / SQRT(CAST(SUM(CAST(clamped.s0 AS INT128) * clamped.s0) AS DOUBLE))
      )
      ELSE NULL
    END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 2560000
), released AS (
  SELECT
    clamped.k0,
    clamped.k1,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 1048576e0) AS BIGINT)
        ELSE LEAST(clamped.s0, 1600) * 1048576
      END
    ) AS s0
  FROM clamped
  LEFT JOIN scale
    ON clamped.u = scale.u
  GROUP BY
    clamped.k0,
    clamped.k1
), keys AS (
  SELECT
    p0.k0 AS k0,
    p1.k1 AS k1
  FROM (
    SELECT DISTINCT
      CAST(CAST(DATE_PART('year', d_t1_2.x) AS DECIMAL(5, 0)) AS DECIMAL(5, 0)) AS k0
    FROM (
      SELECT DISTINCT
        CAST(DATE_TRUNC('YEAR', d_t1_2.x) AS DATE) AS x
      FROM (
        SELECT
          CAST(g.n AS DATE) AS x
        FROM GENERATE_SERIES(
          CAST(CAST(CAST('2021-03-04' AS DATE) AS DATE) AS TIMESTAMP),
          CAST(CAST(CAST('2023-06-30' AS DATE) AS DATE) AS TIMESTAMP),
          CAST('0 months 1 days 0 microseconds' AS INTERVAL)
        ) AS g(n)
      ) AS d_t1_2
      WHERE
        d_t1_2.x BETWEEN CAST('2021-03-04' AS DATE) AND CAST('2023-06-30' AS DATE)
    ) AS d_t1_2
  ) AS p0
  CROSS JOIN (
    SELECT DISTINCT
      CAST(DATE_TRUNC('MONTH', d_t2_2.x) AS TIMESTAMP) AS k1
    FROM (
      SELECT DISTINCT
        CAST(DATE_TRUNC('MONTH', d_t2_2.x) AS DATE) AS x
      FROM (
        SELECT
          CAST(g.n AS DATE) AS x
        FROM GENERATE_SERIES(
          CAST(CAST(CAST('2020-01-01' AS DATE) AS DATE) AS TIMESTAMP),
          CAST(CAST(CAST('2025-12-31' AS DATE) AS DATE) AS TIMESTAMP),
          CAST('0 months 1 days 0 microseconds' AS INTERVAL)
        ) AS g(n)
      ) AS d_t2_2
    ) AS d_t2_2
  ) AS p1
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
  dpsql_release_0.k0 AS "year",
  dpsql_release_0.k1 AS "month",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0_1;
