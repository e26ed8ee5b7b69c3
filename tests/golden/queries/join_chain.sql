SELECT p.sex, SUM(m.dose) AS dose FROM prescription m JOIN visit v ON m.visit_id = v.id JOIN patient p ON v.patient_id = p.id GROUP BY p.sex;

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- one unit moves: l1 131072000, l2 131072000
--   s0: Σ dose (steps of 1/131072, at most 131072000)
-- a0: SUM(dose) (double) = 1/131072 · s0
-- note: each person counts with at most 100 rows (max_rows of prescription)
-- note: dose is clipped into [0, 10]
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0
  FROM (
    SELECT
      t3."id" AS u,
      t3."sex" AS k0,
      CASE
        WHEN CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END < 0e0
        THEN 0
        WHEN CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END > 10e0
        THEN 1310720
        ELSE CAST(CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END * 131072e0 AS BIGINT)
      END AS v0
    FROM "main"."prescription" AS t1
    JOIN "main"."visit" AS t2
      ON t1."visit_id" = t2."id"
    JOIN "main"."patient" AS t3
      ON t2."patient_id" = t3."id"
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS (
  SELECT
    u,
    k0,
    CAST(CASE WHEN s0 > 131072000 THEN 131072000 ELSE s0 END AS BIGINT) AS s0
  FROM partial
), released AS (
  SELECT
    clamped.k0,
    SUM(clamped.s0) AS s0
  FROM clamped
  GROUP BY
    clamped.k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t3_1.x AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('F' AS TEXT)),
      (CAST('M' AS TEXT))) AS v(x)
  ) AS d_t3_1
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "sex",
  dpsql_release_0.a0 AS "dose"
FROM dpsql_release_0;
