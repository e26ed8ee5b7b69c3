-- A running sum of counts that come with moments is added up from the groups.
SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) AS so_far, STDDEV(cost) FROM visit GROUP BY day;

-- ----
-- release 0
-- groups: public, at most 2192
--   k0: day (date)
-- one unit moves: l1 None, l2 601160001080
--   s0: Σ (1-t)² of cost (steps of 1/15029000000, at most 601160001080)
--   s1: Σ 2t(1-t) of cost (steps of 1/27911000000, at most 601160001080)
--   s2: Σ t² of cost (steps of 1/15029000000, at most 601160001080)
-- one unit moves: l1 283409121280, l2 √101337368783277260800
--   measured as running sums up k0: Toeplitz(steps=2192, width=None)
--   s3: COUNT(*) (steps of 1/8192, at most 327680)
-- a0: COUNT(*) (bigint) = 1/8192 · s3, rounded, at least 0
-- a1: STDDEV(cost) (double) = deviation over [0, 5000] in degree 2, of s0, s1, s2
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost is clipped into [0, 5000]
-- note: running sums over at most 2192 groups are measured as such: their error is about 9.9 times smaller than that of adding up as many groups
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
      CAST(COUNT(*) FILTER(WHERE
        f1) AS INT128) * 15029000000 + COALESCE(SUM(d0) FILTER(WHERE
        f1), 0) * (
        -60116
      ) + COALESCE(SUM(d1) FILTER(WHERE
        f1), 0) * 7
    ) AS s0,
    (
      COALESCE(SUM(d0) FILTER(WHERE
        f1), 0) * 111644 + COALESCE(SUM(d1) FILTER(WHERE
        f1), 0) * (
        -26
      )
    ) AS s1,
    (
      COALESCE(SUM(d1) FILTER(WHERE
        f1), 0) * 7
    ) AS s2,
    (
      COUNT(*)
    ) AS s3,
    COUNT(*) FILTER(WHERE
      f1) AS n0
  FROM (
    SELECT
      u,
      k0,
      v0,
      f1,
      v0 AS d0,
      (
        (
          v0 * v0 * 8588 + 500000
        ) // 1000000
      ) AS d1
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
        END AS v0,
        NOT t1."cost" IS NULL AS f1
      FROM "main"."visit" AS t1
    ) AS x
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
    CAST(CASE WHEN s0 > 615587841105920 THEN 615587841105920 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 615587841105920 THEN 615587841105920 ELSE s1 END AS BIGINT) AS s1,
    CAST(CASE WHEN s2 > 615587841105920 THEN 615587841105920 ELSE s2 END AS BIGINT) AS s2,
    s3,
    n0
  FROM partial
), scale AS (
  SELECT
    u,
    LEAST(
      CASE
        WHEN SUM(CAST(clamped.n0 AS INT128) * clamped.n0) > 1600
        THEN (
          39.99999999996362e0 / SQRT(CAST(SUM(CAST(clamped.n0 AS INT128) * clamped.n0) AS DOUBLE))
        )
        ELSE NULL
      END,
      CASE WHEN SUM(clamped.s3) > 40 THEN (
        39.99999999996362e0 / CAST(SUM(clamped.s3) AS DOUBLE)
      ) ELSE NULL END
    ) AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.n0 AS INT128) * clamped.n0) > 1600 OR SUM(clamped.s3) > 40
), released AS (
  SELECT
    k0,
    SUM(s0) AS s0,
    SUM(s1) AS s1,
    SUM(s2) AS s2,
    SUM(s3) AS s3
  FROM (
    SELECT
      k0,
      (
        CAST(COUNT(*) FILTER(WHERE
          f1) AS INT128) * 15029000000 + COALESCE(SUM(d0) FILTER(WHERE
          f1), 0) * (
          -60116
        ) + COALESCE(SUM(d1) FILTER(WHERE
          f1), 0) * 7
      ) AS s0,
      (
        COALESCE(SUM(d0) FILTER(WHERE
          f1), 0) * 111644 + COALESCE(SUM(d1) FILTER(WHERE
          f1), 0) * (
          -26
        )
      ) AS s1,
      (
        COALESCE(SUM(d1) FILTER(WHERE
          f1), 0) * 7
      ) AS s2,
      CAST((
        COUNT(*)
      ) AS INT128) * 8192 AS s3
    FROM (
      SELECT
        u,
        k0,
        v0,
        f1,
        v0 AS d0,
        (
          (
            v0 * v0 * 8588 + 500000
          ) // 1000000
        ) AS d1
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
          END AS v0,
          NOT t1."cost" IS NULL AS f1
        FROM "main"."visit" AS t1
      ) AS x
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
          THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s0
        END
      ) AS s0,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s1 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s1
        END
      ) AS s1,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s2 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s2
        END
      ) AS s2,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s3 AS DOUBLE) * scale.rows_factor * 8192e0) AS BIGINT)
          ELSE LEAST(clamped.s3, 40) * 8192
        END
      ) AS s3
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
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2,
  COALESCE(released.s3, 0) AS s3
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "day",
  CAST(SUM(dpsql_release_0."a0_added") OVER (ORDER BY dpsql_release_0.k0) AS DECIMAL(38, 0)) AS "so_far",
  dpsql_release_0.a1 AS "stddev"
FROM dpsql_release_0
QUALIFY
  dpsql_release_0.dpsql_shown_0;
