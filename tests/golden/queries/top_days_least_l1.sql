-- The smallest groups. A person is in as many groups as are shown, at most
-- clipped in l1
SELECT day, COUNT(DISTINCT patient_id) FROM visit GROUP BY 1 ORDER BY 2 LIMIT 3

-- ----
-- release 0
-- groups: public, at most 2192
--   k0: day (date)
-- one unit moves: l1 1342177280, l2 1342177280
--   s0: COUNT(DISTINCT patient_id) (steps of 1/33554432, at most 1342177280)
-- a0: COUNT(DISTINCT patient_id) (bigint) = 1/33554432 · s0, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
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
      t1."patient_id" AS u,
      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS k0
    FROM "main"."visit" AS t1
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    CASE WHEN s0 > 0 THEN 1 ELSE 0 END AS s0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE WHEN SUM(clamped.s0) > 40 THEN (
      39.99999999996362e0 / CAST(SUM(clamped.s0) AS DOUBLE)
    ) ELSE NULL END AS people_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(clamped.s0) > 40
), released AS (
  SELECT
    clamped.k0,
    SUM(
      CASE
        WHEN NOT scale.people_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.people_factor * 33554432e0) AS BIGINT)
        ELSE clamped.s0 * 33554432
      END
    ) AS s0
  FROM clamped
  LEFT JOIN scale
    ON clamped.u = scale.u
  GROUP BY
    clamped.k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t1_2.x AS DATE) AS k0
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
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "day",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_present_0
ORDER BY
  2
LIMIT 3;
