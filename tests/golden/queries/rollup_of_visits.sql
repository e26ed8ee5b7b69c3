-- A person has rows in several groups: the factor is by all rows in the groups and in the total, so that it is their sum.
SELECT reason, SUM(cost), COUNT(*) FROM visit GROUP BY ROLLUP (reason);

-- ----
-- release 0
-- groups: public, at most 5
--   k0: reason (text)
-- one unit moves: l1 None, l2 1280000000
--   s0: Σ(cost - 0) (steps of 1/6400, at most 1280000000)
--   s1: Σ(5000 - cost) (steps of 1/6400, at most 1280000000)
-- a0: SUM(cost) (decimal(38,2)) = 1/6400 · s0
-- a1: COUNT(*) (bigint) = 1/32000000 · s0 + 1/32000000 · s1, rounded, at least 0
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
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 500000
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t1."patient_id" AS u,
      CASE
        WHEN t1."reason" = CAST('check-up' AS TEXT)
        THEN CAST('check-up' AS TEXT)
        WHEN t1."reason" = CAST('acute' AS TEXT)
        THEN CAST('acute' AS TEXT)
        WHEN t1."reason" = CAST('chronic' AS TEXT)
        THEN CAST('chronic' AS TEXT)
        WHEN t1."reason" IS NULL
        THEN CAST(NULL AS TEXT)
        ELSE CAST('dpsql undeclared values 4c1d86b90f5ea237' AS TEXT)
      END AS k0,
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
    CAST(CASE WHEN s0 > 20480000000 THEN 20480000000 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 20480000000 THEN 20480000000 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE WHEN SUM(clamped.n0) > 40 THEN (
      39.99999999996362e0 / CAST(SUM(clamped.n0) AS DOUBLE)
    ) ELSE NULL END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(clamped.n0) > 40
), released AS (
  SELECT
    k0,
    SUM(s0) AS s0,
    SUM(s1) AS s1
  FROM (
    SELECT
      k0,
      CAST((
        COALESCE(SUM(v0), 0)
      ) AS INT128) * 64 AS s0,
      CAST((
        -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 500000
      ) AS INT128) * 64 AS s1
    FROM (
      SELECT
        t1."patient_id" AS u,
        CASE
          WHEN t1."reason" = CAST('check-up' AS TEXT)
          THEN CAST('check-up' AS TEXT)
          WHEN t1."reason" = CAST('acute' AS TEXT)
          THEN CAST('acute' AS TEXT)
          WHEN t1."reason" = CAST('chronic' AS TEXT)
          THEN CAST('chronic' AS TEXT)
          WHEN t1."reason" IS NULL
          THEN CAST(NULL AS TEXT)
          ELSE CAST('dpsql undeclared values 4c1d86b90f5ea237' AS TEXT)
        END AS k0,
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
          THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 64e0) AS BIGINT)
          ELSE clamped.s0 * 64
        END
      ) AS s0,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s1 AS DOUBLE) * scale.rows_factor * 64e0) AS BIGINT)
          ELSE clamped.s1 * 64
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
    CAST(CASE
      WHEN d_t1_4.x = CAST('check-up' AS TEXT)
      THEN CAST('check-up' AS TEXT)
      WHEN d_t1_4.x = CAST('acute' AS TEXT)
      THEN CAST('acute' AS TEXT)
      WHEN d_t1_4.x = CAST('chronic' AS TEXT)
      THEN CAST('chronic' AS TEXT)
      WHEN d_t1_4.x IS NULL
      THEN CAST(NULL AS TEXT)
      ELSE CAST('dpsql undeclared values 4c1d86b90f5ea237' AS TEXT)
    END AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('acute' AS TEXT)),
      (CAST('check-up' AS TEXT)),
      (CAST('chronic' AS TEXT)),
      (CAST('chronic?' AS TEXT))) AS v(x)
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t1_4
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

-- release 1
-- groups: one group
-- one unit moves: l1 None, l2 1280000000
--   s0: Σ(cost - 0) (steps of 1/6400, at most 1280000000)
--   s1: Σ(5000 - cost) (steps of 1/6400, at most 1280000000)
-- a0: SUM(cost) (decimal(38,2)) = 1/6400 · s0
-- a1: COUNT(*) (bigint) = 1/32000000 · s0 + 1/32000000 · s1, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost is clipped into [0, 5000]
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 500000
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t1."patient_id" AS u,
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
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 20480000000 THEN 20480000000 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 20480000000 THEN 20480000000 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 64e0) AS BIGINT)
        ELSE measured.s0 * 64
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 64e0) AS BIGINT)
        ELSE measured.s1 * 64
      END
    ) AS s1
  FROM (
    SELECT
      *,
      CASE WHEN clamped.n0 > 40 THEN (
        39.99999999996362e0 / CAST(clamped.n0 AS DOUBLE)
      ) ELSE NULL END AS rows_factor
    FROM clamped
  ) AS measured
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.k0 AS "reason",
  dpsql_release_0.a0 AS "sum",
  dpsql_release_0.a1 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
