-- A chart over a dataset adds its numbers up by the same keys: of one number, that number
WITH dataset AS (SELECT day AS d, SUM(cost) AS cost FROM visit GROUP BY day)
SELECT d AS d, SUM(cost) AS "SUM(cost)" FROM dataset GROUP BY d ORDER BY "SUM(cost)" DESC LIMIT 5

-- ----
-- release 0
-- groups: public, at most 2192
--   k0: day (date)
-- one unit moves: l1 None, l2 20000000
--   s0: Σ cost (steps of 1/100, at most 20000000)
-- a0: SUM(cost) (decimal(38,2)) = 1/100 · s0
-- note: each person counts with at most 40 rows
-- note: cost is clipped into [0, 5000]
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
    (
      COALESCE(SUM(v0), 0)
    ) AS s0
  FROM (
    SELECT
      t1."patient_id" AS u,
      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS k0,
      CASE
        WHEN t1."cost" < 0
        THEN 0
        WHEN t1."cost" > 5000
        THEN 500000
        ELSE CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0
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
    k0
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    CAST(CASE WHEN s0 > 20000000 THEN 20000000 ELSE s0 END AS BIGINT) AS s0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(clamped.s0 * clamped.s0) > 400000000000000
      THEN (
        19999999.99998181e0 / SQRT(CAST(SUM(clamped.s0 * clamped.s0) AS DOUBLE))
      )
      ELSE NULL
    END AS m0
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(clamped.s0 * clamped.s0) > 400000000000000
), released AS (
  SELECT
    k0,
    SUM(s0) AS s0
  FROM (
    SELECT
      k0,
      (
        COALESCE(SUM(v0), 0)
      ) AS s0
    FROM (
      SELECT
        t1."patient_id" AS u,
        CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS k0,
        CASE
          WHEN t1."cost" < 0
          THEN 0
          WHEN t1."cost" > 5000
          THEN 500000
          ELSE CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
        END AS v0
      FROM "main"."visit" AS t1
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
          WHEN NOT scale.m0 IS NULL
          THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.m0) AS BIGINT)
          ELSE clamped.s0
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

-- release 0
-- groups: public, at most 2192
--   k0: day (date)
-- one unit moves: l1 100000000, l2 √2000000000000000
--   s0: Σ cost (steps of 1/100, at most 20000000)
-- of the 5 groups with the most s0, picked first: one unit reaches 20000000
-- a0: SUM(cost) (decimal(38,2)) = 1/100 · s0
-- note: each person counts with at most 40 rows in a group
-- note: cost is clipped into [0, 5000]
-- note: rows whose day is outside of 2020-01-01 to 2025-12-31 are in no group
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0
  FROM (
    SELECT
      t1."patient_id" AS u,
      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS k0,
      CASE
        WHEN t1."cost" < 0
        THEN 0
        WHEN t1."cost" > 5000
        THEN 500000
        ELSE CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0
    FROM "main"."visit" AS t1
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS (
  SELECT
    u,
    k0,
    CAST(CASE WHEN s0 > 20000000 THEN 20000000 ELSE s0 END AS BIGINT) AS s0
  FROM partial
), released AS (
  SELECT
    clamped.k0,
    SUM(clamped.s0) AS s0
  FROM clamped
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
WITH dataset AS (
  SELECT
    dpsql_release_0.k0 AS "d",
    dpsql_release_0.a0 AS "cost"
  FROM dpsql_release_0
)
SELECT
  d AS d,
  SUM(cost) AS "SUM(cost)"
FROM dataset
GROUP BY
  d
ORDER BY
  "SUM(cost)" DESC NULLS FIRST
LIMIT 5;
