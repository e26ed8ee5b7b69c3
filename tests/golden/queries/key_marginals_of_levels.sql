-- The level of the months is their marginal: only that of the years of birth is measured beside the grouping sets.
-- with marginals
-- clipped in l1
SELECT DATE_TRUNC('month', day) AS month, p.birth_year, COUNT(*) AS n
FROM visit JOIN patient AS p ON p.id = patient_id
GROUP BY ROLLUP (1, 2)

-- ----
-- release 0
-- groups: public, at most 9216
--   k0: DATE_TRUNC('MONTH', day) (timestamp)
--   k1: birth_year (smallint)
-- one unit moves: l1 1342177280, l2 1342177280
--   s0: COUNT(*) (steps of 1/33554432, at most 1342177280)
-- a0: COUNT(*) (bigint) = 1/33554432 · s0, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: rows whose day is outside of 2020-01-01 to 2025-12-31 are in no group
-- note: rows whose birth_year is outside of 1900 to 2026 are in no group
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
      t2."id" AS u,
      DATE_TRUNC('MONTH', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0,
      t2."birth_year" AS k1
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
    s0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE WHEN SUM(clamped.s0) > 40 THEN (
      39.99999999996362e0 / CAST(SUM(clamped.s0) AS DOUBLE)
    ) ELSE NULL END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(clamped.s0) > 40
), released AS (
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
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0 AND keys.k1 IS NOT DISTINCT FROM released.k1
ORDER BY
  keys.k0,
  keys.k1;

-- release 1
-- groups: public, at most 72
--   k0: DATE_TRUNC('MONTH', day) (timestamp)
-- one unit moves: l1 1342177280, l2 1342177280
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
    CASE WHEN SUM(clamped.s0) > 40 THEN (
      39.99999999996362e0 / CAST(SUM(clamped.s0) AS DOUBLE)
    ) ELSE NULL END AS rows_factor
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
-- groups: one group
-- one unit moves: l1 40, l2 40
--   s0: COUNT(*) (steps of 1, at most 40)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
WITH partial AS (
  SELECT
    u,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t2."id" AS u
    FROM "main"."visit" AS t1
    JOIN "main"."patient" AS t2
      ON t1."patient_id" = t2."id"
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 40 THEN 40 ELSE s0 END AS BIGINT) AS s0
  FROM partial
), released AS (
  SELECT
    SUM(clamped.s0) AS s0
  FROM clamped
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- release 3
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
  dpsql_release_0.a0 AS "n"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0_1;
