-- A sum of sums by month, of decimals; the count beside it is read and measured too.
SELECT date_trunc('month', day) AS month, SUM(cost) FILTER (WHERE reason = 'acute') - SUM(cost) FILTER (WHERE reason = 'chronic') AS more,
  COUNT(*) AS visits FROM visit GROUP BY 1;

-- ----
-- release 0
-- groups: public, at most 72
--   k0: DATE_TRUNC('MONTH', day) (timestamp)
-- one unit moves: l1 None, l2 1280000000
--   s0: Σ(SUM(cost) FILTER(WHERE reason = 'acute') - SUM(cost) FILTER(WHERE reason = 'chronic') - -5000) (steps of 1/3200, at most 1280000000)
--   s1: Σ(5000 - SUM(cost) FILTER(WHERE reason = 'acute') - SUM(cost) FILTER(WHERE reason = 'chronic')) (steps of 1/3200, at most 1280000000)
-- a0: COUNT(*) (bigint) = 1/32000000 · s0 + 1/32000000 · s1, rounded, at least 0
-- a1: SUM(cost) FILTER(WHERE reason = 'acute') - SUM(cost) FILTER(WHERE reason = 'chronic') (decimal(38,2)) = 1/6400 · s0 + -1/6400 · s1
-- note: each person counts with at most 40 rows (max_rows of visit)
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
      COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 500000
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 500000
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t1."patient_id" AS u,
      DATE_TRUNC('MONTH', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0,
      LEAST(
        GREATEST(
          CAST(CAST((
            CAST((
              CASE
                WHEN t1."reason" = 'acute' AND NOT t1."cost" IS NULL
                THEN CAST(CASE
                  WHEN t1."cost" < 0
                  THEN 0
                  WHEN t1."cost" > 5000
                  THEN 500000
                  ELSE CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
                END AS BIGINT)
                ELSE CAST(0 AS BIGINT)
              END + CASE
                WHEN t1."reason" = 'chronic' AND NOT t1."cost" IS NULL
                THEN CAST(CASE
                  WHEN t1."cost" < 0
                  THEN 0
                  WHEN t1."cost" > 5000
                  THEN 500000
                  ELSE CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
                END AS BIGINT)
                ELSE CAST(0 AS BIGINT)
              END * CAST((
                -1
              ) AS BIGINT)
            ) AS DECIMAL(19, 0)) * 0.01
          ) AS DECIMAL(21, 2)) * CAST(100 AS DECIMAL(3, 0)) AS BIGINT),
          (
            -500000
          )
        ),
        500000
      ) AS v0
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
    CAST(CASE WHEN s0 > 40960000000 THEN 40960000000 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 40960000000 THEN 40960000000 ELSE s1 END AS BIGINT) AS s1,
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
        COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 500000
      ) AS INT128) * 32 AS s0,
      CAST((
        -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 500000
      ) AS INT128) * 32 AS s1
    FROM (
      SELECT
        t1."patient_id" AS u,
        DATE_TRUNC('MONTH', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0,
        LEAST(
          GREATEST(
            CAST(CAST((
              CAST((
                CASE
                  WHEN t1."reason" = 'acute' AND NOT t1."cost" IS NULL
                  THEN CAST(CASE
                    WHEN t1."cost" < 0
                    THEN 0
                    WHEN t1."cost" > 5000
                    THEN 500000
                    ELSE CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
                  END AS BIGINT)
                  ELSE CAST(0 AS BIGINT)
                END + CASE
                  WHEN t1."reason" = 'chronic' AND NOT t1."cost" IS NULL
                  THEN CAST(CASE
                    WHEN t1."cost" < 0
                    THEN 0
                    WHEN t1."cost" > 5000
                    THEN 500000
                    ELSE CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
                  END AS BIGINT)
                  ELSE CAST(0 AS BIGINT)
                END * CAST((
                  -1
                ) AS BIGINT)
              ) AS DECIMAL(19, 0)) * 0.01
            ) AS DECIMAL(21, 2)) * CAST(100 AS DECIMAL(3, 0)) AS BIGINT),
            (
              -500000
            )
          ),
          500000
        ) AS v0
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
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 32e0) AS BIGINT)
          ELSE clamped.s0 * 32
        END
      ) AS s0,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s1 AS DOUBLE) * scale.rows_factor * 32e0) AS BIGINT)
          ELSE clamped.s1 * 32
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
        CAST(CAST(CAST('2020-01-01' AS DATE) AS DATE) AS TIMESTAMP),
        CAST(CAST(CAST('2025-12-31' AS DATE) AS DATE) AS TIMESTAMP),
        CAST('0 months 1 days 0 microseconds' AS INTERVAL)
      ) AS g(n)
    ) AS d_t1_2
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
  dpsql_release_0.k0 AS "month",
  dpsql_release_0.a1 AS "more",
  dpsql_release_0.a0 AS "visits"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
