-- Patients without visits count as well.
SELECT p.sex, COUNT(*) AS rows, COUNT(v.id) AS visits FROM patient p LEFT JOIN visit v ON v.patient_id = p.id GROUP BY p.sex;

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- one unit moves: l1 None, l2 5120
--   s0: rows with COUNT(id) (steps of 1/128, at most 5120)
--   s1: rows with not COUNT(id) (steps of 1/128, at most 5120)
-- a0: COUNT(*) (bigint) = 1/128 · s0 + 1/128 · s1, rounded, at least 0
-- a1: COUNT(id) (bigint) = 1/128 · s0, rounded, at least 0
-- note: each person counts with at most 40 rows
-- note: 2 counts are measured as 2 disjoint atoms
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COUNT(*) FILTER(WHERE
        f0)
    ) AS s0,
    (
      COUNT(*) FILTER(WHERE
        f1)
    ) AS s1
  FROM (
    SELECT
      t1."id" AS u,
      t1."sex" AS k0,
      NOT t2."id" IS NULL AS f0,
      NOT (
        NOT t2."id" IS NULL
      ) AS f1
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
    CAST(CASE WHEN s0 > 40 THEN 40 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 40 THEN 40 ELSE s1 END AS BIGINT) AS s1
  FROM partial
), released AS (
  SELECT
    measured.k0,
    SUM(
      CASE
        WHEN NOT measured.m0 IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.m0) AS BIGINT)
        ELSE measured.s0 * 128
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.m0 IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.m0) AS BIGINT)
        ELSE measured.s1 * 128
      END
    ) AS s1
  FROM (
    SELECT
      *,
      CASE
        WHEN clamped.s0 * clamped.s0 + clamped.s1 * clamped.s1 > 1600
        THEN (
          5119.999999995343e0 / SQRT(CAST(clamped.s0 * clamped.s0 + clamped.s1 * clamped.s1 AS DOUBLE))
        )
        ELSE NULL
      END AS m0
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
