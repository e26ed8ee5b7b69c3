-- Beside months by years of birth, the rows of each month and of each year of birth alone are measured.
-- with marginals
SELECT DATE_TRUNC('month', day) AS month, p.birth_year, COUNT(*) AS n, AVG(cost) AS cost
FROM visit JOIN patient AS p ON p.id = patient_id
GROUP BY 1, 2

-- ----
-- release 0
-- groups: public, at most 9216
--   k0: DATE_TRUNC('MONTH', day) (timestamp)
--   k1: birth_year (smallint)
-- one unit moves: l1 None, l2 √3078400000000000000
--   s0: rows, each without cost as 9/16 (steps of 1/32000000, at most 1754536975)
--   s1: Σ(2·cost - 5000) (steps of 1/6000, at most 1754536975)
--   s2: rows without cost (steps of 1/40000000, at most 1754536975)
-- a0: COUNT(*) (bigint) = 1/32000000 · s0 + 7/640000000 · s2, rounded, at least 0
-- a1: AVG(cost) (double) = 0 + 5000 · a / (a + b), a = 1/64000000 · s0 + -9/1280000000 · s2 + 1/60000000 · s1, b = 1/64000000 · s0 + -9/1280000000 · s2 + -1/60000000 · s1
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost is clipped into [0, 5000]
-- note: rows whose day is outside of 2020-01-01 to 2025-12-31 are in no group
-- note: rows whose birth_year is outside of 1900 to 2026 are in no group
WITH partial AS (
  SELECT
    u,
    k0,
    k1,
    (
      CAST(COUNT(*) AS INT128) * 4500000 + CAST(COUNT(v0) AS INT128) * 3500000
    ) AS s0,
    (
      COALESCE(SUM(v0), 0) * 30 + CAST(COUNT(v0) AS INT128) * (
        -7500000
      )
    ) AS s1,
    (
      CAST(COUNT(*) AS INT128) * 10000000 + CAST(COUNT(v0) AS INT128) * (
        -10000000
      )
    ) AS s2,
    COUNT(*) AS n0
  FROM (
    SELECT
      t2."id" AS u,
      DATE_TRUNC('MONTH', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0,
      t2."birth_year" AS k1,
      CASE
        WHEN t1."cost" < 0
        THEN 0
        WHEN t1."cost" > 5000
        THEN 500000
        ELSE CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0
    FROM "main"."visit" AS t1
    JOIN "main"."patient" AS t2
      ON t1."patient_id" = t2."id"
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
    CAST(CASE WHEN s0 > 449161464832 THEN 449161464832 WHEN s0 < (
      -449161464832
    ) THEN (
      -449161464832
    ) ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 449161464832 THEN 449161464832 WHEN s1 < (
      -449161464832
    ) THEN (
      -449161464832
    ) ELSE s1 END AS BIGINT) AS s1,
    CAST(CASE WHEN s2 > 449161464832 THEN 449161464832 WHEN s2 < (
      -449161464832
    ) THEN (
      -449161464832
    ) ELSE s2 END AS BIGINT) AS s2,
    n0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(CAST(clamped.n0 AS INT128) * clamped.n0) > 1600
      THEN (
        39.99999999996362e0 / SQRT(CAST(SUM(CAST(clamped.n0 AS INT128) * clamped.n0) AS DOUBLE))
      )
      ELSE NULL
    END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.n0 AS INT128) * clamped.n0) > 1600
), released AS (
  SELECT
    clamped.k0,
    clamped.k1,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 4e0) AS BIGINT)
        ELSE clamped.s0 * 4
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s1 AS DOUBLE) * scale.rows_factor * 4e0) AS BIGINT)
        ELSE clamped.s1 * 4
      END
    ) AS s1,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s2 AS DOUBLE) * scale.rows_factor * 4e0) AS BIGINT)
        ELSE clamped.s2 * 4
      END
    ) AS s2
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
      CAST(DATE_TRUNC('MONTH', d_t1_2.x) AS TIMESTAMP) AS k0
    FROM (
      SELECT DISTINCT
        CAST(DATE_TRUNC('MONTH', d_t1_2.x) AS DATE) AS x
      FROM (
        SELECT
          CAST(g.n AS DATE) AS x
        FROM GENERATE_SERIES(
          CAST(CAST(CAST('2020-01-01' AS DATE) AS DATE) AS TIMESTAMP),
          CAST(CAST(CAST('2025-12-31' AS DATE) AS DATE) AS TIMESTAMP),
          CAST('0 months 1 days 0 microseconds' AS INTERVAL)
        ) AS g(n)
      ) AS d_t1_2
    ) AS d_t1_2
  ) AS p0
  CROSS JOIN (
    SELECT DISTINCT
      CAST(d_t2_2.x AS SMALLINT) AS k1
    FROM (
      SELECT
        CAST(g.n AS SMALLINT) AS x
      FROM GENERATE_SERIES(1900, 2026) AS g(n)
      UNION ALL
      SELECT
        NULL AS x
    ) AS d_t2_2
  ) AS p1
)
SELECT
  keys.k0,
  keys.k1,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0 AND keys.k1 IS NOT DISTINCT FROM released.k1
ORDER BY
  keys.k0,
  keys.k1;

-- release 1
-- groups: public, at most 72
--   k0: DATE_TRUNC('MONTH', day) (timestamp)
-- one unit moves: l1 None, l2 1342177280
--   s0: COUNT(*) (steps of 1/33554432, at most 1342177280)
-- a0: COUNT(*) (bigint) = 1/33554432 · s0, rounded, at least 0
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
      t2."id" AS u,
      DATE_TRUNC('MONTH', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0
    FROM "main"."visit" AS t1
    JOIN "main"."patient" AS t2
      ON t1."patient_id" = t2."id"
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
), keys AS (
  SELECT DISTINCT
    CAST(DATE_TRUNC('MONTH', d_t1_2.x) AS TIMESTAMP) AS k0
  FROM (
    SELECT DISTINCT
      CAST(DATE_TRUNC('MONTH', d_t1_2.x) AS DATE) AS x
    FROM (
      SELECT
        CAST(g.n AS DATE) AS x
      FROM GENERATE_SERIES(
        CAST(CAST(CAST('2020-01-01' AS DATE) AS DATE) AS TIMESTAMP),
        CAST(CAST(CAST('2025-12-31' AS DATE) AS DATE) AS TIMESTAMP),
        CAST('0 months 1 days 0 microseconds' AS INTERVAL)
      ) AS g(n)
    ) AS d_t1_2
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

-- release 2
-- groups: public, at most 128
--   k0: birth_year (smallint)
-- one unit moves: l1 40, l2 40
--   s0: COUNT(*) (steps of 1, at most 40)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: rows whose birth_year is outside of 1900 to 2026 are in no group
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t2."id" AS u,
      t2."birth_year" AS k0
    FROM "main"."visit" AS t1
    JOIN "main"."patient" AS t2
      ON t1."patient_id" = t2."id"
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS (
  SELECT
    u,
    k0,
    CAST(CASE WHEN s0 > 40 THEN 40 ELSE s0 END AS BIGINT) AS s0
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
    CAST(d_t2_2.x AS SMALLINT) AS k0
  FROM (
    SELECT
      CAST(g.n AS SMALLINT) AS x
    FROM GENERATE_SERIES(1900, 2026) AS g(n)
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t2_2
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
  dpsql_release_0.k1 AS "birth_year",
  dpsql_release_0.a0 AS "n",
  dpsql_release_0.a1 AS "cost"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0_1;
