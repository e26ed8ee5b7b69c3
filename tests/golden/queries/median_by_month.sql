-- A large range, in public groups, with counts beside: buckets first, and then the values of the near ones. A person with many visits weighs less.
SELECT date_trunc('month', day) AS month, COUNT(*), MEDIAN(cost) FILTER (WHERE reason = 'acute') FROM visit GROUP BY 1;

-- ----
-- release 0
-- groups: public, at most 72
--   k0: DATE_TRUNC('MONTH', day) (timestamp)
-- one unit moves: l1 None, l2 1342177280
--   s0: COUNT(*) (steps of 1/33554432, at most 1342177280)
-- a0: COUNT(*) (bigint) = 1/33554432 · s0, rounded, at least 0
-- a1: MEDIAN(cost) FILTER(WHERE reason = 'acute') (double) = picked, number 0 of q0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: a quantile is a value of its column's range, never halfway between two; it is NULL in a group of hardly anybody
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
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."patient_id" AS u,
      DATE_TRUNC('MONTH', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0
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

-- q0: MEDIAN(cost) FILTER(WHERE reason = 'acute'): quantiles 1/2 of 0 … 500000
-- one unit weighs: l1 None, l2 163840; a row 4096
-- near is less than 335544320; steps of 1/100
WITH kept AS MATERIALIZED (
  SELECT
    *
  FROM (
    SELECT
      t1."patient_id" AS u,
      DATE_TRUNC('MONTH', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0,
      CASE
        WHEN t1."cost" < 0
        THEN 0
        WHEN t1."cost" > 5000
        THEN 500000
        ELSE CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v
    FROM "main"."visit" AS t1
    WHERE
      t1."reason" = 'acute'
  ) AS r
  WHERE
    NOT v IS NULL
), scale AS (
  SELECT
    u,
    CAST(TRUNC(163839.999999851e0 / SQRT(CAST(SUM(CAST(c.c AS INT128) * CAST(c.c AS INT128)) AS DOUBLE))) AS BIGINT) AS m
  FROM (
    SELECT
      u,
      COUNT(*) AS c
    FROM (
      SELECT
        *
      FROM kept
    ) AS r
    GROUP BY
      u,
      k0
  ) AS c
  GROUP BY
    u
  HAVING
    SUM(CAST(c.c AS INT128) * CAST(c.c AS INT128)) > 1600
), weighed AS MATERIALIZED (
  SELECT
    p.k0,
    p.v,
    (
      p.v - 0
    ) // 245 AS b,
    COALESCE(scale.m, 4096) AS w
  FROM (
    SELECT
      *
    FROM kept
  ) AS p
  LEFT JOIN scale
    ON p.u = scale.u
), coarse AS (
  SELECT
    k0,
    b AS b,
    SUM(w) AS w
  FROM (
    SELECT
      *
    FROM weighed
  ) AS h
  GROUP BY
    k0,
    b
), spread AS (
  SELECT
    k0,
    b,
    w,
    (
      SUM(w) OVER (PARTITION BY k0 ORDER BY b) - w
    ) AS below,
    SUM(w) OVER (PARTITION BY k0) AS n
  FROM coarse
), near AS (
  SELECT
    k0,
    b,
    below,
    n
  FROM spread
  WHERE
    (
      CAST(below AS INT128) * 2 - CAST(n AS INT128) * 1 < 671088640
      AND CAST(n AS INT128) * 1 - (
        CAST(below AS INT128) + CAST(w AS INT128)
      ) * 2 < 671088640
    )
), found AS (
  SELECT
    g.k0,
    g.b,
    g.v,
    g.w,
    near.below AS start,
    near.n
  FROM (
    SELECT
      near.k0,
      near.b,
      h.v,
      SUM(h.w) AS w
    FROM weighed AS h
    JOIN near
      ON h.b = near.b AND h.k0 IS NOT DISTINCT FROM near.k0
    GROUP BY
      near.k0,
      near.b,
      h.v
  ) AS g
  JOIN near
    ON g.b = near.b AND g.k0 IS NOT DISTINCT FROM near.k0
)
SELECT
  k0,
  v,
  CAST(w AS BIGINT) AS w,
  CAST(start AS BIGINT) AS below,
  CAST(n AS BIGINT) AS n
FROM found;

-- outer
SELECT
  dpsql_release_0.k0 AS "month",
  dpsql_release_0.a0 AS "count",
  dpsql_release_0.a1 AS "median"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
