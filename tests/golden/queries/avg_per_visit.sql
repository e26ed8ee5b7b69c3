SELECT reason, AVG(cost) AS mean_cost, COUNT(*) AS n FROM visit GROUP BY reason;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: reason (text)
-- one unit moves: l1 None, l2 √3078400000000000000
--   s0: rows, each without cost as 9/16 (steps of 1/32000000, at most 1754536975)
--   s1: Σ(2·cost - 5000) (steps of 1/6000, at most 1754536975)
--   s2: rows without cost (steps of 1/40000000, at most 1754536975)
-- a0: AVG(cost) (double) = 0 + 5000 · a / (a + b), a = 1/64000000 · s0 + -9/1280000000 · s2 + 1/60000000 · s1, b = 1/64000000 · s0 + -9/1280000000 · s2 + -1/60000000 · s1
-- a1: COUNT(*) (bigint) = 1/32000000 · s0 + 7/640000000 · s2, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost is clipped into [0, 5000]
-- note: rows whose reason is not one of the 3 declared values are in no group
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
      t1."patient_id" AS u,
      t1."reason" AS k0,
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
    k0,
    SUM(s0) AS s0,
    SUM(s1) AS s1,
    SUM(s2) AS s2
  FROM (
    SELECT
      k0,
      CAST((
        CAST(COUNT(*) AS INT128) * 4500000 + CAST(COUNT(v0) AS INT128) * 3500000
      ) AS INT128) * 4 AS s0,
      CAST((
        COALESCE(SUM(v0), 0) * 30 + CAST(COUNT(v0) AS INT128) * (
          -7500000
        )
      ) AS INT128) * 4 AS s1,
      CAST((
        CAST(COUNT(*) AS INT128) * 10000000 + CAST(COUNT(v0) AS INT128) * (
          -10000000
        )
      ) AS INT128) * 4 AS s2
    FROM (
      SELECT
        t1."patient_id" AS u,
        t1."reason" AS k0,
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
      clamped.k0
  ) AS b
  GROUP BY
    k0
), keys AS (
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
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "reason",
  dpsql_release_0.a0 AS "mean_cost",
  dpsql_release_0.a1 AS "n"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
