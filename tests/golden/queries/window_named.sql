-- A named window, and a key of its own beside the person.
SELECT reason, AVG(n) FROM (
    SELECT reason, COUNT(*) OVER w AS n FROM visit WINDOW w AS (PARTITION BY patient_id, reason ORDER BY day)
) AS t GROUP BY reason;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: reason (text)
-- one unit moves: l1 None, l2 1635778560
--   s0: Σ(n - 1) (steps of 1/1048576, at most 1635778560)
--   s1: Σ(40 - n) (steps of 1/1048576, at most 1635778560)
-- a0: AVG(n) (double) = 1 + 39 · s0 / (s0 + s1)
-- a1: COUNT(*) (bigint) = 1/40894464 · s0 + 1/40894464 · s1, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: n is clipped into [1, 40]
-- note: rows whose reason is not one of the 3 declared values are in no group
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * (
        -1
      )
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * 40
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t3.u AS u,
      t3.c0 AS k0,
      CASE WHEN t3.c1 < 1 THEN 1 WHEN t3.c1 > 40 THEN 40 ELSE CAST(t3.c1 AS BIGINT) END AS v0
    FROM (
      SELECT
        t2.c0 AS c0,
        t2.c3 AS c1,
        t2.u AS u
      FROM (
        SELECT
          t1."reason" AS c0,
          t1."patient_id" AS c1,
          CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS c2,
          COUNT(*) OVER (
            PARTITION BY t1."patient_id", t1."reason"
            ORDER BY CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END ASC
          ) AS c3,
          t1."patient_id" AS u
        FROM "main"."visit" AS t1
      ) AS t2
    ) AS t3
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    CAST(CASE WHEN s0 > 1597440 THEN 1597440 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 1597440 THEN 1597440 ELSE s1 END AS BIGINT) AS s1,
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
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 1048576e0) AS BIGINT)
        ELSE clamped.s0 * 1048576
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s1 AS DOUBLE) * scale.rows_factor * 1048576e0) AS BIGINT)
        ELSE clamped.s1 * 1048576
      END
    ) AS s1
  FROM clamped
  LEFT JOIN scale
    ON clamped.u = scale.u
  GROUP BY
    clamped.k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t3_t2_t1_4.x AS TEXT) AS k0
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
  ) AS d_t3_t2_t1_4
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
  dpsql_release_0.k0 AS "reason",
  dpsql_release_0.a0 AS "avg"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
