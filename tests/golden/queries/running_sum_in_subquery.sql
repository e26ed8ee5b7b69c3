-- The same through a CTE and a subquery, apart for each reason, from the last day down.
WITH daily AS (SELECT reason, day AS d, SUM(cost) AS spent FROM visit GROUP BY reason, day)
SELECT *, SUM(t.spent) OVER (PARTITION BY reason ORDER BY d DESC ROWS UNBOUNDED PRECEDING) AS total
FROM (SELECT * FROM daily) AS t;

-- ----
-- release 0
-- groups: public, at most 8768
--   k0: reason (text)
--   k1: day (date)
-- one unit moves: l1 17297920000000, l2 √377511116800000000000000
--   measured as running sums down k1: Toeplitz(steps=2192, width=None)
--   s0: Σ cost (steps of 1/100, at most 20000000)
-- a0: SUM(cost) (decimal(38,2)) = 1/100 · s0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost is clipped into [0, 5000]
-- note: windows have a row for each group that the policy declares, whether or not anybody is in it
-- note: running sums over at most 2192 groups are measured as such: their error is about 9.9 times smaller than that of adding up as many groups
-- note: rows whose reason is not one of the 3 declared values are in no group
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
      COALESCE(SUM(v0), 0)
    ) AS s0
  FROM (
    SELECT
      t1."patient_id" AS u,
      t1."reason" AS k0,
      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS k1,
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
    k0,
    k1
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    k1,
    CAST(CASE WHEN s0 > 20480000000 THEN 20480000000 ELSE s0 END AS BIGINT) AS s0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(clamped.s0) > 20000000
      THEN (
        19999999.99998181e0 / CAST(SUM(clamped.s0) AS DOUBLE)
      )
      ELSE NULL
    END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(clamped.s0) > 20000000
), released AS (
  SELECT
    k0,
    k1,
    SUM(s0) AS s0
  FROM (
    SELECT
      k0,
      k1,
      (
        COALESCE(SUM(v0), 0)
      ) AS s0
    FROM (
      SELECT
        t1."patient_id" AS u,
        t1."reason" AS k0,
        CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS k1,
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
      k0,
      k1
    UNION ALL
    SELECT
      clamped.k0,
      clamped.k1,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s0
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
  SELECT
    p0.k0 AS k0,
    p1.k1 AS k1
  FROM (
    SELECT DISTINCT
      CAST(d_t1_4.x AS TEXT) AS k0
    FROM (
      SELECT
        x
      FROM (VALUES
        (CAST('check-up' AS TEXT)),
        (CAST('acute' AS TEXT)),
        (CAST('chronic' AS TEXT))) AS v(x)
      UNION ALL
      SELECT
        NULL AS x
    ) AS d_t1_4
  ) AS p0
  CROSS JOIN (
    SELECT DISTINCT
      CAST(d_t1_2.x AS DATE) AS k1
    FROM (
      SELECT
        CAST(g.n AS DATE) AS x
      FROM GENERATE_SERIES(
        CAST(CAST(CAST('2020-01-01' AS DATE) AS DATE) AS TIMESTAMP),
        CAST(CAST(CAST('2025-12-31' AS DATE) AS DATE) AS TIMESTAMP),
        CAST('0 months 1 days 0 microseconds' AS INTERVAL)
      ) AS g(n)
    ) AS d_t1_2
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
  t.reason AS "reason",
  t.d AS "d",
  t.spent AS "spent",
  SUM(t."dpsql_spent_added") OVER (PARTITION BY t.reason ORDER BY t.d DESC NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS total
FROM (
  SELECT
    dpsql_release_0.k0 AS "reason",
    dpsql_release_0.k1 AS "d",
    dpsql_release_0.a0 AS "spent",
    dpsql_release_0."a0_added" AS "dpsql_spent_added"
  FROM dpsql_release_0
) AS t;
