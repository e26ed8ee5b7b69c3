-- A list of times with people in its steps: by the beginning of the step.
SELECT m.m, COUNT(v.id) AS visits FROM generate_series(DATE '2025-01-01', DATE '2025-06-01', INTERVAL '1 month') AS m(m)
LEFT JOIN visit v ON v.day >= m.m AND v.day < m.m + INTERVAL '1 month' GROUP BY 1;

-- ----
-- release 0
-- groups: public, at most 6
--   k0: DATE_TRUNC('MONTH', day) (timestamp)
-- one unit moves: l1 None, l2 1342177280
--   s0: COUNT(id) (steps of 1/33554432, at most 1342177280)
-- a0: COUNT(id) (bigint) = 1/33554432 · s0, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
WITH suspect AS MATERIALIZED (
  SELECT
    u
  FROM (
    SELECT
      t1."patient_id" AS u
    FROM "main"."visit" AS t1
    WHERE
      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END >= CAST('2025-01-01' AS DATE)
      AND CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END < CAST('2025-07-01' AS DATE)
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
      DATE_TRUNC('MONTH', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0
    FROM "main"."visit" AS t1
    WHERE
      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END >= CAST('2025-01-01' AS DATE)
      AND CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END < CAST('2025-07-01' AS DATE)
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
        DATE_TRUNC('MONTH', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0
      FROM "main"."visit" AS t1
      WHERE
        CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END >= CAST('2025-01-01' AS DATE)
        AND CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END < CAST('2025-07-01' AS DATE)
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
    CAST(DATE_TRUNC('MONTH', d_t1_2.x) AS TIMESTAMP) AS k0
  FROM (
    SELECT DISTINCT
      CAST(DATE_TRUNC('MONTH', d_t1_2.x) AS DATE) AS x
    FROM (
      SELECT
        CAST(g.n AS DATE) AS x
      FROM GENERATE_SERIES(
        CAST(CAST(CAST('2025-01-01' AS DATE) AS DATE) AS TIMESTAMP),
        CAST(CAST(CAST('2025-06-30' AS DATE) AS DATE) AS TIMESTAMP),
        CAST('0 months 1 days 0 microseconds' AS INTERVAL)
      ) AS g(n)
    ) AS d_t1_2
    WHERE
      d_t1_2.x >= CAST('2025-01-01' AS DATE) AND d_t1_2.x < CAST('2025-07-01' AS DATE)
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
  m.m AS "m",
  CAST(COALESCE(CAST(SUM(dpsql_people.a0) AS DECIMAL(38, 0)), 0) AS BIGINT) AS visits
FROM (
  SELECT
    dpsql_values.value AS "m"
  FROM (VALUES
    (CAST('2025-01-01 00:00:00+00:00' AS TIMESTAMPTZ)),
    (CAST('2025-02-01 00:00:00+00:00' AS TIMESTAMPTZ)),
    (CAST('2025-03-01 00:00:00+00:00' AS TIMESTAMPTZ)),
    (CAST('2025-04-01 00:00:00+00:00' AS TIMESTAMPTZ)),
    (CAST('2025-05-01 00:00:00+00:00' AS TIMESTAMPTZ)),
    (CAST('2025-06-01 00:00:00+00:00' AS TIMESTAMPTZ))) AS dpsql_values(value)
) AS m
LEFT JOIN (
  SELECT
    dpsql_release_0.k0 AS "j0",
    dpsql_release_0.a0 AS "a0"
  FROM dpsql_release_0
  WHERE
    dpsql_release_0.dpsql_present_0
) AS dpsql_people
  ON m.m = dpsql_people.j0
GROUP BY
  m.m;
