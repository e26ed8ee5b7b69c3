-- Patients without visits count as well.
SELECT p.sex, COUNT(*) AS rows, COUNT(v.id) AS visits FROM patient p LEFT JOIN visit v ON v.patient_id = p.id GROUP BY p.sex;

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- one unit moves: l1 None, l2 √1801730190737408000
--   s0: weighted rows 1 (steps of 1/33554432, at most 1342285435)
--   s1: weighted rows 2 (steps of 1/33554432, at most 1342285435)
-- a0: COUNT(*) (bigint) = 1/33554432 · s0 + 627/31675383808 · s1, rounded, at least 0
-- a1: COUNT(id) (bigint) = 1/33554432 · s0 + -397/31675383808 · s1, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: 2 counts are measured together, which takes less noise: by sums in which some rows weigh more than others
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH partial AS (
  SELECT
    u,
    k0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 1024 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 397
    ) AS s0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 944
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t1."id" AS u,
      t1."sex" AS k0,
      CASE WHEN NOT t2."id" IS NULL THEN 0 ELSE 1 END AS g0
    FROM "main"."patient" AS t1
    LEFT JOIN "main"."visit" AS t2
      ON t2."patient_id" = t1."id"
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS (
  SELECT
    u,
    k0,
    CAST(CASE WHEN s0 > 41946112 THEN 41946112 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 41946112 THEN 41946112 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), released AS (
  SELECT
    measured.k0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 32768e0) AS BIGINT)
        ELSE measured.s0 * 32768
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 32768e0) AS BIGINT)
        ELSE measured.s1 * 32768
      END
    ) AS s1
  FROM (
    SELECT
      *,
      CASE
        WHEN CAST(clamped.n0 AS INT128) * clamped.n0 > 1600
        THEN (
          39.99999999996362e0 / SQRT(CAST(CAST(clamped.n0 AS INT128) * clamped.n0 AS DOUBLE))
        )
        ELSE NULL
      END AS rows_factor
    FROM clamped
  ) AS measured
  GROUP BY
    measured.k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t1_1.x AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('F' AS TEXT)),
      (CAST('M' AS TEXT))) AS v(x)
  ) AS d_t1_1
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
  dpsql_release_0.k0 AS "sex",
  dpsql_release_0.a0 AS "rows",
  dpsql_release_0.a1 AS "visits"
FROM dpsql_release_0;
