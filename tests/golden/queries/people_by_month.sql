-- One row of a person and a month: by month, a person has one in each group.
SELECT month, COUNT(*) AS people FROM (
    SELECT patient_id, DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visit GROUP BY patient_id, DATE_TRUNC('month', day)
) AS t WHERE n > 1 GROUP BY month

-- ----
-- release 0
-- groups: public, at most 72
--   k0: month (timestamp)
-- one unit moves: l1 None, l2 √2882303761517117440
--   s0: COUNT(*) (steps of 1/268435456, at most 1697734891)
-- a0: COUNT(*) (bigint) = 1/268435456 · s0, rounded, at least 0
-- note: each person counts with at most 40 rows
-- note: rows whose day is outside of 2020-01-01 to 2025-12-31 are in no group
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t3.u AS u,
      t3.c1 AS k0
    FROM (
      SELECT
        t2.k0 AS c0,
        t2.k1 AS c1,
        t2.a0 AS c2,
        t2.u AS u
      FROM (
        SELECT
          t1."patient_id" AS u,
          t1."patient_id" AS k0,
          DATE_TRUNC('MONTH', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k1,
          COUNT(*) AS a0
        FROM "main"."visit" AS t1
        GROUP BY
          t1."patient_id",
          DATE_TRUNC('MONTH', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END)
      ) AS t2
    ) AS t3
    WHERE
      t3.c2 > CAST(1 AS BIGINT)
  ) AS r
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
      WHEN SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 40
      THEN (
        6.324555320331007e0 / SQRT(CAST(SUM(CAST(clamped.s0 AS INT128) * clamped.s0) AS DOUBLE))
      )
      ELSE NULL
    END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 40
), released AS (
  SELECT
    clamped.k0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 268435456e0) AS BIGINT)
        ELSE LEAST(clamped.s0, 6) * 268435456
      END
    ) AS s0
  FROM clamped
  LEFT JOIN scale
    ON clamped.u = scale.u
  GROUP BY
    clamped.k0
), keys AS (
  SELECT DISTINCT
    CAST(DATE_TRUNC('MONTH', d_t3_t2_t1_2.x) AS TIMESTAMP) AS k0
  FROM (
    SELECT DISTINCT
      CAST(DATE_TRUNC('MONTH', d_t3_t2_t1_2.x) AS DATE) AS x
    FROM (
      SELECT
        CAST(g.n AS DATE) AS x
      FROM GENERATE_SERIES(
        CAST(CAST(CAST('2020-01-01' AS DATE) AS DATE) AS TIMESTAMP),
        CAST(CAST(CAST('2025-12-31' AS DATE) AS DATE) AS TIMESTAMP),
        CAST('0 months 1 days 0 microseconds' AS INTERVAL)
      ) AS g(n)
    ) AS d_t3_t2_t1_2
  ) AS d_t3_t2_t1_2
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
  dpsql_release_0.k0 AS "month",
  dpsql_release_0.a0 AS "people"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
