-- Tableau's AVG({ FIXED patient : SUM(cost) }) by reason: each person once in a group, with the sum of all their rows.
SELECT "t0"."reason" AS "reason", AVG("t1"."__measure__1") AS "avg:lod:ok" FROM (SELECT "visit"."reason" AS "reason", "visit"."patient_id" AS "patient_id" FROM "visit" "visit" GROUP BY 1, 2) "t0" INNER JOIN (SELECT "visit"."patient_id" AS "patient_id", SUM("visit"."cost") AS "__measure__1" FROM "visit" "visit" GROUP BY 1) "t1" ON ("t0"."patient_id" = "t1"."patient_id") WHERE "t1"."__measure__1" BETWEEN 0 AND 20000 GROUP BY 1;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: reason (text)
-- one unit moves: l1 None, l2 √1970176000000000000
--   s0: rows, each without __measure__1 as 9/16 (steps of 1/512000000, at most 1403629580)
--   s1: Σ(2·__measure__1 - 20000) (steps of 1/24000, at most 1403629580)
--   s2: rows without __measure__1 (steps of 1/640000000, at most 1403629580)
-- a0: AVG(__measure__1) (double) = 0 + 20000 · a / (a + b), a = 1/1024000000 · s0 + -9/20480000000 · s2 + 1/960000000 · s1, b = 1/1024000000 · s0 + -9/20480000000 · s2 + -1/960000000 · s1
-- a1: COUNT(*) (bigint) = 1/512000000 · s0 + 7/10240000000 · s2, rounded, at least 0
-- note: each person counts with at most 40 rows
-- note: __measure__1 is clipped into [0, 20000]
-- note: rows whose reason is not one of the 3 declared values are in no group
WITH partial AS (
  SELECT
    u,
    k0,
    (
      CAST(COUNT(*) AS INT128) * 18000000 + CAST(COUNT(v0) AS INT128) * 14000000
    ) AS s0,
    (
      COALESCE(SUM(v0), 0) * 30 + CAST(COUNT(v0) AS INT128) * (
        -30000000
      )
    ) AS s1,
    (
      CAST(COUNT(*) AS INT128) * 40000000 + CAST(COUNT(v0) AS INT128) * (
        -40000000
      )
    ) AS s2,
    COUNT(*) AS n0
  FROM (
    SELECT
      t5.u AS u,
      t5.c0 AS k0,
      CASE
        WHEN t6.c1 < 0
        THEN 0
        WHEN t6.c1 > 20000
        THEN 2000000
        ELSE CAST(CAST(t6.c1 AS DECIMAL(7, 2)) * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0
    FROM (
      SELECT
        t2.k0 AS c0,
        t2.k1 AS c1,
        t2.u AS u
      FROM (
        SELECT
          t1."patient_id" AS u,
          t1."reason" AS k0,
          t1."patient_id" AS k1
        FROM "main"."visit" AS t1
        GROUP BY
          t1."patient_id",
          t1."reason"
      ) AS t2
    ) AS t5
    JOIN (
      SELECT
        t4.k0 AS c0,
        t4.a0 AS c1,
        t4.u AS u
      FROM (
        SELECT
          t3."patient_id" AS u,
          t3."patient_id" AS k0,
          TRY_CAST(SUM(t3."cost") AS DECIMAL(38, 2)) AS a0
        FROM "main"."visit" AS t3
        GROUP BY
          t3."patient_id"
      ) AS t4
    ) AS t6
      ON t5.c1 = t6.c0
    WHERE
      t6.c1 BETWEEN CAST(0 AS DECIMAL(38, 2)) AND CAST(20000 AS DECIMAL(38, 2))
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    CAST(CASE WHEN s0 > 89832292352 THEN 89832292352 WHEN s0 < (
      -89832292352
    ) THEN (
      -89832292352
    ) ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 89832292352 THEN 89832292352 WHEN s1 < (
      -89832292352
    ) THEN (
      -89832292352
    ) ELSE s1 END AS BIGINT) AS s1,
    CAST(CASE WHEN s2 > 89832292352 THEN 89832292352 WHEN s2 < (
      -89832292352
    ) THEN (
      -89832292352
    ) ELSE s2 END AS BIGINT) AS s2,
    n0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(CAST(clamped.n0 AS INT128) * clamped.n0) > 4
      THEN (
        1.999999999998181e0 / SQRT(CAST(SUM(CAST(clamped.n0 AS INT128) * clamped.n0) AS DOUBLE))
      )
      ELSE NULL
    END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.n0 AS INT128) * clamped.n0) > 4
), released AS (
  SELECT
    clamped.k0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 16e0) AS BIGINT)
        ELSE clamped.s0 * 16
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s1 AS DOUBLE) * scale.rows_factor * 16e0) AS BIGINT)
        ELSE clamped.s1 * 16
      END
    ) AS s1,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s2 AS DOUBLE) * scale.rows_factor * 16e0) AS BIGINT)
        ELSE clamped.s2 * 16
      END
    ) AS s2
  FROM clamped
  LEFT JOIN scale
    ON clamped.u = scale.u
  GROUP BY
    clamped.k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t5_t2_t1_4.x AS TEXT) AS k0
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
  ) AS d_t5_t2_t1_4
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
  dpsql_release_0.a0 AS "avg:lod:ok"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
