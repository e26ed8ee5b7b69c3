WITH RECURSIVE d(n) AS (SELECT DATE '2025-01-01' UNION ALL SELECT (n + INTERVAL '1 month')::date FROM d WHERE n < '2025-04-01') SELECT d.n, COUNT(v.cost) FROM d LEFT JOIN visit AS v ON DATE_TRUNC('month', v.day) = d.n GROUP BY d.n;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: DATE_TRUNC('MONTH', day) (timestamp)
-- one unit moves: l1 None, l2 √1801730190737408000
--   s0: weighted rows 1 (steps of 1/33554432, at most 1342285435)
--   s1: weighted rows 2 (steps of 1/33554432, at most 1342285435)
-- a0: COUNT(cost) (bigint) = 1/33554432 · s0 + -397/31675383808 · s1, rounded, at least 0
-- a1: COUNT(*) (bigint) = 1/33554432 · s0 + 627/31675383808 · s1, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: 2 counts are measured together, which takes less noise: by sums in which some rows weigh more than others
WITH suspect AS MATERIALIZED (
  SELECT
    u
  FROM (
    SELECT
      t1."patient_id" AS u
    FROM "main"."visit" AS t1
    WHERE
      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END >= CAST('2025-01-01' AS DATE)
      AND CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END < CAST('2025-05-01' AS DATE)
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
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 1024 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 397
    ) AS s0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 944
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t1."patient_id" AS u,
      DATE_TRUNC('MONTH', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0,
      CASE WHEN NOT t1."cost" IS NULL THEN 0 ELSE 1 END AS g0
    FROM "main"."visit" AS t1
    WHERE
      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END >= CAST('2025-01-01' AS DATE)
      AND CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END < CAST('2025-05-01' AS DATE)
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
    CAST(CASE WHEN s0 > 41946112 THEN 41946112 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 41946112 THEN 41946112 ELSE s1 END AS BIGINT) AS s1,
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
    k0,
    SUM(s0) AS s0,
    SUM(s1) AS s1
  FROM (
    SELECT
      k0,
      CAST((
        CAST(COUNT(*) FILTER(WHERE
          g0 = 0) AS INT128) * 1024 + CAST(COUNT(*) FILTER(WHERE
          g0 = 1) AS INT128) * 397
      ) AS INT128) * 32768 AS s0,
      CAST((
        CAST(COUNT(*) FILTER(WHERE
          g0 = 1) AS INT128) * 944
      ) AS INT128) * 32768 AS s1
    FROM (
      SELECT
        t1."patient_id" AS u,
        DATE_TRUNC('MONTH', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0,
        CASE WHEN NOT t1."cost" IS NULL THEN 0 ELSE 1 END AS g0
      FROM "main"."visit" AS t1
      WHERE
        CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END >= CAST('2025-01-01' AS DATE)
        AND CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END < CAST('2025-05-01' AS DATE)
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
          THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 32768e0) AS BIGINT)
          ELSE clamped.s0 * 32768
        END
      ) AS s0,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s1 AS DOUBLE) * scale.rows_factor * 32768e0) AS BIGINT)
          ELSE clamped.s1 * 32768
        END
      ) AS s1
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
    CAST(DATE_TRUNC('MONTH', d_t1_2.x) AS TIMESTAMP) AS k0
  FROM (
    SELECT DISTINCT
      CAST(DATE_TRUNC('MONTH', d_t1_2.x) AS DATE) AS x
    FROM (
      SELECT
        CAST(g.n AS DATE) AS x
      FROM GENERATE_SERIES(
        CAST(CAST(CAST('2025-01-01' AS DATE) AS DATE) AS TIMESTAMP),
        CAST(CAST(CAST('2025-04-30' AS DATE) AS DATE) AS TIMESTAMP),
        CAST('0 months 1 days 0 microseconds' AS INTERVAL)
      ) AS g(n)
    ) AS d_t1_2
    WHERE
      d_t1_2.x >= CAST('2025-01-01' AS DATE) AND d_t1_2.x < CAST('2025-05-01' AS DATE)
  ) AS d_t1_2
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  d.value0 AS "n",
  CAST(COALESCE(CAST(SUM(dpsql_people.a0) AS DECIMAL(38, 0)), 0) AS BIGINT) AS "count"
FROM (VALUES
  (CAST('2025-01-01' AS DATE)),
  (CAST('2025-02-01' AS DATE)),
  (CAST('2025-03-01' AS DATE)),
  (CAST('2025-04-01' AS DATE))) AS d(value0)
LEFT JOIN (
  SELECT
    dpsql_release_0.k0 AS "j0",
    dpsql_release_0.a0 AS "a0"
  FROM dpsql_release_0
  WHERE
    dpsql_release_0.dpsql_present_0
) AS dpsql_people
  ON d.value0 = dpsql_people.j0
GROUP BY
  d.value0;
