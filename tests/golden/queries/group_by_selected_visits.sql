-- A person in several groups has a weight in each.
SELECT day, reason, drug, COUNT(*) AS n FROM prescription JOIN visit ON visit_id = visit.id GROUP BY 1, 2, 3;

-- ----
-- release 0
-- groups: selected
--   k0: day (date)
--   k1: reason (text)
--   k2: drug (text)
-- selection: weight w in 1/1048576, at most 100 groups
-- one unit moves: l1 None, l2 1677721600
--   s0: COUNT(*) (steps of 1/16777216, at most 1677721600)
-- a0: COUNT(*) (bigint) = 1/16777216 · s0, rounded, at least 0
-- note: each person counts with at most 100 rows (max_rows of prescription)
WITH partial AS (
  SELECT
    u,
    k0,
    k1,
    k2,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t2."patient_id" AS u,
      CASE WHEN t2."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t2."day" END AS k0,
      t2."reason" AS k1,
      t1."drug" AS k2
    FROM "main"."prescription" AS t1
    JOIN "main"."visit" AS t2
      ON t1."visit_id" = t2."id"
  ) AS r
  GROUP BY
    u,
    k0,
    k1,
    k2
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    k1,
    k2,
    s0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 10000
      THEN (
        99.99999999990905e0 / SQRT(CAST(SUM(CAST(clamped.s0 AS INT128) * clamped.s0) AS DOUBLE))
      )
      ELSE NULL
    END AS rows_factor,
    COUNT(*) AS t
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 10000 OR COUNT(*) > 1
), released AS (
  SELECT
    clamped.k0,
    clamped.k1,
    clamped.k2,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 16777216e0) AS BIGINT)
        ELSE LEAST(clamped.s0, 100) * 16777216
      END
    ) AS s0,
    SUM(
      CASE
        WHEN scale.t IS NULL
        THEN 1048576
        WHEN scale.t > 100
        THEN 0
        ELSE CAST(TRUNC(1048575.9999990463e0 / SQRT(CAST(scale.t AS DOUBLE))) AS BIGINT)
      END
    ) AS w
  FROM clamped
  LEFT JOIN scale
    ON clamped.u = scale.u
  GROUP BY
    clamped.k0,
    clamped.k1,
    clamped.k2
)
SELECT
  released.k0,
  released.k1,
  released.k2,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.w, 0) AS w
FROM released
ORDER BY
  released.k0,
  released.k1,
  released.k2;

-- outer
SELECT
  dpsql_release_0.k0 AS "day",
  dpsql_release_0.k1 AS "reason",
  dpsql_release_0.k2 AS "drug",
  dpsql_release_0.a0 AS "n"
FROM dpsql_release_0;
